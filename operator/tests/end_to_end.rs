//! The whole path with real parts: notes in a real Kafka, rows in a folder and in a real S3-compatible store.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests, as tests themselves, say where they fail"
)]

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use common::dataset::Dataset;
use common::kafka::Topic;
use common::notes::{self, events, id, planted};
use common::process::{Lethe, python};
use rdkafka::producer::{BaseRecord, Producer as _};

use common::{Place, env, folder_sink, quoted, s3_sink};

const NOTES: usize = 2_000;

/// Asserts that `lethe inspect` finds a folder intact, with so many notes.
#[track_caller]
fn assert_intact(folder: &Path, notes: usize) {
    let report = Lethe::new(["inspect".as_ref(), folder.as_os_str(), "--json".as_ref()])
        .end()
        .expect(0);
    let report: serde_json::Value = serde_json::from_str(&report.out).unwrap();
    let chains = report["chains"].as_array().unwrap();
    let sum: u64 = chains.iter().map(|chain| chain["notes"].as_u64().unwrap()).sum();
    assert_eq!(sum, notes as u64);
    assert!(
        chains
            .iter()
            .all(|chain| chain["faults"].as_array().unwrap().is_empty())
    );
    assert_eq!(report["orphans"].as_array().unwrap().len(), 0);
}

/// Asserts that every note is there once, and that nothing planted in it is.
#[track_caller]
fn assert_redacted(data: &Dataset, notes: usize) {
    let rows = data.rows();
    let ids: BTreeSet<String> = rows.iter().map(|row| row.note_id.clone().unwrap()).collect();
    assert_eq!(rows.len(), notes);
    assert_eq!(ids, (0..notes).map(id).collect());
    for row in rows {
        let number: usize = row
            .note_id
            .as_ref()
            .unwrap()
            .trim_start_matches("note-")
            .parse()
            .unwrap();
        let text = row.text.as_ref().unwrap();
        for identifier in planted(number) {
            assert!(
                !text.contains(&identifier),
                "{identifier} stands in the output of {number}"
            );
        }
        assert!(
            text.starts_with("PROGRESS NOTE\n") && row.redactions >= 4,
            "{row:?}"
        );
    }
}

#[test]
fn two_thousand_notes_go_from_eight_partitions_into_a_folder_each_once_and_redacted() {
    let place = Place::new();
    let topic = Topic::new("folder", 8);
    topic.fill(events(NOTES));
    let out = place.at("out");
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out));
    Lethe::through(&config).end().expect(0);

    let data = Dataset::read(&out);
    data.assert_exactly(&out, &topic.offsets());
    assert_eq!(data.chains.len(), 8);
    assert_redacted(&data, NOTES);
    assert_intact(&out, NOTES);

    // What Kafka has as the group's place is the end of what is durable.
    let ends = topic.watermarks();
    for (partition, committed) in topic.committed(&format!("{}-group", topic.name)) {
        assert_eq!(committed, Some(ends[&partition].1), "partition {partition}");
    }

    // Tools of others read the same rows.
    let script = "
