//! An erasure replaces files that a table has.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use bytes::Bytes;
use lethe_connectors::store::{Object, StoreError};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::common::{Site, chain};

const DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Replaces a file with the same rows in another encoding, so that it has another size; returns the new size.
pub(crate) fn replace(site: &Site, name: &str) -> u64 {
    site.runtime.block_on(async {
        let reader = ParquetRecordBatchReaderBuilder::try_new(site.store.read(name).await.unwrap()).unwrap();
        let pairs = reader
            .metadata()
            .file_metadata()
            .key_value_metadata()
            .cloned()
            .unwrap();
        let batch = reader.build().unwrap().next().unwrap().unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        let pairs = pairs.into_iter().filter(|pair| pair.key.starts_with("lethe."));
        pairs.for_each(|pair| writer.append_key_value_metadata(pair));
        let Object { version, .. } = site.store.look(name).await.unwrap();
        let bytes = Bytes::from(writer.into_inner().unwrap());
        let size = bytes.len() as u64;
        site.store.replace(name, bytes, &version).await.unwrap();
        size
    })
}

fn create(site: &Site, name: &str, value: &serde_json::Value) {
    let created: Result<(), StoreError> = site
        .runtime
        .block_on(site.store.create(name, Bytes::from(value.to_string())));
    created.unwrap();
}

pub(crate) fn record(site: &Site, number: u32, files: &[&str]) {
    let files: Vec<_> = files
        .iter()
        .map(|path| {
            serde_json::json!({ "path": path, "before": DIGEST, "after": DIGEST, "offsets": [], "audit_rows": 0,
                                "audit_fields": 0 })
        })
        .collect();
    let value = serde_json::json!({
        "format": 1, "number": number, "begun_at": "2026-01-01T00:00:00Z", "program": "0.1.0", "reason": "test",
        "previous": null, "zstd_level": 3, "rows": 0, "vault": [], "files": files,
    });
    create(site, &format!("erased/{number:06}.json"), &value);
}

pub(crate) fn complete(site: &Site, number: u32) {
    create(
        site,
        &format!("erased/{number:06}-done.json"),
        &serde_json::json!({}),
    );
}

/// Returns the size of a file in the last entry of a table's log.
fn size(site: &Site, name: &str) -> u64 {
    let log = site.log(&site.table()).concat();
    let adds = log.lines().rev().filter_map(|line| {
        let action: serde_json::Value = serde_json::from_str(line).unwrap();
        let add = action.get("add")?;
        add["path"]
            .as_str()
            .unwrap()
            .ends_with(name)
            .then(|| add["size"].as_u64().unwrap())
    });
    adds.into_iter().next().unwrap()
}

#[test]
fn a_replaced_file_gets_its_new_size_and_its_rows_stay_once() {
    let site = Site::new();
    site.append(0, 0..4);
    site.append(0, 4..6);
    site.publish().unwrap();
    site.append(0, 6..7);
    let [first, last] = [0, 6].map(|first| chain(0).notes_name(first));
    record(&site, 0, &[&first, &last]);
    let new = replace(&site, &first);

    let error = site.publish().unwrap_err().to_string();
    assert!(error.contains("erased/000000.json"), "{error}");

    complete(&site, 0);
    let report = site.publish().unwrap();
    // The last one is new to the table.
    assert_eq!((report.tables[1].renewed, report.tables[1].files), (1, 1));
    assert_eq!(size(&site, "/00000000000000000000.parquet"), new);
    site.assert_rows(&[(0, 7)]);
    let again = site.publish().unwrap();
    assert_eq!((again.tables[1].renewed, again.tables[1].commits), (0, 0));

    record(&site, 1, &[&last]);
    let new = replace(&site, &last);
    complete(&site, 1);
    assert_eq!(site.publish().unwrap().tables[1].renewed, 1);
    assert_eq!(size(&site, "/00000000000000000006.parquet"), new);
    site.assert_rows(&[(0, 7)]);
}
