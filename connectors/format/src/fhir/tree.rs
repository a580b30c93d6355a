//! A JSON document as a tree, stricter than JSON: no duplicate names in an object, limited nesting, and a
//! limited number of values.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use super::value::{Object, Value};
use crate::{Diagnosis, PayloadError};

/// Maximum number of values in one message. Each takes some 250 bytes of memory in all, however short it is.
pub(crate) const MAX_VALUES: usize = 1_000_000;
/// Maximum nesting of objects and arrays. FHIR's own nest some twenty deep.
pub(crate) const MAX_DEPTH: usize = 100;
/// Maximum number of names in an object that are compared pairwise.
const FEW: usize = 16;

/// Parses the payload's object, after an optional byte order mark.
pub(super) fn parse(payload: &[u8]) -> Result<Object<'_>, Diagnosis> {
    let fail = |byte, problem| Diagnosis {
        field: None,
        byte,
        problem,
    };
    let text = std::str::from_utf8(payload).map_err(|e| fail(e.valid_up_to(), PayloadError::NotUtf8))?;
    let json = text.strip_prefix('\u{feff}').unwrap_or(text);
    let budget = Budget {
        left: Cell::new(MAX_VALUES),
        problem: Cell::new(None),
    };
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let seed = Seed {
        budget: &budget,
        depth: 0,
    };
    let value = seed.deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    match value {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(fail(payload.len(), PayloadError::NotAnObject)),
        Err(error) => {
            let byte = text.len() - json.len() + crate::json::byte_of(json, &error);
            let other = match error.classify() {
                serde_json::error::Category::Eof => PayloadError::Truncated,
                _ => PayloadError::NotJson,
            };
            Err(fail(byte, budget.problem.get().unwrap_or(other)))
        }
    }
}

struct Budget {
    left: Cell<usize>,
    problem: Cell<Option<PayloadError>>,
}

impl Budget {
    fn refuse<E: Error>(&self, problem: PayloadError) -> E {
        self.problem.set(Some(problem));
        E::custom("refused")
    }
}

#[derive(Clone, Copy)]
struct Seed<'a> {
    budget: &'a Budget,
    depth: usize,
}

impl Seed<'_> {
    fn inner<E: Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(self.budget.refuse(PayloadError::TooComplex));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        let left = self.budget.left.get();
        if left == 0 {
            return Err(self.budget.refuse(PayloadError::TooComplex));
        }
        self.budget.left.set(left - 1);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value<'de>, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value<'de>, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value<'de>, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }
    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::String(Cow::Borrowed(value)))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value<'de>, E> {
        Ok(Value::String(Cow::Owned(value.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value<'de>, A::Error> {
        let inner = self.inner()?;
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(inner)? {
            values.push(value);
        }
        Ok(Value::Array(values.into()))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        let inner = self.inner()?;
        let mut members: Vec<(Cow<'de, str>, Value<'de>)> = Vec::new();
        // Filled once there are more than a few.
        let mut seen: HashSet<Cow<'de, str>> = HashSet::new();
        while let Some(name) = map.next_key_seed(Name)? {
            let twice = if members.len() < FEW {
                members.iter().any(|(before, _)| *before == name)
            } else {
                if seen.is_empty() {
                    seen.extend(members.iter().map(|(before, _)| before.clone()));
                }
                !seen.insert(name.clone())
            };
            if twice {
                return Err(self.budget.refuse(PayloadError::Duplicate));
            }
            let value = map.next_value_seed(inner)?;
            members.push((name, value));
        }
        Ok(Value::Object(Object::new(members)))
    }
}

/// The name of a member: borrowed from the payload, unless it has escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }
    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }
    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(json: &str) -> (usize, PayloadError) {
        let diagnosis = parse(json.as_bytes()).unwrap_err();
        (diagnosis.byte, diagnosis.problem)
    }

    #[test]
    fn what_json_leaves_open_is_refused() {
        assert_eq!(
            problem("{\"a\":{\"b\":1,\"b\":2}}"),
            (15, PayloadError::Duplicate)
        );
        assert_eq!(problem("[]").1, PayloadError::NotAnObject);
        assert_eq!(problem("{\"a\":").1, PayloadError::Truncated);
        assert_eq!(problem("{} x").1, PayloadError::NotJson);
        assert_eq!(problem(r#"{"a":1,"\u0061":2}"#).1, PayloadError::Duplicate);
        let many: String = (0..40).map(|i| format!("\"k{i}\":0,")).collect();
        assert!(parse(format!("{{{many}\"k40\":0}}").as_bytes()).is_ok());
        for twice in [3, FEW, 39] {
            assert_eq!(
                problem(&format!("{{{many}\"k{twice}\":0}}")).1,
                PayloadError::Duplicate
            );
        }
        assert!(parse("\u{feff}{}".as_bytes()).is_ok());
        let deep = format!("{{\"a\":{}", "[".repeat(2_000_000));
        assert_eq!(problem(&deep).1, PayloadError::TooComplex);
        let wide = format!("{{\"a\":[{}0]}}", "0,".repeat(MAX_VALUES));
        assert_eq!(problem(&wide).1, PayloadError::TooComplex);
    }
}
