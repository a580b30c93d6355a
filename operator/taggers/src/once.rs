//! Rules that run once per batch, however many readers their spans have.
//!
//! Learned members take the spans of the rules as features, and the same rules vote with them.

use lethe_core::{Annotations, Lookups, NoteBatch, TagError, Tagger};

/// The most tokens of a batch whose spans are kept for other readers. A longer batch has notes that are
/// processed in windows, and keeping their spans would make memory depend on the length of a note.
const MOST_TOKENS: usize = 1 << 18;

/// A member that tags each batch once and answers later requests for the same batch from memory.
pub(crate) struct OncePerBatch<T> {
    member: T,
    key: u64,
}

impl<T: Tagger> OncePerBatch<T> {
    /// `key` identifies the member among all members of type `T`: its settings, labels and dictionary.
    pub(crate) const fn new(member: T, key: u64) -> Self {
        Self { member, key }
    }
}

/// The result of a member of type `T`.
struct Tags<T> {
    tags: Vec<Result<Annotations, TagError>>,
    member: std::marker::PhantomData<fn() -> T>,
}

impl<T: Tagger + 'static> Tagger for OncePerBatch<T> {
    fn name(&self) -> &str {
        self.member.name()
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        let tokens: usize = batch.notes().map(|note| note.tokens.len()).sum();
        if tokens > MOST_TOKENS {
            return self.member.tag(batch);
        }
        let made = batch.shared(self.key, || Tags::<T> {
            tags: self.member.tag(batch),
            member: std::marker::PhantomData,
        });
        made.tags.clone()
    }

    fn token_bytes(&self) -> usize {
        self.member.token_bytes()
    }

    fn lookups(&self) -> Option<Lookups> {
        self.member.lookups()
    }

    fn cache_bytes(&self) -> usize {
        self.member.cache_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Tagger for Counting {
        fn name(&self) -> &str {
            "counting"
        }

        fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            vec![Ok(Annotations::default()); batch.len()]
        }
    }

    #[test]
    fn a_member_tags_a_batch_once_and_another_batch_again() {
        let member = OncePerBatch::new(Counting::default(), 1);
        let batch = NoteBatch::from_texts(["a", "b"]).unwrap();
        assert_eq!(member.tag(&batch).len(), 2);
        assert_eq!(member.tag(&batch).len(), 2);
        assert_eq!(member.member.0.load(Ordering::Relaxed), 1);
        member.tag(&NoteBatch::from_texts(["a"]).unwrap());
        assert_eq!(member.member.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn members_with_other_settings_tag_the_same_batch_themselves() {
        let (one, other) = (
            OncePerBatch::new(Counting::default(), 1),
            OncePerBatch::new(Counting::default(), 2),
        );
        let batch = NoteBatch::from_texts(["a"]).unwrap();
        one.tag(&batch);
        other.tag(&batch);
        assert_eq!(other.member.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn the_spans_of_a_long_batch_are_not_kept() {
        let member = OncePerBatch::new(Counting::default(), 1);
        let batch = NoteBatch::from_texts(["a ".repeat(MOST_TOKENS + 1).as_str()]).unwrap();
        member.tag(&batch);
        member.tag(&batch);
        assert_eq!(member.member.0.load(Ordering::Relaxed), 2);
    }
}
