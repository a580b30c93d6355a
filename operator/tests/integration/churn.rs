//! Members of a group that come, go, freeze and are killed, and brokers that are killed, while notes keep
//! coming: at the end each note is there once.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::dataset::{Dataset, Tally};
use common::feed::Feed;
use common::folder_monitor::FolderMonitor;
use common::kafka::Topic;
use common::notes::{Dice, id};
use common::process::{Ended, Lethe, Running, TIMEOUT};
use common::servers::Server;
use common::{Place, folder_sink};

/// One cheap member: these tests check rows, not their content.
const ENGINE: &str = "[engine]\nmembers = [{ kind = \"known\" }]\n";

/// Returns the seed of a run: from the clock, or from `LETHE_TEST_SEED` to repeat an earlier run. Each test
/// prints it.
fn seed() -> u64 {
    match std::env::var("LETHE_TEST_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => jiff::Timestamp::now().as_millisecond() as u64,
    }
}

/// The pause between lots of ten notes.
const BETWEEN: Duration = Duration::from_millis(20);

/// The members of a group.
struct Group {
    config: PathBuf,
    members: Vec<Running>,
    frozen: Vec<Running>,
    dice: Dice,
    most: usize,
    /// Counts for the summary.
    started: u32,
    stopped: u32,
    killed: u32,
    froze: u32,
    /// Members that ended unexpectedly.
    wrong: Vec<String>,
}

impl Group {
    fn new(config: &Path, most: usize, seed: u64) -> Self {
        Self {
            config: config.into(),
            members: Vec::new(),
            frozen: Vec::new(),
            dice: Dice::new(seed),
            most,
            started: 0,
            stopped: 0,
            killed: 0,
            froze: 0,
            wrong: Vec::new(),
        }
    }

    fn start(&mut self) {
        self.members.push(Lethe::run(&self.config).start());
        self.started += 1;
    }

    fn any(&mut self) -> Running {
        let index = self.dice.below(self.members.len() as u64) as usize;
        self.members.swap_remove(index)
    }

    /// Does one random action: starts, stops, kills, or freezes and thaws a member.
    fn step(&mut self) {
        self.bury();
        if self.members.len() < 2 {
            return self.start();
        }
        match self.dice.below(5) {
            0 | 1 if self.members.len() < self.most => self.start(),
            2 => {
                let member = self.any();
                member.signal("TERM");
                self.stopped += 1;
                self.gone(&member.wait(TIMEOUT));
            }
            3 => {
                // Like a garbage collector or a paused machine, it continues after its partitions have moved.
                let member = self.any();
                member.signal("STOP");
                self.frozen.push(member);
                self.froze += 1;
            }
            _ => {
                let member = self.any();
                member.signal("KILL");
                self.killed += 1;
            }
        }
        if self.frozen.len() > 1 {
            let member = self.frozen.remove(0);
            member.signal("CONT");
            self.members.push(member);
        }
    }

    /// Removes members that ended without being asked, which is an error.
    fn bury(&mut self) {
        let mut index = 0;
        while index < self.members.len() {
            if self.members[index].lives() {
                index += 1;
                continue;
            }
            let ended = self.members.swap_remove(index).wait(Duration::from_secs(1));
            self.wrong
                .push(format!("ended by itself with {:?}:\n{}", ended.code, ended.err));
        }
    }

    /// Thaws and stops every member.
    fn end(&mut self) {
        for member in &self.frozen {
            member.signal("CONT");
        }
        self.members.append(&mut self.frozen);
        self.bury();
        for member in &self.members {
            member.signal("TERM");
        }
        for member in std::mem::take(&mut self.members) {
            let ended = member.wait(TIMEOUT);
            self.gone(&ended);
        }
    }

    /// Checks that a stopped member ended in order, or by the signal itself before it had begun.
    fn gone(&mut self, ended: &Ended) {
        let unborn = ended.code.is_none() && ended.err.is_empty();
        if ended.code != Some(0) && !unborn {
            self.wrong.push(format!("told to stop, it said:\n{}", ended.err));
        }
    }
}

/// Returns the members' configuration: short sessions and small files, so that much happens in little time.
fn config(place: &Place, topic: &Topic, assignment: &str, out: &Path) -> PathBuf {
    let source = topic.source_with(&format!(
        "assignment = {assignment:?}\nproperties = {{ \"session.timeout.ms\" = 1500, \"heartbeat.interval.ms\" = 300, \
         \"reconnect.backoff.max.ms\" = 500 }}\n"
    ));
    let roll = "roll = { max_rows = 40, max_age_seconds = 0.3, max_idle_seconds = 0.3 }\n";
    place.write(
        "lethe.toml",
        format!("{ENGINE}{source}{}{roll}", folder_sink(out)),
    )
}

