//! Objects of a store other than rows: records of erasures, and manifests of backfills. Any bytes, and
//! records that are nearly sound: each is read or reported, an interrupted erasure continues or returns a
//! reason, and nothing panics.
#![no_main]

use std::collections::BTreeMap;

use lethe_connectors::erase::{Erasures, replace};
use lethe_connectors::inspect::inspect;
use lethe_connectors::sink::{
    BEGUN, ChainId, Entry, ShardManifest, Totals, WholeManifest, encode_manifest, shard_path,
};
use lethe_fuzz::store::{parquet, wait, with};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

#[derive(Arbitrary, Debug)]
struct Case<'a> {
    records: Vec<Record<'a>>,
    shards: Vec<Shard>,
    whole: Option<Shard>,
    /// Bytes for objects of these kinds.
    raw: Vec<(u8, &'a [u8])>,
}

#[derive(Arbitrary, Debug)]
struct Record<'a> {
    number: Option<u32>,
    reason: &'a str,
    previous: Option<u8>,
    zstd_level: i32,
    rows: u64,
    vault: Vec<u8>,
    files: Vec<Replacement>,
    done: Option<(u8, u64)>,
}

#[derive(Arbitrary, Debug)]
struct Replacement {
    path: u8,
    before: u8,
    after: u8,
    offsets: Vec<i8>,
    audit_rows: u64,
}

#[derive(Arbitrary, Debug)]
struct Shard {
    plan: u8,
    shard: u8,
    shards: u64,
    totals: [u64; 11],
    entry: Option<[u64; 11]>,
    broken: bool,
}

fn digest(byte: u8) -> String {
    format!("{byte:02x}").repeat(32)
}

fn totals(of: &[u64; 11]) -> Totals {
    let [
        units,
        files,
        rows_in,
        rows_out,
        redacted,
        quarantined,
        texts,
        text_bytes,
        identifiers,
        spans,
        review,
    ] = *of;
    Totals {
        units,
        files,
        rows_in,
        rows_out,
        redacted,
        quarantined,
        texts,
        text_bytes,
        identifiers,
        spans,
        review,
    }
}

/// Returns names of files that records may name.
fn file(at: u8) -> String {
    let chain = ChainId::new("t", 0);
    match at % 3 {
        0 => chain.notes_name(0),
        1 => chain.notes_name(1),
        _ => format!("notes/{at}"),
    }
}

fn record(record: &Record<'_>, number: u32) -> Vec<u8> {
    let files: Vec<_> = record
        .files
        .iter()
        .take(8)
        .map(|one| {
            json!({
                "path": file(one.path), "before": digest(one.before), "after": digest(one.after),
                "offsets": one.offsets, "audit_rows": one.audit_rows, "audit_fields": 0,
            })
        })
        .collect();
    let vault: Vec<String> = record.vault.iter().map(|byte| digest(*byte)).collect();
    let written = json!({
        "format": 1, "number": record.number.unwrap_or(number), "begun_at": "2024-05-01T08:30:00Z", "program": "lethe",
        "reason": record.reason, "previous": record.previous.map(digest), "zstd_level": record.zstd_level,
        "rows": record.rows, "vault": vault, "files": files,
    });
    written.to_string().into_bytes()
}

fuzz_target!(|case: Case<'_>| {
    let mut objects = vec![(file(0), parquet(Vec::new(), 3))];
    for (number, one) in (0..).zip(case.records.iter().take(4)) {
        objects.push((format!("erased/{number:06}.json"), record(one, number)));
        if let Some((of, entries)) = one.done {
            let done = json!({
                "format": 1, "number": number, "record": digest(of), "finished_at": "2024-05-01T08:30:00Z",
                "vault_entries": entries,
            });
            objects.push((
                format!("erased/{number:06}-done.json"),
                done.to_string().into_bytes(),
            ));
        }
    }
    let plan = |shard: &Shard| format!("{:016x}", shard.plan);
    for shard in case.shards.iter().take(4) {
        let entries = shard.entry.iter().map(|of| {
            let entry = Entry {
                version: "1".to_owned(),
                totals: totals(of),
                parts: BTreeMap::new(),
            };
            ("a.csv".to_owned(), entry)
        });
        let manifest = ShardManifest {
            plan: plan(shard),
            shard: usize::from(shard.shard),
            shards: shard.shards as usize,
            totals: totals(&shard.totals),
            broken: BTreeMap::new(),
            objects: entries.collect(),
        };
        let written = encode_manifest(&manifest).expect("it can be written");
        objects.push((manifest.path(), written.to_vec()));
    }
    if let Some(shard) = &case.whole {
        let path = shard_path(&plan(shard), 0, shard.shards as usize);
        let manifest = WholeManifest {
            plan: plan(shard),
            shards: shard.shards as usize,
            totals: totals(&shard.totals),
            broken: BTreeMap::new(),
            files: shard
                .broken
                .then(|| (path, digest(shard.plan)))
                .into_iter()
                .collect(),
        };
        let written = encode_manifest(&manifest).expect("it can be written");
        objects.push((manifest.path(), written.to_vec()));
    }
    for (kind, bytes) in case.raw.iter().take(4) {
        let name = match kind % 6 {
            0 => "erased/000000.json".to_owned(),
            1 => "erased/000000-done.json".to_owned(),
            2 => BEGUN.to_owned(),
            3 => "manifest/0000000000000000.json".to_owned(),
            4 => shard_path("0000000000000000", 0, 1),
            _ => format!("erased/{kind}"),
        };
        objects.push((name, bytes.to_vec()));
    }
    let store = with(objects);
    wait(async {
        let erasures = Erasures::read(&store).await.expect("the store answers");
        for (file, why) in erasures.faults() {
            assert!(!file.is_empty() && !why.is_empty(), "a fault says what and why");
        }
        if let Some(record) = erasures.unfinished() {
            drop(replace(&store, record, |_| {}).await);
        }
        drop(inspect(&store, |_| {}).await);
    });
});
