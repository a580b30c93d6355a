//! The pure core of Lethe: notes, tokens, spans, labels and members, the combination of the members'
//! predictions, and the only way from a note to text that may leave.
//!
//! Invariants: no async runtime, no file system, no clock, no environment. Text is sliced only in [`Span`].
//! Nothing that holds note text prints it. A [`RedactedBatch`] comes from [`Redactor::redact`] alone.

mod annotation;
mod audit;
mod batch;
mod caches;
mod column;
mod combine;
mod decision;
mod engine;
mod ensemble;
mod envelope;
mod exemption;
mod fingerprint;
mod footprint;
mod hex;
mod known_patient;
mod label;
mod merge;
mod note;
mod note_type;
mod output;
mod overlap_resolver;
mod pace;
mod plain_forms;
mod presidio;
mod propagate;
mod redact;
mod replace;
mod retry;
mod review;
mod sentence;
mod span;
mod suggest;
mod tagger;
mod titles;
mod together;
mod token;
mod union_rules;
mod vote;
mod vote_spec;

pub use annotation::{Annotation, AnnotationError, Annotations, Collector};
pub use audit::AuditBatch;
pub use batch::{AuthoredAt, BatchError, NoteBatch, NoteView, RowKind, Tokens};
pub use caches::{Cache, Caches, TakenCache, vec_bytes};
pub use column::Column;
pub use combine::Combine;
pub use decision::{DecidingRule, Decision, MemberSet, OverruledSpan};
pub use engine::{ChooseLanguage, Engine, MixedLabels, Processed, Trace};
pub use envelope::{Change, Changed, Enclosed, Envelope, EnvelopeError, Identifier};
pub use exemption::{Exemption, OrdinaryWords, StructuralKind, StructuralText};
pub use fingerprint::{FINGERPRINT_SCHEME, fingerprint};
pub use hex::hex;
pub use label::{Hipaa, Label, LabelError, LabelId, LabelSet, ORIGIN};
pub use merge::Merging;
pub use note::{
    Coordinates, EventKind, Known, KnownKind, NoteEvent, PatientKey, PatientLink, Quarantine, QuarantineCode,
    Record, Sensitive,
};
pub use note_type::NoteTypes;
pub use output::{Carried, CarriedField, RedactedBatch};
pub use pace::Pace;
pub use presidio::{PRESIDIO_ENTITIES, presidio_entity};
pub use propagate::{NamesNobody, Propagation};
pub use redact::{Done, Outcome, Placed, Redacted, Redactor, Unredacted};
pub use replace::{Action, Plain, ReplaceError, Replaced, Replacement, Replacer, Subject};
pub use retry::Backoff;
pub use review::{Reason, Review, ReviewRule, TrainedMembers};
pub use sentence::sentence_ends;
pub use span::{Span, SpanError};
pub use suggest::{did_you_mean, mistakes, nearest, reworded, reworded_toml};
pub use tagger::{Lookups, TagError, Tagger, ToolFailure, tag_each};
pub use titles::{IsTitle, Titles};
pub use token::{TOKENIZER_VERSION, Token, TokenKind, count_tokens, longest_token, tokenize};
pub use union_rules::UnionRules;
pub use vote::{Agreement, Voting};
pub use vote_spec::{SoloMinScore, VoteError, VoteSpec};
