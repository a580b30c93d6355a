//! Values that the members compute once per batch and share, for instance the features of its tokens.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

type Slot = Arc<OnceLock<Arc<dyn Any + Send + Sync>>>;

/// Values by their type and a key. Lives as long as the batch.
#[derive(Default)]
pub(super) struct Shared(Mutex<HashMap<(TypeId, u64), Slot>>);

impl Shared {
    /// Returns the value of this type under `key`. The first caller computes it; concurrent callers wait for
    /// it.
    pub(super) fn get<T: Any + Send + Sync>(&self, key: u64, make: impl FnOnce() -> T) -> Arc<T> {
        let slot = {
            // Nothing panics while the lock is held: `make` runs after its release.
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry((TypeId::of::<T>(), key)).or_default())
        };
        let value = slot.get_or_init(|| Arc::new(make()));
        // The type is part of the key.
        Arc::clone(value)
            .downcast()
            .unwrap_or_else(|_| unreachable!("a slot holds the type it is filed under"))
    }
}

#[cfg(test)]
mod tests {
    use crate::NoteBatch;

    #[test]
    fn a_value_is_made_once_a_batch_and_key_and_not_shared_with_slices() {
        let batch = NoteBatch::from_texts(["a b", "c"]).unwrap();
        let words = |batch: &NoteBatch, key| {
            batch.shared(key, || batch.notes().map(|note| note.tokens.len()).sum::<usize>())
        };
        assert_eq!(*words(&batch, 1), 3);
        assert!(std::sync::Arc::ptr_eq(&words(&batch, 1), &words(&batch, 1)));
        assert!(!std::sync::Arc::ptr_eq(&words(&batch, 1), &words(&batch, 2)));
        assert!(std::sync::Arc::ptr_eq(
            &words(&batch.clone(), 1),
            &words(&batch, 1)
        ));
        assert_eq!(*words(&batch.slice(1, 1), 1), 1);
    }

    #[test]
    fn a_maker_that_panics_leaves_the_place_free_for_the_next() {
        let batch = NoteBatch::from_texts(["a"]).unwrap();
        let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            batch.shared::<u8>(7, || panic!("made to fail"))
        }));
        assert!(broken.is_err());
        assert_eq!(*batch.shared(7, || 9_u8), 9);
    }
}
