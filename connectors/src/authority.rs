//! Reads the certificate authorities that an HTTPS client trusts.

use std::path::Path;

use reqwest::Certificate;

/// Reads a file of PEM certificates. No error shows the content of the file.
///
/// # Errors
/// Names the file and the problem.
pub(crate) fn read(path: &Path) -> Result<Vec<Certificate>, String> {
    let pem = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Certificate::from_pem_bundle(&pem)
        .ok()
        .filter(|certificates| !certificates.is_empty())
        .ok_or_else(|| format!("{}: holds no certificate in PEM", path.display()))
}
