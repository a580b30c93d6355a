//! Digests of settings that depend on their meaning alone: not on the order of a struct's fields, the name of
//! a Rust type, or the version of a compiler or library.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::hex;

/// The version of [`fingerprint`]'s method. Raised when the same settings would get another digest. Output
/// files name it, so that digests of two versions are never compared. Version 1 was a digest of Rust's debug
/// output.
pub const FINGERPRINT_SCHEME: u32 = 2;

/// Returns the SHA-256 of settings, in hexadecimal.
///
/// The digest covers the settings as JSON without white space, with the keys of every object in code-point
/// order and without keys whose value is null. So an optional key that a later version adds does not change
/// the digest of a file that does not use it. `settings` must not serialise secrets.
///
/// # Panics
/// If the settings have a map whose keys are not strings, or a path that is not UTF-8. Settings from TOML
/// have neither.
///
/// # Examples
///
/// ```
/// use lethe_core::fingerprint;
/// use std::collections::BTreeMap;
///
/// let vote = BTreeMap::from([("threshold", Some(2)), ("extra", None)]);
/// let same = BTreeMap::from([("threshold", Some(2))]);
/// assert_eq!(fingerprint(&vote), fingerprint(&same));
/// ```
pub fn fingerprint(settings: &(impl Serialize + ?Sized)) -> String {
    let mut value = serde_json::to_value(settings).expect("settings have string keys and UTF-8 paths");
    drop_nulls(&mut value);
    value.sort_all_objects();
    hex(&Sha256::digest(value.to_string().as_bytes()))
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(values) => values.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_digest_is_that_of_canonical_json() {
        let canonical = r#"{"a":[{"x":0.5,"y":true}],"b":"text"}"#;
        let digest = hex(&Sha256::digest(canonical.as_bytes()));
        let written = json!({"b": "text", "none": null, "a": [{"y": true, "none": null, "x": 0.5}]});
        assert_eq!(fingerprint(&written), digest);
    }

    #[test]
    fn fields_in_another_order_have_the_same_digest_and_other_values_another() {
        #[derive(Serialize)]
        struct One {
            first: u32,
            second: Option<&'static str>,
        }
        #[derive(Serialize)]
        struct Other {
            second: Option<&'static str>,
            first: u32,
        }
        let one = |first, second| fingerprint(&One { first, second });
        let other = fingerprint(&Other {
            second: Some("x"),
            first: 1,
        });
        assert_eq!(one(1, Some("x")), other);
        assert_ne!(one(2, Some("x")), other);
        assert_ne!(one(1, None), other);
    }

    #[test]
    fn the_order_of_a_list_counts() {
        assert_ne!(fingerprint(&json!(["a", "b"])), fingerprint(&json!(["b", "a"])));
    }
}
