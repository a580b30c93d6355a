//! Names of the patient, of relatives and of clinicians: in parts, in any order, as initials, or with one
//! typing error.

use std::collections::{HashMap, HashSet};

use lethe_core::{Collector, LabelId};

use crate::known::KnownConfig;
use crate::vocabulary::Vocabulary;
use crate::words::{Case, Words};
use lethe_text::fold;

/// Words inside an event's name that are not part of the name itself.
const NOT_NAMES: [&str; 32] = [
    "dr", "dra", "mr", "mrs", "ms", "miss", "mx", "don", "dona", "sr", "sra", "srta", "prof", "md", "do",
    "rn", "np", "pa", "phd", "jr", "ii", "iii", "iv", "de", "del", "la", "las", "los", "van", "von", "der",
    "den",
];

/// Words that may stand between two parts of a name.
const PARTICLES: [&str; 14] = [
    "de", "del", "la", "las", "los", "y", "e", "i", "da", "dos", "van", "von", "der", "den",
];

/// The most parts that are compared by edit distance, which keeps an event with thousands of names linear.
const MAX_FUZZY: usize = 64;

/// The names that one event carries.
#[derive(Default)]
pub(super) struct Names {
    /// Parts of three letters or more, folded.
    parts: HashMap<String, LabelId>,
    /// Two-letter parts, which count only next to another part of a name.
    short: HashSet<String>,
    /// The initials of each name in its order and, for two or more parts, surname first; with their rank in
    /// the event's order.
    initials: HashMap<String, (usize, LabelId)>,
    /// The ASCII letters among the initials, as bits.
    letters: u128,
    near: Near,
}

/// The parts that are compared by edit distance.
struct Near {
    parts: Vec<(String, LabelId)>,
    /// The parts that begin and those that end with each byte. One edit leaves the first letter or the last
    /// one unchanged.
    first: [u64; 256],
    last: [u64; 256],
}

/// The relation of a token to the names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Part(LabelId),
    Typo(LabelId),
    Short,
    Initial,
    None,
}

impl Names {
    /// Adds a name as the event writes it: "Jonathan Q. Pierce", "Pierce, Jonathan".
    pub(super) fn add(&mut self, value: &str, label: LabelId) {
        let mut initials = Vec::new();
        for raw in value.split(|c: char| !c.is_alphabetic() && !matches!(c, '\u{300}'..='\u{36f}')) {
            let folded = fold(raw);
            if folded.is_empty() || NOT_NAMES.contains(&folded.as_str()) {
                continue;
            }
            initials.extend(folded.chars().next());
            match folded.chars().count() {
                1 => {}
                2 => {
                    self.short.insert(folded);
                }
                // Of equal parts the first keeps its label, which is usually the patient's.
                _ => {
                    self.parts.entry(folded).or_insert(label);
                }
            }
        }
        if (2..=4).contains(&initials.len()) {
            for letter in initials.iter().filter(|letter| letter.is_ascii()) {
                self.letters |= 1 << u32::from(*letter);
            }
            let mut turned = initials.clone();
            turned.rotate_right(1);
            let ends = vec![initials[0], initials[initials.len() - 1]];
            for letters in [initials, turned, ends] {
                let rank = self.initials.len();
                self.initials
                    .entry(letters.into_iter().collect())
                    .or_insert((rank, label));
            }
        }
    }

    /// Completes the tables for look-ups.
    pub(super) fn finish(&mut self) {
        let mut sorted: Vec<_> = self.parts.iter().collect();
        sorted.sort_unstable();
        let parts = sorted.into_iter().take(MAX_FUZZY);
        self.near = Near::new(parts.map(|(part, label)| (part.clone(), *label)).collect());
    }

    pub(super) fn find(
        &self,
        words: &Words<'_>,
        config: &KnownConfig,
        vocabulary: &Vocabulary,
        out: &mut Collector<'_>,
    ) {
        let mut i = 0;
        while i < words.len() {
            if let Some(next) = self.name_at(i, words, config, vocabulary, out) {
                i = next;
                continue;
            }
            if config.initials
                && let Some(next) = self.initials_at(i, words, out)
            {
                i = next;
                continue;
            }
            i += 1;
        }
    }

    /// Returns the longest run of parts, initials and connecting words from token `i`, with at least one part
    /// in it.
    fn name_at(
        &self,
        i: usize,
        words: &Words<'_>,
        config: &KnownConfig,
        vocabulary: &Vocabulary,
        out: &mut Collector<'_>,
    ) -> Option<usize> {
        let first = self.link(i, words, config, vocabulary);
        if first == Link::None {
            return None;
        }
        let mut label = None;
        let mut typed = true;
        let (mut last, mut at) = (None, i);
        // A written name has few tokens; a longer run is found again from its own start.
        while at < words.len() && at < i + 12 {
            let link = if at == i {
                first
            } else {
                self.link(at, words, config, vocabulary)
            };
            match link {
                Link::Part(found) => {
                    label = Some(found);
                    typed = false;
                    last = Some(at);
                }
                Link::Typo(found) => {
                    label = label.or(Some(found));
                    last = Some(at);
                }
                Link::Short => last = Some(at),
                Link::Initial => {
                    last = Some(at);
                    if words.get(at + 1) == "." && words.glued(at) {
                        at += 1;
                        last = Some(at);
                    }
                }
                Link::None => {
                    let binds = match words.get(at) {
                        "," | "-" | "'" | "’" => last == at.checked_sub(1),
                        word => last.is_some() && PARTICLES.contains(&word),
                    };
                    if !binds {
                        break;
                    }
                }
            }
            if words.breaks_after(at) > 1 {
                break;
            }
            at += 1;
        }
        let (label, mut last) = (label?, last?);
        let mut start = i;
        // An initial at the end of a name counts only with its stop or next to a comma: "Ruiz A" may be "Ruiz
        // a".
        while last > start && self.link(last, words, config, vocabulary) == Link::Initial {
            last -= 1;
        }
        while start < last && self.link(start, words, config, vocabulary) == Link::Short {
            start += 1;
        }
        let rule = if typed { "known.name-typo" } else { "known.name" };
        out.tokens(start, last, label, if typed { 0.9 } else { 1.0 }, rule);
        Some(last + 1)
    }

