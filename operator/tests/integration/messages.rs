//! Messages in, and the same messages out: HL7 v2 and FHIR through a real Kafka, redacted by a policy of
//! surrogates and published again.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use common::dataset::Dataset;
use common::kafka::{Topic, name};
use common::process::{Lethe, TIMEOUT, python};
use common::{Place, folder_sink, quoted};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Headers as _, Message as _};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

const KEYS: &str = "[[keys]]\nid = \"k1\"\nstate = \"current\"\nsecret = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\"\n";

/// Returns a message about a patient whose narrative repeats PID in other forms.
fn oru(number: usize) -> String {
    let family = ["Okafor", "Lindqvist", "Zubiri"][number % 3];
    [
        format!("MSH|^~\\&|SCRIBE|NORTHGATE|STORE|NORTHGATE|20240315083000||ORU^R01|C-{number}|P|2.5.1"),
        format!("PID|1||77{number:04}31^^^NG^MR||{family}^Tobias^J||19610502|M|||12 Mill Lane^^Reusville^MA^02139||^PRN^PH^^1^617^5558123"),
        "OBR|1||R-1|11506-3^Progress note^LN|||20240315080000".to_owned(),
        format!("OBX|1|TX|11506-3^Progress note^LN|1|Mr {family} (Tobias {family}, DOB 05/02/1961) was seen.~{} slept \\T\\ ate.||||||F", family.to_uppercase()),
        format!("OBX|2|TX|11506-3^Progress note^LN|1|MRN 77{number:04}31, call 617-555-8123.||||||F"),
    ]
    .join("\r")
        + "\r"
}

struct Set {
    place: Place,
    input: Topic,
    output: Topic,
    out: PathBuf,
    config: PathBuf,
}

/// Creates a stream of messages of a kind under a policy of surrogates, and the target topic.
fn set(kind: &str, partitions: i32) -> Set {
    let place = Place::new();
    let keys = place.write("keys.toml", KEYS);
    std::fs::set_permissions(&keys, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let policy = format!(
        "mode = \"limited-data-set\"\ndefault = {{ action = \"surrogate\" }}\n\n[keys]\nfile = {}\n",
        quoted(&keys)
    );
    let policy = place.write("policy.toml", policy);
    let (input, output) = (Topic::new(kind, partitions), Topic::new("out", partitions));
    let out = place.at("out");
    let config = format!(
        "policy_file = {}\n\n{}\n[format]\nkind = {kind:?}\nkeep_message = true\n\n{}\n[emit]\nkind = \"kafka\"\nbrokers = [{:?}]\ntopic = {:?}\ngroup = {:?}\n",
        quoted(&policy),
        input.source(),
        folder_sink(&out),
        output.brokers,
        output.name,
        name("emit"),
    );
    let config = place.write("lethe.toml", config);
    Set {
        place,
        input,
        output,
        out,
        config,
    }
}

/// A committed record of a topic: partition, `lethe-offset`, payload.
type Emitted = (i32, String, String);

/// Returns the records that readers of committed records see.
fn committed(topic: &Topic) -> Vec<Emitted> {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &topic.brokers)
        .set("group.id", name("reader"))
        .set("isolation.level", "read_committed")
        .set("enable.partition.eof", "true");
    let consumer: BaseConsumer = config.create().unwrap();
    let mut list = TopicPartitionList::new();
    for partition in 0..topic.partitions {
        list.add_partition_offset(&topic.name, partition, Offset::Beginning)
            .unwrap();
    }
    consumer.assign(&list).unwrap();
    let (mut read, mut ends) = (Vec::new(), 0);
    while ends < topic.partitions {
        match consumer.poll(TIMEOUT).unwrap() {
            Ok(message) => {
                let headers = message.headers().unwrap();
                let header = headers
                    .iter()
                    .find(|header| header.key == "lethe-offset")
                    .unwrap();
                read.push((
                    message.partition(),
                    String::from_utf8(header.value.unwrap().to_vec()).unwrap(),
                    String::from_utf8(message.payload().unwrap().to_vec()).unwrap(),
                ));
            }
            Err(rdkafka::error::KafkaError::PartitionEOF(_)) => ends += 1,
            Err(error) => panic!("{error}"),
        }
    }
    read.sort();
    read
}

