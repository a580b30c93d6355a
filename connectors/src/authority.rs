//! The authorities that a client over HTTPS trusts, from a file of its configuration.

use std::path::Path;

use reqwest::Certificate;

/// Reads a file of certificates, PEM. No error shows what is in the file.
///
/// # Errors
/// Names the file and says what is wrong with it.
pub(crate) fn read(path: &Path) -> Result<Vec<Certificate>, String> {
    let pem = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Certificate::from_pem_bundle(&pem)
        .ok()
        .filter(|certificates| !certificates.is_empty())
        .ok_or_else(|| format!("{}: holds no certificate in PEM", path.display()))
}
