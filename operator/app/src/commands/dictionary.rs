//! `lethe dictionary`: compiles lists into a dictionary file.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lethe_core::hex;
use lethe_dictionaries::{Dictionary, List, builtin_lists, compile, lists_of};

use serde::Serialize;

use super::documents::print;
use crate::cli::DictionaryBuildArgs;
use crate::exit::usage;

/// Compiles the lists of folders into one dictionary.
pub(crate) fn build(args: &DictionaryBuildArgs) -> anyhow::Result<()> {
    let mut lists = if args.builtin || args.language.is_some() {
        builtin_lists().context("the built-in lists")?
    } else {
        Vec::new()
    };
    if let Some(language) = &args.language {
        lists.extend(lists_of(language).context("the built-in lists")?);
    }
    for folder in &args.lists {
        for list in list_folders(folder)? {
            lists.push(List::read(&list).map_err(usage)?);
        }
    }
    let bytes = compile(&lists).map_err(usage)?;
    // Loaded before it is written: a file that cannot be loaded is worse than none.
    let dictionary =
        Dictionary::from_bytes(bytes.clone()).context("the compiled dictionary does not load")?;
    std::fs::write(&args.output, &bytes)
        .with_context(|| format!("cannot write {}", args.output.display()))?;
    let built = Built {
        file: args.output.display().to_string(),
        lists: lists.len(),
        entries: dictionary.len() as u64,
        bytes: bytes.len(),
        digest: hex(dictionary.digest()),
    };
    print(args.json, &built, || {
        let Built {
            file,
            lists,
            entries,
            bytes,
            digest,
        } = &built;
        format!(
            "{file}: {lists} lists, {entries} entries, {bytes} bytes, digest {digest}\nset `engine.dictionary` in the configuration to this file\n"
        )
    })
}

/// A dictionary, as it is printed.
#[derive(Serialize)]
struct Built {
    file: String,
    lists: usize,
    entries: u64,
    bytes: usize,
    digest: String,
}

/// Returns the folders inside a folder of lists, sorted by name.
fn list_folders(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| usage(format!("{}: {error}", folder.display())))?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    if folders.is_empty() {
        return Err(usage(format!(
            "{} has no lists; each list is a folder in it",
            folder.display()
        )));
    }
    Ok(folders)
}
