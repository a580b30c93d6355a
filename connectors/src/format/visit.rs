//! One pass over a JSON payload along the trie of paths, straight into a note event.

use std::fmt;

use lethe_core::{NoteEvent, Sensitive};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::Problem;
use super::fields::{Children, Field, Node, a_leaf};
use super::json::event_kind;
use super::known::KnownSeed;

/// The event under construction, and what went wrong where.
pub(super) struct Draft {
    pub(super) event: NoteEvent,
    /// Fields that were there and not null.
    pub(super) seen: u16,
    pub(super) max_note_bytes: usize,
    /// The field whose value is being read. Stays set when that fails.
    pub(super) reading: Option<Field>,
    pub(super) problem: Option<Problem>,
    pub(super) id_is_number: bool,
    pub(super) id_name: usize,
}

impl Draft {
    fn fail<E: Error>(&mut self, problem: Problem) -> E {
        self.problem = Some(problem);
        // The words go nowhere: `read_full` reports the problem.
        E::custom("refused")
    }
}

/// Reads one object along the trie.
pub(super) struct ObjectSeed<'a> {
    pub(super) children: &'a Children,
    pub(super) draft: &'a mut Draft,
    pub(super) top: bool,
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

    /// Null stands for an inner object that is not there.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.top {
            return Err(self.draft.fail(Problem::NotAnObject));
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = 0_u32;
        while let Some(child) = map.next_key_seed(KeySeed(self.children))? {
            let Some(child) = child else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let node = &self.children[child].1;
            // At most eleven children: ten fields and one more name of the id.
            if seen & (1 << child) != 0 {
                self.draft.reading = Some(a_leaf(node));
                return Err(self.draft.fail(Problem::Duplicate));
            }
            seen |= 1 << child;
            match node {
                Node::Leaf(field) => {
                    self.draft.reading = Some(*field);
                    if self.draft.seen & field.bit() != 0 {
                        return Err(self.draft.fail(Problem::Duplicate));
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
        Ok(())
    }
}

/// Which child a key names.
struct KeySeed<'a>(&'a Children);

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = Option<usize>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = Option<usize>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|(name, _)| name == key))
    }
}

/// Reads one field's value into the event. What a field does not take falls to the visitor's own type error.
struct ValueSeed<'a> {
    field: Field,
    draft: &'a mut Draft,
}

impl ValueSeed<'_> {
    fn id(&mut self, value: Sensitive) {
        let event = &mut self.draft.event;
        match self.field {
            Field::NoteId => event.note_id = value,
            Field::PatientId => event.patient_id = Some(value),
            Field::EncounterId => event.encounter_id = Some(value),
            _ => event.author_id = Some(value),
        }
        self.draft.seen |= self.field.bit();
    }

    fn integer<E: Error>(mut self, value: i64, digits: impl FnOnce() -> String) -> Result<(), E> {
        match self.field {
            field if field.is_id() => {
                self.draft.id_is_number |= field == Field::NoteId;
                self.id(digits().into());
            }
            Field::Version => self.draft.event.version = Some(value),
            Field::AuthoredAt => self.draft.event.authored_at = Some(value),
            _ => return Err(self.draft.fail(Problem::WrongType)),
        }
        self.draft.seen |= self.field.bit();
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.field == Field::Known {
            self.draft.seen |= self.field.bit();
            return KnownSeed(&mut self.draft.event.known).deserialize(deserializer);
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
        self.integer(value, || value.to_string())
    }
    fn visit_u64<E: Error>(mut self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(signed) => self.integer(signed, || value.to_string()),
            Err(_) if self.field.is_id() => {
                self.draft.id_is_number |= self.field == Field::NoteId;
                self.id(value.to_string().into());
                Ok(())
            }
            Err(_) => Err(self.draft.fail(Problem::WrongType)),
        }
    }
    fn visit_str<E: Error>(mut self, value: &str) -> Result<(), E> {
        match self.field {
            Field::Text if value.len() > self.draft.max_note_bytes => {
                return Err(self.draft.fail(Problem::TooLarge));
            }
            Field::Text => self.draft.event.text = value.into(),
            Field::NoteType => self.draft.event.note_type = Some(value.to_owned()),
            Field::Event => {
                self.draft.event.kind =
                    event_kind(value).ok_or_else(|| self.draft.fail(Problem::UnknownEvent))?;
            }
            Field::AuthoredAt => match value.parse::<jiff::Timestamp>() {
                Ok(at) => self.draft.event.authored_at = Some(at.as_millisecond()),
                Err(_) => return Err(self.draft.fail(Problem::NotADate)),
            },
            Field::NoteId | Field::PatientId | Field::EncounterId | Field::AuthorId => self.id(value.into()),
            Field::Version | Field::Known => return Err(self.draft.fail(Problem::WrongType)),
        }
        self.draft.seen |= self.field.bit();
        Ok(())
    }
}
