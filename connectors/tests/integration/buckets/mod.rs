//! The buckets that the tests run on: a real S3-compatible server, an emulator of Azure, and a fake of Google Cloud
//! Storage.
#![allow(unreachable_pub, reason = "a module of a test")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod gcs;

use std::sync::Arc;

use lethe_connectors::store::{Store, StoreConfig};
use serde_json::{Value, json};

use crate::store_proxy::{Mischief, Proxy};
pub use gcs::FakeGcs;

/// Runs each test on each kind of bucket.
macro_rules! on_every_bucket {
    ($($(#[$attribute:meta])* $test:ident),+ $(,)?) => {
        mod s3 { $($(#[$attribute])* #[tokio::test(flavor = "multi_thread", worker_threads = 3)] async fn $test() { super::$test($crate::buckets::Site::s3()).await; })+ }
        mod azure { $($(#[$attribute])* #[tokio::test(flavor = "multi_thread", worker_threads = 3)] async fn $test() { super::$test($crate::buckets::Site::azure()).await; })+ }
        mod gcs { $($(#[$attribute])* #[tokio::test(flavor = "multi_thread", worker_threads = 3)] async fn $test() { super::$test($crate::buckets::Site::gcs()).await; })+ }
    };
}
pub(crate) use on_every_bucket;

/// A bucket of a server, under a prefix of its own.
pub struct Site {
    /// The key of the bucket's name in the configuration.
    pub bucket: &'static str,
    /// Settings of credentials that the server refuses, and the secret among them.
    pub refused: (Value, &'static str),
    /// The code of that refusal.
    pub refusal: &'static str,
    pub config: Value,
    _fake: Option<FakeGcs>,
}

impl Site {
    pub fn s3() -> Self {
        let secret = "not-the-secret-at-all";
        Self {
            bucket: "bucket",
            refused: (json!({"secret_key": secret}), secret),
            refusal: "SignatureDoesNotMatch",
            config: json!({
                "kind": "s3",
                "bucket": variable("LETHE_TEST_S3_BUCKET"),
                "endpoint": variable("LETHE_TEST_S3_ENDPOINT"),
                "region": variable("LETHE_TEST_S3_REGION"),
                "access_key": variable("LETHE_TEST_S3_KEY"),
                "secret_key": variable("LETHE_TEST_S3_SECRET"),
            }),
            _fake: None,
        }
        .with_limits()
    }

    pub fn azure() -> Self {
        let secret = "bm90LXRoZS1zZWNyZXQ=";
        Self {
            bucket: "container",
            refused: (json!({"access_key": secret}), secret),
            refusal: "AuthorizationFailure",
            config: json!({
                "kind": "azure",
                "account": variable("LETHE_TEST_AZURE_ACCOUNT"),
                "container": variable("LETHE_TEST_AZURE_CONTAINER"),
                "endpoint": variable("LETHE_TEST_AZURE_ENDPOINT"),
                "access_key": variable("LETHE_TEST_AZURE_KEY"),
            }),
            _fake: None,
        }
        .with_limits()
    }

    /// The same container, with a shared access signature instead of the key: it does not sign the headers of a request.
    pub fn azure_by_sas() -> Self {
        let mut site = Self::azure();
        let settings = site.config.as_object_mut().unwrap();
        settings.remove("access_key");
        settings.insert("sas_token".into(), variable("LETHE_TEST_AZURE_SAS").into());
        site
    }

    pub fn gcs() -> Self {
        let fake = FakeGcs::start();
        Self {
            bucket: "bucket",
            refused: (json!({"bucket": "denied"}), "no secret here"),
            refusal: "AccessDenied",
            config: json!({"kind": "gcs", "bucket": "bucket", "endpoint": fake.endpoint, "anonymous": true}),
            _fake: Some(fake),
        }
        .with_limits()
    }

    fn with_limits(self) -> Self {
        let prefix = format!("test-{}", unique());
        self.with(json!({
            "prefix": prefix, "allow_http": true, "timeout_seconds": 5, "retry_seconds": 10, "retries": 4,
        }))
    }

    /// Changes settings.
    pub fn with(mut self, settings: Value) -> Self {
        let all = self.config.as_object_mut().unwrap();
        all.extend(settings.as_object().unwrap().clone());
        self
    }

    pub fn settings(&self) -> StoreConfig {
        serde_json::from_value(self.config.clone()).unwrap()
    }

    pub fn store(&self) -> Arc<dyn Store> {
        self.settings().build().unwrap()
    }

    /// Returns a proxy before the server, and a store that knows only the proxy.
    pub fn behind(self, method: &'static str, plan: Vec<Mischief>) -> (Proxy, Arc<dyn Store>, Self) {
        self.through(|server| Proxy::start(server, method, plan))
    }

    /// Returns a proxy before the server that removes a header of requests, and a store that knows only the proxy.
    pub fn without(self, header: &'static str) -> (Proxy, Arc<dyn Store>, Self) {
        self.through(|server| Proxy::without(server, header))
    }

    fn through(self, start: impl FnOnce(&str) -> Proxy) -> (Proxy, Arc<dyn Store>, Self) {
        let endpoint = self.config["endpoint"].as_str().unwrap().to_owned();
        let server = endpoint.strip_prefix("http://").unwrap();
        let (server, path) = server.split_once('/').unwrap_or((server, ""));
        let proxy = start(server);
        let through = format!("{}/{path}", proxy.endpoint);
        let site = self.with(json!({"endpoint": through.trim_end_matches('/'), "timeout_seconds": 2}));
        (proxy, site.store(), site)
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run this test with scripts/test, or under scripts/with-servers")
    })
}

fn unique() -> String {
    let folder = tempfile::tempdir().unwrap();
    // A unique name.
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    format!("{}-{}", name.trim_matches('.'), std::process::id())
}
