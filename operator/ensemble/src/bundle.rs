//! A bundle: members and how they are combined, in one folder that is whole or refused.
//!
//! `bundle.toml` names every member with the digest of what it reads. Members that pruning dropped are not in it, so a
//! stream never loads them.

mod manifest;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_core::{Combine, LabelSet, MemberSet, TOKENIZER_VERSION, Tagger, UnionRules, hex};
use lethe_dictionaries::Dictionary;
use lethe_members::registry::{BuildError, MemberConfig};

use sha2::{Digest as _, Sha256};

use crate::{Fitted, Signers, Versions};

pub use manifest::{BUNDLE_VERSION, BundleManifest, Measured, Part, Provenance, Rule};

/// The page's file.
const MANIFEST: &str = "bundle.toml";

/// The file of a combiner that was fitted.
const COMBINER: &str = "combiner.bin";

/// A bundle that was opened.
pub struct Bundle {
    /// Its page.
    pub manifest: BundleManifest,
    /// The label set that decisions are in.
    pub labels: Arc<LabelSet>,
    /// The members, in the order of their votes.
    pub members: Vec<Arc<dyn Tagger>>,
    /// How they are combined.
    pub combiner: Arc<dyn Combine>,
}

/// Why a folder is no bundle that can be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The page is not one of a bundle.
    #[error("{}: {message}", path.display())]
    Manifest {
        /// The page.
        path: PathBuf,
        /// What is wrong, with line and key.
        message: String,
    },
    /// Another version wrote it.
    #[error("{}: {what} {found}, but this program has {expected}; make the bundle again", path.display())]
    Version {
        /// The page.
        path: PathBuf,
        /// The file or member.
        what: &'static str,
        /// What the page says.
        found: u32,
        /// What this program has.
        expected: u32,
    },
    /// A member cannot be built.
    #[error("{}: member `{member}`: {source}", path.display())]
    Member {
        /// The page.
        path: PathBuf,
        /// The member.
        member: String,
        /// Why.
        source: Box<BuildError>,
    },
    /// A member is not the one that the bundle was made with.
    #[error("{}: member `{member}` is not the one that the bundle was made with: its digest is {found}, not {expected}; copy the bundle again or make it again", path.display())]
    Digest {
        /// The page.
        path: PathBuf,
        /// The member.
        member: String,
        /// What its files say.
        found: String,
        /// What the page says.
        expected: String,
    },
    /// Nobody who is trusted signed it.
    #[error("{}: {why}; sign the bundle's manifest with `minisign -S -m bundle.toml`, or correct `signed_by`", path.display())]
    Signature {
        /// The signature's file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

pub(crate) fn io(path: &Path, source: std::io::Error) -> BundleError {
    BundleError::Io {
        path: path.to_owned(),
        source,
    }
}

/// SHA-256 as lower-case hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

impl Bundle {
    /// Opens a bundle's folder, or, of a folder of [`Versions`], the current one. Nothing of a bundle with a member that is
    /// damaged or another's is used.
    ///
    /// # Errors
    /// [`BundleError`], naming page, member and digest.
    pub fn open(folder: &Path, dictionary: &Arc<Dictionary>) -> Result<Self, BundleError> {
        Self::open_signed(folder, dictionary, None)
    }

    /// As [`Bundle::open`], if one of `signers` signed it.
    ///
    /// # Errors
    /// [`BundleError`], naming the signature where that is what is wrong.
    pub fn open_signed(
        folder: &Path,
        dictionary: &Arc<Dictionary>,
        signers: Option<&Signers>,
    ) -> Result<Self, BundleError> {
        if let Some(versions) = Versions::of(folder) {
            return Self::open_signed(&versions.path(&versions.current()?), dictionary, signers);
        }
        let path = folder.join(MANIFEST);
        let text = lethe_learn::read_text(&path).map_err(|source| io(&path, source))?;
        if let Some(signers) = signers {
            signers.check(folder, text.as_bytes())?;
        }
        let manifest = BundleManifest::parse(&path, &text)?;
        let labels = match LabelSet::built_in_set(&manifest.labels) {
            Some(set) => set,
            None => {
                LabelSet::parse(&manifest.labels, "key `labels`").map_err(|error| BundleError::Manifest {
                    path: path.clone(),
                    message: format!(
                        "neither a set that ships ({}) nor one itself: {error}",
                        LabelSet::built_in_ids()
                    ),
                })?
            }
        };
        let mut members = Vec::with_capacity(manifest.members.len());
        for part in &manifest.members {
            let config = part.config(folder)?;
            let refused = |source| BundleError::Member {
                path: path.clone(),
                member: part.name.clone(),
                source: Box::new(source),
            };
            let found = config.digest().map_err(refused)?;
            if found != part.digest {
                let told = |digest: &Option<String>| digest.clone().unwrap_or_else(|| "missing".to_owned());
                return Err(BundleError::Digest {
                    path,
                    member: part.name.clone(),
                    found: told(&found),
                    expected: told(&part.digest),
                });
            }
            members.push(config.build(&labels, dictionary).map_err(refused)?);
        }
        let combiner = manifest.combiner(&labels, folder)?;
        Ok(Self {
            manifest,
            labels: Arc::new(labels),
            members,
            combiner,
        })
    }
}

impl BundleManifest {
    /// Reads a folder's page and checks its versions.
    ///
    /// # Errors
    /// [`BundleError`], but none about members.
    pub fn read(folder: &Path) -> Result<Self, BundleError> {
        let path = folder.join(MANIFEST);
        let text = lethe_learn::read_text(&path).map_err(|source| io(&path, source))?;
        Self::parse(&path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, BundleError> {
        let path = path.to_owned();
        let mut manifest: Self = toml::from_str(text).map_err(|error| BundleError::Manifest {
            path: path.clone(),
            message: error.to_string(),
        })?;
        for (what, found, expected) in [
            ("bundle format", manifest.format, BUNDLE_VERSION),
            ("tokenizer", manifest.tokenizer, TOKENIZER_VERSION),
        ] {
            if found != expected {
                return Err(BundleError::Version {
                    path,
                    what,
                    found,
                    expected,
                });
            }
        }
        let count = manifest.members.len();
        let message = if count == 0 || count > MemberSet::CAPACITY {
            Some(format!(
                "{count} members; a bundle has 1 to {}",
                MemberSet::CAPACITY
            ))
        } else {
            let same = |part: &&Part| {
                manifest
                    .members
                    .iter()
                    .filter(|other| other.name == part.name)
                    .count()
                    > 1
            };
            let twice = manifest.members.iter().find(same);
            twice.map(|part| format!("two members are called `{}`", part.name))
        };
        match message {
            Some(message) => Err(BundleError::Manifest { path, message }),
            None => {
                manifest.file_digest = Some(sha256(text.as_bytes()));
                Ok(manifest)
            }
        }
    }

    fn combiner(&self, labels: &LabelSet, folder: &Path) -> Result<Arc<dyn Combine>, BundleError> {
        let refused = |message| BundleError::Manifest {
            path: folder.join(MANIFEST),
            message,
        };
        match &self.combine {
            Rule::Voting(spec) => {
                let members: Vec<&str> = self.members.iter().map(|part| part.name.as_str()).collect();
                spec.combiner(labels, &members)
                    .map_err(|error| refused(format!("key `combine.{}`: {}", error.key, error.problem)))
            }
            Rule::Fitted {
                kind,
                digest,
                union_rules,
            } => {
                let path = folder.join(COMBINER);
                let bytes = lethe_learn::read(&path).map_err(|source| io(&path, source))?;
                let damaged = |message| BundleError::Manifest {
                    path: path.clone(),
                    message,
                };
                if sha256(&bytes) != *digest {
                    let told = "its digest is not the page's: it was cut short or altered; copy the bundle again or make it again";
                    return Err(damaged(told.to_owned()));
                }
                let fitted = Fitted::from_bytes(kind, &bytes, labels)
                    .ok_or_else(|| refused(format!("key `combine.kind`: there is no combiner `{kind}`")))?
                    .map_err(|error| damaged(error.to_string()))?;
                let due: Vec<&String> = fitted.members().iter().chain(union_rules).collect();
                if !due.iter().copied().eq(self.members.iter().map(|part| &part.name)) {
                    let mut told = format!("it was fitted on {}, in this order", fitted.members().join(", "));
                    if !union_rules.is_empty() {
                        told += &format!(", and key `combine.union_rules` adds {}", union_rules.join(", "));
                    }
                    return Err(damaged(told));
                }
                if !union_rules.is_empty() {
                    let own = fitted.members().len();
                    return Ok(Arc::new(UnionRules::new(fitted.combiner(), own)));
                }
                Ok(fitted.combiner())
            }
        }
    }
}

impl Part {
    /// Returns the member as an engine's configuration has it, its paths in the bundle's folder.
    ///
    /// # Errors
    /// [`BundleError::Manifest`], naming the member and the key.
    pub fn config(&self, folder: &Path) -> Result<MemberConfig, BundleError> {
        let mut table = self.member.clone();
        if let Some(toml::Value::String(path)) = table.get_mut("path") {
            *path = folder.join(&*path).to_string_lossy().into_owned();
        }
        if table.get("kind").and_then(toml::Value::as_str) == Some("model") {
            table.insert("name".to_owned(), self.name.clone().into());
        }
        table
            .try_into()
            .map_err(|error: toml::de::Error| BundleError::Manifest {
                path: folder.join(MANIFEST),
                message: format!("member `{}`: {}", self.name, error.message()),
            })
    }
}
