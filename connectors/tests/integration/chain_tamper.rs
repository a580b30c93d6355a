//! Any change, removal, swap or addition of a chain's file is detected, and the file is named.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::chain_common;

use std::sync::LazyLock;

use bytes::Bytes;
use lethe_connectors::inspect::{DatasetError, Head, Report, Scope, inspect, inspect_within};
use lethe_connectors::sink::{Encoding, Fingerprints, LaneWriter, bridge, read_footer};
use lethe_connectors::store::{Memory, Store};
use proptest::prelude::*;

use chain_common::{chain, digest, files, fingerprints, open, rewritten, rows, set, store_of, write};

/// Returns a chain with each kind of file: notes of several writers, a writer's second file, another engine
/// version, a gap, and a file without redactions.
async fn made() -> Vec<(String, Bytes)> {
    let store = Memory::default();
    write(&store, 0..4).await;
    let mut writer = open(&store).await;
    for range in [4..7, 7..8] {
        let (notes, audit) = rows(range);
        writer.push(&notes, &audit).unwrap();
        writer.commit(&store).await.unwrap();
    }
    // Offset 8 is quarantined: a file without audit.
    write(&store, 8..9).await;
    bridge(&store, &chain(), 9, 12, "expired", &fingerprints())
        .await
        .unwrap();
    let own_fingerprints = Fingerprints {
        policy: "another".into(),
        ..fingerprints()
    };
    let mut writer = LaneWriter::open(&store, chain(), 0, own_fingerprints, Encoding::default())
        .await
        .unwrap();
    let (notes, audit) = rows(12..15);
    writer.push(&notes, &audit).unwrap();
    writer.commit(&store).await.unwrap();
    write(&store, 15..17).await;
    files(&store).await
}

/// That chain, built once, and its head.
static WHOLE: LazyLock<(Vec<(String, Bytes)>, Head)> = LazyLock::new(|| {
    std::thread::spawn(|| {
        run(async {
            let files = made().await;
            let report = inspect(&store_of(&files).await, |_| {}).await.unwrap();
            assert!(report.is_intact(), "{report}");
            let head = report.chains[0].head.clone().unwrap();
            (files, head)
        })
    })
    .join()
    .unwrap()
});

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(future)
}

async fn held_against(head: &Head, files: &[(String, Bytes)]) -> Report {
    let scope = Scope {
        heads: vec![head.clone()],
        ..Scope::default()
    };
    inspect_within(&store_of(files).await, scope, |_| {})
        .await
        .unwrap()
}

