//! The policies in the documentation are valid and follow the rules that they name.

use lethe_core::LabelSet;
use lethe_policy::{PolicyFile, carried_by_default, check};

#[test]
fn every_policy_that_is_shown_can_be_used() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policies");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        let file = PolicyFile::parse(&std::fs::read_to_string(&path).unwrap(), &name).unwrap();
        let carried = carried_by_default(&file);
        let labels = LabelSet::i2b2_2014();
        check(&file, &name, &labels.with_origin(), &carried).unwrap();
        if !file.names_origin() {
            check(&file, &name, &labels, &carried).unwrap();
        }
        seen += 1;
    }
    assert_eq!(seen, 4);
}

/// A running stream is pinned to its policy's digest: a version that reads the same file as another policy
/// would stop it.
#[test]
fn the_digests_of_policies_that_are_shown_stay_what_they_are() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policies");
    for (name, digest) in [
        (
            "gdpr",
            "eebb4162019f5c6ba877d032fc709a4dec6c172fa979631bb169efa30959117d",
        ),
        (
            "research",
            "6ed1ce51ed062b27cfb5b0780e852cc840968b5115ccfc2221c353a572c6dc5f",
        ),
        (
            "safe-harbor",
            "12b3c12ce4fe7c1dbbfb9196c15cf70f0bde2203646e0875a3ed9ecbd4eac2ba",
        ),
        (
            "safe-harbor-linked",
            "504b432fec26d1907d71e31d4a2cbdfb987a089b75ea4a2ec7dfb355f340f7d2",
        ),
    ] {
        let text = std::fs::read_to_string(format!("{folder}/{name}.toml")).unwrap();
        assert_eq!(PolicyFile::parse(&text, name).unwrap().digest(), digest, "{name}");
    }
}

/// Nationality and the like are none of the eighteen identifiers.
#[test]
fn the_words_for_an_origin_stay_under_hipaa_and_go_under_gdpr() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policies");
    let labels = LabelSet::i2b2_2014().with_origin();
    let origin = labels.label(labels.origin().unwrap());
    for (name, action) in [
        ("safe-harbor", "keep"),
        ("safe-harbor-linked", "keep"),
        ("research", "keep"),
        ("gdpr", "tag"),
    ] {
        let text = std::fs::read_to_string(format!("{folder}/{name}.toml")).unwrap();
        let file = PolicyFile::parse(&text, name).unwrap();
        assert_eq!(file.operation_for(origin).name(), action, "{name}");
        assert_eq!(file.names_origin(), name == "gdpr", "{name}");
        // The default of the policy is for the other labels.
        let patient = labels.label(labels.by_name("PATIENT").unwrap());
        assert_ne!(file.operation_for(patient).name(), "keep", "{name}");
    }
}

#[test]
fn a_policy_of_any_mode_may_name_the_origin() {
    let labels = LabelSet::i2b2_2014().with_origin();
    let origin = labels.label(labels.origin().unwrap());
    for mode in ["safe-harbor", "limited-data-set", "custom"] {
        for action in ["tag", "mask", "remove", "keep"] {
            let text = format!("mode = \"{mode}\"\n[labels.ORIGIN]\naction = \"{action}\"");
            let file = PolicyFile::parse(&text, "policy.toml").unwrap();
            check(&file, "policy.toml", &labels, &carried_by_default(&file)).unwrap();
            assert_eq!(file.operation_for(origin).name(), action);
        }
        let file = PolicyFile::parse(&format!("mode = \"{mode}\""), "policy.toml").unwrap();
        let expected = if mode == "custom" { "tag" } else { "keep" };
        assert_eq!(file.operation_for(origin).name(), expected, "{mode}");
    }
}

/// A label of that name in a set of your own belongs to the identifier that the set says.
#[test]
fn a_label_of_your_own_set_with_that_name_is_redacted_as_before() {
    let toml = "id = \"mine\"\nversion = 1\n[[label]]\nname = \"ORIGIN\"\ncategory = \"X\"\nhipaa = \"R\"\n";
    let labels = LabelSet::parse(toml, "mine.toml").unwrap();
    let file = PolicyFile::parse("mode = \"safe-harbor\"", "policy.toml").unwrap();
    assert_eq!(file.operation_for(&labels.labels()[0]).name(), "tag");
    let keep = PolicyFile::parse(
        "mode = \"safe-harbor\"\ndefault = { action = \"keep\" }",
        "policy.toml",
    )
    .unwrap();
    let refused = check(&keep, "policy.toml", &labels, &[]).unwrap_err().to_string();
    assert!(refused.contains("164.514(b)(2)(i)(R)"), "{refused}");
}
