//! Kills the program at each named point, with stores that fail, and restarts it until it is done: each note
//! is written once, and no reader ever sees an incomplete file.
//!
//! A schedule is one output folder (or bucket prefix), one plan of crashes and faults, and as many runs as it
//! takes.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::dataset::{Dataset, Tally};
use common::folder_monitor::FolderMonitor;
use common::kafka::Topic;
use common::notes::{Dice, events};
use common::process::Lethe;
use common::{Place, azure_sink, copy_store, folder_sink, quoted, s3_sink};
use lethe_connectors::store::crash::POINTS;

/// The number of runs after which a schedule must be done.
const RUNS: usize = 40;
/// One cheap member: these tests check rows, not their content.
const ENGINE: &str = "[engine]\nmembers = [{ kind = \"pattern\" }]\n";
/// Files and rows of the file source.
const FILES: usize = 3;
const LINES: usize = 600;

/// One plan of crashes and faults.
#[derive(Clone, Debug)]
struct Schedule {
    /// `LETHE_CRASH_AT` of each run in turn; later runs have none.
    crashes: Vec<String>,
    /// `LETHE_STORE_FAULTS` of each run in turn; later runs have none.
    faults: Vec<String>,
}

/// The results of schedules.
#[derive(Debug, Default)]
struct Outcome {
    schedules: usize,
    crashes: usize,
    failures: usize,
    tally: Tally,
    files_seen: usize,
    wrong: Vec<String>,
}

impl Outcome {
    fn add(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.crashes += other.crashes;
        self.failures += other.failures;
        self.tally += other.tally;
        self.files_seen += other.files_seen;
        self.wrong.extend(other.wrong);
    }

    /// Prints the results, and asserts that they are good.
    #[track_caller]
    fn settle(&self, what: &str) {
        println!(
            "{what}: schedules run {}, notes lost {}, notes duplicated {} ({} crashes, {} failed runs, {} files read as they appeared)",
            self.schedules,
            self.tally.lost,
            self.tally.duplicated,
            self.crashes,
            self.failures,
            self.files_seen
        );
        assert!(self.wrong.is_empty(), "{:#?}", self.wrong);
        assert_eq!(self.tally, Tally::default());
    }
}

/// Runs the program until it is done, according to a schedule.
fn run_to_the_end(config: &Path, schedule: &Schedule, outcome: &mut Outcome) {
    let mut last = String::new();
    for run in 0..RUNS {
        let mut lethe = Lethe::through(config);
        if let Some(crash) = schedule.crashes.get(run) {
            lethe = lethe.env("LETHE_CRASH_AT", crash);
        }
        if let Some(faults) = schedule.faults.get(run) {
            lethe = lethe.env("LETHE_STORE_FAULTS", faults);
        }
        let ended = lethe.end();
        match ended.code {
            Some(0) => return,
            None => outcome.crashes += 1,
            Some(1) => outcome.failures += 1,
            Some(code) => {
                let wrong = format!("{schedule:?}: exit code {code}\n{}", ended.err);
                return outcome.wrong.push(wrong);
            }
        }
        last = ended.err;
    }
    outcome
        .wrong
        .push(format!("{schedule:?}: not done after {RUNS} runs\n{last}"));
}

/// Runs one schedule into its own folder and reads the output.
fn into_a_folder(source: &str, rows: usize, schedule: &Schedule, due: &Due) -> Outcome {
    let place = Place::new();
    let out = place.at("out");
    let roll = format!("roll = {{ max_rows = {rows} }}\n");
    let config = place.write(
        "lethe.toml",
        format!("{ENGINE}{source}{}{roll}", folder_sink(&out)),
    );
    let mut outcome = Outcome {
        schedules: 1,
        ..Outcome::default()
    };
    let monitor = FolderMonitor::over(&out);
    run_to_the_end(&config, schedule, &mut outcome);
    let seen = monitor.end();
    outcome.files_seen = seen.files;
    outcome.wrong.extend(seen.half_written);
    examine(&out, schedule, due, &mut outcome);
    outcome
}

