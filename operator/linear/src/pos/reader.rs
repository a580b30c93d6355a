//! The tagger as members of other crates read it: note by note, with each word's scores computed once.

use std::collections::HashMap;
use std::ops::Range;

use lethe_core::NoteView;
use lethe_learn::{NO_SPEECH, SPEECH_TAGS, SpeechReader, SpeechTags};

use super::model::{Context, PosTagger, TAGS, Vectors};

const _: () = assert!(TAGS.len() == SPEECH_TAGS);

/// The most words whose scores are kept: with a hundred bytes each they take a few MiB.
const MOST_WORDS: usize = 1 << 14;

/// Tags a note from left to right. Holds words of notes; never printed.
struct Reader<'t> {
    tagger: &'t PosTagger,
    words: HashMap<Box<str>, Vectors>,
    sentence: usize,
    context: Context,
    /// The scores of the next token, if it is in the same sentence.
    ahead: Option<Vectors>,
}

impl SpeechTags for PosTagger {
    fn to_bytes(&self) -> Vec<u8> {
        Self::to_bytes(self)
    }

    fn reader(&self) -> Box<dyn SpeechReader + '_> {
        Box::new(Reader {
            tagger: self,
            words: HashMap::new(),
            sentence: 0,
            context: Context::default(),
            ahead: None,
        })
    }
}

impl Reader<'_> {
    fn vectors(&mut self, word: &str) -> Vectors {
        if let Some(vectors) = self.words.get(word) {
            return *vectors;
        }
        if self.words.len() == MOST_WORDS {
            self.words.clear();
        }
        let vectors = self.tagger.vectors(word);
        self.words.insert(word.into(), vectors);
        vectors
    }

    fn begin_sentence(&mut self) {
        self.context = Context::default();
        self.ahead = None;
    }
}

impl SpeechReader for Reader<'_> {
    fn read(&mut self, note: &NoteView<'_>, tokens: Range<usize>, out: &mut Vec<u8>) {
        if tokens.start == 0 {
            self.sentence = 0;
            self.begin_sentence();
        }
        let end_of = |sentence: usize| note.sentence_ends.get(sentence).map(|&end| end as usize);
        for i in tokens {
            while end_of(self.sentence).is_some_and(|end| i >= end) {
                self.sentence += 1;
                self.begin_sentence();
            }
            let Some(end) = end_of(self.sentence) else {
                out.push(NO_SPEECH);
                continue;
            };
            let word = self.ahead.take();
            let word = word.unwrap_or_else(|| self.vectors(note.word(i)));
            self.ahead = (i + 1 < end).then(|| self.vectors(note.word(i + 1)));
            out.push(self.tagger.next(&mut self.context, &word, self.ahead.as_ref()));
        }
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;

    use super::*;
    use crate::pos::{Sentence, train};

    #[test]
    fn a_note_has_the_same_tags_in_any_steps_as_sentence_by_sentence() {
        let sentence = |words: &[&str], tags: &[u8]| Sentence {
            words: words.iter().map(|&word| word.to_owned()).collect(),
            tags: tags.to_vec(),
        };
        let sentences = [
            sentence(&["the", "dogs", "run"], &[5, 7, 15]),
            sentence(&["the", "run", "ends"], &[5, 7, 15]),
            sentence(&["dogs", "run"], &[7, 15]),
        ];
        let tagger = train(&sentences, 10, 1);
        let texts = [
            "The dogs run. The run ends.\nThe run",
            "",
            "run\n\ndogs run the run",
        ];
        let batch = NoteBatch::from_texts(texts).unwrap();
        let mut reader = tagger.reader();
        for note in batch.notes() {
            let (mut expected, mut from) = (Vec::new(), 0);
            for &end in note.sentence_ends {
                let words: Vec<_> = (from..end as usize)
                    .map(|i| tagger.vectors(note.word(i)))
                    .collect();
                tagger.tag(&words, &mut expected);
                from = end as usize;
            }
            assert_eq!(expected.len(), note.tokens.len());
            for step in [1, 2, 5, 100] {
                let mut found = Vec::new();
                for start in (0..note.tokens.len()).step_by(step) {
                    reader.read(&note, start..note.tokens.len().min(start + step), &mut found);
                }
                assert_eq!(found, expected, "steps of {step}");
            }
        }
        let mut first = Vec::new();
        reader.read(&batch.note(0), 0..3, &mut first);
        assert_eq!(first, [5, 7, 15], "the tagger learned the sentences");
    }
}
