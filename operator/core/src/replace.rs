//! The replacement of a decided span: the seam between finding identifiers and replacing them.

use std::fmt;
use std::sync::Arc;

use crate::{Decision, Identifier, LabelId, LabelSet, NoteView, PatientLink};

/// A note, and everything that a replacement may depend on.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The note.
    pub note: NoteView<'a>,
    /// The note's patient, if the event names one.
    pub patient_id: Option<&'a str>,
    /// The authority that assigned that id, as [`Identifier::authority`] names it.
    pub patient_authority: Option<&'a str>,
    /// The column of identifiers to which the whole text belongs, as [`Identifier::authority`] names it.
    pub column: Option<&'a str>,
    /// Ids that the event declares to be one patient's.
    pub links: &'a [PatientLink],
    /// The source's id of the note.
    pub note_id: Option<&'a str>,
    /// When it was written, in milliseconds since 1970-01-01T00:00:00Z.
    pub authored_at: Option<i64>,
    /// Topic, partition and offset.
    pub at: (&'a str, i32, i64),
    /// The spans to replace, sorted and free of overlaps.
    pub decisions: &'a [Decision],
    /// The structured identifiers of the message that contained the note.
    pub identifiers: &'a [Identifier],
}

impl fmt::Debug for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (topic, partition, offset) = self.at;
        write!(f, "Subject({topic}/{partition}@{offset}, {:?})", self.note)
    }
}

/// The replacement of one span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The text itself. It contains nothing of the original unless the policy keeps it.
    pub text: String,
    /// The action, for the audit: `tag`, `surrogate` and so on.
    pub action: &'static str,
    /// The key that it depends on.
    pub key: Option<Arc<str>>,
    /// The notes among which equal values get equal replacements, if this differs from [`Replaced::scope`]:
    /// `site`, `authority`.
    pub scope: Option<&'static str>,
}

/// The replacements for one note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    /// The replacement of each decision.
    pub spans: Vec<Replacement>,
    /// The replacement of each structured identifier.
    pub identifiers: Vec<Replacement>,
    /// The notes among which equal values get equal replacements, for the audit: `patient`, `note` and so on;
    /// empty if there are none.
    pub scope: &'static str,
}

/// Why there is no replacement. Contains no text of the note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplaceError {
    /// This note has no replacement: it is quarantined.
    #[error("the policy has no replacement for a span of the note")]
    Failed,
    /// The policy does not accept the note: it is quarantined.
    #[error("the policy does not accept the note")]
    Refused,
    /// No note has a replacement for now: it is retried.
    #[error("{0}")]
    Unavailable(&'static str),
}

/// Chooses the replacements of spans. Shared by all lanes.
pub trait Replacer: Send + Sync + fmt::Debug {
    /// Returns the replacements for one note. They depend on the subject and on the replacer's settings,
    /// never on earlier notes.
    ///
    /// # Errors
    /// [`ReplaceError`].
    fn replace(&self, subject: &Subject<'_>) -> Result<Replaced, ReplaceError>;
}

/// The two replacements that need neither a key nor a policy.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    serde::Deserialize,
    serde::Serialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// The label in brackets, for instance `[PATIENT]`.
    #[default]
    Tag,
    /// One `*` for each character except white space. Line breaks stay, and lengths show.
    Mask,
}

impl Action {
    /// Returns the name written to the audit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Mask => "mask",
        }
    }
}

/// One [`Action`] per label.
#[derive(Clone, Debug)]
pub struct Plain {
    actions: Vec<Action>,
    tags: Vec<String>,
    labels: Arc<LabelSet>,
}

impl Plain {
    /// Applies `action` to every label of the set.
    pub fn new(labels: &LabelSet, action: Action) -> Self {
        let tags = labels.labels().iter().map(|label| format!("[{}]", label.name));
        Self {
            actions: vec![action; labels.labels().len()],
            tags: tags.collect(),
            labels: Arc::new(labels.clone()),
        }
    }

    /// Applies another action to one label.
    ///
    /// # Panics
    /// If the label belongs to another set.
    #[must_use]
    pub fn with(mut self, label: LabelId, action: Action) -> Self {
        self.actions[usize::from(label.0)] = action;
        self
    }

    fn one(&self, label: LabelId, text: &str) -> Replacement {
        let action = self.actions[usize::from(label.0)];
        Replacement {
            text: match action {
                Action::Tag => self.tags[usize::from(label.0)].clone(),
                Action::Mask => text
                    .chars()
                    .map(|c| if c.is_whitespace() { c } else { '*' })
                    .collect(),
            },
            action: action.name(),
            key: None,
            scope: None,
        }
    }
}

impl Replacer for Plain {
    fn replace(&self, subject: &Subject<'_>) -> Result<Replaced, ReplaceError> {
        let identifier = |one: &Identifier| {
            let label = self.labels.resolve(one.label).map_err(|_| ReplaceError::Failed)?;
            Ok(self.one(label, one.value.expose()))
        };
        Ok(Replaced {
            spans: subject
                .decisions
                .iter()
                .map(|decision| self.one(decision.label, decision.span.of(subject.note.text)))
                .collect(),
            identifiers: subject
                .identifiers
                .iter()
                .map(identifier)
                .collect::<Result<_, _>>()?,
            scope: "",
        })
    }
}