/// The number of offsets, from 0, that each topic and partition must have.
type Due = BTreeMap<(String, i32), i64>;

fn examine(out: &Path, schedule: &Schedule, due: &Due, outcome: &mut Outcome) {
    let data = Dataset::read(out);
    for fault in data.faults(out) {
        outcome.wrong.push(format!("{schedule:?}: {fault}"));
    }
    let mut counted: BTreeMap<(String, i32, i64), i64> = BTreeMap::new();
    for row in data.rows() {
        *counted
            .entry((row.topic.clone(), row.partition, row.offset))
            .or_default() += 1;
    }
    let mut tally = Tally::default();
    for ((topic, partition), count) in due {
        for offset in 0..*count {
            match counted.remove(&(topic.clone(), *partition, offset)) {
                None => tally.lost += 1,
                Some(times) => tally.duplicated += times - 1,
            }
        }
    }
    tally.duplicated += counted.values().sum::<i64>();
    if tally != Tally::default() {
        outcome.wrong.push(format!("{schedule:?}: {tally:?}"));
    }
    outcome.tally += tally;
}

/// Runs schedules on a number of threads.
fn work_off(
    schedules: Vec<Schedule>,
    threads: usize,
    one: &(dyn Fn(usize, &Schedule) -> Outcome + Sync),
) -> Outcome {
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Outcome::default());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let Some(schedule) = schedules.get(number) else {
                        return;
                    };
                    let outcome = one(number, schedule);
                    total.lock().unwrap().add(outcome);
                }
            });
        }
    });
    total.into_inner().unwrap()
}

/// Returns schedules for each point at its first passages with every kind of fault, and random ones after
/// that.
fn matrix(points: &[&str], passages: &[u64], seeds: u64) -> Vec<Schedule> {
    let mut schedules = Vec::new();
    let faults = [
        "",
        "create:1=fail-before",
        "create:1=fail-after",
        "create:2=fail-after",
        "create:3=fail-before,create:4=fail-after",
        "create:2=conflict",
        "create:3=conflict,list:2=fail-before",
        "create:1=slow,create:4=slow",
        "create:3=full",
        "create:2=denied",
        "list:1=fail-before,list:3=fail-before",
        "read:1=fail-before,list:2=slow",
    ];
    for point in points {
        for nth in passages {
            for fault in faults {
                schedules.push(Schedule {
                    crashes: vec![format!("{point}:{nth}")],
                    faults: Some(fault)
                        .filter(|fault| !fault.is_empty())
                        .map(str::to_owned)
                        .into_iter()
                        .collect(),
                });
            }
        }
    }
    for seed in 0..seeds {
        // Several crashes in a row, with a store that fails at random.
        let mut dice = Dice::new(seed);
        let runs = 1 + dice.below(4);
        let crashes = (0..runs).map(|_| {
            let point = points[dice.below(points.len() as u64) as usize];
            format!("{point}:{}", 1 + dice.below(6))
        });
        let crashes = crashes.collect();
        let faults = (0..runs + 1)
            .map(|run| format!("seed={},rate=0.1", seed * 100 + run))
            .collect();
        schedules.push(Schedule { crashes, faults });
    }
    schedules
}

#[test]
fn killed_at_each_point_with_a_failing_store_files_come_out_exactly_once() {
    let input = Place::new();
    let mut due = Due::new();
    for file in 0..FILES {
        let lines: Vec<String> = (0..LINES)
            .map(|line| {
                format!("{{\"note_id\": \"{file}-{line}\", \"text\": \"Call 612-555-0199 on line {line}.\"}}")
            })
            .collect();
        let name = format!("{file}.jsonl");
        input.write(&name, lines.join("\n"));
        due.insert((name, 0), LINES as i64);
    }
    let source = format!("[source]\nkind = \"jsonl\"\ninput = {}\n", quoted(input.path()));
    let schedules = matrix(&POINTS, &[1, 2, 4], 60);
    let planned = schedules.len();
    let outcome = work_off(schedules, 2, &|number, schedule| {
        into_a_folder(&source, [1, 50, 200][number % 3], schedule, &due)
    });
    outcome.settle("file source, folder");
    assert_eq!(outcome.schedules, planned);
    assert!(
        outcome.crashes >= planned / 2,
        "{} crashes in {planned} schedules",
        outcome.crashes
    );
}

