//! The invented notes of a schedule, an engine that redacts them, and their expected rows.

use std::sync::{Arc, LazyLock};

use lethe_connectors::sink::Fingerprints;
use lethe_core::{
    Action, Annotations, Carried, Engine, LabelSet, Merging, NoteBatch, Redactor, RowKind, Span, TagError,
    Tagger, Voting, tag_each,
};

use super::broker::Entry;
use super::dice::Dice;

/// The patient of all notes.
const NAME: &str = "Quillfeather";

static LABELS: LazyLock<Arc<LabelSet>> = LazyLock::new(|| Arc::new(LabelSet::i2b2_2014()));

/// Finds this one name.
struct OneName;

impl Tagger for OneName {
    fn name(&self) -> &str {
        "one-name"
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        let label = LABELS.by_name("PATIENT").expect("the label set has patients");
        tag_each(batch, |note, found| {
            for (start, name) in note.text.match_indices(NAME) {
                let span = Span::new(start, start + name.len()).expect("a match is a span");
                found.span(span, label, 1.0, "name");
            }
        })
    }
}

/// Returns the engine of every process.
pub(super) fn engine() -> Arc<Engine> {
    Arc::new(Engine::new(
        Arc::clone(&LABELS),
        vec![Arc::new(OneName)],
        Arc::new(Voting::default()),
        Merging::default(),
        Redactor::new(&LABELS, Action::Tag, Carried::default()),
    ))
}

/// Returns the fingerprints of every process.
pub(crate) fn fingerprints() -> Fingerprints {
    Fingerprints {
        cluster: Some("simulated".into()),
        config: "c0ffee".into(),
        policy: "tag".into(),
        members: "one-name".into(),
        labels: "i2b2-2014".into(),
        tokenizer: "1".into(),
        program: "simulated".into(),
        ..Fingerprints::default()
    }
}

/// Returns the entry of an offset: mostly notes of one or two names, of ten to some hundred bytes.
pub(super) fn entry(dice: &mut Dice, number: i32, offset: usize) -> Entry {
    match dice.below(12) {
        0 => Entry::Marker,
        1 => Entry::Tombstone,
        // Invalid UTF-8.
        2 => Entry::Record(vec![0xC3, 0x28, 0xFF]),
        _ => {
            let rest = "She sleeps well. ".repeat(dice.below(20) as usize);
            Entry::Record(
                format!("{NAME} was seen, visit {number}/{offset}. {rest}{NAME} goes home.").into_bytes(),
            )
        }
    }
}

/// Returns the kind and the text of the row that an entry must become; `None` for a marker.
pub(super) fn row(entry: &Entry) -> Option<(&'static str, Option<String>)> {
    match entry {
        Entry::Marker => None,
        Entry::Tombstone => Some((RowKind::Tombstone.name(), None)),
        Entry::Record(bytes) => Some(match std::str::from_utf8(bytes) {
            Ok(text) => (RowKind::Note.name(), Some(text.replace(NAME, "[PATIENT]"))),
            Err(_) => (RowKind::Quarantined.name(), None),
        }),
    }
}
