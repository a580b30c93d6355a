//! The only exit for a JSON document: it leaves with its redacted text, the metadata that the policy keeps,
//! and the keys named by --keep. All other keys are dropped.

use std::collections::BTreeMap;
use std::sync::Mutex;

use lethe_core::{Carried, CarriedField};
use serde_json::{Map, Value};

use crate::exit::usage;

/// The number of distinct keys that are counted. A document with values as keys has arbitrarily many.
const MOST_KEYS: usize = 256;

/// Modes under which --keep is not allowed (45 CFR 164.514(b)(2) and (e)).
const STRICT: [&str; 2] = ["safe-harbor", "limited-data-set"];

/// Decides which keys of a document are kept. Shared by the threads that write documents.
#[derive(Debug)]
pub(crate) struct Gate {
    carried: Carried,
    keep: Vec<String>,
    strict: bool,
    seen: Mutex<Seen>,
}

/// Dropped keys, with the number of documents that had them.
#[derive(Debug, Default)]
struct Seen {
    documents: u64,
    dropped: BTreeMap<String, u64>,
}

impl Gate {
    /// Creates a gate that keeps the metadata in `carried` and the keys in `keep`.
    ///
    /// # Errors
    /// A usage error if the mode does not allow `keep`, or if one of the keys is never kept.
    pub(crate) fn new(carried: Carried, mode: Option<&str>, keep: &[String]) -> anyhow::Result<Self> {
        let strict = mode.filter(|mode| STRICT.contains(mode));
        if let (Some(mode), Some(key)) = (strict, keep.first()) {
            return Err(usage(format!(
                "--keep {key}: mode `{mode}` does not allow unchanged keys; remove the option, or use another mode"
            )));
        }
        if let Some(key) = keep.iter().find(|key| WITHHELD.contains(&key.as_str())) {
            return Err(usage(format!(
                "--keep {key}: this key contains identifiers of the patient or of the text, and is always dropped; remove the option"
            )));
        }
        Ok(Self {
            carried,
            keep: keep.to_vec(),
            strict: strict.is_some(),
            seen: Mutex::default(),
        })
    }

    /// Returns the redacted document, with `text` instead of its original text. Keys keep their order.
    pub(crate) fn pass(&self, document: &Map<String, Value>, text: String) -> Map<String, Value> {
        let mut out = Map::new();
        let mut dropped = Vec::new();
        let mut text = Some(text);
        for (key, value) in document {
            if key == "text" {
                out.extend(text.take().map(|text| (key.clone(), text.into())));
            } else if let Some(value) = self.value(key, value) {
                out.insert(key.clone(), value);
            } else if !WITHHELD.contains(&key.as_str()) {
                dropped.push(key);
            }
        }
        if let Ok(mut seen) = self.seen.lock() {
            seen.documents += 1;
            for key in dropped {
                if let Some(count) = seen.dropped.get_mut(key) {
                    *count += 1;
                } else if seen.dropped.len() < MOST_KEYS {
                    seen.dropped.insert(key.clone(), 1);
                }
            }
        }
        out
    }

    /// Returns the kept value of a key; `None` if it is dropped.
    fn value(&self, key: &str, value: &Value) -> Option<Value> {
        if self.keep.iter().any(|kept| kept == key) {
            return Some(value.clone());
        }
        let (_, field) = FIELDS.iter().find(|(name, _)| *name == key)?;
        if !self.carried.has(*field) {
            return None;
        }
        // An object or a list under a known key is not the expected metadata.
        match (field, value) {
            (CarriedField::NoteType, Value::String(kind)) => Some(self.carried.note_type(kind).into()),
            (CarriedField::NoteType, _) => None,
            (CarriedField::Version, Value::Number(version)) => {
                Some(self.carried.version(version.as_i64()?)?.into())
            }
            (CarriedField::Version, _) => None,
            (_, Value::String(_) | Value::Number(_)) => Some(value.clone()),
            _ => None,
        }
    }

    /// Logs the dropped keys once, with how to keep them.
    ///
    /// A key may itself be a name, so keys are listed by name only if every one of several documents had
    /// them.
    pub(crate) fn report(&self) {
        let Ok(seen) = self.seen.lock() else { return };
        if seen.dropped.is_empty() {
            return;
        }
        let of_all = |count: u64| seen.documents > 1 && count == seen.documents;
        let shared = seen
            .dropped
            .iter()
            .filter(|&(key, &count)| of_all(count) && is_plain(key));
        let named: Vec<String> = shared.map(|(key, _)| format!("`{key}`")).collect();
        let others = seen.dropped.len() - named.len();
        let listed = match (named.join(", "), others) {
            (names, 0) => names,
            (names, others) if names.is_empty() => format!("{others} keys"),
            (names, others) => format!("{names} and {others} others"),
        };
        let advice = if self.strict {
            "the policy's mode does not allow unchanged keys"
        } else {
            "keep one with --keep KEY if it cannot identify anybody"
        };
        tracing::warn!("keys dropped from the documents: {listed}; {advice}");
    }
}

/// Keys that are always dropped without a warning: the patient's identifiers, and the spans of the text.
const WITHHELD: [&str; 3] = ["text", "known", "spans"];

/// Keys of the event schema, with their metadata field.
const FIELDS: [(&str, CarriedField); 8] = [
    ("note_id", CarriedField::NoteId),
    ("doc_id", CarriedField::NoteId),
    ("version", CarriedField::Version),
    ("note_type", CarriedField::NoteType),
    ("patient_id", CarriedField::PatientId),
    ("encounter_id", CarriedField::EncounterId),
    ("author_id", CarriedField::AuthorId),
    ("authored_at", CarriedField::AuthoredAt),
];

/// Returns whether a key looks like a column's name.
fn is_plain(key: &str) -> bool {
    key.len() <= 40
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn gate(keep: &[&str]) -> Gate {
        let keep: Vec<String> = keep.iter().map(|&key| key.to_owned()).collect();
        Gate::new(Carried::default(), None, &keep).unwrap()
    }

    fn passed(gate: &Gate, document: Value) -> Value {
        gate.pass(document.as_object().unwrap(), "[PATIENT] came.".to_owned())
            .into()
    }

    #[test]
    fn only_text_carried_metadata_and_kept_keys_leave_in_their_order() {
        let document = json!({"mrn": "7", "note_id": 3, "ward": {"bed": 3}, "text": "Ana came.", "known": ["Ana"],
            "spans": [], "note_type": "Letter to Mrs Okafor", "patient_id": "p", "version": 2});
        let expected = json!({"note_id": 3, "ward": {"bed": 3}, "text": "[PATIENT] came.", "note_type": "OTHER", "version": 2});
        let out = passed(&gate(&["ward"]), document);
        assert_eq!(out.to_string(), expected.to_string());
    }

    #[test]
    fn a_known_key_with_an_object_in_it_does_not_leave() {
        let out = passed(
            &gate(&[]),
            json!({"note_id": {"name": "Ana"}, "version": "Ana", "note_type": ["Ana"], "text": ""}),
        );
        assert_eq!(out, json!({"text": "[PATIENT] came."}));
    }

    #[test]
    fn strict_modes_keep_no_key_and_no_mode_keeps_the_identifiers() {
        let keep = |mode, key: &str| Gate::new(Carried::default(), mode, &[key.to_owned()]).is_ok();
        assert!(keep(None, "ward") && keep(Some("expert-determination"), "ward"));
        assert!(!keep(Some("safe-harbor"), "ward") && !keep(Some("limited-data-set"), "ward"));
        assert!(!keep(None, "known") && !keep(None, "spans"));
    }
}
