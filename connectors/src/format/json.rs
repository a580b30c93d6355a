//! The `json` format: a note event as one JSON object.
//!
//! | field | value |
//! |---|---|
//! | `note_id`, `patient_id`, `encounter_id`, `author_id` | string or integer |
//! | `note_type` | string |
//! | `version` | integer |
//! | `authored_at` | RFC 3339 with an offset, or milliseconds since 1970-01-01T00:00:00Z |
//! | `event` | `create` (default), `amend`, `delete` |
//! | `text` | string, untouched; needed unless the event is `delete` |
//! | `known` | list of `{kind, value}`, or an object of kind to a value or a list of values |
//!
//! A feed that names them otherwise maps them: `fields = { text = "body.note", note_id = "/meta/id" }`. Null is absent,
//! other fields are ignored, and a field that is read may not be there twice. A byte order mark before the object is
//! passed over (RFC 8259 section 8.1 lets a parser do so).
//!
//! One pass over the payload, no tree: a trie of the mapped paths is walked while serde_json reads, so a note's text is
//! copied once and what is not mapped is skipped.

use std::fmt;

use lethe_core::{EventKind, NoteEvent, Sensitive};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::known::KnownSeed;
use super::{Diagnosis, Format, FormatError, MAX_NOTE_BYTES, Problem};

/// Settings of the `json` format.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JsonConfig {
    /// Where each field stands, if not at the top under its own name.
    pub fields: Fields,
    /// Fields besides `text` without which an event is quarantined. Default: `note_id`.
    pub required: Vec<String>,
    /// Notes whose text is over this many bytes are quarantined.
    pub max_note_bytes: usize,
}

impl Default for JsonConfig {
    fn default() -> Self {
        Self {
            fields: Fields::default(),
            required: vec![Field::NoteId.name().to_owned()],
            max_note_bytes: MAX_NOTE_BYTES,
        }
    }
}

/// Paths of the fields: names joined by dots, or a JSON pointer (RFC 6901) where a name holds a dot. Objects only: a
/// path does not enter an array.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each is described in the module's table")]
pub struct Fields {
    pub note_id: Option<String>,
    pub version: Option<String>,
    pub patient_id: Option<String>,
    pub encounter_id: Option<String>,
    pub note_type: Option<String>,
    pub author_id: Option<String>,
    pub authored_at: Option<String>,
    pub event: Option<String>,
    pub text: Option<String>,
    pub known: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    NoteId,
    Version,
    PatientId,
    EncounterId,
    NoteType,
    AuthorId,
    AuthoredAt,
    Event,
    Text,
    Known,
}

impl Field {
    const ALL: [Self; 10] = [
        Self::NoteId,
        Self::Version,
        Self::PatientId,
        Self::EncounterId,
        Self::NoteType,
        Self::AuthorId,
        Self::AuthoredAt,
        Self::Event,
        Self::Text,
        Self::Known,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::NoteId => "note_id",
            Self::Version => "version",
            Self::PatientId => "patient_id",
            Self::EncounterId => "encounter_id",
            Self::NoteType => "note_type",
            Self::AuthorId => "author_id",
            Self::AuthoredAt => "authored_at",
            Self::Event => "event",
            Self::Text => "text",
            Self::Known => "known",
        }
    }

    const fn is_id(self) -> bool {
        matches!(
            self,
            Self::NoteId | Self::PatientId | Self::EncounterId | Self::AuthorId
        )
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }

    fn mapped(self, fields: &Fields) -> Option<&str> {
        match self {
            Self::NoteId => &fields.note_id,
            Self::Version => &fields.version,
            Self::PatientId => &fields.patient_id,
            Self::EncounterId => &fields.encounter_id,
            Self::NoteType => &fields.note_type,
            Self::AuthorId => &fields.author_id,
            Self::AuthoredAt => &fields.authored_at,
            Self::Event => &fields.event,
            Self::Text => &fields.text,
            Self::Known => &fields.known,
        }
        .as_deref()
    }
}

impl JsonConfig {
    /// The decoder.
    ///
    /// # Errors
    /// [`FormatError`] for a path with an empty part, two fields at one place, or an unknown name in `required`.
    pub fn build(&self) -> Result<JsonFormat, FormatError> {
        let mut root = Vec::new();
        for field in Field::ALL {
            let path = field.mapped(&self.fields).unwrap_or(field.name());
            insert(&mut root, field, path)?;
        }
        let mut required = 0;
        for name in &self.required {
            let field = Field::ALL.into_iter().find(|field| field.name() == name);
            required |= field
                .ok_or_else(|| FormatError::NoSuchField {
                    name: name.clone(),
                    names: Field::ALL.map(Field::name).join(", "),
                })?
                .bit();
        }
        Ok(JsonFormat {
            root,
            required,
            max_note_bytes: self.max_note_bytes,
        })
    }
}

/// What stands under a name: a field, or an object with more names.
#[derive(Debug)]
enum Node {
    Leaf(Field),
    Object(Children),
}

/// Few enough that comparing each in turn beats hashing.
type Children = Vec<(String, Node)>;

