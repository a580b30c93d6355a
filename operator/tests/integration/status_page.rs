//! The status page in a real browser: its content for a healthy and an unhealthy program, on a phone and on a
//! desktop, in light and dark mode.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use common::browser::{Browser, View};
use common::checks::until_rows;
use common::kafka::Topic;
use common::notes::{event, events, id, planted};
use common::pages::{Pages, TELEMETRY, sum};
use common::process::{Lethe, Running, TIMEOUT};
use common::proxy::{Proxy, Treatment};
use common::{Place, env, folder_sink, s3_sink};
use serde_json::{Value, json};

const ROLL: &str = "roll = { max_age_seconds = 1.0, max_idle_seconds = 0.5 }\n";
/// An invalid event, which no page may show.
const NO_EVENT: &str = "CANARYNOEVENT";

const VIEWS: [View; 4] = [
    View {
        width: 360,
        height: 640,
        dark: false,
    },
    View {
        width: 360,
        height: 640,
        dark: true,
    },
    View {
        width: 1280,
        height: 800,
        dark: false,
    },
    View {
        width: 1280,
        height: 800,
        dark: true,
    },
];

/// Returns the text of each cell as a list per row.
fn table(name: &str) -> String {
    format!(
        "[...document.querySelectorAll('#{name} tr')].map(row => [...row.cells].map(cell => cell.innerText))"
    )
}

const HEALTH: &str = "document.getElementById('health').innerText";
const HEALTH_COLOUR: &str = "getComputedStyle(document.getElementById('health')).color";
const SHOWN: &str = "document.body.innerText";
/// The overflow of the page over the window, and the width of the window.
const WIDTHS: &str = "(() => { const page = document.documentElement; return [page.scrollWidth - page.clientWidth, innerWidth] })()";
/// Texts with too little contrast: WCAG 2.2, 1.4.3 requires 4.5.
const PALE: &str = "(() => {
  const light = colour => {
    const linear = colour.match(/[0-9.]+/g).slice(0, 3).map(part => part / 255)
      .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const contrast = element => {
    const ink = light(getComputedStyle(element).color);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  };
  const texts = [...document.body.querySelectorAll('*')].filter(element => element.innerText);
  return texts.filter(element => contrast(element) < 4.5).map(element => element.outerHTML);
})()";
/// The brightness of the background, 0 to 255.
const GROUND: &str = "Number(getComputedStyle(document.body).backgroundColor.match(/[0-9]+/)[0])";

/// Asserts that a page fits and is readable in every view, that it loads nothing external, that the browser
/// reports no problem, and that it shows nothing of this number of notes.
#[track_caller]
fn assert_fit(browser: &mut Browser, pages: &Pages, notes: usize) {
    for view in VIEWS {
        browser.look(view);
        assert_eq!(browser.value(WIDTHS), json!([0, view.width]), "{view:?}");
        assert_eq!(browser.value(PALE), json!([]), "{view:?}");
        assert_eq!(
            browser.value(GROUND).as_f64().unwrap() < 128.0,
            view.dark,
            "{view:?}"
        );
    }
    assert_eq!(browser.complaints(&pages.url("/")), Vec::<String>::new());
    let page = browser.value("document.documentElement.outerHTML");
    let page = page.as_str().unwrap();
    let mut canaries = vec!["PROGRESS".to_owned(), "abdomen".to_owned(), NO_EVENT.to_owned()];
    canaries.extend((0..notes).flat_map(|number| [planted(number).to_vec(), vec![id(number)]].concat()));
    let found: Vec<_> = canaries.iter().filter(|canary| page.contains(*canary)).collect();
    assert!(found.is_empty(), "{found:?} in {page}");
}

fn stop(running: Running, code: i32) {
    running.signal("TERM");
    running.wait(TIMEOUT).expect(code);
}

