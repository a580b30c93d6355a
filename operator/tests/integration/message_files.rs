//! Files of messages through the whole program: one row per message in every layout, codes instead of names,
//! and resumption after a kill.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use common::dataset::Dataset;
use common::process::{Ended, Lethe, python};
use common::search::Search;
use common::{Place, folder_sink, quoted};
use lethe_connectors::store::StoreConfig;

/// Returns a message about a patient, whose narrative repeats the name.
fn message(number: usize) -> String {
    [
        format!("MSH|^~\\&|SCRIBE|NORTHGATE|STORE|NORTHGATE|20240315083000||ORU^R01|C-{number}|P|2.5.1"),
        format!("PID|1||77{number:04}31^^^NG^MR||Quillfeather^Tobias^J||19610502|M"),
        format!("OBR|1||R-{number}|11506-3^Progress note^LN|||20240315080000"),
        "OBX|1|TX|11506-3^Progress note^LN|1|Mr Quillfeather slept.||||||F".to_owned(),
    ]
    .join("\r")
        + "\r"
}

fn messages(numbers: std::ops::Range<usize>) -> String {
    numbers.map(message).collect()
}

/// The input and output of runs.
struct Set {
    place: Place,
    out: PathBuf,
}

impl Set {
    fn new() -> Self {
        let place = Place::new();
        let out = place.at("out");
        Self { place, out }
    }

    fn config(&self, source: &str, more: &str) -> PathBuf {
        let codes = quoted(self.place.at("private"));
        let config = format!(
            "[source]\n{source}\ninput = {}\ncodes = {{ kind = \"folder\", path = {codes} }}\n{more}\n[engine]\nmembers = [{{ kind = \"known\" }}]\n{}",
            quoted(self.place.at("in")),
            folder_sink(&self.out)
        );
        self.place.write("lethe.toml", config)
    }

    fn run(&self, format: &str) -> Ended {
        let more = format!("[format]\nkind = {format:?}\n");
        Lethe::through(&self.config("kind = \"files\"", &more)).end()
    }

    /// Returns every row as topic, offset and kind or error.
    fn rows(&self) -> Vec<(String, i64, String)> {
        let data = Dataset::read(&self.out);
        assert_eq!(data.faults(&self.out), Vec::<String>::new());
        let told = data.rows().into_iter().map(|row| {
            let what = row.error.clone().unwrap_or_else(|| row.kind.clone());
            (row.topic.clone(), row.offset, what)
        });
        told.collect()
    }

    fn inspect(&self) {
        Lethe::new(["inspect".as_ref(), self.out.as_os_str()])
            .end()
            .expect(0);
    }
}

/// Counts the rows with this kind or error.
fn count(rows: &[(String, i64, String)], what: &str) -> usize {
    rows.iter().filter(|row| row.2 == what).count()
}

fn topics(rows: &[(String, i64, String)]) -> BTreeSet<&str> {
    rows.iter().map(|row| row.0.as_str()).collect()
}

fn is_code(topic: &str) -> bool {
    topic.len() == 37 && topic.starts_with("file-")
}

#[test]
fn a_folder_of_several_layouts_is_one_row_a_message_and_no_name_of_a_file_comes_out() {
    let set = Set::new();
    let write = |name: &str, content: String| set.place.write(&format!("in/{name}"), content);
    write("zorvane-1961.hl7", message(0));
    write(
        "zorvane/batch.txt",
        format!("FHS|^~\\&|x\rBHS|^~\\&\r{}BTS|2\rFTS|1\r", messages(1..3)),
    );
    write(
        "mllp-zorvane",
        format!("\u{b}{}\u{1c}\r\u{b}{}\u{1c}\r", message(3), message(4)),
    );
    write("concatenated.zorvane", messages(5..8).replace('\r', "\n"));
    write(
        "zorvane.damaged",
        format!("Dear Dr Zorvane,\r{}MSH|^~\\&|cut", messages(8..9)),
    );
    let ended = set.run("hl7v2").expect(0);
    let rows = set.rows();
    assert_eq!((rows.len(), count(&rows, "note")), (11, 9), "{rows:?}");
    assert_eq!(topics(&rows).len(), 5);
    assert!(topics(&rows).into_iter().all(is_code));
    set.inspect();
    let mut search = Search::new(["zorvane", "Zorvane", "Quillfeather"]);
    search.words("run", &ended);
    search.folder(&set.out);
    search.assert_clean();
    // The list of codes maps them back to files.
    let list = common::dataset::files(&set.place.at("private"));
    let list = std::fs::read_to_string(&list[0]).unwrap();
    for topic in topics(&rows) {
        let line = list.lines().find(|line| line.contains(topic)).unwrap();
        assert!(line.contains("zorvane"), "{line}");
    }
}

