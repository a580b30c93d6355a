//! The comparison of a table with its dataset.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::process::Command;

use serde_json::{Value, json};

use crate::common::{Site, chain};

/// Runs the program with `--check`, and returns its exit code and its report on the notes' table.
fn check(mut program: Command) -> (Option<i32>, Value) {
    let output = program.args(["--check", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tables = report["tables"].as_array().unwrap();
    (output.status.code(), tables.last().unwrap().clone())
}

fn check_all(site: &Site) -> [(Option<i32>, Value); 2] {
    [check(site.program()), check(site.iceberg_program())]
}

#[test]
fn a_published_table_is_sound_also_before_later_files_are_published() {
    let site = Site::new();
    site.append(0, 0..3);
    site.publish().unwrap();
    site.publish_iceberg().unwrap();
    site.append(0, 3..5);
    for (code, report) in check_all(&site) {
        assert_eq!((code, &report["files"]), (Some(0), &json!(1)), "{report}");
        assert_eq!((&report["missing"], &report["resized"]), (&json!([]), &json!([])));
    }
}

#[test]
fn files_that_are_gone_or_have_another_size_are_named() {
    let site = Site::new();
    site.append(0, 0..3);
    site.append(0, 3..5);
    site.append(1, 0..2);
    site.publish().unwrap();
    site.publish_iceberg().unwrap();
    let (gone, changed) = (chain(0).notes_name(3), chain(1).notes_name(0));
    std::fs::remove_file(site.dataset().join(&gone)).unwrap();
    let path = site.dataset().join(&changed);
    let size = std::fs::metadata(&path).unwrap().len();
    std::fs::write(&path, "short").unwrap();
    for (code, report) in check_all(&site) {
        assert_eq!((code, &report["files"]), (Some(4), &json!(3)), "{report}");
        assert_eq!(report["missing"], json!([gone]));
        assert_eq!(
            report["resized"],
            json!([{ "file": changed, "in_table": size, "in_dataset": 5 }])
        );
    }
    let text = site.program().arg("--check").output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains(&format!("missing: {gone}")), "{text}");
}

#[test]
fn a_table_of_notes_that_does_not_exist_is_a_difference_and_is_not_created() {
    let site = Site::new();
    site.append(0, 0..1);
    for (code, report) in check_all(&site) {
        assert_eq!((code, &report["version"]), (Some(4), &Value::Null));
    }
    assert!(!site.iceberg_table().exists() && !site.table().join("_delta_log").exists());
}
