//! Parses only the requested values of a JSON object. Everything else is parsed as strictly but not kept: a
//! line of many small values would take thirty times its size as a tree.

use std::fmt;

use serde::de::{Deserialize as _, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Selects parts of a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Pick {
    /// Whether the whole value is kept.
    whole: bool,
    /// The kept fields, if it is an object.
    names: Vec<(String, Self)>,
}

/// Keeps nothing.
static NOTHING: Pick = Pick {
    whole: false,
    names: Vec::new(),
};

impl Pick {
    /// Keeps the values at these paths, each taken as one name and as names joined by dots.
    pub(super) fn of<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for path in paths {
            all.add(std::iter::once(path));
            all.add(path.split('.'));
        }
        all
    }

    fn add<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        let mut at = self;
        for name in names {
            let found = at.names.iter().position(|(known, _)| known == name);
            let index = found.unwrap_or_else(|| {
                at.names.push((name.to_owned(), Self::default()));
                at.names.len() - 1
            });
            at = &mut at.names[index].1;
        }
        at.whole = true;
    }

    /// Parses a line. Values without a kept part become null or an empty object.
    ///
    /// # Errors
    /// The same as [`serde_json::from_slice`] of a [`Value`].
    pub(super) fn read(&self, line: &[u8]) -> Result<Value, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let value = self.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(value)
    }
}

impl<'de> DeserializeSeed<'de> for &Pick {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.whole {
            Value::deserialize(deserializer)
        } else {
            deserializer.deserialize_any(self)
        }
    }
}

impl<'de> Visitor<'de> for &Pick {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_str<E>(self, _: &str) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        while seq.next_element_seed(&NOTHING)?.is_some() {}
        Ok(Value::Null)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(found) = map.next_key_seed(Name(self))? {
            match found {
                Some((name, pick)) => {
                    let value = map.next_value_seed(pick)?;
                    object.insert(name.clone(), value);
                }
                None => drop(map.next_value_seed(&NOTHING)?),
            }
        }
        Ok(Value::Object(object))
    }
}

/// Parses a name and returns the selection under it.
struct Name<'p>(&'p Pick);

impl<'de, 'p> DeserializeSeed<'de> for Name<'p> {
    type Value = Option<&'p (String, Pick)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'p> Visitor<'_> for Name<'p> {
    type Value = Option<&'p (String, Pick)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }
    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.names.iter().find(|(known, _)| known == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(paths: &[&str], line: &str) -> Value {
        Pick::of(paths.iter().copied()).read(line.as_bytes()).unwrap()
    }

    #[test]
    fn what_is_asked_for_is_kept_and_nothing_else() {
        let line = r#"{"a":{"b":{"c":[1]},"d":2},"a.b":3,"e":"x","f":[{"a":4}]}"#;
        assert_eq!(read(&["a.b"], line), json!({"a": {"b": {"c": [1]}}, "a.b": 3}));
        assert_eq!(read(&["a"], line), json!({"a": {"b": {"c": [1]}, "d": 2}}));
        assert_eq!(read(&["f.a", "e.x"], line), json!({"e": null, "f": null}));
        assert_eq!(read(&["a"], r#"{"a":1,"b":2,"a":3}"#), json!({"a": 3}));
    }

    /// Pieces of lines, some of them invalid anywhere.
    const PIECES: [&str; 17] = [
        "{",
        "}",
        "[",
        "]",
        "\"a\"",
        "\"b\"",
        ":",
        ",",
        "1",
        "-",
        "1e999",
        "null",
        "true",
        "\"\\ud800\"",
        "\"\\n\"",
        " ",
        "{\"a\":",
    ];

    proptest! {
        /// A line is refused whether or not its invalid part would be kept.
        #[test]
        fn a_line_is_refused_if_and_only_if_a_tree_of_it_is(
            pieces in prop::collection::vec(prop::sample::select(PIECES.as_slice()), 1..12),
            inner in prop::sample::select(PIECES.as_slice()),
        ) {
            for line in [pieces.concat(), format!("{{\"a\":1,\"x\":{inner},\"b\":{{\"a\":{inner},\"c\":[{inner}]}}}}")] {
                let tree = serde_json::from_str::<Value>(&line);
                let read = Pick::of(["a", "b.a"].into_iter()).read(line.as_bytes());
                prop_assert_eq!(read.is_ok(), tree.is_ok());
                if let (Ok(read), Ok(tree)) = (read, tree) {
                    prop_assert_eq!(read.get("a"), tree.get("a"));
                    prop_assert_eq!(read.pointer("/b/a"), tree.pointer("/b/a"));
                }
            }
        }
    }
}
