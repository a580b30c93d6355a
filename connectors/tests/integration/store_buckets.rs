//! Buckets as stores, also behind a misbehaving proxy.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail and print"
)]

use crate::buckets::{Site, on_every_bucket};
use crate::chain_common;
use crate::store_proxy;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lethe_connectors::inspect::{inspect, remove_orphans};
use lethe_connectors::sink::{CommitError, Encoding, LaneWriter, bridge};
use lethe_connectors::store::{Object, Store, StoreConfig, StoreError, verify};

use chain_common::{chain, fingerprints, rows};
use serde_json::json;
use store_proxy::Mischief;

async fn write(store: &dyn Store, offsets: std::ops::Range<i64>) -> Result<Option<i64>, CommitError> {
    let mut writer = LaneWriter::open(store, chain(), 0, fingerprints(), Encoding::default()).await?;
    let (notes, audit) = rows(offsets);
    writer.push(&notes, &audit).unwrap();
    Ok(writer.commit(store).await?.map(|receipt| receipt.next()))
}

async fn a_bucket_keeps_the_promises_of_a_store(site: Site) {
    let store = site.store();
    verify(&*store).await.unwrap();
    for name in ["b/2", "a/topic=x%2Fy/1", "b/c/3"] {
        store.create(name, Bytes::from(name.to_owned())).await.unwrap();
    }
    let again = store
        .create("b/2", Bytes::from_static(b"other"))
        .await
        .unwrap_err();
    assert!(matches!(again, StoreError::Exists(_)), "{again}");
    assert_eq!(store.read("b/2").await.unwrap(), "b/2");
    let names =
        |objects: Vec<Object>| -> Vec<String> { objects.into_iter().map(|object| object.name).collect() };
    assert_eq!(
        names(store.list("").await.unwrap()),
        ["a/topic=x%2Fy/1", "b/2", "b/c/3"]
    );
    assert_eq!(names(store.list("b").await.unwrap()), ["b/2", "b/c/3"]);
    assert_eq!(
        names(store.list_after("b", Some("b/2")).await.unwrap()),
        ["b/c/3"]
    );
    assert_eq!(names(store.list_page("b", None, 1).await.unwrap()), ["b/2"]);
    assert!(store.list("absent").await.unwrap().is_empty());
    assert_eq!(store.read_range("b/c/3", 2..3).await.unwrap(), "c");
    let end = store.read_tail("b/c/3", 3).await.unwrap();
    assert_eq!((end.bytes, end.size), (Bytes::from_static(b"c/3"), 5));
    assert_eq!(store.read_tail("b/c/3", 99).await.unwrap().bytes, "b/c/3");
    assert!(matches!(store.read("x").await, Err(StoreError::NotFound(_))));
    assert!(matches!(
        store.read_tail("x", 8).await,
        Err(StoreError::NotFound(_))
    ));
    store.delete("b/2").await.unwrap();
    store.delete("b/2").await.unwrap();
    assert_eq!(names(store.list("b").await.unwrap()), ["b/c/3"]);
}

async fn an_object_is_replaced_only_while_it_is_of_the_version_that_was_read(site: Site) {
    let store = site.store();
    store.create("a/1", Bytes::from_static(b"one")).await.unwrap();
    let first = store.look("a/1").await.unwrap().version;
    store
        .replace("a/1", Bytes::from_static(b"second"), &first)
        .await
        .unwrap();
    for name in ["a/1", "a/2"] {
        let error = store
            .replace(name, Bytes::from_static(b"3"), &first)
            .await
            .unwrap_err();
        assert!(matches!(error, StoreError::Changed(_)), "{error}");
    }
    assert_eq!(store.read("a/1").await.unwrap(), "second");
    assert_eq!(store.list("a").await.unwrap().len(), 1);
}

/// A server that refuses may close the connection before it has read a large object; then the client sees a
/// broken connection instead of the refusal.
async fn a_taken_name_is_reported_as_taken_whatever_the_size_of_the_object(site: Site) {
    let store = site.store();
    for size in [1_000, 200_000, 1_000_000, 40_000_000] {
        let name = format!("notes/{size}");
        let bytes = Bytes::from(vec![7; size]);
        store.create(&name, bytes.clone()).await.unwrap();
        let again = store.create(&name, bytes).await.unwrap_err();
        assert!(matches!(again, StoreError::Exists(_)), "{size}: {again}");
    }
}

