//! Generates a table of the files of the bundles that are embedded in the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use lethe_embedded::{Layout, embed};

/// Folders of `models/`.
const BUNDLES: [&str; 2] = ["en-clinical", "en-fast"];

fn main() -> io::Result<()> {
    let models = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../models");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut table = String::from("static BUNDLES: &[Bundle] = &[\n");
    // Bundles share members; the program contains equal files once.
    let mut contents: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let mut statics = String::new();
    for bundle in BUNDLES {
        let folder = models.join(bundle);
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        walk(&folder, "", &mut files)?;
        files.sort();
        table += &format!("    ({bundle:?}, &[\n");
        for (name, path) in files {
            let next = contents.len();
            let bytes = fs::read(&path)?;
            let number = match contents.get(&bytes) {
                Some(&number) => number,
                None => {
                    statics += &declaration(&out, next, &path, &bytes)?;
                    contents.insert(bytes, next);
                    next
                }
            };
            table += &format!("        ({name:?}, &FILE_{number}),\n");
        }
        table.push_str("    ]),\n");
    }
    table.push_str("];\n");
    fs::write(out.join("bundles.rs"), statics + &table)
}

/// Compresses a file and returns its declaration.
fn declaration(out: &Path, number: usize, path: &Path, bytes: &[u8]) -> io::Result<String> {
    // A network's file is mostly numbers of half precision.
    let layout = if path.extension().is_some_and(|end| end == "safetensors") {
        Layout::Halves
    } else {
        Layout::Plain
    };
    let file = embed(&out.join(format!("{number}.zst")), bytes, layout)?;
    Ok(format!("static FILE_{number}: Embedded = {file};\n"))
}

/// Collects the files below a folder, by their path in the bundle; Markdown files are left out.
fn walk(folder: &Path, within: &str, into: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let inside = if within.is_empty() {
            name.clone()
        } else {
            format!("{within}/{name}")
        };
        if path.is_dir() {
            walk(&path, &inside, into)?;
        } else if !name.ends_with(".md") {
            into.push((inside, path.canonicalize()?));
        }
    }
    Ok(())
}
