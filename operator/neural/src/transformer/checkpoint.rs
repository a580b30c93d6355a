//! A checkpoint's folder, and the errors of an unusable one.

use std::path::{Path, PathBuf};

use lethe_core::hex;
use sha2::{Digest as _, Sha256};

use super::config_json::ConfigJson;
use super::family::Shape;

/// The files of a checkpoint that are read.
pub const FILES: [&str; 3] = ["config.json", "model.safetensors", "tokenizer.json"];

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransformerError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A key of `config.json` is missing, or its value is not supported.
    #[error("{}: key `{key}` {problem}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The problem with it.
        problem: String,
    },
    /// A file has another format than its name says, or was truncated.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        problem: String,
    },
    /// A tensor is missing, or differs from its description in `config.json`.
    #[error("{}: tensor `{tensor}` {problem}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// The problem with it.
        problem: String,
    },
    /// The tokenizer cannot be used.
    #[error("{}: {problem}", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        problem: String,
    },
    /// A setting does not match the checkpoint or the label set.
    #[error("member `{member}`: key `{key}`: {problem}")]
    Setting {
        /// The member's name.
        member: String,
        /// The setting.
        key: &'static str,
        /// The problem with it.
        problem: String,
    },
}

/// An opened checkpoint folder.
pub(super) struct Checkpoint {
    pub(super) folder: PathBuf,
    pub(super) shape: Shape,
    /// `model.safetensors`.
    pub(super) weights: Vec<u8>,
}

impl Checkpoint {
    /// Reads `config.json` and `model.safetensors`, whose SHA-256 must be `digest` if that is given.
    pub(super) fn read(folder: &Path, digest: Option<&str>) -> Result<Self, TransformerError> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|source| TransformerError::Io { path, source })
        };
        let config_json = ConfigJson {
            path: folder.join("config.json"),
            keys: serde_json::from_slice(&read("config.json")?).map_err(|error| TransformerError::File {
                path: folder.join("config.json"),
                problem: format!("not a JSON object: {error}"),
            })?,
        };
        let (shape, weights) = (Shape::of(&config_json)?, read("model.safetensors")?);
        if digest.is_some_and(|digest| !digest.eq_ignore_ascii_case(&digest_of(&weights))) {
            return Err(TransformerError::File {
                path: folder.join("model.safetensors"),
                problem: "its SHA-256 is not the configured `digest`".to_owned(),
            });
        }
        Ok(Self {
            folder: folder.to_owned(),
            shape,
            weights,
        })
    }

    /// Returns an error about a key of `config.json`.
    pub(super) fn fault(&self, key: &str, problem: &str) -> TransformerError {
        TransformerError::Config {
            path: self.folder.join("config.json"),
            key: key.to_owned(),
            problem: problem.to_owned(),
        }
    }
}

/// Returns the SHA-256 in hexadecimal.
fn digest_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns the SHA-256 over the digests of a checkpoint's files.
pub(super) fn fingerprint(folder: &Path) -> Result<String, TransformerError> {
    let mut digests = String::new();
    for name in FILES {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).map_err(|source| TransformerError::Io { path, source })?;
        digests.push_str(&digest_of(&bytes));
    }
    Ok(digest_of(digests.as_bytes()))
}
