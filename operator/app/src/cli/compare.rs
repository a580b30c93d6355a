//! The options of `lethe compare`.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use lethe_corpus::SpanFormat;

use super::{EngineArgs, OffsetUnit};
use crate::redact::FileKind;

#[derive(Args)]
pub(crate) struct CompareToolArgs {
    /// The other tool's spans for the same notes: a file, or a folder with a file for each note
    #[arg(long, value_name = "FILE")]
    pub(crate) other: PathBuf,
    /// The format of the other tool's spans. By default, their content determines it
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ToolFormat>,
    /// What the other tool's offsets count
    #[arg(long, default_value = "code-point")]
    pub(crate) offsets: OffsetUnit,
    /// Compare the other tool's label as this label or category of Lethe's; drop its spans if nothing follows
    /// the `=`
    #[arg(long, value_name = "THEIRS=OURS", value_delimiter = ',', value_parser = label_map)]
    pub(crate) map: Vec<(String, String)>,
    /// How to treat notes of which the other tool has nothing
    #[arg(long, default_value = "leave-out")]
    pub(crate) missing: MissingNotes,
    /// The number of differences of each kind to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) examples: usize,
    /// Show the words of differences, which identify patients, in the list and in --differences
    #[arg(long)]
    pub(crate) show_text: bool,
    /// Write a page to this file, with each difference in its context; it contains text of the notes
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write all differences to this file, as JSON lines of notes with their spans
    #[arg(long, value_name = "FILE")]
    pub(crate) differences: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The number of resamples for each interval; 0 for no intervals
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    pub(crate) resamples: usize,
    /// The seed of the resamples
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Read only files of folders and archives that match this pattern, such as `*.txt`; with `!` before it,
    /// leave them out
    #[arg(short, long, value_name = "GLOB")]
    pub(crate) glob: Vec<String>,
    /// The format of all notes. By default, the extension and the first bytes of each file determine it
    #[arg(long, value_name = "FORMAT")]
    pub(crate) notes_format: Option<FileKind>,
    /// The notes: text, Markdown, HTML, RTF, PDF, DOCX, e-mails or JSON lines; files, folders, archives, buckets as
    /// `lethe redact` reads them, or `-` for standard input
    #[arg(value_name = "NOTES", required = true)]
    pub(crate) notes: Vec<PathBuf>,
}

/// What becomes of a note of which the other tool has nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissingNotes {
    /// Count and name them, compare the others, and exit with 4
    LeaveOut,
    /// Take them as notes in which the tool found nothing, for tools that omit these
    Empty,
}

/// A format of another tool's spans.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolFormat(pub(crate) SpanFormat);

impl ValueEnum for ToolFormat {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                Self(SpanFormat::Jsonl),
                Self(SpanFormat::Presidio),
                Self(SpanFormat::Comprehend),
                Self(SpanFormat::Philter),
                Self(SpanFormat::Brat),
            ]
        }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self.0 {
            SpanFormat::Jsonl => {
                "JSON lines of notes with `spans`, such as the output of `lethe annotate`, or of spans"
            }
            SpanFormat::Presidio => "Results of Presidio's analyzer",
            SpanFormat::Comprehend => "Results of Amazon Comprehend Medical's DetectPHI",
            SpanFormat::Philter => "Philter's XML, and XML in the layout of the 2014 i2b2 track",
            SpanFormat::Brat => "brat's `.ann`",
            _ => "",
        };
        Some(PossibleValue::new(self.0.name()).help(help))
    }
}

/// Parses `THEIRS=OURS`.
fn label_map(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((theirs, ours)) if !theirs.is_empty() => Ok((theirs.to_owned(), ours.to_owned())),
        _ => Err("expected THEIRS=OURS, such as `PERSON=PATIENT`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_can_be_named() {
        let named: Vec<SpanFormat> = ToolFormat::value_variants().iter().map(|one| one.0).collect();
        assert_eq!(named, SpanFormat::all().collect::<Vec<_>>());
    }
}
