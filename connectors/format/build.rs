//! Compresses the table of FHIR's elements.

use std::path::PathBuf;
use std::{env, fs, io};

use lethe_embedded::{Layout, embed};

const ELEMENTS: &str = "src/fhir/elements.tsv";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={ELEMENTS}");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let elements = embed(&out.join("elements.zst"), &fs::read(ELEMENTS)?, Layout::Plain)?;
    fs::write(
        out.join("elements.rs"),
        format!("static ELEMENTS: lethe_embedded::Embedded = {elements};\n"),
    )
}
