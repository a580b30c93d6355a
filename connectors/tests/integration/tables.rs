//! Exported tables of a warehouse: the same rows in every format and from any row on, and reported damage.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray as _;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Fields};
use flate2::Compression;
use flate2::write::GzEncoder;
use lethe_connectors::tables::{Shape, Slab, TableError, Tables, TablesConfig};
use lethe_core::QuarantineCode;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression as Pages, GzipLevel};
use parquet::file::properties::WriterProperties;

const ROWS: usize = 2500;

fn text(row: usize) -> Option<String> {
    (row % 7 != 3).then(|| {
        format!(
            "Note {row}, \"quoted\",\nsecond line; né {}",
            "x".repeat(row % 50)
        )
    })
}

fn table() -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS as i64));
    let texts: ArrayRef = Arc::new((0..ROWS).map(text).collect::<StringArray>());
    RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap()
}

fn parquet(path: &Path, pages: Pages) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(700))
        .set_compression(pages)
        .build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, table().schema(), Some(properties)).unwrap();
    writer.write(&table()).unwrap();
    writer.close().unwrap();
}

fn jsonl() -> Vec<u8> {
    let line = |row: usize| serde_json::json!({"id": row, "text": text(row)}).to_string() + "\n";
    (0..ROWS).map(line).collect::<String>().into_bytes()
}

fn csv() -> Vec<u8> {
    let quoted = |text: Option<String>| text.map(|text| format!("\"{}\"", text.replace('"', "\"\"")));
    let line = |row: usize| format!("{row},{}\r\n", quoted(text(row)).unwrap_or_default());
    format!("\u{feff}id,text\r\n{}", (0..ROWS).map(line).collect::<String>()).into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    // Two members, as written by tools that compress in parallel.
    let (one, other) = bytes.split_at(bytes.len() / 3);
    let pack = |part: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap()
    };
    [pack(one), pack(other)].concat()
}

fn tables(folder: &Path, more: &str, runtime: &tokio::runtime::Runtime) -> Result<Tables, TableError> {
    let columns = if more.contains("[columns]") {
        ""
    } else {
        "[columns]\ntext = [\"text\"]\nkeep = [\"id\"]"
    };
    let config = format!("input = {{ kind = \"folder\", path = {folder:?} }}\n{more}\n{columns}\n");
    let config: TablesConfig = toml::from_str(&config).unwrap();
    Tables::open(&config, runtime.handle().clone())
}

/// An object's name, its shape and its slabs.
type Read = (String, Shape, Vec<Result<Slab, TableError>>);

fn all(tables: &Tables) -> Vec<Read> {
    let found = tables.units(None).unwrap();
    assert!(found.broken.is_empty(), "{:?}", found.broken);
    let read = |unit: &lethe_connectors::tables::Unit| {
        let (shape, slabs) = tables.read(unit, 0).unwrap();
        (unit.object.name.clone(), shape, slabs.collect())
    };
    found.units.iter().map(read).collect()
}

fn texts(shape: &Shape, slabs: &[Slab]) -> Vec<Option<String>> {
    let of = |slab: &Slab| {
        let values = shape.values(&slab.record).remove(0);
        (0..values.len())
            .map(|at| values.text(at).unwrap())
            .collect::<Vec<_>>()
    };
    slabs.iter().flat_map(of).collect()
}

#[test]
fn a_table_is_the_same_whatever_it_is_written_in() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    parquet(&at("a.parquet"), Pages::UNCOMPRESSED);
    parquet(&at("b.parquet"), Pages::SNAPPY);
    parquet(&at("c.parquet"), Pages::GZIP(GzipLevel::default()));
    parquet(&at("d.parquet"), Pages::LZ4_RAW);
    for (name, bytes) in [("e.jsonl", jsonl()), ("f.csv", csv())] {
        std::fs::write(at(name), &bytes).unwrap();
        std::fs::write(at(&format!("{name}.gz")), gzip(&bytes)).unwrap();
        std::fs::write(at(&format!("{name}.zst")), zstd::encode_all(&*bytes, 3).unwrap()).unwrap();
    }
    std::fs::write(at("_SUCCESS"), "").unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let tables = tables(folder.path(), "unit_bytes = 1000000", &runtime).unwrap();
    let found = all(&tables);
    assert_eq!(found.len(), 10);
    for (name, shape, slabs) in found {
        let slabs: Vec<Slab> = slabs.into_iter().collect::<Result<_, _>>().unwrap();
        assert!(slabs.len() >= 3, "{name}: it streams");
        assert_eq!(
            texts(&shape, &slabs),
            (0..ROWS).map(text).collect::<Vec<_>>(),
            "{name}"
        );
        assert!(slabs.iter().all(|slab| slab.bad.is_empty()), "{name}");
        assert!((slabs.last().unwrap().share - 1.0).abs() < 1e-9, "{name}");
    }
}

