//! The bundles that are embedded in the program, so that a machine needs no other file.
//!
//! Configurations name such a bundle, as in `engine.bundle = "en-clinical"`; the paths of its files begin
//! with `shipped:` and do not exist on disk.

use std::path::{Path, PathBuf};
use std::thread;

use lethe_embedded::Embedded;

/// A file's path in its bundle, and its bytes.
pub type File = (&'static str, &'static [u8]);
/// A bundle's name, and its files.
type Bundle = (&'static str, &'static [(&'static str, &'static Embedded)]);

include!(concat!(env!("OUT_DIR"), "/bundles.rs"));

/// The prefix before a bundle's name in the paths of its files.
const SCHEME: &str = "shipped:";

/// The bundle that Lethe runs by default.
pub const DEFAULT: &str = "en-clinical";

/// Returns the names of the bundles.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUNDLES.iter().map(|(name, _)| *name)
}

/// Returns the folder of a bundle by its name; `None` if the program does not contain it.
pub fn folder(name: &str) -> Option<PathBuf> {
    names()
        .find(|known| *known == name)
        .map(|name| PathBuf::from(format!("{SCHEME}{name}")))
}

/// Returns whether a path belongs to a bundle that the program contains.
pub fn is_shipped(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(SCHEME))
}

/// Returns the file at a path of a shipped bundle; `None` if it does not exist.
pub fn file(path: &Path) -> Option<&'static [u8]> {
    let (bundle, file) = path.to_str()?.strip_prefix(SCHEME)?.split_once('/')?;
    let (_, files) = BUNDLES.iter().find(|(name, _)| *name == bundle)?;
    files
        .iter()
        .find(|(name, _)| *name == file)
        .map(|(_, embedded)| embedded.bytes())
}

/// Starts to decompress the files of a bundle's folder on another thread, so that they are ready when they
/// are read. Does nothing if the program does not contain the bundle.
pub fn prepare(folder: &Path) {
    if let Some(files) = files(folder) {
        // Without the thread, the first reader decompresses.
        drop(thread::Builder::new().spawn(|| files.for_each(drop)));
    }
}

/// Returns all files of a bundle's folder, each with its path in the bundle; `None` if the program does not
/// contain the bundle.
pub fn files(folder: &Path) -> Option<impl Iterator<Item = File> + use<>> {
    let name = folder.to_str()?.strip_prefix(SCHEME)?;
    let (_, files) = BUNDLES.iter().find(|(bundle, _)| *bundle == name)?;
    Some(files.iter().map(|(name, embedded)| (*name, embedded.bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_file_has_the_bytes_of_its_file() {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        for name in names() {
            for (file, bytes) in files(&folder(name).unwrap()).unwrap() {
                let there = std::fs::read(models.join(name).join(file)).unwrap();
                assert!(there == bytes, "{name}/{file}");
            }
        }
    }

    #[test]
    fn every_bundle_has_its_page_and_nothing_outside_is_a_file() {
        for name in names() {
            let folder = folder(name).unwrap();
            assert!(
                is_shipped(&folder) && file(&folder.join("bundle.toml")).is_some(),
                "{name}"
            );
            assert!(file(&folder.join("no such file")).is_none());
            let listed: Vec<&str> = files(&folder).unwrap().map(|(name, _)| name).collect();
            assert!(
                listed.contains(&"bundle.toml")
                    && listed.iter().all(|name| file(&folder.join(name)).is_some())
            );
        }
        assert!(names().any(|name| name == DEFAULT));
        assert!(folder("elsewhere").is_none());
        assert!(files(Path::new("models/en-clinical")).is_none());
        assert!(!is_shipped(Path::new("models/en-clinical")));
        assert!(file(Path::new("/etc/hosts")).is_none());
    }
}
