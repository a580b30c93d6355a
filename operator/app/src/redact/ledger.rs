//! The record of a folder of outputs: which inputs are done, with what result, and by which engine.
//!
//! It lets a later run continue, and `lethe report` sum up. One JSON object per line; the first names the
//! engine.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::item::{Item, Stamp};
use crate::exit::usage;

/// The file's name in the folder of outputs.
pub(crate) const FILE: &str = "lethe-redact.jsonl";

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// The version of the file's own format.
    pub(crate) version: u32,
    /// Everything that determines the outputs: program, bundle, policy, options.
    pub(crate) fingerprint: String,
    /// The program's version.
    pub(crate) program: String,
    /// The label set's id and version.
    pub(crate) labels: String,
    /// The bundle's digest, if there is one.
    pub(crate) bundle: Option<String>,
    /// The policy's digest.
    pub(crate) policy: String,
    /// The policy's rule of 45 CFR 164.514, if it has one.
    pub(crate) mode: Option<String>,
    /// The members.
    pub(crate) members: Vec<String>,
    /// Weaker protection that the configuration acknowledges.
    pub(crate) acknowledged: Option<String>,
}

/// The result of one input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The input's name, relative to the path of the command line.
    pub(crate) input: String,
    /// The output's name in the folder; empty if the format was not recognised.
    pub(crate) output: String,
    /// The format of the input.
    pub(crate) format: String,
    pub(crate) stamp: Stamp,
    /// The output's size in bytes.
    pub(crate) size: u64,
    /// What was done, unless it failed.
    pub(crate) counts: Option<Counts>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl Entry {
    /// Returns the entry of an input that failed before its format was known.
    pub(crate) fn unrecognised(input: String, error: Option<String>) -> Self {
        Self {
            input,
            output: String::new(),
            format: "not recognised".to_owned(),
            stamp: Stamp::default(),
            size: 0,
            counts: None,
            error,
        }
    }
}

/// The record of a folder.
pub(crate) struct Ledger {
    file: File,
    /// The last result of each input.
    entries: BTreeMap<String, Entry>,
}

impl Ledger {
    /// Opens the record of a folder, or creates both.
    ///
    /// # Errors
    /// A usage error if another engine wrote it, unless `overwrite` is set; or if another process writes it.
    pub(crate) fn open(folder: &Path, header: &Header, overwrite: bool) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let path = folder.join(FILE);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        if file.try_lock().is_err() {
            return Err(usage(format!(
                "{}: another process writes to this folder; wait until it ends, or use another folder",
                folder.display()
            )));
        }
        let (there, entries) = match read(&path) {
            Ok(read) => read,
            // A run that was killed may have written half of the first line.
            Err(_) if overwrite => (None, BTreeMap::new()),
            Err(error) => return Err(error),
        };
        let mut ledger = Self { file, entries };
        ledger.cut_half_line(&path)?;
        match there {
            Some(there) if there.fingerprint == header.fingerprint && !overwrite => return Ok(ledger),
            Some(_) if !overwrite => {
                return Err(usage(format!(
                    "{}: holds outputs of another configuration, policy or version of Lethe; use another folder, or redact all files again with --overwrite",
                    folder.display()
                )));
            }
            _ => {}
        }
        ledger.entries.clear();
        ledger.file.set_len(0)?;
        ledger.line(header)?;
        Ok(ledger)
    }

    /// Returns whether an input is done: it did not change since, and its output is there.
    pub(crate) fn is_done(&self, item: &Item, output: &Path) -> Option<&Counts> {
        let entry = self
            .entries
            .get(&item.name)
            .filter(|entry| entry.stamp == item.stamp)?;
        let size = std::fs::metadata(output).ok()?.len();
        entry.counts.as_ref().filter(|_| entry.size == size)
    }

    /// Adds a result.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn add(&mut self, entry: Entry) -> anyhow::Result<()> {
        self.line(&entry)?;
        self.entries.insert(entry.input.clone(), entry);
        Ok(())
    }

    /// Removes what a killed run left of a line.
    fn cut_half_line(&self, path: &Path) -> anyhow::Result<()> {
        let bytes = std::fs::read(path)?;
        let whole = bytes
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        if whole < bytes.len() {
            self.file.set_len(whole as u64)?;
        }
        Ok(())
    }

    fn line(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.file
            .write_all(&line)
            .with_context(|| format!("cannot write {FILE}"))
    }
}

