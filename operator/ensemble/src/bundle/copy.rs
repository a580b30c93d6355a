//! Copies bundles: from disk or from the program, durably and with the same bytes.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use lethe_dictionaries::Dictionary;

use super::dictionary::DICTIONARY;
use super::{Bundle, BundleError, BundleManifest, io};
use crate::Versions;
use crate::versions::sync;

impl Bundle {
    /// Copies a bundle's folder, a built-in bundle, or the current version of a folder of [`Versions`]. The
    /// files have the same bytes, so that the copy has the same digest.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn export(from: &Path, to: &Path) -> Result<(), BundleError> {
        if let Some(versions) = Versions::of(from) {
            return copy(&versions.path(&versions.current()?), to, None);
        }
        copy(from, to, None)
    }
}

/// Copies a folder and its contents durably. A file that is identical in the previous version's folder
/// becomes a hard link: versions never change, and many differ in little. The folder may be that of a bundle
/// that the program contains.
pub(crate) fn copy(from: &Path, to: &Path, before: Option<&Path>) -> Result<(), BundleError> {
    if let Some(files) = lethe_bundles::files(from) {
        files
            .into_iter()
            .try_for_each(|(name, bytes)| write(&to.join(name), bytes))?;
        // Elsewhere, another program may open it, which has another dictionary.
        if BundleManifest::read(from)?.dictionary.is_some() {
            write(&to.join(DICTIONARY), &Dictionary::builtin_bytes())?;
        }
        return Ok(());
    }
    std::fs::create_dir_all(to).map_err(|source| io(to, source))?;
    for entry in std::fs::read_dir(from).map_err(|source| io(from, source))? {
        let entry = entry.map_err(|source| io(from, source))?;
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        let before = before.map(|folder| folder.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &copied, before.as_deref())?;
        } else if !before.is_some_and(|before| linked(&path, &before, &copied)) {
            std::fs::copy(&path, &copied)
                .and_then(|_| File::open(&copied)?.sync_all())
                .map_err(|source| io(&copied, source))?;
        }
    }
    sync(to)
}

/// Links `to` to `before` if that has the content of `from`; returns whether it did.
fn linked(from: &Path, before: &Path, to: &Path) -> bool {
    let size = |path: &Path| {
        std::fs::symlink_metadata(path)
            .ok()
            .filter(std::fs::Metadata::is_file)
            .map(|file| file.len())
    };
    if size(before).is_none() || size(before) != size(from) {
        return false;
    }
    let same = std::fs::read(from).is_ok_and(|bytes| std::fs::read(before).is_ok_and(|other| bytes == other));
    // Some file systems do not have links.
    same && std::fs::hard_link(before, to).is_ok()
}

/// Writes a file durably, with the folders that it needs.
fn write(path: &Path, bytes: &[u8]) -> Result<(), BundleError> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)
        .and_then(|()| {
            let mut file = File::create(path)?;
            file.write_all(bytes)?;
            file.sync_all()
        })
        .map_err(|source| io(path, source))?;
    sync(folder)
}
