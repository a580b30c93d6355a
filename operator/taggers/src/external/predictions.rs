//! A finished file of predictions as a member.
//!
//! The tool ran elsewhere on the same notes; its output, in any format of [`lethe_corpus`], is a member of the
//! ensemble. Predictions belong to a note by its id, and their text must equal the note's byte for byte: spans
//! of another version of a note would redact the wrong words.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use lethe_core::{Annotation, Annotations, LabelId, LabelSet, NoteBatch, RowKind, TagError, Tagger, hex};
use lethe_corpus::{CorpusError, Document, Format};
use sha2::{Digest as _, Sha256};

use super::labels::LabelTable;
use super::{ExternalConfig, ExternalError, Missing};

impl ExternalConfig {
    /// Reads the predictions.
    ///
    /// # Errors
    /// [`ExternalError`], naming the member, and the file and line or the key.
    pub fn build(&self, labels: &LabelSet) -> Result<External, ExternalError> {
        let documents = self.documents()?;
        let mut places = LabelTable::new(self, labels, self.file_format()?)?;
        let mut predictions = HashMap::with_capacity(documents.len());
        for (i, document) in documents.into_iter().enumerate() {
            let prediction = self.prediction(i + 1, &document, &mut places)?;
            predictions.insert(document.id, prediction);
        }
        Ok(External {
            name: self.name.clone(),
            missing: self.missing,
            predictions,
            labels: places.ids(),
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
        lethe_corpus::read(self.file()?, self.format).map_err(|source| self.unreadable(source))
    }

    /// Returns the format of the predictions, as configured or as their content says.
    fn file_format(&self) -> Result<Option<Format>, ExternalError> {
        match self.format {
            Some(format) => Ok(Some(format)),
            None => lethe_corpus::detect(self.file()?).map_err(|source| self.unreadable(source)),
        }
    }

    fn file(&self) -> Result<&Path, ExternalError> {
        let missing = || self.setting("path", "missing; name a file of predictions");
        self.path.as_deref().ok_or_else(missing)
    }

    fn unreadable(&self, source: CorpusError) -> ExternalError {
        ExternalError::Corpus {
            member: self.name.clone(),
            source,
        }
    }

    fn prediction(
        &self,
        number: usize,
        document: &Document,
        places: &mut LabelTable<'_>,
    ) -> Result<Prediction, ExternalError> {
        let mut found = Vec::with_capacity(document.marks.len());
        for mark in &document.marks {
            let label = places.id(&mark.label).map_err(|source| ExternalError::Label {
                member: self.name.clone(),
                label: mark.label.clone(),
                source,
            })?;
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

    fn reads_plain_forms(&self) -> bool {
        false
    }
}
