//! Reads the certificate authorities that an HTTPS client trusts.

use std::path::{Path, PathBuf};

use reqwest::Certificate;

/// Why a file of certificate authorities cannot be used. It shows nothing of the file's content.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthorityError {
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: std::io::Error },
    #[error("{}: holds no certificate in PEM", path.display())]
    NoCertificate { path: PathBuf },
}

/// Reads a file of PEM certificates.
///
/// # Errors
/// [`AuthorityError`] if the file cannot be read or holds no certificate.
pub(crate) fn read(path: &Path) -> Result<Vec<Certificate>, AuthorityError> {
    let pem = std::fs::read(path).map_err(|error| AuthorityError::Io {
        path: path.to_owned(),
        error,
    })?;
    Certificate::from_pem_bundle(&pem)
        .ok()
        .filter(|certificates| !certificates.is_empty())
        .ok_or_else(|| AuthorityError::NoCertificate {
            path: path.to_owned(),
        })
}
