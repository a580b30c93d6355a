//! Kinds of templates.

/// The kind of text that a template writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // Each is described in data/README.md.
pub(crate) enum Kind {
    Note,
    Letter,
    Form,
    Header,
    Footer,
    Signature,
    Insert,
    Visit,
    Message,
    Query,
    Sentence,
    Prose,
    Negative,
    Clinical,
}

const NAMES: &[(&str, Kind)] = &[
    ("note", Kind::Note),
    ("letter", Kind::Letter),
    ("form", Kind::Form),
    ("header", Kind::Header),
    ("footer", Kind::Footer),
    ("signature", Kind::Signature),
    ("insert", Kind::Insert),
    ("visit", Kind::Visit),
    ("message", Kind::Message),
    ("query", Kind::Query),
    ("sentence", Kind::Sentence),
    ("prose", Kind::Prose),
    ("negative", Kind::Negative),
    ("clinical", Kind::Clinical),
];

impl Kind {
    /// Returns the kind of this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        NAMES.iter().find(|(key, _)| *key == name).map(|&(_, kind)| kind)
    }

    /// Returns whether its templates must not have identifiers.
    pub(crate) fn is_bare(self) -> bool {
        matches!(self, Self::Negative | Self::Clinical)
    }
}
