//! Long runs of single letters, in which no name begins.

use super::{LONGEST_UNIT, MOST_UNITS};
use crate::reading::Reading;
use crate::words::Case;

/// Consecutive single letters: "J. J. J.", "o'o'o'", "a-a-a-". Names do not begin in the middle of a long
/// run, so these positions need not be tried one by one.
#[derive(Default)]
pub(crate) struct Run {
    /// A letter, and the number of letters after it with the same joints.
    next: usize,
    left: usize,
}

/// The joint between a single letter and the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    None,
    /// The letter is an initial: a blank, or a full stop.
    Initial,
    /// A connecting punctuation mark without blanks.
    Mark,
}

impl Run {
    /// Returns whether so many letters follow the one at token `i` that no name of two words begins there,
    /// nor one with lower-case letters. Calls must proceed from the note's start to its end.
    ///
    /// A name has at most five words: five initials leave no room for another. One word has at most
    /// [`LONGEST_UNIT`] tokens after its first: in a longer chain, a punctuation mark follows it, with which
    /// no further word begins.
    pub(crate) fn is_long_from(&mut self, i: usize, note: &Reading<'_, '_>) -> bool {
        while self.left > 0 && self.next < i {
            self.next = note.join(self.next).1;
            self.left -= 1;
        }
        if self.next != i || self.left == 0 {
            (self.next, self.left) = (i, 0);
            let (first, mut next) = note.join(i);
            let mut join = first;
            while join != Join::None && join == first {
                self.left += 1;
                (join, next) = note.join(next);
            }
        }
        self.left >= MOST_UNITS.max(LONGEST_UNIT / 2 + 1)
    }
}

impl Reading<'_, '_> {
    /// Returns whether token `i` is a single letter, and not a capital with lower-case letters after it.
    pub(crate) fn is_single_letter(&self, i: usize) -> bool {
        self.byte(i) != 0 && matches!(self.case(i), Case::Upper | Case::Lower)
    }

    /// Returns the joint between the single letter `i` and the next letter, and that letter's token.
    fn join(&self, i: usize) -> (Join, usize) {
        const NOTHING: (Join, usize) = (Join::None, 0);
        if !self.is_single_letter(i) || !self.is_capital(i) {
            return NOTHING;
        }
        let mut last = i;
        if self.words.glued(i) {
            let binds = self.words.glued(i + 1);
            match self.byte(i + 1) {
                b'.' if !binds => last = i + 1,
                b'-' | b'\''
                    if binds
                        && self.is_single_letter(i + 2)
                        && self.is_capital(i + 2)
                        && self.byte(i + 2) != b's' =>
                {
                    return (Join::Mark, i + 2);
                }
                _ => return NOTHING,
            }
        }
        if self.ends_name(last) {
            return NOTHING;
        }
        (Join::Initial, last + 1)
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;
    use lethe_dictionaries::Dictionary;
    use proptest::prelude::*;

    use super::*;
    use crate::person::Evidence;
    use crate::reading::Sought;
    use crate::vocabulary::Vocabulary;

    /// Returns the tokens of a text from which a long run continues.
    fn long(text: &str) -> Vec<usize> {
        let (batch, vocabulary) = (
            NoteBatch::from_texts([text]).unwrap(),
            Vocabulary::new(&Dictionary::builtin()),
        );
        let mut matcher = vocabulary.dictionary.matcher();
        let note = Reading::new(batch.note(0), &vocabulary, &mut matcher, Sought::default());
        let mut run = Run::default();
        let letters = (0..note.len()).filter(|&i| note.is_single_letter(i));
        let long: Vec<usize> = letters.filter(|&i| run.is_long_from(i, &note)).collect();
        for &i in &long {
            let name = note.name_at(i, Evidence::None);
            assert!(name.is_none_or(|name| name.words < 2), "{text:?}: {i}");
        }
        long
    }

    #[test]
    fn five_letters_that_follow_make_a_run_long_and_four_do_not() {
        assert_eq!(long("J. J. J. J. J. Hale"), [0]);
        assert!(long("J. J. J. J. Hale and O'Hale").is_empty());
        assert_eq!(long("o'o'o'o'o'o'o"), [0, 2]);
        assert_eq!(long("A-A-A-A-A-A B"), [0]);
        assert!(long("A-A-A'A-A. A A").is_empty());
    }

    proptest! {
        #[test]
        fn no_name_of_two_words_begins_in_a_long_run(text in "([AJOaos]|[AJos][.'-]|[AJ][.] |Hale|McKay|, | |\n){0,60}") {
            long(&text);
        }
    }
}
