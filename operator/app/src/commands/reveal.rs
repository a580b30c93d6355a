//! `lethe reveal`: reverses encrypted and vault-coded replacements.

use std::io::Write as _;

use lethe_policy::{Revealer, Whose};

use super::documents::{create, read_text};
use crate::cli::RevealArgs;
use crate::config::{PolicySource, refused};
use crate::exit::usage;

/// Prints a text with all reversible replacements reversed.
pub(crate) fn run(args: &RevealArgs) -> anyhow::Result<()> {
    let policy = PolicySource::read(&args.policy)?;
    let origin = args.policy.display().to_string();
    let revealer = Revealer::new(&policy.file, &origin).map_err(refused)?;
    let whose = match (&args.patient, &args.note) {
        (Some(id), _) => match &args.authority {
            Some(authority) => Whose::PatientOf { authority, id },
            None => Whose::Patient(id),
        },
        (None, Some(id)) => Whose::Note(id),
        (None, None) => return Err(usage("the note is unknown: give `--patient` or `--note`")),
    };
    let text = read_text(&args.input)?;
    let (text, count) = revealer.reveal(&text, whose)?;
    let mut output = create(&args.output)?;
    output.write_all(text.as_bytes())?;
    output.flush()?;
    tracing::info!("{count} values revealed");
    Ok(())
}
