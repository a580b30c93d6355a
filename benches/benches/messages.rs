//! Benchmarks structured messages: reads HL7 v2 admissions, replaces their identifiers under Safe Harbor with
//! the default bundle, audits them and writes them again.
//!
//! `cargo bench -p lethe-benches --bench messages`. Throughput is in messages, on one thread and on two.
//! Kafka and Parquet are not included: `benches/end-to-end` measures those.

use std::sync::{Arc, LazyLock};

use divan::Bencher;
use divan::counter::ItemsCount;
use lethe_connectors::format::{Format, FormatConfig};
use lethe_core::{Carried, Coordinates, Engine, Merging, NoteBatch, Redactor};
use lethe_dictionaries::Dictionary;
use lethe_ensemble::Bundle;
use lethe_policy::{Policy, PolicyFile};

/// Number of messages per batch.
const MESSAGES: usize = 512;

static PAYLOADS: LazyLock<Vec<String>> = LazyLock::new(|| (0..MESSAGES).map(admission).collect());
static FORMAT: LazyLock<Box<dyn Format>> = LazyLock::new(|| {
    let FormatConfig::Hl7v2(mut config) =
        serde_json::from_str(r#"{"kind": "hl7v2"}"#).expect("a format that exists")
    else {
        unreachable!("the kind is given above")
    };
    config.keep_message = true;
    FormatConfig::Hl7v2(config)
        .build()
        .expect("settings that are allowed")
});
static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let dictionary = Dictionary::builtin();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/en-clinical");
    let bundle = Bundle::open(folder.as_ref(), &dictionary).expect("the shipped bundle opens");
    let toml = include_str!("../../docs/policies/safe-harbor.toml");
    let file = PolicyFile::parse(toml, "safe-harbor.toml").expect("the shipped policy parses");
    let policy = Policy::build(&file, "safe-harbor.toml", &bundle.labels, &dictionary, &[])
        .expect("the shipped policy is allowed");
    let redactor = Redactor::by(policy.replacer, Carried::new(Vec::new()));
    let merging = Merging::none(&bundle.labels);
    Engine::new(bundle.labels, bundle.members, bundle.combiner, merging, redactor)
});

fn main() {
    let rows = work();
    assert_eq!(rows, MESSAGES, "every message becomes a row");
    divan::main();
}

/// Returns a synthetic admission: ADT^A01 with next of kin, visit, allergies, diagnoses and insurance.
fn admission(i: usize) -> String {
    let names = ["Quillfeather", "Brightwater", "Thistlewood", "Marrowby"];
    let (name, other) = (names[i % 4], names[(i + 1) % 4]);
    [
        format!(
            "MSH|^~\\&|ADT1|MERCY|LAB|MERCY|20240502083{:03}||ADT^A01^ADT_A01|MSG{i:06}|P|2.5.1",
            i % 1000
        ),
        "EVN|A01|20240502083000|||1234^Voss^Helena".to_owned(),
        format!(
            "PID|1||{:08}^^^MERCY^MR~{:09}^^^USA^SS||{name}^Ada^N^^Ms||19580714|F|||1408 Larkspur Lane^Apt 6^Duluth^MN^55802||(218)555-{:04}|||||{:07}",
            10_000_000 + i,
            900_000_000 + i,
            i % 10_000,
            4_000_000 + i
        ),
        format!("NK1|1|{other}^Chioma|SIB|22 Alder Street^^Duluth^MN^55802|(218)555-0177"),
        format!("PV1|1|I|4W^402^B^MERCY||||5521^Lindqvist^Marcus^T|||CAR||||1|||5521^Lindqvist^Marcus^T|IP|V{i:07}|||||||||||||||||||||||||20240502"),
        "AL1|1|DA|7980^Penicillin G^RXNORM|MO|Rash".to_owned(),
        "DG1|1||I10^Essential hypertension^I10||20240502|A".to_owned(),
        format!("IN1|1|PPO|BR1|BlueRiver Health|PO Box 12^^Boise^ID^83702||||GRP{i:05}|||20240101|20241231|||{name}^Ada|SEL|19580714"),
    ]
    .join("\r")
}

/// Decodes, redacts and audits all messages, and counts the rows.
fn work() -> usize {
    let records = PAYLOADS.iter().enumerate().map(|(i, payload)| {
        let at = Coordinates {
            topic: Arc::from("adt"),
            partition: 0,
            offset: i as i64,
        };
        FORMAT.decode(at, payload.as_bytes())
    });
    let batch = NoteBatch::from_records(records).expect("the messages are small");
    let done = ENGINE
        .process(&batch)
        .expect("the policy needs nothing that is away");
    assert!(done.quarantined.is_empty(), "every message is redacted");
    done.redacted.len()
}

/// Only reads messages.
#[divan::bench]
fn read(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(MESSAGES)).bench(|| {
        let read = PAYLOADS
            .iter()
            .filter(|payload| FORMAT.read(payload.as_bytes()).is_ok());
        read.count()
    });
}

/// Measures the whole path from payload to audited row.
#[divan::bench(threads = [1, 2])]
fn redact(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(MESSAGES)).bench(work);
}
