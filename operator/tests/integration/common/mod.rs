//! The common part of the tests of the whole program: the program as a process, real servers, topics, and an
//! independent reader of the output.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot continue panics"
)]

pub(crate) mod browser;
pub(crate) mod bundle;
pub(crate) mod chart;
pub(crate) mod checks;
pub(crate) mod collector;
pub(crate) mod database;
pub(crate) mod dataset;
pub(crate) mod feed;
pub(crate) mod folder_monitor;
pub(crate) mod gate;
pub(crate) mod gold;
pub(crate) mod idp;
pub(crate) mod kafka;
pub(crate) mod metadata;
pub(crate) mod notes;
pub(crate) mod pages;
pub(crate) mod process;
pub(crate) mod proxy;
pub(crate) mod search;
pub(crate) mod servers;
pub(crate) mod tables;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_connectors::store::{Store, StoreConfig};

/// Returns an environment variable of the test servers.
pub(crate) fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: this test needs real servers; run scripts/test, or scripts/with-servers COMMAND")
    })
}

/// A folder of the test, removed when it is dropped.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    /// Creates the folder.
    pub(crate) fn new() -> Self {
        Self(tempfile::Builder::new().prefix("lethe-test-").tempdir().unwrap())
    }

    /// Returns the folder.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns a path inside it.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file inside it, and returns its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// Quotes a path as a TOML string.
pub(crate) fn quoted(path: impl AsRef<Path>) -> String {
    format!("{:?}", path.as_ref().to_str().unwrap())
}

/// Returns the line that names a folder as the sink, with tables after it.
pub(crate) fn folder_sink(folder: &Path) -> String {
    format!(
        "[sink]\nstore = {{ kind = \"folder\", path = {} }}\n",
        quoted(folder)
    )
}

/// Returns the tables that name a bucket's prefix as the sink; `endpoint` is the real store's by default.
pub(crate) fn s3_sink(prefix: &str, endpoint: Option<&str>, more: &str) -> String {
    let endpoint = endpoint.map_or_else(|| env("LETHE_TEST_S3_ENDPOINT"), str::to_owned);
    format!(
        "[sink.store]\nkind = \"s3\"\nbucket = {:?}\nprefix = {prefix:?}\nendpoint = {endpoint:?}\nregion = {:?}\naccess_key = {:?}\nsecret_key = \
         {:?}\nallow_http = true\n{more}\n",
        env("LETHE_TEST_S3_BUCKET"),
        env("LETHE_TEST_S3_REGION"),
        env("LETHE_TEST_S3_KEY"),
        env("LETHE_TEST_S3_SECRET"),
    )
}

/// Returns the tables that name a prefix of the Azure emulator's container as the sink.
pub(crate) fn azure_sink(prefix: &str) -> String {
    format!(
        "[sink.store]\nkind = \"azure\"\naccount = {:?}\ncontainer = {:?}\nprefix = {prefix:?}\nendpoint = {:?}\naccess_key = \
         {:?}\nallow_http = true\n",
        env("LETHE_TEST_AZURE_ACCOUNT"),
        env("LETHE_TEST_AZURE_CONTAINER"),
        env("LETHE_TEST_AZURE_ENDPOINT"),
        env("LETHE_TEST_AZURE_KEY"),
    )
}

/// Opens the store of a sink's tables.
fn store(sink: &str) -> Arc<dyn Store> {
    let table: toml::Table = toml::from_str(sink).unwrap();
    let config: StoreConfig = table["sink"]["store"].clone().try_into().unwrap();
    config.build().unwrap()
}

/// Creates objects of the real bucket under a prefix.
pub(crate) fn fill_bucket<'a>(prefix: &str, objects: impl IntoIterator<Item = (&'a str, Vec<u8>)>) {
    fill_store(&s3_sink(prefix, None, ""), objects);
}

/// Creates objects in the store of a sink's tables.
pub(crate) fn fill_store<'a>(sink: &str, objects: impl IntoIterator<Item = (&'a str, Vec<u8>)>) {
    let store = store(sink);
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        for (name, bytes) in objects {
            store.create(name, bytes.into()).await.unwrap();
        }
    });
}

/// Returns the variables by which the tools of S3 find the real store.
pub(crate) fn bucket_variables() -> [(&'static str, String); 5] {
    [
        ("AWS_ENDPOINT_URL", env("LETHE_TEST_S3_ENDPOINT")),
        ("AWS_REGION", env("LETHE_TEST_S3_REGION")),
        ("AWS_ACCESS_KEY_ID", env("LETHE_TEST_S3_KEY")),
        ("AWS_SECRET_ACCESS_KEY", env("LETHE_TEST_S3_SECRET")),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
    ]
}

/// Copies the objects of the real bucket under a prefix into a folder.
pub(crate) fn copy_bucket(prefix: &str, to: &Path) {
    copy_store(&s3_sink(prefix, None, ""), to);
}

/// Copies the objects in the store of a sink's tables into a folder.
pub(crate) fn copy_store(sink: &str, to: &Path) {
    let store = store(sink);
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        for object in store.list("").await.unwrap() {
            let path = to.join(&object.name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, store.read(&object.name).await.unwrap()).unwrap();
        }
    });
}
