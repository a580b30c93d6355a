//! `lethe corpus`: what corpora contain.

use std::collections::HashMap;
use std::path::Path;

use lethe_corpus::statistics::{StatisticsOptions, statistics};

use super::documents::print;
use super::evaluate::{named, rename, stem};
use crate::cli::{CorpusCommand, CorpusStatsArgs};
use crate::config::label_set;
use crate::corpora::table;
use crate::exit::usage;
use crate::interrupt;

/// Runs a command on corpora.
pub(crate) fn run(command: &CorpusCommand) -> anyhow::Result<()> {
    match command {
        CorpusCommand::Stats(args) => stats(args),
    }
}

/// Counts corpora and prints the report.
fn stats(args: &CorpusStatsArgs) -> anyhow::Result<()> {
    interrupt::end_at_once("the statistics were not written");
    let rename = rename(args.rename.as_deref())?;
    let labels = args
        .labels
        .as_deref()
        .map(|name| label_set(name, "--labels"))
        .transpose()?;
    let mut paths = HashMap::new();
    for corpus in &args.corpora {
        let (name, path) = called(corpus);
        if let Some(other) = paths.insert(name.clone(), path) {
            return Err(usage(format!(
                "{other} and {path} are both called `{name}`; give each corpus a name of its own, as in `NAME=PATH`"
            )));
        }
    }
    let mut corpora = Vec::with_capacity(args.corpora.len());
    for corpus in &args.corpora {
        let (name, path) = called(corpus);
        let documents = lethe_corpus::read(Path::new(path), None).map_err(usage)?;
        if documents.is_empty() {
            return Err(usage(format!(
                "{path}: no documents; give a file of JSON lines, i2b2 XML or brat, or a folder of such files"
            )));
        }
        corpora.push((name, documents));
    }
    let options = StatisticsOptions {
        rename: &rename,
        labels: labels.as_ref(),
        terms: args.terms,
        least_documents: args.least_documents,
    };
    let report = statistics(&corpora, &options).map_err(usage)?;
    print(args.json, &report, || table(&report))
}

/// Splits `NAME=PATH`; a path alone is called as its file without the extension.
fn called(argument: &str) -> (String, &str) {
    let (name, path) = named(argument);
    (name.unwrap_or_else(|| stem(path)), path)
}
