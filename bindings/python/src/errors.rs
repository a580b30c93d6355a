//! Errors of Rust as exceptions of Python. None quotes a note: messages of exceptions reach logs, and those of Spark's
//! workers reach its driver.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Exceptions of `python/lethe/errors.py`.
mod python {
    pyo3::import_exception!(lethe.errors, BundleError);
    pyo3::import_exception!(lethe.errors, DictionaryError);
    pyo3::import_exception!(lethe.errors, PolicyError);
    pyo3::import_exception!(lethe.errors, QuarantineError);
    pyo3::import_exception!(lethe.errors, UnavailableError);
    pyo3::import_exception!(lethe.errors, InternalError);
}

/// Where a note is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// The row of a table or column, from 0.
    pub(crate) row: Option<usize>,
    /// The column's name.
    pub(crate) column: Option<String>,
}

/// Returns the exception for an error of the library.
pub(crate) fn exception(error: &lethe::Error, place: &Place) -> PyErr {
    let message = error.to_string();
    match error {
        lethe::Error::Bundle(_) => python::BundleError::new_err(message),
        lethe::Error::Dictionary(_) => python::DictionaryError::new_err(message),
        lethe::Error::Policy(_) => python::PolicyError::new_err(message),
        lethe::Error::Quarantined { code } => {
            python::QuarantineError::new_err((code.clone(), place.row, place.column.clone()))
        }
        lethe::Error::Unavailable { .. } => python::UnavailableError::new_err(message),
        _ => python::InternalError::new_err(message),
    }
}

/// Returns a `TypeError`.
pub(crate) fn type_error(message: String) -> PyErr {
    PyTypeError::new_err(message)
}

/// Returns a `ValueError`.
pub(crate) fn value(message: String) -> PyErr {
    PyValueError::new_err(message)
}

/// Runs `call`, and returns nothing if it panics.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Option<T> {
    // Nothing of an engine changes in a call, so that nothing is left half changed.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).ok()
}

/// Returns the exception for a panic of a thread, without its message: that could quote a note.
pub(crate) fn panicked() -> PyErr {
    python::InternalError::new_err(
        "internal error in lethe: its message is withheld, since it could quote a note",
    )
}

/// Replaces what a panic prints, which is a message that could quote a note, by its place.
pub(crate) fn withhold_panic_messages() {
    std::panic::set_hook(Box::new(|info| {
        use std::io::Write;
        let place = info
            .location()
            .map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        // If standard error is closed, there is nowhere else to write.
        drop(writeln!(std::io::stderr(), "lethe: panic at {place}"));
    }));
}
