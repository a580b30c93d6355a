//! A local folder as a store: an object is a file that is written aside and then linked under its name.

mod aside;

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;

use super::{At, End, Object, Op, Store, StoreError, crash, is_probe, version_of};
use aside::{Temporary, link_without_replacing};

/// The folder of files under construction and of the store's probes: in the store's file system, so that
/// links work, and hidden from readers.
const ASIDE: &str = ".lethe";

/// Settings of a folder.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderConfig {
    /// The folder. Lethe creates it, with its parents, at the first write.
    #[schemars(extend("examples" = ["/data/notes"]))]
    pub path: PathBuf,
}

/// A folder of a local or network file system that supports hard links, or a rename that does not replace.
#[derive(Clone, Debug)]
pub struct Folder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    /// Folders whose entries are known to be durable, so that each is synchronised once instead of at each
    /// write.
    durable: Mutex<HashSet<PathBuf>>,
}

impl Folder {
    /// Opens the folder and removes leftovers of killed writers. Creates nothing before the first write.
    ///
    /// # Errors
    /// [`StoreError::Other`] if something that is not a folder has that name.
    pub fn open(config: &FolderConfig) -> Result<Self, StoreError> {
        let inner = Inner {
            root: config.path.clone(),
            durable: Mutex::default(),
        };
        match fs::metadata(&inner.root) {
            Ok(found) if !found.is_dir() => {
                return Err(StoreError::Other {
                    at: At::new(Op::Open, inner.describe(), ""),
                    detail: "there is a file of this name".into(),
                    hint: "set a folder, or an unused name".into(),
                });
            }
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(inner.fail(Op::Open, "", error));
            }
            _ => {}
        }
        inner.clear_leftovers();
        Ok(Self(Arc::new(inner)))
    }

    /// Runs blocking work on a thread that may block.
    async fn blocking<T: Send + 'static>(
        &self,
        op: Op,
        name: &str,
        work: impl FnOnce(&Inner, &str) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let inner = Arc::clone(&self.0);
        let owned = name.to_owned();
        let done = tokio::task::spawn_blocking(move || work(&inner, &owned)).await;
        done.unwrap_or_else(|_| {
            Err(StoreError::Transient {
                at: At::new(op, self.describe(), name),
                detail: "the program is shutting down".into(),
            })
        })
    }
}

#[async_trait]
impl Store for Folder {
    async fn create(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.blocking(Op::Create, name, move |inner, name| inner.create(name, &bytes))
            .await
    }

    async fn list_after(&self, folder: &str, after: Option<&str>) -> Result<Vec<Object>, StoreError> {
        let after = after.map(str::to_owned);
        self.blocking(Op::List, folder, move |inner, folder| {
            let mut objects = Vec::new();
            inner.walk(folder, after.as_deref(), &mut objects)?;
            objects.sort_unstable();
            Ok(objects)
        })
        .await
    }

    async fn folders(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        self.blocking(Op::List, folder, |inner, folder| inner.folders(folder))
            .await
    }

    async fn read_range(&self, name: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.blocking(Op::Read, name, move |inner, name| {
            let read = || -> io::Result<Bytes> {
                let mut file = File::open(inner.path(name)?)?;
                file.seek(SeekFrom::Start(range.start))?;
                let mut bytes = Vec::new();
                file.take(range.end.saturating_sub(range.start))
                    .read_to_end(&mut bytes)?;
                Ok(bytes.into())
            };
            read().map_err(|error| inner.fail(Op::Read, name, error))
        })
        .await
    }

    async fn read_tail(&self, name: &str, len: u64) -> Result<End, StoreError> {
        self.blocking(Op::Read, name, move |inner, name| {
            let read = || -> io::Result<End> {
                let mut file = File::open(inner.path(name)?)?;
                let size = file.metadata()?.len();
                file.seek(SeekFrom::Start(size.saturating_sub(len)))?;
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                Ok(End {
                    bytes: bytes.into(),
                    size,
                })
            };
            read().map_err(|error| inner.fail(Op::Read, name, error))
        })
        .await
    }

    async fn look(&self, name: &str) -> Result<Object, StoreError> {
        self.blocking(Op::Read, name, |inner, name| {
            let found = inner.path(name).and_then(fs::metadata);
            found
                .and_then(|found| object(name.to_owned(), &found))
                .map_err(|error| inner.fail(Op::Read, name, error))
        })
        .await
    }

    async fn replace(&self, name: &str, bytes: Bytes, version: &str) -> Result<(), StoreError> {
        let version = version.to_owned();
        self.blocking(Op::Replace, name, move |inner, name| {
            inner.replace(name, &bytes, &version)
        })
        .await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.blocking(Op::Delete, name, |inner, name| {
            match inner.path(name).and_then(fs::remove_file) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(inner.fail(Op::Delete, name, error)),
                _ => Ok(()),
            }
        })
        .await
    }

    fn describe(&self) -> String {
        self.0.describe()
    }
}

