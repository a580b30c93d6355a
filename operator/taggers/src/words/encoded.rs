//! Encoded data in a note: attachments in base64, keys, hashes. They have no words, and reading their letters
//! as words costs far more than reading text.

use std::ops::Range;

use super::{Case, Shape, Words};

/// The fewest tokens of encoded data. Text has a gap or a separator earlier, except where long words are
/// joined.
const LEAST: usize = 64;
/// The fewest tokens of a line of encoded data. Encoders break lines after 64 or 76 bytes, and a token has about
/// two.
const LEAST_LINE: usize = 16;
/// Letters of a long word.
const LONG: u32 = 5;
/// Encoded data has fewer than one long word in this many words and numbers: one in twenty. Of English and
/// Spanish words, two in five are long.
const WORDS_PER_LONG: usize = 8;
/// At least one token in this many is a word or a number. A name on a line to write on is not encoded data.
const TOKENS_PER_WORD: usize = 3;

impl Words<'_> {
    /// Changes the case of letters in encoded data to [`Case::Mark`], so that rules see no words there.
    /// Returns the number of tokens in such data.
    ///
    /// Encoded data is at least 64 tokens of letters, digits and the punctuation marks of encodings, almost
    /// without long words and without a gap other than the ends of its lines.
    pub(crate) fn mask_encoded(&mut self) -> usize {
        let (mut masked, mut data) = (0, 0..0);
        // A run that is long enough has one of these tokens, and ordinary notes are searched fast.
        let (mut at, mut free) = (LEAST_LINE - 1, 0);
        while at < self.len() {
            let run = self.run_around(at, free);
            free = run.end;
            at = free + LEAST_LINE - 1;
            if run.len() < LEAST_LINE || !self.is_encoded(run.clone()) {
                continue;
            }
            if data.end == run.start && run.start > 0 && self.breaks_after(run.start - 1) == 1 {
                data.end = run.end;
            } else {
                masked += self.mask(data);
                data = run;
            }
        }
        masked + self.mask(data)
    }

    /// Returns the tokens around token `at` without a gap or a separator, from token `free` on.
    fn run_around(&self, at: usize, free: usize) -> Range<usize> {
        let (mut start, mut end) = (at, at);
        while self.shapes.get(end).is_some_and(|shape| !shape.is_separator()) {
            end += 1;
            if !self.shapes[end - 1].is(Shape::GLUED) {
                break;
            }
        }
        if end == at {
            return at..at;
        }
        while start > free {
            let before = self.shapes[start - 1];
            if before.is_separator() || !before.is(Shape::GLUED) {
                break;
            }
            start -= 1;
        }
        start..end
    }

    /// Returns whether these tokens, without a gap or a separator, are like a line of encoded data.
    fn is_encoded(&self, tokens: Range<usize>) -> bool {
        let bounds = self.note.tokens;
        let (mut words, mut long) = (0, 0);
        for i in tokens.clone() {
            let case = self.shapes[i].case();
            words += usize::from(case != Case::Mark);
            long += usize::from(case.is_word() && bounds.ends[i] - bounds.starts[i] >= LONG);
        }
        words * TOKENS_PER_WORD >= tokens.len() && long * WORDS_PER_LONG < words
    }

    fn mask(&mut self, data: Range<usize>) -> usize {
        if data.len() < LEAST {
            return 0;
        }
        for shape in &mut self.shapes[data.clone()] {
            if shape.case().is_word() {
                *shape = shape.with(Case::Mark);
            }
        }
        data.len()
    }
}

impl Shape {
    /// Returns whether no encoding has the token: letters that are not ASCII, and marks that separate words
    /// or sentences.
    #[inline]
    pub(super) fn is_separator(self) -> bool {
        self.is(Self::SPECIAL) | SEPARATES[usize::from(self.byte())]
    }
}

