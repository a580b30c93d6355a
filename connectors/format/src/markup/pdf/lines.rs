//! Builds words, lines and paragraphs from glyphs.
//!
//! Writers draw text in reading order, column by column and cell by cell, so this order is kept. Consecutive
//! glyphs on a base line are a piece; a wide gap between two is a space, and pieces on the base line of the
//! previous one are cells of its line. Values of form fields are drawn last and are moved to their positions.

use std::cell::Cell;

use hayro_interpret::kurbo::Vec2;
use memchr::memmem;

use super::PdfError;
use super::glyphs::{Glyph, Page, Text};

/// A gap that exceeds the letter spacing of a piece by this many ems separates two words.
const WORD_GAP: f64 = 0.15;
/// Maximum gap of spaced letters, in ems.
const MAX_TRACKING: f64 = 0.5;
/// A gap of this many ems separates two cells.
const CELL_GAP: f64 = 1.0;
/// If the widest gap is less than this times the narrowest, the gaps are those of a justified line, not of
/// cells.
const EVEN: f64 = 1.3;
/// Maximum backward step of the next glyph, in ems.
const BACK: f64 = -0.6;
/// Maximum distance of raised and lowered letters from the base line, in ems.
const RAISED: f64 = 0.5;
/// Maximum distance of base lines of one line, in ems.
const SAME_LINE: f64 = 0.3;
/// Lines further apart than this, in ems, are separated by an empty line.
const PARAGRAPH: f64 = 1.9;
/// The separator of two cells, as in HTML.
const CELLS: &str = "  ";
/// Maximum comparisons to find the lines of a page's pieces, and per piece. A note's page takes hundreds;
/// thousands of pieces on one base line would take a quadratic number.
const MAX_COMPARISONS: usize = 1 << 20;
const PIECE_COMPARISONS: usize = 1 << 8;
/// Bytes of a page that are searched for the texts of its annotations. Further texts are added whether the
/// page shows them or not.
const MAX_SEARCHED: usize = 1 << 28;
/// The text of a single unknown glyph: a bullet, a box.
const UNKNOWN: char = '\u{fffd}';

/// Consecutive glyphs on a base line.
#[derive(Debug)]
struct Piece {
    text: String,
    /// Start and end along the base line.
    from: f64,
    to: f64,
}

#[derive(Debug)]
struct Line {
    along: Vec2,
    /// Position of the base line, growing downwards.
    base: f64,
    size: f64,
    /// Sorted by their start.
    pieces: Vec<Piece>,
}

/// The lines of a page.
#[derive(Debug)]
pub(super) struct Lines {
    lines: Vec<Line>,
    /// Remaining comparisons. Without any, a piece that does not follow the previous one starts a new line.
    left: usize,
    /// Texts that the page does not show.
    notes: Vec<String>,
}

impl Lines {
    /// # Errors
    /// [`PdfError::Unmapped`] for a word with unknown letters.
    pub(super) fn new(page: Page) -> Result<Self, PdfError> {
        let mut lines = Self {
            lines: Vec::new(),
            left: MAX_COMPARISONS,
            notes: Vec::new(),
        };
        let (content, annotations) = page.glyphs.split_at(page.annotations);
        for (glyphs, anywhere) in [(content, false), (annotations, true)] {
            for run in glyphs.chunk_by(goes_on) {
                lines.add(run, anywhere)?;
            }
        }
        Ok(lines)
    }

