//! `lethe inspect --against-topic` on a real Kafka: the written dataset agrees, and each kind of damage is
//! named by its offset.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{Array as _, RecordBatch, StringArray};
use common::dataset::{all_files, read_parquet};
use common::kafka::Topic;
use common::notes::{event, planted, text};
use common::process::{Ended, Lethe};
use common::{Place, folder_sink};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use serde_json::Value;

const NOTES: usize = 60;
const ENGINE: &str = "[engine]\nmembers = [{ kind = \"known\" }]\n";

fn inspect(config: &Path, out: &Path, more: &[&str]) -> Ended {
    let start = [
        "inspect".as_ref(),
        out.as_os_str(),
        "-c".as_ref(),
        config.as_os_str(),
    ];
    let more = ["--quick", "--against-topic"]
        .iter()
        .chain(more)
        .map(std::ffi::OsStr::new);
    Lethe::new(start.into_iter().chain(more)).end()
}

fn topic_report(config: &Path, out: &Path, code: i32) -> Value {
    let ended = inspect(config, out, &["--json"]).expect(code);
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    for number in 0..NOTES {
        for planted in planted(number) {
            assert!(
                !ended.out.contains(&planted) && !ended.err.contains(&planted),
                "an identifier came out"
            );
        }
    }
    report["topic"].clone()
}

/// Rewrites a notes file with other rows and matching counts.
fn rewrite(file: &Path, change: impl FnOnce(RecordBatch) -> RecordBatch) {
    let (mut footer, batches) = read_parquet(file).unwrap();
    let schema = batches[0].schema();
    let whole = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
    let rows = change(whole);
    let number = |key: &str| footer[key].parse::<i64>().unwrap();
    let span = number("lethe.next_offset") - number("lethe.first_offset");
    let length = rows.num_rows() as i64;
    footer.insert("lethe.rows".into(), length.to_string());
    footer.insert("lethe.notes".into(), length.to_string());
    footer.insert("lethe.skipped".into(), (span - length).to_string());
    let mut writer = ArrowWriter::try_new(File::create(file).unwrap(), schema, None).unwrap();
    writer.write(&rows).unwrap();
    for (key, value) in footer.into_iter().filter(|(key, _)| key.starts_with("lethe.")) {
        writer.append_key_value_metadata(KeyValue::new(key, value));
    }
    writer.close().unwrap();
}

fn first_file(out: &Path) -> PathBuf {
    all_files(&out.join("notes")).remove(0)
}

/// Returns the rows without one.
fn without(rows: &RecordBatch, at: usize) -> RecordBatch {
    let rest = rows.slice(at + 1, rows.num_rows() - at - 1);
    arrow_select::concat::concat_batches(&rows.schema(), [&rows.slice(0, at), &rest]).unwrap()
}

/// Returns the rows with another text in one of them.
fn with_text(rows: &RecordBatch, at: usize, text: &str) -> RecordBatch {
    let old = rows["text"].as_string::<i32>();
    let texts = (0..old.len()).map(|row| match row == at {
        true => Some(text.to_owned()),
        false => old.is_valid(row).then(|| old.value(row).to_owned()),
    });
    let mut columns = rows.columns().to_vec();
    columns[rows.schema().index_of("text").unwrap()] = Arc::new(StringArray::from_iter(texts));
    RecordBatch::try_new(rows.schema(), columns).unwrap()
}

