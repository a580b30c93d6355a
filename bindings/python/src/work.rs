//! The threads of one call.
//!
//! Threads live as long as the call that needs them. A process can therefore fork between two calls, as
//! `multiprocessing` and Spark's workers do, and nothing of the parent is missing in the child.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lethe::{Engine, Error};
use pyo3::prelude::*;

use crate::errors;
use crate::redacted::Redacted;
use crate::rows::Rows;

/// How long the calling thread waits until it looks for Ctrl-C again.
const LOOK: Duration = Duration::from_millis(100);

/// The redacted note of a row, nothing where it is null, or why the note cannot be redacted.
pub(crate) type Outcome = Option<Result<Redacted, Error>>;

/// What the threads of a call share.
struct Work<'a> {
    engine: &'a Engine,
    rows: &'a Rows,
    pieces: Vec<Range<usize>>,
    /// Whether the first note that fails ends the work.
    stop_at_error: bool,
    next: AtomicUsize,
    stop: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// What each piece came to, in the order of the pieces.
    outcomes: Vec<Vec<Outcome>>,
    rows_done: usize,
    threads: usize,
    panicked: bool,
}

/// Redacts rows on `threads` threads, and returns an outcome for each row, in their order. With `stop_at_error` the rows
/// after the first error may be missing; those before it are there.
///
/// `progress` is called on the calling thread with the number of rows that were finished since it was called last.
///
/// # Errors
/// What `progress` raises, `KeyboardInterrupt`, and `InternalError` if a thread panics.
pub(crate) fn redact(
    py: Python<'_>,
    engine: &Engine,
    rows: &Rows,
    threads: usize,
    stop_at_error: bool,
    mut progress: impl FnMut(usize) -> PyResult<()>,
) -> PyResult<Vec<Outcome>> {
    let pieces = rows.pieces();
    let threads = threads.clamp(1, pieces.len().max(1));
    let work = Work {
        engine,
        rows,
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        state: Mutex::new(State {
            outcomes: Vec::new(),
            rows_done: 0,
            threads,
            panicked: false,
        }),
        changed: Condvar::new(),
        stop_at_error,
        pieces,
    };
    work.lock().outcomes.resize_with(work.pieces.len(), Vec::new);
    thread::scope(|scope| {
        for started in 0..threads {
            let spawned = thread::Builder::new()
                .name("lethe".to_owned())
                .spawn_scoped(scope, || work.run());
            if let Err(error) = spawned {
                work.stop.store(true, Ordering::Relaxed);
                work.lock().threads -= threads - started;
                py.detach(|| work.ended());
                return Err(errors::value(format!(
                    "cannot start thread {started} of {threads}: {error}"
                )));
            }
        }
        let watched = work.watch(py, &mut progress);
        if watched.is_err() {
            work.stop.store(true, Ordering::Relaxed);
        }
        // Not with the interpreter held: other threads of the program go on while these finish their pieces.
        py.detach(|| work.ended());
        watched
    })?;
    let state = work.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if state.panicked {
        return Err(errors::panicked());
    }
    Ok(state.outcomes.into_iter().flatten().collect())
}

impl Work<'_> {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes pieces until there are none.
    fn run(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            // Pieces start in their order, so that those before one that fails are all finished.
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = self.pieces.get(number) else {
                break;
            };
            let outcomes = errors::caught(|| self.redact(piece));
            let mut state = self.lock();
            match outcomes {
                Some(outcomes) => {
                    if self.stop_at_error && outcomes.iter().flatten().any(Result::is_err) {
                        self.stop.store(true, Ordering::Relaxed);
                    }
                    state.rows_done += outcomes.len();
                    if let Some(place) = state.outcomes.get_mut(number) {
                        *place = outcomes;
                    }
                }
                None => {
                    state.panicked = true;
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
            self.changed.notify_all();
        }
        self.lock().threads -= 1;
        self.changed.notify_all();
    }

    fn redact(&self, piece: &Range<usize>) -> Vec<Outcome> {
        let notes: Vec<_> = piece.clone().map(|row| self.rows.note(row)).collect();
        let present: Vec<bool> = notes.iter().map(Option::is_some).collect();
        let mut redacted = self.engine.redact_all(notes.into_iter().flatten()).into_iter();
        let mut next = || redacted.next().expect("there is a result for each note");
        let rows = piece.clone().zip(present);
        let mut outcome = |row| next().map(|redacted| Redacted::new(self.rows.text.value(row), redacted));
        rows.map(|(row, present)| present.then(|| outcome(row))).collect()
    }

    /// Reports progress and looks for Ctrl-C until the threads end.
    fn watch(&self, py: Python<'_>, progress: &mut impl FnMut(usize) -> PyResult<()>) -> PyResult<()> {
        let mut reported = 0;
        loop {
            let (done, running) = py.detach(|| {
                let state = self.lock();
                let news = |state: &mut State| state.threads > 0 && state.rows_done == reported;
                let waited = self.changed.wait_timeout_while(state, LOOK, news);
                let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
                (state.rows_done, state.threads > 0)
            });
            if done > reported {
                progress(done - reported)?;
                reported = done;
            }
            if !running {
                return Ok(());
            }
            py.check_signals()?;
        }
    }

    /// Waits until all threads have ended.
    fn ended(&self) {
        let state = self.lock();
        drop(self.changed.wait_while(state, |state| state.threads > 0));
    }
}
