//! Tables of notes to backfill, and an independent reader of the output.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{Array as _, ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use super::dataset::{all_files, read_parquet};
use super::notes::{id, planted, text};
use super::process::Lethe;
use super::{Place, quoted};

/// One cheap member: most of these tests check rows.
pub(crate) const ENGINE: &str = "[engine]\nmembers = [{ kind = \"known\" }, { kind = \"pattern\" }]\n";
/// The roles of a table's columns.
pub(crate) const COLUMNS: &str = "[backfill.columns]\ntext = [\"text\"]\nkeep = [\"ward\", \"note_id\"]\nnote_id = \"note_id\"\nidentifiers = { mrn = \
                       \"MEDICALRECORD\" }\nknown = { patient = [\"name\"], email = [\"email\"] }\n";

/// Writes a table of notes, starting at `from`, in row groups of 100.
pub(crate) fn table(path: &Path, from: usize, count: usize) {
    let numbers = from..from + count;
    let strings = |of: fn(usize) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(numbers.clone().map(of)))
    };
    let record = RecordBatch::try_from_iter([
        ("note_id", strings(id)),
        ("mrn", strings(|number| planted(number)[2].clone())),
        ("name", strings(|number| planted(number)[3].clone())),
        ("email", strings(|number| planted(number)[1].clone())),
        ("ward", strings(|number| format!("ward {}", number % 5))),
        (
            "version",
            Arc::new(Int64Array::from_iter_values(
                numbers.clone().map(|number| number as i64),
            )),
        ),
        ("text", strings(text)),
    ])
    .unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(100))
        .build();
    let mut writer = ArrowWriter::try_new(
        std::fs::File::create(path).unwrap(),
        record.schema(),
        Some(properties),
    )
    .unwrap();
    writer.write(&record).unwrap();
    writer.close().unwrap();
}

/// Writes a configuration that reads a folder, with small units and parts.
pub(crate) fn config(place: &Place, name: &str, input: &Path, sink: &str, more: &str) -> PathBuf {
    let backfill = format!(
        "[backfill]\ninput = {{ kind = \"folder\", path = {} }}\nunit_bytes = 20000\npart_bytes = 30000\n",
        quoted(input)
    );
    let columns = if more.contains("[backfill.columns]") {
        ""
    } else {
        COLUMNS
    };
    let engine = if more.contains("[engine]") { "" } else { ENGINE };
    place.write(name, format!("{backfill}{columns}{engine}{sink}{more}"))
}

/// Returns `lethe backfill -c CONFIG` with more arguments.
pub(crate) fn backfill(config: &Path, more: &[&str]) -> Lethe {
    let arguments = [OsStr::new("backfill"), OsStr::new("-c"), config.as_os_str()];
    Lethe::new(arguments.into_iter().chain(more.iter().map(OsStr::new)))
}

/// Every row of the output: object and row, to kind, error, ward, mrn and text.
pub(crate) type Rows = BTreeMap<
    (String, i64),
    (
        String,
        Option<String>,
        Option<String>,
        Option<String>,
        Option<String>,
    ),
>;

/// Reads the output.
///
/// # Panics
/// If a row is duplicated.
pub(crate) fn rows(folder: &Path) -> Rows {
    let mut all = Rows::new();
    for path in all_files(&folder.join("rows")) {
        for batch in read_parquet(&path).unwrap().1 {
            let strings = |name: &str| batch.column_by_name(name).unwrap().as_string::<i32>().clone();
            let either = |name: &str, row: usize| {
                let column = batch.column_by_name(name).unwrap();
                let value = match column.as_string_opt::<i64>() {
                    Some(column) => column.value(row),
                    None => column.as_string::<i32>().value(row),
                };
                column.is_valid(row).then(|| value.to_owned())
            };
            let (object, kind, error) = (
                strings("lethe_object"),
                strings("lethe_kind"),
                strings("lethe_error"),
            );
            let numbers = batch
                .column_by_name("lethe_row")
                .unwrap()
                .as_primitive::<Int64Type>();
            for row in 0..batch.num_rows() {
                let place = (object.value(row).to_owned(), numbers.value(row));
                let valid = |column: &StringArray| column.is_valid(row).then(|| column.value(row).to_owned());
                let what = (
                    kind.value(row).to_owned(),
                    valid(&error),
                    either("ward", row),
                    valid(&strings("mrn")),
                    valid(&strings("text")),
                );
                assert_eq!(all.insert(place.clone(), what), None, "{place:?} is there twice");
            }
        }
    }
    all
}

/// Reads the manifest of all shards.
pub(crate) fn manifest(folder: &Path) -> serde_json::Value {
    let whole: Vec<_> = std::fs::read_dir(folder.join("manifest"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    assert_eq!(whole.len(), 1, "{whole:?}");
    serde_json::from_slice(&std::fs::read(&whole[0]).unwrap()).unwrap()
}

/// Reads names and bytes of all files.
pub(crate) fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let name = |path: &Path| path.strip_prefix(folder).unwrap().to_owned();
    let files = all_files(folder)
        .into_iter()
        .filter(|path| !path.to_string_lossy().contains("/.lethe/"));
    files
        .map(|path| (name(&path), std::fs::read(&path).unwrap()))
        .collect()
}