#[test]
fn a_partition_without_a_value_is_a_null_in_every_format() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (known, none) = ("ward=4%20West", "ward=__HIVE_DEFAULT_PARTITION__");
    for partition in [known, none] {
        let partition = folder.path().join(partition);
        std::fs::create_dir(&partition).unwrap();
        parquet(&partition.join("a.parquet"), Pages::UNCOMPRESSED);
        std::fs::write(partition.join("b.jsonl"), jsonl()).unwrap();
        std::fs::write(partition.join("c.csv"), csv()).unwrap();
    }
    let columns = "[columns]\ntext = [\"text\"]\nkeep = [\"id\", \"ward\"]";
    let read = all(&tables(folder.path(), columns, &runtime).unwrap());
    assert_eq!(read.len(), 6);
    for (name, _, slabs) in read {
        let ward = name.starts_with(known).then_some("4 West");
        for slab in slabs {
            let slab = slab.unwrap();
            let column = slab.record.column_by_name("ward").unwrap();
            let wards = column.as_string_opt::<i64>().unwrap();
            assert!(wards.iter().all(|found| found == ward), "{name}");
        }
    }
}

#[test]
fn reading_on_from_the_start_of_a_slab_gives_the_slabs_that_follow() {
    let folder = tempfile::tempdir().unwrap();
    parquet(&folder.path().join("a.parquet"), Pages::SNAPPY);
    std::fs::write(folder.path().join("b.jsonl.gz"), gzip(&jsonl())).unwrap();
    std::fs::write(folder.path().join("c.csv"), csv()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let tables = tables(folder.path(), "unit_bytes = 20000", &runtime).unwrap();
    let units = tables.units(None).unwrap().units;
    assert!(units.len() > 3, "the Parquet file is cut into its row groups");
    for unit in units {
        let read = |from| -> Vec<Slab> {
            tables
                .read(&unit, from)
                .unwrap()
                .1
                .collect::<Result<_, _>>()
                .unwrap()
        };
        let whole = read(0);
        let mut from = 0;
        for (at, slab) in whole.iter().enumerate() {
            let rest = read(from);
            assert_eq!(rest.len(), whole.len() - at);
            for (one, other) in rest.iter().zip(&whole[at..]) {
                assert_eq!(
                    (one.first, &one.record),
                    (other.first, &other.record),
                    "{}",
                    unit.object.name
                );
            }
            from += slab.record.num_rows() as u64;
        }
        assert!(read(from).is_empty());
    }
}

/// Returns rows with a list of notes each: none, one, two; and a struct that is null in some.
fn nested() -> RecordBatch {
    let note = Fields::from(vec![
        Field::new("kind", DataType::Utf8, true),
        Field::new("text", DataType::Utf8, true),
        Field::new("secret", DataType::Utf8, true),
    ]);
    let mut notes = ListBuilder::new(StructBuilder::from_fields(note, 8));
    let person = Fields::from(vec![
        Field::new("mrn", DataType::Int64, true),
        Field::new("zip", DataType::Utf8, true),
    ]);
    let mut people = StructBuilder::from_fields(person, 8);
    for row in 0..6_i64 {
        for note in 0..row % 3 {
            let one = notes.values();
            one.field_builder::<StringBuilder>(0).unwrap().append_value("hp");
            let text = format!("row {row} note {note}");
            one.field_builder::<StringBuilder>(1)
                .unwrap()
                .append_option((row != 4).then_some(text));
            one.field_builder::<StringBuilder>(2)
                .unwrap()
                .append_value("hush");
            one.append(true);
        }
        notes.append(row != 3);
        people
            .field_builder::<Int64Builder>(0)
            .unwrap()
            .append_value(100 + row);
        people
            .field_builder::<StringBuilder>(1)
            .unwrap()
            .append_value("55401");
        people.append(row != 2);
    }
    let notes: ArrayRef = Arc::new(notes.finish());
    let people: ArrayRef = Arc::new(people.finish());
    RecordBatch::try_from_iter([("notes", notes), ("person", people)]).unwrap()
}

#[test]
fn nested_values_are_found_with_their_rows_and_put_back_in_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ward=4%20West");
    std::fs::create_dir(&path).unwrap();
    let file = std::fs::File::create(path.join("n.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, nested().schema(), None).unwrap();
    writer.write(&nested()).unwrap();
    writer.close().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let columns = "[columns]\ntext = [\"notes.text\"]\nkeep = [\"notes.kind\", \"ward\", \"person.zip\"]\nidentifiers = { \"person.mrn\" = \"MEDICALRECORD\" }\npatient_id = \"person.mrn\"";
    let tables = tables(folder.path(), columns, &runtime).unwrap();
    let (_, shape, mut slabs) = all(&tables).remove(0);
    let slab = slabs.remove(0).unwrap();
    let paths: Vec<_> = shape.leaves().iter().map(|leaf| leaf.path.as_str()).collect();
    assert_eq!(paths, ["person.mrn", "notes.text"]);
    let values = shape.values(&slab.record);
    let told = |leaf: usize| -> Vec<(usize, String)> {
        let values = &values[leaf];
        (0..values.len())
            .filter_map(|at| Some((values.row(at)?, values.text(at).unwrap()?)))
            .collect()
    };
    let mrn = |row: usize| (row, format!("{}", 100 + row));
    assert_eq!(told(0), [0, 1, 3, 4, 5].map(mrn), "the person of row 2 is null");
    let note = |(row, note): (usize, usize)| (row, format!("row {row} note {note}"));
    assert_eq!(told(1), [(1, 0), (2, 0), (2, 1), (5, 0), (5, 1)].map(note));
    assert_eq!(
        shape.event(&slab.record, 5).unwrap().patient_id.unwrap().expose(),
        "105"
    );
    assert!(shape.event(&slab.record, 2).unwrap().patient_id.is_none());

    let new: Vec<ArrayRef> = values
        .iter()
        .map(|values| {
            let upper = |at| values.text(at).unwrap().map(|text: String| text.to_uppercase());
            Arc::new((0..values.len()).map(upper).collect::<StringArray>()) as ArrayRef
        })
        .collect();
    let (fields, columns) = shape.with(&slab.record, &new).unwrap();
    let names: Vec<_> = fields.iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["notes", "ward", "person"]);
    assert_eq!(columns[1].as_string::<i64>().value(0), "4 West");
    let list = columns[0].as_list::<i32>();
    let lengths: Vec<_> = (0..6).map(|row| list.value_length(row)).collect();
    assert_eq!(lengths, [0, 1, 2, 0, 1, 2]);
    let second = list.value(5);
    let second = second.as_struct();
    assert_eq!(second.column_names(), ["kind", "text"], "nobody named `secret`");
    assert_eq!(
        second.column_by_name("text").unwrap().as_string::<i32>().value(1),
        "ROW 5 NOTE 1"
    );
    assert_eq!(columns[2].as_struct().column_names(), ["mrn", "zip"]);
    assert!(arrow_array::Array::is_null(&columns[2], 2));
}

#[test]
fn bad_rows_are_told_by_their_place_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let jsonl = b"{\"id\":1,\"text\":\"a\"}\n\nnot json\n{\"id\":2,\"text\":7}\n[1]\n\xff\n{\"id\":3}\n";
    std::fs::write(folder.path().join("a.jsonl"), jsonl).unwrap();
    let csv = b"id,text\n1,a\n2\n3,\xff\n4,d\n";
    std::fs::write(folder.path().join("b.csv"), csv).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let tables = tables(folder.path(), "", &runtime).unwrap();
    let found = all(&tables);
    let bad = |at: usize| found[at].2[0].as_ref().unwrap().bad.clone();
    use QuarantineCode::{InvalidPayload, InvalidUtf8};
    assert_eq!(
        bad(0),
        [
            (1, InvalidPayload),
            (2, InvalidPayload),
            (3, InvalidPayload),
            (4, InvalidUtf8)
        ]
    );
    assert_eq!(bad(1), [(1, InvalidPayload), (2, InvalidUtf8)]);
    let slab = found[0].2[0].as_ref().unwrap();
    assert_eq!(slab.record.num_rows(), 6, "a blank line is no row");
}