#[test]
fn a_dataset_agrees_with_its_topic_and_each_kind_of_damage_is_named() {
    let place = Place::new();
    let topic = Topic::new("against", 2);
    topic.fill((0..NOTES).map(event));
    let out = place.at("out");
    let config = place.write(
        "lethe.toml",
        format!("{}{ENGINE}{}", topic.source(), folder_sink(&out)),
    );
    Lethe::new([
        "run".as_ref(),
        "-c".as_ref(),
        config.as_os_str(),
        "--until-end".as_ref(),
    ])
    .end()
    .expect(0);

    let report = topic_report(&config, &out, 0);
    assert_eq!(report["verdict"], "intact");
    for partition in report["partitions"].as_array().unwrap() {
        assert_eq!(
            (&partition["records"], &partition["texts"]),
            (&30.into(), &30.into())
        );
        assert_eq!(
            (&partition["matched"], &partition["pending"]),
            (&30.into(), &0.into())
        );
    }
    let output = inspect(&config, &out, &[]).expect(0).out;
    assert!(
        output.contains("the dataset agrees with the topic: 0 lost, 0 duplicated"),
        "{output}"
    );
    // No group was joined: the run's own group has its earlier offsets.
    let committed = topic.committed(&format!("{}-group", topic.name));
    assert!(
        committed.values().all(|offset| *offset == Some(30)),
        "{committed:?}"
    );

    let file = first_file(&out);
    let sound = std::fs::read(&file).unwrap();
    let damaged = |change: &dyn Fn(RecordBatch) -> RecordBatch| {
        rewrite(&file, change);
        let report = topic_report(&config, &out, 4);
        std::fs::write(&file, &sound).unwrap();
        assert_eq!(report["verdict"], "not_intact");
        report["partitions"][0].clone()
    };

    let found = damaged(&|rows| without(&rows, 3));
    assert_eq!(
        (&found["lost"]["count"], &found["lost"]["at"][0]["from"]),
        (&1.into(), &3.into())
    );

    let found = damaged(&|rows| {
        let short = without(&rows, 3);
        arrow_select::concat::concat_batches(&rows.schema(), [&short, &short.slice(5, 1)]).unwrap()
    });
    assert_eq!(
        (&found["lost"]["count"], &found["duplicated"]["count"]),
        (&1.into(), &1.into())
    );
    assert_eq!(found["duplicated"]["at"][0]["from"], 6);

    let found = damaged(&|rows| {
        let (one, other) = (rows.slice(0, 10), rows.slice(10, rows.num_rows() - 10));
        arrow_select::concat::concat_batches(&rows.schema(), [&other, &one]).unwrap()
    });
    assert_eq!(
        (&found["reordered"]["count"], &found["lost"]["count"]),
        (&10.into(), &0.into())
    );

    let found = damaged(&|rows| {
        let offsets = rows["offset"].as_primitive::<Int64Type>();
        let row = offsets.values().iter().position(|&offset| offset == 4).unwrap();
        let number = 4 * 2;
        let [_, _, _, name] = planted(number);
        let redacted = rows["text"].as_string::<i32>().value(row).to_owned();
        assert!(text(number).contains(&name) && !redacted.contains(&name));
        let (before, rest) = redacted.split_once("Mr. [").unwrap();
        let (_, after) = rest.split_once(']').unwrap();
        with_text(&rows, row, &format!("{before}Mr. {name}{after}"))
    });
    assert_eq!(found["half_redacted"]["count"], 1, "{found}");
    assert_eq!(found["half_redacted"]["at"][0]["from"], 4);

    // Later notes are not written yet, which is not a loss.
    topic.fill((0..4).map(event));
    let report = topic_report(&config, &out, 0);
    assert_eq!(report["partitions"][0]["pending"], 2);

    // The dataset of another topic.
    let other = Topic::new("against-other", 1);
    other.fill((100..110).map(event));
    let wrong = place.write("wrong.toml", format!("{}{}", other.source(), folder_sink(&out)));
    let report = topic_report(&wrong, &out, 0);
    assert_eq!(report["other_chains"].as_array().unwrap().len(), 2);
    assert_eq!(report["partitions"][0]["pending"], 10);
}

#[test]
fn a_comparison_needs_a_topic() {
    let place = Place::new();
    let out = place.at("out");
    std::fs::create_dir_all(&out).unwrap();
    let source = format!(
        "[source]\nkind = \"files\"\ninput = {:?}\n",
        out.to_str().unwrap()
    );
    let config = place.write("lethe.toml", format!("{source}{}", folder_sink(&out)));
    let output = inspect(&config, &out, &[]).expect(2).err;
    assert!(output.contains("kind \"kafka\""), "{output}");
}
