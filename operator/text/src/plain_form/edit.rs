//! Writes a text with some ranges replaced, and maps offsets back.

use std::ops::Range;

/// Copies a text piece by piece.
pub(super) struct Editor<'a> {
    old: &'a str,
    new: String,
    /// How much of the old text has been copied or replaced, in bytes.
    at: usize,
    edits: Edits,
}

impl<'a> Editor<'a> {
    pub(super) fn new(old: &'a str) -> Self {
        Self {
            old,
            new: String::new(),
            at: 0,
            edits: Edits::default(),
        }
    }

    /// Replaces a range of the old text, in bytes. Ranges come in order, do not overlap, and end on character
    /// boundaries.
    pub(super) fn replace(&mut self, range: Range<usize>, by: impl IntoIterator<Item = char>) {
        if self.new.capacity() == 0 {
            self.new.reserve(self.old.len());
        }
        self.copy_to(range.start);
        let start = self.new.len();
        self.new.extend(by);
        self.at = range.end;
        self.edits.push(start..self.new.len(), range);
    }

    /// Returns the new text and its edits; `None` if nothing was replaced.
    pub(super) fn finish(mut self) -> Option<(String, Edits)> {
        if self.edits.0.is_empty() {
            return None;
        }
        self.copy_to(self.old.len());
        Some((self.new, self.edits))
    }

    fn copy_to(&mut self, end: usize) {
        self.new.push_str(self.old.get(self.at..end).unwrap_or_default());
    }
}

/// Where a text was edited, in bytes.
#[derive(Debug, Default)]
pub(super) struct Edits(Vec<EditedAt>);

/// The bytes of the new text, and those of the old one that they replace. Notes have at most 4 GiB.
#[derive(Debug)]
struct EditedAt {
    new: Range<u32>,
    old: Range<u32>,
}

impl Edits {
    /// The memory of an edit.
    pub(super) const BYTES: usize = size_of::<EditedAt>();

    fn push(&mut self, new: Range<usize>, old: Range<usize>) {
        let narrow = |range: Range<usize>| range.start as u32..range.end as u32;
        self.0.push(EditedAt {
            new: narrow(new),
            old: narrow(old),
        });
    }

    /// Returns the number of edits.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the bytes of the old text that a range of the new one stands for.
    pub(super) fn original(&self, range: Range<usize>) -> Range<usize> {
        let (start, end) = (range.start as u32, range.end as u32);
        let before = |place: usize| place.checked_sub(1).and_then(|place| self.0.get(place));
        // Something that was removed in front of the start lies outside, as does something behind the end.
        let first = self.0.partition_point(|edit| edit.new.start <= start);
        let start = match before(first) {
            Some(edit) if start < edit.new.end => edit.old.start,
            Some(edit) => edit.old.end + (start - edit.new.end),
            None => start,
        };
        let last = self.0.partition_point(|edit| edit.new.start < end);
        let end = match before(last) {
            Some(edit) if end <= edit.new.end => edit.old.end,
            Some(edit) => edit.old.end + (end - edit.new.end),
            None => end,
        };
        start as usize..end.max(start) as usize
    }
}
