//! Where reading begins and ends: starts, ends, transactions, deleted records, recreated topics.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::checks::{assert_intact, until_rows};
use common::dataset::Dataset;
use common::kafka::Topic;
use common::notes::{self, events, id};
use common::process::{Lethe, TIMEOUT};
use common::{Place, folder_sink};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};

const NOTES: usize = 2_000;

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

fn transactional(topic: &Topic) -> BaseProducer {
    let producer: BaseProducer = rdkafka::ClientConfig::new()
        .set("bootstrap.servers", &topic.brokers)
        .set("transactional.id", &topic.name)
        .create()
        .unwrap();
    producer.init_transactions(TIMEOUT).unwrap();
    producer
}

#[test]
fn of_transactions_only_what_was_committed_becomes_rows() {
    let topic = Topic::new("transactions", 2);
    let producer = transactional(&topic);
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
        // The last one is aborted: the log ends with records and a marker that no reader sees.
        if transaction % 3 == 0 {
            producer.flush(TIMEOUT).unwrap();
            producer.abort_transaction(TIMEOUT).unwrap();
        } else {
            producer.commit_transaction(TIMEOUT).unwrap();
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
    running.until_it_says("assigned", TIMEOUT);
    topic.fill((20..40).map(notes::event));
    until_rows(&out, 20, &mut running);
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
    // An existing chain continues at its end, whatever the value of `start`.
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
    let long = "properties = { \"session.timeout.ms\" = 900000, \"max.poll.interval.ms\" = 900000 }\n";
    let source = topic.source_with(&format!("group_instance_id = \"one\"\n{long}"));
    let config = place.write("lethe.toml", source + &folder_sink(&out) + roll);
    let killed = Lethe::run(&config).env("LETHE_CRASH_AT", "notes_written:3").end();
    assert_eq!(killed.code, None);
    // Its session has not expired: a member without a fixed name would wait for that, longer than the test.
    Lethe::through(&config).end().expect(0);
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

    // The other partition continues.
    let halted = Lethe::through(&config).end().expect(3).says(&format!(
        "lethe skip --topic {} --partition 1 --to 35",
        topic.name
    ));
    assert!(halted.err.contains("continues at offset 20"), "{}", halted.err);
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
fn records_deleted_under_a_reader_that_stood_still_halt_its_lane_and_no_other() {
    let topic = Topic::new("trimmed-live", 2);
    topic.fill(events(20));
    let place = Place::new();
    let out = place.at("out");
    let roll = "roll = { max_age_seconds = 0.3, max_idle_seconds = 0.3 }\n";
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out) + roll);
    let mut running = Lethe::run(&config).start();
    until_rows(&out, 20, &mut running);
    running.signal("STOP");
    topic.fill((20..60).map(notes::event));
    topic.trim(0, 25);
    running.signal("CONT");
    running.until_it_says(&format!("--topic {} --partition 0 --to 25", topic.name), TIMEOUT);
    // Partition 1 continues, and the run ends with a report for the operator.
    until_rows(&out, 40, &mut running);
    running.signal("TERM");
    running.wait(TIMEOUT).expect(3);
    let data = Dataset::read(&out);
    assert_eq!(data.faults(&out), Vec::<String>::new());
    assert_eq!((data.partition(0).len(), data.partition(1).len()), (10, 30));
}

#[test]
fn a_recreated_topic_is_not_taken_for_the_old_one() {
    let place = Place::new();
    let topic = Topic::new("anew", 1);
    topic.fill(events(30));
    let out = place.at("out");
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out));
    Lethe::through(&config).end().expect(0);
    topic.delete();
    topic.create();
    topic.fill(events(5));
    Lethe::through(&config).end().expect(3).says("recreated");
    assert_eq!(Dataset::read(&out).rows().len(), 30);
}

/// A member of the group of `topic.source()` that takes its share of the partitions and reads nothing; it
/// leaves when it is dropped.
struct Idler {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    share: Arc<AtomicUsize>,
}

