//! Results of Presidio's analyzer: `start`, `end` (code points), `entity_type`, `score`.
//!
//! `POST /analyze` returns a list for one text, without a note id. So a file is a list for the note of its name; or
//! an object with a list for each note id; or JSON lines or a list of objects with `note_id` and the list, as
//! `results`:
//!
//! ```json
//! {"a": [{"entity_type": "PERSON", "start": 0, "end": 3, "score": 0.85}], "b": []}
//! {"note_id": "a", "results": [{"entity_type": "PERSON", "start": 0, "end": 3, "score": 0.85}]}
//! ```

use super::json::Form;

pub(super) const FORM: Form = Form {
    list: &["results", "analyzer_results", "recognizer_results"],
    start: "start",
    end: "end",
    label: &["entity_type"],
    text: None,
    text_of_note: Some("text"),
    by_line: false,
};
