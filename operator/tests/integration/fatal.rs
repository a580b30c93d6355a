//! Errors that a retry cannot fix end the run or halt the lane, and are reported: a revoked right, a deleted
//! or recreated topic, a member that its group evicts repeatedly.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use std::path::Path;
use std::time::Duration;

use common::dataset::Dataset;
use common::kafka::Topic;
use common::notes::{event, events, id};
use common::pages::{Pages, TELEMETRY, sum};
use common::process::{Ended, Lethe, Running, TIMEOUT, system};
use common::{Place, env, folder_sink};

/// Files that are closed only by the end.
const OPEN: &str = "roll = { max_age_seconds = 3600, max_idle_seconds = 3600 }\n";

fn until_read(pages: &Pages, records: usize) {
    pages.until("all records are read", TIMEOUT, |metrics| {
        sum(metrics, "lethe_records_total", &[]) >= records as f64
    });
}

#[track_caller]
fn stop(running: Running) -> Ended {
    running.signal("TERM");
    running.wait(TIMEOUT)
}

/// Returns the ids of the notes in a dataset, in order.
fn ids(out: &Path) -> Vec<String> {
    if !out.join("notes").exists() {
        return Vec::new();
    }
    let data = Dataset::read(out);
    assert_eq!(data.faults(out), Vec::<String>::new());
    data.rows().iter().filter_map(|row| row.note_id.clone()).collect()
}

/// Grants or revokes a right at the secure broker for the user without rights.
fn right(verb: &str, kind: &str, name: &str) {
    let broker = Path::new(&env("LETHE_TEST_SERVERS_DIR")).join("kafka-secure");
    let user = env("LETHE_TEST_KAFKA_SECURE_DENIED_USER");
    let broker = broker.to_str().unwrap();
    let script = env("LETHE_TEST_KAFKA_SCRIPT");
    println!("{}", system(script, [verb, &user, kind, name, "--dir", broker]));
}

#[test]
fn a_right_that_is_taken_away_ends_the_run() {
    for lost in ["topic", "group"] {
        let topic = Topic::at(&env("LETHE_TEST_KAFKA_SECURE_PLAIN"), "right", 2);
        topic.fill(events(40));
        let group = format!("{}-group", topic.name);
        right("allow", "topic", &topic.name);
        right("allow", "group", &group);
        let security = format!(
            "security = {{ protocol = \"sasl\", mechanism = \"SCRAM-SHA-512\", user = {:?}, password = {:?}, ca = {:?} }}\n",
            env("LETHE_TEST_KAFKA_SECURE_DENIED_USER"),
            env("LETHE_TEST_KAFKA_SECURE_DENIED_PASSWORD"),
            env("LETHE_TEST_KAFKA_SECURE_CA"),
        );
        let source = topic
            .source_with(&security)
            .replace(&topic.brokers, &env("LETHE_TEST_KAFKA_SECURE"));
        let place = Place::new();
        let out = place.at("out");
        let config = place.write("lethe.toml", source + &folder_sink(&out) + OPEN + TELEMETRY);
        let mut running = Lethe::run(&config).start();
        let pages = Pages::of(&mut running);
        until_read(&pages, 40);
        let name = if lost == "topic" { &topic.name } else { &group };
        right("disallow", lost, name);
        let code = if lost == "topic" {
            "TopicAuthorizationFailed"
        } else {
            "GroupAuthorizationFailed"
        };
        running.wait(TIMEOUT).expect(1).says(code);
        // Without the right to the group its partitions are lost immediately: another member may write them.
        let written = if lost == "topic" { 40 } else { 0 };
        assert_eq!(ids(&out).len(), written, "{lost}");
    }
}

#[test]
fn a_topic_that_is_deleted_ends_the_run_and_what_was_read_is_written() {
    let topic = Topic::new("deleted-open", 1);
    topic.fill(events(5));
    let place = Place::new();
    let out = place.at("out");
    let source = topic.source_with("properties = { \"topic.metadata.refresh.interval.ms\" = 1000 }\n");
    let config = source + &folder_sink(&out) + OPEN + TELEMETRY;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    until_read(&pages, 5);
    topic.delete();
    running.wait(TIMEOUT).expect(1);
    // These records can no longer be read.
    assert_eq!(ids(&out).len(), 5);
}

