//! Where outputs go. A file appears under its name only when it is complete.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lethe_connectors::files::{Compressor, Packing};

use super::item::{Content, Item};

/// Where the outputs of a run go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Stdout,
    /// One file, for one input.
    File(PathBuf),
    /// A folder, with the tree of the inputs.
    Folder(PathBuf),
    /// The folder of each input, with this before the extension.
    Beside(String),
    /// The input itself, which is kept with this at the end of its name.
    InPlace(String),
}

/// What to do with an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Stdout,
    /// Write the output to this file.
    Write(PathBuf),
    /// Write the output over the input after keeping it under the second name.
    Replace(PathBuf, PathBuf),
    /// The output exists.
    Done,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("standard output"),
            Self::Write(path) => write!(f, "{}", path.display()),
            Self::Replace(path, backup) => write!(f, "{}, kept as {}", path.display(), backup.display()),
            Self::Done => f.write_str("already redacted"),
        }
    }
}

impl Target {
    /// Returns where the output of an item goes. An existing output is kept unless `overwrite` is set; for a
    /// folder, [`Ledger`](super::ledger::Ledger) decides about it before.
    ///
    /// # Errors
    /// Why the item cannot be written there.
    pub(crate) fn place(&self, item: &Item, overwrite: bool) -> Result<Place, String> {
        let beside = || match &item.content {
            Content::File(path) => Ok(path.clone()),
            Content::Object(_) => Err("is in a bucket; write it to a folder with --out".to_owned()),
            _ => Err("is part of an archive; write it to a folder with --out".to_owned()),
        };
        Ok(match self {
            Self::Stdout => Place::Stdout,
            Self::File(path) => Place::Write(path.clone()),
            Self::Folder(folder) => Place::Write(folder.join(item.output_name())),
            Self::Beside(suffix) => {
                let path = beside()?;
                let output = item.output_name();
                let file = output.rsplit('/').next().unwrap_or(&output);
                let (stem, extension) = file.find('.').map_or((file, ""), |at| file.split_at(at));
                let path = path.with_file_name(format!("{stem}{suffix}{extension}"));
                match path.exists() && !overwrite {
                    true => Place::Done,
                    false => Place::Write(path),
                }
            }
            Self::InPlace(_) if item.kind.becomes_text() => {
                return Err(
                    "cannot be redacted in place, since only its text is written; use --out or --suffix"
                        .to_owned(),
                );
            }
            Self::InPlace(suffix) => {
                let path = beside()?;
                let mut backup = path.clone().into_os_string();
                backup.push(suffix);
                let backup = PathBuf::from(backup);
                // A run that was killed may have kept the input without replacing it.
                match backup.exists() && !same(&path, &backup).map_err(|error| error.to_string())? {
                    true => Place::Done,
                    false => Place::Replace(path, backup),
                }
            }
        })
    }
}

/// Returns whether two files have the same content.
fn same(one: &Path, other: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let (a, b) = (fs::metadata(one)?, fs::metadata(other)?);
    if (a.dev(), a.ino()) == (b.dev(), b.ino()) {
        return Ok(true);
    }
    Ok(a.len() == b.len() && fs::read(one)? == fs::read(other)?)
}

/// An output that is being written. Dropped without [`Draft::keep`], nothing of it remains.
pub(crate) struct Draft {
    to: Option<Compressor<BufWriter<File>>>,
    draft: PathBuf,
    place: Place,
}

impl Draft {
    /// Begins to write to a place.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub(crate) fn create(place: &Place, packing: Packing) -> anyhow::Result<Self> {
        let (Place::Write(path) | Place::Replace(path, _)) = place else {
            anyhow::bail!("there is no file to write");
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        // The same name in every run, so that what a killed run left is overwritten. Hidden, so that no run
        // takes it for an input.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let draft = path.with_file_name(format!(".{name}.lethe-part"));
        let create = File::create(&draft)
            .and_then(|file| Compressor::new(BufWriter::with_capacity(1 << 17, file), packing));
        let to = create.with_context(|| format!("cannot write {}", draft.display()))?;
        Ok(Self {
            to: Some(to),
            draft,
            place: place.clone(),
        })
    }

    /// Makes the output durable and gives it its name; returns its size in bytes.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn keep(mut self) -> anyhow::Result<u64> {
        let to = self.to.take().context("the output is closed")?;
        let file = to
            .finish()?
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        let size = file.metadata()?.len();
        match &self.place {
            Place::Write(path) => fs::rename(&self.draft, path)?,
            Place::Replace(path, backup) => {
                file.set_permissions(fs::metadata(path)?.permissions())?;
                if !backup.exists() && fs::hard_link(path, backup).is_err() {
                    fs::copy(path, backup)?;
                }
                fs::rename(&self.draft, path)?;
            }
            Place::Stdout | Place::Done => {}
        }
        Ok(size)
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.as_mut().map_or(Ok(0), |to| to.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // `keep` has renamed it.
        drop(fs::remove_file(&self.draft));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::item::Stamp;
    use crate::redact::kind::FileKind;

    fn item(name: &str, path: &Path, kind: FileKind) -> Item {
        Item {
            name: name.to_owned(),
            content: Content::File(path.to_owned()),
            kind,
            packing: Packing::None,
            stamp: Stamp::default(),
        }
    }

    #[test]
    fn an_output_has_its_name_only_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::Write(folder.path().join("a/note.txt"));
        let path = folder.path().join("a/note.txt");
        let mut draft = Draft::create(&place, Packing::None).unwrap();
        draft.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(draft);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        let mut draft = Draft::create(&place, Packing::None).unwrap();
        draft.write_all(b"whole").unwrap();
        assert_eq!(draft.keep().unwrap(), 5);
        assert_eq!(fs::read(path).unwrap(), b"whole");
    }

    #[test]
    fn a_file_in_place_is_kept_and_not_redacted_twice() {
        let folder = tempfile::tempdir().unwrap();
        let (path, backup) = (folder.path().join("note.txt"), folder.path().join("note.txt.bak"));
        fs::write(&path, "Ada came.").unwrap();
        let target = Target::InPlace(".bak".to_owned());
        let item = item("note.txt", &path, FileKind::Text);
        let place = target.place(&item, false).unwrap();
        assert_eq!(place, Place::Replace(path.clone(), backup.clone()));
        // Killed after the input was kept: it is redacted in the next run.
        fs::hard_link(&path, &backup).unwrap();
        assert_eq!(target.place(&item, false).unwrap(), place);
        let mut draft = Draft::create(&place, Packing::None).unwrap();
        draft.write_all(b"[PATIENT] came.").unwrap();
        draft.keep().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"[PATIENT] came.");
        assert_eq!(fs::read(&backup).unwrap(), b"Ada came.");
        assert_eq!(target.place(&item, false).unwrap(), Place::Done);
    }

    #[test]
    fn a_suffix_stands_before_the_extensions() {
        let path = Path::new("/in/notes.csv.gz");
        let target = Target::Beside(".redacted".to_owned());
        let place = target
            .place(&item("x/notes.csv.gz", path, FileKind::Csv), false)
            .unwrap();
        assert_eq!(place, Place::Write("/in/notes.redacted.csv.gz".into()));
        let place = target
            .place(&item("a.pdf", Path::new("/in/a.pdf"), FileKind::Pdf), false)
            .unwrap();
        assert_eq!(place, Place::Write("/in/a.redacted.pdf.txt".into()));
    }
}
