//! An invented site for tests: a bundle from elsewhere, notes in another style, and corrections of them.

use std::path::{Path, PathBuf};

use lethe_core::{LabelSet, Span};
use lethe_corpus::{Document, Mark};
use lethe_dictionaries::Dictionary;
use lethe_ensemble::{Bundle, BundleManifest, Part, Provenance, Rule, Versions};
use lethe_learn::NoObserver;
use lethe_members::{Job, train};
use serde_json::json;

use super::evaluate::decided;
use super::{Arrived, At, Outcome, Setup, Site, Verdict};

pub(super) fn document(id: &str, text: &str, marked: &[(&str, &str)]) -> Document {
    let mark = |&(part, label): &(&str, &str)| {
        let start = text.find(part).unwrap();
        Mark::gold(Span::new(start, start + part.len()).unwrap(), label)
    };
    Document {
        id: id.to_owned(),
        patient: None,
        text: text.to_owned(),
        marks: marked.iter().map(mark).collect(),
    }
}

/// Returns forms of the first institute.
pub(super) fn home() -> Vec<Document> {
    let names = ["Ana", "Luis", "Marta", "Pedro", "Elena", "Jorge"];
    let each = |i: usize| {
        let (name, year) = (names[i % 6], format!("19{:02}", 40 + i));
        let text = format!("Name: {name}.\nBorn in {year}, seen today and well.\n");
        document(&format!("h{i}"), &text, &[(name, "NAME"), (&year, "DATE")])
    };
    (0..30).map(each).collect()
}

/// Returns notes of this institute, in another style.
pub(super) fn local(i: usize) -> Document {
    let names = ["Zorva", "Quill", "Brask", "Ulmen", "Tarn"];
    let wards = ["north", "south", "east"];
    let name = names[i % 5];
    let text = format!("the porter brings {name} over to ward {} at noon\n", wards[i % 3]);
    document(&format!("l{i}"), &text, &[(name, "NAME")])
}

/// Returns the payload of a document's correction.
pub(super) fn correction(of: &Document, hour: u8) -> Vec<u8> {
    let chars = |byte: usize| Span::new(0, byte).unwrap().of(&of.text).chars().count();
    let spans: Vec<_> = of
        .marks
        .iter()
        .map(|mark| json!({"start": chars(mark.span.start()), "end": chars(mark.span.end()), "label": mark.label}))
        .collect();
    let correction = json!({
        "note": of.id, "text": of.text, "spans": spans, "who": "w", "when": format!("2026-01-01T{hour:02}:00:00Z"),
    });
    correction.to_string().into_bytes()
}

pub(super) fn at(offset: i64) -> At {
    At::Record {
        topic: "corrections".to_owned(),
        partition: 0,
        offset,
    }
}

/// A folder with a published bundle of one random field.
pub(super) struct Place {
    pub(super) folder: tempfile::TempDir,
    pub(super) base: String,
}

impl Place {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bundle = bundle(folder.path(), &["crf"]);
        let base =
            Versions::publish(&folder.path().join("versions"), &bundle, &Dictionary::builtin()).unwrap();
        Self { folder, base }
    }

    /// Creates a second place with the same bundle.
    pub(super) fn again(&self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bundle = self.versions().path(&self.base);
        let base =
            Versions::publish(&folder.path().join("versions"), &bundle, &Dictionary::builtin()).unwrap();
        Self { folder, base }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn versions(&self) -> Versions {
        Versions::of(&self.path("versions")).unwrap()
    }

    pub(super) fn setup(&self) -> Setup {
        Setup {
            state: self.path("state"),
            versions: self.path("versions"),
            dictionary: Dictionary::builtin(),
            first: None,
            keep_share: 0.0,
            held_out: Vec::new(),
        }
    }

    pub(super) fn site(&self) -> Site {
        Site::open(self.setup()).unwrap()
    }

    /// Returns the identifiers that the current version finds in a text.
    pub(super) fn found(&self, text: &str) -> Vec<String> {
        let bundle = Bundle::open(&self.path("versions"), &Dictionary::builtin()).unwrap();
        let note = document("x", text, &[]);
        let predictions = decided(&bundle, &[&note]).unwrap().remove(0).unwrap();
        predictions
            .iter()
            .map(|mark| mark.span.of(text).to_owned())
            .collect()
    }
}

pub(super) fn bundle(folder: &Path, kinds: &[&'static str]) -> PathBuf {
    let documents = home();
    let folders: Vec<(&str, PathBuf)> = kinds.iter().map(|kind| (*kind, folder.join(kind))).collect();
    for (kind, path) in &folders {
        let job = Job {
            kind,
            train: &documents,
            held_out: &[],
            settings: toml::Table::new(),
            dictionary: &Dictionary::builtin(),
            seed: 1,
            folder: path,
            restart: false,
        };
        train(&job, &mut NoObserver).unwrap();
    }
    let labels = LabelSet::of_names("home", &["NAME", "DATE"].map(str::to_owned)).unwrap();
    let rule = Rule::Voting(lethe_core::VoteSpec {
        redact_uncovered: false,
        ..lethe_core::VoteSpec::default()
    });
    let parts = kinds.iter().map(|kind| Part::model(kind)).collect();
    let mut bundle_manifest = BundleManifest::new(&labels, rule, Provenance::default(), parts);
    let path = folder.join("bundle");
    let source = |name: &str| {
        let found = folders.iter().find(|(kind, _)| *kind == name);
        found.map(|(_, path)| path.as_path())
    };
    bundle_manifest.write(&path, source).unwrap();
    path
}

/// Adds payloads, starting with the first offset.
pub(super) fn take(site: &mut Site, payloads: &[Vec<u8>]) -> Arrived {
    let arrived = payloads.iter().zip(0..);
    site.take(arrived.map(|(payload, offset)| (at(offset), Some(payload.as_slice()))))
        .unwrap()
}

pub(super) fn published(outcome: Option<Outcome>) -> Verdict {
    match outcome {
        Some(Outcome::Published(verdict)) => verdict,
        other => panic!("{other:?}"),
    }
}
