//! The list of a snapshot's manifests (the specification, "Snapshots", `manifest_file`).

use std::sync::LazyLock;

use apache_avro::Schema;
use apache_avro::types::Value;

use super::avro::{self, Record, fields, get, number, text};

#[expect(clippy::expect_used, reason = "a constant that the tests parse")]
static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| avro::parse(include_str!("manifest_list.avsc")).expect("a schema of Avro"));

/// A manifest in a list.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) path: String,
    pub(crate) length: i64,
    pub(crate) spec: i64,
    /// 0 for files with rows, 1 for files that delete rows.
    pub(crate) content: i64,
    pub(crate) sequence_number: i64,
    pub(crate) min_sequence_number: i64,
    pub(crate) added_snapshot: i64,
    pub(crate) files: Counts,
    pub(crate) rows: Counts,
    partitions: Value,
    key_metadata: Value,
}

/// Numbers of files, or of their rows, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) added: i64,
    pub(crate) existing: i64,
    pub(crate) deleted: i64,
}

impl Listed {
    /// Describes a manifest without partitions that a snapshot writes.
    pub(crate) fn new(path: String, length: usize, snapshot: i64, sequence_number: i64) -> Self {
        Self {
            path,
            length: i64::try_from(length).unwrap_or(i64::MAX),
            spec: 0,
            content: 0,
            sequence_number,
            min_sequence_number: sequence_number,
            added_snapshot: snapshot,
            files: Counts::default(),
            rows: Counts::default(),
            partitions: Value::Null,
            key_metadata: Value::Null,
        }
    }

    fn of(record: &Record) -> Result<Self, String> {
        let due = |name: &str| number(record, name).ok_or_else(|| format!("`{name}` is missing"));
        // Earlier writers had these counts under other names.
        let count = |what: &str, name: &str| {
            let found = number(record, &format!("{what}_{name}_count"));
            found
                .or_else(|| number(record, &format!("{what}_data_{name}_count")))
                .unwrap_or(0)
        };
        let counts = |name: &str| Counts {
            added: count("added", name),
            existing: count("existing", name),
            deleted: count("deleted", name),
        };
        let raw = |name: &str| get(record, name).cloned().unwrap_or(Value::Null);
        let path = text(record, "manifest_path").ok_or("`manifest_path` is missing")?;
        Ok(Self {
            path: path.to_owned(),
            length: due("manifest_length")?,
            spec: due("partition_spec_id")?,
            content: number(record, "content").unwrap_or(0),
            sequence_number: number(record, "sequence_number").unwrap_or(0),
            min_sequence_number: number(record, "min_sequence_number").unwrap_or(0),
            added_snapshot: due("added_snapshot_id")?,
            files: counts("files"),
            rows: counts("rows"),
            partitions: raw("partitions"),
            key_metadata: raw("key_metadata"),
        })
    }

    fn record(&self) -> Record {
        let int = |number: i64| Value::Int(i32::try_from(number).unwrap_or(i32::MAX));
        fields([
            ("manifest_path", Value::String(self.path.clone())),
            ("manifest_length", Value::Long(self.length)),
            ("partition_spec_id", int(self.spec)),
            ("content", int(self.content)),
            ("sequence_number", Value::Long(self.sequence_number)),
            ("min_sequence_number", Value::Long(self.min_sequence_number)),
            ("added_snapshot_id", Value::Long(self.added_snapshot)),
            ("added_files_count", int(self.files.added)),
            ("existing_files_count", int(self.files.existing)),
            ("deleted_files_count", int(self.files.deleted)),
            ("added_rows_count", Value::Long(self.rows.added)),
            ("existing_rows_count", Value::Long(self.rows.existing)),
            ("deleted_rows_count", Value::Long(self.rows.deleted)),
            ("partitions", self.partitions.clone()),
            ("key_metadata", self.key_metadata.clone()),
        ])
    }
}

/// Reads a list.
///
/// # Errors
/// The problem, in words.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Listed>, String> {
    avro::read(bytes)?.records.iter().map(Listed::of).collect()
}

/// Writes the list of a snapshot.
///
/// # Errors
/// The problem, in words.
pub(crate) fn write(
    snapshot: i64,
    parent: Option<i64>,
    sequence_number: i64,
    manifests: &[Listed],
) -> Result<Vec<u8>, String> {
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| parent.to_string());
    let header = [
        ("snapshot-id", snapshot.to_string()),
        ("parent-snapshot-id", parent),
        ("sequence-number", sequence_number.to_string()),
        ("format-version", "2".to_owned()),
    ];
    let header = header.map(|(key, value)| (key.to_owned(), value.into_bytes()));
    avro::write(&SCHEMA, header, manifests.iter().map(Listed::record))
}
