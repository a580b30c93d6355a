//! The plan for reading a message: the numbers of its mapped fields and their encodings. It is built once per
//! schema from the trie of paths and the message's descriptor, so that reading needs no lookup by name.

use lethe_core::KnownKind;
use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};

use crate::fields::{Children, Field, Node};
use crate::known::kind_named;

/// The mapped part of a message.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) slots: Vec<(u32, Slot)>,
    /// The default values of fields that cannot be distinguished from their defaults.
    pub(super) implied: Vec<(Field, String)>,
    /// Bits of the fields that the schema contains, including nested messages.
    pub(super) placed: u16,
}

/// The content of a mapped field number.
#[derive(Debug)]
pub(super) enum Slot {
    Field(Field, Value),
    Inner(Message),
    /// A list of `{kind, value}`.
    Entries {
        kind: (u32, Value),
        value: (u32, Value),
    },
    /// A map of kind to value.
    Map(Value),
    /// A message whose fields are kinds; fields of an unreadable type must be missing.
    Kinds(Vec<(u32, Option<KnownKind>, Option<Value>)>),
    /// A type that the field cannot have.
    Wrong(Field),
}

/// The encoding of a value.
#[derive(Debug)]
pub(super) enum Value {
    Text,
    /// Names by their numbers; an empty name means no value.
    Enum(Vec<(i32, String)>),
    Int32,
    Int64,
    Unsigned32,
    Unsigned64,
    Zigzag32,
    Zigzag64,
    Fixed32,
    Fixed64,
    SignedFixed32,
    SignedFixed64,
    /// A `google.protobuf.Timestamp`.
    Moment,
    /// A message whose field 1 is the value.
    Wrapped(Box<Value>),
}

impl Message {
    pub(super) fn of(message: &MessageDescriptor, children: &Children) -> Self {
        let mut plan = Self::default();
        for (name, node) in children {
            let found = message
                .get_field_by_name(name)
                .or_else(|| message.get_field_by_json_name(name));
            let Some(field) = found.filter(|field| !field.is_group()) else {
                continue;
            };
            let slot = match (node, field.kind()) {
                (Node::Leaf(leaf), _) => {
                    plan.placed |= leaf.bit();
                    plan.imply(*leaf, &field);
                    slot(*leaf, &field)
                }
                (Node::Object(inner), Kind::Message(kind)) if !field.is_list() && !field.is_map() => {
                    let inner = Self::of(&kind, inner);
                    plan.placed |= inner.placed;
                    Slot::Inner(inner)
                }
                (Node::Object(_), _) => continue,
            };
            plan.slots.push((field.number(), slot));
        }
        plan
    }

    fn imply(&mut self, leaf: Field, field: &FieldDescriptor) {
        if field.supports_presence() || field.is_list() || field.is_map() {
            return;
        }
        match (leaf, field.kind()) {
            (Field::Text, Kind::String) => self.implied.push((leaf, String::new())),
            (Field::Event | Field::NoteType, Kind::Enum(kind)) => {
                let zero = names(&kind, leaf == Field::Event)
                    .into_iter()
                    .find(|(number, _)| *number == 0);
                if let Some((_, name)) = zero.filter(|(_, name)| !name.is_empty()) {
                    self.implied.push((leaf, name));
                }
            }
            _ => {}
        }
    }
}

fn slot(leaf: Field, field: &FieldDescriptor) -> Slot {
    if leaf == Field::Known {
        return known(field).unwrap_or(Slot::Wrong(leaf));
    }
    match value(&field.kind(), leaf == Field::Event) {
        Some(value) if !field.is_list() && !field.is_map() => Slot::Field(leaf, value),
        _ => Slot::Wrong(leaf),
    }
}

fn known(field: &FieldDescriptor) -> Option<Slot> {
    let Kind::Message(message) = field.kind() else {
        return None;
    };
    if field.is_map() {
        let key = message.map_entry_key_field().kind();
        let value = value(&message.map_entry_value_field().kind(), false)?;
        return (key == Kind::String).then_some(Slot::Map(value));
    }
    if field.is_list() {
        let part = |name, lower| {
            let field: FieldDescriptor = message.get_field_by_name(name)?;
            Some((field.number(), value(&field.kind(), lower)?))
        };
        let kind = part("kind", true).filter(|(_, value)| matches!(value, Value::Text | Value::Enum(_)))?;
        let value = part("value", false)?;
        return Some(Slot::Entries { kind, value });
    }
    let kinds = message.fields().map(|field| {
        let value = value(&field.kind(), false).filter(|_| !field.is_map());
        (field.number(), kind_named(field.name()), value)
    });
    Some(Slot::Kinds(kinds.collect()))
}

/// Returns the encoding of a value of that type; `None` if no field can have it. With `lower`, names of an
/// enum are lower-cased and lose the type's prefix.
fn value(kind: &Kind, lower: bool) -> Option<Value> {
    Some(match kind {
        Kind::String => Value::Text,
        Kind::Enum(kind) => Value::Enum(names(kind, lower)),
        Kind::Int32 => Value::Int32,
        Kind::Int64 => Value::Int64,
        Kind::Uint32 => Value::Unsigned32,
        Kind::Uint64 => Value::Unsigned64,
        Kind::Sint32 => Value::Zigzag32,
        Kind::Sint64 => Value::Zigzag64,
        Kind::Fixed32 => Value::Fixed32,
        Kind::Fixed64 => Value::Fixed64,
        Kind::Sfixed32 => Value::SignedFixed32,
        Kind::Sfixed64 => Value::SignedFixed64,
        Kind::Message(message) => match message.full_name() {
            "google.protobuf.Timestamp" => Value::Moment,
            "google.protobuf.StringValue"
            | "google.protobuf.Int32Value"
            | "google.protobuf.Int64Value"
            | "google.protobuf.UInt32Value"
            | "google.protobuf.UInt64Value" => {
                let inner = message.get_field(1)?.kind();
                Value::Wrapped(Box::new(value(&inner, lower)?))
            }
            _ => return None,
        },
        Kind::Bool | Kind::Bytes | Kind::Float | Kind::Double => return None,
    })
}

/// Returns the names of an enum. With `lower` they lose their type's name, which the style guide requires as
/// a prefix; the name of the unspecified value becomes empty.
fn names(kind: &EnumDescriptor, lower: bool) -> Vec<(i32, String)> {
    let own = format!("{}_", snake(kind.name()));
    let name = |written: &str| {
        if !lower {
            return written.to_owned();
        }
        let name = written.to_ascii_lowercase();
        match name.strip_prefix(&own).unwrap_or(&name) {
            "unspecified" | "unknown" => String::new(),
            name => name.to_owned(),
        }
    };
    kind.values()
        .map(|value| (value.number(), name(value.name())))
        .collect()
}

/// Converts `EventKind` to `event_kind`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut before = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && before {
            out.push('_');
        }
        before = c.is_ascii_lowercase() || c.is_ascii_digit();
        out.push(c.to_ascii_lowercase());
    }
    out
}
