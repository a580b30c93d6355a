//! Bundles by name in every command, and `lethe bundle`.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::common;

use std::path::Path;

use common::Place;
use common::gold::gold;
use common::process::{Ended, Lethe};
use serde_json::Value;

fn bundle(arguments: &[&str]) -> Ended {
    Lethe::new(["bundle"].iter().chain(arguments)).end()
}

fn shown(named: &str) -> Value {
    let ended = bundle(&["show", named, "--json"]).expect(0);
    serde_json::from_str(&ended.out).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_built_in_bundle_is_shown_by_its_name_and_an_unknown_one_with_the_names_that_exist() {
    for command in ["bundle", "ensemble"] {
        let ended = Lethe::new([command, "show", "en-clinical"]).end().expect(0);
        assert!(
            ended.out.contains("lstm-crf-l") && ended.out.contains("votes"),
            "{}",
            ended.out
        );
    }
    let json = shown("en-clinical");
    assert_eq!(json["labels"]["id"], "i2b2-2014");
    assert_eq!(json["members"][1]["model"]["kind"], "ssvm");
    for arguments in [
        vec!["bundle", "show", "en-clincal"],
        vec!["annotate", "--bundle", "en-clincal"],
        vec!["bundle", "export", "en-clincal", "out"],
        vec![
            "adapt",
            "fine-tune",
            "en-clincal",
            "--train",
            "gold",
            "--out",
            "out",
        ],
    ] {
        let ended = Lethe::new(&arguments).end().expect(2);
        assert!(
            ended.err.contains("(en-clinical, en-fast)") && ended.err.contains("did you mean `en-clinical`?"),
            "{arguments:?}: {}",
            ended.err
        );
    }
    let several = [
        "adapt",
        "fine-tune",
        "en-clinical",
        "--train",
        "gold",
        "--out",
        "out",
    ];
    Lethe::new(several).end().expect(2).says("en-clinical/ssvm");
}

#[test]
fn an_exported_bundle_is_the_same_bundle() {
    let place = Place::new();
    let out = place.at("fast");
    bundle(&["export", "en-fast", text(&out)]).expect(0);
    assert_eq!(shown(text(&out)), shown("en-fast"));
    bundle(&["export", "en-fast", text(&out)])
        .expect(2)
        .says("is not empty");
    let versions = place.at("versions");
    Lethe::new(["ensemble", "publish", "en-fast", "--to", text(&versions)])
        .end()
        .expect(0);
    assert_eq!(shown(text(&versions))["digest"], shown("en-fast")["digest"]);
}

#[test]
fn another_dictionary_is_refused_with_both_digests_and_a_bundle_carries_its_own() {
    let place = Place::new();
    std::fs::create_dir_all(place.at("lists/wards")).unwrap();
    place.write(
        "lists/wards/SOURCE.toml",
        "title = \"Wards\"\norigin = \"invented\"\nlicence = \"own\"\ndate = \"2026-11-01\"\nlanguage = \"en\"\n\
         match = \"folded\"\nmin-length = 4\nrole = \"phi\"\nlabel = \"DEPARTMENT\"\n",
    );
    let lists = place.at("lists");
    let built = |items: &str, name: &str| {
        place.write("lists/wards/items.txt", items);
        let out = place.at(name);
        let build = [
            "dictionary",
            "build",
            "--builtin",
            "--json",
            "--lists",
            text(&lists),
            "--output",
        ];
        let ended = Lethe::new(build.iter().chain(&[text(&out)])).end().expect(0);
        let built: Value = serde_json::from_str(&ended.out).unwrap();
        (out, built["digest"].as_str().unwrap().to_owned())
    };
    let (site, trained) = built("quayle ward\n", "site.dict");
    let (later, given) = built("quayle ward\npenhallow unit\n", "later.dict");
    let builtin = lethe_core::hex(lethe_dictionaries::Dictionary::builtin().digest());

    let (gold, model) = (place.write("gold.jsonl", local(30)), place.at("ssvm"));
    let train = [
        "train",
        "ssvm",
        "--set",
        "epochs=2",
        "--train",
        text(&gold),
        "--out",
        text(&model),
    ];
    Lethe::new(train.iter().chain(&["--dictionary", text(&site)]))
        .end()
        .expect(0);
    let annotate = ["annotate", "--member", text(&model), "--input", text(&gold)];
    Lethe::new(annotate.iter().chain(&["--dictionary", text(&site)]))
        .end()
        .expect(0);
    Lethe::new(annotate).end().expect(2).says(&trained).says(&builtin);
    Lethe::new(annotate.iter().chain(&["--dictionary", text(&later)]))
        .end()
        .expect(2)
        .says(&trained)
        .says(&given);

    let out = place.at("bundle");
    let (member, to) = (format!("ssvm={}", text(&model)), text(&out));
    let create = [
        "create",
        "--labels",
        "i2b2-2014",
        "--member",
        &member,
        "--out",
        to,
    ];
    bundle(&create).expect(2).says(&trained).says(&builtin);
    bundle(&[&create[..], &["--dictionary", text(&site)]].concat()).expect(0);
    let run = |more: &str| {
        let config = place.write("lethe.toml", format!("[engine]\nbundle = {to:?}\n{more}"));
        Lethe::new(["annotate", "--input", text(&gold), "--config", text(&config)]).end()
    };
    run("").expect(0);
    run(&format!("dictionary = {:?}\n", text(&later)))
        .expect(2)
        .says("engine.dictionary")
        .says(&trained)
        .says(&given);
    std::fs::copy(&later, out.join("dictionary.bin")).unwrap();
    run("")
        .expect(2)
        .says("dictionary.bin")
        .says(&trained)
        .says(&given);
    std::fs::remove_file(out.join("dictionary.bin")).unwrap();
    run("")
        .expect(2)
        .says("bundle.toml")
        .says(&trained)
        .says(&builtin);
    // A copy of a built-in bundle carries the program's dictionary.
    let copy = place.at("copy");
    bundle(&["export", "en-fast", text(&copy)]).expect(0);
    assert!(copy.join("dictionary.bin").is_file());
}

/// Gold under labels of the built-in set.
fn local(count: usize) -> String {
    gold(count).replace("\"NAME\"", "\"PATIENT\"")
}

#[test]
fn a_fine_tuned_member_takes_the_place_of_the_old_one_and_both_digests_are_kept() {
    let place = Place::new();
    let gold = place.write("gold.jsonl", local(40));
    let (model, out) = (place.at("ssvm"), place.at("swapped"));
    let tune = [
        "adapt",
        "fine-tune",
        "en-fast/ssvm",
        "--train",
        text(&gold),
        "--out",
    ];
    Lethe::new(tune.iter().chain(&[text(&model)])).end().expect(0);
    let member = format!("ssvm={}", model.display());
    bundle(&["swap", "en-fast", "--member", &member, "--out", text(&out)])
        .expect(0)
        .says("made from")
        .says("nothing was measured");
    let (old, new) = (shown("en-fast"), shown(text(&out)));
    assert_eq!(new["parent"], old["digest"]);
    assert_eq!(new["members"][0]["replaces"], old["members"][0]["digest"]);
    assert_eq!(
        new["members"][0]["model"]["training"]["goes_on_from"],
        old["members"][0]["digest"]
    );
    assert_eq!(new["combine"], old["combine"]);
    assert!(
        new.get("measured").is_none(),
        "the measurements were of the old members"
    );
    let input = place.write(
        "notes.jsonl",
        "{\"doc_id\":\"1\",\"text\":\"Seen on 4 May 2026.\"}\n",
    );
    let annotate = ["annotate", "--bundle", text(&out), "--input", text(&input)];
    Lethe::new(annotate).end().expect(0);
    // A rule and an unknown name are no trained members.
    for name in ["pattern", "crf"] {
        let member = format!("{name}={}", model.display());
        bundle(&[
            "swap",
            "en-fast",
            "--member",
            &member,
            "--out",
            text(&place.at("no")),
        ])
        .expect(2)
        .says("replace one of ssvm");
    }
}

#[test]
fn networks_of_a_bundle_are_rounded_to_bytes_and_other_members_are_refused() {
    let place = Place::new();
    let gold = place.write("gold.jsonl", local(40));
    let mut options = Vec::new();
    for (member, epochs) in [("cnn", "3"), ("lstm-crf-l", "2"), ("ssvm", "2")] {
        let model = place.at(member);
        let epochs = match member {
            "ssvm" => format!("epochs={epochs}"),
            _ => format!("schedule.epochs={epochs}"),
        };
        let train = [
            "train",
            member,
            "--train",
            text(&gold),
            "--set",
            &epochs,
            "--out",
            text(&model),
        ];
        Lethe::new(train).end().expect(0);
        options.extend(["--member".to_owned(), format!("{member}={}", model.display())]);
    }
    let (from, out) = (place.at("from"), place.at("out"));
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    bundle(&[&["create", "--rule", "known", "--out", text(&from)], &options[..]].concat()).expect(0);
    let quantize = [
        "quantize",
        text(&from),
        "--notes",
        text(&gold),
        "--gold",
        text(&gold),
        "--out",
        text(&out),
    ];
    bundle(&[&quantize[..], &["--member", "cnn", "--member", "lstm-crf-l"]].concat())
        .expect(0)
        .says("made from");
    let (old, new) = (shown(text(&from)), shown(text(&out)));
    assert_eq!(new["parent"], old["digest"]);
    let measured = &new["measured"][0];
    assert_eq!(
        (&measured["on"], &measured["documents"]),
        (&"gold.jsonl".into(), &40.into())
    );
    assert!(measured["recall"][0].as_f64() > Some(0.5), "{measured}");
    for place in [0, 1] {
        let (old, new) = (&old["members"][place], &new["members"][place]);
        assert_eq!(new["replaces"], old["digest"]);
        assert_eq!(new["model"]["training"], old["model"]["training"]);
        let manifest = std::fs::read_to_string(
            out.join("members")
                .join(new["name"].as_str().unwrap())
                .join("member.toml"),
        );
        assert!(manifest.unwrap().contains("precision = \"int8\""));
    }
    assert_eq!(new["members"][2]["digest"], old["members"][2]["digest"]);
    let annotate = ["annotate", "--bundle", text(&out), "--input", text(&gold)];
    let ended = Lethe::new(annotate).end().expect(0);
    assert!(ended.out.contains("\"spans\":[{"), "{}", ended.out);
    let no = place.at("no");
    let again = [
        "quantize",
        text(&from),
        "--notes",
        text(&gold),
        "--out",
        text(&no),
        "--member",
    ];
    bundle(&[&again[..], &["ssvm"]].concat())
        .expect(2)
        .says("a `ssvm` cannot be quantized, only cnn, lstm-crf");
    bundle(&[&again[..], &["known"]].concat())
        .expect(2)
        .says("replace one of cnn, lstm-crf-l, ssvm");
}

#[test]
fn a_model_with_fewer_labels_is_refused_and_a_new_bundle_can_be_made_of_it() {
    let place = Place::new();
    let gold = place.write("gold.jsonl", local(40));
    let (model, out) = (place.at("model"), place.at("out"));
    let train = ["train", "ssvm", "--train", text(&gold), "--out", text(&model)];
    Lethe::new(train).end().expect(0);
    let member = format!("ssvm={}", model.display());
    bundle(&["swap", "en-fast", "--member", &member, "--out", text(&out)])
        .expect(2)
        .says("cannot predict");
    assert!(!out.exists(), "nothing is left");
    bundle(&[
        "create",
        "--member",
        &member,
        "--rule",
        "known",
        "--out",
        text(&out),
    ])
    .expect(0);
    let json = shown(text(&out));
    assert_eq!(json["labels"]["id"], "i2b2-2014");
    assert_eq!(json["combine"]["always_redact"], serde_json::json!(["known"]));
    let ended = bundle(&["show", text(&out)]).expect(0);
    assert!(ended.out.contains("fitted to   no documents"), "{}", ended.out);
}