    fn link(&self, i: usize, words: &Words<'_>, config: &KnownConfig, vocabulary: &Vocabulary) -> Link {
        let (word, case) = (words.get(i), words.case(i));
        if !case.is_word() {
            return Link::None;
        }
        match word.len() {
            0 => Link::None,
            1 if case == Case::Upper => match word.as_bytes().first() {
                Some(&letter) if letter.is_ascii() && self.letters >> letter & 1 == 1 => Link::Initial,
                _ => Link::None,
            },
            2 if case.is_capital() && self.short.contains(word) => Link::Short,
            _ => self.part(word, case, config, vocabulary),
        }
    }

    fn part(&self, word: &str, case: Case, config: &KnownConfig, vocabulary: &Vocabulary) -> Link {
        if let Some(&label) = self.parts.get(word) {
            // "Rose" is a name here, "rose" is a word.
            if case.is_capital() || !vocabulary.is_common_word(word) {
                return Link::Part(label);
            }
            return Link::None;
        }
        if !config.typos || !case.is_capital() || word.len() < 4 {
            return Link::None;
        }
        match self.near.find(word) {
            // "Pierced" is a word even if a person is called Pierce.
            Some(label) if !vocabulary.is_common_word(word) => Link::Typo(label),
            _ => Link::None,
        }
    }

    /// Finds "J.P.", "J. P." and, after a word for the patient, "JP".
    fn initials_at(&self, i: usize, words: &Words<'_>, out: &mut Collector<'_>) -> Option<usize> {
        if words.case(i) != Case::Upper || (i > 0 && words.glued(i - 1) && words.get(i - 1) == ".") {
            return None;
        }
        let (last, label) = self.initials_end(i, words)?;
        out.tokens(i, last, label, 1.0, "known.initials");
        Some(last + 1)
    }

    /// Returns the last token of the initials at token `i`; the first of several in the event's order count.
    pub(super) fn initials_end(&self, i: usize, words: &Words<'_>) -> Option<(usize, LabelId)> {
        if self.initials.is_empty() {
            return None;
        }
        let patient = matches!(words.before(i, 1), "pt" | "patient" | "paciente" | "pcte")
            || (words.before(i, 1) == "." && words.before(i, 2) == "pt");
        let written = patient.then(|| self.initials.get(words.get(i))).flatten();
        let mut first = written.map(|&(rank, label)| (rank, i, label));
        let mut letters = String::new();
        for length in 1..=4 {
            let at = i + 2 * (length - 1);
            let mut word = words.get(at).chars();
            let (Some(letter), None, ".") = (word.next(), word.next(), words.get(at + 1)) else {
                break;
            };
            letters.push(letter);
            if let Some(&(rank, label)) = self.initials.get(&letters)
                && first.is_none_or(|(other, ..)| rank < other)
            {
                first = Some((rank, at + 1, label));
            }
        }
        first.map(|(_, last, label)| (last, label))
    }
}

impl Near {
    fn new(parts: Vec<(String, LabelId)>) -> Self {
        let (mut first, mut last) = ([0; 256], [0; 256]);
        for (at, (part, _)) in parts.iter().enumerate() {
            if let [begin, .., end] = part.as_bytes()
                && part.len() >= 5
            {
                first[usize::from(*begin)] |= 1 << at;
                last[usize::from(*end)] |= 1 << at;
            }
        }
        Self { parts, first, last }
    }

    /// Returns the label of the first part one edit away.
    fn find(&self, word: &str) -> Option<LabelId> {
        let [begin, .., end] = word.as_bytes() else {
            return None;
        };
        let mut maybe = self.first[usize::from(*begin)] | self.last[usize::from(*end)];
        while maybe != 0 {
            let (part, label) = &self.parts[maybe.trailing_zeros() as usize];
            if within_one(part.as_bytes(), word.as_bytes()) {
                return Some(*label);
            }
            maybe &= maybe - 1;
        }
        None
    }
}

impl Default for Near {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

/// Returns whether two words are equal apart from one letter missing, added or changed, or two neighbours
/// swapped.
fn within_one(a: &[u8], b: &[u8]) -> bool {
    if a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[head..], &b[head..]);
    match (a, b) {
        ([a1, a2, a_rest @ ..], [b1, b2, b_rest @ ..]) if a.len() == b.len() => {
            a[1..] == b[1..] || (a1 == b2 && a2 == b1 && a_rest == b_rest)
        }
        _ if a.len() == b.len() => true,
        ([_, rest @ ..], _) if a.len() > b.len() => rest == b,
        (_, [_, rest @ ..]) => rest == a,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_edit_is_near_and_two_are_not() {
        for near in [
            "pierce", "peirce", "pierc", "pierrce", "pierse", "ierce", "piercee", "pierec",
        ] {
            assert!(within_one(b"pierce", near.as_bytes()), "{near}");
        }
        for far in ["pirece s", "peirec", "pier", "piece", "price"] {
            assert_eq!(within_one(b"pierce", far.as_bytes()), far == "piece", "{far}");
        }
    }
}
