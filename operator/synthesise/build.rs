//! Compresses the files of `data`, together since they resemble each other.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use lethe_embedded::{Layout, embed};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=data");
    let data = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("data");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let (mut text, mut table) = (String::new(), String::new());
    for file in files_of(&data)? {
        let name = file.strip_prefix(&data).map_err(io::Error::other)?;
        let name = name.to_string_lossy().replace('\\', "/");
        // The guide for authors.
        if name == "README.md" {
            continue;
        }
        let start = text.len();
        text += &fs::read_to_string(&file)?;
        table += &format!("    ({name:?}, {start}..{}),\n", text.len());
    }
    let texts = embed(&out.join("data.zst"), text.as_bytes(), Layout::Plain)?;
    let source = format!(
        "static TEXTS: lethe_embedded::Embedded = {texts};\nstatic FILES: &[(&str, Range<usize>)] = &[\n{table}];\n"
    );
    fs::write(out.join("data.rs"), source)
}

/// Returns the files of a folder and of those in it, in order.
fn files_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(files_of(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}