    fn add(&mut self, run: &[Glyph], anywhere: bool) -> Result<(), PdfError> {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            return Ok(());
        };
        let text = words(run)?;
        if text.trim().is_empty() {
            return Ok(());
        }
        let along = first.along;
        let sizes = run.iter().map(|glyph| glyph.size);
        let piece = Piece {
            text,
            from: along.dot(first.at.to_vec2()),
            to: along.dot(last.end.to_vec2()),
        };
        let line = Line {
            along,
            base: base(first),
            size: sizes.fold(0.0, f64::max),
            pieces: Vec::new(),
        };
        let candidates = if anywhere { self.lines.len() } else { 1 };
        let left = Cell::new(self.left.saturating_add(PIECE_COMPARISONS));
        let there = self
            .lines
            .iter_mut()
            .rev()
            .take(candidates)
            .take_while(|_| left.get() > 0)
            .find(|other| other.has_room(&line, &piece, &left));
        self.left = left.get();
        match there {
            Some(there) => {
                let at = there.pieces.partition_point(|other| other.from <= piece.from);
                there.pieces.insert(at, piece);
                there.size = there.size.max(line.size);
            }
            None => self.lines.push(Line {
                pieces: vec![piece],
                ..line
            }),
        }
        Ok(())
    }

    /// Adds texts of annotations that the page does not already show.
    pub(super) fn add_notes(&mut self, notes: &[String]) {
        let mut shown = String::new();
        let mut left = MAX_SEARCHED;
        for note in notes {
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            if shown.is_empty() {
                shown = self.lines.iter().map(|line| bare(&line.text())).collect();
            }
            let searched = left.checked_sub(shown.len());
            left = searched.unwrap_or(0);
            if searched.is_none() || memmem::find(shown.as_bytes(), bare(note).as_bytes()).is_none() {
                self.notes.push(note.replace("\r\n", "\n").replace('\r', "\n"));
            }
        }
    }

    /// Returns the page's text.
    pub(super) fn finish(self) -> String {
        let mut out = String::new();
        let mut last: Option<&Line> = None;
        for line in &self.lines {
            let text = line.text();
            match last.map(|last| last.step_to(line)) {
                None => out.push_str(&text),
                Some(step) if (0.0..PARAGRAPH).contains(&step) => join(&mut out, &text, "\n"),
                Some(_) => join(&mut out, &text, "\n\n"),
            }
            last = Some(line);
        }
        for note in &self.notes {
            if !out.is_empty() {
                out.push_str("\n\n");
            }
            out.push_str(note.trim());
        }
        out
    }
}

impl Line {
    /// Returns whether the piece belongs to this line and overlaps nothing there. Deducts the comparisons
    /// from `left`; without enough of them there is no room.
    fn has_room(&self, line: &Self, piece: &Piece, left: &Cell<usize>) -> bool {
        let size = self.size.min(line.size);
        left.set(left.get().saturating_sub(1));
        let is_near = (self.base - line.base).abs() <= SAME_LINE * size;
        if !(is_near && is_parallel(self.along, line.along)) {
            return false;
        }
        let Some(after) = left.get().checked_sub(self.pieces.len()) else {
            return false;
        };
        left.set(after);
        self.pieces.iter().all(|other| {
            let overlap = other.to.min(piece.to) - other.from.max(piece.from);
            overlap < SAME_LINE * size
        })
    }

    fn text(&self) -> String {
        let gaps = self.pieces.windows(2).filter_map(|pair| {
            let [one, next] = pair else { return None };
            Some((next.from - one.to) / self.size)
        });
        let (least, most) = gaps.clone().fold((f64::MAX, 0.0_f64), |(least, most), gap| {
            (least.min(gap), most.max(gap))
        });
        let justified = self.pieces.len() > 2 && most < EVEN * least;
        let mut out = String::new();
        for (piece, gap) in self.pieces.iter().zip(std::iter::once(0.0).chain(gaps)) {
            match gap {
                gap if gap >= CELL_GAP && !justified => out.push_str(CELLS),
                gap if gap >= WORD_GAP => out.push(' '),
                _ => {}
            }
            out.push_str(&piece.text);
        }
        let spaces = |gap: &str| if gap.len() > 1 { CELLS } else { " " }.to_owned();
        one_space(&out, spaces)
    }

    /// Returns the distance down to the next line, in ems; negative for one above, or in another direction.
    fn step_to(&self, next: &Self) -> f64 {
        if !is_parallel(self.along, next.along) {
            return -1.0;
        }
        (next.base - self.base) / self.size.max(next.size)
    }
}

/// Replaces each run of spaces with the output of `write`, except at both ends.
fn one_space(text: &str, write: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut gap = String::new();
    for c in text.trim().chars() {
        if c == ' ' {
            gap.push(c);
            continue;
        }
        if !gap.is_empty() {
            out.push_str(&write(&gap));
            gap.clear();
        }
        out.push(c);
    }
    out
}

