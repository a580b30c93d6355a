//! The native half of the Python package `lethe`.
//!
//! It is the library [`lethe`] behind classes and functions of Python. Notes enter and leave as `str` or as Arrow arrays
//! (the PyCapsule interface), so that any library with Arrow tables can call it without a copy through Python objects.
//! What callers import is in `python/lethe`.

mod audit;
mod column;
mod engine;
mod errors;
mod known;
mod redacted;
mod rows;
mod tables;
mod work;

/// What `python/lethe` builds on.
#[pyo3::pymodule]
mod _lethe {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::redacted::{Redacted, Span};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::errors::withhold_panic_messages();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Returns the names of the bundles that the package contains.
    #[pyfunction]
    fn builtin_bundles() -> Vec<&'static str> {
        lethe::builtin_bundles().collect()
    }

    /// Returns the kinds of identifiers that `known` accepts.
    #[pyfunction]
    fn known_kinds() -> Vec<&'static str> {
        crate::known::KINDS.iter().map(|(name, _)| *name).collect()
    }
}
