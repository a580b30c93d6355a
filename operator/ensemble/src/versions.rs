//! The versions of a bundle in one folder, of which one is current: a stream loads a new version while it
//! runs, and one command rolls it back.
//!
//! `versions/NAME` is a bundle, named by the first digits of its digest. `current` names the versions that
//! were in use, the current one first. It is replaced atomically, so that after a crash it has its old or its
//! new content.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_dictionaries::Dictionary;

use crate::bundle::{copy, io};
use crate::{Bundle, BundleError, BundleManifest, SIGNATURE};

/// The file that names the versions in use.
const CURRENT: &str = "current";
/// The folder of the versions.
const VERSIONS: &str = "versions";
/// The number of digits of a digest that form a name.
const DIGITS: usize = 16;

/// A folder of versions.
#[derive(Clone, Debug)]
pub struct Versions {
    folder: PathBuf,
}

impl Versions {
    /// Returns the versions of a folder; `None` if it holds none, as the folder of a bundle does.
    pub fn of(folder: &Path) -> Option<Self> {
        folder.join(CURRENT).is_file().then(|| Self {
            folder: folder.to_owned(),
        })
    }

    /// Returns the name of a bundle as a version.
    pub fn name(manifest: &BundleManifest) -> String {
        manifest.digest().chars().take(DIGITS).collect()
    }

    /// Adds a bundle as a version, makes it current, and returns its name. A missing or empty folder becomes
    /// a folder of versions.
    ///
    /// # Errors
    /// [`BundleError`] for a bundle that cannot be opened, a folder with other contents, or an error of the
    /// operating system.
    pub fn publish(
        folder: &Path,
        bundle: &Path,
        dictionary: &Arc<Dictionary>,
    ) -> Result<String, BundleError> {
        let versions = Self {
            folder: folder.to_owned(),
        };
        let empty = std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
        let mut used = if empty { Vec::new() } else { versions.used()? };
        let name = Self::name(&Bundle::open(bundle, dictionary)?.manifest);
        let place = versions.path(&name);
        if !place.is_dir() {
            // The folder is renamed when it is complete: a reader that finds the name finds the whole bundle.
            let draft = folder.join(VERSIONS).join(format!(".{name}.part"));
            if draft.exists() {
                std::fs::remove_dir_all(&draft).map_err(|source| io(&draft, source))?;
            }
            let before = used.first().map(|name| versions.path(name));
            copy(bundle, &draft, before.as_deref())?;
            std::fs::rename(&draft, &place).map_err(|source| io(&place, source))?;
            sync(&folder.join(VERSIONS))?;
        } else if bundle.join(SIGNATURE).is_file() {
            // The same bundle was signed later.
            let (draft, signature) = (place.join(format!(".{SIGNATURE}.part")), place.join(SIGNATURE));
            std::fs::copy(bundle.join(SIGNATURE), &draft).map_err(|source| io(&draft, source))?;
            std::fs::rename(&draft, &signature).map_err(|source| io(&signature, source))?;
            sync(&place)?;
        }
        if used.first() != Some(&name) {
            used.insert(0, name.clone());
        }
        versions.replace(&used)?;
        Ok(name)
    }

    /// Rolls back to the version before the current one, or to the one of this name, and returns the new
    /// current version. Versions that were in use since are removed from the history, but stay in the folder.
    ///
    /// # Errors
    /// [`BundleError::Version`] if it does not exist.
    pub fn roll_back(&self, to: Option<&str>) -> Result<String, BundleError> {
        let mut used = self.used()?;
        match to {
            None => drop(used.drain(..1)),
            Some(name) => match used.iter().position(|one| one == name) {
                Some(place) => drop(used.drain(..place)),
                None => used.insert(0, name.to_owned()),
            },
        }
        let known = self.names()?;
        let Some(name) = used.first().filter(|name| known.contains(name)).cloned() else {
            let wanted = to.map_or("no version was in use before".to_owned(), |name| {
                format!("there is no version `{name}`")
            });
            return Err(self.refuse(format!("{wanted}; there are {}", known.join(", "))));
        };
        self.replace(&used)?;
        Ok(name)
    }

    /// Returns the name of the current version.
    ///
    /// # Errors
    /// [`BundleError::Io`], or [`BundleError::Manifest`] if it names no version.
    pub fn current(&self) -> Result<String, BundleError> {
        let first = self.used()?.into_iter().next();
        first.ok_or_else(|| self.refuse("it names no version".to_owned()))
    }

    /// Returns the names of all versions, sorted.
    ///
    /// # Errors
    /// [`BundleError::Io`].
    pub fn names(&self) -> Result<Vec<String>, BundleError> {
        let place = self.folder.join(VERSIONS);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&place).map_err(|source| io(&place, source))? {
            let name = entry.map_err(|source| io(&place, source))?.file_name();
            let name = name.to_string_lossy().into_owned();
            if !name.starts_with('.') {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Returns the versions that were in use, the current one first.
    ///
    /// # Errors
    /// [`BundleError::Io`].
    pub fn used(&self) -> Result<Vec<String>, BundleError> {
        let path = self.folder.join(CURRENT);
        let text = std::fs::read_to_string(&path).map_err(|source| io(&path, source))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Returns the path of a version.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(VERSIONS).join(name)
    }

    fn refuse(&self, message: String) -> BundleError {
        BundleError::Manifest {
            path: self.folder.join(CURRENT),
            message,
        }
    }

    fn replace(&self, used: &[String]) -> Result<(), BundleError> {
        let (path, draft) = (self.folder.join(CURRENT), self.folder.join(".current.part"));
        let write = || {
            let mut file = File::create(&draft)?;
            file.write_all((used.join("\n") + "\n").as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&draft, &path)
        };
        write().map_err(|source| io(&path, source))?;
        sync(&self.folder)
    }
}

/// Makes the names in a folder durable.
pub(crate) fn sync(folder: &Path) -> Result<(), BundleError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|source| io(folder, source))
}