#[test]
fn files_of_fhir_are_resources_bundles_or_lines() {
    let set = Set::new();
    let observation = |number: usize| {
        serde_json::json!({"resourceType": "Observation", "id": format!("o{number}"), "status": "final",
            "code": {"coding": [{"system": "http://loinc.org", "code": "8867-4"}]}, "valueInteger": 70})
    };
    let bundle = serde_json::json!({"resourceType": "Bundle", "type": "collection",
        "entry": [{"resource": observation(1)}, {"resource": observation(2)}]});
    set.place.write(
        "in/one.json",
        serde_json::to_string_pretty(&observation(0)).unwrap(),
    );
    set.place
        .write("in/bundle.json", serde_json::to_string_pretty(&bundle).unwrap());
    let lines: Vec<String> = (3..8).map(|number| observation(number).to_string()).collect();
    set.place.write("in/Observation.ndjson", lines.join("\n"));
    set.run("fhir").expect(0);
    let rows = set.rows();
    assert_eq!((rows.len(), count(&rows, "structured")), (7, 7), "{rows:?}");
    assert_eq!(topics(&rows).len(), 3);
}

#[test]
fn files_of_one_note_each_share_a_chain_and_later_files_have_another() {
    let set = Set::new();
    for number in 0..20 {
        set.place
            .write(&format!("in/{number:02}.txt"), format!("Note {number}"));
    }
    set.run("text").expect(0);
    let first = set.rows();
    assert_eq!((first.len(), topics(&first).len()), (20, 1));
    // A new file between the others does not take their offsets.
    set.place.write("in/005.txt", "Late");
    set.run("text").expect(0);
    let second = set.rows();
    assert_eq!((second.len(), topics(&second).len()), (21, 2));
    set.inspect();
}

#[test]
fn a_run_that_is_killed_at_any_point_of_a_commit_is_resumed_and_each_message_is_one_row() {
    let set = Set::new();
    for file in 0..2 {
        let content = messages(600 * file..600 * (file + 1));
        set.place.write(&format!("in/{file}.hl7"), content);
    }
    let more = "[format]\nkind = \"hl7v2\"\n[sink.roll]\nmax_rows = 7\n";
    let mut config = std::fs::read_to_string(set.config("kind = \"files\"", more)).unwrap();
    // The sink's table comes last.
    config = config.replace("[sink.roll]\nmax_rows = 7\n", "") + "roll = { max_rows = 7 }\n";
    let config = set.place.write("lethe.toml", config);
    for point in [
        "temporary_written",
        "sealed",
        "audit_written",
        "notes_written",
        "linked",
        "receipt_given",
    ] {
        let ended = Lethe::through(&config).env("LETHE_CRASH_AT", point).end();
        assert_eq!(ended.code, None, "{point}");
    }
    Lethe::through(&config).end().expect(0);
    let rows = set.rows();
    let places: BTreeSet<_> = rows.iter().map(|row| (row.0.as_str(), row.1)).collect();
    assert_eq!(
        (rows.len(), places.len(), count(&rows, "note")),
        (1200, 1200, 1200)
    );
    assert_eq!(topics(&rows).len(), 2);
    set.inspect();
    // Without new messages nothing is written.
    let files = Dataset::read(&set.out).files();
    Lethe::through(&config).end().expect(0);
    assert_eq!(Dataset::read(&set.out).files(), files);
}

