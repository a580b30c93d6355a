//! The policies that the documentation shows are policies, and hold the rules that they say they do.

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
