//! Relative paths of a configuration and a policy start at the file that names them, from any working
//! directory.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::common;

use common::Place;
use common::process::{Ended, Lethe};
use serde_json::Value;

const NOTE: &str = "note_id,mrn,note\n1,4471902,\"MRN 4471902, call 612-555-0101.\"\n";

/// A folder of a site: configuration, policy, keys and tables, all by relative paths.
fn site() -> Place {
    let place = Place::new();
    place.write("site/export/notes.csv", NOTE);
    place.write(
        "site/policies/policy.toml",
        "mode = \"custom\"\nlabels = { MEDICALRECORD = { action = \"pseudonym\" } }\nkeys = { file = \"keys.toml\" }\n",
    );
    let keys = place.at("site/policies/keys.toml");
    Lethe::new(["new-key", "--id", "a", "--out", keys.to_str().unwrap()])
        .end()
        .expect(0);
    place.write(
        "site/lethe.toml",
        "policy_file = \"policies/policy.toml\"\n\
         [backfill]\ninput = { kind = \"folder\", path = \"export\" }\n\
         [backfill.columns]\ntext = [\"note\"]\nidentifiers = { mrn = \"MEDICALRECORD\" }\n\
         [engine]\nmembers = [{ kind = \"pattern\" }]\n\
         [sink]\nstore = { kind = \"folder\", path = \"redacted\" }\n",
    );
    place
}

fn backfill(place: &Place, inside: &str, config: &str) -> Ended {
    std::fs::create_dir_all(place.at(inside)).unwrap();
    Lethe::new(["backfill", "-c", config])
        .inside(&place.at(inside))
        .end()
}

#[test]
fn one_configuration_makes_one_dataset_from_every_working_directory() {
    let place = site();
    backfill(&place, "elsewhere", "../site/lethe.toml").expect(0);
    let begun = |folder: &str| -> Value {
        let text = std::fs::read_to_string(place.at(folder).join("backfill.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let digest = begun("site/redacted")["digest"].clone();
    backfill(&place, "site", "lethe.toml")
        .expect(0)
        .says("1 units, 1 of them done");
    let absolute = place.at("site/lethe.toml");
    backfill(&place, ".", absolute.to_str().unwrap())
        .expect(0)
        .says("1 units, 1 of them done");
    assert_eq!(begun("site/redacted")["digest"], digest);
    for folder in ["redacted", "elsewhere/redacted", "site/site"] {
        assert!(!place.at(folder).exists(), "{folder}");
    }
}

#[test]
fn a_dataset_that_only_the_working_directory_has_stops_the_start_and_names_both_places() {
    let place = site();
    // As an earlier version left it, started from the folder above.
    place.write("redacted/backfill.json", "{}");
    let ended = backfill(&place, ".", "site/lethe.toml").expect(2);
    for told in [
        "site/lethe.toml:10: key `sink.store.path`",
        "site/redacted does not exist",
        "write that path",
    ] {
        assert!(ended.err.contains(told), "{told}: {}", ended.err);
    }
    let there = place.at("redacted").display().to_string();
    assert!(ended.err.contains(&there), "{}", ended.err);
    assert!(!place.at("site/redacted").exists(), "no dataset is begun");
}
