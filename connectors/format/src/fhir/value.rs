//! A resource as it was read, and looking into it, whatever it holds.

use std::borrow::Cow;

use serde_json::Number;

/// A JSON value. Strings without escapes are the payload's own: a message of many small values takes a small multiple of its size.
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

/// The members of an object, in the order of the message. A table asks for each of its elements, so that looking through all
/// members costs no more than looking each member up in the table does.
#[derive(Debug, Default)]
pub(super) struct Object<'p>(Box<[(Cow<'p, str>, Value<'p>)]>);

impl<'p> Object<'p> {
    /// An object of these members, no two of one name.
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

/// The string of that name, unless it is blank.
pub(super) fn str_of<'v>(object: &'v Object<'_>, name: &str) -> Option<&'v str> {
    object.get(name)?.as_str().filter(|text| !text.trim().is_empty())
}

/// The strings of that name, blank ones and what is no string left out.
pub(super) fn strings<'v>(object: &'v Object<'_>, name: &str) -> Vec<&'v str> {
    let all = items(object, name).filter_map(Value::as_str);
    all.filter(|text| !text.trim().is_empty()).collect()
}

/// The element's values: those of an array, or the one.
pub(super) fn items<'v>(object: &'v Object<'v>, name: &str) -> impl Iterator<Item = &'v Value<'v>> + use<'v> {
    match object.get(name) {
        Some(Value::Array(values)) => values,
        Some(value) => std::slice::from_ref(value),
        None => &[],
    }
    .iter()
}

/// The element's objects.
pub(super) fn objects<'v>(
    object: &'v Object<'v>,
    name: &str,
) -> impl Iterator<Item = &'v Object<'v>> + use<'v> {
    items(object, name).filter_map(Value::as_object)
}

/// The object of that name, or the first of several.
pub(super) fn object<'v>(within: &'v Object<'v>, name: &str) -> Option<&'v Object<'v>> {
    objects(within, name).next()
}
