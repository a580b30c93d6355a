//! `lethe tune`: cross-validates every combination of a grid of settings.
//!
//! A combination has a folder of its own, named after its settings, so that an interrupted search continues and a larger
//! grid keeps what is done.

use std::path::Path;

use anyhow::Context as _;
use lethe_core::hex;
use lethe_corpus::Document;
use lethe_ensemble::{Measure, Tally};
use lethe_evaluate::{Estimate, Options, Report, System, evaluate};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

use super::crossval::cross_validate;
use super::documents::print;
use super::learning::{read, settings};
use crate::cli::TuneArgs;
use crate::exit::usage;
use crate::interrupt;

/// More combinations than this are a mistake in the grid.
const MOST: usize = 1000;

/// What a search found. Serialised, this is the JSON format `lethe-tuning`, version 1.
#[derive(Serialize)]
struct Tuning {
    format: &'static str,
    version: u32,
    member: String,
    /// The measure, as written.
    measure: String,
    folds: u16,
    documents: usize,
    /// The combinations, best first.
    points: Vec<Point>,
}

/// A combination, scored on all documents, each predicted by a model that was not trained on it.
#[derive(Serialize)]
struct Point {
    /// The grid's settings, as `--set` takes them.
    set: Vec<String>,
    /// The measure's value.
    value: f64,
    /// Strict micro-F1.
    f1: Estimate,
    precision: f64,
    recall: f64,
    /// The share of gold's characters that is covered.
    characters: f64,
    /// Documents with a leak, and documents with identifiers.
    leaking: [u64; 2],
    /// p of the paired t-test over documents' F1 against the best combination; `None` for itself, and if no document differs.
    p: Option<f64>,
}

/// Searches the grid.
pub(crate) fn run(args: &TuneArgs) -> anyhow::Result<()> {
    let folds = &args.folds;
    if !lethe_members::kinds().contains(&&*folds.member) {
        return Err(usage(format!(
            "`{}` is not trained, so that it has no settings to tune; a member that is trained is one of {}",
            folds.member,
            lethe_members::kinds().join(", ")
        )));
    }
    interrupt::end_at_once("run the same command again to continue; finished folds are kept");
    let combinations = grid(&args.grid)?;
    let learning = &folds.learning;
    let documents = read(&learning.train, learning.rename.as_deref())?;
    let also = match folds.also.is_empty() {
        true => Vec::new(),
        false => read(&folds.also, learning.rename.as_deref())?,
    };
    let mut systems: Vec<(String, Vec<Document>)> = Vec::with_capacity(combinations.len());
    for (at, set) in combinations.iter().enumerate() {
        let name = set.join(" ");
        tracing::info!("combination {} of {}: {name}", at + 1, combinations.len());
        let mut one = folds.clone();
        one.learning.set.extend(set.iter().cloned());
        one.out = folds.out.join(folder(set));
        let predicted = cross_validate(&one, &documents, &also).with_context(|| name.clone())?;
        systems.push((name, predicted));
    }
    let report = evaluate(&documents, &systems, &Options::default()).map_err(usage)?;
    let tuning = Tuning {
        format: "lethe-tuning",
        version: 1,
        member: folds.member.clone(),
        measure: args.measure.to_string(),
        folds: folds.folds,
        documents: documents.len(),
        points: points(&report, &combinations, args.measure),
    };
    let Some(best) = tuning.points.first() else {
        return Err(usage("the grid has no combination"));
    };
    let mut chosen = learning.clone();
    chosen.set.extend(best.set.iter().cloned());
    let path = folds.out.join("best.toml");
    std::fs::write(&path, toml::to_string(&settings(&chosen)?)?)
        .with_context(|| path.display().to_string())?;
    print(args.json, &tuning, || table(&tuning))?;
    tracing::info!(
        "the settings of the best are in {}; use them with --settings",
        path.display()
    );
    Ok(())
}

/// Reads a grid: every combination of its values, as `--set` takes them, the first key changing least often.
///
/// # Errors
/// A usage error that names file and key.
fn grid(path: &Path) -> anyhow::Result<Vec<Vec<String>>> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| usage(format!("--grid {shown}: {error}")))?;
    let table: Table = text
        .parse()
        .map_err(|error| usage(format!("--grid {shown}: {error}")))?;
    let mut combinations: Vec<Vec<String>> = vec![Vec::new()];
    for (key, values) in &table {
        let values = match values {
            Value::Array(values) if !values.is_empty() => values,
            _ => {
                return Err(usage(format!(
                    "--grid {shown}: `{key}`: not a list of values; write `{key} = [ ... ]`, and a setting within a table as `\"table.key\" = [ ... ]`"
                )));
            }
        };
        combinations = combinations
            .iter()
            .flat_map(|before| {
                values.iter().map(move |value| {
                    let mut set = before.clone();
                    set.push(format!("{key}={value}"));
                    set
                })
            })
            .collect();
        if combinations.len() > MOST {
            return Err(usage(format!(
                "--grid {shown}: more than {MOST} combinations; leave some values out"
            )));
        }
    }
    if table.is_empty() {
        return Err(usage(format!(
            "--grid {shown}: no settings; write `epochs = [4, 6]`"
        )));
    }
    Ok(combinations)
}

