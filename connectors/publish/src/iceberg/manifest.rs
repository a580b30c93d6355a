//! Manifests: the files of a table (the specification, "Manifests").

use std::sync::LazyLock;

use apache_avro::Schema;
use apache_avro::types::Value;
use serde_json::json;

use super::avro::{self, AvroFile, Record, fields, number, record, set, text};
use super::manifest_list::{Counts, Listed};
use super::schema::Field;
use crate::added::Added;

#[expect(clippy::expect_used, reason = "a constant that the tests parse")]
static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| avro::parse(include_str!("manifest.avsc")).expect("a schema of Avro"));

/// What became of a file in the snapshot that wrote the manifest.
const EXISTING: i32 = 0;
const ADDED: i32 = 1;
const DELETED: i32 = 2;

/// A manifest to write, with what its entry in the list says.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) bytes: Vec<u8>,
    pub(crate) files: Counts,
    pub(crate) rows: Counts,
    pub(crate) min_sequence_number: Option<i64>,
}

/// Writes the manifest of new files. `schema` is the table's, as JSON, and `columns` are its columns.
///
/// Bounds and counts of values are those of `topic`, `partition` and `offset`, which no row lacks. No other column has
/// any, so that no value that comes from a note is in the table's metadata.
///
/// # Errors
/// The problem, in words.
pub(crate) fn of_new_files(
    base: &str,
    files: &[Added],
    schema: &serde_json::Value,
    columns: &[Field],
    snapshot: i64,
) -> Result<Written, String> {
    let header = [
        ("schema", schema.to_string()),
        ("schema-id", schema["schema-id"].to_string()),
        ("partition-spec", json!([]).to_string()),
        ("partition-spec-id", "0".to_owned()),
        ("format-version", "2".to_owned()),
        ("content", "data".to_owned()),
    ];
    let header = header.map(|(key, value)| (key.to_owned(), value.into_bytes()));
    let id = |name: &str| {
        columns
            .iter()
            .find(|column| column.name == name)
            .map(|column| column.id)
    };
    let ids = ["topic", "partition", "offset"].map(id);
    let records = files.iter().map(|file| entry(base, file, ids, snapshot));
    let bytes = avro::write(&SCHEMA, header, records)?;
    let count = |of: fn(&Added) -> u64| files.iter().map(of).sum::<u64>().cast_signed();
    let added = |added: i64| Counts {
        added,
        ..Counts::default()
    };
    Ok(Written {
        bytes,
        files: added(count(|_| 1)),
        rows: added(count(|file| file.rows)),
        min_sequence_number: None,
    })
}

fn entry(base: &str, file: &Added, ids: [Option<i32>; 3], snapshot: i64) -> Record {
    let rows = file.rows.cast_signed();
    let topic = || file.chain.topic.as_bytes().to_vec();
    let partition = || file.chain.partition.to_le_bytes().to_vec();
    let bounds = |offset: i64| [topic(), partition(), offset.to_le_bytes().to_vec()].map(Value::Bytes);
    let by_column = |values: [Value; 3]| {
        let pairs = ids.into_iter().zip(values).filter_map(|(id, value)| {
            Some(Value::Record(fields([
                ("key", Value::Int(id?)),
                ("value", value),
            ])))
        });
        Value::Array(pairs.collect())
    };
    let count = |count: i64| by_column([(); 3].map(|()| Value::Long(count)));
    let data_file = fields([
        ("content", Value::Int(0)),
        ("file_path", Value::String(format!("{base}{}", file.name))),
        ("file_format", Value::String("PARQUET".to_owned())),
        ("partition", Value::Record(Vec::new())),
        ("record_count", Value::Long(rows)),
        ("file_size_in_bytes", Value::Long(file.size.cast_signed())),
        ("value_counts", count(rows)),
        ("null_value_counts", count(0)),
        ("lower_bounds", by_column(bounds(file.offsets.0))),
        ("upper_bounds", by_column(bounds(file.offsets.1))),
        ("sort_order_id", Value::Null),
    ]);
    fields([
        ("status", Value::Int(ADDED)),
        ("snapshot_id", Value::Long(snapshot)),
        // Taken from the list, whose snapshot may get another number.
        ("sequence_number", Value::Null),
        ("file_sequence_number", Value::Null),
        ("data_file", Value::Record(data_file)),
    ])
}

/// A file of a manifest.
pub(crate) struct DataFile {
    pub(crate) location: String,
    /// Its format, such as `PARQUET`.
    pub(crate) format: String,
    /// Its size in bytes.
    pub(crate) size: i64,
}

/// The files of a manifest that were in the table when it was read.
pub(crate) struct Manifest {
    file: AvroFile,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// The problem, in words.
    pub(crate) fn read(bytes: &[u8], listed: &Listed) -> Result<Self, String> {
        let mut file = avro::read(bytes)?;
        file.records
            .retain(|entry| number(entry, "status") != Some(i64::from(DELETED)));
        for entry in &mut file.records {
            // An entry without these has those of its manifest's snapshot.
            for (name, inherited) in [
                ("snapshot_id", listed.added_snapshot),
                ("sequence_number", listed.sequence_number),
                ("file_sequence_number", listed.sequence_number),
            ] {
                if number(entry, name).is_none() {
                    set(entry, name, Value::Long(inherited));
                }
            }
            set(entry, "status", Value::Int(EXISTING));
        }
        Ok(Self { file })
    }

    /// Returns the locations of its files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.file.records.iter().filter_map(path)
    }

    /// Returns its files.
    pub(crate) fn files(&self) -> impl Iterator<Item = DataFile> {
        self.file.records.iter().filter_map(|entry| {
            let file = record(entry, "data_file")?;
            Some(DataFile {
                location: text(file, "file_path")?.to_owned(),
                format: text(file, "file_format")?.to_owned(),
                size: number(file, "file_size_in_bytes")?,
            })
        })
    }

    /// Takes in the files of another manifest, if it was written with the same schema, and returns whether it did.
    pub(crate) fn merge(&mut self, other: Self) -> bool {
        let fits = self.file.schema == other.file.schema;
        if fits {
            self.file.records.extend(other.file.records);
        }
        fits
    }

    /// Writes the manifest again, where a snapshot deletes some of its files.
    ///
    /// # Errors
    /// The problem, in words.
    pub(crate) fn write(
        mut self,
        is_deleted: impl Fn(&str) -> bool,
        snapshot: i64,
    ) -> Result<Written, String> {
        let (mut files, mut rows) = (Counts::default(), Counts::default());
        let mut least: Option<i64> = None;
        for entry in &mut self.file.records {
            let count = record(entry, "data_file").and_then(|file| number(file, "record_count"));
            let count = count.unwrap_or(0);
            if path(entry).is_some_and(&is_deleted) {
                set(entry, "status", Value::Int(DELETED));
                set(entry, "snapshot_id", Value::Long(snapshot));
                files.deleted += 1;
                rows.deleted += count;
            } else {
                files.existing += 1;
                rows.existing += count;
                let sequence_number = number(entry, "sequence_number");
                least = least.into_iter().chain(sequence_number).min();
            }
        }
        Ok(Written {
            bytes: avro::write(&self.file.schema, self.file.header, self.file.records)?,
            files,
            rows,
            min_sequence_number: least,
        })
    }
}

fn path(entry: &Record) -> Option<&str> {
    text(record(entry, "data_file")?, "file_path")
}
