//! Tests of a site: what becomes a version, what does not, and what remains after a kill and a roll-back.

use std::sync::Arc;

use lethe_dictionaries::Dictionary;
use lethe_ensemble::{Bundle, BundleManifest, Versions};
use lethe_learn::Manifest;
use lethe_members::mixture::MIXTURE;

use super::invented::{Place, at, bundle, correction, document, home, local, published, take};
use super::*;

const LATER: &str = "on thursday Zorva wants tea";

#[test]
fn one_correction_is_a_version_and_going_back_takes_it_back_for_good() {
    let place = Place::new();
    let mut site = place.site();
    assert_eq!((site.base(), site.first()), (place.base.as_str(), Some("crf")));
    assert_eq!(site.step().unwrap(), None);
    assert!(place.found(LATER).is_empty());

    let payloads = [correction(&local(0), 1), correction(&local(1), 1)];
    assert_eq!(take(&mut site, &payloads[..1]).taken, 1);
    assert_eq!(take(&mut site, &payloads[..1]).taken, 0, "it is there already");
    let first = published(site.step().unwrap());
    assert_eq!((first.notes, first.phrases, first.weight), (1, 1, None));
    assert_eq!(place.versions().current().unwrap(), first.version);
    assert_eq!(place.found(LATER), ["Zorva"]);
    let bundle_manifest = Bundle::open(&place.path("versions"), &Dictionary::builtin())
        .unwrap()
        .manifest;
    assert_eq!(Versions::name(&bundle_manifest), first.version);
    assert!(bundle_manifest.corrects.unwrap().starts_with(&place.base));

    place.versions().roll_back(None).unwrap();
    assert!(place.found(LATER).is_empty());
    let turn = site.look().unwrap().unwrap();
    assert_eq!((turn.version.as_str(), turn.aside), (place.base.as_str(), 1));
    assert_eq!(site.look().unwrap(), None);
    assert_eq!(site.step().unwrap(), None, "it is not published again");
    drop(site);

    // New corrections are added to the current version; a batch that was set aside returns when it is sent
    // again.
    let mut site = place.site();
    assert_eq!((site.step().unwrap(), site.corrections()), (None, 1));
    take(&mut site, &payloads);
    published(site.step().unwrap());
    assert!(place.found(LATER).is_empty());
    assert_eq!(place.found("and Quill"), ["Quill"]);
    take(&mut site, &[payloads.as_slice(), &payloads[..1]].concat());
    published(site.step().unwrap());
    assert_eq!(place.found("Zorva and Quill").len(), 2);
}

#[test]
fn a_correction_that_takes_a_mark_away_is_heard() {
    let place = Place::new();
    let mut site = place.site();
    let mut payloads = vec![correction(&local(0), 1)];
    take(&mut site, &payloads);
    published(site.step().unwrap());
    payloads.push(correction(&document("other", "the Zorva method is used", &[]), 1));
    take(&mut site, &payloads);
    // The corrections now add nothing, so the base is current again.
    let verdict = published(site.step().unwrap());
    assert_eq!(
        (verdict.version.as_str(), verdict.phrases),
        (place.base.as_str(), 0)
    );
    assert!(place.found(LATER).is_empty());
    // It turns out that the first note was also wrong.
    payloads.push(correction(&document("l0", &local(0).text, &[]), 2));
    take(&mut site, &payloads);
    assert!(matches!(site.step().unwrap(), Some(Outcome::Same(_))));
}

#[test]
fn a_kill_at_any_moment_loses_nothing_and_doubles_nothing() {
    let place = Place::new();
    let payloads: Vec<Vec<u8>> = (0..5)
        .map(|i| correction(&local(i), 1))
        .chain([correction(&document("l1", &local(1).text, &[]), 2)])
        .collect();
    let through = |place: &Place| {
        let mut site = place.site();
        // As in the program, a batch without an outcome is finished first.
        if site.is_open() {
            site.step().unwrap();
        }
        for count in [2, 4, 6] {
            // The batches have the same ends as before the kill.
            if site.corrections() < count {
                take(&mut site, &payloads[..count]);
            }
            if site.corrections() == count {
                site.step().unwrap();
            }
        }
        let versions = place.versions();
        let journal = std::fs::read_to_string(place.path("state/journal.jsonl")).unwrap();
        (versions.current().unwrap(), versions.names().unwrap(), journal)
    };
    let (current, names, journal) = through(&place);
    assert_eq!(names.len(), 4, "{names:?}");
    let lines: Vec<&str> = journal.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 1 + 6 + 3 + 3);
    for kept in 1..lines.len() {
        let killed = place.again();
        std::fs::create_dir(killed.path("state")).unwrap();
        let torn = lines[kept].chars().take(lines[kept].len() / 2);
        let left: String = lines[..kept].concat().chars().chain(torn).collect();
        std::fs::write(killed.path("state/journal.jsonl"), &left).unwrap();
        // Versions that were published before the kill, and the one that was not recorded yet.
        let done = lines[..=kept].iter().filter(|line| line.contains("published"));
        for line in done {
            let entry: serde_json::Value = serde_json::from_str(line).unwrap();
            let version = place.versions().path(entry["version"].as_str().unwrap());
            Versions::publish(&killed.path("versions"), &version, &Dictionary::builtin()).unwrap();
        }
        let (again, all, after) = through(&killed);
        assert_eq!(
            (&again, &all, &after),
            (&current, &names, &journal),
            "killed at line {kept}"
        );
    }
}

