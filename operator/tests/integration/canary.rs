//! Plants identifiers in every part of an event, and searches for them where they must not be: logs at the
//! most verbose level, errors, panic messages, quarantined rows, audit files, footers, temporary files.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use std::path::Path;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use common::collector::Collector;
use common::dataset::{Dataset, all_files, read_parquet};
use common::kafka::Topic;
use common::pages::{Pages, TELEMETRY, sum};
use common::process::{Lethe, TIMEOUT};
use common::search::Search;
use common::{Place, folder_sink, quoted, s3_sink};
use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use serde_json::json;

/// Identifiers that the members find anywhere, each unlike anything else in the test.
const IN_TEXT: [&str; 6] = [
    "(612) 555-0173",
    "canary.one@example.org",
    "219-09-8734",
    "https://portal.example.org/u/canarytwo",
    "Yrsavolt Quennebrix",
    "77120948",
];
/// Identifiers that are never part of the output: in metadata that is not kept, keys, headers, invalid
/// events, and notes that could not be redacted.
const ELSEWHERE: [&str; 16] = [
    "CANARYPATIENT01",
    "CANARYENCOUNTER02",
    "CANARYAUTHOR03",
    "CANARYKEY04",
    "CANARYHEADER05",
    "CANARYHEADERNAME06",
    "CANARYNOJSON07",
    "CANARYWRONGTYPE08",
    "CANARYBADUTF09",
    "CANARYDUPLICATE10",
    "CANARYIGNORED11",
    "CANARYBADID12",
    "CANARYPANIC13",
    "CANARYUNKNOWNKIND14",
    "CANARYBADDATE15",
    "CANARYBADEVENT16",
];
/// An id that is kept, only in the rows of notes.
const CARRIED: &str = "CANARYNOTEID00";

fn text() -> String {
    let [phone, email, ssn, url, name, mrn] = IN_TEXT;
    format!(
        "PROGRESS NOTE\nPatient: {name}\nMRN: {mrn}\nSSN: {ssn}\n\n{name} feels well. Call {phone}, write to {email}, or see {url}.\n"
    )
}

/// Returns every kind of event, with canaries in all of its parts.
fn payloads() -> Vec<Option<Vec<u8>>> {
    let [_, _, _, _, name, mrn] = IN_TEXT;
    let good = json!({
        "note_id": CARRIED,
        "patient_id": "CANARYPATIENT01",
        "encounter_id": "CANARYENCOUNTER02",
        "author_id": "CANARYAUTHOR03",
        "note_type": "Progress note",
        "known": [{"kind": "patient", "value": name}, {"kind": "mrn", "value": mrn}, {"kind": "other", "value": "CANARYIGNORED11"}],
        "ward": "CANARYIGNORED11",
        "text": text(),
    });
    let panics = json!({"note_id": "CANARYBADID12", "patient_id": "CANARYPATIENT01", "text": format!("CANARYPANIC13 {}", text())});
    let mut not_utf8 = format!(
        "{{\"note_id\": \"CANARYBADUTF09\", \"text\": \"{}",
        "CANARYBADUTF09 ".repeat(3)
    )
    .into_bytes();
    not_utf8.extend(b"\xff\xfe\"}");
    let events = [
        good.to_string(),
        panics.to_string(),
        format!("CANARYNOJSON07 {}", text()),
        json!({"note_id": "CANARYBADID12", "text": {"CANARYWRONGTYPE08": text()}}).to_string(),
        json!({"note_id": ["CANARYWRONGTYPE08"], "text": text()}).to_string(),
        json!({"note_id": "CANARYBADID12", "version": "CANARYWRONGTYPE08", "text": text()}).to_string(),
        json!({"note_id": "CANARYBADID12", "authored_at": "CANARYBADDATE15", "text": text()}).to_string(),
        json!({"note_id": "CANARYBADID12", "event": "CANARYBADEVENT16", "text": text()}).to_string(),
        json!({"note_id": "CANARYBADID12", "known": {"patient": 5.5, "mrn": "CANARYWRONGTYPE08"}, "text": text()}).to_string(),
        json!({"note_id": "CANARYBADID12", "known": [{"kind": "CANARYUNKNOWNKIND14", "value": "CANARYIGNORED11"}], "text": text()}).to_string(),
        json!({"note_id": "CANARYBADID12", "patient_id": "CANARYPATIENT01"}).to_string(),
        format!("{{\"note_id\": \"CANARYBADID12\", \"text\": \"CANARYDUPLICATE10\", \"text\": {}}}", json!(text())),
        json!({"note_id": CARRIED, "event": "delete", "patient_id": "CANARYPATIENT01"}).to_string(),
    ];
    let mut all: Vec<Option<Vec<u8>>> = events.into_iter().map(|event| Some(event.into_bytes())).collect();
    all.push(Some(not_utf8));
    all.push(None);
    all
}

