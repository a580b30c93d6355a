//! The telemetry of a running program: every metric changes when it should, probes are correct, and pages
//! show the state.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use common::checks::until_rows;
use common::kafka::Topic;
use common::notes::{event, events};
use common::pages::{Pages, TELEMETRY, sum};
use common::process::{Lethe, TIMEOUT};
use common::proxy::{Proxy, Treatment};
use common::{Place, env, folder_sink, s3_sink};
use tokio::runtime::Builder;

const ROLL: &str = "roll = { max_age_seconds = 1.0, max_idle_seconds = 0.5 }\n";

/// Returns the names that `lethe metrics` lists.
fn catalogue() -> BTreeSet<String> {
    let listed = Lethe::new(["metrics"]).end().expect(0).out;
    listed
        .lines()
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect()
}

/// Returns the metric of a series: its name without labels and without a histogram's suffix.
fn metric_of(series: &str, known: &BTreeSet<String>) -> String {
    let name = series.split('{').next().unwrap();
    let bare = ["_bucket", "_sum", "_count"]
        .iter()
        .find_map(|end| name.strip_suffix(end));
    bare.filter(|bare| known.contains(*bare))
        .unwrap_or(name)
        .to_owned()
}

#[test]
fn metrics_move_with_records_files_and_quarantine_and_none_is_unlisted() {
    let topic = Topic::new("metrics", 2);
    topic.fill(events(150));
    topic.fill(["no event".to_owned()]);
    let place = Place::new();
    let out = place.at("out");
    let config = topic.source() + TELEMETRY + &folder_sink(&out) + ROLL;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    until_rows(&out, 151, &mut running);
    let lag = |metrics: &_| sum(metrics, "lethe_lag_records", &[]);
    let metrics = pages.until("no lag", TIMEOUT, |metrics| {
        lag(metrics) == 0.0 && sum(metrics, "lethe_files_total", &[]) > 0.0
    });
    let of = |name: &str, labels: &[&str]| sum(&metrics, name, labels);
    assert_eq!(of("lethe_records_total", &["outcome=\"note\""]), 150.0);
    assert_eq!(
        of("lethe_records_total", &["outcome=\"quarantined\""]),
        1.0,
        "{metrics:#?}"
    );
    assert_eq!(of("lethe_quarantined_total", &["code=\"damaged\""]), 1.0);
    assert_eq!(of("lethe_quarantined_total", &[]), 1.0);
    assert_eq!(of("lethe_note_bytes_total", &["outcome=\"quarantined\""]), 8.0);
    assert!(of("lethe_note_bytes_total", &["outcome=\"note\""]) > 150.0 * 100.0);
    assert!(of("lethe_spans_total", &["label=\"PHONE\""]) > 0.0);
    assert_eq!(of("lethe_spans_total", &[]), of("lethe_vote_margin_count", &[]));
    assert_eq!(of("lethe_batch_records_sum", &[]), 151.0);
    assert!(of("lethe_batch_bytes_sum", &[]) > 0.0);
    let files = of("lethe_files_total", &[]);
    assert!(
        files >= 2.0
            && of("lethe_files_total", &["reason=\"idle\""]) + of("lethe_files_total", &["reason=\"age\""])
                == files
    );
    for histogram in ["lethe_file_bytes_count", "lethe_commit_seconds_count"] {
        assert_eq!(of(histogram, &[]), files, "{histogram}");
    }
    for stage in ["queue", "decode", "tag", "encode", "seal", "store"] {
        let label = format!("stage=\"{stage}\"");
        assert!(of("lethe_stage_seconds_count", &[&label]) > 0.0, "{stage}");
    }
    assert_eq!(of("lethe_rebalances_total", &["kind=\"assigned\""]), 2.0);
    assert_eq!((of("lethe_lanes", &[]), of("lethe_ready", &[])), (2.0, 1.0));
    assert!(of("lethe_memory_budget_bytes", &[]) > 0.0 && of("lethe_build_info", &["policy="]) == 1.0);
    for gauge in [
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_max_fds",
        "process_cpu_seconds_total",
        "process_start_time_seconds",
    ] {
        assert!(of(gauge, &[]) > 0.0, "{gauge}");
    }
    for result in ["result=\"hit\"", "result=\"miss\""] {
        assert!(of("lethe_cache_lookups_total", &[result]) > 0.0, "{result}");
    }
    // Every member that remembers words says how much memory that takes, and lanes have the rest.
    for member in ["cnn", "gazetteer", "lstm-crf-l", "ssvm"] {
        let label = format!("member=\"{member}\"");
        assert!(of("lethe_cache_bytes", &[&label]) > 0.0, "{member}");
    }
    assert!(of("lethe_phi_per_thousand_tokens", &[]) > 0.0);
    let known = catalogue();
    let unlisted: Vec<_> = metrics
        .keys()
        .filter(|series| !known.contains(&metric_of(series, &known)))
        .collect();
    assert_eq!(unlisted, Vec::<&String>::new());
    // Every metric must be covered by a test here.
    let asked = concat!(
        include_str!("telemetry.rs"),
        include_str!("backfill.rs"),
        include_str!("fatal.rs"),
        include_str!("table.rs")
    );
    known
        .iter()
        .for_each(|name| assert!(asked.contains(name.as_str()), "{name}"));
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
}

