//! `lethe synthesise`: writes synthetic notes with gold spans.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use lethe_corpus::{Document, write_jsonl};
use lethe_synthesise::{Disguise, Generator, Kinds, Name, Noise, Settings, writers};
use serde_json::{Value, json};

use super::documents::create;
use super::learning::read;
use crate::cli::{DisguiseKind, NoiseKind, SynthesiseArgs, SynthesisedForm};
use crate::exit::usage;
use crate::progress::Progress;

/// Writes the documents.
pub(crate) fn run(args: &SynthesiseArgs) -> anyhow::Result<()> {
    let carriers = if args.carriers.is_empty() {
        Vec::new()
    } else {
        read(&args.carriers, None)?
    };
    let institutes = if args.institutes.is_empty() {
        writers(&args.language).map(str::to_owned).collect()
    } else {
        args.institutes.clone()
    };
    let settings = Settings {
        seed: args.seed,
        institutes,
        kinds: match (&args.kinds[..], &args.without_kinds[..]) {
            ([], []) => Kinds::All,
            ([], without) => Kinds::Without(without.to_vec()),
            (only, _) => Kinds::Only(only.to_vec()),
        },
        negatives: args.negatives,
        noise: noise(args.noise),
        disguises: args.disguise.iter().copied().map(disguise).collect(),
        names: args.names.as_deref().map(names).transpose()?.unwrap_or_default(),
    };
    let generator = Generator::new(settings, &carriers).map_err(usage)?;
    if !carriers.is_empty() {
        let (used, left_out) = generator.sentences();
        tracing::info!(
            "{used} sentences of {} carriers; {left_out} left out, since they may identify somebody",
            carriers.len()
        );
    }
    let mut progress = Progress::start("writing", "documents", Some(args.notes));
    let mut documents: Vec<Document> = Vec::new();
    for number in 0..args.notes {
        documents.extend(generator.document(number));
        progress.add(1);
    }
    progress.finish();
    match args.form {
        SynthesisedForm::Documents => write_jsonl(&args.out, &documents)?,
        SynthesisedForm::Events => write_events(&args.out, &documents)?,
    }
    let marks: usize = documents.iter().map(|document| document.marks.len()).sum();
    tracing::info!(
        "{} documents with {marks} identifiers are in {}",
        documents.len(),
        args.out.display()
    );
    Ok(())
}

/// Writes documents as note events. An event's known identifiers are those of its gold: the patient's names
/// and record numbers.
fn write_events(path: &Path, documents: &[Document]) -> anyhow::Result<()> {
    let mut out = create(path)?;
    for document in documents {
        let mut known: BTreeSet<(&str, &str)> = BTreeSet::new();
        for mark in &document.marks {
            let kind = match mark.label.as_str() {
                "PATIENT" => "patient",
                "MEDICALRECORD" => "medical_record",
                _ => continue,
            };
            known.insert((kind, mark.span.of(&document.text)));
        }
        let known: Vec<Value> = known
            .into_iter()
            .map(|(kind, value)| json!({ "kind": kind, "value": value }))
            .collect();
        let event = json!({
            "note_id": document.id,
            "patient_id": document.patient,
            "event": "create",
            "known": known,
            "text": document.text,
        });
        serde_json::to_writer(&mut out, &event)?;
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

/// Reads a file of names.
fn names(path: &Path) -> anyhow::Result<Vec<Name>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|(number, line)| {
            let mut columns = line.split('\t').map(str::trim);
            let (given, family, sex) = (columns.next(), columns.next(), columns.next());
            match (given, family, sex) {
                (Some(given), Some(family), Some(sex @ ("F" | "M")))
                    if !given.is_empty() && !family.is_empty() =>
                {
                    Ok(Name {
                        given: given.to_owned(),
                        family: family.to_owned(),
                        female: sex == "F",
                    })
                }
                _ => Err(usage(format!(
                    "{}, line {number}: expected a given name, tab, a surname, tab, F or M",
                    path.display()
                ))),
            }
        })
        .collect()
}

fn noise(kind: NoiseKind) -> Noise {
    match kind {
        NoiseKind::Usual => Noise::USUAL,
        NoiseKind::None => Noise::NONE,
        NoiseKind::Capitals => Noise {
            capitals: 1.0,
            ..Noise::NONE
        },
        NoiseKind::Lower => Noise {
            lower: 1.0,
            ..Noise::NONE
        },
        NoiseKind::Typing => Noise {
            typing: 1.0,
            ..Noise::NONE
        },
        NoiseKind::Misread => Noise {
            misread: 1.0,
            ..Noise::NONE
        },
        NoiseKind::Unpunctuated => Noise {
            unpunctuated: 1.0,
            ..Noise::NONE
        },
        NoiseKind::Dictated => Noise {
            lower: 1.0,
            unpunctuated: 1.0,
            ..Noise::NONE
        },
    }
}

const fn disguise(kind: DisguiseKind) -> Disguise {
    match kind {
        DisguiseKind::ZeroWidth => Disguise::ZeroWidth,
        DisguiseKind::Lookalikes => Disguise::Lookalikes,
        DisguiseKind::FullWidth => Disguise::FullWidth,
        DisguiseKind::Spaced => Disguise::Spaced,
        DisguiseKind::SoftHyphens => Disguise::SoftHyphens,
        DisguiseKind::LineBreaks => Disguise::LineBreaks,
        DisguiseKind::Entities => Disguise::Entities,
    }
}
