//! The same values through the whole program: searched for in rows, emitted messages, audit, footers, paths,
//! logs, metrics and traces.

use std::path::Path;

use super::common::collector::Collector;
use super::common::dataset::Dataset;
use super::common::process::{Ended, Lethe};
use super::common::search::Search;
use super::common::{Place, quoted};
use super::{ccda, fhir, hl7v2};

/// A word, a number of seven digits and a date, none of which may pass in any field.
const VALUES: [&str; 3] = ["Quillfeather", "5550142", "20310517"];
const FHIR_DATE: &str = "2031-05-17";

fn lethe(arguments: &[&str], config: &Path) -> Ended {
    let config = config.to_str().unwrap();
    let arguments = arguments.iter().copied();
    Lethe::new(arguments.chain(["--log", "trace", "-c", config])).end()
}

/// Passes files, by name and content, through `run`, `emit`, `inspect` and `redact`, and searches all files
/// and output.
fn assert_nothing_comes_out(format: &str, on_command_line: &str, files: &[(&str, &str)], records: usize) {
    let place = Place::new();
    let collector = Collector::new();
    let files = files
        .iter()
        .map(|(name, content)| place.write(&format!("in/{name}"), content));
    let files: Vec<_> = files.collect();
    let policy = place.write(
        "policy.toml",
        include_str!("../../../../docs/policies/safe-harbor.toml"),
    );
    let folder = |name: &str| format!("{{ kind = \"folder\", path = {} }}", quoted(place.at(name)));
    let config = [
        format!("policy_file = {}", quoted(&policy)),
        format!(
            "[source]\nkind = \"files\"\ninput = {}\ncodes = {}",
            quoted(place.at("in")),
            folder("private")
        ),
        format!("[format]\nkind = \"{format}\"\nkeep_message = true"),
        "[engine]\nmembers = [{ kind = \"known\" }, { kind = \"pattern\" }, { kind = \"gazetteer\" }, { kind = \"context\" }]".to_owned(),
        format!("[sink]\nstore = {}", folder("out")),
        format!("[emit]\nkind = \"files\"\nstore = {}", folder("emitted")),
        format!("[telemetry]\notlp = {{ endpoint = {:?}, interval_seconds = 1, traces = 1.0 }}", collector.endpoint()),
    ];
    let config = place.write("lethe.toml", config.join("\n"));
    let mut search = Search::new(VALUES.into_iter().chain([FHIR_DATE]));
    let ended = lethe(&["run", "--until-end"], &config).expect(0);
    search.words("run", &ended);
    search.words("emit", &lethe(&["emit", "--until-end"], &config).expect(0));
    let out = place.at("out");
    let inspected = Lethe::new([
        "inspect",
        out.to_str().unwrap(),
        "--audit",
        "--json",
        "--log",
        "trace",
    ]);
    search.words("inspect", &inspected.end().expect(0));
    assert!(search.folder(&out) >= 2, "notes and audit");
    assert!(search.folder(&place.at("emitted")) * 100 >= records * 90);
    for file in files {
        let file = ["--skip-refused", "--input", file.to_str().unwrap()];
        let done = lethe(
            &[&["redact", "--format", on_command_line], &file[..]].concat(),
            &config,
        );
        assert!(matches!(done.code, Some(0 | 6)), "{}", done.err);
        search.words("redact", &done);
    }
    for path in ["/v1/metrics", "/v1/traces"] {
        let bodies = collector.taken(path);
        assert!(!bodies.is_empty(), "{path}");
        bodies.iter().for_each(|body| search.bytes(path, body));
    }
    search.assert_clean();
    assert_eq!(Dataset::read(&out).rows().len(), records);
    // The search must find words that are there.
    let mut proof = Search::new(VALUES.into_iter().chain([FHIR_DATE]));
    proof.folder(&place.at("in"));
    assert!(proof.found.len() >= VALUES.len(), "{:?}", proof.found);
}

#[test]
fn no_value_of_an_hl7v2_field_is_in_rows_messages_audit_paths_logs_metrics_or_traces() {
    let each = hl7v2::TYPES.iter().enumerate();
    let messages = each.map(|(i, kind)| hl7v2::full_of(kind, VALUES[i % VALUES.len()]));
    let messages: String = messages.collect();
    let name = "Quillfeather-5550142-20310517.hl7";
    assert_nothing_comes_out("hl7v2", "hl7v2", &[(name, &messages)], hl7v2::TYPES.len());
}

#[test]
fn no_value_of_a_fhir_element_is_in_rows_messages_audit_paths_logs_metrics_or_traces() {
    let full = [VALUES[0], VALUES[1], FHIR_DATE].map(fhir::full_of);
    let count = full[0].len();
    let lines = (0..count).map(|i| format!("{}\n", full[i % full.len()][i]));
    let lines: String = lines.collect();
    let name = "Quillfeather-5550142-20310517.ndjson";
    assert_nothing_comes_out("fhir", "fhir", &[(name, &lines)], count);
}

#[test]
fn no_value_of_a_c_cda_is_in_rows_messages_audit_paths_logs_metrics_or_traces() {
    let documents = VALUES.map(ccda::full_of);
    let files = [
        ("Quillfeather.xml", documents[0].as_str()),
        ("5550142.xml", documents[1].as_str()),
        ("20310517.xml", documents[2].as_str()),
    ];
    assert_nothing_comes_out("cda", "ccda", &files, files.len());
}