#[test]
fn lag_and_queue_tell_what_is_not_durable_while_a_store_is_away_and_the_program_lives_on() {
    let topic = Topic::new("lagging", 1);
    let away = Arc::new(AtomicBool::new(false));
    let place = Place::new();
    let proxy = Proxy::before(&env("LETHE_TEST_S3_ENDPOINT"), {
        let away = Arc::clone(&away);
        move |_| {
            if away.load(SeqCst) {
                Treatment::Status(503)
            } else {
                Treatment::Pass
            }
        }
    });
    // Hardly any retries within one request, so that the program's own are needed.
    let more = "timeout_seconds = 2\nretries = 1\nretry_seconds = 3\n[sink.roll]\nmax_age_seconds = 0.5\nmax_idle_seconds = 0.5\n";
    let sink = s3_sink(&format!("away/{}", topic.name), Some(&proxy.endpoint()), more);
    let config = topic.source() + TELEMETRY + &sink;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    pages.until("a lane", TIMEOUT, |metrics| {
        sum(metrics, "lethe_lanes", &[]) == 1.0
    });
    away.store(true, SeqCst);
    topic.fill(events(40));
    let waiting = pages.until("a retry", TIMEOUT, |metrics| {
        sum(metrics, "lethe_store_retries_total", &[]) > 0.0
    });
    assert!(sum(&waiting, "lethe_memory_held_bytes", &[]) > 0.0);
    assert_eq!(pages.get("/live").0, 200);
    assert!(pages.get("/").1.contains("waiting for a store or a service"));
    pages.until("lag", TIMEOUT, |metrics| {
        sum(metrics, "lethe_lag_records", &["partition=\"0\""]) == 40.0
            && sum(metrics, "lethe_lag_seconds", &[]) > 0.0
    });
    // The lane waits with its file, so later records wait in its queue.
    topic.fill((40..60).map(event));
    pages.until("a queue", TIMEOUT, |metrics| {
        sum(metrics, "lethe_queue_records", &["partition=\"0\""]) > 0.0
    });
    away.store(false, SeqCst);
    let through = pages.until("no lag", TIMEOUT, |metrics| {
        sum(metrics, "lethe_lag_records", &[]) == 0.0 && sum(metrics, "lethe_files_total", &[]) > 0.0
    });
    assert_eq!(sum(&through, "lethe_lag_seconds", &[]), 0.0);
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
}

#[test]
fn a_lane_that_halts_and_a_note_to_look_at_are_counted_and_shown() {
    let topic = Topic::new("halting", 2);
    topic.fill(events(20));
    let place = Place::new();
    let out = place.at("out");
    let config = topic.source()
        + TELEMETRY
        + &folder_sink(&out)
        + ROLL
        + "[engine]\nacknowledge = [\"rules-only\"]\nvote = { threshold = 2 }\n";
    let config = place.write("lethe.toml", config);
    Lethe::through(&config).end().expect(0);
    topic.fill((20..60).map(event));
    topic.trim(1, 15);
    let mut running = Lethe::run(&config).start();
    let pages = Pages::of(&mut running);
    let halted = pages.until("a halted lane", TIMEOUT, |metrics| {
        sum(metrics, "lethe_lanes_halted_total", &[]) == 1.0 && sum(metrics, "lethe_reviews_total", &[]) > 0.0
    });
    assert_eq!(sum(&halted, "lethe_lanes", &[]), 1.0);
    assert!(sum(&halted, "lethe_reviews_total", &["reason=\"dropped\""]) > 0.0);
    let shown = format!("{}/1 halted:", topic.name);
    assert!(pages.get("/").1.contains(&shown));
    let halted = format!("\nlane {}/1 halted: out_of_range\n", topic.name);
    for page in ["/live", "/ready"] {
        let (status, body) = pages.get(page);
        assert!(status == 200 && body.ends_with(&halted), "{page}: {body}");
    }
    running.signal("TERM");
    running.wait(TIMEOUT).expect(3);
}