/// Appends the next line with its separator. A word that a hyphen divides is joined, even over two columns;
/// before a capital the hyphen is part of the word (Smith-Jones).
fn join(out: &mut String, next: &str, between: &str) {
    let divided = out.strip_suffix('-').and_then(|word| word.chars().next_back());
    let first = next.chars().next();
    match (divided, first) {
        (Some(before), Some(first)) if before.is_alphabetic() && first.is_lowercase() => {
            out.pop();
        }
        (Some(before), Some(first)) if before.is_alphabetic() && first.is_alphabetic() => {}
        _ => out.push_str(between),
    }
    out.push_str(next);
}

/// Returns whether the second glyph continues at the end of the first.
fn goes_on(one: &Glyph, next: &Glyph) -> bool {
    let size = one.size.max(next.size);
    let gap = gap(one, next) / size;
    is_parallel(one.along, next.along)
        && (base(one) - base(next)).abs() <= RAISED * size
        && (BACK..CELL_GAP).contains(&gap)
}

fn is_parallel(one: Vec2, other: Vec2) -> bool {
    one.dot(other) > 0.99
}

/// Returns the position of the glyph's base line, growing downwards.
fn base(glyph: &Glyph) -> f64 {
    Vec2::new(-glyph.along.y, glyph.along.x).dot(glyph.at.to_vec2())
}

fn gap(one: &Glyph, next: &Glyph) -> f64 {
    one.along.dot(next.at - one.end)
}

/// Returns the text of a piece.
///
/// # Errors
/// [`PdfError::Unmapped`].
fn words(run: &[Glyph]) -> Result<String, PdfError> {
    let least = WORD_GAP + tracking(run);
    let mut out = String::with_capacity(run.len());
    // Whether the last glyph, without a gap after it, is a letter or unknown.
    let (mut letter, mut unknown) = (false, false);
    let mut last: Option<&Glyph> = None;
    for glyph in run {
        if let Some(last) = last
            && gap(last, glyph) / last.size.max(glyph.size) > least
        {
            out.push(' ');
            (letter, unknown) = (false, false);
        }
        last = Some(glyph);
        let is_letter = match &glyph.text {
            Text::Space => {
                out.push(' ');
                (letter, unknown) = (false, false);
                continue;
            }
            Text::Unmapped => {
                if letter || unknown {
                    return Err(PdfError::Unmapped);
                }
                out.push(UNKNOWN);
                (letter, unknown) = (false, true);
                continue;
            }
            Text::Char(c) => {
                out.push(*c);
                c.is_alphanumeric()
            }
            Text::Chars(chars) => {
                out.push_str(chars);
                chars.chars().any(char::is_alphanumeric)
            }
        };
        if is_letter && unknown {
            return Err(PdfError::Unmapped);
        }
        (letter, unknown) = (is_letter, false);
    }
    Ok(one_space(&out, |_| " ".to_owned()))
}

