//! A rolling upgrade and its roll-back, as Kubernetes does them to the rendered pods of the chart, while
//! notes keep coming: each note is there once, each file names the version that wrote it, and no partition
//! waits for long.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use common::Place;
use common::chart::{Chart, Pod, Version, group, values};
use common::checks::{assert_intact, assert_redacted};
use common::dataset::{Dataset, NotesFile, Tally, files};
use common::feed::Feed;
use common::folder_monitor::FolderMonitor;
use common::kafka::Topic;
use common::pages::sum;
use common::process::TIMEOUT;
use serde_json::json;

const PODS: usize = 3;
const PARTITIONS: i32 = 6;
/// The pause between lots of ten notes, which gives about 30 notes per second: few enough that the pods catch
/// up on a busy machine too.
const BETWEEN: Duration = Duration::from_millis(300);
/// A lag of more than two seconds' worth of notes would be noticeable.
const LAG: f64 = 66.0;
/// How long the feed runs undisturbed, to measure the usual state.
const USUAL: Duration = Duration::from_secs(4);
/// The maximum pause of a partition, which is the shortest session: a partition that moved only when a
/// member's session expired paused longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(45);

/// Returns the version in a file's footer.
fn version_of(file: &NotesFile) -> Version {
    ["bundle", "policy"].map(|which| file.footer[&format!("lethe.fingerprint.{which}")].clone())
}

/// The running pods and their replacement.
#[derive(Default)]
struct Rollout {
    pods: Vec<Pod>,
    started: usize,
}

impl Rollout {
    fn start(&mut self, chart: &Chart) -> Pod {
        let name = format!("lethe-{}", self.started);
        self.started += 1;
        chart.start(&name)
    }

    /// Replaces pods of a Deployment: starts a new one, and when it is ready stops an old one without waiting
    /// for its end.
    fn surge(&mut self, chart: &Chart) {
        let rehearsed =
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
        assert_eq!(*chart.strategy(), rehearsed);
        let mut leaving = Vec::new();
        for _ in 0..chart.replicas() {
            let mut new = self.start(chart);
            new.until_ready();
            let old = self.pods.remove(0);
            old.running.signal("TERM");
            leaving.push((old, Instant::now()));
            self.pods.push(new);
        }
        for (old, told) in leaving {
            old.gone(told, chart.grace());
        }
    }

    /// Replaces pods of a StatefulSet from the last to the first: each stops, starts again under its name,
    /// and is ready before the next one stops.
    fn in_turn(&mut self, chart: &Chart) {
        for ordinal in (0..chart.replicas()).rev() {
            let old = self.pods.remove(ordinal);
            let name = old.name.clone();
            let told = Instant::now();
            old.running.signal("TERM");
            old.gone(told, chart.grace());
            let mut new = chart.start(&name);
            new.until_ready();
            self.pods.insert(ordinal, new);
        }
    }

    /// Replaces all pods as Kubernetes does, and returns the phase. It ends when there is no lag.
    fn to(&mut self, what: &'static str, chart: &Chart) -> Phase {
        let from = SystemTime::now();
        if chart.is_static() {
            self.in_turn(chart);
        } else {
            self.surge(chart);
        }
        let replaced = SystemTime::now();
        self.settle();
        Phase {
            what,
            from,
            replaced,
            settled: SystemTime::now(),
        }
    }

    fn sum(&self, metric: &str) -> f64 {
        let of = |pod: &Pod| sum(&pod.pages.metrics(), metric, &[]);
        self.pods.iter().map(of).sum()
    }

