//! An independent reader of an output dataset, which shares no code with the writer.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array as _, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// One row of a notes file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) topic: String,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) kind: String,
    pub(crate) error: Option<String>,
    pub(crate) event: String,
    pub(crate) note_id: Option<String>,
    pub(crate) note_type: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) redactions: u32,
}

/// One notes file.
#[derive(Clone, Debug)]
pub(crate) struct NotesFile {
    pub(crate) path: PathBuf,
    /// The first offset, from the name.
    pub(crate) first: i64,
    /// The key-value pairs of its footer.
    pub(crate) footer: BTreeMap<String, String>,
    pub(crate) rows: Vec<Row>,
}

impl NotesFile {
    fn number(&self, key: &str) -> i64 {
        self.footer[key].parse().unwrap()
    }
}

/// A complete output dataset.
#[derive(Debug)]
pub(crate) struct Dataset {
    /// The chain of each topic and partition, with its files by name.
    pub(crate) chains: BTreeMap<(String, i32), Vec<NotesFile>>,
}

impl Dataset {
    /// Reads every notes file below a folder.
    ///
    /// # Panics
    /// If a file cannot be read: no reader may ever see such a file.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut chains: BTreeMap<(String, i32), Vec<NotesFile>> = BTreeMap::new();
        let notes = folder.join("notes");
        for path in files(&notes) {
            let file = read_notes(&path);
            let key = (
                file.footer["lethe.topic"].clone(),
                file.footer["lethe.partition"].parse().unwrap(),
            );
            chains.entry(key).or_default().push(file);
        }
        for chain in chains.values_mut() {
            chain.sort_by_key(|file| file.first);
        }
        Self { chains }
    }

    /// Returns every row, by topic, partition and offset.
    pub(crate) fn rows(&self) -> Vec<&Row> {
        self.chains
            .values()
            .flatten()
            .flat_map(|file| &file.rows)
            .collect()
    }

    /// Returns every (partition, offset) that has a row.
    pub(crate) fn offsets(&self) -> Vec<(i32, i64)> {
        self.rows()
            .iter()
            .map(|row| (row.partition, row.offset))
            .collect()
    }

    /// Returns the rows of one partition.
    pub(crate) fn partition(&self, partition: i32) -> Vec<&Row> {
        self.rows()
            .into_iter()
            .filter(|row| row.partition == partition)
            .collect()
    }

    /// Returns the end of each chain: one past the last offset that its last file covers.
    pub(crate) fn tails(&self) -> BTreeMap<i32, i64> {
        self.chains
            .iter()
            .filter_map(|((_, partition), chain)| {
                Some((*partition, chain.last()?.number("lethe.next_offset")))
            })
            .collect()
    }

    /// Returns the number of notes files.
    pub(crate) fn files(&self) -> usize {
        self.chains.values().map(Vec::len).sum()
    }

    /// Returns the faults of the chains: each file must begin where the previous one ends, have no row
    /// outside its offsets or out of order, and name an existing audit file.
    pub(crate) fn faults(&self, folder: &Path) -> Vec<String> {
        let mut faults = Vec::new();
        for ((topic, partition), chain) in &self.chains {
            let mut due = None;
            for file in chain {
                let name = file.path.display();
                let (first, next) = (
                    file.number("lethe.first_offset"),
                    file.number("lethe.next_offset"),
                );
                if first != file.first {
                    faults.push(format!("{name}: its footer begins at {first}"));
                }
                if due.is_some_and(|due| due != first) {
                    faults.push(format!("{name}: {due:?} was due in {topic}/{partition}"));
                }
                due = Some(next);
                let mut last = first - 1;
                for row in &file.rows {
                    if row.offset <= last || row.offset >= next {
                        faults.push(format!("{name}: row of offset {} after {last}", row.offset));
                    }
                    if row.topic != *topic || row.partition != *partition {
                        faults.push(format!("{name}: row of {}/{}", row.topic, row.partition));
                    }
                    last = row.offset;
                }
                if let Some(audit) = file.footer.get("lethe.audit")
                    && !folder.join(audit).is_file()
                {
                    faults.push(format!("{name}: its audit file is not there"));
                }
            }
        }
        faults
    }

    /// Asserts that the rows are exactly the given offsets, each once, and that every chain is intact.
    #[track_caller]
    pub(crate) fn assert_exactly(&self, folder: &Path, offsets: &[(i32, i64)]) {
        assert_eq!(self.faults(folder), Vec::<String>::new());
        let tally = self.tally(offsets);
        assert_eq!((tally.lost, tally.duplicated), (0, 0), "{tally:?}");
    }

    /// Compares the rows with the offsets that were produced.
    pub(crate) fn tally(&self, produced: &[(i32, i64)]) -> Tally {
        let mut seen: BTreeMap<(i32, i64), i64> = BTreeMap::new();
        for offset in self.offsets() {
            *seen.entry(offset).or_default() += 1;
        }
        let mut tally = Tally::default();
        for offset in produced {
            match seen.remove(offset) {
                None => tally.lost += 1,
                Some(times) => tally.duplicated += times - 1,
            }
        }
        // A row with an offset that was not produced counts as duplicated.
        tally.duplicated += seen.values().sum::<i64>();
        tally
    }
}

/// Lost and duplicated notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Produced offsets without a row.
    pub(crate) lost: i64,
    /// Surplus rows.
    pub(crate) duplicated: i64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.lost += other.lost;
        self.duplicated += other.duplicated;
    }
}

/// Returns every visible file below a folder, sorted; hidden files and folders belong to the store.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return found;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns every file below a folder, including hidden ones.
pub(crate) fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(all_files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Reads a Parquet file completely: the pairs of its footer and its batches.
pub(crate) fn read_parquet(path: &Path) -> Result<(BTreeMap<String, String>, Vec<RecordBatch>), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| error.to_string())?;
    let pairs = builder.metadata().file_metadata().key_value_metadata();
    let footer = pairs
        .into_iter()
        .flatten()
        .map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()))
        .collect();
    let reader = builder.build().map_err(|error| error.to_string())?;
    let batches: Result<_, _> = reader.collect();
    Ok((footer, batches.map_err(|error| error.to_string())?))
}

fn read_notes(path: &Path) -> NotesFile {
    let (footer, batches) = read_parquet(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let stem = path.file_stem().unwrap().to_str().unwrap();
    assert_eq!(
        path.extension().and_then(|e| e.to_str()),
        Some("parquet"),
        "{}",
        path.display()
    );
    NotesFile {
        path: path.into(),
        first: stem.parse().unwrap(),
        footer,
        rows: batches.iter().flat_map(rows).collect(),
    }
}

fn rows(batch: &RecordBatch) -> Vec<Row> {
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let text = |name: &str, row: usize| {
        let column = column(name).as_string::<i32>();
        column.is_valid(row).then(|| column.value(row).to_owned())
    };
    (0..batch.num_rows())
        .map(|row| Row {
            topic: text("topic", row).unwrap(),
            partition: column("partition").as_primitive::<Int32Type>().value(row),
            offset: column("offset").as_primitive::<Int64Type>().value(row),
            kind: text("row_kind", row).unwrap(),
            error: text("error", row),
            event: text("event_kind", row).unwrap(),
            note_id: text("note_id", row),
            note_type: text("note_type", row),
            text: text("text", row),
            redactions: u32::try_from(column("redactions").as_primitive::<Int64Type>().value(row)).unwrap(),
        })
        .collect()
}
