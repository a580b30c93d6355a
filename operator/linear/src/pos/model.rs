//! The tagger's weights, its file, and the tagging.

use std::collections::HashMap;

use lethe_text::fold;

/// The universal part-of-speech tags (universaldependencies.org/u/pos), in the order of their numbers.
pub const TAGS: [&str; 17] = [
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT",
    "SCONJ", "SYM", "VERB", "X",
];

/// A row of weights, one per tag.
pub(super) type Row = [i16; TAGS.len()];

/// The history before a sentence's first word.
pub(super) const START: usize = TAGS.len();
const HISTORIES: usize = (TAGS.len() + 1) * (TAGS.len() + 1);

const MAGIC: &[u8; 8] = b"lethepos";
const VERSION: u32 = 1;

/// Why bytes are not a tagger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PosError {
    /// They do not begin like a tagger.
    #[error("not a part-of-speech tagger")]
    Magic,
    /// Another version wrote them.
    #[error(
        "the part-of-speech tagger has version {found}, but this program reads version {VERSION}; train it again"
    )]
    Version {
        /// The version they name.
        found: u32,
    },
    /// They are truncated, too long, or inconsistent.
    #[error("the part-of-speech tagger is damaged at byte {at}")]
    Damaged {
        /// The position of the damage.
        at: usize,
    },
}

/// The scores that a word adds to its own tag, to the next word's, and to the previous word's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vectors {
    pub(super) own: Row,
    pub(super) next: Row,
    pub(super) before: Row,
}

/// A part-of-speech tagger.
#[derive(Clone, PartialEq, Eq)]
pub struct PosTagger {
    pub(super) words: HashMap<u32, Row>,
    /// By the two previous tags.
    pub(super) history: Vec<Row>,
}

/// The scores from the words of a sentence for the next one.
#[derive(Clone, Copy)]
pub(crate) struct Context {
    before2: usize,
    before: usize,
    last: Row,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            before2: START,
            before: START,
            last: Row::default(),
        }
    }
}

/// Calls `emit` with the features of a word, of one of three kinds: for itself, for the next word, for the
/// previous word.
pub(super) fn features(word: &str, mut emit: impl FnMut(usize, u32)) {
    let folded: Vec<char> = fold(word).chars().collect();
    let hash = |kind: usize, template: u32, chars: &mut dyn Iterator<Item = char>| {
        let seed = (0x811c_9dc5 ^ (kind as u32) << 8 ^ template).wrapping_mul(0x0100_0193);
        let hash = chars.fold(seed, |hash, c| (hash ^ u32::from(c)).wrapping_mul(0x0100_0193));
        // FNV's low bits are good, its high ones less so.
        (hash ^ hash >> 15).wrapping_mul(0x2c1b_3c6d) ^ hash >> 13
    };
    let n = folded.len();
    let digits = word.chars().any(char::is_numeric);
    for kind in 0..3 {
        let mut push =
            |template: u32, chars: &mut dyn Iterator<Item = char>| emit(kind, hash(kind, template, chars));
        push(0, &mut std::iter::empty());
        if digits {
            push(
                1,
                &mut std::iter::once(if n > 4 { '4' } else { (b'0' + n as u8) as char }),
            );
        } else {
            push(2, &mut folded.iter().copied());
        }
        push(3, &mut folded[n.saturating_sub(3)..].iter().copied());
        push(4, &mut case(word).chars());
        if kind == 0 {
            push(5, &mut folded[n.saturating_sub(1)..].iter().copied());
            push(6, &mut folded[n.saturating_sub(2)..].iter().copied());
            push(7, &mut folded[n.saturating_sub(4)..].iter().copied());
            push(8, &mut folded[n.saturating_sub(5)..].iter().copied());
            push(9, &mut folded[..n.min(3)].iter().copied());
            push(10, &mut word.chars());
            push(
                11,
                &mut case(word)
                    .chars()
                    .chain(folded[n.saturating_sub(2)..].iter().copied()),
            );
            push(12, &mut std::iter::once((b'0' + n.min(9) as u8) as char));
        }
    }
}

fn case(word: &str) -> &'static str {
    let mut chars = word.chars();
    match (chars.next(), chars.next_back()) {
        (Some(c), _) if c.is_numeric() => "d",
        (Some(c), _) if !c.is_alphabetic() => "m",
        (Some(c), _) if !c.is_uppercase() => "x",
        (_, Some(c)) if c.is_lowercase() => "Xx",
        (_, Some(_)) => "XX",
        _ => "X",
    }
}

pub(super) const fn history(before2: usize, before: usize) -> usize {
    before2 * (TAGS.len() + 1) + before
}

impl PosTagger {
    pub(super) fn new() -> Self {
        Self {
            words: HashMap::new(),
            history: vec![[0; TAGS.len()]; HISTORIES],
        }
    }

