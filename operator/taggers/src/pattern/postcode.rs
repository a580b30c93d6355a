//! Postcodes with letters: `SW1A 2AA`, `K1A 0B1`.

use lethe_text::postcode::{is_british, is_british_form, is_canadian};

use super::lexicon::class;
use super::place::is_asked_for;
use super::scan::{Gap, Scan};
use super::spoken::is_stage;
use super::{Hits, Kind};

/// The most tokens of one half of a postcode, "SW", "1", "A", or of one that has no blank.
const MOST: usize = 6;

/// Adds the postcode that begins with token `i`, the first of a run of letters and digits without blanks.
pub(crate) fn at(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if s.tok(i).len > 2 || !s.tok(i + 1).digits() {
        return;
    }
    let end = run(s, i);
    let first = s.text(i, end);
    if (5..=7).contains(&first.len()) {
        // Without its blank it looks like the number of a device or a lot.
        let asked = is_asked_for(s, i, out);
        if is_british(first) || is_canadian(first) && !is_stage(first) || asked && is_british_form(first) {
            out.push(i, end, Kind::Zip, if asked { 0.9 } else { 0.7 }, "zip.solid");
        }
        return;
    }
    let next = end + 1;
    if !(2..=4).contains(&first.len()) || s.tok(next).gap != Gap::Blank || !s.tok(next).digits() {
        return;
    }
    let last = run(s, next);
    let second = s.text(next, last);
    if second.len() != 3 {
        return;
    }
    let mut solid = [0; 7];
    let length = first.len() + 3;
    solid[..first.len()].copy_from_slice(first);
    solid[first.len()..length].copy_from_slice(second);
    let solid = &solid[..length];
    let known = is_british(solid) || is_canadian(solid);
    if known || is_british_form(solid) && (is_asked_for(s, i, out) || ends_address(s, i, last)) {
        out.push(i, last, Kind::Zip, 0.9, "zip.letters");
    }
}

/// Returns the last token of the run of letters and digits that begins with token `i`; a longer run than any
/// postcode's is cut.
fn run(s: &Scan<'_>, i: usize) -> usize {
    (i..i + MOST)
        .find(|&at| !s.tok(at + 1).glued_word())
        .unwrap_or(i + MOST)
}

/// Returns whether nothing else stands on a line, or only what ends with a comma or a town.
fn ends_address(s: &Scan<'_>, first: usize, last: usize) -> bool {
    let before = s.before(first, 1);
    s.ends_line(last) && (s.tok(first).starts_line() || before.mark(b',') || before.is(class::STREET))
}
