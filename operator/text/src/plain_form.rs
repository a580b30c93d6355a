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

use edit::{Editor, Edits};
use scan::Scan;

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
    text: String,
    /// The edits of each step that had some; each step reads what the one before it wrote.
    steps: Vec<Edits>,
}

impl PlainForm {
    /// Returns the plain form of a text, or `None` for a text without disguised characters. Takes linear time;
    /// ordinary text is only scanned.
    pub fn of(text: &str) -> Option<Self> {
        let scan = Scan::of(text);
        if scan.is_plain() {
            return None;
        }
        let mut form = Self {
            text: String::new(),
            steps: Vec::new(),
        };
        let mut differs = false;
        if scan.entities {
            differs |= form.step(text, |text, editor| {
                entities::decode(text, editor);
                true
            });
        }
        if scan.characters || !form.steps.is_empty() {
            differs |= form.step(text, characters::replace);
        }
        // What has been replaced may be part of a spaced or broken number.
        let edited = !form.steps.is_empty();
        if scan.spaced || edited {
            differs |= form.step(text, |text, editor| {
                spacing::join(text, editor);
                true
            });
        }
        if scan.broken || edited {
            differs |= form.step(text, |text, editor| {
                breaks::join(text, editor);
                true
            });
        }
        differs.then_some(form)
    }

    /// Edits the text so far, which is the original before the first edit. Returns whether `edit` changed how it reads.
    fn step(&mut self, original: &str, edit: impl FnOnce(&str, &mut Editor<'_>) -> bool) -> bool {
        let text = if self.steps.is_empty() {
            original
        } else {
            &self.text
        };
        let mut editor = Editor::new(text);
        let differs = edit(text, &mut editor);
        let Some((text, edits)) = editor.finish() else {
            return false;
        };
        self.text = text;
        self.steps.push(edits);
        differs
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        let edits: usize = self.steps.iter().map(Edits::len).sum();
        self.text.len() + edits * Edits::BYTES
    }

    /// Returns the bytes of the original that a range of [`PlainForm::text`] stands for. Ends within something
    /// that was replaced as a whole, such as an entity, are moved outwards. An invisible character at an end
    /// stays outside.
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        self.steps
            .iter()
            .rev()
            .fold(range, |range, edits| edits.original(range))
    }
}

#[cfg(test)]
mod tests;
