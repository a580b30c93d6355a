//! Iceberg tables in a folder, read back by pyiceberg.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use arrow_array::{StringArray, UInt32Array};
use serde_json::Value;

use crate::common::{Site, TOPIC, chain};
use crate::erasure::{complete, record, replace};
use crate::schema::with_column;

/// Runs `iceberg.py`, and returns what it prints.
pub(crate) fn pyiceberg(arguments: &[&str]) -> Value {
    let python = std::env::var("LETHE_TEST_PYTHON").expect(
        "LETHE_TEST_PYTHON is not set: run this test with scripts/test, or under scripts/with-servers",
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/iceberg.py");
    let output = Command::new(python).arg(script).args(arguments).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    match output.stdout.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&output.stdout).unwrap(),
    }
}

/// Returns the rows of chains whose ends these are, as pyiceberg reads them. Each note has one redaction.
pub(crate) fn due(chains: &[(i32, i64)]) -> Value {
    let rows = chains.iter().flat_map(|&(partition, end)| {
        (0..end).map(move |offset| serde_json::json!([TOPIC, partition, offset, 1]))
    });
    rows.collect()
}

fn rows(site: &Site) -> Value {
    pyiceberg(&["rows", site.iceberg_table().to_str().unwrap()])[0].clone()
}

/// Returns the newest metadata of the table.
fn metadata(site: &Site) -> Value {
    let folder = site.iceberg_table().join("metadata");
    let hint = std::fs::read_to_string(folder.join("version-hint.text")).unwrap();
    serde_json::from_slice(&std::fs::read(folder.join(format!("v{hint}.metadata.json"))).unwrap()).unwrap()
}

/// Changes the newest metadata of the table as another program could.
fn change(site: &Site, change: impl FnOnce(&mut Value)) {
    let folder = site.iceberg_table().join("metadata");
    let hint = std::fs::read_to_string(folder.join("version-hint.text")).unwrap();
    let mut changed = metadata(site);
    change(&mut changed);
    std::fs::write(folder.join(format!("v{hint}.metadata.json")), changed.to_string()).unwrap();
}

#[test]
fn a_table_has_each_row_once_and_no_value_of_a_note_in_its_metadata() {
    let site = Site::new();
    site.append(0, 0..3);
    site.append(1, 0..2);
    let report = site.publish_iceberg().unwrap();
    assert_eq!((report.tables[0].files, report.tables[0].rows), (2, 5));
    site.append(0, 3..4);
    assert_eq!(site.publish_iceberg().unwrap().tables[0].files, 1);
    let again = site.publish_iceberg().unwrap();
    assert_eq!((again.tables[0].commits, again.tables[0].version), (0, Some(2)));
    assert_eq!(rows(&site), due(&[(0, 4), (1, 2)]));
    for file in std::fs::read_dir(site.iceberg_table().join("metadata")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("canary") && !text.contains("Lindqvist"));
    }
    assert_eq!(metadata(&site)["properties"]["gc.enabled"], "false");
}

#[test]
fn files_of_before_and_after_an_upgrade_are_read_by_names_and_by_ids() {
    let site = Site::new();
    site.append(0, 0..3);
    // A file of an earlier version has unsigned counts, and no ids.
    with_column(&site, 0, "redactions", |rows| {
        Arc::new(UInt32Array::from(vec![1; rows]))
    });
    site.publish_iceberg().unwrap();
    site.append(0, 3..5);
    assert_eq!(
        site.publish_iceberg().unwrap().tables[0].columns,
        Vec::<String>::new()
    );
    assert_eq!(rows(&site), due(&[(0, 5)]));
}

#[test]
fn a_column_without_an_id_is_refused_and_nothing_is_committed() {
    let site = Site::new();
    site.append(0, 0..3);
    with_column(&site, 0, "mine", |rows| {
        Arc::new(StringArray::from(vec!["canary"; rows]))
    });
    let error = site.publish_iceberg().unwrap_err().to_string();
    assert!(error.contains("`mine`") && !error.contains("canary"), "{error}");
    assert!(!site.iceberg_table().join("metadata").exists());
}

