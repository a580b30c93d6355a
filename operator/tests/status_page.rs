//! The status page as a person has it, in a real browser: what it shows is so, it needs nothing from elsewhere, and nothing of a note
//! stands in it.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests, as tests themselves, say where they fail"
)]

mod common;

use std::time::Duration;

use common::browser::{open, picture};
use common::checks::until_rows;
use common::kafka::Topic;
use common::notes::{event, events, planted};
use common::pages::{Pages, TELEMETRY, sum};
use common::process::Lethe;
use common::{Place, folder_sink};

const PATIENCE: Duration = Duration::from_secs(60);
const ROLL: &str = "roll = { max_age_seconds = 1.0, max_idle_seconds = 0.5 }\n";
const DESK: (u32, u32) = (1200, 900);
const PHONE: (u32, u32) = (500, 900);

/// The cells of a table that has an id, row by row, as the browser made them of the page.
fn table(dom: &str, id: &str) -> Vec<Vec<String>> {
    let begin = dom
        .find(&format!("<table id=\"{id}\">"))
        .unwrap_or_else(|| panic!("no table {id} in {dom}"));
    let body = dom.get(begin..).unwrap().split("</table>").next().unwrap();
    // A browser puts rows into a body that the page does not write: these are its own words.
    assert!(body.contains("<tbody>"), "{body}");
    let cell = |text: &str| {
        text.split('>')
            .nth(1)
            .unwrap()
            .split('<')
            .next()
            .unwrap()
            .to_owned()
    };
    body.split("<tr>")
        .skip(1)
        .map(|row| row.split("<td").skip(1).map(cell).collect())
        .collect()
}

#[test]
fn a_browser_shows_lanes_counts_and_health_as_they_are_and_nothing_of_a_note() {
    let topic = Topic::new("browsed", 2);
    topic.fill(events(90));
    topic.fill(["no event".to_owned()]);
    let place = Place::new();
    let out = place.at("out");
    let config = topic.source() + TELEMETRY + &folder_sink(&out) + ROLL;
    let mut running = Lethe::run(&place.write("lethe.toml", config)).start();
    let pages = Pages::of(&mut running);
    until_rows(&out, 91, &mut running);
    pages.until("no lag", PATIENCE, |metrics| {
        sum(metrics, "lethe_lag_records", &[]) == 0.0
    });
    let seen = open(&pages.url("/"), &place.at("profile"), DESK);
    assert_eq!(seen.console, Vec::<String>::new());
    assert!(
        seen.dom
            .contains("<strong class=\"good\" id=\"health\">Running</strong>"),
        "{}",
        seen.dom
    );
    let lanes = table(&seen.dom, "lanes");
    let durable: Vec<(&str, &str, &str, &str)> = lanes
        .iter()
        .filter(|row| !row.is_empty())
        .map(|row| (row[0].as_str(), row[1].as_str(), row[2].as_str(), row[3].as_str()))
        .collect();
    assert_eq!(
        durable,
        [(&*topic.name, "0", "46", "0"), (&*topic.name, "1", "45", "0")]
    );
    let counts = table(&seen.dom, "counts");
    let count = |name: &str| {
        counts
            .iter()
            .find(|row| row.first().is_some_and(|cell| cell == name))
            .map(|row| row[1].clone())
    };
    assert_eq!(count("note").as_deref(), Some("90"));
    assert_eq!(count("quarantined: invalid_payload").as_deref(), Some("1"));
    for number in 0..90 {
        for word in planted(number) {
            assert!(!seen.dom.contains(&word), "{word}");
        }
    }
    // Nothing is asked of anybody else, and a window of another size shows another picture, not an empty one.
    let elsewhere = ["src=", "href=\"http", "url(", "@import", "<script"];
    assert!(
        elsewhere.iter().all(|way| !seen.dom.contains(way)),
        "{}",
        seen.dom
    );
    let wide = picture(&pages.url("/"), &place.at("profile"), DESK, &place.at("wide.png"));
    let narrow = picture(
        &pages.url("/"),
        &place.at("profile"),
        PHONE,
        &place.at("narrow.png"),
    );
    assert!(wide.starts_with(b"\x89PNG") && wide.len() > 10_000 && narrow.len() > 8_000 && wide != narrow);
    running.signal("TERM");
    running.wait(PATIENCE).expect(0);
}

#[test]
fn a_browser_shows_a_lane_that_halted_and_why() {
    let topic = Topic::new("browsed-halt", 2);
    topic.fill(events(20));
    let place = Place::new();
    let config = topic.source() + TELEMETRY + &folder_sink(&place.at("out")) + ROLL;
    let config = place.write("lethe.toml", config);
    Lethe::through(&config).end().expect(0);
    topic.fill((20..60).map(event));
    topic.trim(1, 15);
    let mut running = Lethe::run(&config).start();
    let pages = Pages::of(&mut running);
    pages.until("a halted lane", PATIENCE, |metrics| {
        sum(metrics, "lethe_lanes_halted_total", &[]) == 1.0
    });
    let seen = open(&pages.url("/"), &place.at("profile"), DESK);
    let told = format!(
        "<strong>{}/1 halted:</strong> its chain goes on at offset 10, and the log holds 15 to",
        topic.name
    );
    assert!(seen.dom.contains(&told), "{}", seen.dom);
    running.signal("TERM");
    running.wait(PATIENCE).expect(3);
}