/// The name of a combination's folder.
fn folder(set: &[String]) -> String {
    let digest = hex(&Sha256::digest(set.join("\n")));
    digest.chars().take(16).collect()
}

/// The combinations, best first; of equal ones the earlier first.
fn points(report: &Report, combinations: &[Vec<String>], measure: Measure) -> Vec<Point> {
    let mut scored: Vec<(usize, f64)> = report
        .systems
        .iter()
        .enumerate()
        .map(|(at, system)| (at, measure.of(&tally(system))))
        .collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1));
    let best = scored.first().map(|&(at, _)| at);
    let name = |at: usize| report.systems.get(at).map(|system| &*system.name);
    scored
        .into_iter()
        .filter_map(|(at, value)| {
            let (system, set) = (report.systems.get(at)?, combinations.get(at)?);
            let pair = [best.and_then(name)?, name(at)?];
            let compared = report
                .comparisons
                .iter()
                .find(|one| [&*one.a, &*one.b] == pair || [&*one.b, &*one.a] == pair);
            let strict = &system.measures.strict;
            Some(Point {
                set: set.clone(),
                value,
                f1: strict.f1,
                precision: strict.precision.value,
                recall: strict.recall.value,
                characters: 1.0 - system.leak.characters.share.value,
                leaking: [system.leak.documents.count, system.leak.documents.of],
                p: compared.and_then(|one| one.t_test.p),
            })
        })
        .collect()
}

/// The counts that measures are computed from.
fn tally(system: &System) -> Tally {
    let (strict, character, leak) = (
        &system.measures.strict,
        &system.measures.character,
        &system.leak.documents,
    );
    Tally {
        hits: strict.hits,
        predicted: strict.predicted,
        gold: strict.gold,
        covered: character.hits,
        marked: character.predicted,
        characters: character.gold,
        documents: leak.of,
        intact: leak.of - leak.count,
    }
}

fn table(tuning: &Tuning) -> String {
    let mut out = format!(
        "{}: {} documents, {} folds; best first by {}\n\n{:>8}  {:>6}  {:>14}  {:>6}  {:>6}  {:>7}  {:>8}  {:>6}  settings\n",
        tuning.member,
        tuning.documents,
        tuning.folds,
        tuning.measure,
        tuning.measure,
        "F1",
        "95 % interval",
        "prec.",
        "recall",
        "covered",
        "leaking",
        "p",
    );
    for point in &tuning.points {
        let percent = |share: f64| format!("{:.2}", 100.0 * share);
        let interval = point.f1.interval.map_or_else(String::new, |interval| {
            format!("{} to {}", percent(interval.low), percent(interval.high))
        });
        out += &format!(
            "{:>8}  {:>6}  {:>14}  {:>6}  {:>6}  {:>7}  {:>8}  {:>6}  {}\n",
            percent(point.value),
            percent(point.f1.value),
            interval,
            percent(point.precision),
            percent(point.recall),
            percent(point.characters),
            format!("{} of {}", point.leaking[0], point.leaking[1]),
            point.p.map_or_else(|| "-".to_owned(), |p| format!("{p:.3}")),
            point.set.join(" "),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> anyhow::Result<Vec<Vec<String>>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grid.toml");
        std::fs::write(&path, text).unwrap();
        grid(&path)
    }

    #[test]
    fn a_grid_is_every_combination_of_its_values() {
        let combinations = of("c = [0.1, 1.0]\n\"features.lists\" = [true, false]\n").unwrap();
        let shown: Vec<String> = combinations.iter().map(|set| set.join(" ")).collect();
        assert_eq!(
            shown,
            [
                "c=0.1 features.lists=true",
                "c=0.1 features.lists=false",
                "c=1.0 features.lists=true",
                "c=1.0 features.lists=false",
            ]
        );
        let folders: std::collections::BTreeSet<_> = combinations.iter().map(|set| folder(set)).collect();
        assert_eq!(folders.len(), 4);
    }

    #[test]
    fn a_wrong_grid_names_file_and_key() {
        for (text, why) in [
            ("epochs = 4", "grid.toml: `epochs`: not a list"),
            ("epochs = []", "grid.toml: `epochs`: not a list"),
            ("[schedule]\nepochs = [4]", "`\"table.key\" = [ ... ]`"),
            ("", "grid.toml: no settings"),
            ("epochs = [", "grid.toml"),
        ] {
            let error = of(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let many = (0..40).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
        let error = of(&format!("a = [{many}]\nb = [{many}]")).unwrap_err();
        assert!(error.to_string().contains("more than 1000"), "{error}");
    }
}
