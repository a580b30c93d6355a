//! The configuration of a store.

use std::path::Path;
use std::sync::Arc;

use super::bucket::{self, Place};
use super::{AzureConfig, Folder, FolderConfig, GcsConfig, S3Config, Store, StoreError};

/// A folder or a bucket: `kind = "folder"`, `"s3"`, `"azure"` or `"gcs"`, and the keys of that kind.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum StoreConfig {
    /// A folder of a local or network file system.
    Folder(FolderConfig),
    /// A bucket of Amazon S3 or of a store with the same protocol.
    S3(S3Config),
    /// A container of Azure Blob Storage, of Data Lake Storage Gen2 or of OneLake.
    Azure(AzureConfig),
    /// A bucket of Google Cloud Storage.
    Gcs(GcsConfig),
}

impl StoreConfig {
    /// Opens the store. A missing folder is created; a bucket is not contacted before its first use.
    ///
    /// With the cargo feature `fault-injection`, adds the faults of the environment variable
    /// `LETHE_STORE_FAULTS` (see [`faulty`](super::faulty)).
    ///
    /// # Errors
    /// An error of the folder, or of the bucket's configuration.
    pub fn build(&self) -> Result<Arc<dyn Store>, StoreError> {
        let store: Arc<dyn Store> = match self {
            Self::Folder(config) => Arc::new(Folder::open(config)?),
            Self::S3(_) | Self::Azure(_) | Self::Gcs(_) => bucket::open(self)?,
        };
        #[cfg(feature = "fault-injection")]
        let store = super::faulty::Faulty::from_environment(store)?;
        Ok(store)
    }

    /// Returns the URI of the prefix of a bucket (`s3://BUCKET/PREFIX`), or `folder PATH`.
    pub fn uri(&self) -> String {
        match (self, Place::of(self)) {
            (_, Some(place)) => place.uri(),
            (Self::Folder(folder), None) => format!("folder {}", folder.path.display()),
            // Every other kind has a place.
            (_, None) => String::new(),
        }
    }

    /// Returns the file of certificate authorities that the store's client reads.
    pub fn ca(&self) -> Option<&Path> {
        Place::of(self).and_then(|place| place.ca)
    }

    /// Returns the settings as JSON with their secrets, which serialization leaves out. Only for the standard input of
    /// another program of Lethe: never write it to a file, a log or a command line.
    pub fn with_secrets(&self) -> serde_json::Value {
        let mut settings = serde_json::to_value(self).unwrap_or_default();
        for (key, secret) in bucket::secrets(self) {
            settings[key] = secret.expose().into();
        }
        settings
    }

    /// Returns the configuration of a folder in the store.
    #[must_use]
    pub fn within(&self, folder: &str) -> Self {
        let folder = folder.trim_matches('/');
        match (self, Place::of(self)) {
            _ if folder.is_empty() => self.clone(),
            (Self::Folder(own), _) => Self::Folder(FolderConfig {
                path: own.path.join(folder),
            }),
            (_, Some(place)) => {
                self.with_prefix(format!("{}/{folder}", place.prefix()).trim_start_matches('/'))
            }
            // Every bucket has a place.
            (_, None) => self.clone(),
        }
    }

    /// Returns the configuration of another prefix of the same bucket. A folder stays as it is.
    #[must_use]
    pub fn with_prefix(&self, prefix: &str) -> Self {
        let mut other = self.clone();
        match &mut other {
            Self::Folder(_) => {}
            Self::S3(S3Config { prefix: own, .. })
            | Self::Azure(AzureConfig { prefix: own, .. })
            | Self::Gcs(GcsConfig { prefix: own, .. }) => prefix.clone_into(own),
        }
        other
    }

