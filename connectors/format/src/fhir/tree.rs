//! A JSON document as a tree, with what JSON leaves open decided: no name twice in an object, no endless nesting, no more
//! values than a message has.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::{Diagnosis, Problem};

/// Values in one message. Each takes some 80 bytes of memory, whatever its share of the payload.
pub(crate) const MAX_VALUES: usize = 1_000_000;
/// Objects and arrays within each other. FHIR's own nest some twenty deep.
pub(crate) const MAX_DEPTH: usize = 100;

/// The object that the payload is. A byte order mark before it is passed over.
pub(crate) fn parse(payload: &[u8]) -> Result<Map<String, Value>, Diagnosis> {
    let fail = |byte, problem| Diagnosis {
        field: None,
        byte,
        problem,
    };
    let text = std::str::from_utf8(payload).map_err(|e| fail(e.valid_up_to(), Problem::NotUtf8))?;
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
        Ok(_) => Err(fail(payload.len(), Problem::NotAnObject)),
        Err(error) => {
            let byte = text.len() - json.len() + crate::json::byte_of(json, &error);
            let other = match error.classify() {
                serde_json::error::Category::Eof => Problem::Truncated,
                _ => Problem::NotJson,
            };
            Err(fail(byte, budget.problem.get().unwrap_or(other)))
        }
    }
}

struct Budget {
    left: Cell<usize>,
    problem: Cell<Option<Problem>>,
}

impl Budget {
    fn refuse<E: Error>(&self, problem: Problem) -> E {
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
            return Err(self.budget.refuse(Problem::TooComplex));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let left = self.budget.left.get();
        if left == 0 {
            return Err(self.budget.refuse(Problem::TooComplex));
        }
        self.budget.left.set(left - 1);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(inner)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut object = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(self.budget.refuse(Problem::Duplicate));
            }
            let value = map.next_value_seed(inner)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(json: &str) -> (usize, Problem) {
        let diagnosis = parse(json.as_bytes()).unwrap_err();
        (diagnosis.byte, diagnosis.problem)
    }

    #[test]
    fn what_json_leaves_open_is_refused() {
        assert_eq!(problem("{\"a\":{\"b\":1,\"b\":2}}"), (15, Problem::Duplicate));
        assert_eq!(problem("[]").1, Problem::NotAnObject);
        assert_eq!(problem("{\"a\":").1, Problem::Truncated);
        assert_eq!(problem("{} x").1, Problem::NotJson);
        assert!(parse("\u{feff}{}".as_bytes()).is_ok());
        let deep = format!("{{\"a\":{}", "[".repeat(2_000_000));
        assert_eq!(problem(&deep).1, Problem::TooComplex);
        let wide = format!("{{\"a\":[{}0]}}", "0,".repeat(MAX_VALUES));
        assert_eq!(problem(&wide).1, Problem::TooComplex);
    }
}