#[test]
fn a_recreated_topic_halts_its_lane_though_its_log_is_longer() {
    let place = Place::new();
    let topic = Topic::new("anew-longer", 1);
    topic.fill(events(30));
    let out = place.at("out");
    let config = topic.source() + &folder_sink(&out) + TELEMETRY;
    let config = place.write("lethe.toml", config);
    Lethe::through(&config).end().expect(0);
    topic.delete();
    topic.create();
    topic.fill((100..180).map(event));
    let mut running = Lethe::run(&config).start();
    let pages = Pages::of(&mut running);
    running.until_it_says("was written from another log (topic id", TIMEOUT);
    let metrics = pages.until("a halted lane", TIMEOUT, |metrics| {
        sum(metrics, "lethe_lanes_halted_total", &["code=\"another_log\""]) == 1.0
    });
    assert_eq!(sum(&metrics, "lethe_lanes_halted", &[]), 1.0);
    assert_eq!(sum(&metrics, "lethe_ready", &[]), 0.0);
    let line = format!("lane {}/0 halted: another_log\n", topic.name);
    let (ready, live) = (pages.get("/ready"), pages.get("/live"));
    assert!(ready.0 == 503 && ready.1.ends_with(&line), "{ready:?}");
    // A restart would not help.
    assert!(live.0 == 200 && live.1.ends_with(&line), "{live:?}");
    stop(running).expect(3);
    assert_eq!(ids(&out).len(), 30);
    // This dataset cannot be continued, neither by a skip nor by a replay.
    let skip = [
        "skip",
        "--topic",
        &topic.name,
        "--partition",
        "0",
        "--to",
        "40",
        "--reason",
        "x",
        "-c",
    ];
    Lethe::new(skip.iter().map(AsRef::as_ref).chain([config.as_os_str()]))
        .end()
        .expect(3)
        .says("topic id");
}

#[test]
fn a_topic_that_is_recreated_while_it_is_read_halts_its_lane_before_its_records_are_written() {
    let place = Place::new();
    let topic = Topic::new("anew-live", 1);
    topic.fill(events(5));
    let out = place.at("out");
    let config = topic.source() + &folder_sink(&out) + OPEN + TELEMETRY;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    until_read(&pages, 5);
    // Long enough for a check of the topic's id, whose result confirms what was read.
    std::thread::sleep(Duration::from_secs(12));
    topic.delete();
    topic.create();
    topic.fill((100..150).map(event));
    running.until_it_says("the topic was deleted and recreated (topic id", TIMEOUT);
    let line = format!("lane {}/0 halted: another_log\n", topic.name);
    pages.until("a halted lane", TIMEOUT, |metrics| {
        sum(metrics, "lethe_lanes_halted", &[]) == 1.0
    });
    let ready = pages.get("/ready");
    assert!(ready.0 == 503 && ready.1.ends_with(&line), "{ready:?}");
    stop(running).expect(3);
    let written = ids(&out);
    // Rows from before the deletion are written if the new topic was noticed before it was read; rows of the
    // new topic never are.
    println!("{} rows of the topic before", written.len());
    assert!(
        written.is_empty() || written == (0..5).map(id).collect::<Vec<_>>(),
        "{written:?}"
    );
}

#[test]
fn a_member_that_its_group_removes_again_and_again_ends() {
    let topic = Topic::new("evicted", 1);
    topic.fill(events(20));
    let place = Place::new();
    let source = topic
        .source_with("properties = { \"session.timeout.ms\" = 1500, \"heartbeat.interval.ms\" = 300 }\n");
    let config = source + &folder_sink(&place.at("out")) + OPEN + TELEMETRY;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    until_read(&pages, 20);
    // Each pause is longer than a session, and no file is due in between. A busy broker may miss one, or
    // admit the member again slowly, so there are more pauses than allowed evictions.
    let mut removed = 0.0_f64;
    for pause in 0..20 {
        running.signal("STOP");
        std::thread::sleep(Duration::from_secs(4));
        running.signal("CONT");
        std::thread::sleep(Duration::from_secs(6));
        if !running.lives() {
            break;
        }
        // It cannot have ended yet.
        if pause < 4 {
            let metrics = pages.metrics();
            removed = removed.max(sum(&metrics, "lethe_source_errors_total", &["kind=\"evicted\""]));
        }
    }
    assert!(removed > 0.0);
    running
        .wait(TIMEOUT)
        .expect(1)
        .says("has evicted this member 5 times in a row")
        .says("session.timeout.ms");
}
