//! A rolling upgrade, rehearsed: three processes as the chart starts them, replaced one after the other by another version while
//! notes keep coming.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests, as tests themselves, say where they fail"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use common::dataset::{Dataset, NotesFile, Tally};
use common::feed::Feed;
use common::kafka::Topic;
use common::notes::id;
use common::pages::{Pages, TELEMETRY, sum};
use common::process::{Lethe, Running};
use common::watch::Watch;
use common::{Place, folder_sink};

/// As many as the chart's `terminationGracePeriodSeconds` gives a pod: a drain and its margin.
const GRACE: Duration = Duration::from_secs(45);
const PARTITIONS: i32 = 6;
const PODS: usize = 3;
/// A file a second, so that a pause is seen to the second.
const ROLL: &str = "roll = { max_age_seconds = 1.0, max_idle_seconds = 1.0 }\n";

/// A pod's program and its pages.
struct Pod {
    running: Running,
    pages: Pages,
}

impl Pod {
    /// Starts it as the chart does, and waits until its readiness probe says yes.
    fn start(config: &Path) -> Self {
        let arguments = ["--log-format", "text", "run", "-c", config.to_str().unwrap()];
        let mut running = Lethe::new(arguments).start();
        let pages = Pages::of(&mut running);
        let began = Instant::now();
        while pages.get("/ready").0 != 200 {
            assert!(began.elapsed() < GRACE && running.lives(), "{}", running.err());
            std::thread::sleep(Duration::from_millis(100));
        }
        Self { running, pages }
    }

    /// Stops it as the kubelet does: a signal, then patience as long as the grace period.
    fn stop(self) {
        self.running.signal("TERM");
        self.running.wait(GRACE).expect(0);
    }

    fn lag(&self) -> f64 {
        sum(&self.pages.metrics(), "lethe_lag_records", &[])
    }
}

/// The configuration of a version; another version redacts otherwise. A static member's name goes with its pod.
fn config(place: &Place, topic: &Topic, out: &Path, version: &str, pod: Option<usize>) -> PathBuf {
    let action = if version == "old" { "tag" } else { "mask" };
    let engine = format!(
        "[engine]\nmembers = [{{ kind = \"known\" }}, {{ kind = \"pattern\" }}]\nredaction = {{ action = \"{action}\" }}\n"
    );
    let member = pod.map_or_else(String::new, |pod| {
        format!("group_instance_id = \"lethe-{pod}\"\n")
    });
    let name = format!("{version}-{}.toml", pod.unwrap_or(PODS));
    place.write(
        &name,
        format!(
            "{engine}{TELEMETRY}{}{}{ROLL}",
            topic.source_with(&member),
            folder_sink(out)
        ),
    )
}

/// The longest time between two files of a chain becoming durable, in a stretch of time.
fn longest(chain: &[NotesFile], from: SystemTime, to: SystemTime) -> Duration {
    let mut moments: Vec<SystemTime> = chain
        .iter()
        .map(|file| std::fs::metadata(&file.path).unwrap().modified().unwrap())
        .filter(|moment| (from..=to).contains(moment))
        .collect();
    moments.push(from);
    moments.push(to);
    moments.sort_unstable();
    let gaps = moments
        .windows(2)
        .map(|pair| pair[1].duration_since(pair[0]).unwrap());
    gaps.max().unwrap_or_default()
}

/// Replaces every pod by one of another version, while notes keep coming; `surge` starts the new one before the old one stops.
fn rehearse(what: &str, surge: bool) {
    let place = Place::new();
    let out = place.at("out");
    let topic = Topic::new("upgrade", PARTITIONS);
    let watch = Watch::over(&out);
    let named = |pod: usize| (!surge).then_some(pod);
    let mut pods: Vec<Pod> = (0..PODS)
        .map(|pod| Pod::start(&config(&place, &topic, &out, "old", named(pod))))
        .collect();
    let feed = Feed::into(&topic);
    std::thread::sleep(Duration::from_secs(8));
    let began = SystemTime::now();
    // A Deployment takes any order; a StatefulSet goes from the highest number down.
    for pod in (0..PODS).rev() {
        let new = config(&place, &topic, &out, "new", named(pod));
        if surge {
            let fresh = Pod::start(&new);
            std::mem::replace(&mut pods[pod], fresh).stop();
        } else {
            pods.remove(pod).stop();
            pods.insert(pod, Pod::start(&new));
        }
    }
    let ended = SystemTime::now();
    // What a second brings, and what is in files that are open for a second: no more than that is behind again.
    let rate = 500.0;
    let settled = Instant::now();
    loop {
        let lag: f64 = pods.iter().map(Pod::lag).sum();
        if lag < 3.0 * rate {
            break;
        }
        assert!(settled.elapsed() < GRACE, "{what}: {lag} records behind");
        std::thread::sleep(Duration::from_millis(200));
    }
    let settled = settled.elapsed();
    std::thread::sleep(Duration::from_secs(4));
    let sent = feed.end();
    let waited = Instant::now();
    while pods.iter().map(Pod::lag).sum::<f64>() > 0.0 {
        assert!(waited.elapsed() < GRACE, "{what}: the rest is not written");
        std::thread::sleep(Duration::from_millis(200));
    }
    let over = SystemTime::now();
    pods.into_iter().for_each(Pod::stop);

    let seen = watch.end();
    assert_eq!(seen.half_written, Vec::<String>::new());
    let data = Dataset::read(&out);
    assert_eq!(data.faults(&out), Vec::<String>::new());
    let tally = data.tally(&topic.offsets());
    let ids: BTreeSet<&String> = data
        .rows()
        .iter()
        .map(|row| row.note_id.as_ref().unwrap())
        .collect();
    println!(
        "{what}: {sent} notes, lost {}, duplicated {}; lag back to normal in {settled:?}",
        tally.lost, tally.duplicated
    );
    assert_eq!(tally, Tally::default());
    assert_eq!(ids, (0..sent).map(id).collect::<Vec<_>>().iter().collect());

    // Each chain's files say by which version they were made: the old one at its beginning, the new one at its end.
    let mut pauses = BTreeMap::new();
    for ((_, partition), chain) in &data.chains {
        let made = |file: &NotesFile| file.footer["lethe.fingerprint.policy"].clone();
        assert_ne!(
            made(&chain[0]),
            made(chain.last().unwrap()),
            "partition {partition}"
        );
        let versions: BTreeSet<String> = chain.iter().map(made).collect();
        assert_eq!(versions.len(), 2);
        let calm = longest(chain, ended + Duration::from_secs(1), over);
        pauses.insert(*partition, (longest(chain, began, ended), calm));
    }
    println!("partition  longest without a new file: while upgrading, after it");
    for (partition, (upgrading, calm)) in &pauses {
        println!(
            "{partition:>9}  {:>6.1} s  {:>6.1} s",
            upgrading.as_secs_f64(),
            calm.as_secs_f64()
        );
        // A drain, a session's end and a rebalance at the very most.
        assert!(
            *upgrading < GRACE,
            "partition {partition} stood still for {upgrading:?}"
        );
    }
}

#[test]
fn a_deployment_is_upgraded_pod_by_pod_and_nothing_is_lost_or_there_twice() {
    rehearse("deployment, a new pod before an old one goes", true);
}

#[test]
fn a_stateful_set_is_upgraded_pod_by_pod_and_nothing_is_lost_or_there_twice() {
    rehearse("static members, an old pod goes before the new one", false);
}
