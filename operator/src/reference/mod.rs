//! The JSON Schemas of files that users write.

pub(crate) mod schema;
#[cfg(test)]
mod validate;