#[test]
fn a_list_of_codes_that_is_lost_or_of_another_input_stops_the_run() {
    let set = Set::new();
    set.place.write("in/a.hl7", message(0));
    set.run("hl7v2").expect(0);
    let rows = set.rows();
    let moved = set.place.at("moved");
    std::fs::rename(set.place.at("private"), &moved).unwrap();
    set.run("hl7v2")
        .expect(2)
        .says("source.codes")
        .says("restore the list");
    std::fs::remove_dir_all(set.place.at("private")).unwrap();
    std::fs::rename(moved, set.place.at("private")).unwrap();
    set.run("hl7v2").expect(0);
    assert_eq!(set.rows(), rows);
    std::fs::rename(set.place.at("in"), set.place.at("elsewhere")).unwrap();
    let config = std::fs::read_to_string(set.place.at("lethe.toml")).unwrap();
    let config = config.replace(&quoted(set.place.at("in")), &quoted(set.place.at("elsewhere")));
    let other = set.place.write("other.toml", &config);
    Lethe::through(&other)
        .end()
        .says("key `source.codes`: the list belongs to")
        .says("set `input_id`");
    let id = format!(
        "[source]\ninput_id = \"folder {}\"\n",
        set.place.at("in").display()
    );
    let other = set.place.write("other.toml", config.replace("[source]\n", &id));
    Lethe::through(&other).end().expect(0);
    assert_eq!(set.rows(), rows);
}

fn strict(place: &Place) -> String {
    let policy = place.write(
        "policy.toml",
        "mode = \"safe-harbor\"\ndefault = { action = \"tag\" }\n",
    );
    format!("policy_file = {}\n", quoted(policy))
}

#[test]
fn a_strict_mode_demands_codes_for_a_new_dataset_and_goes_on_with_one_that_is_there() {
    let set = Set::new();
    set.place
        .write("in/zorvane.jsonl", "{\"note_id\":\"1\",\"text\":\"Seen.\"}");
    let config = |names: &str| {
        let config = std::fs::read_to_string(set.config(&format!("kind = \"jsonl\"{names}"), "")).unwrap();
        set.place.write("strict.toml", strict(&set.place) + &config)
    };
    let through = |config: &Path| Lethe::through(config).end();
    through(&config(""))
        .expect(2)
        .says("source.names")
        .says("names = \"codes\"");
    let ended = through(&config("\nnames = \"codes\"")).expect(0);
    let rows = set.rows();
    assert!(rows.len() == 1 && is_code(&rows[0].0), "{rows:?}");
    let mut search = Search::new(["zorvane"]);
    search.words("run", &ended);
    search.folder(&set.out);
    search.assert_clean();

    // An older dataset continues with its names, and never changes to codes: its notes would be written
    // twice.
    let set = Set::new();
    set.place
        .write("in/zorvane.jsonl", "{\"note_id\":\"1\",\"text\":\"Seen.\"}");
    through(&set.config("kind = \"jsonl\"", "")).expect(0);
    set.place.write(
        "in/zorvane.jsonl",
        "{\"note_id\":\"1\",\"text\":\"Seen.\"}\n{\"note_id\":\"2\",\"text\":\"Left.\"}",
    );
    let config = |names: &str| {
        let config = std::fs::read_to_string(set.config(&format!("kind = \"jsonl\"{names}"), "")).unwrap();
        set.place.write("strict.toml", strict(&set.place) + &config)
    };
    through(&config("\nnames = \"codes\""))
        .expect(2)
        .says("written twice");
    through(&config("")).expect(0).says("for a new dataset, set");
    assert_eq!(set.rows().len(), 2);
}

/// Runs `lethe redact` on a text with more arguments; only known identifiers decide.
fn redact(place: &Place, arguments: &[&str], text: &str) -> Ended {
    let config = place.write("members.toml", "[engine]\nmembers = [{ kind = \"known\" }]\n");
    let all = ["redact", "-c", config.to_str().unwrap()]
        .into_iter()
        .chain(arguments.iter().copied());
    Lethe::new(all).end_with(text)
}

#[test]
fn redacted_messages_come_out_in_the_framing_in_which_they_came() {
    let place = Place::new();
    let batch = format!(
        "FHS|^~\\&|Quillfeather\rBHS|^~\\&|Quillfeather\r{}BTS|2|Quillfeather\rFTS|1\r",
        messages(0..2)
    );
    let dump = format!("\u{b}{}\u{1c}\r\u{b}{}\u{1c}\r", message(2), message(3));
    let shape = |text: &str| -> Vec<String> {
        let lines = text
            .split('\r')
            .map(|line| line.replace(['\u{b}', '\u{1c}'], "*"));
        lines.map(|line| line.chars().take(4).collect()).collect()
    };
    for text in [batch.clone(), dump, messages(4..7), message(8)] {
        let done = redact(&place, &["--format", "hl7v2"], &text).expect(0).out;
        assert_eq!(shape(&done), shape(&text));
        assert!(
            !done.contains("Quillfeather") && done.contains("Mr [PATIENT] slept."),
            "{done}"
        );
    }
    let done = redact(&place, &["--format", "hl7v2"], &batch).expect(0).out;
    assert!(
        done.starts_with("FHS|^~\\&\rBHS|^~\\&\rMSH|") && done.ends_with("\rBTS|2\rFTS|1\r"),
        "{done}"
    );
}

