//! A member's cost, measured on this machine: time per token on one core.

use std::path::Path;
use std::sync::Arc;

use lethe_core::{LabelSet, NoteBatch, Tagger};
use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_learn::Manifest;
use lethe_linear::Learner;
use rustix::time::{ClockId, clock_gettime};

use crate::model::{ModelConfig, OpenError};
use crate::predict::PredictError;
use crate::registry::{BuildError, MemberConfig};

/// Documents per batch.
const CHUNK: usize = 64;

/// Tokens that suffice for a measurement.
const TOKENS: usize = 150_000;

/// A member's time in µs per token on one core, after it has seen similar notes.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// The time that only the member takes.
    pub own: f64,
    /// The time of work that it shares with other members.
    pub shared: f64,
    /// Identifies the shared work: members with the same value do it once.
    pub with: Option<String>,
}

/// Why a cost could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CostError {
    /// The model cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A member that is not a model cannot be used.
    #[error(transparent)]
    Build(Box<BuildError>),
    /// The documents do not form a batch.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// There are no documents to measure on.
    #[error("no document has tokens for measuring the cost of members")]
    Empty,
}

/// Measures the cost of any member on these documents.
///
/// # Errors
/// [`CostError`].
pub fn of_member(
    config: &MemberConfig,
    labels: &LabelSet,
    dictionary: &Arc<Dictionary>,
    documents: &[Document],
) -> Result<Spent, CostError> {
    match config {
        MemberConfig::Model(model) => of_model(&model.path, labels, dictionary, documents),
        other => {
            let member = other.build(labels, dictionary);
            let member = member.map_err(|error| CostError::Build(Box::new(error)))?;
            of(member.as_ref(), None, documents)
        }
    }
}

/// Measures the cost of a trained model on these documents.
///
/// # Errors
/// [`CostError`].
pub fn of_model(
    folder: &Path,
    labels: &LabelSet,
    dictionary: &Arc<Dictionary>,
    documents: &[Document],
) -> Result<Spent, CostError> {
    let config = ModelConfig {
        path: folder.to_owned(),
        name: None,
    };
    let member = config.build(labels, &dictionary.into())?;
    let manifest = Manifest::read(folder).map_err(OpenError::from)?;
    let features = manifest.settings.get("features");
    let shares = Learner::KINDS.contains(&manifest.kind.as_str());
    let with = features
        .filter(|_| shares)
        .map(|features| format!("features {features}"));
    of(member.as_ref(), with, documents)
}

/// Measures the cost of a member on these documents; `with` identifies the work that it shares, if it keeps
/// that in the batch ([`NoteBatch::shared`]).
///
/// # Errors
/// [`CostError`].
pub fn of(member: &dyn Tagger, with: Option<String>, documents: &[Document]) -> Result<Spent, CostError> {
    let (mut chunks, mut tokens) = (Vec::new(), 0);
    for chunk in documents.chunks(CHUNK) {
        // After this warm-up, words are known and tables are loaded, as in a running stream. Each batch is
        // freed before the next, as in a stream, so that none pays for memory that is new to the process.
        let batch = batch(chunk)?;
        tokens += batch.notes().map(|note| note.tokens.len()).sum::<usize>();
        drop(member.tag(&batch));
        chunks.push(chunk);
        if tokens >= TOKENS {
            break;
        }
    }
    if tokens == 0 {
        return Err(CostError::Empty);
    }
    let (mut first, mut second) = (0.0, 0.0);
    for chunk in chunks {
        let batch = batch(chunk)?;
        let start = on_core();
        drop(member.tag(&batch));
        let middle = on_core();
        // The batch now contains the shared work.
        drop(member.tag(&batch));
        first += middle - start;
        second += on_core() - middle;
    }
    let each = |seconds: f64| 1e6 * seconds / tokens as f64;
    Ok(match with {
        Some(_) => Spent {
            own: each(second.min(first)),
            shared: each((first - second).max(0.0)),
            with,
        },
        None => Spent {
            own: each(first),
            shared: 0.0,
            with,
        },
    })
}

fn batch(documents: &[Document]) -> Result<NoteBatch, CostError> {
    let texts = documents.iter().map(|document| document.text.as_str());
    Ok(NoteBatch::from_texts(texts).map_err(PredictError::from)?)
}

/// Returns the CPU time of this thread in seconds, so that other work on the machine does not count.
fn on_core() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use lethe_learn::NoObserver;

    use super::*;
    use crate::training::tests::{documents, job};
    use crate::training::train;

    #[test]
    fn a_linear_member_tells_what_it_shares_and_by_which_settings() {
        let (documents, folder) = (documents(), tempfile::tempdir().unwrap());
        let path = folder.path().join("model");
        train(&job("mira", &documents, &path), &mut NoObserver).unwrap();
        let labels = LabelSet::of_names("x", &["DATE".to_owned(), "NAME".to_owned()]).unwrap();
        let spent = of_model(&path, &labels, &Dictionary::builtin(), &documents).unwrap();
        assert!(spent.own > 0.0 && spent.shared > 0.0, "{spent:?}");
        assert!(spent.with.unwrap().contains("version"));
        assert!(matches!(
            of_model(&path, &labels, &Dictionary::builtin(), &[]),
            Err(CostError::Empty)
        ));
    }
}
