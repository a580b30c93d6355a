//! Fits the stacked LSTM on members' cross-validated predictions, scores it and measures it.
//!
//! `stacked_lstm [SETTING=NUMBER...] GOLD-CV NAME=PREDICTIONS... -- GOLD-TEST NAME=PREDICTIONS...`. Without the second
//! part a fifth of the first is held back and scored: the way to choose settings. All files are JSONL of documents.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a measuring program")]

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use lethe_corpus::{Counts, Document, Group, Split, folds, read_jsonl};
use lethe_ensemble::{Said, StackedLstm, StackedLstmConfig, judge};
use lethe_learn::{Epoch, Watch};

const SEED: u64 = 1;
const PARTS: usize = 5;

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stacked_lstm: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<String>) -> Result<(), Box<dyn Error>> {
    let gold = arguments
        .iter()
        .position(|a| !a.contains('='))
        .ok_or("which gold?")?;
    let (settings, files) = arguments.split_at(gold);
    let config: StackedLstmConfig = toml::from_str(&settings.join("\n"))?;
    println!("{config:?}");
    let mut sides = files.split(|argument| argument == "--");
    let (gold, members) = read(sides.next().unwrap_or_default())?;
    let (fit, test) = if let Some(test) = sides.next() {
        let fit = Said::new(gold, members, None)?;
        let (gold, members) = read(test)?;
        let test = Said::new(gold, members, Some(fit.labels.clone()))?;
        (fit, test)
    } else {
        let split = folds(&gold, PARTS, Group::Document, SEED)?.split(0);
        let side = |indices: &[usize], labels| {
            let gold = Split::pick(indices, &gold);
            let members = members.iter().map(|(name, said)| {
                let of = |document: &Document| said.iter().find(|said| said.id == document.id).cloned();
                (name.clone(), gold.iter().filter_map(of).collect())
            });
            let members = members.collect();
            Said::new(gold, members, labels)
        };
        let fit = side(&split.train, None)?;
        let test = side(&split.held, Some(fit.labels.clone()))?;
        (fit, test)
    };
    for (member, name) in test.members.iter().enumerate() {
        print(name, test.counts(member));
    }
    let start = Instant::now();
    let mut told = Told(Instant::now());
    let fitted = StackedLstm::fit(&fit, &config, SEED, &mut told)?;
    println!(
        "fitted on {} documents in {:.1} s",
        fit.documents.len(),
        start.elapsed().as_secs_f64()
    );
    let bytes = fitted.to_bytes()?;
    let start = Instant::now();
    let fitted = StackedLstm::from_bytes(&bytes, &fit.labels)?;
    println!(
        "{} bytes, read in {:.3} s",
        bytes.len(),
        start.elapsed().as_secs_f64()
    );
    let tokens: usize = test.batch.notes().map(|note| note.tokens.len()).sum();
    for turn in ["first", "second", "third"] {
        let start = Instant::now();
        let counts = judge(&fitted, &test);
        let rate = tokens as f64 / start.elapsed().as_secs_f64();
        print("stacked-lstm", counts);
        println!("{turn} turn: {rate:.0} tokens/s");
    }
    Ok(())
}

/// Prints each pass.
struct Told(Instant);

impl Watch for Told {
    fn epoch(&mut self, epoch: Epoch) -> ControlFlow<()> {
        println!(
            "pass {}: loss {:.4}, {:.1} s",
            epoch.done,
            epoch.loss,
            self.0.elapsed().as_secs_f64()
        );
        ControlFlow::Continue(())
    }
}

type Predictions = (Vec<Document>, Vec<(String, Vec<Document>)>);

fn read(files: &[String]) -> Result<Predictions, Box<dyn Error>> {
    let (gold, members) = files.split_first().ok_or("which gold?")?;
    let member = |argument: &String| -> Result<(String, Vec<Document>), Box<dyn Error>> {
        let (name, file) = argument.split_once('=').ok_or("NAME=PREDICTIONS")?;
        Ok((name.to_owned(), read_jsonl(Path::new(file))?))
    };
    let members = members.iter().map(member).collect::<Result<_, _>>()?;
    Ok((read_jsonl(Path::new(gold))?, members))
}

fn print(name: &str, counts: Counts) {
    println!(
        "{name:16} precision {:.2} recall {:.2} F1 {:.2}",
        100.0 * counts.precision(),
        100.0 * counts.recall(),
        100.0 * counts.f1()
    );
}
