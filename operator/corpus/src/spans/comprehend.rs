//! Results of Amazon Comprehend Medical's DetectPHI: `Entities` with `BeginOffset`, `EndOffset` (code points),
//! `Type`, `Score` and `Text`. Those of Comprehend's DetectPiiEntities, which have no `Text`, are read, too.
//!
//! A response has no note id. So a file is a response for the note of its name (a batch job writes `NAME.txt.out`
//! for each `NAME.txt`); or an object with a response for each note id; or JSON lines or a list of objects with
//! `note_id` and `Entities`.

use super::json::Form;

pub(super) const FORM: Form = Form {
    list: &["Entities"],
    start: "BeginOffset",
    end: "EndOffset",
    label: &["Type"],
    text: Some("Text"),
    text_of_note: None,
    by_line: false,
};
