//! The configuration of a store.

use std::sync::Arc;

use super::{Folder, FolderConfig, S3Config, Store, StoreError};

/// A folder or a bucket: `kind = "folder"` or `kind = "s3"`, and the keys of that kind.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum StoreConfig {
    /// A folder of a local or network file system.
    Folder(FolderConfig),
    /// A bucket of Amazon S3 or of a store with the same protocol.
    S3(S3Config),
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
            Self::S3(config) => bucket(config)?,
        };
        #[cfg(feature = "fault-injection")]
        let store = super::faulty::Faulty::from_environment(store)?;
        Ok(store)
    }
}

#[cfg(feature = "s3")]
fn bucket(config: &S3Config) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(super::S3::open(config)?))
}

/// Refuses the bucket: this build has no client of S3.
#[cfg(not(feature = "s3"))]
fn bucket(config: &S3Config) -> Result<Arc<dyn Store>, StoreError> {
    Err(StoreError::Other {
        at: super::At::new(super::Op::Open, format!("s3://{}", config.bucket), ""),
        detail: "this build of Lethe cannot use S3".into(),
        hint: "use one that was built with the feature `s3`".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_a_bucket_are_told_apart_by_kind() {
        let folder: StoreConfig = serde_json::from_str(r#"{"kind": "folder", "path": "/out"}"#).unwrap();
        assert!(matches!(folder, StoreConfig::Folder(config) if config.path == *"/out"));
        let bucket: StoreConfig = serde_json::from_str(r#"{"kind": "s3", "bucket": "b"}"#).unwrap();
        assert!(matches!(bucket, StoreConfig::S3(config) if config.bucket == "b"));
    }

    #[test]
    fn an_unknown_key_is_refused_and_named() {
        for text in [
            r#"{"kind": "folder", "path": "/out", "overwrite": true}"#,
            r#"{"kind": "s3", "bucket": "b", "overwrite": true}"#,
        ] {
            let error = serde_json::from_str::<StoreConfig>(text).unwrap_err().to_string();
            assert!(error.contains("overwrite"), "{error}");
        }
    }

    #[test]
    fn printing_a_configuration_shows_no_secret() {
        let text = r#"{"kind": "s3", "bucket": "b", "access_key": "AKIA123", "secret_key": "hush-hush"}"#;
        let config: StoreConfig = serde_json::from_str(text).unwrap();
        for printed in [format!("{config:?}"), serde_json::to_string(&config).unwrap()] {
            assert!(
                !printed.contains("hush") && !printed.contains("AKIA123"),
                "{printed}"
            );
        }
    }
}
