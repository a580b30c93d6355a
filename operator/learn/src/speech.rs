//! Parts of speech as members read them: a trait, so that a network does not depend on the tagger's crate, and
//! a tagger with the digest of its file.

use std::ops::Range;
use std::sync::Arc;

use lethe_core::{NoteBatch, NoteView, hex};
use sha2::{Digest as _, Sha256};

/// The file of the part-of-speech tagger in a model's folder.
pub const POS_FILE: &str = "pos.bin";

/// The number of parts of speech: the universal tags (universaldependencies.org/u/pos).
pub const SPEECH_TAGS: usize = 17;

/// The number of a token without a part of speech, because it is in no sentence.
pub const NO_SPEECH: u8 = SPEECH_TAGS as u8;

/// A part-of-speech tagger.
pub trait SpeechTags: Send + Sync {
    /// Returns the tagger as the bytes of its file.
    fn to_bytes(&self) -> Vec<u8>;

    /// Returns a reader of notes. It may hold words of notes, so it must not outlive a batch.
    fn reader(&self) -> Box<dyn SpeechReader + '_>;
}

/// Tags notes from their first token to their last, in any number of steps with the same result.
pub trait SpeechReader {
    /// Appends to `out` a number for each of these tokens, below [`SPEECH_TAGS`] or [`NO_SPEECH`]. A range from
    /// token 0 begins a note; any other continues where the one before ended.
    fn read(&mut self, note: &NoteView<'_>, tokens: Range<usize>, out: &mut Vec<u8>);
}

/// A part-of-speech tagger and the digest of its file. Two are equal if their digests are.
#[derive(Clone)]
pub struct Speech {
    tagger: Arc<dyn SpeechTags>,
    digest: [u8; 32],
}

/// The parts of speech of a batch's tokens, note after note.
pub struct BatchSpeech {
    /// A number for each token, below [`SPEECH_TAGS`] or [`NO_SPEECH`].
    pub tags: Vec<u8>,
}

impl Speech {
    /// Creates the value for a tagger that was read from a file with these bytes.
    pub fn new(tagger: Arc<dyn SpeechTags>, file: &[u8]) -> Self {
        Self {
            tagger,
            digest: Sha256::digest(file).into(),
        }
    }

    /// Returns the SHA-256 of its file in hexadecimal.
    pub fn digest(&self) -> String {
        hex(&self.digest)
    }

    /// Returns the tagger as the bytes of its file.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.tagger.to_bytes()
    }

    /// Returns a reader of notes.
    pub fn reader(&self) -> Box<dyn SpeechReader + '_> {
        self.tagger.reader()
    }

    /// Returns the parts of speech of a batch, which the first request computes: members with the same tagger
    /// share them.
    pub fn shared(&self, batch: &NoteBatch) -> Arc<BatchSpeech> {
        let [a, b, c, d, e, f, g, h, ..] = self.digest;
        let key = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        batch.shared(key, || {
            let (mut reader, mut tags) = (self.reader(), Vec::new());
            for note in batch.notes() {
                reader.read(&note, 0..note.tokens.len(), &mut tags);
            }
            BatchSpeech { tags }
        })
    }
}

impl PartialEq for Speech {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl std::fmt::Debug for Speech {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Speech({})", self.digest())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    /// Counts the notes that it begins.
    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl SpeechTags for Counting {
        fn to_bytes(&self) -> Vec<u8> {
            Vec::new()
        }

        fn reader(&self) -> Box<dyn SpeechReader + '_> {
            Box::new(self)
        }
    }

    impl SpeechReader for &Counting {
        fn read(&mut self, _: &NoteView<'_>, tokens: Range<usize>, out: &mut Vec<u8>) {
            self.0.fetch_add(1, Relaxed);
            out.extend(tokens.map(|i| i as u8));
        }
    }

    #[test]
    fn members_with_the_same_tagger_tag_a_batch_once() {
        let batch = NoteBatch::from_texts(["Ana vino hoy", "", "Luis"]).unwrap();
        let taggers = [(); 2].map(|()| Arc::new(Counting::default()));
        let [first, second] = taggers.clone().map(|tagger| Speech::new(tagger, b"one"));
        assert_eq!(first.shared(&batch).tags, [0, 1, 2, 0]);
        assert_eq!(second.shared(&batch).tags, [0, 1, 2, 0]);
        let times = |which: usize| taggers[which].0.load(Relaxed);
        assert_eq!((first == second, times(0), times(1)), (true, 3, 0));
        let other = Speech::new(Arc::<Counting>::clone(&taggers[1]), b"another");
        other.shared(&batch);
        assert_eq!((first == other, times(1)), (false, 3));
    }
}
