//! `lethe redact`: a text, or documents, in; redacted out.

use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::Context as _;
use lethe_core::{Engine, NoteBatch};

use super::documents::{create, explain, process, recipe};
use crate::cli::{InputFormat, RedactArgs};

/// Keys of a document whose content is the note's or the patient's own: they do not leave with it.
const WITHHELD: [&str; 2] = ["known", "spans"];

/// Redacts a text, or the text of each document.
pub(crate) fn run(args: &RedactArgs) -> anyhow::Result<()> {
    let recipe = recipe(args.config.as_deref(), args.bundle.as_deref())?;
    if args.format == InputFormat::Text {
        return text(&recipe.engine, &args.input, &args.output);
    }
    let documents = process(
        &recipe.engine,
        &args.input,
        &args.output,
        &|engine, batch, row, outcome, document| {
            let redacted = engine
                .redact(batch, row, outcome)
                .map_err(|code| anyhow::anyhow!(explain(code)))?;
            for key in WITHHELD {
                document.shift_remove(key);
            }
            document.insert("text".to_owned(), redacted.into());
            Ok(())
        },
    )?;
    tracing::info!("{documents} documents redacted");
    Ok(())
}

fn text(engine: &Engine, input: &Path, output: &Path) -> anyhow::Result<()> {
    let name = input.display();
    let mut bytes = Vec::new();
    let read = match input == Path::new("-") {
        true => std::io::stdin().lock().read_to_end(&mut bytes),
        false => std::fs::File::open(input).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    read.with_context(|| format!("cannot read {name}"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        anyhow::anyhow!("{name}: not UTF-8 from byte {}", error.utf8_error().valid_up_to())
    })?;
    let batch = NoteBatch::from_texts([text.as_str()])?;
    let redacted = engine
        .redact(&batch, 0, &engine.decide(&batch)[0])
        .map_err(|code| anyhow::anyhow!("{name}: {}", explain(code)))?;
    let mut output = create(output)?;
    output.write_all(redacted.as_bytes())?;
    Ok(output.flush()?)
}
