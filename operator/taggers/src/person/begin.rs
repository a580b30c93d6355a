//! Rules out positions at which no name without other evidence can begin, from the next tokens and before any
//! rule is tried.

use super::{MOST_UNITS, OTHER_MEANING};
use crate::reading::Reading;
use crate::vocabulary::Traits;
use crate::words::Case;

impl Reading<'_, '_> {
    /// Returns whether a listed name, or one that begins with a single letter, may begin at token `i`.
    ///
    /// If it returns false, [`Reading::name_at`] finds nothing without evidence, or the first word is on no
    /// list of names.
    #[inline]
    pub(crate) fn may_begin_name(&self, i: usize) -> bool {
        if !self.is_capital(i) {
            return false;
        }
        // One branch for all cases: in a text without words they alternate unpredictably.
        let goes_on = self.goes_on_a_word(i);
        let unlisted = (self.byte(i) == 0) & !self.is(i, Traits::NAME);
        (!(goes_on | unlisted) || !goes_on && self.width(i) <= 1) && !self.is_shapeless_word(i)
    }

    /// Returns whether the whole word `i` has another meaning and is not written like a name. Such a word
    /// begins no name without evidence.
    fn is_shapeless_word(&self, i: usize) -> bool {
        self.is_shapeless(i) && !self.words.glued(i) && self.width(i) > 1 && self.is(i, OTHER_MEANING)
    }

    /// Returns whether token `i` directly follows a word.
    #[inline]
    pub(super) fn goes_on_a_word(&self, i: usize) -> bool {
        i > 0 && (self.words.glued(i - 1) & self.case(i - 1).is_word())
    }

    /// Returns whether the text after the letter `i` shows that it is not the initial of a name: a digit or a
    /// punctuation mark that ends a name, directly or after more such letters ("a1", "a/b", "a.b@"), or a
    /// word that is no name. Reads a few tokens.
    pub(crate) fn is_no_initial(&self, mut i: usize) -> bool {
        for _ in 0..MOST_UNITS {
            if !self.words.glued(i) {
                return !self.may_follow_initial(i + 1);
            }
            match self.case(i + 1) {
                Case::Digits => return true,
                Case::Mark => {}
                _ => return false,
            }
            let binds = self.words.glued(i + 1);
            let ends = binds && matches!(self.case(i + 2), Case::Digits | Case::Mark);
            match self.byte(i + 1) {
                // "A-1"
                b'-' | b'\'' => return ends || !binds,
                // "J.-P. Hale" is a name.
                b'.' if ends => return self.byte(i + 2) != b'-',
                b'.' if binds && self.is_single_letter(i + 2) && self.is_capital(i + 2) => i += 2,
                b'.' if !binds => return !self.may_follow_initial(i + 2),
                b'.' => return false,
                _ => return true,
            }
        }
        false
    }

    /// Returns whether a listed name or another initial may begin at token `i`.
    fn may_follow_initial(&self, i: usize) -> bool {
        self.is_capital(i) && (self.words.glued(i) || self.width(i) <= 1 || self.is(i, Traits::NAME))
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

    /// Returns the tokens at which a name may begin, after checking that none begins at another.
    fn begins(text: &str) -> Vec<usize> {
        let (batch, vocabulary) = (
            NoteBatch::from_texts([text]).unwrap(),
            Vocabulary::new(&Dictionary::builtin()),
        );
        let mut matcher = vocabulary.dictionary.matcher();
        let note = Reading::new(batch.note(0), &vocabulary, &mut matcher, Sought::default());
        let initial = |i| !note.is_single_letter(i) || !note.is_no_initial(i);
        let begins = |i| note.may_begin_name(i) && initial(i);
        for i in (0..note.len()).filter(|&i| !begins(i)) {
            let unlisted = note.width(i) > 1 && !note.is(i, Traits::NAME);
            let name = note.name_at(i, Evidence::None);
            assert!(unlisted || name.is_none(), "{text:?}: {name:?} at {i}");
        }
        (0..note.len()).filter(|&i| begins(i)).collect()
    }

    #[test]
    fn a_letter_before_a_digit_or_a_mark_begins_no_name() {
        assert!(begins("A1 J/ J@1 J.K@ J.1 A-1 J.K.3 A'").is_empty());
        assert_eq!(begins("J. Hale"), [0, 2]);
        assert_eq!(begins("J.-P. Hale, J.ª Hale"), [0, 3, 5, 7, 10]);
        assert_eq!(begins("A-Hale J.K. Hale"), [0, 2, 3, 5, 7]);
    }

    proptest! {
        #[test]
        fn names_begin_where_they_may_alone(
            text in "([AJOaos]|[AJos][.'-]|[AJ][.] |[0-9/@ª]|Hale|Ada|hale|Grace|Young|De la|McKay|, | |\n|é|ﬁ|ा){0,60}"
        ) {
            begins(&text);
            begins(&text.to_lowercase());
        }
    }
}
