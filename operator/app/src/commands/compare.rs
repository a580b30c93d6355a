//! `lethe compare`: another tool's spans against Lethe's, without gold.

use std::io::Write as _;

use lethe_corpus::{OffsetUnit as Unit, read_spans};

use super::documents::{built, create, print};
use crate::cli::{CompareToolArgs, MissingNotes, OffsetUnit};
use crate::compare::{Compared, Labels, Notes, Resampling, align, compare, page, table, write_differences};
use crate::exit::{Coded, Failure, usage};
use crate::interrupt;
use crate::progress::Progress;
use crate::redact::Inputs;

/// Compares and prints the result.
pub(crate) fn run(args: &CompareToolArgs) -> anyhow::Result<()> {
    interrupt::end_at_once("the comparison was not written");
    // All of it first: an error there would come after the work on the notes.
    let (format, other) = read_spans(&args.other, args.format.map(|format| format.0)).map_err(usage)?;
    let built = built(&args.engine)?;
    let engine = &*built.engine;
    let labels = Labels::new(engine.labels(), &args.map)?;
    let inputs = Inputs::list(&args.notes, &args.glob, args.notes_format, None)?;
    let mut progress = Progress::start("comparing", "notes", None);
    let notes = Notes::read(&inputs, engine, &mut |count| progress.add(count))?;
    progress.finish();
    let unit = match args.offsets {
        OffsetUnit::CodePoint => Unit::CodePoint,
        OffsetUnit::Byte => Unit::Byte,
        OffsetUnit::Utf16 => Unit::Utf16,
    };
    let empty = args.missing == MissingNotes::Empty;
    let sides = align(notes, &other, &args.other, unit, empty)?;
    if sides.lethe.is_empty() {
        return Err(found(&sides.notes).unwrap_or_else(|| {
            Coded(
                Failure::Found,
                "nothing to compare: there are no notes".to_owned(),
            )
            .into()
        }));
    }
    let resampling = Resampling {
        resamples: args.resamples,
        seed: args.seed,
    };
    let comparison = compare(&sides, engine.labels(), labels, format, resampling)?;
    let limited = comparison.limited(args.examples, args.show_text.then_some(&sides.lethe));
    let text = table(&limited)?;
    print(args.json, &limited, || text)?;
    if let Some(path) = &args.html {
        let mut out = create(path)?;
        out.write_all(page(&comparison, &sides.lethe).as_bytes())?;
        out.flush()?;
    }
    if let Some(path) = &args.differences {
        write_differences(&comparison, &sides.lethe, args.show_text, &mut create(path)?)?;
    }
    found(&sides.notes).map_or(Ok(()), Err)
}

/// Returns the error of a comparison that does not cover all notes of both sides.
fn found(notes: &Compared) -> Option<anyhow::Error> {
    let left_out = match notes.missing_are_empty {
        true => 0,
        false => notes.missing.len(),
    };
    if !notes.failed.is_empty() {
        let message = format!(
            "{} inputs could not be compared; they are named above",
            notes.failed.len()
        );
        return Some(Coded(Failure::Runtime, message).into());
    }
    (left_out + notes.unknown.len() > 0).then(|| {
        let such_as = |names: &[String]| {
            names
                .first()
                .map_or_else(String::new, |name| format!(" (such as `{name}`)"))
        };
        let message = format!(
            "compared {} notes; {left_out} have no entry in the other tool's spans{}, and {} of its entries are for unknown notes{}",
            notes.compared,
            such_as(if left_out > 0 { &notes.missing } else { &[] }),
            notes.unknown.len(),
            such_as(&notes.unknown)
        );
        Coded(Failure::Found, message).into()
    })
}
