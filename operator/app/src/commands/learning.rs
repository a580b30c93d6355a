//! Common parts of training commands: reading corpora, settings, and progress.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lethe_corpus::{Document, Split, hold_out};
use lethe_learn::{Epoch, Observer};
use toml::Table;

use super::evaluate::rename;
use crate::cli::LearningArgs;
use crate::exit::usage;
use crate::progress::Progress;

/// Reads documents from all paths, in order, and renames their labels.
///
/// # Errors
/// A usage error that names file and line, or the id that two documents share.
pub(crate) fn read(paths: &[PathBuf], names: Option<&Path>) -> anyhow::Result<Vec<Document>> {
    let names = rename(names)?;
    let mut documents = Vec::new();
    for path in paths {
        documents.extend(super::evaluate::read(path, &names)?);
    }
    if documents.is_empty() {
        return Err(usage("no documents to train on"));
    }
    Ok(documents)
}

/// The documents for training and for model selection.
pub(crate) struct Gold<'a> {
    /// Documents to train on.
    pub(crate) train: &'a [PathBuf],
    /// Documents for model selection.
    pub(crate) dev: Option<&'a Path>,
    /// New names for labels.
    pub(crate) rename: Option<&'a Path>,
    /// The share of the training documents that is held out if there are no others; 0 for none.
    pub(crate) hold_out: f64,
}

impl Gold<'_> {
    /// Reads the documents to train on and those to hold out.
    ///
    /// # Errors
    /// As [`read`].
    pub(crate) fn read(&self, seed: u64) -> anyhow::Result<(Vec<Document>, Vec<Document>)> {
        let documents = read(self.train, self.rename)?;
        Ok(match self.dev {
            Some(path) => (documents, read(&[path.to_owned()], self.rename)?),
            None if self.hold_out > 0.0 => {
                let split = hold_out(&documents, self.hold_out, seed);
                (
                    Split::pick(&split.train, &documents),
                    Split::pick(&split.held, &documents),
                )
            }
            None => (documents, Vec::new()),
        })
    }
}

/// Returns the member's settings: those of the file, overridden by `--set`.
///
/// # Errors
/// A usage error that names the file or the setting.
pub(crate) fn settings(args: &LearningArgs) -> anyhow::Result<Table> {
    settings_of(args.settings.as_deref(), &args.set)
}

/// Returns the settings of a file, overridden by lines `KEY=VALUE`.
///
/// # Errors
/// A usage error that names the file or the line.
pub(crate) fn settings_of(file: Option<&Path>, lines: &[String]) -> anyhow::Result<Table> {
    let mut table = match file {
        Some(path) => std::fs::read_to_string(path)
            .with_context(|| path.display().to_string())?
            .parse::<Table>()
            .map_err(|error| usage(format!("{}: {error}", path.display())))?,
        None => Table::new(),
    };
    for line in lines {
        let (key, value) = line
            .split_once('=')
            .ok_or_else(|| usage(format!("--set {line}: not KEY=VALUE")))?;
        put(&mut table, key.trim(), parse(value.trim()))
            .ok_or_else(|| usage(format!("--set {line}: a part of the key is not a table")))?;
    }
    Ok(table)
}

/// Parses a TOML value; a bare word is a string.
fn parse(value: &str) -> toml::Value {
    format!("v = {value}")
        .parse::<Table>()
        .ok()
        .and_then(|mut table| table.remove("v"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()))
}

/// Sets a value under a dotted key; `None` if a part of the key is not a table.
fn put(table: &mut Table, key: &str, value: toml::Value) -> Option<()> {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
            Some(())
        }
        Some((head, rest)) => {
            let inner = table
                .entry(head)
                .or_insert_with(|| toml::Value::Table(Table::new()))
                .as_table_mut()?;
            put(inner, rest, value)
        }
    }
}

/// Shows passes as a bar on a terminal, else as a log line now and then, and the last pass as a log line.
pub(crate) struct Passes {
    progress: Progress,
    name: String,
    last: Option<String>,
}

impl Passes {
    /// Creates progress of the training called `name`.
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            progress: Progress::start("training", "passes", None),
            name: name.into(),
            last: None,
        }
    }

    /// Ends the progress.
    pub(crate) fn finish(self) {
        self.progress.finish();
        if let Some(last) = self.last {
            tracing::info!("{last}");
        }
    }
}

impl Observer for Passes {
    fn resumed(&mut self) {
        tracing::info!("{}: resuming an interrupted training", self.name);
    }

    fn epoch(&mut self, epoch: Epoch) -> ControlFlow<()> {
        let held_out = epoch
            .held_out
            .map_or(String::new(), |f1| format!(", held-out F1 {f1:.4}"));
        let state = format!("loss {:.5}{held_out}", epoch.loss);
        self.last = Some(format!(
            "{}: {} of at most {} passes, {state}",
            self.name, epoch.done, epoch.of
        ));
        self.progress.say(format!("{}: {state}", self.name));
        self.progress.reach(u64::from(epoch.done), u64::from(epoch.of));
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_numbers_flags_lists_or_words_under_dotted_keys() {
        let mut table = Table::new();
        for (key, value) in [
            ("l2", "0.1"),
            ("features.rules", "false"),
            ("sizes", "[1, 2]"),
            ("scheme", "bilou"),
        ] {
            put(&mut table, key, parse(value)).unwrap();
        }
        let expected = "l2 = 0.1\nsizes = [1, 2]\nscheme = \"bilou\"\n[features]\nrules = false";
        assert_eq!(table, expected.parse::<Table>().unwrap());
        assert!(put(&mut table, "l2.x", parse("1")).is_none());
    }
}
