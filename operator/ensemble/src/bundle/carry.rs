//! The dictionary of a bundle: members read the one that they were trained with, wherever the bundle is opened.

use std::path::Path;
use std::sync::Arc;

use lethe_core::hex;
use lethe_dictionaries::{Dictionary, LazyDictionary};

use super::{BundleError, BundleManifest, io};

/// The file of the dictionary.
pub(super) const DICTIONARY: &str = "dictionary.bin";

impl BundleManifest {
    /// Writes the dictionary of this file, or the built-in one, into the bundle's folder, and names its digest.
    ///
    /// # Errors
    /// [`BundleError::Damaged`] or [`BundleError::Io`], naming the file.
    pub fn carry(&mut self, folder: &Path, file: Option<&Path>) -> Result<(), BundleError> {
        let (bytes, digest) = match file {
            None => (Dictionary::builtin_bytes(), hex(Dictionary::builtin().digest())),
            Some(file) => {
                let bytes = std::fs::read(file).map_err(|source| io(file, source))?;
                let digest = hex(read(file, bytes.clone())?.digest());
                (bytes, digest)
            }
        };
        let path = folder.join(DICTIONARY);
        std::fs::create_dir_all(folder).map_err(|source| io(folder, source))?;
        std::fs::write(&path, bytes).map_err(|source| io(&path, source))?;
        self.dictionary = Some(digest);
        Ok(())
    }

    /// Returns the dictionary that the bundle in this folder carries; `None` if it carries none.
    pub(super) fn carried(&self, folder: &Path) -> Result<Option<LazyDictionary>, BundleError> {
        let path = folder.join(DICTIONARY);
        let Some(expected) = self.dictionary.as_ref().filter(|_| path.is_file()) else {
            return Ok(None);
        };
        let bytes = std::fs::read(&path).map_err(|source| io(&path, source))?;
        let dictionary = read(&path, bytes)?;
        let found = hex(dictionary.digest());
        if found != *expected {
            return Err(BundleError::Dictionary {
                path,
                found,
                expected: expected.clone(),
            });
        }
        Ok(Some(LazyDictionary::Loaded(Arc::new(dictionary))))
    }

    /// Checks that a dictionary is the one that the bundle was built with. Bundles of earlier versions do not
    /// name it; they accept any.
    ///
    /// # Errors
    /// [`BundleError::Dictionary`], with `path` and both digests.
    pub fn check_dictionary(&self, path: &Path, dictionary: &Dictionary) -> Result<(), BundleError> {
        let found = hex(dictionary.digest());
        match &self.dictionary {
            Some(expected) if *expected != found => Err(BundleError::Dictionary {
                path: path.to_owned(),
                found,
                expected: expected.clone(),
            }),
            _ => Ok(()),
        }
    }
}

fn read(path: &Path, bytes: Vec<u8>) -> Result<Dictionary, BundleError> {
    Dictionary::from_bytes(bytes).map_err(|source| BundleError::Damaged {
        path: path.to_owned(),
        source,
    })
}
