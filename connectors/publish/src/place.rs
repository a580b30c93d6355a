//! Where datasets and tables lie, and how a table's log names the files of a dataset.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use lethe_connectors::store::{FolderConfig, Store, StoreConfig};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::PublishError;

/// Names of hidden folders that readers or `VACUUM` treat as a part of the table.
const TAKEN: [&str; 3] = ["_delta_log", "_delta_index", "_change_data"];

/// What a name has in another form in a table's log.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/')
    .remove(b'=');

/// A folder, or a prefix of a bucket.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A folder, absolute and without links.
    Folder(PathBuf),
    /// A prefix of a bucket.
    Bucket {
        /// The URI of the whole bucket, such as `s3://BUCKET` or `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net`.
        bucket: String,
        /// The prefix, without slashes at its ends.
        prefix: String,
        /// The settings of the bucket; `None` if they come from the environment.
        settings: Option<Box<StoreConfig>>,
    },
}

impl Place {
    /// Parses the URL of a bucket (see [`StoreConfig::from_url`]), or the path of a folder that need not exist.
    ///
    /// # Errors
    /// [`PublishError::Place`].
    pub fn parse(text: &str) -> Result<Self, PublishError> {
        let wrong = |why: String| PublishError::Place {
            place: text.to_owned(),
            why,
        };
        if let Some((scheme, rest)) = text.split_once("://") {
            StoreConfig::from_url(text).map_err(wrong)?;
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            return Ok(Self::Bucket {
                bucket: format!("{scheme}://{bucket}"),
                prefix: prefix.trim_matches('/').to_owned(),
                settings: None,
            });
        }
        let path = canonical(Path::new(text)).map_err(|error| wrong(error.to_string()))?;
        if path.to_str().is_none() {
            return Err(wrong("its path is not UTF-8; move it".into()));
        }
        Ok(Self::Folder(path))
    }

    /// Returns the place of a store.
    ///
    /// # Errors
    /// [`PublishError::Place`].
    pub fn of_store(settings: StoreConfig) -> Result<Self, PublishError> {
        if let StoreConfig::Folder(folder) = &settings {
            return Self::parse(&folder.path.to_string_lossy());
        }
        let mut place = Self::parse(&settings.uri())?;
        if let Self::Bucket { settings: own, .. } = &mut place {
            *own = Some(Box::new(settings));
        }
        Ok(place)
    }

    /// Gives a place the settings of another one in the same bucket, unless it has its own.
    #[must_use]
    pub fn with_settings_of(mut self, other: &Self) -> Self {
        if let (
            Self::Bucket {
                bucket,
                prefix,
                settings: own @ None,
            },
            Self::Bucket {
                bucket: same,
                settings: Some(settings),
                ..
            },
        ) = (&mut self, other)
            && bucket == same
        {
            *own = Some(Box::new(settings.with_prefix(prefix)));
        }
        self
    }

    /// Parses a location in the metadata of an Iceberg table. Engines write the same one in several ways.
    ///
    /// # Errors
    /// [`PublishError::Place`].
    pub(crate) fn of_location(location: &str) -> Result<Self, PublishError> {
        let path = ["file://", "file:"]
            .iter()
            .find_map(|scheme| location.strip_prefix(scheme))
            .filter(|path| path.starts_with('/'));
        if let Some(path) = path {
            return Self::parse(path);
        }
        let other = [("s3a://", "s3"), ("abfs://", "abfss"), ("wasbs://", "abfss")];
        let known = other
            .iter()
            .find_map(|(prefix, scheme)| Some(format!("{scheme}://{}", location.strip_prefix(prefix)?)));
        Self::parse(known.as_deref().unwrap_or(location))
    }

    /// Opens the place as a store. Keys, region and endpoint of a bucket come from the environment.
    ///
    /// # Errors
    /// The store's error.
    pub fn open(&self) -> Result<Arc<dyn Store>, PublishError> {
        let config = match self {
            Self::Folder(path) => StoreConfig::Folder(FolderConfig { path: path.clone() }),
            Self::Bucket {
                settings: Some(settings),
                ..
            } => (**settings).clone(),
            Self::Bucket { bucket, prefix, .. } => {
                let config = StoreConfig::from_url(&format!("{bucket}/{prefix}"));
                config.map_err(|why| PublishError::Place {
                    place: self.to_string(),
                    why,
                })?
            }
        };
        Ok(config.build()?)
    }

    /// Returns the place as a location in the metadata of an Iceberg table, without `/` at its end. Nothing in it is
    /// encoded.
    pub(crate) fn location(&self) -> String {
        match self {
            Self::Folder(path) => format!("file://{}", path.to_str().unwrap_or_default()),
            Self::Bucket { bucket, prefix, .. } => {
                format!("{bucket}/{prefix}").trim_end_matches('/').to_owned()
            }
        }
    }

    /// Checks that neither this place of an Iceberg table nor the dataset lies in the other one.
    ///
    /// # Errors
    /// [`PublishError::Inside`] or [`PublishError::Orphans`].
    pub(crate) fn check_apart(&self, dataset: &Self) -> Result<(), PublishError> {
        let (uri, dataset_uri) = (self.uri(), dataset.uri());
        let (table, dataset) = (self.to_string(), dataset.to_string());
        if uri.starts_with(&dataset_uri) {
            return Err(PublishError::Inside { table, dataset });
        }
        match dataset_uri.starts_with(&uri) {
            true => Err(PublishError::Orphans { table, dataset }),
            false => Ok(()),
        }
    }