    /// Waits until every partition has its lane, and the lag is as usual.
    fn settle(&self) {
        let began = Instant::now();
        loop {
            let (lanes, lag) = (self.sum("lethe_lanes"), self.sum("lethe_lag_records"));
            if lanes == f64::from(PARTITIONS) && lag < LAG {
                return;
            }
            assert!(began.elapsed() < TIMEOUT, "{lanes} lanes, lag {lag}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// A phase in which pods were replaced, or none was.
struct Phase {
    what: &'static str,
    from: SystemTime,
    /// When the last old pod had ended.
    replaced: SystemTime,
    /// When there was no lag any more.
    settled: SystemTime,
}

/// Returns when a file became durable.
fn at(file: &NotesFile) -> SystemTime {
    file.path.metadata().unwrap().modified().unwrap()
}

impl Phase {
    /// Returns a phase without changes to the pods.
    fn usual() -> Self {
        let from = SystemTime::now();
        std::thread::sleep(USUAL);
        Self {
            what: "usual",
            from,
            replaced: from,
            settled: from,
        }
    }

    /// Returns the longest time without a durable file of a chain, from the beginning of the phase to that of
    /// the next one.
    fn pause(&self, chain: &[NotesFile], next: SystemTime) -> Duration {
        let within = |time: &SystemTime| self.from < *time && *time < next;
        let mut times = vec![self.from];
        times.extend(chain.iter().map(at).filter(within));
        times.push(next);
        let gaps = times
            .windows(2)
            .map(|pair| pair[1].duration_since(pair[0]).unwrap());
        gaps.max().unwrap()
    }
}

/// Prints the pauses of each partition in each phase, and asserts that none was long. `over` is the end of
/// the last phase.
#[track_caller]
fn report(title: &str, data: &Dataset, phases: &[Phase], over: SystemTime) {
    let ends: Vec<_> = phases[1..].iter().map(|phase| phase.from).chain([over]).collect();
    println!("{title}: the longest time without a durable file, in seconds");
    let names: Vec<_> = phases.iter().map(|phase| phase.what).collect();
    println!("partition  {}", names.join("  "));
    let mut all: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for ((_, partition), chain) in &data.chains {
        print!("{partition:9}");
        for (phase, end) in phases.iter().zip(&ends) {
            let pause = phase.pause(chain, *end);
            all.entry(phase.what).or_default().push(pause);
            print!("  {:>width$.1}", pause.as_secs_f64(), width = phase.what.len());
        }
        println!();
    }
    for phase in phases {
        let pauses = all.get_mut(phase.what).unwrap();
        pauses.sort();
        let (median, worst) = (pauses[pauses.len() / 2], pauses[pauses.len() - 1]);
        let after = |time: SystemTime| time.duration_since(phase.from).unwrap().as_secs_f64();
        println!(
            "{}: median {:.1}, worst {:.1}; pods replaced after {:.1}, no lag after {:.1}",
            phase.what,
            median.as_secs_f64(),
            worst.as_secs_f64(),
            after(phase.replaced),
            after(phase.settled)
        );
        assert!(worst < LONGEST_PAUSE, "{}: {worst:?}", phase.what);
    }
}

/// Asserts that files name their version: each file from before a phase the old one, each from after it the
/// new one.
#[track_caller]
fn assert_versions(data: &Dataset, old: &Version, new: &Version, [there, back]: [&Phase; 2], by_turns: bool) {
    for chain in data.chains.values() {
        for file in chain {
            let (time, version) = (at(file), version_of(file));
            let due: &[_] = if time < there.from || time > back.replaced {
                &[old]
            } else if time > there.replaced && time < back.from {
                &[new]
            } else {
                &[old, new]
            };
            assert!(due.contains(&&version), "{}: {version:?}", file.path.display());
        }
        let mut versions: Vec<_> = chain.iter().map(version_of).collect();
        versions.dedup();
        if by_turns {
            // A partition that stays with its pod has one old segment, one new one, and one old one again.
            assert_eq!(versions, [old.clone(), new.clone(), old.clone()]);
        }
        assert!(versions.contains(new) && versions.first() == Some(old) && versions.last() == Some(old));
    }
}

/// Returns every file below a folder with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = files(folder).into_iter();
    paths
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

fn rehearse(example: &str) {
    let place = Place::new();
    let out = place.at("out");
    let topic = Topic::new("upgrade", PARTITIONS);
    let release =
        |name: &str, config| Chart::rendered(&place, name, example, &values(&topic, PODS, &config), &out);
    let before = release("before", json!({}));
    // Another bundle, and a policy where there was none. Its mode is no stricter than no mode, since a chain
    // does not return to a mode that protects less.
    let after = release(
        "after",
        json!({
            "engine": {"bundle": "en-fast"},
            "policy": {"mode": "custom", "default": {"action": "tag"}},
        }),
    );
    let title = if before.is_static() {
        "StatefulSet"
    } else {
        "Deployment"
    };
    let monitor = FolderMonitor::over(&out);
    let feed = Feed::into(&topic, BETWEEN);
    let mut rollout = Rollout::default();
    for _ in 0..before.replicas() {
        let pod = rollout.start(&before);
        rollout.pods.push(pod);
    }
    rollout.pods.iter_mut().for_each(Pod::until_ready);
    rollout.settle();
    // The last member to join has received partitions; wait until that is over.
    std::thread::sleep(USUAL / 2);
    let usual = Phase::usual();
    let old = rollout.pods[0].version();
    let kept = contents(&out);
    let there = rollout.to("upgrade", &after);
    let new = rollout.pods[0].version();
    assert!(old[0] != new[0] && old[1] != new[1]);
    std::thread::sleep(USUAL / 2);
    let back = rollout.to("roll-back", &before);
    assert_eq!(rollout.pods[0].version(), old);
    std::thread::sleep(USUAL / 2);
    let over = SystemTime::now();

    let sent = feed.end();
    let ends: BTreeMap<_, _> = topic.watermarks();
    let ends = ends
        .iter()
        .map(|(partition, (_, high))| (*partition, Some(*high)))
        .collect();
    let began = Instant::now();
    while topic.committed(&group(&topic)) != ends || rollout.sum("lethe_lag_records") != 0.0 {
        assert!(
            began.elapsed() < TIMEOUT,
            "lag {}",
            rollout.sum("lethe_lag_records")
        );
        std::thread::sleep(Duration::from_millis(200));
    }
    let told = Instant::now();
    rollout.pods.iter().for_each(|pod| pod.running.signal("TERM"));
    rollout
        .pods
        .drain(..)
        .for_each(|pod| pod.gone(told, before.grace()));

    assert_eq!(monitor.end().half_written, Vec::<String>::new());
    let data = Dataset::read(&out);
    assert_eq!(data.faults(&out), Vec::<String>::new());
    let produced = topic.offsets();
    let tally = data.tally(&produced);
    println!(
        "{title}: {sent} notes, lost {}, duplicated {}",
        tally.lost, tally.duplicated
    );
    assert_eq!((produced.len(), tally), (sent, Tally::default()));
    assert_redacted(&data, sent);
    assert_intact(&out, sent);
    let now = contents(&out);
    let changed: BTreeSet<_> = kept
        .iter()
        .filter(|(path, bytes)| now.get(*path) != Some(bytes))
        .map(|(path, _)| path)
        .collect();
    assert!(!kept.is_empty() && changed.is_empty(), "{changed:?}");
    assert_versions(&data, &old, &new, [&there, &back], before.is_static());
    report(title, &data, &[usual, there, back], over);
}

#[test]
fn pods_of_a_deployment_that_are_upgraded_and_rolled_back_lose_and_repeat_nothing() {
    rehearse("minimal-values.yaml");
}

#[test]
fn pods_of_a_statefulset_that_are_upgraded_and_rolled_back_lose_and_repeat_nothing() {
    rehearse("static-values.yaml");
}
