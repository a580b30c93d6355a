//! JSON lines of spans, in two forms that may be mixed:
//!
//! ```json
//! {"note_id": "a", "spans": [{"start": 0, "end": 3, "label": "NAME", "score": 0.9}]}
//! {"note_id": "b", "start": 10, "end": 14, "label": "DATE"}
//! ```
//!
//! The first is the output of `lethe annotate` (`doc_id` or `note_id`, with `text`), which may leave out the text;
//! the second has one span on each line. A span may have its `text`, which is then checked.

use super::json::Form;

pub(super) const FORM: Form = Form {
    list: &["spans"],
    start: "start",
    end: "end",
    label: &["label", "entity", "type"],
    text: Some("text"),
    text_of_note: Some("text"),
    by_line: true,
};