    /// Returns the place as a URI that ends with `/` (RFC 3986).
    pub fn uri(&self) -> String {
        match self {
            Self::Folder(path) => format!("file://{}/", encode(path.to_str().unwrap_or_default())),
            Self::Bucket { bucket, prefix, .. } if prefix.is_empty() => format!("{bucket}/"),
            Self::Bucket { bucket, prefix, .. } => format!("{bucket}/{}/", encode(prefix)),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::Bucket { .. } => f.write_str(&self.uri()),
        }
    }
}

/// Returns what to put before the name of a dataset's file in a table's log: a path that is relative to the table
/// if the dataset lies in it, otherwise the dataset's URI.
///
/// # Errors
/// [`PublishError::Vacuum`] if `VACUUM` of the table would delete the dataset's files: it deletes each file below
/// the table's folder that the log does not name, such as a file that is not published yet. It leaves out folders
/// whose name begins with `_` or `.`. [`PublishError::Inside`] if the table lies in the dataset.
pub(crate) fn base(table: &Place, dataset: &Place) -> Result<String, PublishError> {
    let (table_uri, uri) = (table.uri(), dataset.uri());
    if table_uri.starts_with(&uri) {
        return Err(PublishError::Inside {
            table: table.to_string(),
            dataset: dataset.to_string(),
        });
    }
    let Some(relative) = uri.strip_prefix(&table_uri) else {
        return Ok(uri);
    };
    let first = relative.split('/').next().unwrap_or_default();
    if !first.starts_with(['_', '.']) || TAKEN.contains(&first) {
        return Err(PublishError::Vacuum {
            table: table.to_string(),
            dataset: dataset.to_string(),
        });
    }
    Ok(relative.to_owned())
}

/// Percent-encodes the name of a file for a table's log, which holds URIs (RFC 3986, section 3.3).
pub(crate) fn encode(name: &str) -> String {
    utf8_percent_encode(name, ENCODED).to_string()
}

/// Decodes a name in a table's log; `None` if it is not UTF-8.
pub(crate) fn decode(name: &str) -> Option<String> {
    Some(percent_decode_str(name).decode_utf8().ok()?.into_owned())
}

/// Resolves the links of the part of a path that exists.
fn canonical(path: &Path) -> std::io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut missing = Vec::new();
    let mut existing = path.as_path();
    loop {
        match existing.canonicalize() {
            Ok(found) => {
                let parts = missing.iter().rev().filter(|part| **part != Component::CurDir);
                return Ok(parts.fold(found, |path, part| path.join(part)));
            }
            Err(error) => {
                let last = existing.components().next_back();
                let (Some(last), Some(parent)) = (last, existing.parent()) else {
                    return Err(error);
                };
                missing.push(last);
                existing = parent;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &str) -> Place {
        Place::Folder(path.into())
    }

    #[test]
    fn a_dataset_in_a_hidden_folder_of_the_table_has_relative_paths() {
        let table = folder("/lake/notes");
        assert_eq!(base(&table, &folder("/lake/notes/_lethe")).unwrap(), "_lethe/");
        assert_eq!(base(&table, &folder("/lake/notes/.x/a b")).unwrap(), ".x/a%20b/");
        assert_eq!(
            base(&table, &folder("/lake/notes2")).unwrap(),
            "file:///lake/notes2/"
        );
        assert_eq!(base(&table, &folder("/über")).unwrap(), "file:///%C3%BCber/");
        let bucket = |text: &str| Place::parse(text).unwrap();
        let table = bucket("s3://lake/notes/");
        assert_eq!(
            base(&table, &bucket("s3://lake/notes/_lethe")).unwrap(),
            "_lethe/"
        );
        assert_eq!(base(&table, &bucket("s3://other/x")).unwrap(), "s3://other/x/");
        let table = bucket("abfss://lake@a.dfs.core.windows.net/notes");
        let dataset = bucket("abfss://lake@a.dfs.core.windows.net/notes/_lethe/");
        assert_eq!(base(&table, &dataset).unwrap(), "_lethe/");
        assert_eq!(
            base(&table, &bucket("gs://other/a b")).unwrap(),
            "gs://other/a%20b/"
        );
        assert_eq!(bucket("gs://other/a b/").location(), "gs://other/a b");
        let location = "wasbs://lake@a.blob.core.windows.net/notes";
        assert_eq!(
            Place::of_location(location).unwrap().open().unwrap().describe(),
            table.open().unwrap().describe()
        );
    }

    #[test]
    fn a_dataset_that_vacuum_would_delete_is_refused() {
        let table = folder("/lake/notes");
        for dataset in [
            "/lake/notes/lethe",
            "/lake/notes/data/_lethe",
            "/lake/notes/_delta_log/x",
        ] {
            let error = base(&table, &folder(dataset)).unwrap_err();
            assert!(matches!(error, PublishError::Vacuum { .. }), "{error}");
        }
        for dataset in ["/lake/notes", "/lake"] {
            let error = base(&table, &folder(dataset)).unwrap_err();
            assert!(matches!(error, PublishError::Inside { .. }), "{error}");
        }
    }

    #[test]
    fn links_are_resolved_as_far_as_a_path_exists() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        let parsed = Place::parse(root.join("link/./new/table").to_str().unwrap()).unwrap();
        assert_eq!(parsed, Place::Folder(root.join("real/new/table")));
        for wrong in ["s3://", "az://container/x", "abfss://container/x"] {
            assert!(Place::parse(wrong).is_err());
        }
    }
}
