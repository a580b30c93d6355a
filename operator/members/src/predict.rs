//! Runs one member alone over documents, for evaluation and cross-validation.

use lethe_core::{BatchError, LabelSet, NoteBatch, TagError, Tagger};
use lethe_corpus::{Document, Mark};

/// Documents per batch.
const CHUNK: usize = 64;

/// Why documents could not be tagged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictError {
    /// The texts do not form a batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The member failed on a document.
    #[error("document {index} of this list: {source}")]
    Tag {
        /// Its index.
        index: usize,
        /// The reason.
        source: TagError,
    },
}

/// Returns the same documents with the member's spans instead of theirs, scores included.
///
/// # Errors
/// [`PredictError`], naming the first document that failed by its index.
pub fn predict(
    member: &dyn Tagger,
    labels: &LabelSet,
    documents: &[Document],
) -> Result<Vec<Document>, PredictError> {
    let mut predicted = Vec::with_capacity(documents.len());
    for chunk in documents.chunks(CHUNK) {
        let batch = NoteBatch::from_texts(chunk.iter().map(|document| document.text.as_str()))?;
        for (document, answer) in chunk.iter().zip(member.tag(&batch)) {
            let annotations = answer.map_err(|source| PredictError::Tag {
                index: predicted.len(),
                source,
            })?;
            let marks = annotations.iter().map(|annotation| Mark {
                span: annotation.span,
                label: labels.label(annotation.label).name.clone(),
                score: Some(annotation.score),
            });
            predicted.push(Document {
                id: document.id.clone(),
                patient: document.patient.clone(),
                text: document.text.clone(),
                marks: marks.collect(),
            });
        }
    }
    Ok(predicted)
}
