//! Compiles and compresses the bundled lists, so that the program contains them and needs no source tree.

// This build script uses only a part of it.
#![allow(dead_code, unreachable_pub, missing_docs)]

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use lethe_embedded::{Layout, embed};

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

fn main() -> Result<(), Box<dyn Error>> {
    let root = env::var("CARGO_MANIFEST_DIR")?;
    let root = Path::new(&root);
    println!("cargo::rerun-if-changed=lists");
    println!("cargo::rerun-if-changed=src");
    let lists = builtin::LISTS
        .iter()
        .map(|id| source::List::read(&root.join("lists").join(id)))
        .collect::<Result<Vec<_>, _>>()?;
    let out = env::var("OUT_DIR")?;
    let out = Path::new(&out);
    let dictionary = compile::compile(&lists)?;
    let dictionary = embed(&out.join("builtin.zst"), &dictionary, Layout::Plain)?;
    fs::write(
        out.join("builtin.rs"),
        format!("static BUILTIN: lethe_embedded::Embedded = {dictionary};\n"),
    )?;
    let all = || builtin::LISTS.iter().chain(builtin::FURTHER);
    let mut texts = format!("static TEXTS: [Text; {}] = [\n", all().count());
    for id in all() {
        let [source, items, exceptions] = ["SOURCE.toml", "items.txt", "exceptions.txt"].map(|name| {
            let file = root.join("lists").join(id).join(name);
            // Not every list has exceptions.
            let text = if file.exists() {
                fs::read(file)?
            } else {
                Vec::new()
            };
            embed(&out.join(format!("{id}-{name}.zst")), &text, Layout::Plain)
        });
        texts += &format!(
            "Text {{ list: {id:?}, source: {}, items: {}, exceptions: {} }},\n",
            source?, items?, exceptions?
        );
    }
    fs::write(out.join("texts.rs"), texts + "];\n")?;
    Ok(())
}
