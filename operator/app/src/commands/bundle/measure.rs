//! Measures a bundle on documents with gold, for its manifest.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use lethe_core::{Annotations, Combine, NoteBatch};
use lethe_corpus::{Document, Mark};
use lethe_dictionaries::Dictionary;
use lethe_ensemble::{Bundle, Measured};

use crate::commands::learning::read;
use crate::commands::measured::measured;
use crate::exit::usage;
use crate::progress::Progress;

/// The documents that a thread tags together.
const TOGETHER: usize = 64;

/// Measures the bundle in a folder at each of its operating points, and writes the figures into its manifest; does nothing
/// without documents.
pub(super) fn record(folder: &Path, gold: &[PathBuf]) -> anyhow::Result<()> {
    if gold.is_empty() {
        return Ok(());
    }
    let documents = read(gold, None)?;
    let open = || Bundle::open(folder, &Dictionary::builtin()).map_err(usage);
    let bundle = open()?;
    let mut votes = Vec::new();
    for point in bundle.manifest.operating_points() {
        votes.push((point, open()?.at(point, folder).map_err(usage)?.combiner));
    }
    let combiners: Vec<Arc<dyn Combine>> = votes.iter().map(|(_, combiner)| Arc::clone(combiner)).collect();
    let decided = decided(&bundle, &combiners, &documents)?;
    let names: Vec<String> = gold.iter().map(|path| file_name(path)).collect();
    let mut manifest = bundle.manifest;
    let mut figures = Vec::new();
    for ((point, _), decided) in votes.iter().zip(decided) {
        figures.push(Measured {
            point: *point,
            ..measured(names.join(", "), 0.0, &documents, decided)?
        });
    }
    manifest.record(folder, figures).map_err(usage)
}

/// Returns the name of a file without its folders, which the manifest need not tell.
fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Returns the documents as each vote decides them.
fn decided(
    bundle: &Bundle,
    votes: &[Arc<dyn Combine>],
    documents: &[Document],
) -> anyhow::Result<Vec<Vec<Document>>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut progress = Progress::start("measuring", "documents", Some(documents.len() as u64));
    let mut all = vec![Vec::with_capacity(documents.len()); votes.len()];
    for round in documents.chunks(TOGETHER * threads) {
        let parts = thread::scope(|scope| {
            let running: Vec<_> = round
                .chunks(TOGETHER)
                .map(|part| scope.spawn(move || vote(bundle, votes, part)))
                .collect();
            let ended = running.into_iter().map(thread::ScopedJoinHandle::join);
            ended
                .map(|one| one.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect::<anyhow::Result<Vec<_>>>()
        })?;
        for part in parts {
            all.iter_mut().zip(part).for_each(|(all, part)| all.extend(part));
        }
        progress.add(round.len() as u64);
    }
    progress.finish();
    Ok(all)
}

/// Tags some documents, and returns them as each vote decides them.
fn vote(
    bundle: &Bundle,
    votes: &[Arc<dyn Combine>],
    documents: &[Document],
) -> anyhow::Result<Vec<Vec<Document>>> {
    let batch = NoteBatch::from_texts(documents.iter().map(|document| document.text.as_str()))?;
    let mut found: Vec<Vec<Annotations>> = vec![Vec::new(); documents.len()];
    for member in &bundle.members {
        for ((found, tagged), document) in found.iter_mut().zip(member.tag(&batch)).zip(documents) {
            let failed = |error| {
                anyhow::anyhow!(
                    "member `{}` cannot tag document {}: {error}",
                    member.name(),
                    document.id
                )
            };
            found.push(tagged.map_err(failed)?);
        }
    }
    let decide = |vote: &Arc<dyn Combine>| {
        let notes = batch.notes().zip(&found).zip(documents);
        notes
            .map(|((note, found), document)| {
                let predictions: Vec<&Annotations> = found.iter().collect();
                let decisions = vote.decide(note, &predictions);
                let marks = decisions.iter().map(|decision| Mark {
                    span: decision.span,
                    label: bundle.labels.label(decision.label).name.clone(),
                    score: Some(decision.score),
                });
                Document {
                    marks: marks.collect(),
                    ..document.clone()
                }
            })
            .collect()
    };
    Ok(votes.iter().map(decide).collect())
}
