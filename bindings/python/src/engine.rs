//! The class `Engine`, as `python/lethe/engine.py` completes it.

use std::path::PathBuf;

use lethe::Note;
use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3_arrow::PyTable;
use pyo3_arrow::input::AnyArray;

use crate::errors::{self, Place};
use crate::known;
use crate::redacted::{self, Redacted, Span};
use crate::tables::{self, Request};

/// An engine, as the library has it. It is not changed by any call.
#[pyclass(frozen, module = "lethe._lethe")]
pub(crate) struct Engine(lethe::Engine);

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (bundle, policy=None, policy_text=None, keys=None, dictionary=None, signed_by=None, operating_point="recall"))]
    // One for each option of the Python class.
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        bundle: PathBuf,
        policy: Option<PathBuf>,
        policy_text: Option<String>,
        keys: Option<PathBuf>,
        dictionary: Option<PathBuf>,
        signed_by: Option<Vec<PathBuf>>,
        operating_point: &str,
    ) -> PyResult<Self> {
        let mut builder = lethe::Engine::builder().bundle(bundle);
        builder = match (policy, policy_text) {
            (Some(_), Some(_)) => {
                return Err(errors::value(
                    "`policy` and `policy_text` exclude each other".to_owned(),
                ));
            }
            (Some(file), None) => builder.policy_file(file),
            (None, Some(text)) => builder.policy(text),
            (None, None) => builder,
        };
        if let Some(keys) = keys {
            builder = builder.keys(keys);
        }
        if let Some(dictionary) = dictionary {
            builder = builder.dictionary(dictionary);
        }
        if let Some(signers) = signed_by {
            builder = builder.signed_by(signers);
        }
        let point = operating_point
            .parse()
            .map_err(|why| errors::value(format!("`operating_point`: {why}")))?;
        let builder = builder.operating_point(point);
        detached(py, || builder.build()).map(Self)
    }

    #[pyo3(signature = (text, id, patient, known))]
    fn redact(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyString>,
        id: Option<&Bound<'_, PyString>>,
        patient: Option<&Bound<'_, PyString>>,
        known: Vec<(String, Bound<'_, PyString>)>,
    ) -> PyResult<Redacted> {
        let original = string(text, "text")?;
        let note = note(&original, id, patient, known)?;
        detached(py, || {
            let redacted = self.0.redact(note)?;
            Ok(Redacted::new(&original, redacted))
        })
    }

    #[pyo3(signature = (text, id, patient, known))]
    fn annotate(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyString>,
        id: Option<&Bound<'_, PyString>>,
        patient: Option<&Bound<'_, PyString>>,
        known: Vec<(String, Bound<'_, PyString>)>,
    ) -> PyResult<Vec<Span>> {
        let original = string(text, "text")?;
        let note = note(&original, id, patient, known)?;
        detached(py, || {
            let found = self.0.find(note)?;
            Ok(redacted::spans(&original, &found))
        })
    }

    #[pyo3(signature = (data, text, id, patient, known, null_for_errors, audit, threads, progress))]
    #[allow(clippy::too_many_arguments)]
    fn redact_arrow(
        &self,
        py: Python<'_>,
        data: AnyArray,
        text: Vec<String>,
        id: Option<String>,
        patient: Option<String>,
        known: Vec<(String, String)>,
        null_for_errors: bool,
        audit: bool,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Py<PyAny>, Option<PyTable>)> {
        let known = known
            .into_iter()
            .map(|(kind, column)| Ok((known::kind(&kind)?, column)));
        let all = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let request = Request {
            text,
            id,
            patient,
            known: known.collect::<PyResult<_>>()?,
            null_for_errors,
            audit,
            threads: threads.unwrap_or_else(all),
            progress,
        };
        // Not only the threads': arrays of other libraries are read here.
        errors::caught(|| tables::redact(py, &self.0, &request, data)).ok_or_else(errors::panicked)?
    }

    /// The labels that spans can have.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.0.labels().map(str::to_owned).collect()
    }

    /// Returns the entity that Presidio has for a label.
    fn presidio_entity(&self, label: &str) -> Option<&'static str> {
        self.0.presidio_entity(label)
    }

    /// The members of the bundle, in the order of their votes.
    #[getter]
    fn members(&self) -> Vec<String> {
        self.0.members().map(str::to_owned).collect()
    }

    /// The SHA-256 digest of the bundle in hexadecimal.
    #[getter]
    fn bundle_digest(&self) -> &str {
        self.0.bundle_digest()
    }
}

/// Runs `call` while other threads of Python run.
fn detached<T: Send>(py: Python<'_>, call: impl FnOnce() -> Result<T, lethe::Error> + Send) -> PyResult<T> {
    let called = py.detach(|| errors::caught(call)).ok_or_else(errors::panicked)?;
    called.map_err(|error| errors::exception(&error, &Place::default()))
}

fn note(
    text: &str,
    id: Option<&Bound<'_, PyString>>,
    patient: Option<&Bound<'_, PyString>>,
    known: Vec<(String, Bound<'_, PyString>)>,
) -> PyResult<Note> {
    let mut note = Note::new(text);
    if let Some(id) = id {
        note = note.id(string(id, "id")?);
    }
    if let Some(patient) = patient {
        note = note.patient(string(patient, "patient")?);
    }
    for (kind, value) in known {
        note = note.known(known::kind(&kind)?, string(&value, "a value of `known`")?);
    }
    Ok(note)
}

/// Returns the text of a string of Python.
fn string(text: &Bound<'_, PyString>, name: &str) -> PyResult<String> {
    // Python's own exception holds the text.
    text.to_cow().map(std::borrow::Cow::into_owned).map_err(|_| {
        errors::value(format!(
            "{name} has half of a surrogate pair, which is not Unicode text"
        ))
    })
}