#[test]
fn a_refused_message_ends_redact_by_number_and_code_or_is_left_out_and_counted() {
    let place = Place::new();
    let text = [
        message(0),
        message(1).replace("ORU^R01", "ZZZ^Z99"),
        message(2),
        "MSH|^~\\&|cut\r".into(),
    ]
    .concat();
    let text = format!("BHS|^~\\&\r{text}BTS|4\r");
    let stopped = redact(&place, &["--format", "hl7v2"], &text)
        .expect(1)
        .says("message 2: ");
    assert_eq!(stopped.out.matches("MSH|").count(), 1, "{}", stopped.out);
    assert!(!stopped.err.contains("Quillfeather"));
    let done = redact(&place, &["--format", "hl7v2", "--skip-refused"], &text).expect(6);
    let done = done
        .says("2 of 4 messages were refused")
        .says("invalid_payload:MSH-10:required: 1");
    assert_eq!(done.out.matches("MSH|").count(), 2, "{}", done.out);
    assert!(done.out.ends_with("BTS|2\r"), "{}", done.out);
    redact(&place, &["--format", "text", "--skip-refused"], "text")
        .expect(2)
        .says("--skip-refused");
    redact(&place, &["--format", "hl7v2", "--keep", "mrn"], &text)
        .expect(2)
        .says("--keep");
}

#[test]
fn redacted_fhir_is_lines_or_one_resource_as_it_came() {
    let place = Place::new();
    let patient = |number: usize| {
        serde_json::json!({"resourceType": "Patient", "id": format!("p{number}"), "gender": "female",
            "name": [{"family": "Quillfeather"}]})
    };
    let lines: Vec<String> = (0..3).map(|number| patient(number).to_string()).collect();
    let done = redact(&place, &["--format", "fhir"], &lines.join("\n"))
        .expect(0)
        .out;
    assert_eq!(done.lines().count(), 3);
    let bundle = serde_json::json!({"resourceType": "Bundle", "type": "collection",
        "entry": [{"resource": patient(0)}, {"resource": patient(1)}]});
    let file = place.write("bundle.json", serde_json::to_string_pretty(&bundle).unwrap());
    let whole = redact(&place, &["--format", "fhir", file.to_str().unwrap()], "")
        .expect(0)
        .out;
    for line in done.lines().chain([whole.as_str()]) {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(
            !line.contains("Quillfeather") && line.contains("female"),
            "{value}"
        );
    }
}

#[test]
fn a_cda_document_comes_out_of_redact_and_of_emit() {
    const DOCUMENT: &str = include_str!("../../../connectors/format/tests/integration/cda/continuity.xml");
    let check = |document: &str| {
        assert!(
            document.contains("<confidentialityCode code=\"N\"")
                && document.contains("<caption>Known allergies</caption>"),
            "{document}"
        );
        for name in ["Quillfeather", "Marchbank", "MRN-4471902", "displayName"] {
            assert!(!document.contains(name), "{name}: {document}");
        }
    };
    let set = Set::new();
    check(&redact(&set.place, &["--format", "ccda"], DOCUMENT).expect(0).out);
    set.place.write("in/a.xml", DOCUMENT);
    let config = set.config(
        "kind = \"files\"",
        "[format]\nkind = \"cda\"\nkeep_message = true\n",
    );
    Lethe::through(&config).end().expect(0);
    let folder = set.place.at("messages");
    let emit = format!(
        "{}\n[emit]\nkind = \"files\"\nstore = {{ kind = \"folder\", path = {} }}\nsuffix = \".xml\"\n",
        std::fs::read_to_string(&config).unwrap(),
        quoted(&folder)
    );
    let emit = set.place.write("emit.toml", emit);
    Lethe::new(["emit", "--until-end", "-c", emit.to_str().unwrap()])
        .end()
        .expect(0);
    let files = common::dataset::all_files(&folder);
    assert_eq!(files.len(), 1, "{files:?}");
    check(&std::fs::read_to_string(&files[0]).unwrap());
}

