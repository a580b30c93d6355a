//! Sub-words: splits a note's text with the checkpoint's own tokenizer, and maps sub-words back to tokens.

use lethe_core::{TagError, Tokens};
use tokenizers::Tokenizer;

use super::Align;
use super::checkpoint::{Checkpoint, TransformerError};
use super::labels::{Answer, TokenAnswer};

/// The checkpoint's tokenizer.
pub(super) struct Pieces {
    tokenizer: Tokenizer,
    /// Special sub-words before and after the text, for instance `[CLS]` and `[SEP]`.
    before: Vec<u32>,
    after: Vec<u32>,
}

/// Sub-words' ids and the bytes that each stands for.
type Encoded = (Vec<u32>, Vec<(usize, usize)>);

impl Pieces {
    /// Reads `tokenizer.json`. Its truncation and padding are ignored: windows replace them.
    pub(super) fn read(checkpoint: &Checkpoint) -> Result<Self, TransformerError> {
        let path = checkpoint.folder.join("tokenizer.json");
        let bytes = std::fs::read(&path).map_err(|source| TransformerError::Io {
            path: path.clone(),
            source,
        })?;
        let fault = |problem: String| TransformerError::Tokenizer {
            path: path.clone(),
            problem,
        };
        let mut tokenizer = Tokenizer::from_bytes(&bytes).map_err(|error| fault(error.to_string()))?;
        tokenizer
            .with_truncation(None)
            .map_err(|error| fault(error.to_string()))?
            .with_padding(None);
        let largest = tokenizer.get_vocab(true).into_values().max().unwrap_or(0) as usize;
        let words = checkpoint.shape.words;
        if largest >= words {
            return Err(fault(format!(
                "has a sub-word with id {largest}, but `vocab_size` in config.json is {words}"
            )));
        }
        // The post-processor adds the sub-words around any text.
        let framed = tokenizer
            .encode("a", true)
            .map_err(|error| fault(error.to_string()))?;
        let (ids, special) = (framed.get_ids(), framed.get_special_tokens_mask());
        let before = special.iter().take_while(|&&special| special == 1).count();
        let after = special.iter().rev().take_while(|&&special| special == 1).count();
        if before + after >= ids.len() {
            return Err(fault("gives no sub-word for `a`".to_owned()));
        }
        Ok(Self {
            before: ids[..before].to_vec(),
            after: ids[ids.len() - after..].to_vec(),
            tokenizer,
        })
    }

    /// Returns the number of special sub-words around a text.
    pub(super) const fn special(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// Returns the number of special sub-words before a text.
    pub(super) const fn before(&self) -> usize {
        self.before.len()
    }

    /// Returns the text's sub-words without special ones, and the bytes that each stands for.
    pub(super) fn encode(&self, text: &str) -> Result<Encoded, TagError> {
        let encoding = self.tokenizer.encode(text, false);
        // The library's message could quote the text.
        let encoding =
            encoding.map_err(|_| TagError::Failed("the checkpoint's tokenizer failed on the note"))?;
        Ok((encoding.get_ids().to_vec(), encoding.get_offsets().to_vec()))
    }

    /// Returns the sub-words with the special ones around them.
    pub(super) fn framed(&self, ids: &[u32]) -> Vec<u32> {
        [&self.before[..], ids, &self.after[..]].concat()
    }
}

/// Returns, for each token, the answer of one of the sub-words that share a byte with it; `None` if no
/// sub-word does, as for a character that the tokenizer drops.
pub(super) fn answers(
    tokens: Tokens<'_>,
    places: &[(usize, usize)],
    pieces: &[Answer],
    align: Align,
) -> Vec<Option<TokenAnswer>> {
    let (mut from, mut last) = (0, None);
    let mut answer = |i: usize| {
        let span = tokens.span(i);
        // Offsets do not decrease, but several sub-words of one character share its bytes.
        while places.get(from).is_some_and(|&(_, end)| end <= span.start()) {
            from += 1;
        }
        let touching = places[from..]
            .iter()
            .take_while(|&&(start, _)| start < span.end())
            .enumerate()
            .filter(|&(_, &(start, end))| end > span.start() && end > start)
            .map(|(i, _)| from + i);
        let chosen = match align {
            Align::First => { touching }.next(),
            Align::Max => touching.fold(None, |best: Option<usize>, piece| match best {
                Some(best) if pieces[best].score >= pieces[piece].score => Some(best),
                _ => Some(piece),
            }),
        };
        let shared = chosen.is_some() && chosen == last;
        last = chosen;
        chosen.map(|piece| TokenAnswer {
            answer: pieces[piece],
            shared,
        })
    };
    (0..tokens.len()).map(&mut answer).collect()
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;

    use super::*;

    #[test]
    fn a_token_has_the_tag_of_its_first_or_its_best_scored_sub_word() {
        // Tokens: Ruiz (0..4), "." (4..5), Leon (6..10), "é" (11..13), which has no sub-word.
        let batch = NoteBatch::from_texts(["Ruiz. Leon é"]).unwrap();
        // Sub-words: Ru, iz., then one without bytes, then " Leon" with its blank, twice.
        let places = [(0, 2), (2, 5), (5, 5), (5, 10), (5, 10)];
        let scores = [0.6, 0.9, 1.0, 0.7, 0.8];
        let pieces: Vec<Answer> = scores
            .iter()
            .enumerate()
            .map(|(label, &score)| Answer { label, score })
            .collect();
        let of = |align| -> Vec<Option<(usize, bool)>> {
            let tokens = answers(batch.note(0).tokens, &places, &pieces, align);
            tokens
                .iter()
                .map(|token| token.map(|token| (token.answer.label, token.shared)))
                .collect()
        };
        assert_eq!(
            of(Align::First),
            [Some((0, false)), Some((1, false)), Some((3, false)), None]
        );
        assert_eq!(
            of(Align::Max),
            [Some((1, false)), Some((1, true)), Some((4, false)), None]
        );
    }
}