/// For each byte, whether a token of it alone is a separator.
const SEPARATES: [bool; 256] = {
    let mut separates = [true; 256];
    let mut i = 0;
    while i < 256 {
        let byte = i as u8;
        let binds = matches!(
            byte,
            b'+' | b'/' | b'=' | b'-' | b'_' | b'\'' | b'\\' | b'$' | b'^' | b'~'
        );
        // 0 stands for a token of several bytes.
        separates[i] = !(byte == 0 || byte.is_ascii_alphanumeric() || binds);
        i += 1;
    }
    separates
};

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;
    use proptest::prelude::*;

    use super::*;

    /// Returns the words in text that are not masked.
    fn words(text: &str) -> Vec<String> {
        let batch = NoteBatch::from_texts([text]).unwrap();
        let mut words = Words::new(batch.note(0));
        let before: Vec<bool> = (0..words.len()).map(|i| words.case(i).is_word()).collect();
        let masked = words.mask_encoded();
        let hidden = |i: &usize| before[*i] && !words.case(*i).is_word();
        assert!((0..words.len()).filter(hidden).count() <= masked);
        (0..words.len())
            .filter(|&i| words.case(i).is_word())
            .map(|i| words.get(i).to_owned())
            .collect()
    }

    #[test]
    fn letters_of_encoded_data_are_no_words_and_those_around_it_are() {
        let data = "aGVsbG8x/T3+Kx9w".repeat(12);
        assert_eq!(
            words(&format!("Scan of Ana: {data}== for Leo")),
            ["scan", "of", "ana", "for", "leo"]
        );
        assert_eq!(words(&format!("({data},Ana)")), ["ana"]);
        assert_eq!(words(&format!("x:{data}.Leo")), ["x", "leo"]);
        let line = "aGVsbG8x/T3+Kx9w".repeat(5);
        let lines = format!("{line}\n").repeat(8);
        assert_eq!(words(&format!("Ana\n{lines}Leo")), ["ana", "leo"]);
    }

    #[test]
    fn joined_text_is_read_as_words() {
        let joined = "Ada+Quillfeather+was+seen+today+by+doctor+Pierce+and+sent+home+again+";
        assert_eq!(words(&joined.repeat(20)).len(), 12 * 20);
        let path = "home/ada/scans/report-2021/";
        assert_eq!(words(&path.repeat(30)).len(), 4 * 30);
        let blank = "_".repeat(40);
        assert_eq!(words(&format!("{blank}Pierce{blank}\n").repeat(3)).len(), 3);
        let columns = "J,A\nP,L\n";
        assert_eq!(words(&columns.repeat(100)).len(), 400);
    }

    #[test]
    fn a_short_run_is_read_as_words() {
        assert_eq!(words(&"a1".repeat(LEAST / 2 - 1)).len(), LEAST / 2 - 1);
        assert!(words(&"a1".repeat(LEAST / 2)).is_empty());
        assert_eq!(words(&"é1".repeat(LEAST)).len(), LEAST);
    }

    proptest! {
        #[test]
        fn long_runs_are_found_wherever_they_lie(text in "([a-z]1|[+.@]|, | |\n|x1y2z3w4a5b6c7d8|x1y2z3w4a5b6c7d8x1y2z3w4a5b6c7d8\n){0,80}") {
            let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
            let mut words = Words::new(batch.note(0));
            // One token at a time.
            let mut groups: Vec<Range<usize>> = Vec::new();
            let mut start = 0;
            for i in 0..words.len() {
                let shape = words.shapes[i];
                let run = start..if shape.is_separator() { i } else { i + 1 };
                if shape.is(Shape::GLUED) && !shape.is_separator() {
                    continue;
                }
                start = i + 1;
                if run.len() < LEAST_LINE || !words.is_encoded(run.clone()) {
                    continue;
                }
                match groups.last_mut() {
                    Some(last) if last.end == run.start && words.breaks_after(run.start - 1) == 1 => last.end = run.end,
                    _ => groups.push(run),
                }
            }
            groups.retain(|group| group.len() >= LEAST);
            let expected: Vec<bool> = (0..words.len())
                .map(|i| words.case(i).is_word() && !groups.iter().any(|group| group.contains(&i)))
                .collect();
            prop_assert_eq!(words.mask_encoded(), groups.iter().map(Range::len).sum::<usize>());
            let found: Vec<bool> = (0..words.len()).map(|i| words.case(i).is_word()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