impl Idler {
    /// Joins, and waits until it has every partition.
    fn of(topic: &Topic) -> Self {
        let consumer: BaseConsumer = rdkafka::ClientConfig::new()
            .set("bootstrap.servers", &topic.brokers)
            .set("group.id", format!("{}-group", topic.name))
            .set("partition.assignment.strategy", "cooperative-sticky")
            .create()
            .unwrap();
        consumer.subscribe(&[&topic.name]).unwrap();
        let (over, share) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (flag, had) = (Arc::clone(&over), Arc::clone(&share));
        let thread = std::thread::spawn(move || {
            while !flag.load(Ordering::SeqCst) {
                // Polled, so that it takes part in rebalances; its records are dropped.
                drop(consumer.poll(Duration::from_millis(50)));
                had.store(consumer.assignment().unwrap().count(), Ordering::SeqCst);
            }
        });
        let idler = Self {
            over,
            thread: Some(thread),
            share,
        };
        idler.until_it_has(topic.partitions as usize);
        idler
    }

    fn until_it_has(&self, partitions: usize) {
        let started = Instant::now();
        while self.share.load(Ordering::SeqCst) != partitions {
            assert!(started.elapsed() < TIMEOUT);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Idler {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        drop(self.thread.take().unwrap().join());
    }
}

#[test]
fn a_run_to_the_end_does_not_end_while_another_member_has_what_is_not_written() {
    let topic = Topic::new("withheld", 4);
    topic.fill(events(400));
    let place = Place::new();
    let out = place.at("out");
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out));
    let idler = Idler::of(&topic);
    let mut running = Lethe::through(&config).start();
    idler.until_it_has(2);
    // It writes its own half immediately, since another process may in turn wait for it.
    until_rows(&out, 200, &mut running);
    running.until_it_says("waiting for partitions of other members", TIMEOUT);
    assert!(running.lives(), "{}", running.err());
    drop(idler);
    running.wait(TIMEOUT).expect(0);
    Dataset::read(&out).assert_exactly(&out, &topic.offsets());
}

#[test]
fn a_run_to_the_end_ends_although_another_member_has_what_is_written() {
    let topic = Topic::new("held", 4);
    topic.fill(events(40));
    let place = Place::new();
    let out = place.at("out");
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out));
    Lethe::through(&config).end().expect(0);
    // An offset without a record: the written rows end before the log does.
    let producer = transactional(&topic);
    producer.begin_transaction().unwrap();
    producer
        .send(BaseRecord::<(), str>::to(&topic.name).partition(0).payload(""))
        .map_err(|(error, _)| error)
        .unwrap();
    producer.flush(TIMEOUT).unwrap();
    producer.abort_transaction(TIMEOUT).unwrap();
    let idler = Idler::of(&topic);
    Lethe::through(&config).end().expect(0);
    drop(idler);
    assert_eq!(Dataset::read(&out).rows().len(), 40);
}

#[test]
fn a_run_to_the_end_of_a_topic_that_goes_on_reads_what_was_there_and_ends() {
    let topic = Topic::new("busy", 2);
    topic.fill(events(400));
    let place = Place::new();
    let out = place.at("out");
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out));
    let due = topic.offsets();
    let over = Arc::new(AtomicBool::new(false));
    let (flag, producer) = (Arc::clone(&over), topic.producer());
    let feed = std::thread::spawn(move || {
        for number in 400.. {
            if flag.load(Ordering::SeqCst) {
                break;
            }
            let partition = Some((number % 2) as i32);
            producer
                .send(partition, None, Some(notes::event(number).as_bytes()))
                .unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    Lethe::through(&config).end().expect(0);
    over.store(true, Ordering::SeqCst);
    feed.join().unwrap();
    let data = Dataset::read(&out);
    assert_eq!(data.faults(&out), Vec::<String>::new());
    assert_eq!(data.tally(&due).lost, 0);
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
            one.wait(TIMEOUT).expect(0);
        }
        Dataset::read(&out).assert_exactly(&out, &topic.offsets());
        topic.fill((600..900).map(notes::event));
    }
}
