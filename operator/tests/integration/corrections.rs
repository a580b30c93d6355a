//! Corrections of a running stream: learnt without stopping it, in force within a minute, still in force
//! after a kill, and rolled back by one command.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray as _;
use common::bundle::of_field;
use common::checks::until_rows;
use common::dataset::{Dataset, files, read_parquet};
use common::gold::gold;
use common::kafka::Topic;
use common::process::{Lethe, Running, TIMEOUT};
use common::{Place, folder_sink, quoted};
use serde_json::{Value, json};

/// A name that no member has seen, in a position where none of them expects one.
const NAME: &str = "Ulvastra Quenne";

fn publish(bundle: &Path, folder: &Path) -> String {
    let arguments = ["ensemble", "publish", bundle.to_str().unwrap(), "--to"];
    let ended = Lethe::new(arguments.into_iter().chain([folder.to_str().unwrap()])).end();
    ended.expect(0).out.trim().to_owned()
}

fn roll_back(folder: &Path) -> String {
    let ended = Lethe::new(["ensemble", "roll-back", folder.to_str().unwrap()]).end();
    ended.expect(0).out.trim().to_owned()
}

fn learning(config: &Path) -> Lethe {
    let arguments = ["adapt", "corrections", "-c", config.to_str().unwrap()];
    Lethe::new(arguments)
}

/// Returns a correction of a note, in which each of these is a name.
fn correction(note: &str, text: &str, names: &[&str]) -> String {
    let span = |name: &&str| {
        let start = text.split(name).next().unwrap().chars().count();
        json!({"start": start, "end": start + name.chars().count(), "label": "NAME"})
    };
    let spans: Vec<Value> = names.iter().map(span).collect();
    let correction = json!({"note": note, "text": text, "spans": spans, "who": "reader-7", "when": "2026-03-01T10:00:00Z"});
    correction.to_string()
}

/// Returns the text of a note in which the name leaks.
fn text(number: usize) -> String {
    format!("el celador trae a {NAME} desde la sala {number} sin prisa\n")
}

fn event(number: usize) -> String {
    json!({"note_id": format!("n{number}"), "text": text(number)}).to_string()
}

/// Returns for each file: its first offset, the version of its footer, and whether its notes show the name.
fn seen(out: &Path) -> Vec<(i64, String, bool)> {
    let data = Dataset::read(out);
    assert_eq!(data.faults(out), Vec::<String>::new());
    let file = |file: &common::dataset::NotesFile| {
        let shows: Vec<bool> = file
            .rows
            .iter()
            .map(|row| row.text.as_ref().unwrap().contains(NAME))
            .collect();
        assert!(
            shows.iter().all(|shown| *shown == shows[0]),
            "a file of two versions"
        );
        (file.first, version(&file.footer), shows[0])
    };
    data.chains
        .values()
        .flatten()
        .filter(|one| !one.rows.is_empty())
        .map(file)
        .collect()
}

fn version(footer: &BTreeMap<String, String>) -> String {
    footer["lethe.fingerprint.bundle"].chars().take(16).collect()
}

