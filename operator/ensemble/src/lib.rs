//! How several members' annotations become decisions (Kim 2019, 2020; Singh 2020), fitted on what each member said of
//! documents that it was not fitted to.

mod said;
mod tags;

pub use said::{Said, SaidError};
pub use tags::{tag_set, token_tags};
