//! Brokers, stores and disks that are missing, late, full, closed or slow; and a clock that goes backwards.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::checks::until_rows;
use common::dataset::Dataset;
use common::kafka::{Topic, name};
use common::metadata::MetadataProxy;
use common::notes::{event, events};
use common::process::{Ended, Lethe, TIMEOUT, system};
use common::proxy::{Proxy, Treatment};
use common::servers::Server;
use common::{Place, copy_bucket, env, folder_sink, quoted, s3_sink};

#[test]
fn a_broker_that_comes_late_and_dies_in_the_middle_is_waited_for() {
    let broker = Server::kafka(&[]);
    let topic = Topic::at(broker.get("BOOTSTRAP"), "late", 4);
    topic.fill(events(200));
    broker.tell(&["kill"]);
    let place = Place::new();
    let out = place.at("out");
    let roll = "roll = { max_age_seconds = 0.5, max_idle_seconds = 0.5 }\n";
    let source = topic.source_with("properties = { \"reconnect.backoff.max.ms\" = 500 }\n");
    let config = place.write("lethe.toml", source + &folder_sink(&out) + roll);
    let mut running = Lethe::run(&config).start();
    running.until_it_says("trying again", TIMEOUT);
    assert!(!out.join("notes").exists());

    broker.tell(&["restart"]);
    until_rows(&out, 200, &mut running);
    broker.tell(&["kill"]);
    std::thread::sleep(Duration::from_secs(2));
    assert!(running.lives(), "{}", running.err());
    broker.tell(&["restart"]);
    topic.fill((200..400).map(event));
    until_rows(&out, 400, &mut running);
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
    Dataset::read(&out).assert_exactly(&out, &topic.offsets());
}

/// librdkafka forgets the brokers that a metadata response does not list, and then also those that it was configured with.
#[test]
fn a_consumer_connects_again_after_metadata_without_any_broker() {
    let proxy = MetadataProxy::new();
    let session = ["--set", "broker.session.timeout.ms=60000"];
    let broker = Server::kafka(&[&["--behind", &proxy.port()], &session[..]].concat());
    proxy.forward(broker.get("BEHIND_1"));
    let topic = Topic::at(broker.get("BOOTSTRAP"), "no-broker", 2);
    topic.fill(events(200));
    let place = Place::new();
    let out = place.at("out");
    let roll = "roll = { max_age_seconds = 0.5, max_idle_seconds = 0.5 }\n";
    let source = topic.source_with("properties = { \"topic.metadata.refresh.interval.ms\" = 200 }\n");
    let source = source.replace(broker.get("BOOTSTRAP"), &proxy.address());
    let mut running = Lethe::run(&place.write("lethe.toml", source + &folder_sink(&out) + roll)).start();
    until_rows(&out, 200, &mut running);

    // In about every second round librdkafka alone would not connect again.
    let mut rows = 200;
    for round in 0..8 {
        let changed = proxy.changed();
        proxy.fence(true);
        let until = Instant::now() + TIMEOUT;
        while proxy.changed() == changed {
            assert!(Instant::now() < until, "no metadata request");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(100 * round));
        proxy.fence(false);
        let more = rows + 20;
        topic.fill((rows..more).map(event));
        rows = more;
        until_rows(&out, rows, &mut running);
    }
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
    Dataset::read(&out).assert_exactly(&out, &topic.offsets());
}

#[test]
fn a_missing_topic_ends_the_run_promptly_and_is_named() {
    let place = Place::new();
    let missing = name("missing");
    let source = format!(
        "[source]\nkind = \"kafka\"\nbrokers = [{:?}]\ntopics = [{missing:?}]\ngroup = \"g\"\n",
        env("LETHE_TEST_KAFKA")
    );
    let config = place.write("lethe.toml", source + &folder_sink(&place.at("out")));
    Lethe::run(&config)
        .end()
        .expect(1)
        .says(&missing)
        .says("does not exist");
    Lethe::new([
        "check".as_ref(),
        "--connect".as_ref(),
        "-c".as_ref(),
        config.as_os_str(),
    ])
    .end()
    .expect(4)
    .says("does not exist");
}

#[test]
fn a_missing_bucket_ends_the_run_promptly_and_is_named() {
    let topic = Topic::new("no-bucket", 1);
    topic.fill(events(3));
    let place = Place::new();
    let bucket = format!("bucket = {:?}", env("LETHE_TEST_S3_BUCKET"));
    let sink = s3_sink("x", None, "").replace(&bucket, "bucket = \"nobody-made-this\"");
    let config = place.write("lethe.toml", topic.source() + &sink);
    Lethe::through(&config)
        .end()
        .expect(1)
        .says("nobody-made-this")
        .says("there is no such bucket");
}