/// Returns the letter spacing of a piece, in ems.
fn tracking(run: &[Glyph]) -> f64 {
    let mut gaps: Vec<f64> = run
        .windows(2)
        .filter_map(|pair| {
            let [one, next] = pair else { return None };
            let letters = one.text != Text::Space && next.text != Text::Space;
            letters.then(|| gap(one, next) / one.size.max(next.size))
        })
        .collect();
    if gaps.len() < 3 {
        return 0.0;
    }
    gaps.sort_by(f64::total_cmp);
    let middle = gaps.get(gaps.len() / 2).copied().unwrap_or(0.0);
    if middle > MAX_TRACKING {
        return 0.0;
    }
    middle.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayro_interpret::kurbo::Point;

    /// Returns letters half an em wide from a position on, `?` for an unknown one, size 10.
    fn glyphs(x: f64, y: f64, text: &str) -> Vec<Glyph> {
        let places = (0_i32..).map(|i| x + f64::from(i) * 5.0);
        text.chars()
            .zip(places)
            .map(|(c, x)| Glyph {
                text: match c {
                    ' ' => Text::Space,
                    '?' => Text::Unmapped,
                    c => Text::Char(c),
                },
                at: Point::new(x, y),
                end: Point::new(x + 5.0, y),
                along: Vec2::new(1.0, 0.0),
                size: 10.0,
            })
            .collect()
    }

    fn text(content: &[Vec<Glyph>], annotations: &[Vec<Glyph>]) -> Result<String, PdfError> {
        let content = content.concat();
        let page = Page {
            annotations: content.len(),
            glyphs: [content, annotations.concat()].concat(),
        };
        Lines::new(page).map(Lines::finish)
    }

    #[test]
    fn gaps_part_words_and_cells() {
        let line = [
            glyphs(0.0, 0.0, "An"),
            glyphs(12.0, 0.0, "na"),
            glyphs(60.0, 0.0, "Voss"),
        ];
        assert_eq!(text(&line, &[]).as_deref(), Ok("An na  Voss"));
        let kerned = [glyphs(0.0, 0.0, "An"), glyphs(9.0, 0.0, "na")];
        assert_eq!(text(&kerned, &[]).as_deref(), Ok("Anna"));
        // Even gaps are those of a justified line.
        let justified = [
            glyphs(0.0, 0.0, "An"),
            glyphs(22.0, 0.0, "na"),
            glyphs(44.0, 0.0, "Voss"),
        ];
        assert_eq!(text(&justified, &[]).as_deref(), Ok("An na Voss"));
    }

    #[test]
    fn a_divided_word_is_one_word() {
        let lines = |one: &str, next: &str| text(&[glyphs(0.0, 0.0, one), glyphs(0.0, 12.0, next)], &[]);
        assert_eq!(lines("Quill-", "feather").as_deref(), Ok("Quillfeather"));
        assert_eq!(lines("Smith-", "Jones").as_deref(), Ok("Smith-Jones"));
        assert_eq!(lines("3 -", "4").as_deref(), Ok("3 -\n4"));
        let columns = [glyphs(0.0, 90.0, "Quill-"), glyphs(200.0, 0.0, "feather")];
        assert_eq!(text(&columns, &[]).as_deref(), Ok("Quillfeather"));
    }

    #[test]
    fn lines_far_apart_are_paragraphs() {
        let lines = [
            glyphs(0.0, 0.0, "a"),
            glyphs(0.0, 12.0, "b"),
            glyphs(0.0, 40.0, "c"),
            glyphs(99.0, 0.0, "d"),
        ];
        assert_eq!(text(&lines, &[]).as_deref(), Ok("a\nb\n\nc\n\nd"));
    }

    #[test]
    fn values_of_fields_go_to_their_lines() {
        let labels = [glyphs(0.0, 0.0, "Name:"), glyphs(0.0, 12.0, "Ward:")];
        let values = [glyphs(60.0, 12.0, "B2"), glyphs(60.0, 0.5, "Voss")];
        assert_eq!(text(&labels, &values).as_deref(), Ok("Name:  Voss\nWard:  B2"));
    }

    #[test]
    fn a_base_line_of_more_pieces_than_are_compared_loses_none() {
        let line = |count: i32| {
            let pieces = (0..count).map(|i| glyphs(f64::from(i) * 20.0, 0.0, "a"));
            text(&pieces.collect::<Vec<_>>(), &[]).unwrap()
        };
        assert_eq!(line(400).lines().count(), 1);
        // Pairwise, these would be twelve million.
        let many = line(5000);
        assert!(many.lines().count() > 1);
        assert_eq!(many.matches('a').count(), 5000);
    }

    #[test]
    fn letters_that_are_not_known_refuse_the_page_and_a_bullet_does_not() {
        for word in ["V?ss", "??", "?oss", "Vos?"] {
            assert_eq!(
                text(&[glyphs(0.0, 0.0, word)], &[]),
                Err(PdfError::Unmapped),
                "{word}"
            );
        }
        assert_eq!(
            text(&[glyphs(0.0, 0.0, "? Voss ?")], &[]).as_deref(),
            Ok("\u{fffd} Voss \u{fffd}")
        );
    }
}