/// Sends notes until one of them is redacted differently from the last, for at most a minute; returns the
/// version that did it.
fn until_shown(
    shown: bool,
    topic: &Topic,
    out: &Path,
    next: &mut usize,
    stream: &mut Running,
    learner: &Running,
) -> String {
    let began = Instant::now();
    loop {
        topic.fill([event(*next)]);
        *next += 1;
        until_rows(out, *next, stream);
        let (_, version, shows) = seen(out).pop().unwrap();
        if shows == shown {
            return version;
        }
        assert!(
            began.elapsed() < TIMEOUT,
            "nothing changed:\n{}\n{}",
            stream.err(),
            learner.err()
        );
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Returns the journal's entries of a kind.
fn journal(state: &Path, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(state.join("journal.jsonl")).unwrap();
    let entries = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter(|entry| entry["entry"] == kind).collect()
}

#[test]
fn a_correction_is_in_force_within_a_minute_survives_a_kill_and_goes_by_one_command() {
    let place = Place::new();
    let (topic, corrections) = (Topic::new("corrected", 1), Topic::new("corrections", 2));
    let (out, folder, state) = (place.at("out"), place.at("bundles"), place.at("state"));
    let base = publish(&of_field(&place), &folder);
    let session = "properties = { \"session.timeout.ms\" = 2000, \"heartbeat.interval.ms\" = 500 }\n";
    let config = format!(
        "[engine]\nbundle = {}\n\n{}{}roll = {{ max_age_seconds = 0.5, max_idle_seconds = 0.5 }}\n\n\
         [corrections]\nfrom = {{ kind = \"kafka\", topic = {:?} }}\nstate = {}\nkeep_share = 0.0\nmax_wait_seconds = 1.0\n",
        quoted(&folder),
        topic.source_with(session),
        folder_sink(&out),
        corrections.name,
        quoted(&state),
    );
    let config = place.write("lethe.toml", config);
    let check = Lethe::new(["check", "--connect", "-c", config.to_str().unwrap()]).end();
    let told = check.expect(0).out;
    assert!(
        told.contains("-corrections") && told.contains("2 partitions"),
        "{told}"
    );

    let (mut stream, mut learner) = (Lethe::run(&config).start(), learning(&config).start());
    let mut next = 0;
    assert_eq!(
        until_shown(true, &topic, &out, &mut next, &mut stream, &learner),
        base
    );

    // One correction among invalid ones.
    let bad = [
        "{ \"note\": \"Ulvastra".to_owned(),
        correction("n0", &text(0), &[NAME]).replace("NAME", "Quenne"),
    ];
    corrections.fill([&bad[0], &correction("n0", &text(0), &[NAME]), &bad[1]]);
    let corrected = until_shown(false, &topic, &out, &mut next, &mut stream, &learner);
    assert_ne!(corrected, base);
    // The audit names the version, and that the list of phrases decided.
    let audits = files(&out.join("audit"));
    let mut audits = audits.iter().map(|path| read_parquet(path).unwrap());
    let of_it = audits.find(|(footer, _)| version(footer) == corrected);
    let (_, rows) = of_it.unwrap();
    let rules = rows.iter().flat_map(|batch| {
        let rules = batch.column_by_name("rule").unwrap().as_string::<i32>();
        rules
            .iter()
            .map(|rule| rule.unwrap().to_owned())
            .collect::<Vec<_>>()
    });
    assert!(rules.into_iter().any(|rule| rule == "phrases.listed"));

    // Both survive a kill at any moment, and nothing is learnt twice.
    for process in [&stream, &learner] {
        process.signal("KILL");
    }
    let mut output = stream.err() + &learner.err();
    drop((stream, learner));
    (stream, learner) = (Lethe::run(&config).start(), learning(&config).start());
    learner.until_it_says("taken_before=1", TIMEOUT);
    topic.fill([event(next)]);
    next += 1;
    until_rows(&out, next, &mut stream);
    let (_, version, shows) = seen(&out).pop().unwrap();
    assert_eq!((version, shows), (corrected.clone(), false));
    corrections.fill([correction("other", "vino Zelmara Oxt sola\n", &["Zelmara Oxt"])]);
    learner.until_it_says("published", TIMEOUT);
    assert_eq!(journal(&state, "correction").len(), 2);
    let rejected = std::fs::read_to_string(state.join("rejected.jsonl")).unwrap();
    assert_eq!(rejected.lines().count(), 2);

    // A first roll-back, and another to the base; a version that was rolled back is not published again.
    assert_eq!(roll_back(&folder), corrected);
    assert_eq!(roll_back(&folder), base);
    learner.until_it_says("set aside", TIMEOUT);
    assert_eq!(
        until_shown(true, &topic, &out, &mut next, &mut stream, &learner),
        base
    );
    corrections.fill([correction("third", "vino Tamrik Vo sola\n", &["Tamrik Vo"])]);
    let before = learner.err().matches("published").count();
    let began = Instant::now();
    while learner.err().matches("published").count() == before {
        assert!(began.elapsed() < TIMEOUT, "{}", learner.err());
        std::thread::sleep(Duration::from_millis(100));
    }
    stream.until_it_says("reloaded;", TIMEOUT);
    topic.fill([event(next)]);
    until_rows(&out, next + 1, &mut stream);
    assert!(seen(&out).pop().unwrap().2, "what was taken back stays so");

    for process in [stream, learner] {
        process.signal("TERM");
        output += &process.wait(TIMEOUT).expect(0).err;
    }
    // The committed offset is that of the journal.
    let committed = corrections.committed(&format!("{}-group-corrections", topic.name));
    let sum: i64 = committed.values().map(|next| next.unwrap_or(0)).sum();
    assert_eq!(sum, 5, "{committed:?}");
    for (partition, offset) in [(0, 0), (0, 1)] {
        let told = format!(
            "{}/{partition}, offset {offset}: invalid correction",
            corrections.name
        );
        assert!(output.contains(&told), "{told}\n{output}");
    }
    for word in ["Ulvastra", "Quenne", "Zelmara", "celador", "reader-7"] {
        assert!(
            !output.contains(word) && !rejected.contains(word),
            "{word}\n{output}"
        );
    }
}

/// Returns the weight of the built-in bundle's member that naive Bayes was mixed with, in a version; `None` in a version
/// without a mixture.
fn weight(version: &Path) -> Option<f64> {
    let manifest = std::fs::read_to_string(version.join("members/cnn/member.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    manifest["settings"].get("weight").and_then(toml::Value::as_float)
}

#[test]
fn corrections_from_a_topic_move_the_weight_of_a_member_of_the_default_bundle() {
    let place = Place::new();
    let (topic, corrections) = (Topic::new("weighed", 1), Topic::new("weighing", 1));
    let (folder, state) = (place.at("bundles"), place.at("state"));
    let base = publish(Path::new("en-clinical"), &folder);
    let config = format!(
        "[engine]\nbundle = {}\n\n{}{}\n\
         [corrections]\nfrom = {{ kind = \"kafka\", topic = {:?} }}\nstate = {}\nkeep_share = 0.0\nbatch = 12\nmax_wait_seconds = 1.0\n",
        quoted(&folder),
        topic.source_with(""),
        folder_sink(&place.at("out")),
        corrections.name,
        quoted(&state),
    );
    let config = place.write("lethe.toml", config);
    // A name of its own in each note, so that no phrase helps with the next one.
    let correction = |i: usize| {
        let name = format!(
            "{}{}ul",
            ["Zor", "Quen", "Vash", "Tam"][i % 4],
            ["ik", "et", "ob", "ay", "uv", "is", "ax", "em", "od"][i / 4]
        );
        let text = format!("porter {name} came along to bay {i} without any hurry\n");
        let (start, end) = (7, 7 + name.len());
        let spans = [json!({"start": start, "end": end, "label": "DOCTOR"})];
        json!({"note": format!("n{i}"), "text": text, "spans": spans, "who": "reader-7", "when": "2026-03-01T10:00:00Z"}).to_string()
    };
    let learn = [
        "adapt",
        "corrections",
        "--until-end",
        "-c",
        config.to_str().unwrap(),
    ];
    // The weight is fitted on a batch before naive Bayes learns from it, so that the first one has none.
    for round in 0..3 {
        corrections.fill((12 * round..12 * (round + 1)).map(correction));
        Lethe::new(learn)
            .end()
            .expect(0)
            .says("`cnn` is mixed with naive Bayes");
        // They may arrive in several polls, and are one batch all the same.
        assert_eq!(journal(&state, "correction").len(), 12 * (round + 1));
        assert_eq!(journal(&state, "batch").len(), round + 1);
    }
    let versions: Vec<PathBuf> = journal(&state, "published")
        .iter()
        .map(|entry| folder.join("versions").join(entry["version"].as_str().unwrap()))
        .collect();
    assert_eq!(weight(&folder.join("versions").join(base)), None);
    let weights: Vec<f64> = versions.iter().filter_map(|version| weight(version)).collect();
    assert!(weights.len() >= 2, "{weights:?}");
    assert!(
        weights.iter().all(|weight| (0.0..1.0).contains(weight)),
        "{weights:?}"
    );
}

/// Writes a configuration with corrections from a file, without a stream.
fn from_file(place: &Place, folder: &Path, more: &str) -> PathBuf {
    let config = format!(
        "[engine]\nbundle = {}\n\n[corrections]\nfrom = {{ kind = \"jsonl\", input = {} }}\nstate = {}\nmax_wait_seconds = 0.5\n{more}\n",
        quoted(folder),
        quoted(place.at("corrections.jsonl")),
        quoted(place.at("state")),
    );
    place.write("file.toml", config)
}

/// Returns a text redacted by a bundle, through the command line.
fn redacted(place: &Place, folder: &Path, text: &str) -> String {
    let input = place.write("note.txt", text);
    let arguments = [
        "redact",
        "--bundle",
        folder.to_str().unwrap(),
        "--input",
        input.to_str().unwrap(),
    ];
    Lethe::new(arguments).end().expect(0).out
}

#[test]
fn a_file_of_corrections_is_followed_as_it_grows_and_read_to_its_end() {
    let place = Place::new();
    let folder = place.at("bundles");
    publish(&of_field(&place), &folder);
    let config = from_file(&place, &folder, "keep_share = 0.0");
    let file = place.at("corrections.jsonl");
    // The file need not exist yet.
    let mut learner = learning(&config).start();
    learner.until_it_says("learning corrections", TIMEOUT);
    let first = correction("n0", &text(0), &[NAME]);
    let (half, rest) = first.split_at_checked(40).unwrap();
    let mut growing = std::fs::File::create(&file).unwrap();
    growing.write_all(half.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    growing
        .write_all(format!("{rest}\nno correction\n").as_bytes())
        .unwrap();
    learner.until_it_says("published", TIMEOUT);
    assert!(
        learner
            .err()
            .contains("corrections.jsonl, line 2: invalid correction"),
        "{}",
        learner.err()
    );
    assert!(!redacted(&place, &folder, &text(4)).contains(NAME));
    let second = learning(&config).end().expect(1);
    assert!(second.err.contains("another process"), "{}", second.err);
    learner.signal("KILL");
    drop(learner);

    let other = "vino Zelmara Oxt sola\n";
    growing
        .write_all(correction("n1", other, &["Zelmara Oxt"]).as_bytes())
        .unwrap();
    let to_end = || {
        Lethe::new([
            "adapt",
            "corrections",
            "--until-end",
            "-c",
            config.to_str().unwrap(),
        ])
        .end()
    };
    to_end().expect(0).says("taken_before=1").says("published");
    assert!(!redacted(&place, &folder, &(text(4) + other)).contains("Zelmara"));
    let versions = std::fs::read_dir(folder.join("versions")).unwrap().count();
    let again = to_end().expect(0);
    assert!(
        !again.err.contains("published") && !again.err.contains("1 corrections received"),
        "{}",
        again.err
    );
    assert_eq!(
        std::fs::read_dir(folder.join("versions")).unwrap().count(),
        versions
    );
    assert_eq!(journal(&place.at("state"), "correction").len(), 2);
    // A truncated file cannot be followed.
    std::fs::write(&file, "\n").unwrap();
    to_end().expect(1).says("corrections.jsonl: has 1 bytes");
}

#[test]
fn a_version_that_is_worse_on_the_held_out_set_is_reported_and_not_published() {
    let place = Place::new();
    let folder = place.at("bundles");
    let base = publish(&of_field(&place), &folder);
    // In this document the words are not a name.
    let contradicts = json!({"doc_id": "k", "text": text(9), "spans": []}).to_string();
    let held_out = place.write("kept.jsonl", gold(5) + &contradicts + "\n");
    let more = format!("held_out = {}\nkeep_share = 0.0", quoted(&held_out));
    let config = from_file(&place, &folder, &more);
    place.write("corrections.jsonl", correction("n0", &text(0), &[NAME]) + "\n");
    let to_end = || {
        Lethe::new([
            "adapt",
            "corrections",
            "--until-end",
            "-c",
            config.to_str().unwrap(),
        ])
        .end()
    };
    let ended = to_end()
        .expect(0)
        .says("worse than the current version")
        .says("on 6 held-out notes");
    assert!(!ended.err.contains(NAME));
    assert_eq!(
        std::fs::read_to_string(folder.join("current")).unwrap().trim(),
        base
    );
    assert!(redacted(&place, &folder, &text(1)).contains(NAME));

    let bad = place.write(
        "kept.jsonl",
        json!({"text": "Ana", "spans": [{"start": 0, "end": 3, "label": "WARD"}]}).to_string(),
    );
    to_end()
        .expect(2)
        .says("key `corrections.held_out`")
        .says("document 1");
    std::fs::remove_file(bad).unwrap();
    to_end().expect(2).says("key `corrections.held_out`");
}

#[test]
fn what_is_wrong_with_the_table_is_told_by_its_key_to_every_command_that_reads_it() {
    let place = Place::new();
    let folder = place.at("bundles");
    publish(&of_field(&place), &folder);
    for (more, told) in [
        ("keep_share = 2.0", "key `corrections.keep_share`"),
        ("first = \"svm\"", "no trained member `svm`; choose one of `crf`"),
        ("colour = 1", "key `corrections.colour`"),
    ] {
        let config = from_file(&place, &folder, more);
        learning(&config).end().expect(2).says(told);
        if !more.starts_with("first") {
            Lethe::new(["check", "-c", config.to_str().unwrap()])
                .end()
                .expect(2)
                .says(told);
        }
    }
    let config = from_file(&place, &place.at("bundle"), "");
    learning(&config)
        .end()
        .expect(2)
        .says("key `engine.bundle`")
        .says("a folder of versions");
    let bare = place.write("bare.toml", "[engine]\n");
    learning(&bare)
        .end()
        .expect(2)
        .says("the configuration has no `[corrections]`");
}
