//! A model's folder: `member.toml` describes the model and holds the digest of every other file.
//!
//! A model that is truncated, altered, or written by another version of the format or of the tokenizer is
//! refused when it is opened, never half-read. The manifest holds no date and no path, so that the same seed
//! gives the same bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lethe_core::{TOKENIZER_VERSION, hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::TagSet;

/// Raised when the layout of a model folder changes its meaning.
pub const FORMAT_VERSION: u32 = 1;

const MANIFEST: &str = "member.toml";

/// The description and the provenance of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The [`FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// The member's kind in the registry, for instance `crf`.
    pub kind: String,
    /// The [`TOKENIZER_VERSION`] that the model was trained with.
    pub tokenizer: u32,
    /// Its tags.
    pub tags: TagSet,
    /// How it was trained.
    pub training: Training,
    /// The kind's own settings that it needs to run, besides its weights.
    #[serde(default)]
    pub settings: toml::Table,
    /// Every other file of the folder and its SHA-256 in hexadecimal.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// How a model was trained.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// The program's version.
    pub version: String,
    /// The seed.
    pub seed: u64,
    /// SHA-256 over the ids, texts and annotations of the documents it was fitted to, in order.
    pub data: String,
    /// The number of documents it was fitted to.
    pub documents: usize,
    /// Strict micro-F1 on the held-out set, if there was one.
    pub held_out_f1: Option<f64>,
    /// [`Manifest::digest`] of the model that it was fine-tuned from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goes_on_from: Option<String>,
    /// The instruction set of the machine that trained a network: sums of floating-point numbers depend on it, so that only the
    /// same one gives the same bytes. Absent for members whose numbers are the same everywhere, and for models of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// Why a model folder was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The manifest is not that of a model.
    #[error("{}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The parser's message, with line and key.
        message: String,
    },
    /// Another version wrote the model.
    #[error("{}: {what} {found}, but this program has {expected}; train the model again", path.display())]
    Version {
        /// The manifest.
        path: PathBuf,
        /// The kind of version.
        what: &'static str,
        /// The version in the manifest.
        found: u32,
        /// The version of this program.
        expected: u32,
    },
    /// A file does not match the manifest.
    #[error("{}: its digest is not the one in {MANIFEST}: it was cut short or altered; copy the folder again or train the model again", path.display())]
    Digest {
        /// The file.
        path: PathBuf,
    },
    /// The manifest lists a file that is not in its folder.
    #[error("{}: `{file}` is not the name of a file in this folder", path.display())]
    Outside {
        /// The manifest.
        path: PathBuf,
        /// The file that it names.
        file: String,
    },
    /// The model would read another dictionary than the one it was trained with.
    #[error("{}: the model was trained with the dictionary {trained}, but the given one is {given}: its features would change; use the file that it was trained with (`--dictionary`, `engine.dictionary`), or train it again", path.display())]
    Dictionary {
        /// The model's folder.
        path: PathBuf,
        /// The digest of the dictionary that it was trained with.
        trained: String,
        /// The digest of the given dictionary.
        given: String,
    },
    /// The manifest does not list a file that this kind of member needs.
    #[error("{}: no digest of `{file}`, which a `{kind}` needs", path.display())]
    Missing {
        /// The manifest.
        path: PathBuf,
        /// The file.
        file: String,
        /// The member's kind.
        kind: String,
    },
}

impl Manifest {
    /// Creates a manifest for a new model; [`Manifest::write`] fills in the digests.
    pub fn new(kind: &str, tags: TagSet, training: Training, settings: toml::Table) -> Self {
        Self {
            format: FORMAT_VERSION,
            kind: kind.to_owned(),
            tokenizer: TOKENIZER_VERSION,
            tags,
            training,
            settings,
            files: BTreeMap::new(),
        }
    }

