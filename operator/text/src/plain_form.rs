//! The plain form of a text: what a person reads where its characters are disguised.
//!
//! Zero-width characters within a word, letters of another script that look Latin, full-width digits, HTML
//! entities, letters with spaces between them and numbers that a line end breaks read as usual to a person,
//! and as something else to a program. They come from web pages, scanners and PDF files, and from people who
//! want to pass a filter. A [`PlainForm`] is a copy without them, with the place of every byte in the original.

mod breaks;
mod characters;
mod edit;
mod entities;
mod lookalikes;
mod scan;
mod spacing;

use std::ops::Range;

use edit::Edited;

/// A text without disguised characters, and the mapping of its offsets to those of the original.
///
/// # Examples
///
/// ```
/// use lethe_text::PlainForm;
///
/// let original = "Seen: J&#111;hn, tel. ５５５-０１４２";
/// let plain = PlainForm::of(original).expect("a disguised text");
/// assert_eq!(plain.text(), "Seen: John, tel. 555-0142");
/// assert_eq!(original.get(plain.original(6..10)), Some("J&#111;hn"));
/// assert!(PlainForm::of("Seen: John, tel. 555-0142").is_none());
/// ```
#[derive(Debug)]
pub struct PlainForm {
    /// The text after each step; each reads what the one before it wrote.
    steps: [Edited; 3],
}

impl PlainForm {
    /// Returns the plain form of a text, or `None` for a text without disguised characters. Takes linear time;
    /// ordinary text is only scanned.
    pub fn of(text: &str) -> Option<Self> {
        if !scan::may_differ(text) {
            return None;
        }
        let entities = entities::edits(text);
        let has_entities = !entities.is_empty();
        let decoded = Edited::new(text, entities);
        let (characters, differs) = characters::edits(decoded.text());
        let visible = Edited::new(decoded.text(), characters);
        let mut joins = spacing::joins(visible.text());
        joins.append(&mut breaks::joins(visible.text()));
        if !has_entities && !differs && joins.is_empty() {
            return None;
        }
        joins.sort_by_key(|edit| edit.range.start);
        let joined = Edited::new(visible.text(), joins);
        Some(Self {
            steps: [decoded, visible, joined],
        })
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        let [_, _, joined] = &self.steps;
        joined.text()
    }

    /// Returns the bytes of the original that a range of [`PlainForm::text`] stands for. Ends within something
    /// that was replaced as a whole, such as an entity, are moved outwards. An invisible character at an end
    /// stays outside.
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        self.steps
            .iter()
            .rev()
            .fold(range, |range, step| step.original(range))
    }
}

#[cfg(test)]
mod tests;
