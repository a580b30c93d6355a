//! The dictionary of a bundle: members read the one that they were trained with, wherever the bundle is opened.

use std::path::Path;
use std::sync::Arc;

use lethe_core::hex;
use lethe_dictionaries::{Dictionary, LazyDictionary};

use super::{BundleError, BundleManifest, io};

/// The file of the dictionary.
pub(super) const DICTIONARY: &str = "dictionary.bin";

/// Returns whether the bundle in this folder has a file of its own dictionary. That of a built-in bundle is the program's.
pub(super) fn has_own(folder: &Path) -> bool {
    folder.join(DICTIONARY).is_file()
}

impl BundleManifest {
    /// Writes the dictionary of this file, or the built-in one, into the bundle's folder, and names its digest.
    ///
    /// # Errors
    /// [`BundleError::Damaged`] or [`BundleError::Io`], naming the file.
    pub fn add_dictionary(&mut self, folder: &Path, file: Option<&Path>) -> Result<(), BundleError> {
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
    pub(super) fn own_dictionary(&self, folder: &Path) -> Result<Option<LazyDictionary>, BundleError> {
        let Some(expected) = self.dictionary.as_ref().filter(|_| has_own(folder)) else {
            return Ok(None);
        };
        let path = folder.join(DICTIONARY);
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
