//! Trains a network on JSON-lines documents and prints its strict scores.
//!
//! `fit TRAIN --kind KIND [--dev DEV] [--hold-out SHARE] [--vectors FILE] [--texts CORPUS] [--out FOLDER]
//! [--state FOLDER] [--KEY VALUE]...` where KEY is a setting of the architecture or the schedule, as in a
//! configuration file.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measuring program"
)]

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Instant;

use lethe_core::{LabelSet, NoteBatch, Tagger as _};
use lethe_corpus::{Counts, Document, Mark, Split, hold_out, read_jsonl};
use lethe_dictionaries::Dictionary;
use lethe_learn::{Epoch, Observer};
use lethe_neural::{Network, Recurrent};

struct Progress(Instant);

impl Observer for Progress {
    fn epoch(&mut self, epoch: Epoch) -> ControlFlow<()> {
        let seconds = self.0.elapsed().as_secs_f64();
        println!(
            "{}/{} loss {:.4} held out {:?} after {seconds:.0} s",
            epoch.done, epoch.of, epoch.loss, epoch.held_out
        );
        ControlFlow::Continue(())
    }
}

fn score(network: &Network, documents: &[Document], by_label: bool) -> Counts {
    let labels = LabelSet::meddocan();
    let member = network.member("fitted", &labels, &Dictionary::builtin()).unwrap();
    let batch = NoteBatch::from_texts(documents.iter().map(|d| d.text.as_str())).unwrap();
    let mut all = Counts::default();
    let mut each: std::collections::BTreeMap<String, Counts> = std::collections::BTreeMap::new();
    for (document, found) in documents.iter().zip(member.tag(&batch)) {
        let found = found.unwrap();
        let marks: Vec<Mark> = found
            .iter()
            .map(|a| Mark::gold(a.span, labels.label(a.label).name.clone()))
            .collect();
        all += Counts::strict(&document.marks, &marks);
        for label in network.tags().labels() {
            let only = |marks: &[Mark]| {
                marks
                    .iter()
                    .filter(|m| m.label == *label)
                    .cloned()
                    .collect::<Vec<_>>()
            };
            *each.entry(label.clone()).or_default() += Counts::strict(&only(&document.marks), &only(&marks));
        }
    }
    if by_label {
        for (label, counts) in each {
            println!(
                "{label:40} P {:.4} R {:.4} F {:.4} ({counts:?})",
                counts.precision(),
                counts.recall(),
                counts.f1()
            );
        }
    }
    all
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let given: HashMap<String, String> = args[1..]
        .chunks(2)
        .map(|pair| (pair[0].trim_start_matches("--").to_owned(), pair[1].clone()))
        .collect();
    let documents = read_jsonl(args[0].as_ref()).unwrap();
    // Every key belongs to the architecture or to the schedule, by name.
    let mut tables = toml::Table::new();
    let default = toml::Table::try_from(Recurrent::of_kind(&given["kind"]).unwrap()).unwrap();
    for (key, value) in &given {
        let read = |text: String| text.parse::<toml::Table>();
        let value =
            read(format!("x = {value}")).unwrap_or_else(|_| read(format!("x = \"{value}\"")).unwrap());
        for name in ["architecture", "schedule"] {
            if default[name].get(key).is_some() {
                let table = tables.entry(name).or_insert_with(|| toml::Table::new().into());
                table
                    .as_table_mut()
                    .unwrap()
                    .insert(key.clone(), value["x"].clone());
            }
        }
    }
    let mut settings = Recurrent::new(&given["kind"], tables).unwrap();
    settings.vectors.file = given.get("vectors").map(Into::into);
    settings.vectors.texts = given.get("texts").map(Into::into).into_iter().collect();
    let share: f64 = given.get("hold-out").map_or(0.0, |share| share.parse().unwrap());
    let (fit, held) = if share > 0.0 {
        let split = hold_out(&documents, share, 7);
        (
            Split::pick(&split.train, &documents),
            Split::pick(&split.held, &documents),
        )
    } else {
        (documents, Vec::new())
    };
    let dictionary = Dictionary::builtin();
    let start = Instant::now();
    let state = given.get("state").map(std::path::Path::new);
    let network = settings
        .train(&fit, &held, &dictionary, state, &mut Progress(start))
        .unwrap();
    println!("trained in {:.0} s", start.elapsed().as_secs_f64());
    if let Some(out) = given.get("out") {
        network.save(out.as_ref()).unwrap();
    }
    let show = |name: &str, documents: &[Document]| {
        if !documents.is_empty() {
            let counts = score(
                &network,
                documents,
                name == "held out" && given.contains_key("labels"),
            );
            println!(
                "{name}: P {:.4} R {:.4} F1 {:.4}",
                counts.precision(),
                counts.recall(),
                counts.f1()
            );
        }
    };
    show("held out", &held);
    if let Some(dev) = given.get("dev") {
        show("dev", &read_jsonl(dev.as_ref()).unwrap());
    }
}
