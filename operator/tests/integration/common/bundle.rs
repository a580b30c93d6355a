//! A bundle for tests, and its predictions for the same notes in a stream and as documents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use super::process::Lethe;
use super::{Place, folder_sink, quoted};

/// Spans as (offset of the note, start, end, label), with start and end in bytes.
pub(crate) type Spans = BTreeSet<(i64, u32, u32, String)>;

/// Trains a bundle of one random field on small invented forms.
pub(crate) fn of_field(place: &Place) -> PathBuf {
    let (train, model) = (place.write("home.jsonl", super::gold::gold(30)), place.at("crf"));
    let arguments = ["train", "crf", "--train", train.to_str().unwrap(), "--out"];
    Lethe::new(arguments.into_iter().chain([model.to_str().unwrap()]))
        .end()
        .expect(0);
    let set = lethe_core::LabelSet::of_names("home", &["NAME", "DATE", "CITY"].map(str::to_owned)).unwrap();
    let digest = lethe_learn::Manifest::read(&model).unwrap().digest();
    let page = format!(
        "format = 1\ntokenizer = {}\nlabels = '''\n{}'''\n\n[combine]\nmethod = \"voting\"\nthreshold = 1\ncover_beaten = true\n\n\
         [provenance]\nversion = \"test\"\nseed = 1\ndocuments = 0\ndata = \"\"\n\n[[members]]\nname = \"crf\"\ndigest = {digest:?}\n\n\
         [members.member]\nkind = \"model\"\npath = \"members/crf\"\n",
        lethe_core::TOKENIZER_VERSION,
        set.to_toml()
    );
    let page = place.write("bundle/bundle.toml", page);
    let folder = page.parent().unwrap().to_owned();
    std::fs::create_dir(folder.join("members")).unwrap();
    std::fs::rename(model, folder.join("members/crf")).unwrap();
    folder
}

/// Streams notes of these texts through a bundle; returns the configuration, and the redacted spans from the
/// audit.
pub(crate) fn through_stream(place: &Place, bundle: &Path, texts: &[String]) -> (PathBuf, Spans) {
    let events = texts.iter().enumerate();
    let events = events.map(|(i, text)| serde_json::json!({"note_id": i.to_string(), "text": text}));
    events_through_stream(place, bundle, &events.collect::<Vec<_>>())
}

/// Does the same for note events.
pub(crate) fn events_through_stream(place: &Place, bundle: &Path, events: &[Value]) -> (PathBuf, Spans) {
    let lines = events.iter().map(|event| event.to_string() + "\n");
    let input = place.write("events.jsonl", lines.collect::<String>());
    let out = place.at("out");
    let config = format!(
        "[engine]\nbundle = {}\n\n[source]\nkind = \"jsonl\"\ninput = {}\n\n{}",
        quoted(bundle),
        quoted(&input),
        folder_sink(&out)
    );
    let config = place.write("lethe.toml", config);
    Lethe::through(&config).end().expect(0);
    (config, audited(&out))
}

/// Returns the spans of `lethe annotate` with these arguments for the notes that [`through_stream`] streamed.
pub(crate) fn annotated(place: &Place, arguments: &[&str]) -> Spans {
    let (input, found) = (place.at("events.jsonl"), place.at("found.jsonl"));
    let all = [
        "annotate",
        "--input",
        input.to_str().unwrap(),
        "--offsets",
        "byte",
        "--output",
        found.to_str().unwrap(),
    ];
    Lethe::new(all.iter().chain(arguments)).end().expect(0);
    let mut spans = BTreeSet::new();
    for (row, line) in std::fs::read_to_string(found).unwrap().lines().enumerate() {
        let document: Value = serde_json::from_str(line).unwrap();
        for span in document["spans"].as_array().unwrap() {
            let end = |key: &str| span[key].as_u64().unwrap() as u32;
            spans.insert((
                row as i64,
                end("start"),
                end("end"),
                span["label"].as_str().unwrap().to_owned(),
            ));
        }
    }
    spans
}

/// Returns (offset, start, end, label) of every redacted span from the audit files.
fn audited(folder: &Path) -> Spans {
    let mut spans = BTreeSet::new();
    for path in super::dataset::files(&folder.join("audit")) {
        let file = std::fs::File::open(path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .unwrap()
            .build()
            .unwrap();
        for batch in reader.map(Result::unwrap) {
            let column = |name: &str| batch.column_by_name(name).unwrap();
            let number =
                |name: &str, row| u32::try_from(column(name).as_primitive::<Int64Type>().value(row)).unwrap();
            for row in 0..batch.num_rows() {
                let offset = column("offset").as_primitive::<Int64Type>().value(row);
                let label = column("label").as_string::<i32>().value(row).to_owned();
                assert_eq!(
                    column("scores").as_list::<i32>().value(row).len() as u32,
                    number("votes", row),
                    "one score per vote"
                );
                spans.insert((offset, number("start", row), number("end", row), label));
            }
        }
    }
    spans
}
