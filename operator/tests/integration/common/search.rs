//! A search for planted words in everything that a run prints and writes.

use std::collections::BTreeSet;
use std::path::Path;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, RecordBatch};

use super::dataset::{all_files, read_parquet};
use super::process::Ended;

/// A search for canaries in a run's output and files.
pub(crate) struct Search {
    wanted: Vec<String>,
    /// The findings, with their locations.
    pub(crate) found: BTreeSet<String>,
}

impl Search {
    /// Creates a search for these words, and for the digits of those that have many.
    pub(crate) fn new(wanted: impl IntoIterator<Item = &'static str>) -> Self {
        // Phones are also searched for as bare digits, since a normalised form is a leak too.
        let wanted: Vec<&str> = wanted.into_iter().collect();
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let bare = wanted
            .iter()
            .map(|text| digits(text))
            .filter(|bare| bare.len() >= 8);
        Self {
            wanted: wanted.iter().map(ToString::to_string).chain(bare).collect(),
            found: BTreeSet::new(),
        }
    }

    /// Searches bytes from this location.
    pub(crate) fn bytes(&mut self, place: &str, bytes: &[u8]) {
        for canary in &self.wanted {
            if bytes
                .windows(canary.len())
                .any(|window| window == canary.as_bytes())
            {
                self.found.insert(format!("{canary} in {place}"));
            }
        }
    }

    /// Searches the output of a run.
    pub(crate) fn words(&mut self, place: &str, ended: &Ended) {
        self.bytes(&format!("{place}: standard output"), ended.out.as_bytes());
        self.bytes(&format!("{place}: standard error"), ended.err.as_bytes());
    }

    /// Searches every file below a folder: its bytes, its footer, and each value of each column. Returns the
    /// number of files.
    pub(crate) fn folder(&mut self, folder: &Path) -> usize {
        let files = all_files(folder);
        for path in &files {
            let place = path.display().to_string();
            self.bytes(&place, place.as_bytes());
            self.bytes(&place, &std::fs::read(path).unwrap());
            if let Ok((footer, batches)) = read_parquet(path) {
                self.bytes(&format!("{place}: footer"), format!("{footer:?}").as_bytes());
                for batch in &batches {
                    self.batch(&place, batch);
                }
            }
        }
        files.len()
    }

    fn batch(&mut self, place: &str, batch: &RecordBatch) {
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            // The whole buffer, including values behind nulls.
            if let Some(text) = column.as_string_opt::<i32>() {
                self.bytes(&format!("{place}: column {}", field.name()), text.value_data());
            } else {
                let printed = format!("{:?}", column.slice(0, column.len()));
                self.bytes(&format!("{place}: column {}", field.name()), printed.as_bytes());
            }
        }
    }

    /// Asserts that nothing was found.
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        assert!(self.found.is_empty(), "{:#?}", self.found);
    }
}