fn produce(topic: &Topic) {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &topic.brokers);
    let producer: BaseProducer = config.create().unwrap();
    for payload in payloads() {
        let header = Header {
            key: "CANARYHEADERNAME06",
            value: Some("CANARYHEADER05"),
        };
        let mut record = BaseRecord::to(&topic.name)
            .partition(0)
            .key("CANARYKEY04")
            .headers(OwnedHeaders::new().insert(header));
        record.payload = payload.as_deref();
        assert!(producer.send(record).is_ok());
    }
    producer.flush(TIMEOUT).unwrap();
}

#[test]
fn nothing_planted_in_a_topic_is_found_in_logs_rows_audit_footers_or_files_left_aside() {
    let topic = Topic::new("canary", 1);
    produce(&topic);
    let place = Place::new();
    let out = place.at("out");
    let temporary = place.at("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let source = topic
        .source_with("properties = { \"session.timeout.ms\" = 1000, \"heartbeat.interval.ms\" = 200 }\n");
    let config = place.write("lethe.toml", source + &folder_sink(&out));
    let mut search = Search::new(IN_TEXT.into_iter().chain(ELSEWHERE));
    let arguments = [
        "run".as_ref(),
        "--until-end".as_ref(),
        "--log".as_ref(),
        "trace".as_ref(),
        "-c".as_ref(),
        config.as_os_str(),
    ];
    let tempted = |arguments: &[&std::ffi::OsStr]| {
        Lethe::new(arguments)
            .env("LETHE_PANIC_ON", "CANARYPANIC13")
            .env("RUST_BACKTRACE", "full")
            .env("TMPDIR", temporary.to_str().unwrap())
            .inside(&temporary)
    };
    // One run that is killed with an open temporary file, one whose store fails, one that ends.
    let killed = tempted(&arguments)
        .env("LETHE_CRASH_AT", "temporary_written:2")
        .end();
    assert_eq!(killed.code, None, "{}", killed.err);
    search.words("killed", &killed);
    assert!(search.folder(&out) > 0);
    let mut in_json = arguments.to_vec();
    in_json.extend(["--log-format", "json"].map(std::ffi::OsStr::new));
    let failed = tempted(&in_json)
        .env("LETHE_STORE_FAULTS", "create:1=fail-before,create:2=denied")
        .end()
        .expect(1);
    search.words("failed", &failed);
    let ended = tempted(&arguments)
        .env("LETHE_LOG", "trace")
        .end()
        // Most of these records are quarantined, which the exit code reports.
        .expect(6)
        .says("panic");
    search.words("ended", &ended);
    let again = tempted(&arguments).start().wait(TIMEOUT).expect(0);
    search.words("again", &again);
    // The log must be worth searching.
    assert!(ended.err.contains("quarantined a payload"), "{}", ended.err);

    search.folder(&out);
    search.folder(&temporary);
    let inspected = Lethe::new([
        "inspect".as_ref(),
        out.as_os_str(),
        "--json".as_ref(),
        "--log".as_ref(),
        "trace".as_ref(),
    ])
    .end();
    search.words("inspect", &inspected.expect(0));
    search.assert_clean();

    // The notes are in the output, and only they have the id that is kept.
    let data = Dataset::read(&out);
    data.assert_exactly(&out, &topic.offsets());
    let rows = data.rows();
    assert_eq!(rows[0].note_id.as_deref(), Some(CARRIED));
    assert!(
        rows[0].redactions >= 6 && rows[0].text.as_ref().unwrap().contains("feels well"),
        "{:?}",
        rows[0]
    );
    assert_eq!(rows[1].error.as_deref(), Some("member_panic"));
    let quarantined: Vec<_> = rows.iter().filter(|row| row.kind == "quarantined").collect();
    assert_eq!(quarantined.len(), 12);
    assert!(
        quarantined
            .iter()
            .all(|row| row.note_id.is_none() && row.note_type.is_none() && row.text.is_none())
    );
    assert_audit_says_nothing(&out);
    // The search must find words that are there.
    let mut proof = Search::new(["feels well", CARRIED]);
    proof.folder(&out.join("notes"));
    assert!(proof.found.len() >= 2, "{:?}", proof.found);
}

/// The audit has positions and labels, but no text and no id.
fn assert_audit_says_nothing(out: &Path) {
    let mut search = Search::new([CARRIED, "PROGRESS", "feels well"]);
    assert!(search.folder(&out.join("audit")) > 0);
    search.assert_clean();
    for path in all_files(&out.join("audit")) {
        for batch in read_parquet(&path).unwrap().1 {
            let offsets = batch
                .column_by_name("offset")
                .unwrap()
                .as_primitive::<Int64Type>();
            assert_eq!(
                offsets.values().iter().max(),
                Some(&0),
                "only the first note was redacted"
            );
        }
    }
}

#[test]
fn nothing_planted_is_found_in_metrics_traces_or_the_status_page() {
    let topic = Topic::new("canary-told", 1);
    produce(&topic);
    let place = Place::new();
    let collector = Collector::new();
    let otlp = format!(
        "otlp = {{ endpoint = {:?}, interval_seconds = 1, traces = 1.0 }}\n",
        collector.endpoint()
    );
    let roll = "roll = { max_age_seconds = 1.0, max_idle_seconds = 0.5 }\n";
    let config = topic.source() + TELEMETRY + &otlp + &folder_sink(&place.at("out")) + roll;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    let records = topic.offsets().len() as f64;
    pages.until("all rows", TIMEOUT, |metrics| {
        sum(metrics, "lethe_records_total", &[]) == records && sum(metrics, "lethe_files_total", &[]) > 0.0
    });
    let mut search = Search::new(
        IN_TEXT
            .into_iter()
            .chain(ELSEWHERE)
            .chain([CARRIED, "feels well"]),
    );
    for path in ["/", "/metrics", "/live", "/ready"] {
        search.bytes(path, pages.get(path).1.as_bytes());
    }
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
    for path in ["/v1/metrics", "/v1/traces"] {
        let bodies = collector.taken(path);
        assert!(!bodies.is_empty(), "{path}");
        bodies.iter().for_each(|body| search.bytes(path, body));
    }
    search.assert_clean();
    // The exported data must be worth searching: metric names, and the stages of batches and files.
    let sent = |path: &str, what: &str| {
        let bodies = collector.taken(path);
        bodies
            .iter()
            .any(|body| body.windows(what.len()).any(|window| window == what.as_bytes()))
    };
    for metric in ["lethe.records", "lethe.quarantined", "lethe.lag"] {
        assert!(sent("/v1/metrics", metric), "{metric}");
    }
    for span in [
        "batch",
        "file",
        "decode",
        "tag",
        "encode",
        "seal",
        "store",
        &topic.name,
    ] {
        assert!(sent("/v1/traces", span), "{span}");
    }
}

#[test]
fn nothing_planted_is_found_when_a_bucket_is_the_store_and_refuses() {
    let topic = Topic::new("canary-s3", 1);
    produce(&topic);
    let place = Place::new();
    let mut search = Search::new(
        IN_TEXT
            .into_iter()
            .chain(ELSEWHERE)
            .chain(["CANARYSECRET17", "CANARYACCESS18"]),
    );
    let sink = s3_sink(&topic.name, None, "")
        .replace(&common::env("LETHE_TEST_S3_SECRET"), "CANARYSECRET17")
        .replace(&common::env("LETHE_TEST_S3_KEY"), "CANARYACCESS18");
    let config = place.write("lethe.toml", topic.source() + &sink);
    let refused = Lethe::through(&config).env("LETHE_LOG", "trace").end().expect(1);
    search.words("refused", &refused);
    search.assert_clean();
}

#[test]
fn a_talkative_client_library_is_refused() {
    let place = Place::new();
    let kafka = "[source]\nkind = \"kafka\"\nbrokers = [\"127.0.0.1:9\"]\ntopics = [\"t\"]\ngroup = \"g\"\nproperties = { debug = \"all\" }\n";
    let config = place.write("lethe.toml", kafka);
    Lethe::new(["check".as_ref(), "-c".as_ref(), config.as_os_str()])
        .end()
        .expect(2)
        .says("debug");
}

#[test]
fn files_that_cannot_be_read_are_named_and_not_quoted() {
    let place = Place::new();
    let mut search = Search::new(IN_TEXT.into_iter().chain(ELSEWHERE));
    for (number, payload) in payloads().into_iter().flatten().enumerate().skip(2) {
        let input = place.write("in.jsonl", [payload.as_slice(), b"\n"].concat());
        let bare = place.write("in.txt", &payload);
        let input_arguments = |command: &'static str| {
            let path = if command == "text" { &bare } else { &input };
            let format = if command == "text" { "text" } else { "jsonl" };
            let command = if command == "text" { "redact" } else { command };
            let mut arguments = vec![
                command.to_owned(),
                "--log".into(),
                "trace".into(),
                "--input".into(),
                path.to_str().unwrap().into(),
            ];
            if command == "redact" {
                arguments.extend(["--format".into(), format.into()]);
            }
            arguments
        };
        for command in ["redact", "annotate"] {
            let ended = Lethe::new(input_arguments(command)).end();
            // A withdrawal has no text, and some invalid payloads are valid documents; then a document is
            // written.
            if ended.code != Some(0) {
                search.words(&format!("{command} of payload {number}"), &ended);
            } else {
                search.bytes(
                    &format!("log of {command} of payload {number}"),
                    ended.err.as_bytes(),
                );
            }
        }
        let ended = Lethe::new(input_arguments("text")).end();
        search.bytes(&format!("log of text of payload {number}"), ended.err.as_bytes());

        let source = format!(
            "[source]\nkind = \"jsonl\"\ninput = {}\non_bad = \"fail\"\n",
            quoted(&input)
        );
        let out = place.at(&format!("out-{number}"));
        let config = place.write("lethe.toml", source + &folder_sink(&out));
        let ended = Lethe::through(&config).env("LETHE_LOG", "trace").end();
        search.words(&format!("run of payload {number}"), &ended);
        search.folder(&out);
    }
    search.assert_clean();
}