    /// Returns the scores that a word adds to tags. Callers should cache them, since this hashes the word a
    /// dozen times.
    pub fn vectors(&self, word: &str) -> Vectors {
        let mut vectors = Vectors::default();
        features(word, |kind, feature| {
            if let Some(row) = self.words.get(&feature) {
                let to = match kind {
                    0 => &mut vectors.own,
                    1 => &mut vectors.next,
                    _ => &mut vectors.before,
                };
                add(to, row);
            }
        });
        vectors
    }

    /// Tags the words of a sentence from left to right, and appends the tags' numbers to `out`.
    pub fn tag<'v>(&self, words: impl IntoIterator<Item = &'v Vectors>, out: &mut Vec<u8>) {
        let mut words = words.into_iter().peekable();
        let mut context = Context::default();
        while let Some(word) = words.next() {
            out.push(self.next(&mut context, word, words.peek().copied()));
        }
    }

    /// Tags the next word of a sentence; `after` is the word after it, if there is one.
    #[inline]
    pub(crate) fn next(&self, context: &mut Context, word: &Vectors, after: Option<&Vectors>) -> u8 {
        let mut scores = word.own;
        add(&mut scores, &context.last);
        if let Some(after) = after {
            add(&mut scores, &after.before);
        }
        add(
            &mut scores,
            &self.history[history(context.before2, context.before)],
        );
        let tag = best(&scores);
        (context.before2, context.before, context.last) = (context.before, tag, word.next);
        tag as u8
    }

    /// Returns the tagger as a file's bytes; the same tagger gives the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend((self.words.len() as u32).to_le_bytes());
        let mut words: Vec<_> = self.words.iter().collect();
        words.sort_unstable_by_key(|(feature, _)| **feature);
        for (feature, row) in words {
            out.extend(feature.to_le_bytes());
            write_row(row, &mut out);
        }
        for row in &self.history {
            write_row(row, &mut out);
        }
        out
    }

    /// Reads a tagger that [`PosTagger::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`PosError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PosError> {
        let mut from = Reader { bytes, at: 0 };
        if from.take(8).map_err(|_| PosError::Magic)? != MAGIC {
            return Err(PosError::Magic);
        }
        let found = from.u32()?;
        if found != VERSION {
            return Err(PosError::Version { found });
        }
        let count = from.u32()?;
        let mut tagger = Self::new();
        for _ in 0..count {
            let feature = from.u32()?;
            let row = from.row()?;
            tagger.words.insert(feature, row);
        }
        for row in &mut tagger.history {
            *row = from.row()?;
        }
        if from.at == bytes.len() && tagger.words.len() == count as usize {
            Ok(tagger)
        } else {
            Err(PosError::Damaged { at: from.at })
        }
    }
}

impl std::fmt::Debug for PosTagger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PosTagger({} features)", self.words.len())
    }
}

#[inline]
fn add(to: &mut Row, row: &Row) {
    for (to, by) in to.iter_mut().zip(row) {
        *to = to.saturating_add(*by);
    }
}

/// Returns the first of the best.
#[inline]
pub(super) fn best<S: PartialOrd + Copy>(scores: &[S; TAGS.len()]) -> usize {
    let mut best = 0;
    for (tag, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = tag;
        }
    }
    best
}

/// Writes which tags have a weight, and their weights.
fn write_row(row: &Row, out: &mut Vec<u8>) {
    let mask = (0..TAGS.len()).fold(0u32, |mask, tag| mask | u32::from(row[tag] != 0) << tag);
    out.extend(&mask.to_le_bytes()[..3]);
    for weight in row.iter().filter(|weight| **weight != 0) {
        out.extend(weight.to_le_bytes());
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    fn take(&mut self, n: usize) -> Result<&'b [u8], PosError> {
        let part = self.bytes.get(self.at..self.at + n);
        let part = part.ok_or(PosError::Damaged { at: self.at })?;
        self.at += n;
        Ok(part)
    }

    fn u32(&mut self) -> Result<u32, PosError> {
        let mut word = [0; 4];
        word.copy_from_slice(self.take(4)?);
        Ok(u32::from_le_bytes(word))
    }

    fn row(&mut self) -> Result<Row, PosError> {
        let mut word = [0; 4];
        word[..3].copy_from_slice(self.take(3)?);
        let mask = u32::from_le_bytes(word);
        if mask >> TAGS.len() != 0 {
            return Err(PosError::Damaged { at: self.at });
        }
        let mut row = Row::default();
        for (tag, weight) in row.iter_mut().enumerate() {
            if mask >> tag & 1 == 1 {
                let mut word = [0; 2];
                word.copy_from_slice(self.take(2)?);
                *weight = i16::from_le_bytes(word);
            }
        }
        Ok(row)
    }
}
