//! Fits the best weight of two linear members on documents that neither was fitted to, and scores the mixture
//! on others.
//!
//! `weighted GOLD-HELD NAME=FOLDER NAME=FOLDER -- GOLD-TEST NAME=FOLDER NAME=FOLDER`: the folders hold
//! models; those of the second part may be other models of the same kinds, fitted to more documents.

#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for the terminal.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use lethe_core::{LabelSet, NoteBatch, Tagger};
use lethe_corpus::{Counts, Document, Mark, read_jsonl};
use lethe_dictionaries::Dictionary;
use lethe_ensemble::{Weight, Weighted};
use lethe_linear::LinearMember;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weighted: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Side {
    documents: Vec<Document>,
    batch: NoteBatch,
    members: [Arc<LinearMember>; 2],
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let sides: Vec<&[String]> = arguments.split(|argument| argument == "--").collect();
    let [held, test] = sides.as_slice() else {
        return Err("GOLD NAME=FOLDER NAME=FOLDER -- GOLD NAME=FOLDER NAME=FOLDER".into());
    };
    let marks = |documents: &[Document]| -> Vec<String> {
        let marks = documents.iter().flat_map(|document| &document.marks);
        marks.map(|mark| mark.label.clone()).collect()
    };
    let held_gold = held.first().map(|path| read_jsonl(Path::new(path))).transpose()?;
    let names = marks(&held_gold.unwrap_or_default());
    let sets = [LabelSet::meddocan(), LabelSet::i2b2_2014()];
    let fits = |set: &LabelSet| names.iter().all(|name| set.by_name(name).is_some());
    let labels = sets
        .into_iter()
        .find(fits)
        .ok_or("no known label set has the labels of gold")?;

    let held = side(held, &labels)?;
    let [first, second] = &held.members;
    let weight = Weight::fit(
        (first.name(), &**first),
        (second.name(), &**second),
        &held.batch,
        &held.documents,
        &labels,
    )?;
    println!("{weight:?}");

    let test = side(test, &labels)?;
    for member in &test.members {
        print(&**member, &test, &labels)?;
    }
    let [first, second] = test.members.clone();
    let mixed = Weighted::new("weighted", first, second, &weight, &labels)?;
    print(&mixed, &test, &labels)
}

fn side(arguments: &[String], labels: &LabelSet) -> Result<Side, Box<dyn Error>> {
    let [gold, first, second] = arguments else {
        return Err("GOLD NAME=FOLDER NAME=FOLDER".into());
    };
    let open = |argument: &String| -> Result<Arc<LinearMember>, Box<dyn Error>> {
        let (name, folder) = argument.split_once('=').ok_or("NAME=FOLDER")?;
        let member = LinearMember::open(Path::new(folder), labels, &Dictionary::builtin())?;
        Ok(Arc::new(member.named(name)))
    };
    let documents = read_jsonl(Path::new(gold))?;
    Ok(Side {
        batch: NoteBatch::from_texts(documents.iter().map(|document| document.text.as_str()))?,
        members: [open(first)?, open(second)?],
        documents,
    })
}

fn print(member: &dyn Tagger, side: &Side, labels: &LabelSet) -> Result<(), Box<dyn Error>> {
    let mut counts = Counts::default();
    for (predictions, document) in member.tag(&side.batch).into_iter().zip(&side.documents) {
        let predictions = predictions?;
        let mark = |a: &lethe_core::Annotation| Mark::gold(a.span, labels.label(a.label).name.clone());
        counts += Counts::strict(&document.marks, &predictions.iter().map(mark).collect::<Vec<_>>());
    }
    let [p, r, f] = [counts.precision(), counts.recall(), counts.f1()].map(|share| 100.0 * share);
    println!("{:16} precision {p:.2} recall {r:.2} F1 {f:.2}", member.name());
    Ok(())
}