import sys, duckdb, pyarrow.dataset as ds
folder = sys.argv[1]
table = ds.dataset(folder + '/notes', format='parquet').to_table(columns=['note_id', 'offset', 'text'])
print(table.num_rows, len(set(table['note_id'].to_pylist())))
def first(query): return duckdb.execute(query).fetchone()
print(*first(f\"select count(*), count(distinct note_id), count(distinct partition) from '{folder}/notes/**/*.parquet'\"))
redactions, = first(f\"select sum(redactions) from '{folder}/notes/**/*.parquet'\")
audit, = first(f\"select count(*) from '{folder}/audit/**/*.parquet'\")
print(redactions == audit, audit > 0)
";
    let read = python(script, &[out.to_str().unwrap()]);
    assert_eq!(read, "2000 2000\n2000 2000 8\nTrue True\n");

    // Nothing is new: a second run writes nothing.
    let files = common::dataset::files(&out);
    Lethe::through(&config).end().expect(0);
    assert_eq!(common::dataset::files(&out), files);
}

#[test]
fn notes_go_into_a_real_s3_compatible_store_and_a_second_run_adds_only_what_is_new() {
    let place = Place::new();
    let topic = Topic::new("bucket", 4);
    topic.fill(events(600));
    let prefix = format!("end-to-end/{}", topic.name);
    let config = place.write("lethe.toml", topic.source() + &s3_sink(&prefix, None, ""));
    Lethe::through(&config).end().expect(0);
    topic.fill((600..700).map(notes::event));
    Lethe::through(&config).end().expect(0);

    let report = Lethe::new(["inspect".as_ref(), "-c".as_ref(), config.as_os_str()])
        .end()
        .expect(0);
    assert!(!report.out.is_empty());
    let script = "
import sys, pyarrow.dataset as ds, pyarrow.fs as fs
endpoint, region, key, secret, path, local = sys.argv[1:]
s3 = fs.S3FileSystem(access_key=key, secret_key=secret, region=region, endpoint_override=endpoint, scheme='http')
fs.copy_files(path, local, source_filesystem=s3)
";
    let local = place.at("copy");
    python(
        script,
        &[
            env("LETHE_TEST_S3_ENDPOINT").trim_start_matches("http://"),
            &env("LETHE_TEST_S3_REGION"),
            &env("LETHE_TEST_S3_KEY"),
            &env("LETHE_TEST_S3_SECRET"),
            &format!("{}/{prefix}", env("LETHE_TEST_S3_BUCKET")),
            local.to_str().unwrap(),
        ],
    );
    let data = Dataset::read(&local);
    data.assert_exactly(&local, &topic.offsets());
    assert_redacted(&data, 700);
}

/// The `[source]` table of a topic at the secure broker.
fn secure_source(topic: &Topic, user: &str, password: &str) -> String {
    format!(
        "[source]\nkind = \"kafka\"\nbrokers = [{:?}]\ntopics = [{:?}]\ngroup = \"{}-group\"\nsecurity = {{ protocol = \"sasl\", mechanism = \
         \"SCRAM-SHA-512\", user = {user:?}, password = {password:?}, ca = {:?} }}\n",
        env("LETHE_TEST_KAFKA_SECURE"),
        topic.name,
        topic.name,
        env("LETHE_TEST_KAFKA_SECURE_CA"),
    )
}

#[test]
fn notes_come_over_tls_with_a_scram_login() {
    let place = Place::new();
    let topic = Topic::at(&env("LETHE_TEST_KAFKA_SECURE_PLAIN"), "secure", 4);
    topic.fill(events(400));
    let out = place.at("out");
    // The password comes as deployments give it: from the environment.
    let source = secure_source(&topic, &env("LETHE_TEST_KAFKA_SECURE_USER"), "${SCRAM_PASSWORD}");
    let config = place.write("lethe.toml", source + &folder_sink(&out));
    let password = env("LETHE_TEST_KAFKA_SECURE_PASSWORD");
    Lethe::through(&config)
        .env("SCRAM_PASSWORD", &password)
        .end()
        .expect(0);
    let data = Dataset::read(&out);
    data.assert_exactly(&out, &topic.offsets());
    assert_redacted(&data, 400);

    let checked = Lethe::new([
        "check".as_ref(),
        "--connect".as_ref(),
        "-c".as_ref(),
        config.as_os_str(),
    ])
    .env("SCRAM_PASSWORD", &password)
    .end()
    .expect(0);
    assert!(
        checked.out.contains("4 partitions, 400 records"),
        "{}",
        checked.out
    );
}

#[test]
fn a_wrong_password_ends_the_run_promptly_and_says_what_to_check() {
    let place = Place::new();
    let topic = Topic::at(&env("LETHE_TEST_KAFKA_SECURE_PLAIN"), "wrong", 1);
    let source = secure_source(&topic, &env("LETHE_TEST_KAFKA_SECURE_USER"), "correct-horse-9731");
    let config = place.write("lethe.toml", source + &folder_sink(&place.at("out")));
    for command in [vec!["run", "--until-end"], vec!["check", "--connect"]] {
        let code = if command[0] == "check" { 4 } else { 1 };
        let ended = Lethe::new(
            command
                .iter()
                .map(AsRef::as_ref)
                .chain(["-c".as_ref(), config.as_os_str()]),
        )
        .end()
        .expect(code)
        .says("refused the login")
        .says("`password`");
        assert!(ended.took < Duration::from_secs(30), "{:?}", ended.took);
        assert!(!ended.err.contains("correct-horse"), "{}", ended.err);
    }
}

#[test]
fn a_user_without_rights_is_told_so_promptly() {
    let place = Place::new();
    let topic = Topic::at(&env("LETHE_TEST_KAFKA_SECURE_PLAIN"), "denied", 1);
    let source = secure_source(
        &topic,
        &env("LETHE_TEST_KAFKA_SECURE_DENIED_USER"),
        &env("LETHE_TEST_KAFKA_SECURE_DENIED_PASSWORD"),
    );
    let config = place.write("lethe.toml", source + &folder_sink(&place.at("out")));
    let ended = Lethe::through(&config).end().expect(1).says(&topic.name);
    assert!(
        ended.err.contains("refuse topic") || ended.err.contains("does not exist"),
        "{}",
        ended.err
    );
    assert!(ended.took < Duration::from_secs(30), "{:?}", ended.took);
}

#[test]
fn terminated_in_mid_stream_it_drains_and_leaves_and_the_next_run_goes_on() {
    let place = Place::new();
    let topic = Topic::new("terminated", 4);
    topic.fill(events(200));
    let out = place.at("out");
    let config = place.write(
        "lethe.toml",
        topic.source() + &folder_sink(&out) + "roll = { max_rows = 40 }\n",
    );
    let mut running = Lethe::run(&config).start();
    running.until_it_says("assigned", Duration::from_secs(30));
    // Notes keep coming while it is told to stop.
    let producer = topic.producer();
    let mut number = 200;
    let mut ended = None;
    let started = Instant::now();
    while ended.is_none() {
        for _ in 0..20 {
            producer
                .send(
                    Some((number % 4) as i32),
                    None,
                    Some(notes::event(number).as_bytes()),
                )
                .unwrap();
            number += 1;
        }
        std::thread::sleep(Duration::from_millis(20));
        if number == 600 {
            running.signal("TERM");
        }
        if number >= 600 && !running.lives() {
            ended = Some(());
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{}", running.err());
    }
    let first = running.wait(Duration::from_secs(1)).expect(0).says("stopping");
    assert!(first.err.contains("done:"), "{}", first.err);
    producer.finish().unwrap();
    let produced = topic.offsets();
    assert_eq!(produced.len(), number);
    let before = Dataset::read(&out);
    assert!(before.faults(&out).is_empty() && !before.rows().is_empty());
    // What it wrote is what it told Kafka, at each partition.
    let group = format!("{}-group", topic.name);
    for (partition, committed) in topic.committed(&group) {
        let durable = before.partition(partition).last().map(|row| row.offset + 1);
        assert_eq!(committed, durable, "partition {partition}");
    }

    Lethe::through(&config).end().expect(0);
    let data = Dataset::read(&out);
    data.assert_exactly(&out, &produced);
    assert_redacted(&data, number);
}

#[test]
fn a_topic_without_records_does_not_end_the_reading_of_another() {
    let place = Place::new();
    let (short, long) = (Topic::new("a-short", 2), Topic::new("long", 2));
    short.fill(events(4));
    short.trim(0, 2);
    short.trim(1, 2);
    long.fill(events(NOTES));
    let out = place.at("out");
    let source = long.source().replace(
        &format!("topics = [{:?}]", long.name),
        &format!("topics = [{:?}, {:?}]", short.name, long.name),
    );
    let config = place.write("lethe.toml", source + &folder_sink(&out));
    Lethe::through(&config).end().expect(0);
    let data = Dataset::read(&out);
    assert_eq!(data.faults(&out), Vec::<String>::new());
    let of = |name: &str| data.rows().iter().filter(|row| row.topic == name).count();
    assert_eq!((of(&short.name), of(&long.name)), (0, NOTES));
}

#[test]
fn of_transactions_only_what_was_committed_becomes_rows() {
    let topic = Topic::new("transactions", 2);
    let producer: rdkafka::producer::BaseProducer = rdkafka::ClientConfig::new()
        .set("bootstrap.servers", &topic.brokers)
        .set("transactional.id", &topic.name)
        .create()
        .unwrap();
    let wait = Duration::from_secs(30);
    producer.init_transactions(wait).unwrap();
    let mut committed = BTreeSet::new();
    for transaction in 0..10 {
        producer.begin_transaction().unwrap();
        for number in transaction * 20..(transaction + 1) * 20 {
            let payload = notes::event(number);
            let record = BaseRecord::<(), String>::to(&topic.name)
                .partition((number % 2) as i32)
                .payload(&payload);
            assert!(producer.send(record).is_ok());
        }
        // The last one is aborted: the log ends with records and a marker that nobody sees.
        if transaction % 3 == 0 {
            producer.flush(wait).unwrap();
            producer.abort_transaction(wait).unwrap();
        } else {
            producer.commit_transaction(wait).unwrap();
            committed.extend((transaction * 20..(transaction + 1) * 20).map(id));
        }
    }
    let place = Place::new();
    let out = place.at("out");
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out));
    for _ in 0..2 {
        Lethe::through(&config).end().expect(0);
        let data = Dataset::read(&out);
        assert_eq!(data.faults(&out), Vec::<String>::new());
        let ids: Vec<String> = data
            .rows()
            .iter()
            .map(|row| row.note_id.clone().unwrap())
            .collect();
        assert_eq!(ids.len(), committed.len());
        assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), committed);
        assert_intact(&out, committed.len());
    }
}