#[test]
fn writers_of_the_same_chain_count_the_files_that_came_too_late() {
    let topic = Topic::new("fenced", 1);
    let place = Place::new();
    let out = place.at("out");
    let mut writers: Vec<_> = ["one", "other"]
        .iter()
        .map(|group| {
            let source = topic
                .source()
                .replace("group = \"", &format!("group = \"{group}-"));
            let config = place.write(
                &format!("{group}.toml"),
                source + TELEMETRY + &folder_sink(&out) + ROLL,
            );
            let mut running = Lethe::run(&config).start();
            let pages = Pages::of(&mut running);
            pages.until("a lane", TIMEOUT, |metrics| {
                sum(metrics, "lethe_lanes", &[]) == 1.0
            });
            (running, pages)
        })
        .collect();
    let began = Instant::now();
    let mut next = 0;
    let fenced = |writers: &[(_, Pages)]| -> f64 {
        writers
            .iter()
            .map(|(_, pages)| sum(&pages.metrics(), "lethe_fenced_writes_total", &[]))
            .sum()
    };
    while fenced(&writers) == 0.0 {
        assert!(began.elapsed() < TIMEOUT);
        topic.fill((next..next + 5).map(event));
        next += 5;
        until_rows(&out, next, &mut writers[0].0);
    }
    for (running, _) in writers {
        running.signal("TERM");
        running.wait(TIMEOUT).expect(0);
    }
}

#[test]
fn a_feed_that_changes_is_told() {
    let topic = Topic::new("drifting", 1);
    let place = Place::new();
    let engine = "[engine]\nmembers = [{ kind = \"pattern\" }]\n";
    let config = engine.to_owned() + &topic.source() + TELEMETRY + &folder_sink(&place.at("out")) + ROLL;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    // Some ten thousand tokens per note, with a phone number in every line, then in every tenth.
    let note = |number: usize, every: usize| {
        let line = |at: usize| {
            let call = if at.is_multiple_of(every) {
                "call 612-555-0173"
            } else {
                "call again soon"
            };
            format!("The lungs are clear and the abdomen is soft, {call}.\n")
        };
        let text: String = (0..700).map(line).collect();
        serde_json::json!({"note_id": format!("n{number}"), "text": text}).to_string()
    };
    topic.fill((0..70).map(|number| note(number, 1)));
    let usual = pages.until("what is usual", TIMEOUT, |metrics| {
        sum(metrics, "lethe_records_total", &["outcome=\"note\""]) == 70.0
    });
    assert!(
        (0.9..1.1).contains(&sum(&usual, "lethe_drift", &["signal=\"phi_density\""])),
        "{usual:#?}"
    );
    assert!((0.9..1.1).contains(&sum(&usual, "lethe_drift", &["signal=\"vote_margin\""])));
    assert_eq!(sum(&usual, "lethe_drift_warnings_total", &[]), 0.0);
    topic.fill((70..110).map(|number| note(number, 10)));
    let changed = pages.until("the change", TIMEOUT, |metrics| {
        sum(metrics, "lethe_records_total", &["outcome=\"note\""]) == 110.0
    });
    assert!(sum(&changed, "lethe_drift", &["signal=\"phi_density\""]) < 0.67);
    assert_eq!(
        sum(
            &changed,
            "lethe_drift_warnings_total",
            &["signal=\"phi_density\""]
        ),
        1.0
    );
    running.until_it_says("the feed has changed", TIMEOUT);
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
}

