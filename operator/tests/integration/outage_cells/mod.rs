//! A dependency that is unavailable for good: the program ends when it is asked to, with the exit code, log
//! line and metric of `cells.toml`, from which `docs/outages.md` is generated.
//!
//! Twelve cells run here. `benches/outages` runs all of them with the same code, and compares the seconds
//! with the limit.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;
mod site;
mod table;

use std::collections::{BTreeSet, VecDeque};
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use serde_json::json;

use common::pages::{Pages, sum};
use common::process::{Lethe, Running};
use site::{Brokers, NOTES, Site};
use table::{Cell, Dependency, Moment, cells, outages, page, page_path};

/// The cells that every change must pass: each dependency, each kind of outage, each moment; those with the
/// worst known results.
const IN_CI: [&str; 12] = [
    "broker/frozen/start",
    "broker/gone/middle",
    "broker/frozen/buffered",
    "broker/refuses/rebalance",
    "oauth/frozen/start",
    "oauth/refuses/buffered",
    "s3/refuses/start",
    "s3/frozen/buffered",
    "s3/frozen/rebalance",
    "registry/frozen/middle",
    "postgres/frozen/start",
    "postgres/gone/middle",
];
/// How long the program may take to reach the beginning of a cell.
const SETUP: Duration = Duration::from_secs(300);
/// How long a process may take to end: far more than the drain limit and 2 s, which a loaded machine could
/// exceed.
const END: Duration = Duration::from_secs(45);
/// How long an outage lasts before SIGTERM, once it was noticed, so that the program is in the middle of its
/// next attempt and not in the pause before it.
const NEXT_TRY: Duration = Duration::from_secs(3);
/// How long a metric may take to change.
const COUNTED: Duration = Duration::from_secs(20);

/// The result of a cell's process.
struct Outcome {
    cell: String,
    /// The seconds from SIGTERM to the end of the process; above the limit if it did not end.
    seconds: f64,
    code: Option<i32>,
    /// The differences from the table.
    wrong: Vec<String>,
}