/// Returns the header and the last result of each input of a record.
///
/// # Errors
/// If it cannot be read, or a line other than the last is not of a record.
pub(crate) fn read(path: &Path) -> anyhow::Result<(Option<Header>, BTreeMap<String, Entry>)> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = BufReader::new(file).lines().collect::<Result<Vec<_>, _>>()?;
    let bad = |number: usize| {
        usage(format!(
            "{}, line {number}: is not of a record of `lethe redact`; use another folder, or --overwrite",
            path.display()
        ))
    };
    let mut lines = lines.iter().enumerate();
    let Some((_, first)) = lines.next() else {
        return Ok((None, BTreeMap::new()));
    };
    let header: Header = serde_json::from_str(first).map_err(|_| bad(1))?;
    if header.version != 1 {
        return Err(usage(format!(
            "{}: was written by a newer version of Lethe; use that version, or another folder",
            path.display()
        )));
    }
    let mut entries = BTreeMap::new();
    while let Some((at, line)) = lines.next() {
        match serde_json::from_str::<Entry>(line) {
            Ok(entry) => drop(entries.insert(entry.input.clone(), entry)),
            // Half of a line, from a run that was killed: its file is redacted again.
            Err(_) if lines.len() == 0 => {}
            Err(_) => return Err(bad(at + 1)),
        }
    }
    Ok((Some(header), entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::item::Content;
    use crate::redact::kind::FileKind;
    use lethe_connectors::files::Packing;

    fn header(fingerprint: &str) -> Header {
        Header {
            version: 1,
            fingerprint: fingerprint.to_owned(),
            program: "1".to_owned(),
            labels: "i2b2-2014 1".to_owned(),
            bundle: None,
            policy: "p".to_owned(),
            mode: None,
            members: vec!["known".to_owned()],
            acknowledged: None,
        }
    }

    fn item(name: &str, bytes: u64) -> Item {
        Item {
            name: name.to_owned(),
            content: Content::Bytes([].into()),
            kind: FileKind::Text,
            packing: Packing::None,
            stamp: Stamp { bytes, modified: 7 },
        }
    }

    fn entry(item: &Item, size: u64) -> Entry {
        Entry {
            input: item.name.clone(),
            output: item.output_name(),
            format: "text".to_owned(),
            stamp: item.stamp,
            size,
            counts: Some(Counts::default()),
            error: None,
        }
    }

    #[test]
    fn an_input_is_done_while_it_and_its_output_are_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("a.txt");
        std::fs::write(&output, "12345").unwrap();
        let a = item("a.txt", 9);
        Ledger::open(folder.path(), &header("x"), false)
            .unwrap()
            .add(entry(&a, 5))
            .unwrap();
        let ledger = Ledger::open(folder.path(), &header("x"), false).unwrap();
        assert!(ledger.is_done(&a, &output).is_some());
        assert!(ledger.is_done(&item("a.txt", 10), &output).is_none());
        assert!(ledger.is_done(&item("b.txt", 9), &output).is_none());
        std::fs::write(&output, "1234").unwrap();
        assert!(ledger.is_done(&a, &output).is_none());
    }

    #[test]
    fn another_engine_is_refused_unless_all_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let a = item("a.txt", 9);
        Ledger::open(folder.path(), &header("x"), false)
            .unwrap()
            .add(entry(&a, 5))
            .unwrap();
        assert!(Ledger::open(folder.path(), &header("y"), false).is_err());
        drop(Ledger::open(folder.path(), &header("y"), true).unwrap());
        let (there, entries) = read(&folder.path().join(FILE)).unwrap();
        assert_eq!((there.unwrap().fingerprint.as_str(), entries.len()), ("y", 0));
    }

    #[test]
    fn two_processes_do_not_write_to_one_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = Ledger::open(folder.path(), &header("x"), false).unwrap();
        assert!(Ledger::open(folder.path(), &header("x"), false).is_err());
        drop(first);
        assert!(Ledger::open(folder.path(), &header("x"), false).is_ok());
    }

    #[test]
    fn half_of_the_last_line_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let first = serde_json::to_string(&header("x")).unwrap();
        let a = serde_json::to_string(&entry(&item("a.txt", 9), 5)).unwrap();
        std::fs::write(&path, format!("{first}\n{a}\n{}", a.split_at(20).0)).unwrap();
        let mut ledger = Ledger::open(folder.path(), &header("x"), false).unwrap();
        ledger.add(entry(&item("b.txt", 9), 5)).unwrap();
        assert_eq!(read(&path).unwrap().1.len(), 2);
        drop(ledger);
        std::fs::write(&path, format!("{first}\n{}\n{a}\n", a.split_at(20).0)).unwrap();
        assert!(read(&path).is_err());
    }
}
