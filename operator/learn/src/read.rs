//! Reads files of models and bundles from disk or from the program.

use std::borrow::Cow;
use std::io;
use std::path::Path;

/// Returns the bytes of a file.
///
/// # Errors
/// As [`std::fs::read`]; [`io::ErrorKind::NotFound`] for a file that a built-in bundle does not have.
pub fn read(path: &Path) -> io::Result<Cow<'static, [u8]>> {
    if lethe_bundles::is_shipped(path) {
        let bytes = lethe_bundles::file(path);
        return bytes
            .map(Cow::Borrowed)
            .ok_or_else(|| io::ErrorKind::NotFound.into());
    }
    std::fs::read(path).map(Cow::Owned)
}

/// Returns a file as text.
///
/// # Errors
/// As [`read`], and [`io::ErrorKind::InvalidData`] for text that is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read(path)?.into_owned();
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8"))
}
