//! Lets a caller observe and limit the work on a batch.

use std::fmt::Debug;

/// Observes the work on a batch, and can end it.
///
/// Members work through long notes in windows and call [`NoteBatch::advance`](crate::NoteBatch::advance)
/// after each. The stream uses this to tell a long note from a worker that hangs, and to end the work on a
/// note that exceeds its time budget. Core has no clock; the caller provides it.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use lethe_core::{NoteBatch, Pace, TagError};
///
/// /// Allows a number of windows.
/// #[derive(Debug)]
/// struct Windows(AtomicUsize);
///
/// impl Pace for Windows {
///     fn advance(&self) -> bool {
///         self.0.fetch_sub(1, Ordering::Relaxed) > 0
///     }
/// }
///
/// let batch = NoteBatch::from_texts(["Seen today."]).unwrap();
/// let batch = batch.paced(Arc::new(Windows(AtomicUsize::new(1))));
/// assert_eq!(batch.advance(), Ok(()));
/// assert_eq!(batch.advance(), Err(TagError::OverBudget));
/// ```
pub trait Pace: Send + Sync + Debug {
    /// Records that a window of work is done. Returns false to end the work: its notes are quarantined as
    /// [`QuarantineCode::OverBudget`](crate::QuarantineCode::OverBudget).
    ///
    /// Threads may call it at the same time. It must be cheap: a window is some thousand tokens.
    fn advance(&self) -> bool;

    /// Returns whether the spans of the batch may take this many bytes of memory. False ends the work, as
    /// with [`advance`](Self::advance). The default allows any number.
    ///
    /// The length of a text bounds the memory of its tokens but not of its spans: a table of numbers has a
    /// span every few bytes. So the [`Engine`](crate::Engine) asks before it decides, and the answer must
    /// depend on the note alone.
    fn allow(&self, _bytes: usize) -> bool {
        true
    }
}
