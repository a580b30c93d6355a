//! Compiles the bundled lists, so that the program contains its dictionary and needs no source tree.

// This build script uses only a part of it.
#![allow(dead_code, unreachable_pub, missing_docs)]

use std::path::Path;
use std::{env, fs};

#[path = "src/builtin.rs"]
mod builtin;
#[path = "src/compile.rs"]
mod compile;
#[path = "src/format.rs"]
mod format;
#[path = "src/key.rs"]
mod key;
#[path = "src/near.rs"]
mod near;
#[path = "src/source.rs"]
mod source;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = env::var("CARGO_MANIFEST_DIR")?;
    let root = Path::new(&root);
    println!("cargo::rerun-if-changed=lists");
    println!("cargo::rerun-if-changed=src");
    let lists = builtin::LISTS
        .iter()
        .map(|id| source::List::read(&root.join("lists").join(id)))
        .collect::<Result<Vec<_>, _>>()?;
    let out = Path::new(&env::var("OUT_DIR")?).join("builtin.dictionary");
    fs::write(out, compile::compile(&lists)?)?;
    Ok(())
}