/// The part of a chain where tampering may go unnoticed: the last notes file, for which nothing in the store
/// vouches.
fn is_last(files: &[(String, Bytes)], name: &str) -> bool {
    let last = files.iter().rev().find(|(name, _)| name.starts_with("notes/"));
    last.is_some_and(|(last, _)| last == name)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn a_changed_byte_of_any_file_is_found_and_the_file_is_named(
        file: prop::sample::Index, byte: prop::sample::Index, bit in 0..8u32, near_end: bool,
    ) {
        run(async {
            let (mut files, head) = WHOLE.clone();
            let at = file.index(files.len());
            let (name, bytes) = files[at].clone();
            let mut changed = bytes.to_vec();
            let byte = if near_end {
                // Footers, where a change has the largest effect.
                changed.len() - 1 - byte.index(changed.len().min(600))
            } else {
                byte.index(changed.len())
            };
            changed[byte] ^= 1 << bit;
            files[at].1 = changed.into();
            let report = held_against(&head, &files).await;
            prop_assert!(!report.is_intact(), "{name} byte {byte} bit {bit}");
            prop_assert!(report.to_string().contains(&name), "{report}");
            if !is_last(&files, &name) {
                let report = inspect(&store_of(&files).await, |_| {}).await.unwrap();
                prop_assert!(!report.is_intact(), "without the head: {name} byte {byte} bit {bit}");
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_file_that_is_dropped_or_swapped_for_another_is_found_and_named(
        one: prop::sample::Index, other: prop::sample::Index, how in 0..3u8,
    ) {
        run(async {
            let (mut files, head) = WHOLE.clone();
            let (one, other) = (one.index(files.len()), other.index(files.len()));
            let name = files[one].0.clone();
            match how {
                0 => drop(files.remove(one)),
                // Another file of the chain in its place.
                1 => files[one].1 = files[other].1.clone(),
                _ => {
                    let theirs = files[other].1.clone();
                    files[other].1 = std::mem::replace(&mut files[one].1, theirs);
                }
            }
            prop_assume!(how == 0 || one != other);
            let report = held_against(&head, &files).await;
            prop_assert!(!report.is_intact(), "{how}: {name}");
            prop_assert!(report.to_string().contains(&name), "{how}: {name}: {report}");
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn a_rewritten_file_with_a_valid_footer_is_found() {
    let (files, head) = WHOLE.clone();
    for at in 0..files.len() {
        let (name, bytes) = &files[at];
        let replaced = rewritten(bytes, |rows| rows, |_| {});
        let mut changed = files.clone();
        changed[at].1 = replaced.clone();
        if is_last(&files, name) {
            let alone = inspect(&store_of(&changed).await, |_| {}).await.unwrap();
            assert!(alone.is_intact(), "nothing in the store answers for it: {alone}");
            let report = held_against(&head, &changed).await;
            assert!(
                matches!(&report.faults[..], [DatasetError::Head { file: Some(file), .. }] if file == name)
            );
            continue;
        }
        let report = inspect(&store_of(&changed).await, |_| {}).await.unwrap();
        let found = digest(&replaced);
        let faults = &report.chains[0].faults;
        assert!(
            matches!(&faults[..], [DatasetError::Digest { file, found: other, .. }] if file == name && *other == found),
            "{report}"
        );
    }
}

#[tokio::test]
async fn a_chain_cut_off_at_its_end_is_found_by_the_head_that_was_kept() {
    let (files, head) = WHOLE.clone();
    let last = files.iter().position(|(name, _)| is_last(&files, name)).unwrap();
    let mut cut = files.clone();
    let (name, _) = cut.remove(last);
    let alone = inspect(&store_of(&cut).await, |_| {}).await.unwrap();
    assert!(alone.is_intact());
    let report = held_against(&head, &cut).await;
    assert!(!report.is_intact());
    assert!(report.to_string().contains(&name), "{report}");
}

#[tokio::test]
async fn a_head_that_was_kept_holds_when_the_chain_has_grown() {
    let (files, head) = WHOLE.clone();
    let store = store_of(&files).await;
    write(&store, 17..20).await;
    let report = held_against(&head, &chain_common::files(&store).await).await;
    assert!(report.is_intact(), "{report}");
    let now = report.chains[0].head.clone().unwrap();
    assert_ne!(now, head);
    assert!(
        report.to_string().contains(&format!("head {}  ", now.digest)),
        "{report}"
    );
    // A digest alone suffices.
    let alone = Head { file: None, ..head };
    assert!(
        held_against(&alone, &chain_common::files(&store).await)
            .await
            .is_intact()
    );
}

#[tokio::test]
async fn a_receipt_gives_the_head_and_the_next_file_answers_for_it() {
    let store = Memory::default();
    let mut writer = open(&store).await;
    let mut heads = Vec::new();
    for from in [0, 3, 6] {
        let (notes, audit) = rows(from..from + 3);
        writer.push(&notes, &audit).unwrap();
        let receipt = writer.commit(&store).await.unwrap().unwrap();
        let bytes = store.read(receipt.file()).await.unwrap();
        assert_eq!(receipt.digest(), digest(&bytes));
        let audit = store
            .read(receipt.footer().audit.as_ref().unwrap())
            .await
            .unwrap();
        assert_eq!(receipt.footer().audit_digest, Some(digest(&audit)));
        assert_eq!(receipt.footer().previous, heads.last().cloned());
        heads.push(receipt.digest().to_owned());
    }
    // A writer that continues the chain has not written the earlier files.
    write(&store, 9..10).await;
    let footer = read_footer(&store, &chain().notes_name(9)).await.unwrap();
    assert_eq!(footer.previous, heads.pop());
}

/// Returns the files as a version without digests wrote them, up to the file that begins at this offset.
async fn as_before(store: &dyn Store, before: i64) -> Vec<(String, Bytes)> {
    let mut files = files(store).await;
    for (name, bytes) in &mut files {
        let of = lethe_connectors::sink::ChainId::parse_notes(name);
        if of.is_some_and(|(_, first)| first < before) {
            *bytes = rewritten(
                bytes,
                |rows| rows,
                |pairs| {
                    pairs.retain(|pair| {
                        !["lethe.previous", "lethe.audit_digest", "lethe.review"].contains(&pair.key.as_str())
                    });
                },
            );
        }
    }
    files
}

#[tokio::test]
async fn files_from_before_chains_had_digests_stand_at_the_beginning_and_are_told() {
    let store = Memory::default();
    for from in [0, 3, 6] {
        write(&store, from..from + 3).await;
    }
    let store = store_of(&as_before(&store, 9).await).await;
    // This version continues the chain.
    for from in [9, 12] {
        write(&store, from..from + 3).await;
    }
    let report = inspect(&store, |_| {}).await.unwrap();
    assert!(report.is_intact(), "{report}");
    assert_eq!(report.chains[0].unlinked, 3);
    assert!(
        report.to_string().contains("without digests: 3 files"),
        "{report}"
    );
    // The first file with digests vouches for the last of them.
    let mut files = files(&store).await;
    let third = files
        .iter_mut()
        .find(|(name, _)| *name == chain().notes_name(6))
        .unwrap();
    third.1 = rewritten(
        &third.1,
        |rows| rows,
        |pairs| set(pairs, "lethe.writer", "mallory"),
    );
    let report = inspect(&store_of(&files).await, |_| {}).await.unwrap();
    assert!(
        matches!(&report.chains[0].faults[..], [DatasetError::Digest { .. }]),
        "{report}"
    );
}

#[tokio::test]
async fn a_file_that_lost_its_digests_after_files_that_have_them_is_named() {
    let store = Memory::default();
    for from in [0, 3, 6] {
        write(&store, from..from + 3).await;
    }
    let named = chain().notes_name(6);
    for lost in ["lethe.previous", "lethe.audit_digest"] {
        let mut files = files(&store).await;
        let last = files.iter_mut().find(|(name, _)| *name == named).unwrap();
        last.1 = rewritten(
            &last.1,
            |rows| rows,
            |pairs| pairs.retain(|pair| pair.key != lost),
        );
        let report = inspect(&store_of(&files).await, |_| {}).await.unwrap();
        assert!(
            matches!(&report.chains[0].faults[..], [DatasetError::Unlinked { file, .. }] if *file == named),
            "{lost}: {report}"
        );
    }
}

#[tokio::test]
async fn a_quick_look_reads_no_digests_and_does_not_claim_to_have() {
    let (mut files, _) = WHOLE.clone();
    let (_, bytes) = &mut files[0];
    *bytes = rewritten(bytes, |rows| rows, |_| {});
    let scope = Scope {
        digests: false,
        ..Scope::default()
    };
    let report = inspect_within(&store_of(&files).await, scope, |_| {})
        .await
        .unwrap();
    assert!(report.is_intact() && report.chains[0].head.is_none(), "{report}");
    assert!(!report.to_string().contains("checksums match"), "{report}");
}
