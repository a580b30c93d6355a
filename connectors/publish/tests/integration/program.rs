//! The program: its reports, its exit codes and its errors.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::process::Output;

use crate::common::Site;

#[track_caller]
fn ended(output: &Output, code: i32) -> (String, String) {
    let [out, err] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    (out, err)
}

#[test]
fn a_report_counts_files_rows_and_commits() {
    let site = Site::new();
    site.append(0, 0..7);
    let (out, err) = ended(&site.program().arg("--json").output().unwrap(), 0);
    assert_eq!(err, "");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let notes = &report["tables"][1];
    assert_eq!(
        (&notes["content"], &notes["files"], &notes["rows"]),
        (&"notes".into(), &1.into(), &7.into())
    );
    let (out, _) = ended(&site.program().output().unwrap(), 0);
    assert!(out.contains("notes: 0 files with 0 rows of 1 chains"), "{out}");
}

#[test]
fn a_dataset_that_vacuum_would_delete_is_wrong_usage() {
    let site = Site::new();
    site.append(0, 0..1);
    let visible = site.table().join("data");
    std::fs::rename(site.dataset(), &visible).unwrap();
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_lethe-publish"));
    let (_, err) = ended(
        &program
            .arg(&visible)
            .arg("--delta")
            .arg(site.table())
            .output()
            .unwrap(),
        2,
    );
    assert!(err.contains("VACUUM") && err.contains("_lethe"), "{err}");
    assert!(!site.table().join("_delta_log").exists());
}

#[test]
fn an_empty_folder_is_wrong_usage_and_a_damaged_file_is_not() {
    let site = Site::new();
    let (_, err) = ended(&site.program().output().unwrap(), 2);
    assert!(err.contains("no chains"), "{err}");
    site.append(0, 0..1);
    let name = site.dataset().join(crate::common::chain(0).notes_name(1));
    std::fs::write(name, "canary: not a Parquet file").unwrap();
    let (_, err) = ended(&site.program().output().unwrap(), 1);
    assert!(
        err.contains("00000000000000000001.parquet") && !err.contains("canary"),
        "{err}"
    );
}
