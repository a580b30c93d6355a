//! `lethe show` and `lethe explain`: what was found in a note, and why.

use std::io::Write as _;

use anyhow::Context as _;
use lethe_core::Engine;

use super::documents::{built, create, print as print_report};
use crate::cli::{ExplainArgs, NoteArgs, ShowNoteArgs};
use crate::exit::usage;
use crate::looking::{Looked, Occurrence, difference, explain as why, look, note, page};
use crate::redact::read_note;

/// Shows a note.
pub(crate) fn show(args: &ShowNoteArgs) -> anyhow::Result<()> {
    with(&args.note, |looked, name| {
        if let Some(path) = &args.html {
            let mut out = create(path)?;
            out.write_all(page(looked, name)?.as_bytes())?;
            return Ok(out.flush()?);
        }
        if args.note.json {
            return print_report(true, &looked.json(), String::new);
        }
        print(&if args.diff {
            difference(looked)?
        } else {
            note(looked)?
        })
    })
}

/// Explains the decisions about a word.
pub(crate) fn explain(args: &ExplainArgs) -> anyhow::Result<()> {
    if args.word.trim().is_empty() {
        return Err(usage(
            "WORD: is empty; give a word, or several in quotes, as the note has them",
        ));
    }
    with(&args.note, |looked, name| {
        let places = why(looked, &args.word);
        if places.is_empty() {
            anyhow::bail!("{name}: the word does not occur; it must be written as in the note");
        }
        if args.note.json {
            return print_report(true, &places, String::new);
        }
        let places: Vec<String> = places.iter().map(Occurrence::to_string).collect();
        print(&places.join("\n"))
    })
}

/// Writes to standard output, with colours where somebody sees them.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

fn with(args: &NoteArgs, then: impl FnOnce(&Looked<'_>, &str) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let built = built(&args.engine)?;
    let engine: &Engine = &built.engine;
    let name = args.path.display().to_string();
    let text = read_note(&args.path, args.format).with_context(|| name.clone())?;
    let (trace, redacted) = look(engine, &text).with_context(|| name.clone())?;
    let looked = Looked {
        engine,
        text: &text,
        trace: &trace,
        redacted: &redacted,
    };
    then(&looked, &name)
}
