//! The status page for people: health, position and counts.

use std::fmt::Write as _;
use std::time::Duration;

use lethe_evaluate::sheet::escape;

use super::catalogue as metric;
use super::{Board, Telemetry};

/// The refresh interval in seconds.
const REFRESH: u32 = 5;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1d2530; --soft: #66707c; --line: #d9dee4; --paper: #fff; --good: #1f7a4d; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #98a2ae; --line: #343c46; --paper: #14181d; --good: #63c995; --bad: #ff8a80; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1rem; margin: 2rem 0 .4rem; }
p { margin: .2rem 0; color: var(--soft); } .good { color: var(--good); } .bad { color: var(--bad); } strong { font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; color: var(--soft); } td, th { padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; }
p { overflow-wrap: anywhere; } .wide { overflow-x: auto; }
";

/// Renders the page, without scripts or external content.
pub(super) fn page(telemetry: &Telemetry) -> String {
    let board = telemetry.board();
    let build = board.build();
    let mut out = String::with_capacity(8192);
    out.push_str("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Lethe</title>");
    // Without it a phone renders the page for a desktop width, too small to read.
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    put(
        &mut out,
        format_args!(
            "<meta http-equiv=\"refresh\" content=\"{REFRESH}\"><style>{STYLE}</style></head><body>"
        ),
    );
    put(
        &mut out,
        format_args!("<h1>Lethe {}</h1>", env!("CARGO_PKG_VERSION")),
    );
    let (class, health) = health(board);
    put(
        &mut out,
        format_args!(
            "<p><strong class=\"{class}\" id=\"health\">{}</strong>, up {}.",
            escape(&health),
            span(board.uptime())
        ),
    );
    put(
        &mut out,
        format_args!(" Members: {}.", escape(&build.members.join(", "))),
    );
    if !build.bundle.is_empty() {
        put(
            &mut out,
            format_args!(" Bundle <code>{}</code>.", escape(&short(&build.bundle))),
        );
    }
    put(
        &mut out,
        format_args!(" Policy <code>{}</code>.</p>", escape(&short(&build.policy))),
    );
    counts(&mut out, telemetry);
    if !backfill(&mut out, telemetry) {
        lanes(&mut out, telemetry);
    }
    drift(&mut out, telemetry);
    out.push_str("<p>For machines: <a href=\"/metrics\">metrics</a>, <a href=\"/live\">live</a>, <a href=\"/ready\">ready</a>.</p></body></html>");
    out
}

/// Returns the health as text, and its style class. A halted lane is bad even if all others run.
fn health(board: &Board) -> (&'static str, String) {
    match (board.check_live(), board.is_ready(), board.halts().len()) {
        (Err(why), ..) => ("bad", format!("Stuck: {why}")),
        _ if board.is_halted() => ("bad", "Every lane halted".to_owned()),
        (Ok(()), false, _) => ("", "Not ready".to_owned()),
        (Ok(()), true, 0) => ("good", "Running".to_owned()),
        (Ok(()), true, 1) => ("bad", "Running, but a lane halted".to_owned()),
        (Ok(()), true, halted) => ("bad", format!("Running, but {halted} lanes halted")),
    }
}

/// Writing to a string cannot fail.
fn put(out: &mut String, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).unwrap_or_default();
}

fn counts(out: &mut String, telemetry: &Telemetry) {
    out.push_str("<h2>Records</h2><table id=\"counts\"><tr><th>records</th><th class=\"n\">count</th></tr>");
    for (labels, count) in telemetry.values(metric::RECORDS.name) {
        put(
            out,
            format_args!(
                "<tr><td>{}</td><td class=\"n\">{count}</td></tr>",
                escape(&labels.join(" "))
            ),
        );
    }
    for (labels, count) in telemetry.values(metric::QUARANTINED.name) {
        if count > 0.0 {
            let code = escape(&labels.join(" "));
            put(
                out,
                format_args!("<tr><td>quarantined: {code}</td><td class=\"n\">{count}</td></tr>"),
            );
        }
    }
    out.push_str("</table>");
}

/// Renders the progress of a backfill; returns false without one.
fn backfill(out: &mut String, telemetry: &Telemetry) -> bool {
    let Some((units, left)) = telemetry.board().backfill().now() else {
        return false;
    };
    let [(_, total), (_, done)] = units;
    let left = span(Duration::try_from_secs_f64(left).unwrap_or_default());
    put(
        out,
        format_args!(
            "<h2>Backfill</h2><p id=\"backfill\">{done} of {total} units done, about {left} left.</p>"
        ),
    );
    true
}

fn lanes(out: &mut String, telemetry: &Telemetry) {
    let (lanes, halts) = (telemetry.board().lanes(), telemetry.board().halts());
    put(out, format_args!("<h2>Lanes ({})</h2>", lanes.len()));
    if lanes.is_empty() && halts.is_empty() {
        out.push_str("<p>No partition is assigned to this process.</p>");
    } else if !lanes.is_empty() {
        // The state comes before the numbers, since a phone shows only the beginning of a row.
        out.push_str("<div class=\"wide\"><table id=\"lanes\"><tr><th>topic</th><th class=\"n\">partition</th><th>state</th><th class=\"n\">durable up to</th><th class=\"n\">lag</th><th class=\"n\">age</th><th class=\"n\">queued</th></tr>");
        for ((topic, partition), lane) in lanes {
            let lag = lane.lag.map_or_else(|| "?".to_owned(), |lag| lag.to_string());
            let (topic, age) = (escape(&topic), span(lane.age));
            let state = if lane.waits {
                "waiting for a store or a service"
            } else {
                ""
            };
            put(
                out,
                format_args!(
                    "<tr><td>{topic}</td><td class=\"n\">{partition}</td><td class=\"bad\">{state}</td><td class=\"n\">{}</td><td class=\"n\">{lag}</td><td class=\"n\">{age}</td><td class=\"n\">{}</td></tr>",
                    lane.next, lane.queued
                ),
            );
        }
        out.push_str("</table></div>");
    }
    for ((topic, partition), halted) in halts {
        let (topic, why) = (escape(&topic), escape(&halted.why));
        put(
            out,
            format_args!("<p class=\"bad\"><strong>{topic}/{partition} halted:</strong> {why}</p>"),
        );
    }
}

fn drift(out: &mut String, telemetry: &Telemetry) {
    if let Some(density) = telemetry.drift().density() {
        put(
            out,
            format_args!("<h2>The feed</h2><p>{density:.1} redacted spans per thousand recent tokens"),
        );
        if let [Some(phi), Some(margin)] = telemetry.drift().ratios() {
            put(
                out,
                format_args!(
                    ", {phi:.2} times the usual value; vote margins are {margin:.2} times the usual value"
                ),
            );
        }
        out.push_str(".</p>");
    }
}

/// Returns the beginning of a digest, which is enough to distinguish versions.
fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}

fn span(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7200 => format!("{} min", seconds / 60),
        seconds @ ..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}