#[test]
fn a_column_that_the_table_lacks_is_added_and_one_that_was_dropped_is_not() {
    let site = Site::new();
    site.append(0, 0..3);
    site.publish_iceberg().unwrap();
    // As if an earlier version, which had no reviews, had created the table.
    change(&site, |metadata| {
        let fields = metadata["schemas"][0]["fields"].as_array_mut().unwrap();
        fields.retain(|field| field["name"] != "review");
    });
    site.append(0, 3..5);
    assert_eq!(site.publish_iceberg().unwrap().tables[0].columns, ["review"]);
    let after = metadata(&site);
    let schemas = after["schemas"].as_array().unwrap();
    assert_eq!((schemas.len(), &after["current-schema-id"]), (2, &1.into()));
    let last = schemas[1]["fields"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["id"], &last["name"]), (&17.into(), &"review".into()));
    assert_eq!(rows(&site), due(&[(0, 5)]));
    // Somebody drops it again.
    change(&site, |metadata| metadata["current-schema-id"] = 0.into());
    site.append(0, 5..6);
    assert_eq!(
        site.publish_iceberg().unwrap().tables[0].columns,
        Vec::<String>::new()
    );
    assert_eq!(rows(&site), due(&[(0, 6)]));
}

#[test]
fn a_table_with_a_setting_that_lethe_does_not_write_to_is_refused() {
    let site = Site::new();
    site.append(0, 0..3);
    site.publish_iceberg().unwrap();
    let before = metadata(&site);
    let partition =
        serde_json::json!({ "name": "topic", "source-id": 1, "field-id": 1000, "transform": "identity" });
    for (path, value, named) in [
        ("/format-version", Value::from(3), "format version 3"),
        ("/properties/gc.enabled", "true".into(), "gc.enabled"),
        (
            "/partition-specs/0/fields",
            serde_json::json!([partition]),
            "partitioned",
        ),
    ] {
        change(&site, |metadata| *metadata.pointer_mut(path).unwrap() = value);
        let error = site.publish_iceberg().unwrap_err();
        assert!(error.is_usage() && error.to_string().contains(named), "{error}");
        change(&site, |metadata| metadata.clone_from(&before));
    }
    site.publish_iceberg().unwrap();
}

#[test]
fn a_replaced_file_gets_its_new_size() {
    let site = Site::new();
    site.append(0, 0..3);
    site.append(0, 3..5);
    site.publish_iceberg().unwrap();
    site.append(0, 5..6);
    site.publish_iceberg().unwrap();
    let name = chain(0).notes_name(3);
    let size = replace(&site, &name);
    record(&site, 0, &[&name]);
    complete(&site, 0);
    let report = site.publish_iceberg().unwrap();
    assert_eq!((report.tables[0].renewed, report.tables[0].commits), (1, 1));
    let files = pyiceberg(&["files", site.iceberg_table().to_str().unwrap()]);
    let files = files.as_array().unwrap();
    assert_eq!(files.len(), 3);
    let found = files
        .iter()
        .find(|file| file[0].as_str().unwrap().ends_with(&name))
        .unwrap();
    assert_eq!((&found[1], &found[2]), (&size.into(), &2.into()));
    assert_eq!(rows(&site), due(&[(0, 6)]));
    assert_eq!(site.publish_iceberg().unwrap().tables[0].commits, 0);
}

#[test]
fn many_small_manifests_are_merged() {
    let site = Site::new();
    for file in 0..103 {
        site.append(0, file..file + 1);
        site.publish_iceberg().unwrap();
    }
    assert_eq!(rows(&site), due(&[(0, 103)]));
    let metadata = metadata(&site);
    let last = metadata["snapshots"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["summary"]["total-data-files"], "103");
    let list = last["manifest-list"]
        .as_str()
        .unwrap()
        .strip_prefix("file://")
        .unwrap()
        .to_owned();
    let size = std::fs::metadata(list).unwrap().len();
    // The list of a hundred manifests has more than ten thousand bytes.
    assert!(size < 3_000, "{size}");
}
