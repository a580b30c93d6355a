//! Notes, decisions and policies for tests. The keys are invented, for tests only.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::path::Path;
use std::sync::Arc;

use lethe_core::{
    Carried, Decision, Known, KnownKind, LabelSet, MemberSet, NoteBatch, NoteEvent, Record, Redacted,
    Redactor, Sensitive, Span, Unredacted,
};
use lethe_dictionaries::Dictionary;
use lethe_policy::{Policy, PolicyError, PolicyFile};

/// A keyring of one key, or of a new one and an older one.
pub(crate) const OLD: &str = "[[keys]]\nid = \"k1\"\nstate = \"current\"\nsecret = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\"\n";
pub(crate) const ROTATED: &str = "[[keys]]\nid = \"k1\"\nstate = \"accepted\"\nsecret = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\"\n[[keys]]\nid = \"k2\"\nstate = \"current\"\nsecret = \"202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f\"\n";

/// Writes a key file with its owner's permissions.
pub(crate) fn key_file(folder: &Path, keys: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join("keys.toml");
    std::fs::write(&path, keys).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    format!("[keys]\nfile = {:?}\n", path.to_str().unwrap())
}

/// Builds a policy over the labels of i2b2-2014.
pub(crate) fn policy(toml: &str) -> Result<Policy, PolicyError> {
    let labels = Arc::new(LabelSet::i2b2_2014());
    let file = PolicyFile::parse(toml, "policy.toml")?;
    Policy::build(&file, "policy.toml", &labels, &Dictionary::builtin(), &[])
}

/// Builds a redactor with that policy.
pub(crate) fn redactor(toml: &str) -> Redactor {
    Redactor::by(policy(toml).unwrap().replacer, Carried::new(Vec::new()))
}

/// Parses a note with spans in braces, each after its label: `{PATIENT|Ada Okafor} came`. Returns the text
/// and the decisions.
pub(crate) fn marked(marked: &str) -> (String, Vec<Decision>) {
    let labels = LabelSet::i2b2_2014();
    let (mut text, mut decisions) = (String::new(), Vec::new());
    for piece in marked.split('{') {
        let Some((inner, rest)) = piece.split_once('}') else {
            text.push_str(piece);
            continue;
        };
        let (label, value) = inner.split_once('|').unwrap();
        let start = text.len();
        text.push_str(value);
        let span = Span::new(start, text.len()).unwrap();
        let members = MemberSet::default().with(0);
        decisions.push(Decision::new(span, labels.by_name(label).unwrap(), members, 1.0));
        text.push_str(rest);
    }
    (text, decisions)
}

/// Returns an event of this patient with this text, written on 15 March 2024.
pub(crate) fn event(patient: Option<&str>, text: &str) -> NoteEvent {
    NoteEvent {
        note_id: "n1".into(),
        patient_id: patient.map(Sensitive::from),
        authored_at: Some(1_710_460_800_000),
        text: text.into(),
        ..NoteEvent::default()
    }
}

pub(crate) fn known(kind: KnownKind, value: &str) -> Known {
    Known {
        kind,
        value: value.into(),
    }
}

/// Returns the redacted note.
pub(crate) fn redact(
    redactor: &Redactor,
    event: NoteEvent,
    decisions: &[Decision],
) -> Result<Redacted, Unredacted> {
    let batch = NoteBatch::from_records([Record::Note(event)]).unwrap();
    redactor.redact_note(&batch, 0, decisions)
}

/// Returns the redaction of a marked note of patient 1.
pub(crate) fn redacted(redactor: &Redactor, note: &str) -> String {
    redacted_of(redactor, Some("p1"), note)
}

/// Returns the redaction of a marked note of a patient.
pub(crate) fn redacted_of(redactor: &Redactor, patient: Option<&str>, note: &str) -> String {
    let (text, decisions) = marked(note);
    redact(redactor, event(patient, &text), &decisions).unwrap().text
}
