//! `external`: the predictions of another tool, for instance MIST, PhysioNet's deid or a hosted service.
//!
//! The tool runs elsewhere on the same notes; its output, in any format of [`lethe_corpus`], is a member of
//! the ensemble. Predictions belong to a note by its id, and their text must equal the note's byte for byte:
//! spans of another version of a note would redact the wrong words.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use lethe_core::{
    Annotation, AnnotationError, Annotations, LabelError, LabelId, LabelSet, NoteBatch, RowKind, TagError,
    Tagger, hex,
};
use lethe_corpus::{CorpusError, Document, Format};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Settings of an `external` member.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalConfig {
    /// The tool's name in votes and audit.
    #[schemars(extend("examples" = ["mist"]))]
    pub name: String,
    /// A file of predictions, or a folder of them. Lethe reads all of it at the start.
    #[schemars(extend("examples" = ["predictions/mist"]))]
    pub path: PathBuf,
    /// The format of the predictions. By default their content determines it.
    #[serde(default)]
    pub format: Option<Format>,
    /// The engine's label for each label of the tool. A label that is not named here keeps its name, or maps
    /// to the label of the engine's set that stands for it.
    #[serde(default)]
    #[schemars(extend("examples" = [{ "PERSON": "PATIENT" }]))]
    pub labels: BTreeMap<String, String>,
    /// How to treat a note without a prediction.
    #[serde(default)]
    pub missing: Missing,
}

/// What becomes of a note that has no prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// Quarantines the note, since the tool has not processed it.
    #[default]
    Fail,
    /// Returns no spans, for tools that omit notes without findings.
    Nothing,
}

/// Why predictions cannot be used. Contains positions, never text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// They cannot be read.
    #[error("member `{member}`: {source}")]
    Corpus {
        /// The member's name.
        member: String,
        /// The problem, with file and line.
        source: CorpusError,
    },
    /// The label set lacks a label of the tool.
    #[error("member `{member}`: key `labels.{label}`: {source}")]
    Label {
        /// The member's name.
        member: String,
        /// The tool's label.
        label: String,
        /// The reason.
        source: LabelError,
    },
    /// The configuration maps a label to one that the label set does not have.
    #[error("member `{member}`: key `labels.{label}`: label set `{set}` has no label `{target}`{near}")]
    Target {
        /// The member's name.
        member: String,
        /// The tool's label.
        label: String,
        /// The label that it is mapped to.
        target: String,
        /// The set's id.
        set: String,
        /// The end of the message: the label that was most likely meant, if one is near.
        near: String,
    },
    /// A score is not a number from 0 to 1.
    #[error(
        "member `{member}`: document {document} (counted from 1), span {span}: a score that is not between 0 and 1"
    )]
    Score {
        /// The member's name.
        member: String,
        /// The document, from 1.
        document: usize,
        /// The span's bytes in its text.
        span: lethe_core::Span,
    },
    /// A prediction lies outside its own text.
    #[error("member `{member}`: document {document} (counted from 1): {source}")]
    Span {
        /// The member's name.
        member: String,
        /// The document, from 1.
        document: usize,
        /// The problem with it.
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
                near: labels.did_you_mean(target),
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
            labels: places.into_values().collect(),
        })
    }

    /// Returns a digest of the predictions themselves, for the fingerprint of a configuration: other
    /// predictions under the same path are a different member.
    ///
    /// # Errors
    /// [`ExternalError::Corpus`].
    pub fn fingerprint(&self) -> Result<String, ExternalError> {
        let documents = self.documents()?;
        let mut hash = Sha256::new_with_prefix(lethe_corpus::digest(&documents));
        for mark in documents.iter().flat_map(|document| &document.marks) {
            // No score has these bits, which are a NaN.
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
            // Tools include blanks around a name in their spans; trimming loses nothing.
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
    /// The labels of which the tool predicted a span, or that the configuration names.
    labels: BTreeSet<LabelId>,
}

/// The tool's predictions for a note. The text itself is not kept.
struct Prediction {
    text: [u8; 32],
    annotations: Annotations,
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

impl External {
    /// Returns the number of notes with predictions.
    pub fn len(&self) -> usize {
        self.predictions.len()
    }

    /// Returns whether there are no predictions.
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
                "an external tool's prediction for this note has a different text",
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

    fn is_trained_on(&self, label: LabelId) -> bool {
        self.labels.contains(&label)
    }
}

#[cfg(test)]
mod tests;