#[test]
fn a_wrong_key_to_the_store_ends_the_run_promptly_and_is_not_shown() {
    let topic = Topic::new("no-key", 1);
    topic.fill(events(3));
    let place = Place::new();
    let sink = s3_sink("x", None, "").replace(&env("LETHE_TEST_S3_SECRET"), "not-the-secret-8841");
    let config = place.write("lethe.toml", topic.source() + &sink);
    let ended = Lethe::through(&config).end().expect(1).says("refused");
    assert!(!ended.err.contains("not-the-secret"), "{}", ended.err);
}

/// Returns the command that creates a mount namespace here: as any user, through a user namespace; where
/// those are forbidden, as root.
fn namespace() -> &'static [&'static str] {
    const ANYBODY: &[&str] = &["--mount", "--user", "--map-root-user"];
    let tried = Command::new("unshare")
        .args(ANYBODY)
        .arg("true")
        .output()
        .unwrap();
    if tried.status.success() {
        ANYBODY
    } else {
        &["--mount"]
    }
}

/// Runs the program as root of a mount namespace of its own, after `before`; `{0}` stands for the folder.
fn with_mounts(before: &str, after: &str, folder: &Path, config: &Path) -> Ended {
    let folder = folder.to_str().unwrap();
    let script = format!(
        "set -e\n{}\nset +e\n\"$0\" run --until-end -c \"$1\"\ncode=$?\nset -e\n{}\nexit $code\n",
        before.replace("{0}", folder),
        after.replace("{0}", folder)
    );
    let done = Command::new("unshare")
        .args(namespace())
        .args(["sh", "-c", &script])
        .args([env!("CARGO_BIN_EXE_lethe").as_ref(), config.as_os_str()])
        .output()
        .unwrap();
    Ended {
        code: done.status.code(),
        out: String::from_utf8_lossy(&done.stdout).into_owned(),
        err: String::from_utf8_lossy(&done.stderr).into_owned(),
        took: Duration::ZERO,
    }
}

#[test]
fn a_full_disk_ends_the_run_and_what_is_durable_goes_on_elsewhere() {
    let topic = Topic::new("full", 2);
    let place = Place::new();
    let roll = "roll = { max_rows = 100 }\n";
    // Some files are durable before: how many rows the next ones have depends on how busy the machine is.
    let first = place.at("first");
    topic.fill(events(100));
    let config = place.write("first.toml", topic.source() + &folder_sink(&first) + roll);
    Lethe::through(&config).end().expect(0);
    topic.fill((100..4_000).map(event));
    let out = place.at("out");
    std::fs::create_dir(&out).unwrap();
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out) + roll);
    let rescued = place.at("rescued");
    with_mounts(
        &format!(
            "mount -t tmpfs -o size=128k none '{{0}}'\ncp -r {}/. '{{0}}'",
            quoted(&first)
        ),
        &format!("cp -r '{{0}}' {}", quoted(&rescued)),
        &out,
        &config,
    )
    .expect(1)
    .says("no space left");
    // The written files are intact, and a larger disk takes the rest.
    let data = Dataset::read(&rescued);
    assert_eq!(data.faults(&rescued), Vec::<String>::new());
    assert!(
        (100..4_000).contains(&data.rows().len()),
        "{} rows",
        data.rows().len()
    );
    let config = place.write("more.toml", topic.source() + &folder_sink(&rescued) + roll);
    Lethe::through(&config).end().expect(0);
    Dataset::read(&rescued).assert_exactly(&rescued, &topic.offsets());
}

#[test]
fn a_folder_that_cannot_be_written_ends_the_run_with_what_to_do() {
    let topic = Topic::new("closed", 1);
    topic.fill(events(10));
    let place = Place::new();
    let out = place.at("out");
    std::fs::create_dir(&out).unwrap();
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out));
    with_mounts(
        "mount --bind '{0}' '{0}' && mount -o remount,ro,bind '{0}'",
        "true",
        &out,
        &config,
    )
    .expect(1)
    .says(out.to_str().unwrap());
    assert_eq!(common::dataset::all_files(&out), Vec::<std::path::PathBuf>::new());

    // The same with a file instead of the folder.
    let file = place.write("file", "in the way");
    let config = place.write("file.toml", topic.source() + &folder_sink(&file));
    Lethe::through(&config)
        .end()
        .expect(1)
        .says("there is a file of this name");
}

/// Streams a topic through a proxy in front of the real store; returns the result and the number of requests.
fn through_a_bad_store(
    stem: &str,
    notes: usize,
    treat: impl Fn(usize) -> Treatment + Send + Sync + 'static,
) -> (Ended, usize) {
    let topic = Topic::new(stem, 2);
    topic.fill(events(notes));
    let place = Place::new();
    let proxy = Proxy::before(&env("LETHE_TEST_S3_ENDPOINT"), treat);
    let prefix = format!("bad/{}", topic.name);
    // Hardly any retries within one request, so that the program's own are needed.
    let more = "timeout_seconds = 2\nretries = 1\nretry_seconds = 3\n[sink.roll]\nmax_rows = 50\n";
    let sink = s3_sink(&prefix, Some(&proxy.endpoint()), more);
    let config = place.write("lethe.toml", topic.source() + &sink);
    let ended = Lethe::through(&config).end().expect(0);
    let out = place.at("copy");
    copy_bucket(&prefix, &out);
    Dataset::read(&out).assert_exactly(&out, &topic.offsets());
    (ended, proxy.requests())
}