#[test]
fn a_person_sees_that_it_runs_what_went_through_and_how_far_each_partition_is() {
    let topic = Topic::new("seen", 2);
    topic.fill(events(60));
    topic.fill([NO_EVENT]);
    let place = Place::new();
    let out = place.at("out");
    let config = topic.source() + TELEMETRY + &folder_sink(&out) + ROLL;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    until_rows(&out, 61, &mut running);
    let none_waits = |metrics: &_| sum(metrics, "lethe_lag_records", &[]) == 0.0;
    pages.until("no lag", TIMEOUT, none_waits);

    let mut browser = Browser::start();
    browser.open(&pages.url("/"));
    assert_eq!(browser.value("document.title"), "Lethe");
    assert_eq!(
        browser.value("document.querySelector('h1').innerText"),
        format!("Lethe {}", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(browser.value(HEALTH), "Running");
    let shown = browser.value(SHOWN);
    let shown = shown.as_str().unwrap();
    for words in [
        "Members: lstm-crf-l, ssvm, cnn",
        "Bundle ",
        "Policy ",
        "redacted spans per thousand recent tokens",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let counts = |notes: &str| {
        json!([
            ["records", "count"],
            ["note", notes],
            ["quarantined", "1"],
            ["structured", "0"],
            ["tombstone", "0"],
            ["quarantined: damaged", "1"]
        ])
    };
    assert_eq!(browser.value(&table("counts")), counts("60"));
    let lanes = |ends: [&str; 2]| {
        let heads = json!([
            "topic",
            "partition",
            "state",
            "durable up to",
            "lag",
            "age",
            "queued"
        ]);
        let lane = |partition: usize| {
            let number = partition.to_string();
            json!([topic.name, number, "", ends[partition], "0", "0 s", "0"])
        };
        json!([heads, lane(0), lane(1)])
    };
    assert_eq!(browser.value(&table("lanes")), lanes(["31", "30"]));
    assert_fit(&mut browser, &pages, 60);

    // An open page updates itself.
    topic.fill((60..80).map(event));
    let both = format!("[{}, {}]", table("counts"), table("lanes"));
    browser.until("eighty notes", &both, |seen| {
        *seen == json!([counts("80"), lanes(["41", "40"])])
    });
    assert_fit(&mut browser, &pages, 80);
    stop(running, 0);
}

#[test]
fn a_person_sees_that_it_is_stuck_or_waits_for_its_store_and_that_it_is_well_again() {
    let topic = Topic::new("stuck", 1);
    let away = Arc::new(AtomicBool::new(false));
    let place = Place::new();
    let proxy = Proxy::before(&env("LETHE_TEST_S3_ENDPOINT"), {
        let away = Arc::clone(&away);
        move |_| {
            if away.load(SeqCst) {
                Treatment::Hang
            } else {
                Treatment::Pass
            }
        }
    });
    // A request without a response counts as no progress until it times out; after that the store is known to
    // be unavailable.
    let more = "timeout_seconds = 12\nretries = 1\nretry_seconds = 3\n[sink.roll]\nmax_age_seconds = 0.5\nmax_idle_seconds = 0.5\n";
    let sink = s3_sink(&format!("stuck/{}", topic.name), Some(&proxy.endpoint()), more);
    let timeouts =
        "[resources]\ndrain_seconds = 2\n[telemetry]\nlisten = \"127.0.0.1:0\"\nstall_seconds = 2\n";
    let config = topic.source() + timeouts + &sink;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    pages.until("a lane", TIMEOUT, |metrics| {
        sum(metrics, "lethe_lanes", &[]) == 1.0
    });
    let mut browser = Browser::start();
    browser.look(VIEWS[2]);
    browser.open(&pages.url("/"));
    let well = browser.value(HEALTH_COLOUR);
    away.store(true, SeqCst);
    // Records that arrive during the first upload wait.
    for lot in 0..10 {
        topic.fill((4 * lot..4 * lot + 4).map(event));
        std::thread::sleep(Duration::from_millis(200));
    }
    let begins = |value: &Value, words: &str| value.as_str().unwrap().starts_with(words);
    let words = format!("Stuck: lane {}/0 has ", topic.name);
    let stuck = browser.until("that it is stuck", HEALTH, |health| begins(health, &words));
    assert!(
        stuck
            .as_str()
            .unwrap()
            .contains("records waiting and has made no progress for "),
        "{stuck}"
    );
    assert_ne!(browser.value(HEALTH_COLOUR), well);
    assert_fit(&mut browser, &pages, 40);

    let state = format!("{}.at(1)?.at(2)", table("lanes"));
    browser.until("that the store is away", &state, |state| {
        *state == "waiting for a store or a service"
    });
    assert_eq!(browser.value(HEALTH), "Running");
    away.store(false, SeqCst);
    let lane = format!("{}.at(1)", table("lanes"));
    let through = json!([topic.name, "0", "", "40", "0", "0 s", "0"]);
    browser.until("that nothing waits", &lane, |lane| *lane == through);
    assert_eq!(browser.complaints(&pages.url("/")), Vec::<String>::new());
    stop(running, 0);
}

#[test]
fn a_person_sees_which_lane_halted_and_why() {
    let topic = Topic::new("halted", 2);
    topic.fill(events(20));
    let place = Place::new();
    let config = topic.source() + TELEMETRY + &folder_sink(&place.at("out")) + ROLL;
    let config = place.write("lethe.toml", config);
    Lethe::through(&config).end().expect(0);
    topic.fill((20..60).map(event));
    topic.trim(1, 15);
    let mut running = Lethe::run(&config).start();
    let pages = Pages::of(&mut running);
    pages.until("a halted lane", TIMEOUT, |metrics| {
        sum(metrics, "lethe_lanes_halted_total", &[]) == 1.0 && sum(metrics, "lethe_lag_records", &[]) == 0.0
    });
    let mut browser = Browser::start();
    browser.open(&pages.url("/"));
    assert_eq!(browser.value(HEALTH), "Running, but a lane halted");
    let why = format!(
        "{}/1 halted: its chain continues at offset 10, but the log holds 15 to 30",
        topic.name
    );
    let shown = browser.value(SHOWN);
    assert!(shown.as_str().unwrap().contains(&why), "{shown}");
    let lane = json!([topic.name, "0", "", "30", "0", "0 s", "0"]);
    assert_eq!(
        browser.value(&format!("{}.slice(1)", table("lanes"))),
        json!([lane])
    );
    assert_fit(&mut browser, &pages, 60);
    stop(running, 3);
}
