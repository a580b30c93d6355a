//! The whole pipeline with real parts: notes in a real Kafka, rows in a folder and in a real S3-compatible
//! store.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use std::time::{Duration, Instant};

use common::checks::{assert_intact, assert_redacted};
use common::dataset::Dataset;
use common::kafka::Topic;
use common::notes::{self, events};
use common::process::{Lethe, TIMEOUT, python};

use common::{Place, env, folder_sink, quoted, s3_sink};

const NOTES: usize = 2_000;

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

    // The offset that the group has committed is the end of the durable rows.
    let ends = topic.watermarks();
    for (partition, committed) in topic.committed(&format!("{}-group", topic.name)) {
        assert_eq!(committed, Some(ends[&partition].1), "partition {partition}");
    }

    // Other tools read the same rows.
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

    // Without new records a second run writes nothing.
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

/// Returns the `[source]` table of a topic at the secure broker.
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
    // As in a deployment, the password comes from the environment.
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
    running.until_it_says("assigned", TIMEOUT);
    // Notes keep coming during the stop.
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
        assert!(started.elapsed() < TIMEOUT, "{}", running.err());
    }
    let first = running.wait(Duration::from_secs(1)).expect(0).says("stopping");
    assert!(first.err.contains("done:"), "{}", first.err);
    producer.finish().unwrap();
    let produced = topic.offsets();
    assert_eq!(produced.len(), number);
    let before = Dataset::read(&out);
    assert!(before.faults(&out).is_empty() && !before.rows().is_empty());
    // The committed offset matches the durable rows of each partition.
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