/// Reads the rest with one member, and compares everything with the produced notes.
#[track_caller]
fn settle(
    what: &str,
    config: &Path,
    out: &Path,
    topic: &Topic,
    sent: usize,
    group: &Group,
    monitor: FolderMonitor,
) {
    let last = Lethe::through(config).end().expect(0);
    let seen = monitor.end();
    let produced = topic.offsets();
    let data = Dataset::read(out);
    let tally = data.tally(&produced);
    println!(
        "{what}: schedules run 1, notes lost {}, notes duplicated {} ({sent} notes, {} files; {} members started, {} stopped, {} killed, {} \
         frozen)",
        tally.lost,
        tally.duplicated,
        data.files(),
        group.started,
        group.stopped,
        group.killed,
        group.froze,
    );
    assert_eq!(seen.half_written, Vec::<String>::new());
    assert_eq!(data.faults(out), Vec::<String>::new());
    assert_eq!(
        tally,
        Tally::default(),
        "the chains end at {:?} of {:?}; the last member said:\n{}",
        data.tails(),
        topic.watermarks(),
        last.err
    );
    let ids: BTreeSet<&String> = data
        .rows()
        .iter()
        .map(|row| row.note_id.as_ref().unwrap())
        .collect();
    assert_eq!(ids, (0..sent).map(id).collect::<Vec<_>>().iter().collect());
    assert_eq!(produced.len(), sent);
}

fn churn(assignment: &str, steps: u32) {
    let seed = seed();
    println!("churn, {assignment}: LETHE_TEST_SEED={seed}");
    let place = Place::new();
    let out = place.at("out");
    let topic = Topic::new("churn", 8);
    let config = config(&place, &topic, assignment, &out);
    let monitor = FolderMonitor::over(&out);
    let feed = Feed::into(&topic, BETWEEN);
    let mut group = Group::new(&config, 4, seed);
    for _ in 0..steps {
        group.step();
        let pause = 300 + group.dice.below(1_200);
        std::thread::sleep(Duration::from_millis(pause));
    }
    let sent = feed.end();
    group.end();
    assert_eq!(group.wrong, Vec::<String>::new());
    settle(
        &format!("churn, {assignment}"),
        &config,
        &out,
        &topic,
        sent,
        &group,
        monitor,
    );
}

#[test]
fn two_to_four_members_that_come_and_go_lose_and_repeat_nothing_when_all_is_revoked_each_time() {
    churn("range", 25);
}

#[test]
fn two_to_four_members_that_come_and_go_lose_and_repeat_nothing_when_only_what_moves_is_revoked() {
    churn("cooperative-sticky", 25);
}

#[test]
fn two_groups_that_write_the_same_chains_overtake_each_other_and_repeat_nothing() {
    let place = Place::new();
    let out = place.at("out");
    let topic = Topic::new("rivals", 4);
    let ours = config(&place, &topic, "range", &out);
    let theirs = std::fs::read_to_string(&ours).unwrap();
    let theirs = place.write("theirs.toml", theirs.replace("-group\"", "-rivals\""));
    let monitor = FolderMonitor::over(&out);
    let feed = Feed::into(&topic, BETWEEN);
    let rivals = [Lethe::run(&ours).start(), Lethe::run(&theirs).start()];
    std::thread::sleep(Duration::from_secs(10));
    let sent = feed.end();
    let mut overtaken = 0;
    for rival in rivals {
        rival.signal("TERM");
        let ended = rival.wait(TIMEOUT).expect(0);
        overtaken += ended.err.matches("another writer's file came first").count();
    }
    println!("overtaken {overtaken} times");
    assert!(overtaken > 0);
    let group = Group::new(&ours, 0, 0);
    settle(
        "two groups, one output",
        &ours,
        &out,
        &topic,
        sent,
        &group,
        monitor,
    );
}

#[test]
fn a_soak_with_killed_members_and_killed_brokers_loses_and_repeats_nothing() {
    let seconds = std::env::var("LETHE_SOAK_SECONDS").map_or(60, |seconds| seconds.parse().unwrap());
    let seed = seed();
    println!("soak of {seconds} s: LETHE_TEST_SEED={seed}");
    let broker = Server::kafka(&[]);
    let place = Place::new();
    let out = place.at("out");
    let topic = Topic::at(broker.get("BOOTSTRAP"), "soak", 6);
    let config = config(&place, &topic, "cooperative-sticky", &out);
    let monitor = FolderMonitor::over(&out);
    let feed = Feed::into(&topic, BETWEEN);
    let mut group = Group::new(&config, 3, seed);
    let mut restarts = 0;
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..6 {
            group.step();
            let pause = 500 + group.dice.below(1_500);
            std::thread::sleep(Duration::from_millis(pause));
        }
        broker.tell(&["restart", "--kill"]);
        restarts += 1;
    }
    let sent = feed.end();
    group.end();
    assert_eq!(group.wrong, Vec::<String>::new());
    let what = format!("soak of {seconds} s with {restarts} killed brokers");
    settle(&what, &config, &out, &topic, sent, &group, monitor);
}
