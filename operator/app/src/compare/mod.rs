//! Compares another tool's spans with Lethe's on the same notes, without gold: `lethe compare`.
//!
//! `notes.rs` reads the notes and finds Lethe's spans, `labels.rs` maps the other tool's labels to categories of
//! Lethe's, `score.rs` counts, and the others write the result. Only the page, and the lists on request, contain
//! words of a note.

mod differences;
mod html;
mod labels;
mod notes;
mod score;
mod table;

use std::path::Path;

use lethe_corpus::{Document, NoteSpans, OffsetUnit};
use lethe_evaluate::{Estimate, Pointed};
use serde::Serialize;

pub(crate) use differences::write_differences;
pub(crate) use html::page;
pub(crate) use labels::{Labels, Mapped};
pub(crate) use notes::Notes;
pub(crate) use score::{Resampling, compare};
pub(crate) use table::table;

/// The comparison. Serialised, it is the JSON format `lethe-comparison`, version 1: new fields may appear, but no
/// field is renamed or changes its meaning without a higher version.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) format: &'static str,
    pub(crate) version: u32,
    /// The format of the other tool's spans.
    pub(crate) other: &'static str,
    pub(crate) notes: Compared,
    pub(crate) spans: Spans,
    /// Code points.
    pub(crate) characters: Characters,
    pub(crate) agreement: Agreement,
    /// Pairs of labels that overlap, and labels that only one side has, the most frequent first.
    pub(crate) labels: Vec<LabelPair>,
    /// The other tool's labels.
    pub(crate) mapping: Vec<Mapped>,
    /// The first differences of each kind.
    pub(crate) differences: Vec<Difference>,
    /// The number of all differences.
    pub(crate) all_differences: u64,
}

/// Which notes were compared.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Compared {
    pub(crate) compared: u64,
    /// Notes of which the other tool has nothing.
    pub(crate) missing: Vec<String>,
    /// Whether these count as notes without spans.
    pub(crate) missing_are_empty: bool,
    /// Ids of the other tool that mean none of the notes, or several.
    pub(crate) unknown: Vec<String>,
    /// Inputs that could not be read, with the reasons.
    pub(crate) failed: Vec<(String, String)>,
}

/// Spans by what the other side has there. `same` and `partly` count pairs.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Spans {
    pub(crate) lethe: u64,
    pub(crate) other: u64,
    /// The same start and end.
    pub(crate) same: u64,
    /// Of these, with labels of different categories.
    pub(crate) other_category: u64,
    /// A common character, but not the same start and end.
    pub(crate) partly: u64,
    pub(crate) only_lethe: u64,
    pub(crate) only_other: u64,
}

/// Characters that are covered.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Characters {
    pub(crate) both: u64,
    pub(crate) only_lethe: u64,
    pub(crate) only_other: u64,
}

/// F1 of the two tools, which is the same whichever of them is taken as right: twice the number in common by the sum
/// of both. It is the positive specific agreement.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Agreement {
    /// Spans with the same start, end and category.
    pub(crate) strict: Estimate,
    /// Spans with the same start and end.
    pub(crate) span: Estimate,
    /// Spans with a common character, one to one.
    pub(crate) overlap: Estimate,
    /// Covered characters.
    pub(crate) character: Estimate,
    /// The share of Lethe's characters that the other tool covers.
    pub(crate) of_lethe: Estimate,
    /// The share of the other tool's characters that Lethe covers.
    pub(crate) of_other: Estimate,
}

/// Two labels, and how often they met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct LabelPair {
    pub(crate) lethe: Option<String>,
    pub(crate) other: Option<String>,
    /// Pairs with the same start and end; of a single label, its spans.
    pub(crate) same: u64,
    pub(crate) partly: u64,
}

/// Kinds of differences, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    OnlyOther,
    OnlyLethe,
    Partly,
    Label,
}

impl Kind {
    /// Returns the kind in words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::OnlyOther => "only the other tool",
            Self::OnlyLethe => "only Lethe",
            Self::Partly => "other start or end",
            Self::Label => "other category",
        }
    }
}

/// A difference. Offsets are bytes of the note's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Difference {
    /// The note's place among those that were compared.
    #[serde(skip)]
    pub(crate) at: usize,
    pub(crate) note: String,
    pub(crate) kind: Kind,
    /// The line at which it begins, from 1.
    pub(crate) line: u64,
    pub(crate) lethe: Option<Pointed>,
    pub(crate) other: Option<Pointed>,
    /// The words that one or the other covers, on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

/// The two sides, note by note, with categories as labels.
pub(crate) struct Sides {
    pub(crate) lethe: Vec<Document>,
    pub(crate) other: Vec<Document>,
    pub(crate) notes: Compared,
}

/// Places the other tool's spans in the notes.
///
/// # Errors
/// Names file, line and note of the first span that does not lie in its note, and of a note that was given twice.
pub(crate) fn align(
    mut notes: Notes,
    other: &[NoteSpans],
    path: &Path,
    unit: OffsetUnit,
    missing_are_empty: bool,
) -> anyhow::Result<Sides> {
    let mut theirs: Vec<Option<Document>> = vec![None; notes.documents.len()];
    let mut unknown = Vec::new();
    // One file with one note, and one note: the file need not name it.
    let only = matches!(other, [one] if !one.named) && notes.documents.len() == 1;
    for spans in other {
        let found = notes.find(&spans.id).or(only.then_some(0));
        let Some((at, note)) = found.and_then(|at| Some((at, notes.documents.get(at)?))) else {
            unknown.push(spans.id.clone());
            continue;
        };
        let context = |error: &dyn std::fmt::Display| anyhow::anyhow!("{error} (note `{}`)", note.id);
        let mut marks = spans.place(&note.text, unit).map_err(|error| context(&error))?;
        for mark in &mut marks {
            // Tools include blanks around a name in their spans.
            let trimmed = mark.span.trimmed(&note.text);
            if !trimmed.is_empty() {
                mark.span = trimmed;
            }
        }
        let document = Document {
            marks,
            ..note.clone()
        };
        if let Some(slot) = theirs.get_mut(at)
            && slot.replace(document).is_some()
        {
            return Err(context(&format!(
                "{}, line {}: spans of a note that has some already, under another name",
                path.display(),
                spans.line
            )));
        }
    }
    let mut sides = Sides {
        lethe: Vec::new(),
        other: Vec::new(),
        notes: Compared {
            missing_are_empty,
            unknown,
            failed: std::mem::take(&mut notes.failed),
            ..Compared::default()
        },
    };
    for (lethe, other) in notes.documents.into_iter().zip(theirs) {
        if other.is_none() {
            sides.notes.missing.push(lethe.id.clone());
        }
        let empty = || Document {
            marks: Vec::new(),
            ..lethe.clone()
        };
        let other = other.or_else(|| missing_are_empty.then(empty));
        if let Some(other) = other {
            sides.lethe.push(lethe);
            sides.other.push(other);
        }
    }
    sides.notes.compared = sides.lethe.len() as u64;
    Ok(sides)
}

#[cfg(test)]
mod tests;
