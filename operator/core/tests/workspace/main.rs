//! Tests of the workspace as a whole: its manifests, its sources, and the documents that describe them.

#![allow(clippy::expect_used, reason = "test helpers may panic, as tests may")]

mod crates;
mod doc_tests;
mod unsafe_code;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the workspace")
}

/// Returns the Rust sources below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of the workspace") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if path.is_dir() && !path.is_symlink() {
            if name != "target" && !name.starts_with('.') {
                found.extend(sources(&path));
            }
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
    found
}