fn stream(set: &Set) {
    Lethe::through(&set.config).end().expect(0);
}

fn emit(set: &Set) {
    Lethe::new(["emit", "--until-end", "-c", set.config.to_str().unwrap()])
        .end()
        .expect(0);
}

/// Returns the field of a segment, by name and number.
fn field<'m>(message: &'m str, segment: &str, number: usize) -> Vec<&'m str> {
    let segments = message.split('\r').filter(|line| line.starts_with(segment));
    segments
        .map(|line| line.split('|').nth(number).unwrap_or_default())
        .collect()
}

#[test]
fn a_name_has_one_surrogate_in_its_field_and_in_the_narrative_of_every_message() {
    let set = set("hl7v2", 2);
    set.input.fill((0..6).map(oru));
    stream(&set);
    emit(&set);
    let read = committed(&set.output);
    assert_eq!(read.len(), 6);
    for (_, _, message) in &read {
        let pid = field(message, "PID", 5)[0];
        let [family, given] = pid.split('^').take(2).collect::<Vec<_>>().try_into().unwrap();
        let narrative = field(message, "OBX", 5);
        assert!(
            narrative[0].contains(&format!("Mr {family} ({given} {family}, DOB ")),
            "{message}"
        );
        assert!(
            narrative[0].contains(&format!("~{} slept \\T\\ ate.", family.to_uppercase())),
            "{message}"
        );
        let number = field(message, "PID", 3)[0].split('^').next().unwrap();
        assert!(
            narrative[1].starts_with(&format!("MRN {number}, call ")),
            "{message}"
        );
        for real in [
            "Okafor",
            "Lindqvist",
            "Zubiri",
            "Tobias",
            "OKAFOR",
            "LINDQVIST",
            "ZUBIRI",
            "5558123",
            "555-8123",
            "1961-05-02",
            "19610502",
            "05/02/1961",
            "Mill Lane",
        ] {
            assert!(!message.contains(real), "{real} in {message}");
        }
        for number in 0..6 {
            assert!(!message.contains(&format!("77{number:04}31")), "{message}");
        }
    }
    let data = Dataset::read(&set.out);
    assert_eq!(data.faults(&set.out), Vec::<String>::new());
    let footer = &data.chains.values().next().unwrap()[0].footer;
    assert_eq!(footer["lethe.fingerprint.mode"], "limited-data-set");
    assert_eq!(footer["lethe.fingerprint.policy"].len(), 64);
    // An independent parser reads the output.
    let messages: Vec<&str> = read.iter().map(|(_, _, message)| message.as_str()).collect();
    let file = set
        .place
        .write("messages.json", serde_json::to_string(&messages).unwrap());
    let told = python(PARSE, &[file.to_str().unwrap()]);
    assert_eq!(told.trim(), "6 messages, 12 observations");
}

/// Parses messages with an independent library.
const PARSE: &str = "
import hl7, json, sys
messages = [hl7.parse(text) for text in json.load(open(sys.argv[1]))]
assert all(str(message.segment('MSH')[9]) == 'ORU^R01' for message in messages)
assert all(len(message.segment('PID')[5][0]) >= 2 for message in messages)
print(len(messages), 'messages,', sum(len(message.segments('OBX')) for message in messages), 'observations')
";