#[test]
fn a_compressed_file_is_not_taken_for_a_message() {
    let place = Place::new();
    let file = place.write("a.hl7.gz", [0x1f, 0x8b, 8, 0, 0]);
    // It is decompressed, and this one ends too early.
    redact(&place, &["--format", "hl7v2", file.to_str().unwrap()], "")
        .expect(1)
        .says("a.hl7.gz: cannot be read");
}

/// Parses a file of messages with an independent library, and creates archives of it with another.
const PARSE: &str = "
import hl7, sys
text = open(sys.argv[1], newline='').read()
batch = hl7.parse_batch(text)
assert all(str(message.segment('MSH')[9]) == 'ORU^R01' for message in batch)
assert all('Quillfeather' not in str(message) for message in batch)
print(len(batch), 'messages')
";

#[test]
fn a_redacted_batch_is_parsed_by_an_independent_library() {
    let place = Place::new();
    let text = format!("BHS|^~\\&|NORTHGATE\r{}BTS|20\r", messages(0..20));
    let done = redact(&place, &["--format", "hl7v2"], &text).expect(0).out;
    let file = place.write("out.hl7", done);
    assert_eq!(python(PARSE, &[file.to_str().unwrap()]).trim(), "20 messages");
}

/// Creates archives of message files.
const ARCHIVE: &str = "
import io, sys, tarfile, zipfile
folder, text = sys.argv[1], open(sys.argv[2], newline='').read().encode()
with zipfile.ZipFile(folder + '/a.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
    archive.writestr('x.hl7', text)
    with archive.open('y.hl7', 'w', force_zip64=True) as entry:
        entry.write(text)
for name, mode, form in [('gnu.tar', 'w', tarfile.GNU_FORMAT), ('pax.tgz', 'w:gz', tarfile.PAX_FORMAT)]:
    with tarfile.open(folder + '/' + name, mode, format=form) as archive:
        for entry in ['x.hl7', 'long/' * 60 + 'y.hl7', 'é.hl7']:
            info = tarfile.TarInfo(entry)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
";

#[test]
fn a_bucket_of_archives_that_other_tools_wrote_is_one_row_a_message() {
    let set = Set::new();
    let text = set.place.write("text.hl7", messages(0..5));
    let folder = set.place.at("in");
    std::fs::create_dir_all(&folder).unwrap();
    python(ARCHIVE, &[folder.to_str().unwrap(), text.to_str().unwrap()]);
    let prefix = common::kafka::name("message-files");
    let table = common::s3_sink(&prefix, None, "").replace("[sink.store]", "[source.store]");
    let parsed: toml::Table = toml::from_str(&table).unwrap();
    let config: StoreConfig = parsed["source"]["store"].clone().try_into().unwrap();
    let store = config.build().unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        for path in common::dataset::files(&folder) {
            let name = format!("feed/{}", path.file_name().unwrap().to_str().unwrap());
            store
                .create(&name, std::fs::read(&path).unwrap().into())
                .await
                .unwrap();
        }
        store.create("other/z.hl7", message(9).into()).await.unwrap();
    });
    let config = format!(
        "[source]\nkind = \"files\"\nfolder = \"feed\"\ncodes = {{ kind = \"folder\", path = {} }}\n{table}\n[format]\nkind = \"hl7v2\"\n[engine]\nmembers = [{{ kind = \"known\" }}]\n{}",
        quoted(set.place.at("private")),
        folder_sink(&set.out)
    );
    let config = set.place.write("lethe.toml", config);
    let ended = Lethe::through(&config).end().expect(0);
    let rows = set.rows();
    assert_eq!(
        (rows.len(), count(&rows, "note"), topics(&rows).len()),
        (40, 40, 3),
        "{rows:?}"
    );
    set.inspect();
    let mut search = Search::new(["pax.tgz", "gnu.tar", "a.zip", "x.hl7"]);
    search.words("run", &ended);
    search.folder(&set.out);
    search.assert_clean();
    // An unavailable store ends the run with an error that names no file.
    let away = table.replace(&common::env("LETHE_TEST_S3_ENDPOINT"), "http://127.0.0.1:9");
    let away = std::fs::read_to_string(&config).unwrap().replace(&table, &away);
    let away = set.place.write(
        "away.toml",
        away.replace("[source.store]", "[source.store]\nretries = 0\nretry_seconds = 1"),
    );
    Lethe::through(&away).end().expect(1).says("source.store");
}
