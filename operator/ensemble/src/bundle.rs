//! A bundle: members and their combination in one folder, which is complete or refused.
//!
//! `bundle.toml` names every member with the digest of the files that it reads. It leaves out members that
//! pruning dropped, so a stream never loads them.

mod copy;
mod dictionary;
mod manifest;
mod point;
mod swap;
mod union;
mod write;

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use lethe_core::{
    Combine, Engine, LabelSet, MemberSet, Merging, Redactor, TOKENIZER_VERSION, Tagger, UnionRules, VoteSpec,
    hex,
};
use lethe_dictionaries::{Dictionary, LazyDictionary, LoadError, exemption};
use lethe_members::registry::{BuildError, MemberConfig};

use sha2::{Digest as _, Sha256};

use crate::{Fitted, Signers, Versions};

pub(crate) use copy::copy;
pub use manifest::{BUNDLE_VERSION, BundleManifest, Measured, Part, Provenance, Rule};
pub use point::OperatingPoint;
pub use swap::{SwapError, swap};

/// The manifest's file.
const MANIFEST: &str = "bundle.toml";

/// The file of a fitted combiner.
const COMBINER: &str = "combiner.bin";

/// An opened bundle.
pub struct Bundle {
    /// Its manifest.
    pub manifest: BundleManifest,
    /// The label set of the decisions.
    pub labels: Arc<LabelSet>,
    /// The members, in the order of their votes.
    pub members: Vec<Arc<dyn Tagger>>,
    /// The combiner.
    pub combiner: Arc<dyn Combine>,
    /// The dictionary that its members read: the one that it carries, else the given one.
    pub dictionary: LazyDictionary,
}

/// Why a folder is not a usable bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The manifest is not that of a bundle.
    #[error("{}: {message}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// The problem, with line and key.
        message: String,
    },
    /// Another version wrote the bundle.
    #[error("{}: {what} {found}, but this program has {expected}; build the bundle again", path.display())]
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
    /// A member cannot be built.
    #[error("{}: member `{member}`: {source}", path.display())]
    Member {
        /// The manifest.
        path: PathBuf,
        /// The member.
        member: String,
        /// The reason.
        source: Box<BuildError>,
    },
    /// A member differs from the one that the bundle was built with.
    #[error("{}: member `{member}` is not the one that the bundle was built with: its digest is {found}, not {expected}; copy the bundle again or build it again", path.display())]
    Digest {
        /// The manifest.
        path: PathBuf,
        /// The member.
        member: String,
        /// The digest of its files.
        found: String,
        /// The digest in the manifest.
        expected: String,
    },
    /// The dictionary is not the one that the bundle was built with.
    #[error("{}: the bundle was built with the dictionary {expected}, but this one is {found}: its members' features would change; use that dictionary, or build the bundle again with this one (`--dictionary`)", path.display())]
    Dictionary {
        /// The dictionary's file, or the manifest if the bundle has no such file.
        path: PathBuf,
        /// The dictionary's digest.
        found: String,
        /// The digest in the manifest.
        expected: String,
    },
    /// The file of its dictionary is damaged.
    #[error("{}: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: LoadError,
    },
    /// The bundle does not have the operating point.
    #[error("{}: the bundle has no operating point `{point}`; it has {has}", path.display())]
    Point {
        /// The manifest.
        path: PathBuf,
        /// The point.
        point: OperatingPoint,
        /// The points that it has.
        has: String,
    },
    /// No trusted key signed it.
    #[error("{}: {why}; sign the bundle's manifest with `minisign -S -m bundle.toml`, or correct `signed_by`", path.display())]
    Signature {
        /// The signature's file.
        path: PathBuf,
        /// The problem with it.
        why: String,
    },
}

