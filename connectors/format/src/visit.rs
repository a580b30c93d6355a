//! Reads a JSON payload in one pass along the trie of paths into a note event.

use std::fmt;

use lethe_core::{EventKind, NoteEvent, Sensitive};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::PayloadError;
use crate::fields::{Children, Field, Node, a_leaf};
use crate::json::event_kind;
use crate::known::KnownSeed;

/// The event under construction, and the position of a problem.
pub(crate) struct Draft {
    pub(crate) event: NoteEvent,
    /// Fields that are present and not null.
    pub(crate) seen: u16,
    pub(crate) max_note_bytes: usize,
    /// The field whose value is being read. It stays set after an error.
    pub(crate) reading: Option<Field>,
    pub(crate) problem: Option<PayloadError>,
    pub(crate) id_is_number: bool,
    pub(crate) id_name: usize,
}

impl Draft {
    pub(crate) fn new(max_note_bytes: usize) -> Self {
        Self {
            event: NoteEvent::default(),
            seen: 0,
            max_note_bytes,
            reading: None,
            problem: None,
            id_is_number: false,
            id_name: 0,
        }
    }

    /// Returns the first missing required field: one of `required`, or the text of a note that is not
    /// deleted.
    pub(crate) fn missing(&self, required: u16) -> Option<Field> {
        let needs_text = self.event.kind != EventKind::Delete;
        let required = required | if needs_text { Field::Text.bit() } else { 0 };
        Field::ALL
            .into_iter()
            .find(|field| required & !self.seen & field.bit() != 0)
    }

    /// Sets a field that was written as a string.
    pub(crate) fn string(&mut self, field: Field, value: &str) -> Result<(), PayloadError> {
        match field {
            Field::Text if value.len() > self.max_note_bytes => return Err(PayloadError::TooLarge),
            Field::Text => self.event.text = value.into(),
            Field::NoteType => self.event.note_type = Some(value.to_owned()),
            Field::Event => self.event.kind = event_kind(value).ok_or(PayloadError::UnknownEvent)?,
            Field::AuthoredAt => {
                let at = value.parse::<jiff::Timestamp>().map_err(|_| not_a_date(value))?;
                self.event.authored_at = Some(at.as_millisecond());
            }
            Field::NoteId | Field::PatientId | Field::EncounterId | Field::AuthorId => {
                self.id(field, value.into());
            }
            Field::Version | Field::Known => return Err(PayloadError::WrongType),
        }
        self.seen |= field.bit();
        Ok(())
    }

    /// Sets a field that was written as an integer.
    pub(crate) fn integer(&mut self, field: Field, value: i64) -> Result<(), PayloadError> {
        match field {
            field if field.is_id() => self.number(field, value.to_string()),
            Field::Version => self.event.version = Some(value),
            Field::AuthoredAt => self.event.authored_at = Some(value),
            _ => return Err(PayloadError::WrongType),
        }
        self.seen |= field.bit();
        Ok(())
    }

    /// Sets a field that was written as an integer without a sign.
    pub(crate) fn unsigned(&mut self, field: Field, value: u64) -> Result<(), PayloadError> {
        match i64::try_from(value) {
            Ok(signed) => self.integer(field, signed),
            Err(_) if field.is_id() => {
                self.number(field, value.to_string());
                Ok(())
            }
            Err(_) => Err(PayloadError::WrongType),
        }
    }

    fn number(&mut self, field: Field, digits: String) {
        self.id_is_number |= field == Field::NoteId;
        self.id(field, digits.into());
    }

    fn id(&mut self, field: Field, value: Sensitive) {
        let event = &mut self.event;
        match field {
            Field::NoteId => event.note_id = value,
            Field::PatientId => event.patient_id = Some(value),
            Field::EncounterId => event.encounter_id = Some(value),
            _ => event.author_id = Some(value),
        }
        self.seen |= field.bit();
    }

    fn fail<E: Error>(&mut self, problem: PayloadError) -> E {
        self.problem = Some(problem);
        // The message is dropped: `read_full` reports the problem.
        E::custom("refused")
    }
}

