//! The clinical terms of a chunk of texts, counted from its notes and its audit.

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt32Type;
use lethe_core::{NoteBatch, Processed, RowKind, Span};

use crate::clinical::{ClinicalTerms, TermCounts};

/// Counts the clinical terms of a chunk's notes, and those that its audit covers.
pub(super) fn terms_of(terms: &ClinicalTerms, batch: &NoteBatch, processed: &Processed) -> TermCounts {
    let audit = processed.audit.record();
    let number = |name| audit.column_by_name(name)?.as_primitive_opt::<UInt32Type>();
    let labels = audit
        .column_by_name("label")
        .and_then(|column| column.as_string_opt::<i32>());
    let record = processed.redacted.record();
    let redactions = record
        .column_by_name("redactions")
        .and_then(|column| column.as_primitive_opt::<UInt32Type>());
    let (Some(starts), Some(ends), Some(labels), Some(redactions)) =
        (number("start"), number("end"), labels, redactions)
    else {
        return TermCounts::default();
    };
    let mut next = 0;
    let notes = (0..record.num_rows()).filter_map(|row| {
        let end = next + redactions.value(row) as usize;
        let spans = (next..end).map(|at| {
            let span = Span::between(starts.value(at), ends.value(at));
            (span, labels.value(at))
        });
        let spans: Vec<(Span, &str)> = spans.collect();
        next = end;
        (batch.row_kind(row) == RowKind::Note).then(|| (batch.note(row), spans))
    });
    terms.count(notes)
}
