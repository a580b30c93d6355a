//! A real S3-compatible server as a store, also behind a misbehaving proxy.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail and print"
)]

use crate::chain_common;
use crate::store_proxy;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lethe_connectors::inspect::{inspect, remove_orphans};
use lethe_connectors::sink::{CommitError, Encoding, LaneWriter, bridge};
use lethe_connectors::store::{S3, S3Config, Store, StoreError, verify};

use chain_common::{chain, fingerprints, rows};
use store_proxy::{Mischief, Proxy};

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run this test with scripts/test, or under scripts/with-servers")
    })
}

/// Returns the server's bucket under a prefix for this test.
fn config() -> S3Config {
    let text = serde_json::json!({
        "bucket": variable("LETHE_TEST_S3_BUCKET"),
        "prefix": format!("test-{}", uuid()),
        "endpoint": variable("LETHE_TEST_S3_ENDPOINT"),
        "region": variable("LETHE_TEST_S3_REGION"),
        "access_key": variable("LETHE_TEST_S3_KEY"),
        "secret_key": variable("LETHE_TEST_S3_SECRET"),
        "allow_http": true,
        "timeout_seconds": 5,
        "retry_seconds": 10,
        "retries": 4,
    });
    serde_json::from_value(text).unwrap()
}

fn uuid() -> String {
    let folder = tempfile::tempdir().unwrap();
    // A unique name.
    let name = folder
        .path()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .trim_matches('.')
        .to_owned();
    format!("{name}-{}", std::process::id())
}

/// Returns a proxy before the server, and a store that knows only the proxy.
fn behind(method: &'static str, plan: Vec<Mischief>) -> (Proxy, S3) {
    let proxy = Proxy::start(&variable("LETHE_TEST_S3_ENDPOINT"), method, plan);
    let mut config = config();
    config.endpoint = Some(proxy.endpoint.clone());
    config.timeout_seconds = 2;
    (proxy, S3::open(&config).unwrap())
}

async fn write(store: &dyn Store, offsets: std::ops::Range<i64>) -> Result<Option<i64>, CommitError> {
    let mut writer = LaneWriter::open(store, chain(), 0, fingerprints(), Encoding::default()).await?;
    let (notes, audit) = rows(offsets);
    writer.push(&notes, &audit).unwrap();
    Ok(writer.commit(store).await?.map(|receipt| receipt.next()))
}

