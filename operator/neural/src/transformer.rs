//! `transformer`: a transformer checkpoint for token classification as a member.
//!
//! A checkpoint is a folder of three files in the form that the common libraries write: `config.json` (with
//! `id2label`), `model.safetensors` and `tokenizer.json`. The networks are candle's; Lethe adds windows over
//! long notes, the mapping from sub-words to tokens and from labels to spans, and errors that name the file
//! and the key. Each window goes through the network alone, so a note gets the same spans and scores, to the
//! last bit, in every batch.

mod checkpoint;
mod config_json;
mod encoder;
mod family;
mod labels;
mod pieces;
mod tensors;
mod windows;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use lethe_core::{Annotations, Collector, LabelId, LabelSet, NoteBatch, RowKind, TagError, Tagger};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use checkpoint::Checkpoint;
use encoder::Encoder;
use labels::{Answer, Tags};
use pieces::{Pieces, answers};
use windows::windows;

pub use checkpoint::{FILES, TransformerError};

/// Settings of a `transformer` member.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransformerConfig {
    /// The member's name in votes and audit.
    #[serde(default = "default_name")]
    pub name: String,
    /// The checkpoint's folder.
    #[schemars(extend("examples" = ["checkpoints/deid-roberta"]))]
    pub path: PathBuf,
    /// The SHA-256 of `model.safetensors` in hexadecimal. Lethe refuses a checkpoint with another one. By
    /// default it is not checked.
    #[serde(default)]
    pub digest: Option<String>,
    /// The engine's label for each label of the checkpoint, without `B-` or `I-`. A label that is not named
    /// here keeps its name, or maps to the label of the engine's set that stands for it.
    #[serde(default)]
    #[schemars(extend("examples" = [{ "STAFF": "DOCTOR" }]))]
    pub labels: BTreeMap<String, String>,
    /// Labels of the checkpoint that are not identifiers.
    #[serde(default)]
    #[schemars(extend("examples" = [["MISC"]]))]
    pub ignore: BTreeSet<String>,
    /// Which of a token's sub-words determines its label.
    #[serde(default)]
    pub align: Align,
    /// The length of the encoder's input, special sub-words included. Default: the checkpoint's number of
    /// positions, at most 512. Use the length with which the checkpoint was trained.
    #[serde(default)]
    #[schemars(extend("x-unit" = "sub-words"))]
    pub window: Option<usize>,
    /// The overlap of two windows of a long note. Default: a quarter of `window`. The window in which a
    /// sub-word is farther from the edge determines its label.
    #[serde(default)]
    #[schemars(extend("x-unit" = "sub-words"))]
    pub overlap: Option<usize>,
}

fn default_name() -> String {
    "transformer".to_owned()
}

/// Which of a token's sub-words answers for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Align {
    /// The first one, for checkpoints that were trained on first sub-words only, as most are.
    #[default]
    First,
    /// The one with the highest score.
    Max,
}

impl TransformerConfig {
    /// Returns a digest of the checkpoint's files, for the fingerprint of a configuration: another checkpoint
    /// under the same path is a different member.
    ///
    /// # Errors
    /// [`TransformerError::Io`].
    pub fn fingerprint(&self) -> Result<String, TransformerError> {
        checkpoint::fingerprint(&self.path)
    }

    /// Returns an error about one of the settings.
    fn fault(&self, key: &'static str, problem: String) -> TransformerError {
        TransformerError::Setting {
            member: self.name.clone(),
            key,
            problem,
        }
    }

    /// Reads the checkpoint.
    ///
    /// # Errors
    /// [`TransformerError`], naming the file and the key or tensor, or the setting.
    pub fn build(&self, labels: &LabelSet) -> Result<Transformer, TransformerError> {
        let checkpoint = Checkpoint::read(&self.path, self.digest.as_deref())?;
        let tags = Tags::new(&checkpoint, self, labels)?;
        let pieces = Pieces::read(&checkpoint)?;
        let most = checkpoint.shape.positions.min(512);
        let window = self.window.unwrap_or(most);
        let setting = |key, problem: String| Err(self.fault(key, problem));
        if window > checkpoint.shape.positions {
            let problem = format!("the checkpoint has {} positions", checkpoint.shape.positions);
            return setting("window", problem);
        }
        let Some(inner) = window.checked_sub(pieces.special()).filter(|&inner| inner > 0) else {
            let problem = format!(
                "{window} sub-words leave no room besides the {} special ones",
                pieces.special()
            );
            return setting("window", problem);
        };
        let overlap = self.overlap.unwrap_or(inner / 4);
        if overlap >= inner {
            return setting(
                "overlap",
                format!("must be less than {inner}, the sub-words of a note in a window"),
            );
        }
        Ok(Transformer {
            name: self.name.clone(),
            align: self.align,
            inner,
            overlap,
            encoder: Encoder::new(checkpoint)?,
            pieces,
            tags,
        })
    }
}

/// A `transformer` member.
pub struct Transformer {
    name: String,
    align: Align,
    /// The sub-words of the note in a window.
    inner: usize,
    overlap: usize,
    encoder: Encoder,
    pieces: Pieces,
    tags: Tags,
}

impl Tagger for Transformer {
    fn name(&self) -> &str {
        &self.name
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        let note = |row| {
            if batch.row_kind(row) == RowKind::Note {
                self.annotate(batch, row)
            } else {
                Ok(Annotations::default())
            }
        };
        (0..batch.len()).map(note).collect()
    }

    fn is_trained_on(&self, label: LabelId) -> bool {
        self.tags.has(label)
    }
}

impl Transformer {
    fn annotate(&self, batch: &NoteBatch, row: usize) -> Result<Annotations, TagError> {
        let note = batch.note(row);
        if note.tokens.is_empty() {
            return Ok(Annotations::default());
        }
        let (ids, places) = self.pieces.encode(note.text)?;
        let mut pieces = vec![Answer::default(); ids.len()];
        for (seen, kept) in windows(ids.len(), self.inner, self.overlap) {
            let scores = self.encoder.scores(&self.pieces.framed(&ids[seen.clone()]));
            let failed = || TagError::Failed("the checkpoint's network failed on the note");
            let scores = scores.map_err(|_| failed())?;
            for piece in kept {
                let row = self.pieces.before() + (piece - seen.start);
                pieces[piece] = Answer::of(scores.get(row).ok_or_else(failed)?);
            }
            batch.advance()?;
        }
        let tokens = answers(note.tokens, &places, &pieces, self.align);
        let mut found = Collector::new(note);
        self.tags.spans(&tokens, |first, last, label, score| {
            found.tokens(first, last, label, score, "");
        });
        found.finish().map_err(TagError::from)
    }
}

#[cfg(test)]
mod parity;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