#[test]
fn a_process_ends_when_it_is_asked_to_whatever_is_away_and_for_however_long() {
    let chosen: BTreeSet<String> = std::env::var("LETHE_OUTAGE_CELLS").map_or_else(
        |_| IN_CI.map(str::to_owned).into(),
        |names| names.split(',').map(str::to_owned).collect(),
    );
    let all = cells();
    let queue: VecDeque<Cell> = all
        .into_iter()
        .filter(|cell| chosen.contains(&cell.name()))
        .collect();
    assert_eq!(
        queue.len(),
        chosen.len(),
        "a cell is not in the table: {chosen:?}"
    );
    let of_brokers = |cell: &&Cell| cell.outage.dependency == Dependency::Broker;
    let gates = queue.iter().filter(of_brokers).count();
    let brokers = (gates > 0).then(|| Brokers::start(gates));
    let jobs = std::env::var("LETHE_OUTAGE_JOBS").map_or(6, |jobs| jobs.parse().unwrap());
    let (queue, outcomes) = (Mutex::new(queue), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let Some(cell) = queue.lock().unwrap().pop_front() else {
                        return;
                    };
                    let outcome = run(&cell, brokers.as_ref());
                    report(&outcome);
                    outcomes.lock().unwrap().push(outcome);
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap();
    assert_eq!(outcomes.len(), chosen.len());
    let wrong: Vec<String> = outcomes
        .iter()
        .flat_map(|outcome| {
            outcome
                .wrong
                .iter()
                .map(|wrong| format!("{}: {wrong}", outcome.cell))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Appends a line to the file that `benches/outages` reads, if it is set.
fn report(outcome: &Outcome) {
    if let Ok(path) = std::env::var("LETHE_OUTAGE_REPORT") {
        let line = json!({
            "cell": outcome.cell, "seconds": outcome.seconds, "exit": outcome.code, "wrong": outcome.wrong,
        });
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}

/// Brings the program to the cell's moment with an unavailable dependency, asks it to stop, and returns the
/// result.
fn run(cell: &Cell, brokers: Option<&Brokers>) -> Outcome {
    let mut site = Site::new(cell, brokers);
    site.feed(0);
    let mut wrong = Vec::new();
    let moment = cell.outage.moment;
    if moment == Moment::Start {
        site.gate.fail(cell.fault);
    }
    let lethe = site
        .env
        .iter()
        .fold(Lethe::run(&site.config), |lethe, (name, value)| {
            lethe.env(name, value)
        });
    let mut running = lethe.start();
    if moment == Moment::Start {
        if !noticed(&mut running, &cell.expected().log) {
            wrong.push(format!("{:?} was not logged", cell.expected().log));
        }
    } else {
        let pages = Pages::of(&mut running);
        let rows = |metrics: &_| sum(metrics, "lethe_records_total", &[]) >= NOTES as f64;
        let files = |metrics: &_| sum(metrics, "lethe_files_total", &[]) > 0.0;
        pages.until("the first notes", SETUP, |metrics| {
            rows(metrics) && (moment != Moment::Middle || files(metrics))
        });
        let member = (moment == Moment::Rebalance).then(|| Member::new(&site));
        let revoked = |metrics: &_| sum(metrics, "lethe_rebalances_total", &["kind=\"revoked\""]) > 0.0;
        if cell.outage.dependency == Dependency::Broker {
            // A group without a broker cannot rebalance, so the broker becomes unavailable as soon as
            // partitions move.
            if let Some(member) = &member {
                member.join();
                pages.until("a rebalance", SETUP, revoked);
            }
            site.gate.fail(cell.fault);
        } else {
            site.gate.fail(cell.fault);
            site.feed(1);
        }
        if moment == Moment::Middle && !noticed(&mut running, &cell.expected().log) {
            wrong.push(format!("{:?} was not logged", cell.expected().log));
        }
        if moment == Moment::Buffered {
            // An issuer is not needed before the token expires.
            let oauth = cell.outage.dependency == Dependency::Oauth;
            noticed(&mut running, if oauth { "no new token" } else { "" });
        }
        if let (Some(member), true) = (&member, cell.outage.dependency != Dependency::Broker) {
            std::thread::sleep(NEXT_TRY);
            member.join();
            pages.until("a rebalance", SETUP, revoked);
        }
        wrong.extend(of_metric(cell, &pages));
        return end(cell, running, wrong, member);
    }
    end(cell, running, wrong, None)
}

/// Waits until a log line appears, and returns whether it did; if none is expected, only waits a little.
fn noticed(running: &mut Running, log: &str) -> bool {
    let deadline = Instant::now() + SETUP;
    // Every log contains the empty text.
    while running.lives() && !running.err().contains(log) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(NEXT_TRY);
    running.err().contains(log)
}

/// Checks the cell's metric, which changes before the stop only in the middle.
fn of_metric(cell: &Cell, pages: &Pages) -> Option<String> {
    if cell.outage.moment != Moment::Middle || cell.outage.metric.is_empty() {
        return None;
    }
    let (name, relation, value) = relation(&cell.outage.metric);
    let until = Instant::now() + COUNTED;
    loop {
        let is = sum(&pages.metrics(), name, &[]);
        let holds = match relation {
            ">" => is > value,
            _ => (is - value).abs() < f64::EPSILON,
        };
        if holds {
            return None;
        }
        if Instant::now() > until {
            return Some(format!("{} does not hold: it is {is}", cell.outage.metric));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Parses a metric's name, `>` or `=`, and a number.
fn relation(metric: &str) -> (&str, &str, f64) {
    let words: Vec<&str> = metric.split(' ').collect();
    (words[0], words[1], words[2].parse().unwrap())
}

/// Asks the program to stop, and returns the result. Its dependency stays unavailable.
fn end(cell: &Cell, mut running: Running, mut wrong: Vec<String>, member: Option<Member>) -> Outcome {
    let lives = running.lives();
    if !lives {
        wrong.push(format!("it ended before it was asked to:\n{}", running.err()));
    }
    let asked = Instant::now();
    running.signal("TERM");
    while running.lives() && asked.elapsed() < END {
        std::thread::sleep(Duration::from_millis(5));
    }
    let seconds = asked.elapsed().as_secs_f64();
    drop(member);
    let expected = cell.expected();
    let mut code = None;
    if running.lives() {
        wrong.push(format!("it has not ended within {END:?}:\n{}", running.err()));
    } else {
        let ended = running.wait(END);
        code = ended.code;
        if code != Some(expected.exit) {
            wrong.push(format!(
                "exit code {code:?}, not {}:\n{}",
                expected.exit, ended.err
            ));
        }
        if !ended.err.contains(&expected.log) {
            wrong.push(format!("{:?} is not in the log:\n{}", expected.log, ended.err));
        }
    }
    Outcome {
        cell: cell.name(),
        seconds,
        code,
        wrong,
    }
}

/// Another member of the program's group, which takes partitions from it. It reaches the brokers without the
/// gate.
struct Member {
    client: ClientConfig,
    topic: String,
    over: std::sync::Arc<AtomicBool>,
}

impl Member {
    fn new(site: &Site) -> Self {
        let mut client = ClientConfig::new();
        client
            .set("bootstrap.servers", &site.topic.brokers)
            .set("group.id", format!("{}-group", site.topic.name))
            .set("partition.assignment.strategy", "cooperative-sticky");
        Self {
            client,
            topic: site.topic.name.clone(),
            over: std::sync::Arc::default(),
        }
    }

    /// Joins the group, until it is dropped.
    fn join(&self) {
        let consumer: BaseConsumer = self.client.create().unwrap();
        let (topic, over) = (self.topic.clone(), std::sync::Arc::clone(&self.over));
        std::thread::spawn(move || {
            consumer.subscribe(&[&topic]).unwrap();
            while !over.load(Ordering::SeqCst) {
                // Its records do not matter.
                drop(consumer.poll(Duration::from_millis(50)));
            }
        });
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_command_that_does_not_wait_for_the_vault_says_that_a_restart_may_help() {
    let place = common::Place::new();
    let config = place.write("lethe.toml", site::policy(&place));
    // Nothing listens on port 1.
    Lethe::new(["check".as_ref(), "-c".as_ref(), config.as_os_str()])
        .env("LETHE_CELL_VAULT", "postgresql://lethe@127.0.0.1:1/lethe")
        .end()
        .expect(1)
        .says("the vault is not available at the moment");
}

#[test]
fn the_table_has_each_dependency_away_at_each_moment_once_and_ci_has_every_kind_of_cell() {
    let outages = outages();
    let seen: BTreeSet<_> = outages.iter().map(|one| (one.dependency, one.moment)).collect();
    assert_eq!(seen.len(), outages.len());
    assert_eq!(seen.len(), Dependency::ALL.len() * Moment::ALL.len());
    let parts = |place: usize| -> BTreeSet<&str> {
        let part = |name: &&'static str| name.split('/').nth(place).unwrap();
        IN_CI.iter().map(part).collect()
    };
    assert_eq!([parts(0).len(), parts(1).len(), parts(2).len()], [5, 3, 4]);
}

#[test]
fn the_tables_metrics_are_in_the_catalogue() {
    let catalogue = Lethe::new(["metrics"]).end().expect(0).out;
    for outage in outages().iter().filter(|outage| !outage.metric.is_empty()) {
        let (name, sign, _) = relation(&outage.metric);
        let listed = catalogue
            .lines()
            .any(|line| line.split('\t').next() == Some(name));
        assert!(listed && [">", "="].contains(&sign), "{}", outage.metric);
    }
}

/// `LETHE_WRITE_OUTAGE_PAGE=1` writes the page instead.
#[test]
fn the_page_of_outages_is_what_the_table_gives() {
    if std::env::var_os("LETHE_WRITE_OUTAGE_PAGE").is_some() {
        std::fs::write(page_path(), page()).unwrap();
    }
    let there = std::fs::read_to_string(page_path()).unwrap_or_default();
    assert!(
        there == page(),
        "docs/outages.md is not what cells.toml gives: run this test with LETHE_WRITE_OUTAGE_PAGE=1"
    );
}
