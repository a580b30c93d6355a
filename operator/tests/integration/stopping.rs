//! A stop works whatever is unavailable, and errors that waiting does not fix end the run.
//!
//! Time limits are generous: the tests assert that the process ends while its dependency never responds.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::checks::until_rows;
use common::dataset::Dataset;
use common::kafka::Topic;
use common::notes::{event, events};
use common::pages::{Pages, TELEMETRY};
use common::process::{Lethe, Running, TIMEOUT};
use common::servers::Server;
use common::{Place, folder_sink};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};

/// The time within which a stop must end the process; its dependency stays unavailable.
const STOPPED: Duration = Duration::from_secs(30);
/// A short drain limit.
const DRAIN: &str = "[resources]\ndrain_seconds = 3\n";
/// Files that are closed only by a stop.
const OPEN: &str = "roll = { max_age_seconds = 3600, max_idle_seconds = 3600 }\n";

#[track_caller]
fn stop(running: Running) {
    running.signal("TERM");
    running.wait(STOPPED).expect(0);
}

#[test]
fn a_stop_is_heard_while_brokers_are_frozen_and_rows_are_buffered() {
    let broker = Server::kafka(&[]);
    let topic = Topic::at(broker.get("BOOTSTRAP"), "frozen", 2);
    topic.fill(events(40));
    let place = Place::new();
    let out = place.at("out");
    let config = topic.source() + &folder_sink(&out) + OPEN + DRAIN + TELEMETRY;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    until_read(&pages, 40);
    broker.tell(&["pause"]);
    stop(running);
    // Buffered rows are durable; the failed commit to Kafka is only a hint.
    assert_eq!(Dataset::read(&out).rows().len(), 40);
    broker.tell(&["resume"]);
}

/// Waits until this number of records was read and redacted.
fn until_read(pages: &Pages, records: usize) {
    for _ in 0..3000 {
        let metrics = pages.metrics();
        let read: f64 = metrics
            .iter()
            .filter(|(name, _)| name.starts_with("lethe_records_total"))
            .map(|(_, value)| value)
            .sum();
        if read >= records as f64 {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{records} records were never read");
}

#[test]
fn a_stop_is_heard_while_brokers_are_away_at_start() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let place = Place::new();
    let source = format!(
        "[source]\nkind = \"kafka\"\nbrokers = [\"{address}\"]\ntopics = [\"notes\"]\ngroup = \"g\"\n"
    );
    let config = place.write("lethe.toml", source + &folder_sink(&place.at("out")));
    let mut running = Lethe::run(&config).start();
    running.until_it_says("trying again", TIMEOUT);
    stop(running);
}

/// Returns the keys of a store of the test.
fn keys(store: &Server) -> String {
    format!(
        "access_key = {:?}\nsecret_key = {:?}\nallow_http = true\n",
        store.get("ACCESS_KEY"),
        store.get("SECRET_KEY")
    )
}

#[test]
fn a_stop_is_heard_while_the_store_is_frozen_at_an_assignment_and_waiting_is_progress() {
    let store = Server::s3(&[]);
    let topic = Topic::new("assigned", 2);
    topic.fill(events(4));
    let place = Place::new();
    let more = keys(&store) + "timeout_seconds = 2\nretries = 0\n";
    let config =
        topic.source() + &store.as_store("stopping", &more) + DRAIN + TELEMETRY + "stall_seconds = 3\n";
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    running.until_it_says("assigned", TIMEOUT);
    // Another member takes a partition and returns it.
    let other: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", &topic.brokers)
        .set("group.id", format!("{}-group", topic.name))
        .set("partition.assignment.strategy", "cooperative-sticky")
        .create()
        .unwrap();
    other.subscribe(&[&topic.name]).unwrap();
    for _ in 0..3000 {
        drop(other.poll(Duration::from_millis(100)));
        if other.assignment().unwrap().count() > 0 {
            break;
        }
    }
    assert_eq!(other.assignment().unwrap().count(), 1);
    store.tell(&["pause"]);
    drop(other);
    running.until_it_says("store not read", TIMEOUT);
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(pages.get("/live").0, 200);
    stop(running);
}

#[test]
fn a_store_that_refuses_at_start_is_waited_for() {
    let store = Server::s3(&[]);
    let topic = Topic::new("refused", 2);
    topic.fill(events(20));
    let place = Place::new();
    let keys = keys(&store) + "retries = 0\n";
    let config = topic.source() + &store.as_store("refused", &keys) + DRAIN;
    let config = place.write("lethe.toml", config);
    store.tell(&["kill"]);
    let mut running = Lethe::through(&config).start();
    // The pauses grow from a fifth of a second to the longest.
    let mut backoff = lethe_connectors::Backoff::new("store");
    let pauses: Vec<u128> = std::iter::from_fn(|| backoff.pause())
        .map(|pause| pause.as_millis())
        .take(8)
        .collect();
    assert!(pauses[0] <= 200 && pauses[7] > 10_000, "{pauses:?}");
    for pause in [pauses[0], pauses[4], pauses[7]] {
        running.until_it_says(&format!("in {pause} ms"), TIMEOUT);
    }
    store.tell(&["restart"]);
    running.wait(TIMEOUT).expect(0);

    store.tell(&["kill"]);
    let mut running = Lethe::through(&config).start();
    running.until_it_says("trying again", TIMEOUT);
    stop(running);
}

#[test]
fn a_second_member_of_a_static_name_ends_the_first() {
    let topic = Topic::new("static", 1);
    topic.fill(events(5));
    let place = Place::new();
    let config = |out: &str| {
        let source = topic.source_with("group_instance_id = \"pod-0\"\n");
        let roll = "roll = { max_age_seconds = 0.5, max_idle_seconds = 0.5 }\n";
        place.write(
            &format!("{out}.toml"),
            source + &folder_sink(&place.at("out")) + roll,
        )
    };
    let mut first = Lethe::run(&config("first")).start();
    until_rows(&place.at("out"), 5, &mut first);
    let mut second = Lethe::run(&config("second")).start();
    first.wait(TIMEOUT).expect(1).says("FencedInstanceId");
    topic.fill((5..8).map(event));
    until_rows(&place.at("out"), 8, &mut second);
    stop(second);
}

#[test]
fn a_topic_that_is_deleted_ends_the_run() {
    let topic = Topic::new("deleted", 1);
    topic.fill(events(5));
    let place = Place::new();
    let out = place.at("out");
    let roll = "roll = { max_age_seconds = 0.5, max_idle_seconds = 0.5 }\n";
    let source = topic.source_with("properties = { \"topic.metadata.refresh.interval.ms\" = 1000 }\n");
    let mut running = Lethe::run(&place.write("lethe.toml", source + &folder_sink(&out) + roll)).start();
    until_rows(&out, 5, &mut running);
    topic.delete();
    running.wait(TIMEOUT).expect(1);
}

/// Sends three records of 25 MB to a partition as one batch, which is small in its compressed form.
fn send_a_batch_of_75_mb(topic: &Topic, partition: i32) {
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", &topic.brokers)
        .set("compression.type", "zstd")
        .set("message.max.bytes", "100000000")
        .set("batch.size", "100000000")
        .set("queue.buffering.max.kbytes", "200000")
        .set("linger.ms", "5000")
        .create()
        .unwrap();
    let payload = vec![b'x'; 25_000_000];
    for _ in 0..3 {
        let record = BaseRecord::<(), _>::to(&topic.name)
            .partition(partition)
            .payload(&payload);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(TIMEOUT).unwrap();
}

#[test]
fn a_batch_that_cannot_be_decompressed_halts_its_partition_alone_until_it_may_be_larger() {
    let topic = Topic::new("bomb", 2);
    topic.fill(events(10));
    send_a_batch_of_75_mb(&topic, 0);
    let place = Place::new();
    let out = place.at("out");
    let small = "properties = { \"receive.message.max.bytes\" = 60000000 }\n";
    let config = place.write("small.toml", topic.source_with(small) + &folder_sink(&out));
    Lethe::through(&config)
        .end()
        .expect(3)
        .says("the batch at offset 5 cannot be read")
        .says("resources.memory_bytes");
    assert_eq!(
        Dataset::read(&out).rows().len(),
        10,
        "what comes before it is written"
    );
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out));
    // All three records of this run are quarantined, since they are not JSON.
    Lethe::through(&config).end().expect(6);
    Dataset::read(&out).assert_exactly(&out, &topic.offsets());
}