pub(crate) fn io(path: &Path, source: std::io::Error) -> BundleError {
    BundleError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Returns the SHA-256 in lower-case hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

impl Bundle {
    /// Opens a bundle's folder, or the current version in a folder of [`Versions`]. Refuses the whole bundle
    /// if a member is damaged or was replaced. `dictionary` is for bundles that carry none.
    ///
    /// # Errors
    /// [`BundleError`], naming manifest, member and digest.
    pub fn open(folder: &Path, dictionary: &Arc<Dictionary>) -> Result<Self, BundleError> {
        Self::open_signed(folder, &dictionary.into(), None)
    }

    /// Opens a bundle as [`Bundle::open`] does, if one of `signers` signed it. Members are opened side by
    /// side; each waits for the dictionary only when it needs it. The given one is not loaded if the bundle carries
    /// its own.
    ///
    /// # Errors
    /// [`BundleError`], naming the signature if that is the problem.
    pub fn open_signed(
        folder: &Path,
        given: &LazyDictionary,
        signers: Option<&Signers>,
    ) -> Result<Self, BundleError> {
        if let Some(versions) = Versions::of(folder) {
            return Self::open_signed(&versions.path(&versions.current()?), given, signers);
        }
        if !dictionary::has_own(folder) {
            given.prepare();
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
                        "neither a built-in set ({}) nor a label set: {error}",
                        LabelSet::built_in_ids()
                    ),
                })?
            }
        };
        let own = manifest.own_dictionary(folder)?;
        let dictionary = &own.unwrap_or_else(|| given.clone());
        // Reading and preparing weights is most of the start of a program that redacts one note.
        let opened = thread::scope(|scope| {
            let labels = &labels;
            let open = |part| scope.spawn(move || Self::open_member(part, folder, labels, dictionary));
            let threads: Vec<_> = manifest.members.iter().map(open).collect();
            threads
                .into_iter()
                .map(|thread| thread.join())
                .collect::<Vec<_>>()
        });
        manifest.check_dictionary(&path, &dictionary.get())?;
        let members = opened
            .into_iter()
            .map(|member| member.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect::<Result<_, _>>()?;
        let combiner = manifest.combiner(&labels, folder)?;
        manifest.check_points(&labels, &path)?;
        Ok(Self {
            manifest,
            labels: Arc::new(labels),
            members,
            combiner,
            dictionary: dictionary.clone(),
        })
    }

    /// Builds a member of the bundle in this folder, if its files are the ones that the bundle was built with.
    fn open_member(
        part: &Part,
        folder: &Path,
        labels: &LabelSet,
        dictionary: &LazyDictionary,
    ) -> Result<Arc<dyn Tagger>, BundleError> {
        let config = part.config(folder)?;
        let refused = |source| BundleError::Member {
            path: folder.join(MANIFEST),
            member: part.name.clone(),
            source: Box::new(source),
        };
        let found = config.digest().map_err(refused)?;
        if found != part.digest {
            let told = |digest: &Option<String>| digest.clone().unwrap_or_else(|| "missing".to_owned());
            return Err(BundleError::Digest {
                path: folder.join(MANIFEST),
                member: part.name.clone(),
                found: told(&found),
                expected: told(&part.digest),
            });
        }
        config.build_lazily(labels, dictionary).map_err(refused)
    }

    /// Creates the bundle's engine. Predictions of its members are not merged: they know their corpus' own
    /// boundaries.
    pub fn into_engine(self, redactor: Redactor) -> Engine {
        let merging = Merging {
            whole: Merging::names(&self.labels),
            ..Merging::none(&self.labels)
        };
        Engine::new(self.labels, self.members, self.combiner, merging, redactor)
            .exempting(Some(exemption(&self.dictionary.get())))
    }
}

impl BundleManifest {
    /// Reads a folder's manifest and checks its versions.
    ///
    /// # Errors
    /// [`BundleError`], except those about members.
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

    /// Returns the combiner of a vote, which the manifest has under `key`.
    fn vote(
        &self,
        vote: &VoteSpec,
        labels: &LabelSet,
        path: &Path,
        key: &str,
    ) -> Result<Arc<dyn Combine>, BundleError> {
        let members: Vec<&str> = self.members.iter().map(|part| part.name.as_str()).collect();
        vote.combiner(labels, &members)
            .map_err(|error| BundleError::Manifest {
                path: path.to_owned(),
                message: format!("key `{key}.{}`: {}", error.key, error.problem),
            })
    }

    fn combiner(&self, labels: &LabelSet, folder: &Path) -> Result<Arc<dyn Combine>, BundleError> {
        let refused = |message| BundleError::Manifest {
            path: folder.join(MANIFEST),
            message,
        };
        match &self.combine {
            Rule::Voting(spec) => self.vote(spec, labels, &folder.join(MANIFEST), "combine"),
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
                    let told = "its digest is not the one in the manifest: it was cut short or altered; copy the bundle again or build it again";
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
    /// Returns the member as an engine's configuration describes it, with paths in the bundle's folder.
    ///
    /// # Errors
    /// [`BundleError::Manifest`], naming the member and the key.
    pub fn config(&self, folder: &Path) -> Result<MemberConfig, BundleError> {
        let mut table = self.member.clone();
        // A bundle comes from elsewhere: it must neither run programs here nor send notes anywhere.
        if let Some(key) = ["process", "service"]
            .into_iter()
            .find(|key| table.contains_key(*key))
        {
            return Err(BundleError::Manifest {
                path: folder.join(MANIFEST),
                message: format!(
                    "member `{}`: key `{key}`: a bundle cannot start or ask a tool; list the members in `engine.members` instead",
                    self.name
                ),
            });
        }
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
