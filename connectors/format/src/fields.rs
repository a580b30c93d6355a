//! Which fields a note event has, and the trie of the paths at which a feed keeps them.

use serde::{Deserialize, Serialize};

use crate::FormatError;

/// Paths of the fields: names joined by dots, or a JSON pointer (RFC 6901) where a name holds a dot. Objects only: a
/// path does not enter an array.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
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

/// What stands under a name: a field, or an object with more names.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Leaf(Field),
    Object(Children),
}

/// Few enough that comparing each in turn beats hashing.
pub(crate) type Children = Vec<(String, Node)>;

/// Where the fields stand, which must be there, and how long a text may be: what every mapped format has.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) root: Children,
    /// Bits of the fields besides `text` without which an event is quarantined.
    pub(crate) required: u16,
    pub(crate) max_note_bytes: usize,
}

impl Mapping {
    /// The mapping that a configuration asks for.
    ///
    /// # Errors
    /// [`FormatError`] for a path with an empty part, two fields at one place, or an unknown name in `required`.
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

/// What is required unless the configuration says otherwise.
pub(crate) fn default_required() -> Vec<String> {
    vec![Field::NoteId.name().to_owned()]
}

/// Puts a field at its path.
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

/// Some field under the node; every object node has one, for it was made on the way to a leaf.
pub(crate) fn a_leaf(node: &Node) -> Field {
    match node {
        Node::Leaf(field) => *field,
        Node::Object(children) => children.first().map_or(Field::Text, |(_, node)| a_leaf(node)),
    }
}

/// Takes a field out of the trie.
pub(crate) fn remove(children: &mut Children, field: Field) {
    children.retain_mut(|(_, node)| match node {
        Node::Leaf(leaf) => *leaf != field,
        Node::Object(inner) => {
            remove(inner, field);
            !inner.is_empty()
        }
    });
}
