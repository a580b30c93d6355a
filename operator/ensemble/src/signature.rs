//! Verifies a bundle's signature, which lies next to its manifest, with keys that the user trusts.
//!
//! The manifest has the digests of all files that the bundle reads, so its signature covers every byte.
//! Signatures are those of minisign: Ed25519 (RFC 8032) over the BLAKE2b-512 digest (RFC 7693) of the
//! manifest.

use std::path::{Path, PathBuf};

use minisign_verify::{PublicKey, Signature};

use crate::BundleError;

/// The signature's file in a bundle's folder.
pub const SIGNATURE: &str = "bundle.toml.minisig";

/// Keys, any of which may have signed a bundle.
#[derive(Clone, Debug)]
pub struct Signers {
    keys: Vec<PublicKey>,
    /// The key files, for messages.
    names: String,
}

impl Signers {
    /// Reads the files of public keys, as minisign writes them.
    ///
    /// # Errors
    /// [`BundleError::Io`] for a file that cannot be read, [`BundleError::Manifest`] for a file that is not a
    /// key, or if there are no keys.
    pub fn read(paths: &[PathBuf]) -> Result<Self, BundleError> {
        let mut keys = Vec::with_capacity(paths.len());
        for path in paths {
            let text = std::fs::read_to_string(path).map_err(|source| crate::bundle::io(path, source))?;
            let key = PublicKey::decode(&text).map_err(|_| BundleError::Manifest {
                path: path.clone(),
                message: "is not a minisign public key".to_owned(),
            })?;
            keys.push(key);
        }
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        Ok(Self {
            keys,
            names: names.join(", "),
        })
    }

    /// Checks that one of them signed a folder's manifest.
    ///
    /// # Errors
    /// [`BundleError::Signature`], naming the signature's file.
    pub(crate) fn check(&self, folder: &Path, manifest: &[u8]) -> Result<(), BundleError> {
        let path = folder.join(SIGNATURE);
        let refused = |why: String| BundleError::Signature {
            path: path.clone(),
            why,
        };
        let text = std::fs::read_to_string(&path)
            .map_err(|error| refused(format!("{error}, and only signed bundles are trusted")))?;
        let signature =
            Signature::decode(&text).map_err(|_| refused("is not a minisign signature".to_owned()))?;
        // Old versions signed without the digest, so that a manifest and a signature's comment could be
        // confused.
        let signed = |key: &PublicKey| key.verify(manifest, &signature, false).is_ok();
        if self.keys.iter().any(signed) {
            return Ok(());
        }
        Err(refused(format!(
            "it does not match the manifest, or none of the keys made it: {}",
            self.names
        )))
    }
}