/// Returns a bundle about a patient: a note in RTF that repeats the patient's name in other forms, and a
/// conclusion.
fn bundle(number: usize) -> String {
    let family = ["Okafor", "Lindqvist", "Zubiri"][number % 3];
    let rtf = format!(
        "{{\\rtf1\\ansi Mr {family} (Tobias {family}) was seen on 2024-03-15.\\par {} slept.}}",
        family.to_uppercase()
    );
    serde_json::json!({
        "resourceType": "Bundle", "type": "collection",
        "entry": [
            {"fullUrl": format!("urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e{number}"), "resource": {
                "resourceType": "Patient", "id": format!("pt-{family}"), "gender": "male", "birthDate": "1961-05-02",
                "identifier": [{"type": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v2-0203", "code": "MR"}]}, "value": format!("77{number:04}31")}],
                "name": [{"use": "official", "family": family, "given": ["Tobias"]}],
                "telecom": [{"system": "phone", "value": "617-555-8123"}],
            }},
            {"resource": {
                "resourceType": "DocumentReference", "id": format!("doc-{number}"), "status": "current",
                "subject": {"reference": format!("Patient/pt-{family}"), "display": format!("Tobias {family}")},
                "content": [{"attachment": {"contentType": "text/rtf", "data": BASE64.encode(rtf)}}],
            }},
            {"resource": {
                "resourceType": "DiagnosticReport", "id": format!("rep-{number}"), "status": "final",
                "code": {"coding": [{"system": "http://loinc.org", "code": "11506-3"}]},
                "conclusion": format!("Nothing of note in Mr {family}."),
            }},
        ],
    })
    .to_string()
}

#[test]
fn a_fhir_bundle_comes_out_as_a_valid_one_with_one_surrogate_for_a_name() {
    let set = set("fhir", 1);
    set.input.fill((0..4).map(bundle));
    stream(&set);
    emit(&set);
    let read = committed(&set.output);
    assert_eq!(read.len(), 4);
    for (_, _, message) in &read {
        let bundle: serde_json::Value = serde_json::from_str(message).unwrap();
        let resource = |kind: &str| {
            let entries = bundle["entry"]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| &entry["resource"]);
            entries
                .into_iter()
                .find(|resource| resource["resourceType"] == kind)
                .unwrap()
                .clone()
        };
        let name = resource("Patient")["name"][0].clone();
        let (family, given) = (
            name["family"].as_str().unwrap(),
            name["given"][0].as_str().unwrap(),
        );
        let data = resource("DocumentReference")["content"][0]["attachment"]["data"].clone();
        let text = String::from_utf8(BASE64.decode(data.as_str().unwrap()).unwrap()).unwrap();
        assert!(
            text.contains(&format!("Mr {family} ({given} {family}) was seen on ")),
            "{text}\n{message}"
        );
        assert!(
            text.contains(&format!("{} slept.", family.to_uppercase())),
            "{text}"
        );
        let conclusion = resource("DiagnosticReport")["conclusion"].clone();
        assert_eq!(conclusion, format!("Nothing of note in Mr {family}."));
        for real in [
            "Okafor",
            "Lindqvist",
            "Zubiri",
            "Tobias",
            "OKAFOR",
            "LINDQVIST",
            "ZUBIRI",
            "555-8123",
            "1961-05-02",
            "2024-03-15",
        ] {
            assert!(
                !message.contains(real) && !text.contains(real),
                "{real} in {message}"
            );
        }
    }
    let messages: Vec<&str> = read.iter().map(|(_, _, message)| message.as_str()).collect();
    let file = set
        .place
        .write("messages.json", serde_json::to_string(&messages).unwrap());
    let told = python(VALIDATE, &[file.to_str().unwrap()]);
    assert_eq!(told.trim(), "4 bundles of 12 resources");
}

/// Validates bundles with an independent library.
const VALIDATE: &str = "
import json, sys
from fhir.resources.R4B.bundle import Bundle
bundles = [Bundle.model_validate_json(text) for text in json.load(open(sys.argv[1]))]
print(len(bundles), 'bundles of', sum(len(bundle.entry) for bundle in bundles), 'resources')
";

#[test]
fn each_message_is_emitted_once_whatever_is_run_again_or_killed() {
    let set = set("hl7v2", 1);
    set.input.fill((0..40).map(oru));
    stream(&set);
    for _ in 0..6 {
        let mut running = Lethe::new(["emit", "-c", set.config.to_str().unwrap()]).start();
        std::thread::sleep(Duration::from_millis(150));
        assert!(running.lives());
        running.signal("KILL");
        running.wait(TIMEOUT);
    }
    emit(&set);
    set.input.fill((40..60).map(oru));
    stream(&set);
    emit(&set);
    emit(&set);
    let read = committed(&set.output);
    let mut offsets: Vec<i64> = read
        .iter()
        .map(|(_, offset, _)| offset.parse().unwrap())
        .collect();
    offsets.sort_unstable();
    assert_eq!(offsets, (0..60).collect::<Vec<_>>());
}

#[test]
fn messages_can_go_to_files_one_each() {
    let set = set("hl7v2", 1);
    let records = (0..3).map(oru).chain(["no message at all".to_owned()]);
    set.input.fill(records);
    stream(&set);
    let folder = set.place.at("messages");
    let config = std::fs::read_to_string(&set.config).unwrap();
    let config = config.split("[emit]").next().unwrap().to_owned()
        + &format!(
            "[emit]\nkind = \"files\"\nstore = {{ kind = \"folder\", path = {} }}\nsuffix = \".hl7\"\n",
            quoted(&folder)
        );
    let config = set.place.write("files.toml", config);
    for _ in 0..2 {
        let ended = Lethe::new(["emit", "--until-end", "-c", config.to_str().unwrap()]).end();
        ended.expect(0);
    }
    let mut files: Vec<_> = common::dataset::all_files(&folder)
        .into_iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    assert_eq!(
        files,
        (0..3)
            .map(|offset| format!("{offset:020}.hl7"))
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_text_is_redacted_by_a_policy_of_the_command_line_and_sealed_values_come_back() {
    let place = Place::new();
    let keys = place.at("keys.toml");
    let new_key = || Lethe::new(["new-key", "--id", "k1", "--out", keys.to_str().unwrap()]).end();
    new_key().expect(0);
    new_key().expect(1);
    let policy = |action: &str, mode: &str| {
        let text = format!(
            "mode = {mode:?}\ndefault = {{ action = {action:?} }}\n[keys]\nfile = {}\n",
            quoted(&keys)
        );
        place.write(&format!("{action}-{mode}.toml"), text)
    };
    let text = "{\"note_id\":\"n1\",\"patient_id\":\"p1\",\"text\":\"Mr Okafor slept. Okafor ate.\"}\n";
    let sealed = policy("encrypt", "custom");
    let arguments = [
        "redact",
        "--format",
        "jsonl",
        "--policy",
        sealed.to_str().unwrap(),
    ];
    let done = Lethe::new(arguments).end_with(text).expect(0).out;
    assert!(
        !done.contains("Okafor") && done.matches(":e1.k1.").count() == 2,
        "{done}"
    );
    let arguments = ["reveal", "--patient", "p1", "--policy", sealed.to_str().unwrap()];
    let back = Lethe::new(arguments).end_with(done.clone()).expect(0).out;
    // The patient's id is dropped from the document, since no policy keeps it.
    assert_eq!(back, text.replace("\"patient_id\":\"p1\",", ""));
    let arguments = ["reveal", "--patient", "p2", "--policy", sealed.to_str().unwrap()];
    let refused = Lethe::new(arguments).end_with(done).expect(1);
    assert!(refused.out.is_empty(), "{}", refused.out);
    let unsafe_harbor = policy("encrypt", "safe-harbor");
    let arguments = ["redact", "--policy", unsafe_harbor.to_str().unwrap()];
    Lethe::new(arguments)
        .end_with("x")
        .expect(2)
        .says("45 CFR 164.514(c)(1)");
}