#[test]
fn a_store_that_answers_429_500_or_503_or_resets_is_asked_again() {
    let kinds = [
        Treatment::Status(429),
        Treatment::Reset,
        Treatment::Status(500),
        Treatment::LoseAnswer,
        Treatment::Status(503),
        Treatment::LoseAnswer,
    ];
    let (_, requests) = through_a_bad_store("bad-store", 600, move |request| match request % 3 {
        1 => kinds[(request / 3) % kinds.len()],
        _ => Treatment::Pass,
    });
    assert!(requests > 12, "{requests} requests");
}

#[test]
fn a_store_that_is_down_for_a_while_holds_the_run_up_and_nothing_else() {
    let (ended, _) = through_a_bad_store("down-store", 300, |request| match request {
        4..16 => Treatment::Status(503),
        _ => Treatment::Pass,
    });
    ended.says("trying again");
}

#[test]
fn a_store_that_answers_late_or_never_is_waited_for_or_asked_again() {
    let (ended, _) = through_a_bad_store("slow-store", 300, |request| match request {
        3 | 6 => Treatment::Hang,
        _ => Treatment::Slow(Duration::from_millis(150)),
    });
    assert!(ended.took > Duration::from_secs(2));
}

#[test]
fn the_same_notes_may_be_written_by_a_request_whose_answer_was_lost_and_are_there_once() {
    // Every write succeeds but loses its response, once: the retry finds its own file.
    let lost = AtomicUsize::new(0);
    through_a_bad_store("lost-answers", 400, move |request| {
        if request % 2 == 0 && request > 2 && lost.fetch_add(1, Ordering::SeqCst) < 8 {
            Treatment::LoseAnswer
        } else {
            Treatment::Pass
        }
    });
}

/// A library that makes the wall clock run backwards, three seconds per second, and jump by a day after a
/// second; the monotonic clock is unchanged. It also corrects waits until a time of the wall clock: the real
/// time would have passed already, so that every wait would end immediately.
const BACKWARDS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
static long start;
static long behind(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  __sync_bool_compare_and_swap(&start, 0, now.tv_sec);
  long elapsed = now.tv_sec - start;
  return 4 * elapsed + (elapsed > 1 ? 86400 : 0);
}
int clock_gettime(clockid_t id, struct timespec *t) {
  int answer = syscall(SYS_clock_gettime, id, t);
  if (answer == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) t->tv_sec -= behind();
  return answer;
}
int gettimeofday(struct timeval *v, void *zone) {
  struct timespec t;
  int answer = clock_gettime(CLOCK_REALTIME, &t);
  (void)zone;
  v->tv_sec = t.tv_sec;
  v->tv_usec = t.tv_nsec / 1000;
  return answer;
}
int timespec_get(struct timespec *t, int base) {
  clock_gettime(CLOCK_REALTIME, t);
  return base;
}
time_t time(time_t *out) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (out) *out = t.tv_sec;
  return t.tv_sec;
}
int cnd_timedwait(cnd_t *condition, mtx_t *lock, const struct timespec *until) {
  static int (*next)(cnd_t *, mtx_t *, const struct timespec *);
  if (!next) next = dlsym(RTLD_NEXT, "cnd_timedwait");
  struct timespec t = *until;
  t.tv_sec += behind();
  return next(condition, lock, &t);
}
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *until) {
  static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (!next) next = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  struct timespec t = *until;
  t.tv_sec += behind();
  return next(condition, lock, &t);
}
"#;

#[test]
fn a_clock_that_goes_back_changes_nothing() {
    let place = Place::new();
    let code = place.write("backwards.c", BACKWARDS);
    let library = place.at("backwards.so");
    let arguments = [
        "-shared",
        "-fPIC",
        "-O1",
        "-o",
        library.to_str().unwrap(),
        code.to_str().unwrap(),
    ];
    system("cc", arguments);

    let topic = Topic::new("clock", 2);
    topic.fill(events(100));
    let out = place.at("out");
    let roll = "roll = { max_age_seconds = 0.4, max_idle_seconds = 0.2 }\n";
    let config = place.write("lethe.toml", topic.source() + &folder_sink(&out) + roll);
    let mut running = Lethe::run(&config)
        .env("LD_PRELOAD", library.to_str().unwrap())
        .start();
    // Files are closed by age, which must keep growing.
    until_rows(&out, 100, &mut running);
    topic.fill((100..200).map(event));
    until_rows(&out, 200, &mut running);
    running.signal("TERM");
    let ended = running.wait(TIMEOUT).expect(0);
    // The library had an effect: a later log line has an earlier time.
    let times: Vec<&str> = ended
        .err
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(times.windows(2).any(|pair| pair[1] < pair[0]), "{}", ended.err);
    Dataset::read(&out).assert_exactly(&out, &topic.offsets());
}