#[test]
fn a_start_at_the_latest_record_leaves_out_the_older_ones_and_nothing_after() {
    let topic = Topic::new("latest", 2);
    topic.fill(events(20));
    let place = Place::new();
    let out = place.at("out");
    let roll = "roll = { max_age_seconds = 0.3, max_idle_seconds = 0.3 }\n";
    let config = place.write(
        "lethe.toml",
        topic.source_with("start = \"latest\"\n") + &folder_sink(&out) + roll,
    );
    let mut running = Lethe::run(&config).start();
    running.until_it_says("assigned", Duration::from_secs(30));
    topic.fill((20..40).map(notes::event));
    while Dataset::read(&out).rows().len() < 20 {
        assert!(running.lives(), "{}", running.err());
        std::thread::sleep(Duration::from_millis(50));
    }
    running.signal("TERM");
    running.wait(Duration::from_secs(30)).expect(0);
    // A chain that is there goes on where it ends, whatever `start` says.
    topic.fill((40..60).map(notes::event));
    Lethe::through(&config).end().expect(0);
    let later: Vec<_> = topic
        .offsets()
        .into_iter()
        .filter(|(_, offset)| *offset >= 10)
        .collect();
    Dataset::read(&out).assert_exactly(&out, &later);
}

#[test]
fn a_member_with_a_fixed_name_is_killed_and_goes_on() {
    let topic = Topic::new("static", 4);
    topic.fill(events(400));
    let place = Place::new();
    let out = place.at("out");
    let roll = "roll = { max_rows = 20 }\n";
    let source = topic.source_with("group_instance_id = \"one\"\n");
    let config = place.write("lethe.toml", source + &folder_sink(&out) + roll);
    let killed = Lethe::run(&config).env("LETHE_CRASH_AT", "notes_written:3").end();
    assert_eq!(killed.code, None);
    // Its session has not run out: a member without a fixed name would wait for that.
    let ended = Lethe::through(&config).end().expect(0);
    assert!(ended.took < Duration::from_secs(30), "{:?}", ended.took);
    Dataset::read(&out).assert_exactly(&out, &topic.offsets());
}

