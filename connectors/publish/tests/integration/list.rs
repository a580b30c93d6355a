//! The files of a version, and versions that a reader of the files alone would misread.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{Site, chain};

/// Lists the files of a version of the Delta table in a folder; or the error.
fn list(folder: &Path, version: i64) -> Result<Vec<String>, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_lethe-publish"))
        .arg(folder)
        .arg("--delta")
        .arg(folder)
        .arg(format!("--list={version}"))
        .env_remove("LETHE_LOG")
        .output()
        .unwrap();
    match output.status.code() {
        Some(0) => {
            let listing: Value = serde_json::from_slice(&output.stdout).unwrap();
            let files = listing["files"].as_array().unwrap();
            Ok(files
                .iter()
                .map(|file| file["name"].as_str().unwrap().to_owned())
                .collect())
        }
        code => {
            assert_eq!(code, Some(2));
            Err(String::from_utf8(output.stderr).unwrap())
        }
    }
}

/// Writes the log of a table with one file, as another program would.
fn table(folder: &Path, features: &[&str], properties: Value, partitions: &[&str], add: Value) {
    let log = folder.join("_delta_log");
    std::fs::create_dir_all(&log).unwrap();
    let schema = json!({ "type": "struct", "fields": [
        { "name": "note", "type": "string", "nullable": true, "metadata": {} },
        { "name": "ward", "type": "string", "nullable": true, "metadata": {} },
    ] });
    let mut file = json!({
        "path": "part-0.parquet", "partitionValues": {}, "size": 7, "modificationTime": 1, "dataChange": true,
    });
    for (key, value) in add.as_object().unwrap() {
        file[key] = value.clone();
    }
    let lines = [
        json!({ "protocol": {
            "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features,
        } }),
        json!({ "metaData": {
            "id": "6d3d9b0e-0f0a-4b0e-9d6c-6d1d2f5c9a11", "format": { "provider": "parquet", "options": {} },
            "schemaString": schema.to_string(), "partitionColumns": partitions, "configuration": properties,
        } }),
        json!({ "add": file }),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(log.join("00000000000000000000.json"), text).unwrap();
}

#[test]
fn a_version_names_the_files_that_it_had() {
    let site = Site::new();
    site.append(0, 0..3);
    site.publish().unwrap();
    site.append(0, 3..5);
    site.publish().unwrap();
    let name = |offset| format!("_lethe/{}", chain(0).notes_name(offset));
    assert_eq!(list(&site.table(), 1).unwrap(), [name(0)]);
    assert_eq!(list(&site.table(), 2).unwrap(), [name(0), name(3)]);
    let error = list(&site.table(), 3).unwrap_err();
    assert!(
        error.contains("version 3") && error.contains("the newest is 2"),
        "{error}"
    );
}

#[test]
fn deleted_rows_renamed_columns_and_partitions_outside_of_names_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let refused = |name: &str, features: &[&str], properties: Value, partitions: &[&str], add: Value| {
        let folder = place.path().join(name);
        table(&folder, features, properties, partitions, add);
        list(&folder, 0)
    };
    let plain = refused("plain", &[], json!({}), &[], json!({}));
    assert_eq!(plain.unwrap(), ["part-0.parquet"]);

    let deleted = json!({ "deletionVector": {
        "storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40, "cardinality": 6,
    } });
    let error = refused("deleted", &["deletionVectors"], json!({}), &[], deleted).unwrap_err();
    assert!(
        error.contains("deleted rows") && error.contains("PURGE"),
        "{error}"
    );

    let ward = json!({ "path": "ward=4%2520West/part-0.parquet", "partitionValues": { "ward": "4 West" } });
    let named = refused("named", &[], json!({}), &["ward"], ward);
    assert_eq!(named.unwrap(), ["ward=4%20West/part-0.parquet"]);
    let ward = json!({ "path": "Xy/part-0.parquet", "partitionValues": { "ward": "4 West" } });
    let error = refused("unnamed", &[], json!({}), &["ward"], ward).unwrap_err();
    assert!(error.contains("partitions"), "{error}");

    let outside = json!({ "path": "file:///elsewhere/part-0.parquet" });
    let error = refused("outside", &[], json!({}), &[], outside).unwrap_err();
    assert!(error.contains("outside"), "{error}");
}
