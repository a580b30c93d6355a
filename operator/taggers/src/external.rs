//! `external`: what another tool found, read from its predictions: MIST, PhysioNet's deid, a hosted service.
//!
//! The tool runs elsewhere, on the same notes; its output, in any format of [`lethe_corpus`], stands in the ensemble as
//! a member. Predictions belong to a note by its id, and the text that was predicted on must be the note's to the byte:
//! spans of another version of a note would redact the wrong words.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use lethe_core::{
    Annotation, AnnotationError, Annotations, LabelError, LabelId, LabelSet, NoteBatch, RowKind, TagError,
    Tagger, hex,
};
use lethe_corpus::{CorpusError, Document, Format};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Settings of an `external` member.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalConfig {
    /// The tool's name in votes and audit.
    pub name: String,
    /// A file of predictions, or a folder of them. Read whole when the member is built.
    pub path: PathBuf,
    /// The format of the predictions; guessed from their content if not given.
    #[serde(default)]
    pub format: Option<Format>,
    /// For labels of the tool, the label of the engine's set. One that is not named here goes by its own name, or by the
    /// label that stands for it.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// What a note gets that has no prediction.
    #[serde(default)]
    pub missing: Missing,
}

/// What becomes of a note that has no prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// The member fails on it, so that the note is quarantined: the tool has not seen it.
    #[default]
    Fail,
    /// No annotations, as if the tool had found nothing: for tools that leave out notes without findings.
    Nothing,
}

/// Why predictions cannot be used. Holds places, never text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// They cannot be read.
    #[error("member `{member}`: {source}")]
    Corpus {
        /// The member's name.
        member: String,
        /// What is wrong, with file and line.
        source: CorpusError,
    },
    /// A label of the tool has no place in the label set.
    #[error("member `{member}`: key `labels.{label}`: {source}")]
    Label {
        /// The member's name.
        member: String,
        /// The tool's label.
        label: String,
        /// Why not.
        source: LabelError,
    },
    /// The configuration maps a label to one that the set has not.
    #[error("member `{member}`: key `labels.{label}`: label set `{set}` has no label `{target}`")]
    Target {
        /// The member's name.
        member: String,
        /// The tool's label.
        label: String,
        /// What it is mapped to.
        target: String,
        /// The set's id.
        set: String,
    },
    /// A score is no number from 0 to 1.
    #[error(
        "member `{member}`: document {document} (counted from 1), span {span}: a score that is not between 0 and 1"
    )]
    Score {
        /// The member's name.
        member: String,
        /// The document, from 1.
        document: usize,
        /// Bytes of its text.
        span: lethe_core::Span,
    },
    /// A prediction lies outside its own text.
    #[error("member `{member}`: document {document} (counted from 1): {source}")]
    Span {
        /// The member's name.
        member: String,
        /// The document, from 1.
        document: usize,
        /// What is wrong with it.
        source: AnnotationError,
    },
}

impl ExternalConfig {
    /// Reads the predictions.
    ///
    /// # Errors
    /// [`ExternalError`], naming the member, and the file and line or the key.
    pub fn build(&self, labels: &LabelSet) -> Result<External, ExternalError> {
        let documents = self.documents()?;
        let mut places = HashMap::new();
        for (label, target) in &self.labels {
            let id = labels.by_name(target).ok_or_else(|| ExternalError::Target {
                member: self.name.clone(),
                label: label.clone(),
                target: target.clone(),
                set: labels.id().to_owned(),
            })?;
            places.insert(label.clone(), id);
        }
        let mut predictions = HashMap::with_capacity(documents.len());
        for (i, document) in documents.into_iter().enumerate() {
            let prediction = self.prediction(i + 1, &document, &mut places, labels)?;
            predictions.insert(document.id, prediction);
        }
        Ok(External {
            name: self.name.clone(),
            missing: self.missing,
            predictions,
        })
    }

    /// Returns a digest of the predictions themselves, for the fingerprint of a configuration: other
    /// predictions under the same path are another member.
    ///
    /// # Errors
    /// [`ExternalError::Corpus`].
    pub fn fingerprint(&self) -> Result<String, ExternalError> {
        let documents = self.documents()?;
        let mut hash = Sha256::new_with_prefix(lethe_corpus::digest(&documents));
        for mark in documents.iter().flat_map(|document| &document.marks) {
            // No score has these bits: it is a NaN.
            hash.update(mark.score.map_or(u32::MAX, f32::to_bits).to_le_bytes());
        }
        Ok(hex(&hash.finalize()))
    }

    fn documents(&self) -> Result<Vec<Document>, ExternalError> {
        lethe_corpus::read(&self.path, self.format).map_err(|source| ExternalError::Corpus {
            member: self.name.clone(),
            source,
        })
    }

    fn prediction(
        &self,
        number: usize,
        document: &Document,
        places: &mut HashMap<String, LabelId>,
        labels: &LabelSet,
    ) -> Result<Prediction, ExternalError> {
        let mut found = Vec::with_capacity(document.marks.len());
        for mark in &document.marks {
            let label = match places.get(&mark.label) {
                Some(&label) => label,
                None => {
                    let own = labels
                        .by_name(&mark.label)
                        .map_or_else(|| labels.resolve(&mark.label), Ok);
                    let label = own.map_err(|source| ExternalError::Label {
                        member: self.name.clone(),
                        label: mark.label.clone(),
                        source,
                    })?;
                    places.insert(mark.label.clone(), label);
                    label
                }
            };
            let score = mark.score.unwrap_or(1.0);
            if !(0.0..=1.0).contains(&score) {
                return Err(ExternalError::Score {
                    member: self.name.clone(),
                    document: number,
                    span: mark.span,
                });
            }
            // Tools mark blanks around a name; nothing is lost with them.
            let span = mark.span.trimmed(&document.text);
            if !span.is_empty() {
                found.push(Annotation {
                    span,
                    label,
                    score,
                    rule: "",
                });
            }
        }
        let annotations = Annotations::new(&document.text, found).map_err(|source| ExternalError::Span {
            member: self.name.clone(),
            document: number,
            source,
        })?;
        Ok(Prediction {
            text: digest(&document.text),
            annotations,
        })
    }
}

/// An `external` member.
pub struct External {
    name: String,
    missing: Missing,
    predictions: HashMap<String, Prediction>,
}

/// What the tool says about a note. The text itself is not kept.
struct Prediction {
    text: [u8; 32],
    annotations: Annotations,
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

impl External {
    /// How many notes it has predictions for.
    pub fn len(&self) -> usize {
        self.predictions.len()
    }

    /// Returns whether it has none.
    pub fn is_empty(&self) -> bool {
        self.predictions.is_empty()
    }

    fn note(&self, batch: &NoteBatch, row: usize) -> Result<Annotations, TagError> {
        if batch.row_kind(row) != RowKind::Note {
            return Ok(Annotations::default());
        }
        match batch.note_id(row).and_then(|id| self.predictions.get(id)) {
            Some(prediction) if prediction.text == digest(batch.note(row).text) => {
                Ok(prediction.annotations.clone())
            }
            Some(_) => Err(TagError::Failed(
                "an external tool's prediction for this note is of another text",
            )),
            None if self.missing == Missing::Nothing => Ok(Annotations::default()),
            None => Err(TagError::Failed(
                "an external tool has no prediction for this note's id",
            )),
        }
    }
}

impl Tagger for External {
    fn name(&self) -> &str {
        &self.name
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        (0..batch.len()).map(|row| self.note(batch, row)).collect()
    }
}

#[cfg(test)]
mod tests;
