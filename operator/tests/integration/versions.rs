//! A stream that reloads its bundle while it runs, and returns to the previous one.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use common::checks::until_rows;
use common::dataset::{Dataset, files, read_parquet};
use common::kafka::Topic;
use common::notes::{event, planted};
use common::process::{Lethe, TIMEOUT};
use common::{Place, folder_sink, quoted};
use serde_json::Value;

/// Creates a bundle of one rule member.
fn bundle(place: &Place, kind: &str) -> PathBuf {
    let page = format!(
        "format = 1\ntokenizer = {}\nlabels = \"i2b2-2014\"\n\n[combine]\nmethod = \"voting\"\nthreshold = 1\ncover_beaten = true\n\n\
         [provenance]\nversion = \"test\"\nseed = 1\ndocuments = 0\ndata = \"\"\n\n[[members]]\nname = {kind:?}\n\n\
         [members.member]\nkind = {kind:?}\n",
        lethe_core::TOKENIZER_VERSION
    );
    let path = place.write(&format!("{kind}/bundle.toml"), page);
    path.parent().unwrap().to_owned()
}

fn publish(bundle: &Path, folder: &Path) -> String {
    let arguments = ["ensemble", "publish", bundle.to_str().unwrap(), "--to"];
    let ended = Lethe::new(arguments.into_iter().chain([folder.to_str().unwrap()])).end();
    ended.expect(0).out.trim().to_owned()
}

fn roll_back(folder: &Path) -> String {
    let ended = Lethe::new(["ensemble", "roll-back", folder.to_str().unwrap()]).end();
    ended.expect(0).out.trim().to_owned()
}

/// Returns the version in a file's footer.
fn version(footer: &BTreeMap<String, String>) -> String {
    footer["lethe.fingerprint.bundle"].chars().take(16).collect()
}

/// Returns for each file, by its first offset: the bundle of its footer, and whether its notes still show
/// names and telephone numbers.
fn seen(out: &Path) -> Vec<(String, bool, bool)> {
    let data = Dataset::read(out);
    assert_eq!(data.faults(out), Vec::<String>::new());
    let mut seen = Vec::new();
    for file in data.chains.values().flatten() {
        let bundle = version(&file.footer);
        let shows = |which: usize| {
            let texts = file.rows.iter().map(|row| {
                let number = row.offset as usize;
                row.text.as_ref().unwrap().contains(&planted(number)[which])
            });
            let texts: Vec<bool> = texts.collect();
            assert!(
                texts.iter().all(|shown| *shown == texts[0]),
                "a file of two engine versions"
            );
            texts[0]
        };
        seen.push((bundle, shows(3), shows(0)));
    }
    seen.dedup();
    seen
}

/// Returns the listing of an inspection with neighbouring files joined, so that it does not depend on how the
/// stream split them.
fn by_fingerprint(out: &Path, filter: &str) -> String {
    let arguments = [
        OsStr::new("inspect"),
        out.as_os_str(),
        OsStr::new("--json"),
        OsStr::new("--fingerprint"),
        OsStr::new(filter),
    ];
    let listed = Lethe::new(arguments).end().expect(0).out;
    let lines = listed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for line in lines {
        let (first, next) = (line["first"].as_u64().unwrap(), line["next"].as_u64().unwrap());
        match ranges.last_mut() {
            Some(last) if last.1 == first => last.1 = next,
            _ => ranges.push((first, next)),
        }
    }
    ranges
        .iter()
        .map(|(first, next)| format!("@{first}..{next} "))
        .collect()
}

#[test]
fn a_stream_takes_up_a_bundle_that_is_published_and_goes_back_to_the_one_before() {
    let place = Place::new();
    let topic = Topic::new("versions", 1);
    let out = place.at("out");
    let folder = place.at("bundles");
    let (by_feed, by_pattern) = (bundle(&place, "known"), bundle(&place, "pattern"));
    let first = publish(&by_feed, &folder);
    // The group expires the killed member soon.
    let session = "properties = { \"session.timeout.ms\" = 2000, \"heartbeat.interval.ms\" = 500 }\n";
    let config = format!(
        "[engine]\nbundle = {}\n\n{}{}roll = {{ max_age_seconds = 0.5, max_idle_seconds = 0.5 }}\n",
        quoted(&folder),
        topic.source_with(session),
        folder_sink(&out)
    );
    let config = place.write("lethe.toml", config);
    let mut running = Lethe::run(&config).start();
    topic.fill((0..20).map(event));
    until_rows(&out, 20, &mut running);

    let second = publish(&by_pattern, &folder);
    running.until_it_says("reloaded;", TIMEOUT);
    topic.fill((20..40).map(event));
    until_rows(&out, 40, &mut running);
    let both = [(first.clone(), false, true), (second.clone(), true, false)];
    assert_eq!(seen(&out), both);
    // The audit names the version that decided.
    let audits = files(&out.join("audit"));
    let of_audits: Vec<String> = audits
        .iter()
        .map(|path| version(&read_parquet(path).unwrap().0))
        .collect();
    assert!(of_audits.contains(&first) && of_audits.contains(&second));

    let listed = by_fingerprint(&out, &format!("bundle={first}"));
    assert!(listed.contains("@0..20 "), "{listed}");
    assert!(!listed.contains("@20..40 "), "{listed}");
    let others = by_fingerprint(&out, &format!("bundle!={first}"));
    assert!(others.contains("@20..40 "), "{others}");

    // The state survives a kill.
    running.signal("KILL");
    drop(running);
    let mut running = Lethe::run(&config).start();
    topic.fill((40..60).map(event));
    until_rows(&out, 60, &mut running);
    assert_eq!(seen(&out), both);

    assert_eq!(roll_back(&folder), first);
    running.until_it_says("reloaded;", TIMEOUT);
    topic.fill((60..80).map(event));
    until_rows(&out, 80, &mut running);
    let back = [both.to_vec(), vec![(first, false, true)]].concat();
    assert_eq!(seen(&out), back);

    // An invalid bundle is reported, and the stream keeps the current one.
    std::fs::write(folder.join("current"), "nowhere\n").unwrap();
    running.until_it_says("cannot reload", TIMEOUT);
    topic.fill((80..100).map(event));
    until_rows(&out, 100, &mut running);
    assert_eq!(seen(&out), back);
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
}