#[test]
fn offsets_that_the_log_no_longer_has_halt_their_lane_until_they_are_skipped() {
    let place = Place::new();
    let topic = Topic::new("trimmed", 2);
    topic.fill(events(40));
    let out = place.at("out");
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out));
    Lethe::through(&config).end().expect(0);
    topic.fill((40..100).map(notes::event));
    topic.trim(1, 35);

    // The other partition goes on.
    let halted = Lethe::through(&config).end().expect(3).says(&format!(
        "lethe skip --topic {} --partition 1 --to 35",
        topic.name
    ));
    assert!(halted.err.contains("goes on at offset 20"), "{}", halted.err);
    let data = Dataset::read(&out);
    assert_eq!((data.partition(0).len(), data.partition(1).len()), (50, 20));

    let config_path = config.to_str().unwrap();
    let skip = |to: &str| {
        let arguments = [
            "skip",
            "-c",
            config_path,
            "--topic",
            &topic.name,
            "--partition",
            "1",
        ];
        Lethe::new(
            arguments
                .into_iter()
                .chain(["--to", to, "--reason", "retention was too short"]),
        )
        .end()
    };
    skip("10").expect(1);
    skip("35").expect(0);
    Lethe::through(&config).end().expect(0);
    let data = Dataset::read(&out);
    let mut due = topic.offsets();
    due.extend((0..20).map(|offset| (1, offset)));
    data.assert_exactly(&out, &due);
    let report = Lethe::new(["inspect".as_ref(), out.as_os_str()]).end().expect(0);
    assert!(report.out.contains("retention was too short"), "{}", report.out);
}