#[test]
fn faults_of_a_configuration_name_the_key_and_never_show_a_secret() {
    let place = Place::new();
    let secret = place.write("secret", "CANARYSECRET17\n");
    let mut search = Search::new(["CANARYSECRET17", "5550173998"]);
    let kafka = "[source]\nkind = \"kafka\"\nbrokers = [\"127.0.0.1:9\"]\ntopics = [\"t\"]\ngroup = \"g\"\n";
    let sasl = |password: &str, more: &str| {
        format!(
            "{kafka}security = {{ protocol = \"sasl\", mechanism = \"SCRAM-SHA-512\", user = \"u\", password = {password}{more} }}\n"
        )
    };
    for toml in [
        sasl("\"CANARYSECRET17\"", ", passwort = \"CANARYSECRET17\""),
        sasl("5550173998", ""),
        sasl("[\"CANARYSECRET17\"]", ""),
        sasl("\"CANARYSECRET17", ""),
        sasl("\"CANARYSECRET17\"", ", tls = \"CANARYSECRET17\""),
        sasl(&format!("\"${{file:{}}}\"", secret.display()), ", tls = 3"),
        format!("{kafka}security = \"CANARYSECRET17\"\n"),
        format!("{kafka}properties = {{ \"sasl.password\" = \"CANARYSECRET17\" }}\n"),
        format!("{kafka}properties = {{ \"ssl.key.password\" = \"CANARYSECRET17\" }}\n"),
        format!("{kafka}properties = {{ \"no.such.key\" = \"CANARYSECRET17\" }}\n"),
        format!("{kafka}properties = {{ \"session.timeout.ms\" = \"CANARYSECRET17\" }}\n"),
        "[sink]\nstore = { kind = \"s3\", bucket = \"b\", secret_key = \"CANARYSECRET17\", region = 5 }\n".into(),
        "[sink]\nstore = { kind = \"s3\", bucket = \"b\", secret_key = 5550173998 }\n".into(),
        "[sink]\nstore = { kind = \"s3\", bucket = \"b\", secret_key = \"CANARYSECRET17\", endpoint = \"http://h\" }\n".into(),
    ] {
        let config = place.write("lethe.toml", &toml);
        let ended = Lethe::new(["check".as_ref(), "--log".as_ref(), "trace".as_ref(), "-c".as_ref(), config.as_os_str()]).end();
        assert_ne!(ended.code, Some(0), "{toml}");
        search.words(&toml.replace("CANARYSECRET17", "[secret]").replace("5550173998", "[number]"), &ended);
    }
    search.assert_clean();
}
