//! Replaces ranges of a text, and maps offsets back.

use std::ops::Range;

/// A range of a text, in bytes, and what replaces it.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) to: String,
}

impl Edit {
    pub(super) const fn remove(range: Range<usize>) -> Self {
        Self {
            range,
            to: String::new(),
        }
    }
}

/// A text after its edits.
#[derive(Debug)]
pub(super) struct Edited {
    text: String,
    /// For each edit, the bytes of the new text and those of the old one.
    places: Vec<(Range<usize>, Range<usize>)>,
}

impl Edited {
    /// Applies edits that are in order, on character boundaries, and do not overlap.
    pub(super) fn new(old: &str, edits: Vec<Edit>) -> Self {
        let (mut text, mut at) = (String::with_capacity(old.len()), 0);
        let mut places = Vec::with_capacity(edits.len());
        for Edit { range, to } in edits {
            text.push_str(old.get(at..range.start).unwrap_or_default());
            let start = text.len();
            text.push_str(&to);
            at = range.end;
            places.push((start..text.len(), range));
        }
        text.push_str(old.get(at..).unwrap_or_default());
        Self { text, places }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the bytes of the old text that a range of the new one stands for.
    pub(super) fn original(&self, range: Range<usize>) -> Range<usize> {
        let before = |place: usize| place.checked_sub(1).and_then(|place| self.places.get(place));
        // Something that was removed in front of the start lies outside, as does something behind the end.
        let first = self.places.partition_point(|(new, _)| new.start <= range.start);
        let start = match before(first) {
            Some((new, old)) if range.start < new.end => old.start,
            Some((new, old)) => old.end + (range.start - new.end),
            None => range.start,
        };
        let last = self.places.partition_point(|(new, _)| new.start < range.end);
        let end = match before(last) {
            Some((new, old)) if range.end <= new.end => old.end,
            Some((new, old)) => old.end + (range.end - new.end),
            None => range.end,
        };
        start..end.max(start)
    }
}
