//! `transformer`: a BERT or RoBERTa checkpoint for token classification as a member.
//!
//! A checkpoint is a folder of three files as the usual libraries write them: `config.json` (with `id2label`),
//! `model.safetensors` and `tokenizer.json`. The encoder is written for inference on one core, over
//! [`crate::kernel`]: windows of many notes stand row under row without padding, so a note gets the same spans and the
//! same scores, to the last bit, in every batch.

mod checkpoint;
mod encoder;
mod labels;
mod layers;
mod pieces;
mod windows;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use lethe_core::{Annotations, Collector, LabelSet, NoteBatch, RowKind, TagError, Tagger};
use serde::Deserialize;

use checkpoint::Checkpoint;
use encoder::Encoder;
use labels::{Answer, Tags};
use pieces::{Pieces, answers};
use windows::windows;

pub use checkpoint::TransformerError;

/// Rows that go through the encoder at once: enough to keep its products busy, few enough to stay in the cache.
const ROWS: usize = 512;

/// Settings of a `transformer` member.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransformerConfig {
    /// The member's name in votes and audit.
    #[serde(default = "default_name")]
    pub name: String,
    /// The checkpoint's folder.
    pub path: PathBuf,
    /// SHA-256 of `model.safetensors` in hexadecimal; checked if given, since a checkpoint itself has no digest.
    #[serde(default)]
    pub digest: Option<String>,
    /// For labels of the checkpoint, without their `B-` or `I-`, the label of the engine's set. One that is not named
    /// here goes by its own name, or by the label that stands for it.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Labels of the checkpoint that are no identifiers, for instance `MISC`.
    #[serde(default)]
    pub ignore: BTreeSet<String>,
    /// Which of a token's sub-words answers for it.
    #[serde(default)]
    pub align: Align,
    /// Sub-words that the encoder sees at once, special ones included; as many as the checkpoint has positions for, and
    /// 512 at most, if not given. Better what the checkpoint was fitted with.
    #[serde(default)]
    pub window: Option<usize>,
    /// Sub-words that two windows of a long note share; a quarter of the window if not given. Each sub-word's answer
    /// comes from the window in which it stands farther from the edge.
    #[serde(default)]
    pub overlap: Option<usize>,
}

fn default_name() -> String {
    "transformer".to_owned()
}

/// Which of a token's sub-words answers for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Align {
    /// The first one: for checkpoints that were fitted on first sub-words alone, as most are.
    #[default]
    First,
    /// The one that is surest of its answer.
    Max,
}

impl TransformerConfig {
    /// A digest of the checkpoint's files, for the fingerprint of a configuration: another checkpoint under the same
    /// path is another member.
    ///
    /// # Errors
    /// [`TransformerError::Io`].
    pub fn fingerprint(&self) -> Result<String, TransformerError> {
        checkpoint::fingerprint(&self.path)
    }

    /// An error about one of the settings.
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
                "{window} sub-words leave no room beside the {} special ones",
                pieces.special()
            );
            return setting("window", problem);
        };
        let overlap = self.overlap.unwrap_or(inner / 4);
        if overlap >= inner {
            return setting(
                "overlap",
                format!("must be less than {inner}, what a window holds of the note"),
            );
        }
        Ok(Transformer {
            name: self.name.clone(),
            align: self.align,
            inner,
            overlap,
            encoder: Encoder::new(&checkpoint)?,
            pieces,
            tags,
        })
    }
}

/// A `transformer` member.
pub struct Transformer {
    name: String,
    align: Align,
    /// Sub-words of the note in a window.
    inner: usize,
    overlap: usize,
    encoder: Encoder,
    pieces: Pieces,
    tags: Tags,
}

/// A note's sub-words, and what is known of them.
struct Sheet {
    row: usize,
    ids: Vec<u32>,
    places: Vec<(usize, usize)>,
    answers: Vec<Answer>,
}

/// A window of a sheet: the sub-words it sees, and those that it answers for.
struct Job {
    sheet: usize,
    seen: Range<usize>,
    kept: Range<usize>,
}

impl Tagger for Transformer {
    fn name(&self) -> &str {
        &self.name
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        let mut out: Vec<_> = (0..batch.len()).map(|_| Ok(Annotations::default())).collect();
        let (mut sheets, mut jobs) = (Vec::new(), Vec::new());
        for (row, answer) in out.iter_mut().enumerate() {
            let note = batch.note(row);
            if batch.row_kind(row) != RowKind::Note || note.tokens.is_empty() {
                continue;
            }
            match self.pieces.encode(note.text) {
                Ok((ids, places)) => {
                    let sheet = sheets.len();
                    let of_note = windows(ids.len(), self.inner, self.overlap);
                    jobs.extend(of_note.map(|(seen, kept)| Job { sheet, seen, kept }));
                    let answers = vec![Answer::default(); ids.len()];
                    sheets.push(Sheet {
                        row,
                        ids,
                        places,
                        answers,
                    });
                }
                Err(error) => *answer = Err(error),
            }
        }
        self.run(&mut sheets, &jobs);
        for sheet in &sheets {
            let note = batch.note(sheet.row);
            let tokens = answers(note.tokens, &sheet.places, &sheet.answers, self.align);
            let mut found = Collector::new(note);
            self.tags.spans(&tokens, |first, last, label, score| {
                found.tokens(first, last, label, score, "");
            });
            out[sheet.row] = found.finish().map_err(TagError::from);
        }
        out
    }
}

impl Transformer {
    /// Fills in the answers, as many windows at once as [`ROWS`] hold.
    fn run(&self, sheets: &mut [Sheet], jobs: &[Job]) {
        let special = self.pieces.special();
        let mut rest = jobs;
        while !rest.is_empty() {
            let mut rows = 0;
            let fits = |job: &&Job| {
                let first = rows == 0;
                rows += job.seen.len() + special;
                first || rows <= ROWS
            };
            let count = rest.iter().take_while(fits).count();
            let (now, later) = rest.split_at(count);
            rest = later;
            let ids: Vec<Vec<u32>> = (now.iter())
                .map(|job| self.pieces.framed(&sheets[job.sheet].ids[job.seen.clone()]))
                .collect();
            let scores = self.encoder.scores(&ids);
            let mut from = 0;
            for (job, ids) in now.iter().zip(&ids) {
                let first = from + self.pieces.before();
                for piece in job.kept.clone() {
                    let row = first + (piece - job.seen.start);
                    sheets[job.sheet].answers[piece] = Answer::of(scores.row(row));
                }
                from += ids.len();
            }
        }
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
