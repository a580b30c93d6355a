//! What is real in a note: the values that no surrogate may equal, and the names that tell a misspelling from a name.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use lethe_dictionaries::fold;

/// The real values around a span, made ready once a note.
///
/// It depends on which values there are, never on their order.
#[derive(Clone, Default)]
pub struct Real {
    /// Folded words of three letters or more, of all values, sorted.
    parts: Vec<String>,
    /// A bit for the first three bytes of each part: nearly every candidate is cleared by it alone.
    heads: Heads,
    /// Folded words of the patient's known names.
    known: HashSet<String>,
    /// Folded words of the note's mentions of names, and how often each stands there.
    mentioned: BTreeMap<String, u32>,
    /// Letters and digits of whole values, folded.
    solids: HashSet<String>,
    /// Runs of four digits or more.
    digits: HashSet<String>,
}

#[derive(Clone)]
struct Heads([u64; 64]);

impl Default for Heads {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Heads {
    fn slot(three: &[u8]) -> (usize, u64) {
        let mixed = three.iter().fold(0u32, |sum, &byte| {
            sum.wrapping_mul(31).wrapping_add(u32::from(byte))
        });
        let bit = mixed.wrapping_mul(0x9E37_79B1) >> 20;
        ((bit >> 6) as usize, 1 << (bit & 63))
    }

    fn add(&mut self, part: &str) {
        if let Some(head) = part.as_bytes().get(..3) {
            let (word, bit) = Self::slot(head);
            self.0[word] |= bit;
        }
    }

    fn may_hold(&self, head: &[u8]) -> bool {
        let (word, bit) = Self::slot(head);
        self.0[word] & bit != 0
    }
}

impl Real {
    /// From the note's mentions of names (every name span of the note), the names that the patient is known by, and any other
    /// real values: those of the note's other spans and of its structured identifiers.
    pub fn new<'v>(
        mentions: impl IntoIterator<Item = &'v str>,
        known: impl IntoIterator<Item = &'v str>,
        taken: impl IntoIterator<Item = &'v str>,
    ) -> Self {
        let mut real = Self::default();
        for value in mentions {
            for word in real.add(value) {
                *real.mentioned.entry(word).or_default() += 1;
            }
        }
        for value in known {
            let words = real.add(value);
            real.known.extend(words);
        }
        for value in taken {
            real.add(value);
        }
        real.parts.sort_unstable();
        real.parts.dedup();
        real
    }

    /// Takes in a value; gives its folded words.
    fn add(&mut self, value: &str) -> Vec<String> {
        let folded = fold(value);
        let mut words: Vec<String> = words(&folded).map(str::to_owned).collect();
        // "O'Brien" is one name, in which "Brien" stands too.
        let marks = ['\'', '\u{2019}'];
        if folded.contains(marks) {
            let joined = folded.replace(marks, "");
            let more: Vec<String> = self::words(&joined)
                .filter(|word| !words.iter().any(|known| known == word))
                .map(str::to_owned)
                .collect();
            words.extend(more);
        }
        for word in &words {
            if word.chars().nth(2).is_some() {
                self.heads.add(word);
                self.parts.push(word.clone());
            }
        }
        self.digits.extend(runs(&folded).map(str::to_owned));
        self.solids.insert(solid(&folded));
        words
    }

    /// Whether a word of three letters or more of a real value stands in `folded`, at any place in it.
    pub(crate) fn part_in(&self, folded: &str) -> bool {
        let bytes = folded.as_bytes();
        bytes.windows(3).enumerate().any(|(at, head)| {
            // Parts are sorted: those with this head stand together.
            self.heads.may_hold(head) && {
                let from = self.parts.partition_point(|part| part.as_bytes() < head);
                let alike = self.parts.iter().skip(from).map(String::as_bytes);
                alike
                    .take_while(|part| part.starts_with(head))
                    .any(|part| bytes.get(at..).is_some_and(|rest| rest.starts_with(part)))
            }
        })
    }

    /// Whether the folded word is one of a real value, of three letters or more.
    pub(crate) fn has_part(&self, word: &str) -> bool {
        self.parts
            .binary_search_by(|part| part.as_str().cmp(word))
            .is_ok()
    }

    /// Whether the folded text is a real value, or holds a run of four digits of one.
    pub(crate) fn value_in(&self, folded: &str) -> bool {
        self.solids.contains(&solid(folded)) || runs(folded).any(|run| self.digits.contains(run))
    }

    /// Whether the folded word belongs to a name that the patient is known by.
    pub(crate) fn is_known(&self, word: &str) -> bool {
        self.known.contains(word)
    }

    /// The known names' words, in no order.
    pub(crate) fn known(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(String::as_str)
    }

    /// The mentions' words with their counts, in alphabetical order.
    pub(crate) fn mentioned(&self) -> impl Iterator<Item = (&str, u32)> {
        self.mentioned.iter().map(|(word, &count)| (word.as_str(), count))
    }

    /// How often the note's mentions have the folded word.
    pub(crate) fn times(&self, word: &str) -> u32 {
        self.mentioned.get(word).copied().unwrap_or(0)
    }
}

/// Holds patients' words: prints none.
impl fmt::Debug for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Real({} parts, {} values)",
            self.parts.len(),
            self.solids.len()
        )
    }
}

/// The runs of letters of a folded value.
fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
}

/// Runs of four digits or more.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter(|run| run.len() >= 4)
}

/// The letters and digits of a folded text.
pub(crate) fn solid(folded: &str) -> String {
    folded.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_part_is_seen_inside_a_word_and_two_letters_are_not() {
        let real = Real::new(["Ann Okafor"], ["Jo Li"], ["02139-4307"]);
        assert!(real.part_in("joanna") && real.part_in("okafor"));
        assert!(!real.part_in("jolie") && !real.part_in("an"));
        assert!(real.value_in("4307") && real.value_in("021394307") && !real.value_in("0213"));
    }

    #[test]
    fn it_prints_no_value() {
        let printed = format!("{:?}", Real::new(["Ann Okafor"], [], ["02139"]));
        assert!(
            !printed.contains("kafor") && !printed.contains("02139"),
            "{printed}"
        );
    }
}
