//! From the paths of the command line to items of work: single files, the files of folders, and the files of
//! archives.

use std::io::{self, BufRead as _, Cursor, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_connectors::files::{Packing, decompress, find};

use super::globs::Globs;
use super::item::{Content, Item, Stamp, packed_stem};
use super::kind::FileKind;
use super::origin::{self, Origin};
use super::target::Target;
use crate::exit::usage;

/// Files of an archive over this size must be unpacked first: they are held in memory.
const MAX_ENTRY_BYTES: usize = 256 << 20;

/// The first bytes of a file by which its kind is recognised.
const HEAD: usize = 4 << 10;

/// A file to redact, or one that cannot be.
pub(crate) enum Found {
    Item(Item),
    /// Its name, and why.
    Bad(String, String),
}

/// The paths of the command line.
pub(crate) struct Inputs {
    files: Vec<(String, Origin)>,
    stdin: bool,
    /// Whether one of the paths is a folder, or a URL that names one.
    folder: bool,
    globs: Globs,
    format: Option<FileKind>,
}

impl Inputs {
    /// Lists the files of the paths, without those in `except`, which is the folder of the output.
    ///
    /// # Errors
    /// A usage error if a path does not exist, a folder cannot be listed, a pattern is invalid, or standard
    /// input is combined with other paths; the error of a bucket.
    pub(crate) fn list(
        paths: &[PathBuf],
        globs: &[String],
        format: Option<FileKind>,
        except: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let mut inputs = Self {
            files: Vec::new(),
            stdin: false,
            folder: false,
            globs: Globs::new(globs)?,
            format,
        };
        let except = except.and_then(|folder| folder.canonicalize().ok());
        for path in paths {
            if path.as_os_str() == "-" {
                if paths.len() > 1 {
                    return Err(usage(
                        "`-` reads standard input, which cannot be combined with other paths",
                    ));
                }
                inputs.stdin = true;
                continue;
            }
            if let Some(url) = path.to_str().filter(|path| origin::is_url(path)) {
                inputs.add_bucket(url, paths.len() > 1)?;
                continue;
            }
            let folder = path.is_dir();
            inputs.folder |= folder;
            let found = find(path, &|name| archived(name) || inputs.globs.wants(name))
                .map_err(|error| usage(error.to_string()))?;
            // Several folders may hold files of the same name.
            let prefix = match paths.len() > 1 && folder {
                true => path
                    .file_name()
                    .map_or_else(String::new, |name| format!("{}/", name.to_string_lossy())),
                false => String::new(),
            };
            for file in found {
                let inside = |folder: &PathBuf| {
                    file.path
                        .canonicalize()
                        .is_ok_and(|path| path.starts_with(folder))
                };
                if folder && except.as_ref().is_some_and(inside) {
                    continue;
                }
                inputs
                    .files
                    .push((format!("{prefix}{}", file.name), Origin::File(file.path)));
            }
            if folder && inputs.files.is_empty() {
                tracing::warn!("{}: no file to read", path.display());
            }
        }
        Ok(inputs)
    }

    /// Adds the objects of a URL; their names begin with that of a folder if there are `several` paths.
    fn add_bucket(&mut self, url: &str, several: bool) -> anyhow::Result<()> {
        let listed = origin::list(url, &|name| archived(name) || self.globs.wants(name))?;
        self.folder |= listed.folder;
        if listed.objects.is_empty() {
            tracing::warn!("{url}: no file to read");
        }
        let prefix = match several && listed.folder {
            true => format!("{}/", listed.name),
            false => String::new(),
        };
        let files = listed.objects.into_iter();
        self.files
            .extend(files.map(|(name, object)| (format!("{prefix}{name}"), Origin::Object(object))));
        Ok(())
    }

    /// Returns the number of files, each archive counted as one.
    pub(crate) const fn len(&self) -> usize {
        self.files.len() + self.stdin as usize
    }

    /// Returns whether the only input is standard input.
    pub(crate) const fn is_stdin(&self) -> bool {
        self.stdin
    }

    /// Returns whether there may be several outputs: several files, a folder, or an archive.
    pub(crate) fn may_be_several(&self) -> bool {
        self.folder || self.len() > 1 || self.files.iter().any(|(name, _)| archived(name))
    }

    /// Returns the bytes of all files; `None` for standard input.
    pub(crate) fn bytes(&self) -> Option<u64> {
        (!self.stdin).then(|| self.files.iter().map(|(_, origin)| origin.size()).sum())
    }

    /// Passes each file to `take`, until it returns false.
    pub(crate) fn each(&self, take: &mut dyn FnMut(Found) -> bool) {
        if self.stdin {
            take(self.standard_input());
        }
        for (name, origin) in &self.files {
            if !self.file(name, origin, take) {
                return;
            }
        }
    }

    /// Prints each file with its kind and where its output would go.
    ///
    /// # Errors
    /// If standard output is closed.
    pub(crate) fn dry_run(&self, target: &Target, overwrite: bool) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        let mut failed = None;
        self.each(&mut |found| {
            let line = match found {
                Found::Bad(name, why) => format!("{name}: {why}"),
                Found::Item(item) => match target.place(&item, overwrite) {
                    Err(why) => format!("{}: {why}", item.name),
                    Ok(place) => format!("{}: {} -> {place}", item.name, item.kind.name()),
                },
            };
            failed = writeln!(out, "{line}").err();
            failed.is_none()
        });
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    fn standard_input(&self) -> Found {
        let name = "standard input".to_owned();
        // What arrived so far, without waiting for more: the input may be typed, or grow slowly.
        let head = match io::stdin().lock().fill_buf() {
            Ok(arrived) => arrived.get(..HEAD).unwrap_or(arrived).to_vec(),
            Err(error) => return Found::Bad(name, format!("cannot be read: {}", error.kind())),
        };
        let packing = Packing::of(&head);
        let kind = match (self.format, packing) {
            (Some(kind), _) => Ok(kind),
            (None, Packing::None) => FileKind::detect("", &head),
            (None, _) => Err("is packed; name the format of its content with --format"),
        };
        match kind {
            Ok(kind) => Found::Item(Item {
                name,
                content: Content::Stdin,
                kind,
                packing: stream(packing),
                stamp: Stamp::default(),
            }),
            Err(why) => Found::Bad(name, why.to_owned()),
        }
    }

    fn file(&self, name: &str, origin: &Origin, take: &mut dyn FnMut(Found) -> bool) -> bool {
        let unread = |error: &io::Error| match error.get_ref() {
            Some(why) => format!("cannot be read: {why}"),
            None => format!("cannot be read: {}", error.kind()),
        };
        let (head, stamp) = match origin.look(HEAD) {
            Ok(seen) => seen,
            Err(error) => return take(Found::Bad(name.to_owned(), unread(&error))),
        };
        let packing = Packing::of(&head);
        let archive = match packing {
            Packing::Tar => true,
            // A Word document is a ZIP archive, too.
            Packing::Zip => {
                self.format != Some(FileKind::Docx) && FileKind::detect(name, &head) != Ok(FileKind::Docx)
            }
            Packing::Gzip | Packing::Zstd => archived(name),
            Packing::None => false,
        };
        if archive {
            return self.archive(name, origin, stamp, take);
        }
        let head = match unpacked(head, origin, packing) {
            Ok(head) => head,
            Err(error) => return take(Found::Bad(name.to_owned(), unread(&error))),
        };
        take(self.item(name, &head, origin.content(), packing, stamp))
    }

    /// Passes on each file of an archive.
    fn archive(
        &self,
        name: &str,
        origin: &Origin,
        stamp: Stamp,
        take: &mut dyn FnMut(Found) -> bool,
    ) -> bool {
        let bad =
            |error: &io::Error| Found::Bad(name.to_owned(), format!("is damaged, or is no archive: {error}"));
        let mut archive = match origin.archive() {
            Ok(archive) => archive,
            Err(error) => return take(bad(&error)),
        };
        loop {
            let entry = match archive.next_file() {
                Ok(Some(entry)) => entry,
                Ok(None) => return true,
                Err(error) => return take(bad(&error)),
            };
            let inner = entry.name.replace('\\', "/");
            let hidden = |part: &str| part.starts_with('.') && part != ".." || part == "__MACOSX";
            let inner = inner.trim_start_matches("./");
            if inner.ends_with('/') || inner.split('/').any(hidden) || !self.globs.wants(inner) {
                continue;
            }
            let shown = format!("{name}/{inner}");
            let found = if inner.starts_with('/') || inner.split('/').any(|part| part == "..") {
                Found::Bad(
                    shown,
                    "has a name that leads out of the archive's folder".to_owned(),
                )
            } else {
                match entry.read(MAX_ENTRY_BYTES) {
                    Err(error) => Found::Bad(shown, error.to_string()),
                    Ok(bytes) => {
                        let head = bytes.get(..HEAD).unwrap_or(&bytes).to_vec();
                        let packing = Packing::of(&head);
                        let bytes: Arc<[u8]> = bytes.into();
                        let content = Cursor::new(Arc::clone(&bytes));
                        match unpacked_from(head, content, packing) {
                            Ok(head) => self.item(&shown, &head, Content::Bytes(bytes), packing, stamp),
                            Err(error) => Found::Bad(shown, error.to_string()),
                        }
                    }
                }
            };
            if !take(found) {
                return false;
            }
        }
    }

    /// Returns the item of a file whose decompressed content begins with `head`.
    fn item(&self, name: &str, head: &[u8], content: Content, packing: Packing, stamp: Stamp) -> Found {
        let stem = match packing {
            Packing::Gzip | Packing::Zstd => packed_stem(name).unwrap_or(name),
            _ => name,
        };
        let kind = self.format.map_or_else(|| FileKind::detect(stem, head), Ok);
        match kind {
            Ok(kind) => Found::Item(Item {
                name: name.to_owned(),
                content,
                kind,
                packing: stream(packing),
                stamp,
            }),
            Err(why) => Found::Bad(name.to_owned(), why.to_owned()),
        }
    }
}

/// Returns the packing of a stream: a ZIP archive that is one document is not unpacked by its reader.
const fn stream(packing: Packing) -> Packing {
    match packing {
        Packing::Zip | Packing::Tar => Packing::None,
        stream => stream,
    }
}

/// Returns the first bytes after decompression.
fn unpacked(head: Vec<u8>, origin: &Origin, packing: Packing) -> io::Result<Vec<u8>> {
    match packing {
        Packing::Gzip | Packing::Zstd => unpacked_from(head, origin.open()?, packing),
        _ => Ok(head),
    }
}

fn unpacked_from(
    head: Vec<u8>,
    content: impl Read + Send + 'static,
    packing: Packing,
) -> io::Result<Vec<u8>> {
    if !matches!(packing, Packing::Gzip | Packing::Zstd) {
        return Ok(head);
    }
    let mut inner = Vec::new();
    decompress(content, packing)?
        .take(HEAD as u64)
        .read_to_end(&mut inner)?;
    Ok(inner)
}

/// Returns whether a file is an archive by its name.
fn archived(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    [".zip", ".tar", ".tgz", ".tar.gz", ".tar.zst"]
        .iter()
        .any(|end| lower.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[PathBuf], globs: &[&str]) -> Vec<String> {
        let globs: Vec<String> = globs.iter().map(|&glob| glob.to_owned()).collect();
        let inputs = Inputs::list(paths, &globs, None, None).unwrap();
        let mut names = Vec::new();
        inputs.each(&mut |found| {
            names.push(match found {
                Found::Item(item) => item.output_name(),
                Found::Bad(name, _) => format!("bad {name}"),
            });
            true
        });
        names
    }

    #[test]
    fn a_folder_is_read_at_any_depth_by_patterns() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("b")).unwrap();
        for (name, text) in [
            ("a.txt", "Seen."),
            ("b/c.md", "Seen."),
            ("b/d.html", "<p>"),
            ("b/e.bin", "\0"),
            (".f.txt", "x"),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let of = |globs: &[&str]| names(&[folder.path().to_owned()], globs);
        assert_eq!(of(&[]), ["a.txt", "b/c.md", "b/d.html.txt", "bad b/e.bin"]);
        assert_eq!(of(&["*.md", "*.txt"]), ["a.txt", "b/c.md"]);
        assert_eq!(of(&["!*.bin", "!b/*.html"]), ["a.txt", "b/c.md"]);
        assert!(Inputs::list(&[folder.path().to_owned()], &["[".to_owned()], None, None).is_err());
    }

    #[test]
    fn compressed_files_keep_their_compression() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html.gz");
        let mut to = lethe_connectors::files::Compressor::new(Vec::new(), Packing::Gzip).unwrap();
        io::Write::write_all(&mut to, b"<p>Seen.</p>").unwrap();
        std::fs::write(&path, to.finish().unwrap()).unwrap();
        assert_eq!(names(&[path], &[]), ["page.html.txt.gz"]);
    }
}
