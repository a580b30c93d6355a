//! What members keep between batches: a cache for each thread that tags, and the memory that all of them take.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What one thread keeps between batches: words, rows, buffers. It may hold words of notes, and is never printed or
/// written.
pub trait Cache: Default {
    /// Returns the bytes of memory that it takes, buffers with their capacity. It is asked after each use, so it must
    /// be cheap.
    fn bytes(&self) -> usize;
}

/// Returns the bytes that a vector takes, of which it may use a part.
pub const fn vec_bytes<T>(vec: &Vec<T>) -> usize {
    vec.capacity() * size_of::<T>()
}

/// The caches of a member. A thread takes one for as long as it works on a batch, so that there are as many as threads
/// that have worked at the same time.
///
/// ```
/// use lethe_core::{Cache, Caches, vec_bytes};
///
/// #[derive(Default)]
/// struct Words(Vec<u64>);
///
/// impl Cache for Words {
///     fn bytes(&self) -> usize {
///         vec_bytes(&self.0)
///     }
/// }
///
/// let caches = Caches::<Words>::default();
/// caches.take().0 = vec![0; 100];
/// assert_eq!(caches.bytes(), 800);
/// assert_eq!(caches.take().0.len(), 100);
/// ```
#[derive(Default)]
pub struct Caches<T> {
    idle: Mutex<Vec<T>>,
    bytes: AtomicUsize,
}

impl<T: Cache> Caches<T> {
    /// Takes a cache until the result is dropped: the one that was used last, or a new one if all are in use.
    pub fn take(&self) -> TakenCache<'_, T> {
        let cache = self.idle().pop().unwrap_or_default();
        TakenCache {
            counted: cache.bytes(),
            cache,
            caches: self,
        }
    }

    /// Returns the bytes of memory that the caches take. A cache in use counts as it was before.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// Nothing panics while the lock is held.
    fn idle(&self) -> MutexGuard<'_, Vec<T>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> std::fmt::Debug for Caches<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Caches({} bytes)", self.bytes.load(Relaxed))
    }
}

/// A cache that no other thread uses. It goes back when it is dropped, unless its thread panics.
pub struct TakenCache<'a, T: Cache> {
    cache: T,
    counted: usize,
    caches: &'a Caches<T>,
}

impl<T: Cache> Deref for TakenCache<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.cache
    }
}

impl<T: Cache> DerefMut for TakenCache<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.cache
    }
}

impl<T: Cache> Drop for TakenCache<'_, T> {
    fn drop(&mut self) {
        self.caches.bytes.fetch_sub(self.counted, Relaxed);
        if !std::thread::panicking() {
            self.caches.bytes.fetch_add(self.cache.bytes(), Relaxed);
            self.caches.idle().push(std::mem::take(&mut self.cache));
        }
    }
}

impl<T: Cache> std::fmt::Debug for TakenCache<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TakenCache({} bytes)", self.counted)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[derive(Default)]
    struct Bytes(Vec<u8>);

    impl Cache for Bytes {
        fn bytes(&self) -> usize {
            self.0.len()
        }
    }

    #[test]
    fn caches_in_use_at_the_same_time_differ_and_all_are_counted() {
        let caches = Caches::<Bytes>::default();
        let mut one = caches.take();
        one.0.push(1);
        let mut other = caches.take();
        assert!(other.0.is_empty());
        other.0.extend([2, 2]);
        drop(other);
        assert_eq!(caches.bytes(), 2);
        drop(one);
        assert_eq!(caches.bytes(), 3);
        assert_eq!(caches.take().0, [1], "the one that was used last");
        caches.take().0.clear();
        assert_eq!(caches.bytes(), 2);
    }

    #[test]
    fn a_panic_drops_its_cache_and_what_it_counted() {
        let caches = Caches::<Bytes>::default();
        caches.take().0.push(1);
        let work = || {
            let _cache = caches.take();
            panic!("as asked")
        };
        assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
        assert_eq!(caches.bytes(), 0);
        assert!(caches.take().0.is_empty());
    }
}
