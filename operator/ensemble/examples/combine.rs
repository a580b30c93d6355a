//! Fits a combiner to cross-validated predictions of members, and evaluates it.
//!
//! `combine METHOD GOLD-CV NAME=PREDICTIONS... -- GOLD-TEST NAME=PREDICTIONS...`, with METHOD one of
//! `templates`, `stacked-svm`, `stacked-searn`, `stacked-lstm`, or `members` for the members alone; settings
//! may follow it, as in `stacked-searn,epochs=10`. Without the second part it is evaluated by
//! cross-validation on the first, which is how to choose settings. All files are JSONL of documents.

#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for the terminal.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use lethe_core::Combine;
use lethe_corpus::{Counts, Document, Group, Split, folds, read_jsonl};
use lethe_ensemble::{
    PredictionSet, StackedLstm, StackedLstmConfig, StackedSearn, StackedSearnConfig, StackedSvm,
    StackedSvmConfig, Templates, TemplatesConfig, evaluate,
};
use lethe_learn::{Epoch, Observer};

const SEED: u64 = 1;
const FOLDS: usize = 10;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("combine: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let (method, files) = arguments.split_first().ok_or("which METHOD?")?;
    let mut sides = files.split(|argument| argument == "--");
    let (gold, members) = read(sides.next().unwrap_or_default())?;
    let test = sides.next().map(read).transpose()?;
    if method == "members" {
        let (gold, members) = test.unwrap_or((gold, members));
        let predictions = PredictionSet::new(gold, members, None)?;
        for (member, name) in predictions.members.iter().enumerate() {
            print(name, predictions.counts(member));
        }
        return Ok(());
    }
    if let Some((gold_test, members_test)) = test {
        let predictions = PredictionSet::new(gold, members, None)?;
        let start = Instant::now();
        let fitted = fit(method, &predictions)?;
        println!("fitted in {:.1} s", start.elapsed().as_secs_f64());
        let test = PredictionSet::new(gold_test, members_test, Some(predictions.labels))?;
        let tokens: usize = test.batch.notes().map(|note| note.tokens.len()).sum();
        for turn in ["first", "second", "third"] {
            let start = Instant::now();
            let counts = evaluate(&*fitted, &test);
            let micros = start.elapsed().as_secs_f64() * 1e6;
            print(method, counts);
            println!("{turn} turn: {:.2} us per token", micros / tokens as f64);
        }
        return Ok(());
    }
    let parts = folds(&gold, FOLDS, Group::Document, SEED)?;
    let mut counts = Counts::default();
    for fold in 0..parts.count() {
        let split = parts.split(fold);
        let side = |indices: &[usize], labels| {
            let gold = Split::pick(indices, &gold);
            let members = members.iter().map(|(name, predictions)| {
                let of = |document: &Document| {
                    predictions
                        .iter()
                        .find(|predictions| predictions.id == document.id)
                        .cloned()
                };
                (name.clone(), gold.iter().filter_map(of).collect())
            });
            let members = members.collect();
            PredictionSet::new(gold, members, labels)
        };
        let train = side(&split.train, None)?;
        let held = side(&split.held, Some(train.labels.clone()))?;
        let fitted = fit(method, &train)?;
        counts += evaluate(&*fitted, &held);
    }
    print(&format!("{method}, {FOLDS}-fold"), counts);
    Ok(())
}

fn fit(method: &str, predictions: &PredictionSet) -> Result<Box<dyn Combine>, Box<dyn Error>> {
    let (method, settings) = method.split_once(',').unwrap_or((method, ""));
    let settings = settings.replace(',', "\n");
    Ok(match method {
        "templates" => Box::new(Templates::fit(
            predictions,
            &toml::from_str::<TemplatesConfig>(&settings)?,
        )?),
        "stacked-svm" => {
            let fitted = StackedSvm::fit(predictions, &toml::from_str::<StackedSvmConfig>(&settings)?, SEED)?;
            println!("C and the score that a span needs: {:?}", fitted.chosen());
            Box::new(fitted)
        }
        "stacked-searn" => {
            let config: StackedSearnConfig = toml::from_str(&settings)?;
            Box::new(StackedSearn::fit(predictions, &config, SEED)?)
        }
        "stacked-lstm" => {
            let config: StackedLstmConfig = toml::from_str(&settings)?;
            Box::new(StackedLstm::fit(predictions, &config, SEED, &mut Printer)?)
        }
        other => return Err(format!("no method `{other}`").into()),
    })
}

/// Prints each pass.
struct Printer;

impl Observer for Printer {
    fn epoch(&mut self, epoch: Epoch) -> ControlFlow<()> {
        eprintln!("pass {} of {}: loss {:.4}", epoch.done, epoch.of, epoch.loss);
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
    let percent = |share: f64| 100.0 * share;
    println!(
        "{name:16} precision {:.2} recall {:.2} F1 {:.2}",
        percent(counts.precision()),
        percent(counts.recall()),
        percent(counts.f1())
    );
}