/// Returns the `[source]` of a topic, with a session so short that the group soon expires a killed member.
fn source_of(topic: &Topic, group: usize, assignment: &str) -> String {
    topic
        .source_with(&format!(
            "assignment = {assignment:?}\nproperties = {{ \"session.timeout.ms\" = 1000, \"heartbeat.interval.ms\" = 200 }}\n"
        ))
        .replace("-group\"", &format!("-group-{group}\""))
}

fn due_of(topic: &Topic) -> Due {
    let ends = topic.watermarks().into_iter();
    ends.map(|(partition, (_, high))| ((topic.name.clone(), partition), high))
        .collect()
}

#[test]
fn killed_at_each_point_with_a_failing_store_a_real_topic_comes_out_exactly_once() {
    let topic = Topic::new("crash", 3);
    topic.fill(events(900));
    let due = due_of(&topic);
    let mut schedules = matrix(&POINTS, &[1], 0);
    // Twelve faults at each point would take minutes, so the test uses every third, and each point once
    // without a fault.
    schedules = schedules.into_iter().step_by(3).collect();
    let outcome = work_off(schedules, 2, &|number, schedule| {
        let assignment = ["range", "cooperative-sticky"][number % 2];
        into_a_folder(&source_of(&topic, number, assignment), 100, schedule, &due)
    });
    outcome.settle("kafka, folder");
    assert!(outcome.crashes > 0);
}

#[test]
fn killed_at_each_point_with_a_failing_store_a_bucket_holds_everything_exactly_once() {
    killed_over_a_bucket("crash-s3", |prefix| s3_sink(prefix, None, ""));
}

#[test]
fn killed_at_each_point_with_a_failing_store_a_container_of_azure_holds_everything_exactly_once() {
    killed_over_a_bucket("crash-azure", azure_sink);
}

fn killed_over_a_bucket(topic: &str, at: impl Fn(&str) -> String + Sync) {
    let topic = Topic::new(topic, 2);
    topic.fill(events(400));
    let due = due_of(&topic);
    // A bucket has no temporary file and no link; those points exist only for a folder.
    let points: Vec<&str> = POINTS
        .into_iter()
        .filter(|point| !["temporary_written", "linked"].contains(point))
        .collect();
    let schedules: Vec<Schedule> = matrix(&points, &[1], 0).into_iter().step_by(4).collect();
    let outcome = work_off(schedules, 2, &|number, schedule| {
        let place = Place::new();
        let prefix = format!("crash/{}/{number}", topic.name);
        let sink = at(&prefix);
        let source = source_of(&topic, number, "cooperative-sticky");
        let config = place.write(
            "lethe.toml",
            format!("{ENGINE}{source}{sink}[sink.roll]\nmax_rows = 60\n"),
        );
        let mut outcome = Outcome {
            schedules: 1,
            ..Outcome::default()
        };
        run_to_the_end(&config, schedule, &mut outcome);
        let out = place.at("copy");
        copy_store(&sink, &out);
        examine(&out, schedule, &due, &mut outcome);
        outcome
    });
    outcome.settle("kafka, bucket");
    assert!(outcome.crashes > 0);
}

#[test]
fn a_store_that_fails_for_a_while_costs_time_and_nothing_else() {
    let topic = Topic::new("outage", 2);
    topic.fill(events(400));
    let place = Place::new();
    let out = place.at("out");
    let config = place.write(
        "lethe.toml",
        format!("{ENGINE}{}{}", topic.source(), folder_sink(&out)),
    );
    let faults = "create:1=fail-before,create:2=fail-after,create:3=fail-before,create:4=slow,create:5=fail-after,list:1=fail-before";
    Lethe::through(&config)
        .env("LETHE_STORE_FAULTS", faults)
        .end()
        .expect(0)
        .says("trying again");
    Dataset::read(&out).assert_exactly(&out, &topic.offsets());
}