/// Starts a store that supports the part of S3 that a run needs and ignores `If-None-Match`. Returns its
/// address, and the names that were written.
fn forgetful_store() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let written = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&written);
    std::thread::spawn(move || {
        let mut objects = HashMap::new();
        for client in listener.incoming().flatten() {
            // A client that closes the connection belongs to an ended test.
            drop(answer(client, &mut objects, &names));
        }
    });
    (endpoint, written)
}

fn answer(
    client: TcpStream,
    objects: &mut HashMap<String, Vec<u8>>,
    written: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(client);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? <= 2 {
            break;
        }
        head.push(line.trim_end().to_ascii_lowercase());
    }
    let Some(request) = head.first().cloned() else {
        return Ok(());
    };
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body)?;
    let mut words = request.split(' ');
    let (method, name) = (words.next().unwrap(), words.next().unwrap().to_owned());
    let (status, body) = match method {
        "put" => {
            written.lock().unwrap().push(name.clone());
            objects.insert(name, body);
            ("200 OK", Vec::new())
        }
        "get" if name.contains("list-type") => ("200 OK", b"<ListBucketResult></ListBucketResult>".to_vec()),
        "get" => match objects.get(&name) {
            Some(bytes) => ("200 OK", bytes.clone()),
            None => ("404 Not Found", Vec::new()),
        },
        "delete" => {
            objects.remove(&name);
            ("204 No Content", Vec::new())
        }
        _ => ("404 Not Found", Vec::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\netag: \"1\"\r\nlast-modified: Tue, 01 Jan 2030 00:00:00 GMT\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let mut client = reader.into_inner();
    client.write_all(head.as_bytes())?;
    client.write_all(&body)
}

#[test]
fn a_store_that_ignores_if_none_match_is_refused_before_anything_is_written() {
    let (endpoint, written) = forgetful_store();
    let topic = Topic::new("forgetful", 1);
    topic.fill(events(3));
    let place = Place::new();
    let sink = format!(
        "[sink.store]\nkind = \"s3\"\nbucket = \"b\"\nendpoint = {endpoint:?}\nregion = \"x\"\naccess_key = \"k\"\nsecret_key = \"s\"\nallow_http = true\n"
    );
    let config = place.write("lethe.toml", topic.source() + &sink);
    for command in ["run", "replay"] {
        let ended = Lethe::new([command.as_ref(), "-c".as_ref(), config.as_os_str()]).end();
        ended.expect(1).says("created twice").says("If-None-Match");
    }
    let written = written.lock().unwrap();
    assert!(
        !written.is_empty() && written.iter().all(|name| name.contains("/.lethe/probe-")),
        "{written:?}"
    );
}