#[tokio::test]
async fn a_bucket_keeps_the_promises_of_a_store() {
    let store = S3::open(&config()).unwrap();
    verify(&store).await.unwrap();
    for name in ["b/2", "a/topic=x%2Fy/1", "b/c/3"] {
        store.create(name, Bytes::from(name.to_owned())).await.unwrap();
    }
    let again = store
        .create("b/2", Bytes::from_static(b"other"))
        .await
        .unwrap_err();
    assert!(matches!(again, StoreError::Exists(_)), "{again}");
    assert_eq!(store.read("b/2").await.unwrap(), "b/2");
    let names = |objects: Vec<lethe_connectors::store::Object>| -> Vec<String> {
        objects.into_iter().map(|object| object.name).collect()
    };
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

#[tokio::test]
async fn an_object_is_replaced_only_while_it_is_of_the_version_that_was_read() {
    let store = S3::open(&config()).unwrap();
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
#[tokio::test]
async fn a_taken_name_is_reported_as_taken_whatever_the_size_of_the_object() {
    let store = S3::open(&config()).unwrap();
    for size in [1_000, 200_000, 1_000_000, 40_000_000] {
        let name = format!("notes/{size}");
        let bytes = Bytes::from(vec![7; size]);
        store.create(&name, bytes.clone()).await.unwrap();
        let again = store.create(&name, bytes).await.unwrap_err();
        assert!(matches!(again, StoreError::Exists(_)), "{size}: {again}");
    }
}

#[tokio::test]
async fn of_many_writers_of_one_name_exactly_one_succeeds() {
    let store = Arc::new(S3::open(&config()).unwrap());
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

#[tokio::test]
async fn a_chain_in_a_bucket_is_written_taken_over_bridged_and_inspected() {
    let store = S3::open(&config()).unwrap();
    assert_eq!(write(&store, 0..10).await.unwrap(), Some(10));
    let mut late = LaneWriter::open(&store, chain(), 0, fingerprints(), Encoding::default())
        .await
        .unwrap();
    let (notes, audit) = rows(10..15);
    late.push(&notes, &audit).unwrap();
    assert_eq!(write(&store, 10..20).await.unwrap(), Some(20));
    let lost = late.commit(&store).await.unwrap_err();
    assert!(
        matches!(&lost, CommitError::Lost { tail } if tail.next == 20),
        "{lost}"
    );
    bridge(&store, &chain(), 20, 25, "expired", &fingerprints())
        .await
        .unwrap();
    let report = inspect(&store, |_| {}).await.unwrap();
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
        remove_orphans(&store, &report, Duration::ZERO)
            .await
            .unwrap()
            .len(),
        1
    );
    assert!(inspect(&store, |_| {}).await.unwrap().orphans.is_empty());
}

#[tokio::test]
async fn a_missing_bucket_and_a_refused_key_are_named_and_no_secret_is_shown() {
    let mut missing = config();
    missing.bucket = "no-such-bucket-here".into();
    let store = S3::open(&missing).unwrap();
    for error in [
        store.create("a", Bytes::new()).await.unwrap_err(),
        store.list("").await.unwrap_err(),
        store.read("a").await.unwrap_err(),
    ] {
        let message = error.to_string();
        assert!(!error.is_transient(), "{message}");
        assert!(
            message.contains("no such bucket") && message.contains("no-such-bucket-here"),
            "{message}"
        );
    }

    let mut refused = config();
    let secret = "not-the-secret-at-all";
    refused.secret_key = Some(secret.to_owned().into());
    let store = S3::open(&refused).unwrap();
    let error = store.create("a", Bytes::new()).await.unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error:?}");
    let message = format!("{error} {error:?} {store:?} {refused:?}");
    assert!(
        message.contains("SignatureDoesNotMatch") && message.contains("check the access key"),
        "{message}"
    );
    assert!(
        !message.contains(secret) && !message.contains(&variable("LETHE_TEST_S3_KEY")),
        "{message}"
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_given_up_as_a_temporary_failure() {
    let mut config = config();
    config.endpoint = Some("http://127.0.0.1:1".into());
    config.retries = 2;
    let error = S3::open(&config)
        .unwrap()
        .create("a", Bytes::new())
        .await
        .unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn a_store_that_answers_429_500_503_resets_or_is_slow_is_asked_again() {
    let plan = vec![
        Mischief::Status(429),
        Mischief::Status(500),
        Mischief::Reset,
        Mischief::Status(503),
        Mischief::Slow(Duration::from_millis(700)),
    ];
    let planned = plan.len();
    let (proxy, store) = behind("PUT", plan);
    let mut writer = LaneWriter::open(&store, chain(), 0, fingerprints(), Encoding::default())
        .await
        .unwrap();
    let (notes, audit) = rows(0..30);
    writer.push(&notes, &audit).unwrap();
    let receipt = loop {
        match writer.commit(&store).await {
            Ok(receipt) => break receipt.unwrap(),
            Err(error) => assert!(matches!(error, CommitError::Transient(_)), "{error}"),
        }
    };
    assert_eq!((receipt.next(), proxy.met()), (30, planned));
    assert!(inspect(&store, |_| {}).await.unwrap().is_intact());
}

#[tokio::test]
async fn a_put_whose_answer_was_lost_is_recognised_as_done() {
    for swallowed in [Mischief::SwallowAnswer, Mischief::Slow(Duration::from_secs(3))] {
        // The audit's response is lost, and then the notes'.
        let (proxy, store) = behind("PUT", vec![swallowed, swallowed]);
        let mut writer = LaneWriter::open(&store, chain(), 0, fingerprints(), Encoding::default())
            .await
            .unwrap();
        let (notes, audit) = rows(0..30);
        writer.push(&notes, &audit).unwrap();
        let mut attempts = 0;
        let receipt = loop {
            attempts += 1;
            assert!(attempts < 6, "{swallowed:?}");
            match writer.commit(&store).await {
                Ok(receipt) => break receipt.unwrap(),
                Err(error) => assert!(matches!(error, CommitError::Transient(_)), "{error}"),
            }
        };
        assert_eq!((receipt.next(), proxy.met()), (30, 2), "{swallowed:?}");
        let report = inspect(&store, |_| {}).await.unwrap();
        assert!(report.is_intact(), "{report}");
        assert_eq!((report.chains[0].files, report.orphans.len()), (1, 0));
    }
}

#[tokio::test]
async fn a_refusal_that_never_arrives_is_asked_for() {
    let proxy = Proxy::start(
        &variable("LETHE_TEST_S3_ENDPOINT"),
        "PUT",
        vec![Mischief::Reset; 5],
    );
    let mut config = config();
    S3::open(&config)
        .unwrap()
        .create("a", Bytes::from_static(b"x"))
        .await
        .unwrap();
    config.endpoint = Some(proxy.endpoint.clone());
    let again = S3::open(&config)
        .unwrap()
        .create("a", Bytes::from_static(b"x"))
        .await
        .unwrap_err();
    assert!(matches!(again, StoreError::Exists(_)), "{again}");
    assert_eq!(proxy.met(), 5);
}

#[tokio::test]
async fn a_store_that_stays_down_is_a_passing_trouble_and_the_buffer_is_kept() {
    let (proxy, store) = behind("PUT", vec![Mischief::Status(503); 5]);
    let mut writer = LaneWriter::open(&store, chain(), 0, fingerprints(), Encoding::default())
        .await
        .unwrap();
    let (notes, audit) = rows(0..5);
    writer.push(&notes, &audit).unwrap();
    let error = writer.commit(&store).await.unwrap_err();
    assert!(matches!(error, CommitError::Transient(_)), "{error}");
    assert!(error.to_string().contains("HTTP 503, SlowDown"), "{error}");
    assert_eq!(proxy.met(), 5, "the first attempt and four more");
    assert_eq!(writer.commit(&store).await.unwrap().unwrap().next(), 5);
}

#[tokio::test]
async fn a_store_that_never_answers_is_given_up_after_the_timeout() {
    let (_proxy, store) = behind("PUT", vec![Mischief::Silence]);
    let error = store.create("a", Bytes::from_static(b"x")).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    assert!(error.to_string().contains("timeout"), "{error}");
}

#[tokio::test]
async fn reading_survives_a_store_that_fails_now_and_then() {
    let (proxy, store) = behind(
        "GET",
        vec![Mischief::Status(500), Mischief::Reset, Mischief::Status(429)],
    );
    assert_eq!(write(&store, 0..5).await.unwrap(), Some(5));
    assert!(inspect(&store, |_| {}).await.unwrap().is_intact());
    assert_eq!(proxy.met(), 3);
}