#[test]
fn naive_bayes_is_mixed_in_once_its_weight_is_told_and_the_mixture_runs() {
    let place = Place::new();
    let mut site = place.site();
    let mut payloads: Vec<Vec<u8>> = (0..10).map(|i| correction(&local(i), 1)).collect();
    take(&mut site, &payloads);
    assert_eq!(published(site.step().unwrap()).weight, None);
    payloads.extend((10..20).map(|i| correction(&local(i), 1)));
    take(&mut site, &payloads);
    let verdict = published(site.step().unwrap());
    let weight = verdict.weight.unwrap();
    assert!((0.0..1.0).contains(&weight), "{weight}");
    let folder = place.versions().path(&verdict.version);
    let bundle_manifest = BundleManifest::read(&folder).unwrap();
    let names: Vec<&str> = bundle_manifest
        .members
        .iter()
        .map(|part| part.name.as_str())
        .collect();
    assert_eq!(names, ["crf", "phrases"]);
    let manifest = Manifest::read(&folder.join("members/crf")).unwrap();
    assert_eq!(
        (manifest.kind.as_str(), manifest.training.documents),
        (MIXTURE, 20)
    );
    // A name that no correction has, in the usual position; and what the first institute taught.
    assert_eq!(
        place.found("the porter brings Vesk over to ward north at noon\n"),
        ["Vesk"]
    );
    assert_eq!(
        place
            .found("Name: Marta.\nBorn in 1950, seen today and well.\n")
            .len(),
        2
    );

    // With a new state folder on the resulting version, the mixture is mixed again and a second list is
    // added.
    drop(site);
    let setup = Setup {
        state: place.path("next"),
        ..place.setup()
    };
    let mut next = Site::open(setup).unwrap();
    assert_eq!(next.base(), verdict.version);
    let note = document("n", "Ostrav sleeps", &[("Ostrav", "NAME")]);
    take(&mut next, &[correction(&note, 1)]);
    published(next.step().unwrap());
    assert_eq!(place.found("Ostrav and Zorva").len(), 2);
}

#[test]
fn a_version_that_is_worse_on_the_held_out_set_is_not_published_and_reported() {
    let place = Place::new();
    let held_out = vec![document("k", "the Zorva method, Zorva by name, is Zorva's", &[])];
    let with_gold = || Setup {
        held_out: held_out.clone(),
        ..place.setup()
    };
    let mut site = Site::open(with_gold()).unwrap();
    let mut payloads = vec![correction(&local(0), 1)];
    take(&mut site, &payloads);
    // Without gold spans F1 is 0 for both; false positives count once there are some.
    assert!(matches!(site.step().unwrap(), Some(Outcome::Published(_))));
    drop(site);

    let place = Place::new();
    let mut gold = home();
    gold.truncate(3);
    gold.extend(held_out.clone());
    let setup = Setup {
        held_out: gold,
        ..place.setup()
    };
    let mut site = Site::open(setup).unwrap();
    take(&mut site, &payloads);
    let Some(Outcome::Refused(verdict)) = site.step().unwrap() else {
        panic!()
    };
    assert!(verdict.new.strict.f1() < verdict.old.strict.f1());
    assert_eq!((verdict.new.leaked, verdict.new.notes), (0, 4));
    assert_eq!(place.versions().current().unwrap(), place.base);
    // After the correction is withdrawn, the rest is learnt.
    payloads.push(correction(&document("l0", &local(0).text, &[]), 2));
    payloads.push(correction(&local(1), 1));
    take(&mut site, &payloads);
    let verdict = published(site.step().unwrap());
    assert_eq!((verdict.notes, verdict.phrases), (2, 1));
    assert_eq!(place.found("Zorva or Quill"), ["Quill"]);
}

#[test]
fn held_out_corrections_are_not_trained_on() {
    let place = Place::new();
    let setup = Setup {
        keep_share: 0.5,
        ..place.setup()
    };
    let mut site = Site::open(setup).unwrap();
    let payloads: Vec<Vec<u8>> = (0..12).map(|i| correction(&local(i), 1)).collect();
    take(&mut site, &payloads);
    let verdict = published(site.step().unwrap());
    assert!(verdict.notes > 1 && verdict.notes < 11, "{verdict:?}");
    assert_eq!(verdict.notes + verdict.new.notes, 12);
    assert!(verdict.new.leaked <= verdict.old.leaked && verdict.old.leaked > 0);
}