#[test]
fn probes_and_pages_say_what_is_so() {
    let topic = Topic::new("probes", 1);
    topic.fill([event(1)]);
    let place = Place::new();
    let out = place.at("out");
    let config = topic.source() + TELEMETRY + &folder_sink(&out) + ROLL;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    until_rows(&out, 1, &mut running);
    assert_eq!(pages.get("/live"), (200, "live\n".to_owned()));
    assert_eq!(pages.get("/ready"), (200, "ready\n".to_owned()));
    assert_eq!(pages.get("/nothing").0, 404);
    assert_eq!(pages.ask("POST", "/metrics").0, 405);
    let (status, page) = pages.get("/");
    assert_eq!(status, 200);
    for shown in [
        "Running",
        &topic.name,
        "Members: ",
        "<td>note</td><td class=\"n\">1</td>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    Lethe::new(["probe", &pages.url("/ready")]).end().expect(0);
    Lethe::new(["probe", &pages.url("/nothing")])
        .end()
        .expect(1)
        .says("404");
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
    Lethe::new(["probe", &pages.url("/ready")]).end().expect(1);
}

#[test]
fn a_telemetry_table_that_cannot_be_is_refused_by_name() {
    let place = Place::new();
    for (table, expected) in [
        ("listen = \"nowhere\"", "telemetry.listen"),
        ("stall_seconds = 3", "key `telemetry.stall_seconds`: is 3"),
        (
            "otlp = { endpoint = \"collector:4318\" }",
            "key `telemetry.otlp.endpoint`",
        ),
        (
            "otlp = { endpoint = \"http://u:p@c:4318\" }",
            "key `telemetry.otlp.endpoint`",
        ),
        (
            "otlp = { endpoint = \"http://c:4318\", traces = 2.0 }",
            "key `telemetry.otlp.traces`: is 2",
        ),
        (
            "otlp = { endpoint = \"http://c:4318\", interval_seconds = 0 }",
            "key `telemetry.otlp.interval_seconds`",
        ),
        ("port = 1", "telemetry.port"),
    ] {
        let config = place.write("lethe.toml", format!("[telemetry]\n{table}\n"));
        let arguments = ["check", "-c", config.to_str().unwrap()];
        Lethe::new(arguments).end().expect(2).says(expected);
    }
}

#[test]
fn a_thousand_slow_connections_keep_no_probe_waiting() {
    const CONNECTIONS: usize = 1000;
    // A kubelet's probe fails after three attempts in a row; one attempt may be late on a busy machine.
    const BOUND: Duration = Duration::from_secs(5);
    const ATTEMPTS: usize = 3;
    // Not the address of the probes: a probe that is slow to send its request may be closed for another
    // connection from its own address.
    const FLOOD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
    let topic = Topic::new("slow", 1);
    topic.fill([event(1)]);
    let place = Place::new();
    let out = place.at("out");
    let config = topic.source() + TELEMETRY + &folder_sink(&out) + ROLL;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    until_rows(&out, 1, &mut running);
    let descriptors = || sum(&pages.metrics(), "process_open_fds", &[]);
    let before = descriptors();
    allow_open_files();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flood = scope.spawn(|| {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            let connect = || pages.connect_from(FLOOD, &runtime);
            let mut slow: Vec<_> = (0..CONNECTIONS).map(|_| connect()).collect();
            let mut replaced = 0;
            while !over.load(SeqCst) {
                for stream in &mut slow {
                    // A closed connection is reopened immediately.
                    if stream.write_all(b"G").is_err() {
                        *stream = connect();
                        replaced += 1;
                    }
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            replaced
        });
        let end = EndFlood(&over);
        std::thread::sleep(Duration::from_secs(1));
        for _ in 0..20 {
            for page in ["/live", "/ready", "/metrics"] {
                let answer = (0..ATTEMPTS).find_map(|_| pages.get_within(page, BOUND));
                assert_eq!(answer, Some(200), "{page}");
            }
        }
        let held = descriptors() - before;
        drop(end);
        assert!(flood.join().unwrap() > 0, "no connection was closed to make room");
        assert!(held < 600.0, "{held} descriptors for connections");
    });
    until_rows(&out, 1, &mut running);
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
}

/// Raises this process's limit of open files to the maximum.
fn allow_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// Ends the flood when it is dropped, so that a failed assertion ends it too.
struct EndFlood<'f>(&'f AtomicBool);

impl Drop for EndFlood<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn responses_forbid_framing_caching_referrers_and_other_origins() {
    let topic = Topic::new("headers", 1);
    let place = Place::new();
    let config = topic.source() + TELEMETRY + &folder_sink(&place.at("out")) + ROLL;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    let expected = [
        "cache-control: no-store",
        "connection: close",
        "content-security-policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "cross-origin-opener-policy: same-origin",
        "cross-origin-resource-policy: same-origin",
        "referrer-policy: no-referrer",
        "x-content-type-options: nosniff",
        "x-frame-options: DENY",
    ];
    for (method, path) in [
        ("GET", "/"),
        ("HEAD", "/metrics"),
        ("GET", "/nothing"),
        ("PUT", "/live"),
    ] {
        let head = pages.exchange(&format!("{method} {path} HTTP/1.1\r\nhost: test\r\n\r\n"));
        for header in expected {
            assert!(head.contains(header), "{method} {path}: {header}\n{head}");
        }
        assert_eq!(head.contains("allow: GET, HEAD"), method == "PUT", "{head}");
    }
    // Headers over the size limit are refused, and so are too many headers.
    for many in ["x: y\r\n".repeat(100), format!("x: {}\r\n", "y".repeat(20_000))] {
        let head = pages.exchange(&format!("GET /live HTTP/1.1\r\nhost: test\r\n{many}\r\n"));
        assert!(head.starts_with("HTTP/1.1 431 "), "{head}");
    }
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
}
