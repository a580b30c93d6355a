//! The rules of `known` as a scan of the text for each value: slow, but easy to verify. Tests compare the
//! member with it.

use lethe_core::{Collector, LabelId};

use super::dates::{Component, Date, Read};
use super::phrases::{End, short};
use crate::words::{Case, Words};

/// Finds each date separately.
pub(super) fn dates(dates: &[Date], words: &Words<'_>, label: LabelId, out: &mut Collector<'_>) {
    for date in dates {
        let mut i = 0;
        while i < words.len() {
            match Read::at(i, words).filter(|(read, _)| is(*date, read)) {
                Some((_, last)) => {
                    out.tokens(i, last, label, 1.0, "known.date");
                    i = last + 1;
                }
                None => i += 1,
            }
        }
    }
}

/// Returns whether this is the date: year first, day first or month first.
fn is(date: Date, read: &Read) -> bool {
    let Date { year, month, day } = date;
    match read {
        Read::Compact(number) => [
            year * 10_000 + month * 100 + day,
            month * 1_000_000 + day * 10_000 + year,
            day * 1_000_000 + month * 10_000 + year,
        ]
        .contains(number),
        Read::Apart([a, b, c]) => {
            let is_month = |one: &Component| {
                *one == Component::Month(month) || matches!(one, Component::Number(n, 1..=2) if *n == month)
            };
            let is_day = |one: &Component| matches!(one, Component::Number(n, 1..=2) if *n == day);
            let is_year = |one: &Component| {
                matches!(one, Component::Number(n, 4) if *n == year)
                    || matches!(one, Component::Number(n, 2) if *n == year % 100)
            };
            (is_year(a) && is_month(b) && is_day(c))
                || (is_year(c) && (is_month(a) && is_day(b) || is_day(a) && is_month(b)))
        }
    }
}

/// Finds the longest phrase at each token by trying all of them.
pub(super) fn phrases(phrases: &[(Vec<String>, End)], words: &Words<'_>, out: &mut Collector<'_>) {
    let mut i = 0;
    while i < words.len() {
        let ends = phrases.iter().enumerate();
        let ends = ends.filter_map(|(at, (phrase, _))| Some((phrase_end(phrase, i, words)?, at)));
        match ends.max() {
            Some((last, at)) => {
                let End { label, rule } = phrases[at].1;
                out.tokens(i, last, label, 1.0, rule);
                i = last + 1;
            }
            None => i += 1,
        }
    }
}

fn phrase_end(phrase: &[String], i: usize, words: &Words<'_>) -> Option<usize> {
    let (mut at, mut last) = (i, i);
    for (n, word) in phrase.iter().enumerate() {
        let mut marks = 0;
        while n > 0 && words.case(at) == Case::Mark && marks < 2 && at < words.len() {
            at += 1;
            marks += 1;
        }
        if at >= words.len() || short(words.get(at)) != word {
            return None;
        }
        last = at;
        at += 1;
    }
    (phrase.len() > 1 || words.case(i) != Case::Lower).then_some(last)
}

/// Returns the last token of the first initials, in the event's order, at token `i`.
pub(super) fn initials_at(
    initials: &[(Vec<char>, LabelId)],
    i: usize,
    words: &Words<'_>,
) -> Option<(usize, LabelId)> {
    let patient = matches!(words.before(i, 1), "pt" | "patient" | "paciente" | "pcte")
        || (words.before(i, 1) == "." && words.before(i, 2) == "pt");
    initials.iter().find_map(|(letters, label)| {
        let dotted = letters.iter().enumerate().all(|(n, letter)| {
            let mut word = words.get(i + 2 * n).chars();
            word.next() == Some(*letter) && word.next().is_none() && words.get(i + 2 * n + 1) == "."
        });
        if dotted {
            return Some((i + 2 * letters.len() - 1, *label));
        }
        let bare = patient && words.get(i).chars().eq(letters.iter().copied());
        bare.then_some((i, *label))
    })
}