#[test]
fn what_is_no_correction_is_told_by_its_place_listed_and_passed_over() {
    let place = Place::new();
    let mut site = place.site();
    let payloads = [b"Secret".to_vec(), correction(&local(0), 1)];
    let arrived = take(&mut site, &payloads);
    assert_eq!((arrived.taken, arrived.rejected.len()), (1, 1));
    assert_eq!(arrived.rejected[0].0, at(0));
    let none = site.take([(at(2), None)]).unwrap();
    assert_eq!(none.rejected, [(at(2), CorrectionError::Empty)]);
    drop(site);
    let list = || std::fs::read_to_string(place.path("state/rejected.jsonl")).unwrap();
    let told = list();
    assert_eq!(told.lines().count(), 2);
    assert!(
        !told.contains("Secret") && told.contains("\"offset\":0"),
        "{told}"
    );
    // The process was killed before the list was written.
    std::fs::write(place.path("state/rejected.jsonl"), "").unwrap();
    let mut site = place.site();
    assert_eq!(list(), told);
    assert!(take(&mut site, &payloads).rejected.is_empty());
}

#[test]
fn a_version_from_elsewhere_is_left_alone_until_the_site_s_own_is_back() {
    let place = Place::new();
    let mut site = place.site();
    take(&mut site, &[correction(&local(0), 1)]);
    let other = bundle(&place.path("other"), &["mira"]);
    let foreign = Versions::publish(&place.path("versions"), &other, &Dictionary::builtin()).unwrap();
    let paused = Some(Outcome::Paused {
        current: foreign.clone(),
    });
    assert_eq!(site.step().unwrap(), paused);
    assert_eq!((site.look().unwrap(), site.waiting()), (None, 1));
    assert_eq!(place.versions().current().unwrap(), foreign);
    place.versions().roll_back(None).unwrap();
    published(site.step().unwrap());
}

#[test]
fn a_state_folder_is_one_process_s_and_goes_on_as_it_was_begun() {
    let place = Place::new();
    let refused = |setup: Setup| Site::open(setup).map(drop).unwrap_err().to_string();
    let site = place.site();
    assert!(refused(place.setup()).contains("another process"));
    drop(site);
    let told = refused(Setup {
        keep_share: 0.3,
        ..place.setup()
    });
    assert!(
        told.contains("keep_share = 0, but the setting is now 0.3"),
        "{told}"
    );
    let told = refused(Setup {
        first: Some("crf".to_owned()),
        ..place.setup()
    });
    assert!(
        told.contains("first = none, but the setting is now `crf`"),
        "{told}"
    );
    let told = refused(Setup {
        held_out: vec![document("k", "Ana", &[("Ana", "WARD")])],
        ..place.setup()
    });
    assert!(told.contains("document 1") && told.contains("`WARD`"), "{told}");
    let told = refused(Setup {
        versions: place.path("nowhere"),
        ..place.setup()
    });
    assert!(told.contains("not a folder of versions"), "{told}");
}

#[test]
fn the_mixed_member_must_be_named_if_there_are_several_and_may_be_missing() {
    let place = tempfile::tempdir().unwrap();
    let open = |kinds: &[&'static str], first: Option<&str>| {
        let folder = tempfile::tempdir_in(place.path()).unwrap().keep();
        let bundle = bundle(&folder, kinds);
        Versions::publish(&folder.join("versions"), &bundle, &Dictionary::builtin()).unwrap();
        let setup = Setup {
            state: folder.join("state"),
            versions: folder.join("versions"),
            dictionary: Arc::clone(&Dictionary::builtin()),
            first: first.map(str::to_owned),
            keep_share: 0.0,
            held_out: Vec::new(),
        };
        Site::open(setup).map_err(|error| error.to_string())
    };
    let told = open(&["crf", "memm", "mira"], None).map(drop).unwrap_err();
    assert!(told.ends_with("choose one of `crf`, `memm`"), "{told}");
    let site = open(&["crf", "memm"], Some("memm")).unwrap();
    assert_eq!(site.first(), Some("memm"));
    let told = open(&["crf", "mira"], Some("svm")).map(drop).unwrap_err();
    assert!(told.contains("choose one of `crf`, `mira`"), "{told}");
    let mut alone = open(&["mira"], None).unwrap();
    assert_eq!(alone.first(), None);
    take(&mut alone, &[correction(&local(0), 1)]);
    assert_eq!(published(alone.step().unwrap()).phrases, 1);
}
