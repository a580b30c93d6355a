//! All differences as JSON lines, in the form that `lethe compare --other`, and with texts also `lethe evaluate` and
//! annotation tools, read: `doc_id`, `spans` in code points, and with --show-text `text`.

use std::io::Write;

use lethe_core::Span;
use lethe_corpus::Document;
use lethe_evaluate::Pointed;
use serde::Serialize;

use super::{Comparison, Kind};

#[derive(Serialize)]
struct Line<'a> {
    doc_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    spans: Vec<SpanOut<'a>>,
}

#[derive(Serialize)]
struct SpanOut<'a> {
    start: usize,
    end: usize,
    label: &'a str,
    /// The tool that has it.
    source: &'static str,
    difference: Kind,
    /// The number of the difference in its note: two spans that were compared with each other have the same.
    pair: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// Writes a line for each note with a difference.
///
/// # Errors
/// The system's error.
pub(crate) fn write_differences(
    comparison: &Comparison,
    texts: &[Document],
    show_text: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    for (at, note) in texts.iter().enumerate() {
        let mut spans = Vec::new();
        let here = comparison
            .differences
            .iter()
            .filter(|difference| difference.at == at);
        for (pair, difference) in here.enumerate() {
            let sides = [("lethe", &difference.lethe), ("other", &difference.other)];
            for (source, point) in sides {
                let Some(point) = point else { continue };
                let (start, end) = code_points(&note.text, point);
                spans.push(SpanOut {
                    start,
                    end,
                    label: &point.label,
                    source,
                    difference: difference.kind,
                    pair: pair + 1,
                    text: show_text.then(|| words(&note.text, point)),
                });
            }
        }
        if spans.is_empty() {
            continue;
        }
        spans.sort_by_key(|span| (span.start, span.end));
        let line = Line {
            doc_id: &note.id,
            text: show_text.then_some(&note.text),
            spans,
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

fn span(point: &Pointed) -> Span {
    let at = |at: u64| u32::try_from(at).unwrap_or(u32::MAX);
    Span::between(at(point.start), at(point.end))
}

fn words<'t>(text: &'t str, point: &Pointed) -> &'t str {
    span(point).of(text)
}

fn code_points(text: &str, point: &Pointed) -> (usize, usize) {
    let span = span(point);
    let before = Span::between(0, u32::try_from(span.start()).unwrap_or(u32::MAX));
    let start = before.of(text).chars().count();
    (start, start + span.of(text).chars().count())
}
