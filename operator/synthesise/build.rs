//! Compresses the files of `data`, together since they resemble each other.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use lethe_embedded::{Layout, embed};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=data");
    let data = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("data");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let (mut text, mut table) = (String::new(), String::new());
    for folder in sorted(&data)? {
        if !folder.is_dir() {
            continue;
        }
        for file in sorted(&folder)? {
            let start = text.len();
            text += &fs::read_to_string(&file)?;
            let name = file.strip_prefix(&data).map_err(io::Error::other)?;
            let name = name.to_string_lossy().replace('\\', "/");
            table += &format!("    ({name:?}, {start}..{}),\n", text.len());
        }
    }
    let texts = embed(&out.join("data.zst"), text.as_bytes(), Layout::Plain)?;
    let source = format!(
        "static TEXTS: lethe_embedded::Embedded = {texts};\nstatic FILES: &[(&str, Range<usize>)] = &[\n{table}];\n"
    );
    fs::write(out.join("data.rs"), source)
}

/// Returns what a folder contains, in order.
fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
