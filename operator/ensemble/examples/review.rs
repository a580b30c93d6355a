//! Measures the review flags of a bundle: how many documents they flag, and how many of the documents with a
//! leak these hold.
//!
//! `review BUNDLE GOLD [PREDICTIONS] [KEY=VALUE...]`: GOLD has documents with gold spans. PREDICTIONS is a file of
//! `lethe ensemble export-offsets` with predictions for them by models that were not trained on them; without it
//! the bundle's own members predict, which is too good on documents that they were trained on. Members that the
//! file does not have predict nothing. Each KEY is one of `[engine.review]`; the others have their defaults.

#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for the terminal.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use lethe_core::{
    Annotation, Annotations, Decision, LabelSet, Merging, NoteBatch, Reason, Review, ReviewRule, Span,
    TrainedMembers,
};
use lethe_corpus::{Document, read, read_offsets};
use lethe_dictionaries::Dictionary;
use lethe_ensemble::Bundle;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("review: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let (keys, paths): (Vec<_>, Vec<_>) = arguments.iter().partition(|argument| argument.contains('='));
    let keys: Vec<&str> = keys.into_iter().map(String::as_str).collect();
    let rule: ReviewRule = toml::from_str(&keys.join("\n"))?;
    let (bundle, gold, predictions) = match paths[..] {
        [bundle, gold] => (bundle, gold, None),
        [bundle, gold, predictions] => (bundle, gold, Some(predictions)),
        _ => return Err("usage: review BUNDLE GOLD [PREDICTIONS] [KEY=VALUE...]".into()),
    };
    let bundle = Bundle::open(Path::new(bundle), &Dictionary::builtin())?;
    let gold = read(Path::new(gold), None)?;
    let batch = NoteBatch::from_texts(gold.iter().map(|document| document.text.as_str()))?;
    let predictions = match predictions {
        Some(path) => saved(&bundle, Path::new(path), &gold)?,
        None => predicted(&bundle, &batch)?,
    };
    let merging = Merging {
        whole: Merging::names(&bundle.labels),
        ..Merging::none(&bundle.labels)
    };
    let trained = TrainedMembers::new(&bundle.labels, &bundle.members);
    let documents = gold.iter().enumerate().map(|(row, document)| {
        let predictions: Vec<_> = predictions.iter().map(|rows| &rows[row]).collect();
        let note = batch.note(row);
        let mut decisions = bundle.combiner.decide(note, &predictions);
        merging.apply(note.text, &mut decisions);
        let review = rule.review(note, &predictions, &decisions, &[], &trained);
        (review, leaks(document, &decisions))
    });
    print(&documents.collect::<Vec<_>>());
    Ok(())
}

/// Returns the predictions of the bundle's own members, row by row.
fn predicted(bundle: &Bundle, batch: &NoteBatch) -> Result<Vec<Vec<Annotations>>, Box<dyn Error>> {
    let mut all = Vec::with_capacity(bundle.members.len());
    for member in &bundle.members {
        all.push(member.tag(batch).into_iter().collect::<Result<_, _>>()?);
    }
    Ok(all)
}

/// Returns the saved predictions of the bundle's members, row by row.
fn saved(bundle: &Bundle, path: &Path, gold: &[Document]) -> Result<Vec<Vec<Annotations>>, Box<dyn Error>> {
    let systems = read_offsets(path, gold)?.ok_or("PREDICTIONS is not a file of export-offsets")?;
    let systems: HashMap<String, Vec<Document>> = systems.into_iter().collect();
    let mut all = Vec::with_capacity(bundle.members.len());
    for member in &bundle.members {
        let Some(documents) = systems.get(member.name()) else {
            all.push(vec![Annotations::default(); gold.len()]);
            continue;
        };
        let by_id: HashMap<&str, &Document> = documents.iter().map(|one| (one.id.as_str(), one)).collect();
        let row = |document: &Document| {
            let found = by_id.get(document.id.as_str());
            found.map_or_else(
                || Ok(Annotations::default()),
                |one| annotations(one, &bundle.labels),
            )
        };
        all.push(gold.iter().map(row).collect::<Result<_, _>>()?);
    }
    Ok(all)
}

fn annotations(document: &Document, labels: &LabelSet) -> Result<Annotations, Box<dyn Error>> {
    let mut found = Vec::with_capacity(document.marks.len());
    for mark in &document.marks {
        found.push(Annotation {
            span: mark.span,
            label: labels.resolve(&mark.label)?,
            score: mark.score.unwrap_or(1.0),
            rule: "",
        });
    }
    Ok(Annotations::new(&document.text, found)?)
}

/// Returns the number of gold spans of which a letter or a digit is not redacted.
fn leaks(document: &Document, decisions: &[Decision]) -> usize {
    let mut redacted = vec![false; document.text.len()];
    for decision in decisions {
        redacted[decision.span.start()..decision.span.end()].fill(true);
    }
    let leaks = |span: Span| {
        let mut characters = span.of(&document.text).char_indices();
        characters.any(|(at, c)| c.is_alphanumeric() && !redacted[span.start() + at])
    };
    document.marks.iter().filter(|mark| leaks(mark.span)).count()
}

fn print(documents: &[(Review, usize)]) {
    let with_leak = documents.iter().filter(|(_, leaks)| *leaks > 0).count();
    let leaks: usize = documents.iter().map(|(_, leaks)| leaks).sum();
    println!(
        "{} documents; {with_leak} leak {leaks} gold spans in whole or in part",
        documents.len()
    );
    let line = |name: &str, is_flagged: &dyn Fn(Review) -> bool| {
        let flagged: Vec<_> = documents
            .iter()
            .filter(|(review, _)| is_flagged(*review))
            .collect();
        let leaking = flagged.iter().filter(|(_, leaks)| *leaks > 0).count();
        let share = |part: usize, all: usize| 100.0 * part as f64 / all.max(1) as f64;
        println!(
            "{name:<16} flags {:>4} ({:>5.1} %), of which {leaking:>4} leak: {:>5.1} % of the documents with a leak",
            flagged.len(),
            share(flagged.len(), documents.len()),
            share(leaking, with_leak)
        );
    };
    line("any reason", &|review| !review.is_empty());
    for reason in Reason::ALL {
        line(reason.name(), &|review| {
            review.reasons().any(|other| other == reason)
        });
    }
}
