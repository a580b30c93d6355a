//! Compiles and compresses the bundled lists, so that the program contains them and needs no source tree.

// This build script uses only a part of it.
#![allow(dead_code, unreachable_pub, missing_docs)]

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::{env, fs};

use flate2::Compression;
use flate2::write::ZlibEncoder;

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
    fs::write(
        out.join("builtin.dictionary.zst"),
        zstd::bulk::compress(&dictionary, 19)?,
    )?;
    fs::write(
        out.join("builtin.rs"),
        format!("const BUILTIN_LEN: usize = {};\n", dictionary.len()),
    )?;
    let mut texts = format!("static TEXTS: [Text; {}] = [\n", builtin::LISTS.len());
    for id in builtin::LISTS {
        let [items, exceptions] = ["items", "exceptions"].map(|name| {
            let to = out.join(format!("{id}-{name}"));
            deflate(&root.join("lists").join(id).join(format!("{name}.txt")), &to)?;
            Ok::<_, Box<dyn Error>>(format!("Deflated::new(include_bytes!({to:?}))"))
        });
        texts += &format!(
            "Text {{ list: {id:?}, items: {}, exceptions: {} }},\n",
            items?, exceptions?
        );
    }
    fs::write(out.join("texts.rs"), texts + "];\n")?;
    Ok(())
}

/// Deflates a file; a missing one becomes an empty one.
fn deflate(file: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let mut out = fs::File::create(to)?;
    if file.exists() {
        let mut encoder = ZlibEncoder::new(out, Compression::best());
        encoder.write_all(&fs::read(file)?)?;
        out = encoder.finish()?;
    }
    Ok(out.sync_data()?)
}