    /// Writes the files, then the manifest with their digests: a folder without a manifest is not a model.
    ///
    /// # Errors
    /// [`ManifestError::Io`], naming the file; [`ManifestError::Syntax`] if the settings cannot be written as
    /// TOML.
    pub fn write(&mut self, folder: &Path, files: &[(&str, &[u8])]) -> Result<(), ManifestError> {
        let manifest_path = folder.join(MANIFEST);
        self.files.clear();
        std::fs::create_dir_all(folder).map_err(|source| io(folder, source))?;
        for (name, bytes) in files {
            let path = folder.join(name);
            std::fs::write(&path, bytes).map_err(|source| io(&path, source))?;
            self.files.insert((*name).to_owned(), digest(bytes));
        }
        let text = toml::to_string(self).map_err(|error| ManifestError::Syntax {
            path: manifest_path.clone(),
            message: error.to_string(),
        })?;
        // The manifest appears whole or not at all.
        let draft = folder.join(".member.toml.part");
        std::fs::write(&draft, text).map_err(|source| io(&draft, source))?;
        std::fs::rename(&draft, &manifest_path).map_err(|source| io(&manifest_path, source))
    }

    /// Reads a folder's manifest and checks its versions.
    ///
    /// # Errors
    /// Any [`ManifestError`] except those about files.
    pub fn read(folder: &Path) -> Result<Self, ManifestError> {
        let path = folder.join(MANIFEST);
        let text = crate::read_text(&path).map_err(|source| io(&path, source))?;
        let manifest: Self = toml::from_str(&text).map_err(|error| ManifestError::Syntax {
            path: path.clone(),
            message: error.to_string(),
        })?;
        for (what, found, expected) in [
            ("model format", manifest.format, FORMAT_VERSION),
            ("tokenizer", manifest.tokenizer, TOKENIZER_VERSION),
        ] {
            if found != expected {
                return Err(ManifestError::Version {
                    path,
                    what,
                    found,
                    expected,
                });
            }
        }
        // A folder from elsewhere must not cause files outside it to be read or written.
        let plain = |name: &String| {
            Path::new(name)
                .file_name()
                .is_some_and(|file| file == name.as_str())
        };
        if let Some(file) = manifest.files.keys().find(|name| !plain(name)) {
            return Err(ManifestError::Outside {
                path,
                file: file.clone(),
            });
        }
        Ok(manifest)
    }

    /// Returns the digest of the dictionary that the model was trained with, if it reads one.
    pub fn dictionary(&self) -> Option<&str> {
        self.settings.get("dictionary")?.as_str()
    }

    /// Checks that a dictionary with this digest is the one that the model was trained with. Models of earlier
    /// versions do not always say which one that was; they accept any.
    ///
    /// # Errors
    /// [`ManifestError::Dictionary`], with both digests.
    pub fn check_dictionary(&self, folder: &Path, given: &[u8; 32]) -> Result<(), ManifestError> {
        let given = hex(given);
        match self.dictionary() {
            Some(trained) if trained != given => Err(ManifestError::Dictionary {
                path: folder.to_owned(),
                trained: trained.to_owned(),
                given,
            }),
            _ => Ok(()),
        }
    }

    /// Returns the SHA-256 of the manifest, which holds the digests of all files. It identifies the model.
    pub fn digest(&self) -> String {
        // What was read from TOML can be written as TOML.
        digest(toml::to_string(self).unwrap_or_default().as_bytes())
    }

    /// Reads one of the folder's files and checks its digest. Files of built-in bundles are part of the program, whose
    /// tests check them: they are not checked at every start.
    ///
    /// # Errors
    /// [`ManifestError::Missing`], [`ManifestError::Io`] or [`ManifestError::Digest`].
    pub fn file(&self, folder: &Path, name: &str) -> Result<Cow<'static, [u8]>, ManifestError> {
        let expected = self.files.get(name).ok_or_else(|| ManifestError::Missing {
            path: folder.join(MANIFEST),
            file: name.to_owned(),
            kind: self.kind.clone(),
        })?;
        let path = folder.join(name);
        let bytes = crate::read(&path).map_err(|source| io(&path, source))?;
        if !lethe_bundles::is_shipped(&path) && digest(&bytes) != *expected {
            return Err(ManifestError::Digest { path });
        }
        Ok(bytes)
    }
}

