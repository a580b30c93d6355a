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
        check(&file, &name, &LabelSet::i2b2_2014(), &carried).unwrap();
        seen += 1;
    }
    assert_eq!(seen, 3);
}

/// A running stream is pinned to its policy's digest: a version that reads the same file as another policy
/// would stop it.
#[test]
fn the_digests_of_policies_that_are_shown_stay_what_they_are() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policies");
    for (name, digest) in [
        (
            "research",
            "6ed1ce51ed062b27cfb5b0780e852cc840968b5115ccfc2221c353a572c6dc5f",
        ),
        (
            "safe-harbor",
            "c54085a4ed0230cc198458a2bcb11258bbbe65ca2e6dbd2bf57f3eee2555fcdc",
        ),
        (
            "safe-harbor-linked",
            "67c97ccb32f4131589f24a4ac296c63095f301563194ee4c58eee792c366fee7",
        ),
    ] {
        let text = std::fs::read_to_string(format!("{folder}/{name}.toml")).unwrap();
        assert_eq!(PolicyFile::parse(&text, name).unwrap().digest(), digest, "{name}");
    }
}