fn insert(root: &mut Children, field: Field, path: &str) -> Result<(), FormatError> {
    let parts: Vec<String> = match path.strip_prefix('/') {
        Some(pointer) => pointer
            .split('/')
            .map(|part| part.replace("~1", "/").replace("~0", "~"))
            .collect(),
        None => path.split('.').map(str::to_owned).collect(),
    };
    if parts.iter().any(String::is_empty) {
        return Err(FormatError::Path {
            field: field.name(),
            path: path.to_owned(),
        });
    }
    let clash = |other: Field| FormatError::Clash {
        field: field.name(),
        path: path.to_owned(),
        other: other.name(),
    };
    let last = parts.len() - 1;
    let mut children = root;
    for (depth, part) in parts.into_iter().enumerate() {
        let i = match children.iter().position(|(name, _)| *name == part) {
            Some(i) if depth == last => return Err(clash(a_leaf(&children[i].1))),
            Some(i) => i,
            None => {
                let node = if depth == last {
                    Node::Leaf(field)
                } else {
                    Node::Object(Vec::new())
                };
                children.push((part, node));
                children.len() - 1
            }
        };
        match &mut children[i].1 {
            Node::Object(inner) => children = inner,
            Node::Leaf(_) if depth == last => return Ok(()),
            Node::Leaf(other) => return Err(clash(*other)),
        }
    }
    Ok(())
}

/// Some field under the node; every object node has one, for it was made on the way to a leaf.
fn a_leaf(node: &Node) -> Field {
    match node {
        Node::Leaf(field) => *field,
        Node::Object(children) => children.first().map_or(Field::Text, |(_, node)| a_leaf(node)),
    }
}

/// Decodes note events in JSON.
#[derive(Debug)]
pub struct JsonFormat {
    root: Children,
    required: u16,
    max_note_bytes: usize,
}

/// A note event, and what a writer must know to give its id back as it came.
#[derive(Debug)]
pub struct Read {
    /// The event; its coordinates are empty.
    pub event: NoteEvent,
    /// Whether there was an id; it may be the empty string.
    pub has_id: bool,
    /// Whether the id was a JSON number.
    pub id_is_number: bool,
    /// Which of the names given to [`JsonFormat::with_id_names`] the id stood under.
    pub id_name: usize,
}

impl JsonFormat {
    /// Lets the note's id stand at the top under any of these names, instead of where the configuration puts it.
    #[must_use]
    pub fn with_id_names(mut self, names: &[&str]) -> Self {
        remove(&mut self.root, Field::NoteId);
        let ids = names
            .iter()
            .map(|&name| (name.to_owned(), Node::Leaf(Field::NoteId)));
        self.root.splice(0..0, ids);
        self
    }

    /// Reads the payload, and how its id was written.
    ///
    /// # Errors
    /// A [`Diagnosis`].
    pub fn read_full(&self, payload: &[u8]) -> Result<Read, Diagnosis> {
        let text = std::str::from_utf8(payload).map_err(|e| Diagnosis {
            field: None,
            byte: e.valid_up_to(),
            problem: Problem::NotUtf8,
        })?;
        let json = text.strip_prefix('\u{feff}').unwrap_or(text);
        let skipped = text.len() - json.len();
        let mut draft = Draft {
            event: NoteEvent::default(),
            seen: 0,
            max_note_bytes: self.max_note_bytes,
            reading: None,
            problem: None,
            id_is_number: false,
            id_name: 0,
        };
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let object = ObjectSeed {
            children: &self.root,
            draft: &mut draft,
            top: true,
        };
        if let Err(error) = object
            .deserialize(&mut deserializer)
            .and_then(|()| deserializer.end())
        {
            return Err(Diagnosis {
                field: draft.reading.map(Field::name),
                byte: skipped + byte_of(json, &error),
                problem: draft.problem.unwrap_or(match error.classify() {
                    serde_json::error::Category::Eof => Problem::Truncated,
                    serde_json::error::Category::Data if draft.reading.is_some() => Problem::WrongType,
                    serde_json::error::Category::Data => Problem::NotAnObject,
                    _ => Problem::NotJson,
                }),
            });
        }
        let needs_text = draft.event.kind != EventKind::Delete;
        let required = self.required | if needs_text { Field::Text.bit() } else { 0 };
        if let Some(field) = Field::ALL
            .into_iter()
            .find(|field| required & !draft.seen & field.bit() != 0)
        {
            return Err(Diagnosis {
                field: Some(field.name()),
                byte: payload.len(),
                problem: Problem::Missing,
            });
        }
        Ok(Read {
            event: draft.event,
            has_id: draft.seen & Field::NoteId.bit() != 0,
            id_is_number: draft.id_is_number,
            id_name: draft.id_name,
        })
    }
}

fn remove(children: &mut Children, field: Field) {
    children.retain_mut(|(_, node)| match node {
        Node::Leaf(leaf) => *leaf != field,
        Node::Object(inner) => {
            remove(inner, field);
            !inner.is_empty()
        }
    });
}

impl Format for JsonFormat {
    fn read(&self, payload: &[u8]) -> Result<NoteEvent, Diagnosis> {
        Ok(self.read_full(payload)?.event)
    }
}

/// Where serde_json stopped: it counts lines from 1 and, within one, the bytes read.
fn byte_of(json: &str, error: &serde_json::Error) -> usize {
    let line = json
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum::<usize>();
    (line + error.column()).min(json.len())
}

/// The event under construction, and what went wrong where.
struct Draft {
    event: NoteEvent,
    /// Fields that were there and not null.
    seen: u16,
    max_note_bytes: usize,
    /// The field whose value is being read. Stays set when that fails.
    reading: Option<Field>,
    problem: Option<Problem>,
    id_is_number: bool,
    id_name: usize,
}

impl Draft {
    fn fail<E: Error>(&mut self, problem: Problem) -> E {
        self.problem = Some(problem);
        // The words go nowhere: `read_full` reports the problem.
        E::custom("refused")
    }
}

/// Reads one object along the trie.
struct ObjectSeed<'a> {
    children: &'a Children,
    draft: &'a mut Draft,
    top: bool,
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

/// The event of that name.
pub(crate) fn event_kind(name: &str) -> Option<EventKind> {
    [EventKind::Create, EventKind::Amend, EventKind::Delete]
        .into_iter()
        .find(|kind| kind.name() == name)
}