    /// Returns whether the store is a part of another, or the same, as far as their names tell.
    pub fn lies_in(&self, outer: &Self) -> bool {
        if let (Self::Folder(inner), Self::Folder(outer)) = (self, outer) {
            let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            return whole(&inner.path).starts_with(whole(&outer.path));
        }
        match (Place::of(self), Place::of(outer)) {
            (Some(inner), Some(outer)) => inner.lies_in(&outer),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_told_apart_by_kind() {
        let folder: StoreConfig = serde_json::from_str(r#"{"kind": "folder", "path": "/out"}"#).unwrap();
        assert!(matches!(folder, StoreConfig::Folder(config) if config.path == *"/out"));
        let bucket: StoreConfig = serde_json::from_str(r#"{"kind": "s3", "bucket": "b"}"#).unwrap();
        assert!(matches!(bucket, StoreConfig::S3(config) if config.bucket == "b"));
        let bucket: StoreConfig = serde_json::from_str(r#"{"kind": "gcs", "bucket": "b"}"#).unwrap();
        assert!(matches!(bucket, StoreConfig::Gcs(config) if config.bucket == "b"));
        let text = r#"{"kind": "azure", "account": "a", "container": "c"}"#;
        let container: StoreConfig = serde_json::from_str(text).unwrap();
        assert!(matches!(container, StoreConfig::Azure(config) if config.container == "c"));
    }

    #[test]
    fn an_unknown_key_is_refused_and_named() {
        for text in [
            r#"{"kind": "folder", "path": "/out", "overwrite": true}"#,
            r#"{"kind": "s3", "bucket": "b", "overwrite": true}"#,
            r#"{"kind": "azure", "account": "a", "container": "c", "overwrite": true}"#,
            r#"{"kind": "gcs", "bucket": "b", "overwrite": true}"#,
        ] {
            let error = serde_json::from_str::<StoreConfig>(text).unwrap_err().to_string();
            assert!(error.contains("overwrite"), "{error}");
        }
    }

    #[test]
    fn printing_a_configuration_shows_no_secret_and_another_program_gets_all() {
        for text in [
            r#"{"kind": "s3", "bucket": "b", "access_key": "hush", "secret_key": "hush-hush"}"#,
            r#"{"kind": "azure", "account": "a", "container": "c", "access_key": "hush", "sas_token": "hush",
                "client_secret": "hush"}"#,
            r#"{"kind": "gcs", "bucket": "b", "service_account_key": "hush"}"#,
        ] {
            let config: StoreConfig = serde_json::from_str(text).unwrap();
            for printed in [format!("{config:?}"), serde_json::to_string(&config).unwrap()] {
                assert!(!printed.contains("hush"), "{printed}");
            }
            let same: StoreConfig = serde_json::from_value(config.with_secrets()).unwrap();
            assert_eq!(same, config);
        }
    }

    #[test]
    fn a_prefix_of_a_bucket_lies_in_a_shorter_one_of_the_same_bucket_only() {
        let s3 = |prefix: &str| -> StoreConfig {
            serde_json::from_value(serde_json::json!({"kind": "s3", "bucket": "b", "prefix": prefix}))
                .unwrap()
        };
        assert!(s3("a/b").lies_in(&s3("a")) && s3("a").lies_in(&s3("")) && s3("a").lies_in(&s3("a/")));
        assert!(!s3("ab").lies_in(&s3("a")) && !s3("a").lies_in(&s3("a/b")));
        let azure = |account: &str, prefix: &str| -> StoreConfig {
            let text =
                serde_json::json!({"kind": "azure", "account": account, "container": "b", "prefix": prefix});
            serde_json::from_value(text).unwrap()
        };
        assert!(azure("x", "a/b").lies_in(&azure("x", "a")));
        assert!(!azure("x", "a/b").lies_in(&azure("y", "a")) && !azure("x", "a/b").lies_in(&s3("a")));
    }

    #[test]
    fn an_endpoint_without_tls_must_be_asked_for() {
        for text in [
            r#"{"kind": "s3", "bucket": "b", "endpoint": "http://127.0.0.1:9""#,
            r#"{"kind": "azure", "account": "a", "container": "b", "endpoint": "http://127.0.0.1:9""#,
            r#"{"kind": "gcs", "bucket": "b", "endpoint": "http://127.0.0.1:9""#,
        ] {
            let config: StoreConfig = serde_json::from_str(&format!("{text}}}")).unwrap();
            if !bucket::is_built(&config) {
                continue;
            }
            let error = config.build().unwrap_err().to_string();
            assert!(error.contains("allow_http"), "{error}");
            let config: StoreConfig =
                serde_json::from_str(&format!("{text}, \"allow_http\": true}}")).unwrap();
            let described = config.build().unwrap().describe();
            assert!(described.ends_with(" at http://127.0.0.1:9"), "{described}");
        }
    }
}