/// What is wrong with a text that is no instant: a date or a time of day without an offset from UTC is the usual one.
fn not_a_date(value: &str) -> PayloadError {
    let local = value.parse::<jiff::civil::DateTime>().is_ok() || value.parse::<jiff::civil::Date>().is_ok();
    if local {
        PayloadError::NoZone
    } else {
        PayloadError::NotADate
    }
}

/// Reads one object along the trie.
pub(crate) struct ObjectSeed<'a> {
    pub(crate) children: &'a Children,
    pub(crate) draft: &'a mut Draft,
    pub(crate) top: bool,
}

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    /// Null means a missing inner object.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.top {
            return Err(self.draft.fail(PayloadError::NotAnObject));
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = 0_u32;
        let mut misspelt = None;
        while let Some(key) = map.next_key_seed(KeySeed(self.children))? {
            let child = match key {
                Key::Child(child) => child,
                Key::Other(near) => {
                    misspelt = misspelt.or(near.filter(|_| self.top));
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            let node = &self.children[child].1;
            // At most eleven children: ten fields and one more name of the id.
            if seen & (1 << child) != 0 {
                self.draft.reading = Some(a_leaf(node));
                return Err(self.draft.fail(PayloadError::Duplicate));
            }
            seen |= 1 << child;
            match node {
                Node::Leaf(field) => {
                    self.draft.reading = Some(*field);
                    if self.draft.seen & field.bit() != 0 {
                        return Err(self.draft.fail(PayloadError::Duplicate));
                    }
                    if *field == Field::NoteId {
                        self.draft.id_name = child;
                    }
                    map.next_value_seed(ValueSeed {
                        field: *field,
                        draft: &mut *self.draft,
                    })?;
                    self.draft.reading = None;
                }
                Node::Object(children) => map.next_value_seed(ObjectSeed {
                    children,
                    draft: &mut *self.draft,
                    top: false,
                })?,
            }
        }
        // If the similar key is present too, this one is a different key.
        if let Some(field) = misspelt.filter(|field| self.draft.seen & field.bit() == 0) {
            self.draft.reading = Some(field);
            return Err(self.draft.fail(PayloadError::UnknownKey));
        }
        Ok(())
    }
}

/// The meaning of a key.
enum Key {
    /// The child with this index.
    Child(usize),
    /// No child; possibly a misspelt field that protects the note.
    Other(Option<Field>),
}

/// Optional fields that protect the note: a misspelt one would be silently ignored.
const GUARDED: [Field; 2] = [Field::Known, Field::PatientId];

/// Finds the child of a key.
struct KeySeed<'a>(&'a Children);

impl KeySeed<'_> {
    fn near(&self, key: &str) -> Option<Field> {
        // A mapped field has a name of the feed's choice.
        let is_here = |field: &Field| {
            let mut children = self.0.iter();
            children
                .any(|(name, node)| name == field.name() && matches!(node, Node::Leaf(leaf) if leaf == field))
        };
        if key.len() > 16 {
            return None;
        }
        let is_near = |field: &Field| lethe_core::mistakes(key, field.name(), 1).is_some();
        GUARDED.into_iter().find(|field| is_near(field) && is_here(field))
    }
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = Key;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = Key;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let child = self.0.iter().position(|(name, _)| name == key);
        Ok(child.map_or_else(|| Key::Other(self.near(key)), Key::Child))
    }
}

/// Reads one field's value into the event. Other types fall through to the visitor's own type error.
struct ValueSeed<'a> {
    field: Field,
    draft: &'a mut Draft,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.field == Field::Known {
            self.draft.seen |= self.field.bit();
            let known = KnownSeed {
                into: &mut self.draft.event.known,
                problem: &mut self.draft.problem,
            };
            return known.deserialize(deserializer);
        }
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for ValueSeed<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field.name())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        let set = self.draft.integer(self.field, value);
        set.map_err(|problem| self.draft.fail(problem))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        let set = self.draft.unsigned(self.field, value);
        set.map_err(|problem| self.draft.fail(problem))
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        let set = self.draft.string(self.field, value);
        set.map_err(|problem| self.draft.fail(problem))
    }
}