fn io(path: &Path, source: std::io::Error) -> ManifestError {
    ManifestError::Io {
        path: path.to_owned(),
        source,
    }
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scheme;

    fn written(folder: &Path) -> Manifest {
        let tags = TagSet::new(Scheme::Bio, vec!["DATE".to_owned()]);
        let mut manifest = Manifest::new("crf", tags, Training::default(), toml::Table::new());
        manifest.write(folder, &[("weights.bin", b"0123456789")]).unwrap();
        manifest
    }

    #[test]
    fn what_was_written_reads_back_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = written(folder.path());
        assert_eq!(Manifest::read(folder.path()).unwrap(), manifest);
        assert_eq!(
            *manifest.file(folder.path(), "weights.bin").unwrap(),
            *b"0123456789"
        );
    }

    #[test]
    fn a_file_that_was_cut_altered_or_not_listed_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = written(folder.path());
        for content in [&b"012345678"[..], b"0123456780"] {
            std::fs::write(folder.path().join("weights.bin"), content).unwrap();
            let message = manifest
                .file(folder.path(), "weights.bin")
                .unwrap_err()
                .to_string();
            assert!(message.contains("weights.bin: its digest"), "{message}");
        }
        let message = manifest
            .file(folder.path(), "clusters.bin")
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("`clusters.bin`, which a `crf` needs"),
            "{message}"
        );
    }

    #[test]
    fn another_dictionary_is_refused_with_both_digests() {
        let folder = tempfile::tempdir().unwrap();
        let mut manifest = written(folder.path());
        manifest.check_dictionary(folder.path(), &[1; 32]).unwrap();
        manifest
            .settings
            .insert("dictionary".to_owned(), hex(&[1; 32]).into());
        manifest.check_dictionary(folder.path(), &[1; 32]).unwrap();
        let refused = manifest.check_dictionary(folder.path(), &[2; 32]).unwrap_err();
        let message = refused.to_string();
        for digest in [[1; 32], [2; 32]] {
            assert!(message.contains(&hex(&digest)), "{message}");
        }
    }

    #[test]
    fn the_files_of_built_in_bundles_have_the_digests_of_their_manifests() {
        let mut checked = 0;
        for name in lethe_bundles::names() {
            let bundle = lethe_bundles::folder(name).unwrap();
            for (path, _) in lethe_bundles::files(&bundle).unwrap() {
                let Some(member) = path.strip_suffix(&format!("/{MANIFEST}")) else {
                    continue;
                };
                let member = bundle.join(member);
                for (file, expected) in Manifest::read(&member).unwrap().files {
                    let bytes = lethe_bundles::file(&member.join(&file)).unwrap();
                    assert_eq!(digest(bytes), expected, "{}/{file}", member.display());
                    checked += 1;
                }
            }
        }
        assert!(checked > 4, "{checked}");
    }

    #[test]
    fn a_page_that_names_files_elsewhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path());
        let manifest_path = folder.path().join(MANIFEST);
        let good = std::fs::read_to_string(&manifest_path).unwrap();
        for name in ["../weights.bin", "/etc/hosts", "a/b", ".."] {
            std::fs::write(
                &manifest_path,
                good.replace("\"weights.bin\"", &format!("{name:?}")),
            )
            .unwrap();
            let message = Manifest::read(folder.path()).unwrap_err().to_string();
            assert!(
                message.contains(&format!("`{name}` is not the name")),
                "{message}"
            );
        }
    }

    #[test]
    fn another_version_of_the_format_or_the_tokenizer_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path());
        let manifest_path = folder.path().join(MANIFEST);
        let good = std::fs::read_to_string(&manifest_path).unwrap();
        for (key, what) in [("format", "model format 99"), ("tokenizer", "tokenizer 99")] {
            let line = good.lines().find(|line| line.starts_with(key)).unwrap();
            std::fs::write(&manifest_path, good.replace(line, &format!("{key} = 99"))).unwrap();
            let message = Manifest::read(folder.path()).unwrap_err().to_string();
            assert!(message.contains(what), "{message}");
        }
    }
}