#[test]
fn what_cannot_be_read_is_told_once_with_its_place_and_nothing_of_it() {
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("a.parquet", b"PAR1 no Parquet at all PAR1".to_vec(), "a.parquet"),
        (
            "b.jsonl.gz",
            gzip(&jsonl())[..2000].to_vec(),
            "ends in the middle",
        ),
        (
            "c.csv.zst",
            zstd::encode_all(&*csv(), 3).unwrap()[..900].to_vec(),
            "c.csv.zst",
        ),
        (
            "d.csv",
            b"1,hush\n2,hush\n".to_vec(),
            "does not exist; the first line has 2 columns and must be the header",
        ),
        ("e.jsonl.gz", b"hush hush hush hush".to_vec(), "e.jsonl.gz"),
        (
            "f.csv",
            format!("id,text\n1,\"{}", "hush\n".repeat(400_000)).into_bytes(),
            "unclosed quote",
        ),
    ];
    for (name, bytes, why) in cases {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let tables = tables(folder.path(), "max_note_bytes = 1000", &runtime).unwrap();
        let units = tables.units(None).unwrap().units;
        let error = match tables.read(&units[0], 0) {
            Err(error) => error,
            Ok((_, slabs)) => {
                let mut ends: Vec<_> = slabs.filter_map(Result::err).collect();
                assert_eq!(ends.len(), 1, "{name}");
                ends.remove(0)
            }
        };
        let told = error.to_string();
        assert!(
            error.is_permanent() && told.contains(name) && told.contains(why),
            "{told}"
        );
        assert!(!told.contains("hush"), "{told}");
    }
}

#[test]
fn a_folder_without_tables_and_an_object_that_changes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("readme.md"), "no table").unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let tables = tables(folder.path(), "", &runtime).unwrap();
    assert!(matches!(tables.units(None), Err(TableError::NoTables { .. })));
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "id,text\n1,a\n").unwrap();
    let found = tables.units(None).unwrap();
    let units = found.units;
    assert_eq!(found.others, 1);
    tables.check(&units[0]).unwrap();
    std::fs::write(&path, "id,text\n1,a\n2,b\n").unwrap();
    let error = tables.check(&units[0]).unwrap_err();
    assert!(
        !error.is_permanent() && error.to_string().contains("a.csv: has changed"),
        "{error}"
    );
}
