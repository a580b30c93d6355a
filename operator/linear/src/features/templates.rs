//! Templates of context: features of a token's position, its field, its run, its hits and its neighbours.

use std::ops::Range;

use super::hash::{self, feature, pair};
use super::hits::Hits;
use super::intern::Interned;
use super::layout::Place;
use super::spelling::Form;
use super::words::Word;

/// The most combinations of a token.
pub(super) const COMBINED: usize = 16;

/// Returns the bucket of a distance, with increasing widths.
fn bucket(n: u16) -> u64 {
    match n {
        0..=5 => u64::from(n),
        6..=7 => 6,
        8..=11 => 7,
        12..=19 => 8,
        20..=39 => 9,
        40..=99 => 10,
        _ => 11,
    }
}

/// Adds the gaps between a token and its neighbours.
pub(super) fn push_gaps(table: &mut Interned<'_>, place: &Place) {
    let (before, after) = (place.before as u64, place.after as u64);
    table.push(hash::mix((before | after << 4) + 1), |out| {
        out.push(feature(100, before));
        out.push(feature(101, after));
        out.push(feature(102, pair(before, after)));
    });
}

/// Adds a token's position in its line, and the line's in the note. Separate from the gaps: together they
/// would have many types.
pub(super) fn push_layout(tables: &mut [Interned<'_>; 2], place: &Place) {
    let (from_start, to_end) = (bucket(place.from_start), bucket(place.to_end).min(6));
    let (above, below) = (u64::from(place.line.min(24)), bucket(place.lines_after).min(9));
    let [first, second] = tables;
    first.push(hash::mix((from_start | below << 4) + 1), |out| {
        out.push(feature(103, from_start));
        out.push(feature(106, below));
        out.push(feature(107, pair(below, from_start)));
    });
    second.push(hash::mix((to_end | above << 4) + 1), |out| {
        out.push(feature(104, to_end));
        out.push(feature(105, above));
    });
}

pub(super) fn push_field(table: &mut Interned<'_>, place: &Place) {
    let since = bucket(place.since).min(9);
    let flags = u64::from(place.in_key) | since << 1;
    let line = bucket(place.from_start).min(6);
    let near = place.from_start < 12;
    let first2 = if near { place.first2 } else { 0 };
    let key = hash::all([place.key2, place.head, place.section, first2, flags | line << 8]);
    table.push(key, |out| {
        out.push(feature(110, place.key));
        out.push(feature(111, place.key2));
        out.push(feature(112, pair(place.key2, flags)));
        out.push(feature(113, pair(place.head, u64::from(place.in_key))));
        out.push(feature(114, place.section));
        out.push(feature(115, pair(place.section, pair(place.head, since))));
        out.push(feature(116, u64::from(place.in_key)));
        out.push(feature(117, flags));
        if near {
            out.push(feature(118, pair(place.first, line)));
            out.push(feature(119, pair(place.first2, line)));
        }
    });
}

pub(super) fn push_chunk(table: &mut Interned<'_>, place: &Place) {
    let part = u64::from(place.in_chunk);
    let length = u64::from(place.chunk_len.min(12));
    let marks = u64::from(place.chunk_marks);
    let key = hash::all([place.chunk, part | length << 8 | marks << 16]);
    table.push(key, |out| {
        out.push(feature(120, pair(length, part)));
        if place.chunk != 0 {
            out.push(feature(121, place.chunk));
            out.push(feature(123, pair(marks, part)));
            out.push(feature(122, pair(place.chunk, part)));
        }
    });
}

pub(super) fn push_cue(table: &mut Interned<'_>, place: &Place, form: Form) {
    if place.cue == 0 || place.since_cue > 15 {
        table.push(9, |_| {});
        return;
    }
    let since = u64::from(place.since_cue);
    let key = hash::all([place.cue, place.cue_lists, since << 8 | form as u64]);
    table.push(key, |out| {
        out.push(feature(160, place.cue_lists));
        out.push(feature(
            161,
            pair(place.cue_lists, pair(since.min(6), form as u64)),
        ));
        out.push(feature(162, place.cue));
        out.push(feature(163, pair(place.cue, since.min(3))));
        out.push(feature(164, pair(place.cue, form as u64)));
    });
}

/// Adds the tokens' hits, in the note's order.
pub(super) fn push_hits(table: &mut Interned<'_>, tokens: usize, hits: &mut Hits) {
    hits.sort_unstable();
    hits.dedup();
    let mut rest = hits.as_slice();
    for i in 0..tokens as u32 {
        let own = rest.iter().take_while(|hit| hit.0 == i).count();
        let key = rest[..own].iter().fold(7, |key, hit| pair(key, hit.1));
        table.push(key, |out| out.extend(rest[..own].iter().map(|hit| hit.1)));
        rest = &rest[own..];
    }
}

/// Adds the parts of speech of some tokens and of those around them; `pos` has all that are available.
pub(super) fn push_parts(table: &mut Interned<'_>, pos: &[u8], tokens: Range<usize>) {
    for i in tokens {
        let at = |i: Option<usize>| i.and_then(|i| pos.get(i)).map_or(31, |&tag| u64::from(tag));
        let own = at(Some(i));
        let (before2, before) = (at(i.checked_sub(2)), at(i.checked_sub(1)));
        let (next, next2) = (at(Some(i + 1)), at(Some(i + 2)));
        let key = own | before << 5 | next << 10 | before2 << 15 | next2 << 20;
        table.push(hash::mix(key + 1), |out| {
            out.push(feature(150, own));
            out.push(feature(151, pair(before, own)));
            out.push(feature(152, pair(own, next)));
            out.push(feature(153, pair(pair(before, own), next)));
            out.push(feature(154, pair(before2, before)));
            out.push(feature(155, pair(next, next2)));
        });
    }
}

/// The values beyond a note's ends.
const NOTHING: (u64, u64, u64) = (2, 2, 2);

/// Writes the combinations of a token with its neighbours and its field.
pub(super) fn combine(words: &[Word], places: &[Place], i: usize, out: &mut Vec<u64>) {
    let at = |ahead: isize| {
        i.checked_add_signed(ahead)
            .and_then(|i| words.get(i))
            .map_or(NOTHING, |word| (word.norm, word.shape, word.short))
    };
    let (p2, p1, own, n1, n2) = (at(-2), at(-1), at(0), at(1), at(2));
    let place = &places[i];
    let (word, form) = (&words[i], words[i].form);
    let mut push = |template: u64, a: u64, b: u64| out.push(feature(template, pair(a, b)));
    push(130, p1.0, own.0);
    push(131, own.0, n1.0);
    push(132, p1.0, n1.0);
    push(133, p2.0, p1.0);
    push(134, n1.0, n2.0);
    push(135, pair(p1.1, own.1), n1.1);
    push(136, pair(pair(p2.2, p1.2), own.2), pair(n1.2, n2.2));
    push(137, p1.0, own.1);
    push(138, own.1, n1.0);
    push(139, pair(p2.0, p1.0), own.2);
    push(140, place.key2, own.0);
    push(141, place.key2, pair(own.1, place.before as u64));
    push(142, place.key2, pair(p1.0, own.2));
    if form != Form::Mark {
        push(143, place.section, own.1);
        push(144, pair(word.groups, form as u64), p1.0);
        push(145, pair(word.groups, form as u64), place.key2);
    }
}
