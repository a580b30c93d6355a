//! Erases rows while a writer extends their chain, in a failing store, and with fields of a message.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::chain_common;

use std::sync::Arc;

use lethe_connectors::erase::{
    EraseError, Erasures, Found, Match, Plan, Record, complete, find, locate, plan, replace, write,
};
use lethe_connectors::inspect::{DatasetError, Place, Report, Scope, inspect_within, why};
use lethe_connectors::sink::read_footer;
use lethe_connectors::store::faulty::{Faulty, Plan as Faults};
use lethe_connectors::store::{Memory, Store, StoreError};

use chain_common::{chain, fields, open, rows};

async fn look(store: &dyn Store) -> Report {
    let scope = Scope {
        audit: true,
        ..Scope::default()
    };
    inspect_within(store, scope, |_| {}).await.unwrap()
}

async fn of(store: &dyn Store, offsets: &[i64]) -> Found {
    let places: Vec<_> = offsets.iter().map(|offset| (chain(), *offset)).collect();
    locate(store, &places).await.unwrap().unwrap()
}

async fn record(store: &dyn Store, found: &Found) -> Record {
    let wanted = Plan {
        reason: "a request".into(),
        zstd_level: 3,
        vault: Vec::new(),
    };
    let erasures = Erasures::read(store).await.unwrap();
    plan(store, &erasures, found, wanted, |_| {}).await.unwrap()
}

pub(crate) async fn erase(store: &dyn Store, offsets: &[i64]) -> Record {
    let record = record(store, &of(store, offsets).await).await;
    write(store, &record).await.unwrap();
    replace(store, &record, |_| {}).await.unwrap();
    complete(store, &record, 0).await.unwrap();
    record
}

#[tokio::test]
async fn a_writer_goes_on_after_its_last_file_was_erased_and_so_does_one_that_opens_the_chain() {
    let store = Memory::default();
    let mut writer = open(&store).await;
    let append = async |writer: &mut lethe_connectors::sink::LaneWriter, offsets| {
        let (notes, audit) = rows(offsets);
        writer.push(&notes, &audit).unwrap();
        writer.commit(&store).await.unwrap();
    };
    append(&mut writer, 0..20).await;
    erase(&store, &[3, 4]).await;
    // It has the old digest, and the next writer the new one.
    append(&mut writer, 20..40).await;
    assert!(look(&store).await.is_intact());
    erase(&store, &[3, 25]).await;
    let mut next = open(&store).await;
    append(&mut next, 40..60).await;
    erase(&store, &[5, 26, 41]).await;
    let report = look(&store).await;
    assert!(report.is_intact(), "{report}");
    // Offset 3 was erased before.
    assert_eq!((report.chains[0].erased, report.erasures.len()), (6, 3));
    let footer = read_footer(&store, &chain().notes_name(0)).await.unwrap();
    assert_eq!((footer.erased, footer.rows()), (3, 20));
    let place = Place {
        chain: chain(),
        offset: 4,
        byte: None,
        field: None,
    };
    let why = why(&store, &place).await.unwrap().unwrap();
    assert_eq!(
        (why.row_kind.as_str(), why.spans.len(), why.audit_intact),
        ("erased", 0, Some(true))
    );
}

#[tokio::test]
async fn all_rows_of_a_file_may_be_erased() {
    let store = Memory::default();
    chain_common::write(&store, 0..20).await;
    chain_common::write(&store, 20..30).await;
    let all: Vec<i64> = (0..20).collect();
    erase(&store, &all).await;
    let report = look(&store).await;
    assert!(report.is_intact(), "{report}");
    let footer = read_footer(&store, &chain().notes_name(0)).await.unwrap();
    assert_eq!((footer.erased, footer.audit_rows), (20, 0));
}

#[tokio::test]
async fn the_fields_of_a_message_are_erased_with_it() {
    let store = fields::store().await;
    let before = look(&store).await;
    assert!(before.is_intact() && before.chains[0].structured > 0, "{before}");
    erase(&store, &[0, 1]).await;
    let report = look(&store).await;
    assert!(report.is_intact(), "{report}");
    assert_eq!((report.chains[0].structured, report.chains[0].erased), (0, 2));
}

#[tokio::test]
async fn rows_are_found_by_a_matcher_and_possible_ones_only_on_request() {
    let store = Memory::default();
    chain_common::write(&store, 0..40).await;
    let matcher = |row: lethe_connectors::erase::Row<'_>| row.text.map(|_| Match::Possible);
    let found = find(&store, &matcher, false, |_| {}).await.unwrap();
    assert_eq!((found.records(), found.possible > 0), (0, true));
    let wanted = find(&store, &matcher, true, |_| {}).await.unwrap();
    assert_eq!((wanted.records(), wanted.possible), (found.possible, 0));
    assert_eq!(
        locate(&store, &[(chain(), 3), (chain(), 40)]).await.unwrap(),
        Err(1)
    );
}

#[tokio::test]
async fn an_erasure_goes_on_through_a_store_that_fails_now_and_then() {
    let inner = Arc::new(Memory::default());
    chain_common::write(&*inner, 0..20).await;
    let record = record(&*inner, &of(&*inner, &[3, 4]).await).await;
    assert_eq!(record.files.len(), 2);
    write(&*inner, &record).await.unwrap();
    // The first response is lost, the second request is refused.
    let faults = Faults::parse("replace:1=fail-after,replace:2=fail-before").unwrap();
    let store = Faulty::new(Arc::clone(&inner) as Arc<dyn Store>, faults);
    replace(&store, &record, |_| {}).await.unwrap();
    assert_eq!(store.given(), 2);
    complete(&store, &record, 0).await.unwrap();
    assert!(look(&*inner).await.is_intact());
}

#[tokio::test]
async fn a_file_that_was_changed_since_the_record_is_not_replaced() {
    let store = Memory::default();
    chain_common::write(&store, 0..20).await;
    let record = record(&store, &of(&store, &[3]).await).await;
    write(&store, &record).await.unwrap();
    let mut other = record.clone();
    other.reason = "another request".into();
    assert!(matches!(
        write(&store, &other).await,
        Err(EraseError::Lost { .. })
    ));
    let path = chain().notes_name(0);
    let version = store.look(&path).await.unwrap().version;
    store.replace(&path, "other".into(), &version).await.unwrap();
    let again = store.replace(&path, "again".into(), &version).await.unwrap_err();
    assert!(matches!(again, StoreError::Changed(_)), "{again}");
    let error = replace(&store, &record, |_| {}).await.unwrap_err();
    assert!(
        matches!(&error, EraseError::Changed { file, .. } if *file == path),
        "{error}"
    );
    let faults = look(&store).await.faults;
    assert!(
        faults
            .iter()
            .any(|fault| matches!(fault, DatasetError::Unfinished { .. }))
    );
}
