//! A parsed resource of any shape, and accessors for its members.

use std::borrow::Cow;

use serde_json::Number;

/// A JSON value. Strings without escapes borrow from the payload, so that a message of many small values
/// takes a small multiple of its size.
#[derive(Debug)]
pub(super) enum Value<'p> {
    Null,
    Bool(bool),
    Number(Number),
    String(Cow<'p, str>),
    Array(Box<[Value<'p>]>),
    Object(Object<'p>),
}

impl<'p> Value<'p> {
    pub(super) const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(super) const fn is_boolean(&self) -> bool {
        matches!(self, Self::Bool(_))
    }

    pub(super) const fn is_array(&self) -> bool {
        matches!(self, Self::Array(_))
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub(super) const fn as_object(&self) -> Option<&Object<'p>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    pub(super) fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.as_f64(),
            _ => None,
        }
    }
}

/// The members of an object in message order. A table looks up each of its elements, so scanning all members
/// costs no more than looking up each member in the table.
#[derive(Debug, Default)]
pub(super) struct Object<'p>(Box<[(Cow<'p, str>, Value<'p>)]>);

impl<'p> Object<'p> {
    /// Returns an object with these members, whose names must be distinct.
    pub(super) fn new(members: Vec<(Cow<'p, str>, Value<'p>)>) -> Self {
        Self(members.into())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value<'p>> {
        let found = self.0.iter().find(|(one, _)| one == name);
        found.map(|(_, value)| value)
    }

    pub(super) fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Value<'p>> {
        self.0.iter().map(|(_, value)| value)
    }
}

/// Returns the string with that name, unless it is blank.
pub(super) fn str_of<'v>(object: &'v Object<'_>, name: &str) -> Option<&'v str> {
    object.get(name)?.as_str().filter(|text| !text.trim().is_empty())
}

/// Returns the strings with that name, except blank ones and other values.
pub(super) fn strings<'v>(object: &'v Object<'_>, name: &str) -> Vec<&'v str> {
    let all = items(object, name).filter_map(Value::as_str);
    all.filter(|text| !text.trim().is_empty()).collect()
}

/// Returns the element's values: those of an array, or the single one.
pub(super) fn items<'v>(object: &'v Object<'v>, name: &str) -> impl Iterator<Item = &'v Value<'v>> + use<'v> {
    match object.get(name) {
        Some(Value::Array(values)) => values,
        Some(value) => std::slice::from_ref(value),
        None => &[],
    }
    .iter()
}

/// Returns the element's objects.
pub(super) fn objects<'v>(
    object: &'v Object<'v>,
    name: &str,
) -> impl Iterator<Item = &'v Object<'v>> + use<'v> {
    items(object, name).filter_map(Value::as_object)
}

/// Returns the object with that name, or the first of several.
pub(super) fn object<'v>(within: &'v Object<'v>, name: &str) -> Option<&'v Object<'v>> {
    objects(within, name).next()
}