#[test]
fn records_deleted_under_a_running_reader_halt_its_lane() {
    let place = Place::new();
    let topic = Topic::new("trimmed-live", 1);
    topic.fill(events(10));
    let out = place.at("out");
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out));
    Lethe::through(&config).end().expect(0);
    topic.fill((10..30).map(notes::event));
    // Only the log's end is asked about at the start, then the records go.
    topic.trim(0, 30);
    Lethe::through(&config).end().expect(3).says("--to 30");
}

#[test]
fn a_topic_that_was_made_anew_is_not_taken_for_the_old_one() {
    let place = Place::new();
    let topic = Topic::new("anew", 1);
    topic.fill(events(30));
    let out = place.at("out");
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out));
    Lethe::through(&config).end().expect(0);
    topic.delete();
    topic.create();
    topic.fill(events(5));
    Lethe::through(&config).end().expect(3).says("made anew");
    assert_eq!(Dataset::read(&out).rows().len(), 30);
}

#[test]
fn lines_texts_and_parquet_are_sources_too_and_a_second_run_adds_nothing() {
    let place = Place::new();
    place.write("lines/a.jsonl", events(300).collect::<Vec<_>>().join("\n"));
    place.write(
        "lines/b.jsonl",
        (300..350).map(notes::event).collect::<Vec<_>>().join("\n"),
    );
    for number in 0..20 {
        place.write(&format!("texts/note-{number:06}.txt"), notes::text(number));
    }
    let script = "
import sys, json, pyarrow as pa, pyarrow.parquet as pq
rows = [json.loads(line) for line in open(sys.argv[1])]
pq.write_table(pa.table({'note_id': [r['note_id'] for r in rows], 'text': [r['text'] for r in rows]}), sys.argv[2])
";
    python(
        script,
        &[
            place.at("lines/a.jsonl").to_str().unwrap(),
            place.write("tables/c.parquet", "").to_str().unwrap(),
        ],
    );
    for (kind, folder, notes, chains) in [
        ("jsonl", "lines", 350, 2),
        ("text", "texts", 20, 1),
        ("parquet", "tables", 300, 1),
    ] {
        let out = place.at(&format!("out-{kind}"));
        let source = format!(
            "[source]\nkind = {kind:?}\ninput = {}\n",
            quoted(place.at(folder))
        );
        let config = place.write(&format!("{kind}.toml"), source + &folder_sink(&out));
        Lethe::through(&config).end().expect(0);
        let data = Dataset::read(&out);
        assert_eq!(data.faults(&out), Vec::<String>::new());
        assert_eq!((data.rows().len(), data.chains.len()), (notes, chains), "{kind}");
        let files = common::dataset::files(&out);
        Lethe::through(&config).end().expect(0);
        assert_eq!(common::dataset::files(&out), files, "{kind}");
        assert_intact(&out, notes);
    }
}

#[test]
fn two_runs_of_one_group_share_a_topic_and_both_end() {
    let topic = Topic::new("shared", 6);
    topic.fill(events(600));
    let place = Place::new();
    let out = place.at("out");
    for assignment in ["range", "cooperative-sticky"] {
        let source = topic.source_with(&format!("assignment = {assignment:?}\n"));
        let group = format!("-group-{assignment}\"");
        let config = source.replace("-group\"", &group) + &folder_sink(&out);
        let config = place.write(&format!("{assignment}.toml"), config);
        let both = [Lethe::through(&config).start(), Lethe::through(&config).start()];
        for one in both {
            one.wait(Duration::from_secs(60)).expect(0);
        }
        Dataset::read(&out).assert_exactly(&out, &topic.offsets());
        topic.fill((600..900).map(notes::event));
    }
}
