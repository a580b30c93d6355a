//! What is to be read of a message: the numbers of its mapped fields, and how each is written. Made once a schema, from
//! the trie of paths and the message's descriptor, so that reading looks nothing up by name.

use lethe_core::KnownKind;
use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};

use crate::fields::{Children, Field, Node};
use crate::known::kind_named;

/// A message as far as it is mapped.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) slots: Vec<(u32, Slot)>,
    /// What the fields that are not told from their defaults are when nothing is written.
    pub(super) implied: Vec<(Field, String)>,
    /// Bits of the fields that there is a place for, in messages inside too.
    pub(super) placed: u16,
}

/// What a mapped number holds.
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
    /// A message whose fields are kinds; those without a way to read them must not be there.
    Kinds(Vec<(u32, Option<KnownKind>, Option<Value>)>),
    /// What the field cannot be made of.
    Wrong(Field),
}

/// How a value is written.
#[derive(Debug)]
pub(super) enum Value {
    Text,
    /// Names by their numbers; an empty name is no value.
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
    /// A message of which field 1 is the value.
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

/// How a value of that type is written; none if no field is made of it. `lower`: names of an enum are lowered, without
/// the type's own before them.
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

/// The names of an enum. Lowered, they lose the name of their type, which the style guide puts before each; and the one
/// that says that nothing is said is empty.
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

/// `EventKind` as `event_kind`.
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
