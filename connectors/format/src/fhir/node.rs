//! A message without its contents: what is kept of it, and slots for what is replaced.

use serde_json::Number;

use super::names;
use super::table::Need;
use super::value::Value;

/// A value of the message.
#[derive(Debug)]
pub(super) enum Node {
    /// As it was.
    Kept(Kept),
    Object(Vec<Field>),
    List(Vec<Node>),
    /// A part of the narrative, as a string.
    Part(usize),
    /// The same as XHTML, with its status.
    Narrative {
        status: Option<Box<str>>,
        part: usize,
    },
    /// The same as an attachment in plain text.
    Data {
        part: usize,
        beside: Box<[Field]>,
    },
    /// A structured identifier, as it is replaced.
    Label(usize),
    /// The date of a point in time, and the time if it has one.
    Date {
        at: usize,
        time: Box<str>,
        instant: bool,
    },
    Name(Box<Name>),
    /// A resource's id, by its number among the ids.
    Id(usize),
    /// `Patient/` and an id.
    Typed(&'static str, usize),
    /// The address of a resource of that type and id.
    Address(&'static str, usize),
    /// `#` and an id.
    Contained(usize),
    /// An id as a URN.
    Urn(usize),
    /// The security label that says that the resource is pseudonymised.
    Pseudonymised,
}

/// A name of a person, with its use.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) at: usize,
    pub(super) usage: Option<Kept>,
    pub(super) shape: names::Shape,
}

/// A value that is kept: no object and no array is, as a whole.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Bool(bool),
    Number(Number),
    Name(&'static str),
    Text(Box<str>),
}

impl Kept {
    /// The value; none of an object, an array or null.
    pub(super) fn of(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Bool(is) => Some(Self::Bool(*is)),
            Value::Number(number) => Some(Self::Number(number.clone())),
            Value::String(text) => Some(Self::Text((&**text).into())),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The string that it is, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Name(text) => Some(text),
            Self::Text(text) => Some(text),
            Self::Bool(_) | Self::Number(_) => None,
        }
    }
}

/// An element of an object.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// None if nothing of it can come back.
    pub(super) node: Option<Node>,
    pub(super) need: Need,
    /// Whether it is a JSON string or the like, so that what is said about it has a place of its own.
    pub(super) primitive: bool,
    /// Whether it repeats.
    pub(super) list: bool,
}

impl Field {
    /// An element that is there.
    pub(super) const fn of(name: &'static str, node: Node) -> Self {
        Self {
            name,
            node: Some(node),
            need: Need::Optional,
            primitive: false,
            list: false,
        }
    }

    /// A primitive element that is kept.
    pub(super) const fn kept(name: &'static str, kept: Kept) -> Self {
        Self {
            name,
            node: Some(Node::Kept(kept)),
            need: Need::Optional,
            primitive: true,
            list: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of a million values takes what these do.
    #[test]
    fn values_and_nodes_are_small() {
        assert_eq!(size_of::<Value<'_>>(), 24);
        assert_eq!(size_of::<Node>(), 32);
        assert_eq!(size_of::<Field>(), 56);
    }
}