async fn of_many_writers_of_one_name_exactly_one_succeeds(site: Site) {
    let store = site.store();
    for round in 0..5 {
        let name = format!("notes/{round}");
        let writers = (0..8u8).map(|writer| {
            let (store, name) = (Arc::clone(&store), name.clone());
            async move {
                store
                    .create(&name, vec![writer; 10_000].into())
                    .await
                    .map(|()| writer)
            }
        });
        let mut winners = Vec::new();
        for done in futures::future::join_all(writers).await {
            match done {
                Ok(writer) => winners.push(writer),
                Err(StoreError::Exists(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(winners.len(), 1);
        assert_eq!(store.read(&name).await.unwrap(), vec![winners[0]; 10_000]);
    }
}

async fn a_chain_in_a_bucket_is_written_taken_over_bridged_and_inspected(site: Site) {
    let store = site.store();
    assert_eq!(write(&*store, 0..10).await.unwrap(), Some(10));
    let mut late = LaneWriter::open(&*store, chain(), 0, fingerprints(), Encoding::default())
        .await
        .unwrap();
    let (notes, audit) = rows(10..15);
    late.push(&notes, &audit).unwrap();
    assert_eq!(write(&*store, 10..20).await.unwrap(), Some(20));
    let lost = late.commit(&*store).await.unwrap_err();
    assert!(
        matches!(&lost, CommitError::Lost { tail } if tail.next == 20),
        "{lost}"
    );
    bridge(&*store, &chain(), 20, 25, "expired", &fingerprints())
        .await
        .unwrap();
    let report = inspect(&*store, |_| {}).await.unwrap();
    assert!(report.is_intact(), "{report}");
    assert_eq!(
        (
            report.chains[0].rows(),
            report.chains[0].next,
            report.orphans.len()
        ),
        (20, 25, 1)
    );
    assert_eq!(
        remove_orphans(&*store, &report, Duration::ZERO)
            .await
            .unwrap()
            .len(),
        1
    );
    assert!(inspect(&*store, |_| {}).await.unwrap().orphans.is_empty());
}

async fn a_missing_bucket_and_a_refused_key_are_named_and_no_secret_is_shown(site: Site) {
    let named = json!({site.bucket: "no-such-bucket-here"});
    let missing = serde_json::from_value::<StoreConfig>({
        let mut settings = site.config.clone();
        settings
            .as_object_mut()
            .unwrap()
            .extend(named.as_object().unwrap().clone());
        settings
    });
    let store = missing.unwrap().build().unwrap();
    for error in [
        store.create("a", Bytes::new()).await.unwrap_err(),
        store.list("").await.unwrap_err(),
        store.read("a").await.unwrap_err(),
    ] {
        let message = error.to_string();
        assert!(!error.is_transient(), "{message}");
        assert!(
            message.contains("there is no such") && message.contains("no-such-bucket-here"),
            "{message}"
        );
    }

    let ((refused, secret), code) = (site.refused.clone(), site.refusal);
    let site = site.with(refused);
    let store = site.store();
    let error = store.create("a", Bytes::new()).await.unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error:?}");
    let message = format!("{error} {error:?} {store:?} {:?}", site.settings());
    assert!(
        message.contains(code) && message.contains("check the "),
        "{message}"
    );
    assert!(!message.contains(secret), "{message}");
    for key in ["access_key", "secret_key"] {
        if let Some(known) = site.config[key].as_str() {
            assert!(!message.contains(known), "{message}");
        }
    }
}

async fn a_server_that_is_not_there_is_given_up_as_a_temporary_failure(site: Site) {
    let site = site.with(json!({"endpoint": "http://127.0.0.1:1", "retries": 2}));
    let error = site.store().create("a", Bytes::new()).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

async fn a_store_that_answers_429_500_503_resets_or_is_slow_is_asked_again(site: Site) {
    let plan = vec![
        Mischief::Status(429),
        Mischief::Status(500),
        Mischief::Reset,
        Mischief::Status(503),
        Mischief::Slow(Duration::from_millis(700)),
    ];
    let planned = plan.len();
    let (proxy, store, _site) = site.behind("PUT", plan);
    let mut writer = LaneWriter::open(&*store, chain(), 0, fingerprints(), Encoding::default())
        .await
        .unwrap();
    let (notes, audit) = rows(0..30);
    writer.push(&notes, &audit).unwrap();
    let receipt = loop {
        match writer.commit(&*store).await {
            Ok(receipt) => break receipt.unwrap(),
            Err(error) => assert!(matches!(error, CommitError::Transient(_)), "{error}"),
        }
    };
    assert_eq!((receipt.next(), proxy.met()), (30, planned));
    assert!(inspect(&*store, |_| {}).await.unwrap().is_intact());
}

async fn a_put_whose_answer_was_lost_is_recognised_as_done(site: Site) {
    let mut site = site;
    for swallowed in [Mischief::SwallowAnswer, Mischief::Slow(Duration::from_secs(3))] {
        let direct = site.config["endpoint"].clone();
        let prefix = format!("{}-again", site.config["prefix"].as_str().unwrap());
        // The audit's response is lost, and then the notes'.
        let (proxy, store, next) = site.behind("PUT", vec![swallowed, swallowed]);
        site = next.with(json!({"endpoint": direct, "prefix": prefix}));
        let mut writer = LaneWriter::open(&*store, chain(), 0, fingerprints(), Encoding::default())
            .await
            .unwrap();
        let (notes, audit) = rows(0..30);
        writer.push(&notes, &audit).unwrap();
        let mut attempts = 0;
        let receipt = loop {
            attempts += 1;
            assert!(attempts < 6, "{swallowed:?}");
            match writer.commit(&*store).await {
                Ok(receipt) => break receipt.unwrap(),
                Err(error) => assert!(matches!(error, CommitError::Transient(_)), "{error}"),
            }
        };
        assert_eq!((receipt.next(), proxy.met()), (30, 2), "{swallowed:?}");
        let report = inspect(&*store, |_| {}).await.unwrap();
        assert!(report.is_intact(), "{report}");
        assert_eq!((report.chains[0].files, report.orphans.len()), (1, 0));
    }
}

async fn a_refusal_that_never_arrives_is_asked_for(site: Site) {
    site.store().create("a", Bytes::from_static(b"x")).await.unwrap();
    let (proxy, store, _site) = site.behind("PUT", vec![Mischief::Reset; 5]);
    let again = store.create("a", Bytes::from_static(b"x")).await.unwrap_err();
    assert!(matches!(again, StoreError::Exists(_)), "{again}");
    // The client of S3 repeats a create whose connection broke, those of Azure and Google leave that to the caller.
    assert!(proxy.met() == 5 || proxy.met() == 1, "{}", proxy.met());
}

async fn a_store_that_stays_down_is_a_passing_trouble_and_the_buffer_is_kept(site: Site) {
    let (proxy, store, _site) = site.behind("PUT", vec![Mischief::Status(503); 5]);
    let mut writer = LaneWriter::open(&*store, chain(), 0, fingerprints(), Encoding::default())
        .await
        .unwrap();
    let (notes, audit) = rows(0..5);
    writer.push(&notes, &audit).unwrap();
    let error = writer.commit(&*store).await.unwrap_err();
    assert!(matches!(error, CommitError::Transient(_)), "{error}");
    assert!(error.to_string().contains("HTTP 503, SlowDown"), "{error}");
    assert_eq!(proxy.met(), 5, "the first attempt and four more");
    assert_eq!(writer.commit(&*store).await.unwrap().unwrap().next(), 5);
}

async fn a_store_that_never_answers_is_given_up_after_the_timeout(site: Site) {
    let (_proxy, store, _site) = site.behind("PUT", vec![Mischief::Silence]);
    let error = store.create("a", Bytes::from_static(b"x")).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    assert!(error.to_string().contains("timeout"), "{error}");
}

async fn reading_survives_a_store_that_fails_now_and_then(site: Site) {
    let (proxy, store, _site) = site.behind(
        "GET",
        vec![Mischief::Status(500), Mischief::Reset, Mischief::Status(429)],
    );
    assert_eq!(write(&*store, 0..5).await.unwrap(), Some(5));
    assert!(inspect(&*store, |_| {}).await.unwrap().is_intact());
    assert_eq!(proxy.met(), 3);
}

async fn listings_and_reads_name_the_same_version(site: Site) {
    let store = site.store();
    store.create("a/1", Bytes::from_static(b"one")).await.unwrap();
    let listed = store.list("a").await.unwrap().remove(0);
    assert_eq!(listed.version, store.look("a/1").await.unwrap().version);
    store
        .replace("a/1", Bytes::from_static(b"two"), &listed.version)
        .await
        .unwrap();
    assert_ne!(store.list("a").await.unwrap()[0].version, listed.version);
}

async fn folders_are_found_whatever_their_names_and_their_number(site: Site) {
    let store = site.store();
    let mut wanted: Vec<String> = (0..45).map(|number| format!("notes/topic={number:02}")).collect();
    wanted.extend(["notes/topic=a", "notes/topic=a-b", "notes/topic=a.b"].map(str::to_owned));
    wanted.sort();
    for folder in &wanted {
        for name in ["1", "2"] {
            store
                .create(&format!("{folder}/p/{name}"), Bytes::from_static(b"x"))
                .await
                .unwrap();
        }
    }
    store
        .create("notes/single", Bytes::from_static(b"x"))
        .await
        .unwrap();
    assert_eq!(store.folders("notes").await.unwrap(), wanted);
    assert_eq!(store.list("notes").await.unwrap().len(), 2 * wanted.len() + 1);
    assert_eq!(store.folders("absent").await.unwrap(), Vec::<String>::new());
    let after = store
        .list_page("notes", Some("notes/topic=43/p/2"), 2)
        .await
        .unwrap();
    let names: Vec<_> = after.iter().map(|object| object.name.as_str()).collect();
    assert_eq!(names, ["notes/topic=44/p/1", "notes/topic=44/p/2"]);
}

#[tokio::test]
async fn a_store_that_ignores_the_condition_of_a_create_is_refused() {
    for (site, header) in [
        (Site::azure_by_sas(), "if-none-match"),
        (Site::gcs(), "x-goog-if-generation-match"),
    ] {
        let direct = site.store();
        verify(&*direct).await.unwrap();
        let (_proxy, store, _site) = site.without(header);
        let error = verify(&*store).await.unwrap_err();
        assert!(!error.is_transient(), "{error}");
        assert!(error.to_string().contains("created twice"), "{error}");
    }
}

#[tokio::test]
async fn an_identity_of_google_that_may_not_overwrite_writes_a_chain() {
    let site = Site::gcs().with(json!({"bucket": "creator"}));
    let store = site.store();
    verify(&*store).await.unwrap();
    assert_eq!(write(&*store, 0..10).await.unwrap(), Some(10));
    store.create("notes/1", Bytes::new()).await.unwrap();
    let taken = store.create("notes/1", Bytes::new()).await.unwrap_err();
    assert!(matches!(taken, StoreError::Exists(_)), "{taken}");
}

on_every_bucket!(
    a_bucket_keeps_the_promises_of_a_store,
    an_object_is_replaced_only_while_it_is_of_the_version_that_was_read,
    a_taken_name_is_reported_as_taken_whatever_the_size_of_the_object,
    of_many_writers_of_one_name_exactly_one_succeeds,
    a_chain_in_a_bucket_is_written_taken_over_bridged_and_inspected,
    a_missing_bucket_and_a_refused_key_are_named_and_no_secret_is_shown,
    a_server_that_is_not_there_is_given_up_as_a_temporary_failure,
    a_store_that_answers_429_500_503_resets_or_is_slow_is_asked_again,
    a_put_whose_answer_was_lost_is_recognised_as_done,
    a_refusal_that_never_arrives_is_asked_for,
    a_store_that_stays_down_is_a_passing_trouble_and_the_buffer_is_kept,
    a_store_that_never_answers_is_given_up_after_the_timeout,
    reading_survives_a_store_that_fails_now_and_then,
    listings_and_reads_name_the_same_version,
    folders_are_found_whatever_their_names_and_their_number,
);
