//! File names are commits: each name identifies one chain and offset, each chain and offset has one name, and
//! no topic's name leads out of its folder.
#![no_main]

use lethe_connectors::sink::ChainId;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Case<'a> {
    name: &'a str,
    topic: &'a str,
    partition: u16,
    first: u64,
    commit: u128,
}

fuzz_target!(|case: Case<'_>| {
    if let Some((chain, first)) = ChainId::parse_notes(case.name) {
        assert_eq!(chain.notes_name(first), case.name);
    }
    if let Some((chain, first, commit)) = ChainId::parse_audit(case.name) {
        assert_eq!(chain.audit_name(first, commit), case.name);
    }

    let chain = ChainId::new(case.topic, i32::from(case.partition));
    let first = (case.first >> 1) as i64;
    let commit = uuid::Uuid::from_u128(case.commit);
    let (notes, audit) = (chain.notes_name(first), chain.audit_name(first, commit));
    for name in [&notes, &audit] {
        assert_eq!(
            name.split('/').count(),
            4,
            "a topic's name makes a folder of its own"
        );
        assert!(name.bytes().all(|b| b.is_ascii_graphic() && b != b'\\'));
    }
    assert_eq!(ChainId::parse_notes(&notes), Some((chain.clone(), first)));
    assert_eq!(ChainId::parse_audit(&audit), Some((chain, first, commit)));
});
