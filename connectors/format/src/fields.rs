//! The fields of a note event, and the trie of their paths in a feed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::FormatError;

/// The paths of a note event's fields: names joined by dots, or a JSON pointer (RFC 6901) if a name contains
/// a dot. A path cannot enter an array.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fields {
    /// The path of the note's id. Default: `note_id`.
    #[schemars(extend("examples" = ["/meta/id"]))]
    pub note_id: Option<String>,
    /// The path of the note's version. Default: `version`.
    pub version: Option<String>,
    /// The path of the patient's id. Default: `patient_id`.
    pub patient_id: Option<String>,
    /// The path of the encounter's id. Default: `encounter_id`.
    pub encounter_id: Option<String>,
    /// The path of the note type. Default: `note_type`.
    pub note_type: Option<String>,
    /// The path of the author's id. Default: `author_id`.
    pub author_id: Option<String>,
    /// The path of the time of writing. Default: `authored_at`.
    pub authored_at: Option<String>,
    /// The path of the event, such as `create` or `delete`. Default: `event`.
    pub event: Option<String>,
    /// The path of the note's text. Default: `text`.
    #[schemars(extend("examples" = ["body.note"]))]
    pub text: Option<String>,
    /// The path of the patient's known identifiers. Default: `known`.
    pub known: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
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
    pub(crate) const ALL: [Self; 10] = [
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

    pub(crate) const fn name(self) -> &'static str {
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

    pub(crate) const fn is_id(self) -> bool {
        matches!(
            self,
            Self::NoteId | Self::PatientId | Self::EncounterId | Self::AuthorId
        )
    }

    pub(crate) const fn bit(self) -> u16 {
        1 << self as u16
    }

    pub(crate) fn mapped(self, fields: &Fields) -> Option<&str> {
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

/// A node of the trie: a field, or an object with further names.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Leaf(Field),
    Object(Children),
}

/// Few enough that a linear scan beats hashing.
pub(crate) type Children = Vec<(String, Node)>;

/// The settings of every mapped format: the fields' paths, required fields, and the maximum length of a text.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) root: Children,
    /// Bits of the fields in addition to `text` that an event must have, or it is quarantined.
    pub(crate) required: u16,
    pub(crate) max_note_bytes: usize,
}

impl Mapping {
    /// Returns the mapping of a configuration.
    ///
    /// # Errors
    /// [`FormatError`] for a path with an empty part, two fields at one path, or an unknown name in
    /// `required`.
    pub(crate) fn new(
        fields: &Fields,
        required: &[String],
        max_note_bytes: usize,
    ) -> Result<Self, FormatError> {
        let mut root = Vec::new();
        for field in Field::ALL {
            let path = field.mapped(fields).unwrap_or(field.name());
            insert(&mut root, field, path)?;
        }
        let mut bits = 0;
        for name in required {
            let field = Field::ALL.into_iter().find(|field| field.name() == name);
            bits |= field
                .ok_or_else(|| FormatError::NoSuchField {
                    name: name.clone(),
                    names: Field::ALL.map(Field::name).join(", "),
                })?
                .bit();
        }
        Ok(Self {
            root,
            required: bits,
            max_note_bytes,
        })
    }
}

/// Returns the default required fields.
pub(crate) fn default_required() -> Vec<String> {
    vec![Field::NoteId.name().to_owned()]
}

/// Inserts a field at its path.
///
/// # Errors
/// [`FormatError::Path`] or [`FormatError::Clash`].
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

/// Returns some field under the node; every object node has one, since it was created on the way to a leaf.
pub(crate) fn a_leaf(node: &Node) -> Field {
    match node {
        Node::Leaf(field) => *field,
        Node::Object(children) => children.first().map_or(Field::Text, |(_, node)| a_leaf(node)),
    }
}

/// Removes a field from the trie.
pub(crate) fn remove(children: &mut Children, field: Field) {
    children.retain_mut(|(_, node)| match node {
        Node::Leaf(leaf) => *leaf != field,
        Node::Object(inner) => {
            remove(inner, field);
            !inner.is_empty()
        }
    });
}
