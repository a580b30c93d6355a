//! A setting that must not appear in logs.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// A password or key from the configuration, after the program has replaced `${VAR}` or read the file. Prints
/// as `[secret]` in every format. Its memory is wiped when it is dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Returns the value. The name makes its use visible in a review.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self(Zeroizing::new(value))
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self::from(value.to_owned())
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "writeOnly": true })
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // An owned string is moved, not copied.
        String::deserialize(deserializer).map(Self::from)
    }
}

impl Zeroize for Secret {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print() {
        let printed = format!("{:?}", Some(Secret::from("hunter2".to_owned())));
        assert_eq!(printed, "Some([secret])");
    }

    #[test]
    fn a_secret_is_wiped_and_reads_as_a_string() {
        fn wiped<T: ZeroizeOnDrop>() {}
        wiped::<Secret>();
        let mut secret: Secret = serde_json::from_str("\"hunter2\"").unwrap();
        assert_eq!(secret.expose(), "hunter2");
        secret.zeroize();
        assert!(secret.is_empty());
        assert!(serde_json::from_str::<Secret>("7").is_err());
    }
}