fn object(name: String, found: &Metadata) -> io::Result<Object> {
    let (size, modified) = (found.len(), found.modified()?);
    Ok(Object {
        name,
        size,
        modified,
        version: version_of(size, modified),
    })
}

impl Inner {
    fn describe(&self) -> String {
        format!("folder {}", self.root.display())
    }

    /// Returns the object's path. A name cannot lead out of the folder.
    fn path(&self, name: &str) -> io::Result<PathBuf> {
        let sound = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\\');
        if !name.split('/').all(sound) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not an object's name"));
        }
        Ok(self.root.join(name))
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let write = || -> io::Result<()> {
            let path = self.path(name)?;
            // `path` is the root joined with a name that is not empty.
            let folder = path.parent().unwrap_or(&self.root);
            self.make_durable_folder(folder)?;
            let aside = self.root.join(ASIDE);
            self.make_durable_folder(&aside)?;
            let mut temporary = Temporary::new(&aside)?;
            temporary.file.write_all(bytes)?;
            temporary.file.sync_all()?;
            point("temporary_written", name);
            let linked = link_without_replacing(&temporary.path, &path);
            point("linked", name);
            // Also if the name is taken: its owner may have died before it made the entry durable, and other
            // writers build on the entry from now on.
            if linked
                .as_ref()
                .map_or_else(|error| error.kind() == ErrorKind::AlreadyExists, |()| true)
            {
                File::open(folder)?.sync_all()?;
            }
            linked
        };
        // Another process that opens the folder may take a file for abandoned in the moment before it is
        // locked.
        let taken = |error: &io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::WouldBlock);
        let mut attempts = 1;
        loop {
            match write() {
                Err(error) if taken(&error) && attempts < 5 => attempts += 1,
                done => return done.map_err(|error| self.fail(Op::Create, name, error)),
            }
        }
    }

    fn replace(&self, name: &str, bytes: &[u8], version: &str) -> Result<(), StoreError> {
        let changed = || StoreError::Changed(At::new(Op::Replace, self.describe(), name));
        let write = || -> io::Result<bool> {
            let path = self.path(name)?;
            let aside = self.root.join(ASIDE);
            self.make_durable_folder(&aside)?;
            let mut temporary = Temporary::new(&aside)?;
            temporary.file.write_all(bytes)?;
            temporary.file.sync_all()?;
            crash::point("replacement_written");
            let found = match fs::metadata(&path) {
                Ok(found) => object(name.to_owned(), &found)?,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(error),
            };
            if found.version != version {
                return Ok(false);
            }
            fs::rename(&temporary.path, &path)?;
            crash::point("replaced");
            File::open(path.parent().unwrap_or(&self.root))?.sync_all()?;
            Ok(true)
        };
        match write() {
            Ok(true) => Ok(()),
            Ok(false) => Err(changed()),
            Err(error) => Err(self.fail(Op::Replace, name, error)),
        }
    }

    /// Creates a folder and its missing parents, each of them durably.
    fn make_durable_folder(&self, folder: &Path) -> io::Result<()> {
        let known = |folder: &Path| {
            let durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
            durable.contains(folder)
        };
        if known(folder) && folder.is_dir() {
            return Ok(());
        }
        // Root first. Existing folders above the root are not synchronised.
        let mut missing: Vec<&Path> = folder.ancestors().collect();
        missing.reverse();
        for part in missing {
            if part.as_os_str().is_empty() || (!part.starts_with(&self.root) && part.is_dir()) {
                continue;
            }
            let made = match fs::create_dir(part) {
                Ok(()) => true,
                // It exists, or it is a link to a folder, or a place where this user cannot create one and
                // need not.
                Err(_) if part.is_dir() => false,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    return Err(ErrorKind::NotADirectory.into());
                }
                Err(error) => return Err(error),
            };
            let parent = part.parent().filter(|parent| !parent.as_os_str().is_empty());
            if let Some(parent) = parent
                && (made || part.starts_with(&self.root) && part != self.root)
            {
                File::open(parent)?.sync_all()?;
            }
            let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
            durable.insert(part.to_owned());
        }
        Ok(())
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let path = match folder {
            "" => Ok(self.root.clone()),
            _ => self.path(folder),
        };
        let list = || -> io::Result<Vec<String>> {
            let mut folders = Vec::new();
            for entry in fs::read_dir(path?)? {
                let entry = entry?;
                // A name that is not UTF-8 cannot be this store's.
                let Ok(name) = entry.file_name().into_string() else {
                    continue;
                };
                if !name.starts_with('.') && entry.path().is_dir() {
                    folders.push(match folder {
                        "" => name,
                        _ => format!("{folder}/{name}"),
                    });
                }
            }
            folders.sort_unstable();
            Ok(folders)
        };
        match list() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            done => done.map_err(|error| self.fail(Op::List, folder, error)),
        }
    }

    fn walk(&self, folder: &str, after: Option<&str>, objects: &mut Vec<Object>) -> Result<(), StoreError> {
        let fail = |error| self.fail(Op::List, folder, error);
        let path = if folder.is_empty() {
            Ok(self.root.clone())
        } else {
            self.path(folder)
        };
        let entries = match path.and_then(fs::read_dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(fail(error)),
        };
        for entry in entries {
            let entry = entry.map_err(fail)?;
            // A name that is not UTF-8 cannot be this store's.
            let Ok(file_name) = entry.file_name().into_string() else {
                continue;
            };
            if file_name.starts_with('.') {
                continue;
            }
            let name = if folder.is_empty() {
                file_name
            } else {
                format!("{folder}/{file_name}")
            };
            // Without a look at the file: a folder of a chain has many files before the first one that is wanted.
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && after.is_some_and(|after| name.as_str() <= after) {
                continue;
            }
            match fs::metadata(entry.path()) {
                Ok(found) if found.is_dir() => self.walk(&name, after, objects)?,
                Ok(found) if after.is_none_or(|after| name.as_str() > after) => {
                    objects.push(object(name, &found).map_err(fail)?);
                }
                Ok(_) => {}
                // Removed since the listing.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(fail(error)),
            }
        }
        Ok(())
    }

    /// Removes leftovers of killed writers. A running writer holds a lock on its file.
    fn clear_leftovers(&self) {
        let Ok(entries) = fs::read_dir(self.root.join(ASIDE)) else {
            return;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_none_or(|extension| extension != "partial") {
                continue;
            }
            let abandoned = File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
            if abandoned && let Err(error) = fs::remove_file(&path) {
                tracing::debug!(path = %path.display(), %error, "cannot remove an abandoned file");
            }
        }
    }

    fn fail(&self, op: Op, name: &str, error: io::Error) -> StoreError {
        let at = At::new(op, self.describe(), name);
        let detail = error.to_string();
        match error.kind() {
            ErrorKind::AlreadyExists if op == Op::Create => StoreError::Exists(at),
            ErrorKind::NotFound if op == Op::Read => StoreError::NotFound(at),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => StoreError::Denied {
                at,
                detail,
                hint: match op {
                    Op::Create | Op::Delete | Op::Replace => "give the program's user the right to write there".into(),
                    _ => "give the program's user the right to read there".into(),
                },
            },
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                StoreError::Full { at, detail }
            }
            ErrorKind::Interrupted
            | ErrorKind::TimedOut
            | ErrorKind::WouldBlock
            | ErrorKind::StaleNetworkFileHandle
            // Another process took our file for abandoned in the moment before it was locked.
            | ErrorKind::NotFound => StoreError::Transient { at, detail },
            ErrorKind::NotADirectory => StoreError::Other {
                at,
                detail,
                hint: "a file is in place of a folder: move it away".into(),
            },
            ErrorKind::InvalidFilename => StoreError::Other {
                at,
                detail,
                hint: "the name of a topic or input file becomes a folder's name: give it a shorter one".into(),
            },
            ErrorKind::Unsupported => StoreError::Other {
                at,
                detail,
                hint: "this file system has neither hard links nor a rename that does not replace, so two writers \
                       could overwrite one another: put the output on another"
                    .into(),
            },
            _ => StoreError::Other {
                at,
                detail,
                hint: "check the system's log for this file system".into(),
            },
        }
    }
}

/// A crash point that probes skip, since tests count the writes of a run.
fn point(point: &'static str, name: &str) {
    if !is_probe(name) {
        crash::point(point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_lead_out_of_the_folder() {
        let inner = Inner {
            root: "/out".into(),
            durable: Mutex::default(),
        };
        for name in ["../x", "a/../../x", "/etc/x", "", "a//b", "./x"] {
            assert!(inner.path(name).is_err(), "{name}");
        }
        assert_eq!(inner.path("a/b=c/d.e").unwrap(), Path::new("/out/a/b=c/d.e"));
    }

    #[test]
    fn abandoned_files_are_cleared_and_those_of_a_living_writer_stay() {
        let folder = tempfile::tempdir().unwrap();
        let aside = folder.path().join(ASIDE);
        fs::create_dir(&aside).unwrap();
        let living = Temporary::new(&aside).unwrap();
        let abandoned = aside.join("dead.partial");
        fs::write(&abandoned, "half").unwrap();
        Folder::open(&FolderConfig {
            path: folder.path().into(),
        })
        .unwrap();
        assert!(!abandoned.exists());
        assert!(living.path.exists());
    }
}
