//! A training's state on disk, from which it resumes after a kill. Written atomically.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use lethe_corpus::digest;
use lethe_learn::{Epoch, Observer};
use sha2::{Digest as _, Sha256};

use crate::adam::Adam;
use crate::model::{Architecture, Params};
use crate::train::{Data, Schedule};

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// It cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// It belongs to another training, or was cut short or altered.
    #[error("{}: {problem}; remove it to train from the beginning", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        problem: &'static str,
    },
}

/// The state of a training.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) epochs: u32,
    /// Whether the training has ended.
    pub(crate) ended: bool,
    /// Passes since the best held-out score.
    pub(crate) since: u32,
    pub(crate) params: Params,
    pub(crate) adam: Adam,
    /// The best held-out score and its parameters.
    pub(crate) best: Option<(f64, Params)>,
}

const MAGIC: &[u8; 8] = b"lethe-n2";

impl State {
    /// Creates the initial state.
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            epochs: 0,
            ended: false,
            since: 0,
            params: params.clone(),
            adam: Adam::new(params),
            best: None,
        }
    }

    /// Counts a pass, keeps the parameters if they have the best held-out score, and tells the observer, who may end
    /// the training.
    pub(crate) fn end_pass(
        &mut self,
        of: u32,
        loss: f64,
        held_out: Option<f64>,
        observer: &mut dyn Observer,
    ) {
        self.epochs += 1;
        if let Some(score) = held_out
            && self.best.as_ref().is_none_or(|(best, _)| score > *best)
        {
            self.best = Some((score, self.params.clone()));
        }
        let epoch = Epoch {
            done: self.epochs,
            of,
            loss,
            held_out,
        };
        self.ended = observer.epoch(epoch) == ControlFlow::Break(());
    }

    /// Returns the best parameters and their held-out score; without held-out documents, the last ones.
    pub(crate) fn into_best(self) -> (Option<f64>, Params) {
        match self.best {
            Some((score, params)) => (Some(score), params),
            None => (None, self.params),
        }
    }

    /// Reads a state, if there is one; `like` has the parameters' shapes.
    pub(crate) fn read(
        path: &Path,
        fingerprint: &[u8; 32],
        like: &Params,
    ) -> Result<Option<Self>, CheckpointError> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(io(path, source)),
        };
        let foreign = |problem| CheckpointError::Foreign {
            path: path.to_owned(),
            problem,
        };
        let cut = || foreign("the checkpoint was cut short or altered");
        let (body, sum) = bytes.split_last_chunk::<32>().ok_or_else(cut)?;
        let mut rest = body
            .strip_prefix(MAGIC)
            .ok_or_else(|| foreign("this is not a checkpoint"))?;
        if <[u8; 32]>::from(Sha256::digest(body)) != *sum {
            return Err(cut());
        }
        if take(&mut rest, 32).ok_or_else(cut)? != fingerprint {
            return Err(foreign(
                "the checkpoint belongs to a training with other settings or data",
            ));
        }
        let mut state = Self::new(like);
        state.epochs = number(&mut rest).ok_or_else(cut)? as u32;
        state.ended = number(&mut rest).ok_or_else(cut)? != 0;
        state.since = number(&mut rest).ok_or_else(cut)? as u32;
        state.adam.steps = number(&mut rest).ok_or_else(cut)?;
        let best = f64::from_bits(number(&mut rest).ok_or_else(cut)?);
        for params in [&mut state.params, &mut state.adam.mean, &mut state.adam.square] {
            fill(params, &mut rest).ok_or_else(cut)?;
        }
        if !best.is_nan() {
            let mut params = like.clone();
            fill(&mut params, &mut rest).ok_or_else(cut)?;
            state.best = Some((best, params));
        }
        if rest.is_empty() {
            Ok(Some(state))
        } else {
            Err(cut())
        }
    }

    /// Writes the state to a temporary file, then renames it.
    pub(crate) fn write(&self, path: &Path, fingerprint: &[u8; 32]) -> Result<(), CheckpointError> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(fingerprint);
        let best = self.best.as_ref().map_or(f64::NAN, |(best, _)| *best);
        for number in [
            u64::from(self.epochs),
            u64::from(self.ended),
            u64::from(self.since),
            self.adam.steps,
            best.to_bits(),
        ] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let best = self.best.as_ref().map(|(_, params)| params);
        for params in [&self.params, &self.adam.mean, &self.adam.square]
            .into_iter()
            .chain(best)
        {
            let numbers = params.0.iter().flat_map(|tensor| &tensor.data);
            bytes.extend(numbers.flat_map(|x| x.to_le_bytes()));
        }
        let sum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&sum);
        let draft = path.with_extension("part");
        let written = std::fs::File::create(&draft).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()
        });
        written.map_err(|source| io(&draft, source))?;
        std::fs::rename(&draft, path).map_err(|source| io(path, source))
    }
}

fn io(path: &Path, source: std::io::Error) -> CheckpointError {
    CheckpointError::Io {
        path: path.to_owned(),
        source,
    }
}

fn take<'a>(rest: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (part, after) = rest.split_at_checked(n)?;
    *rest = after;
    Some(part)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let bytes = take(rest, 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

fn fill(params: &mut Params, rest: &mut &[u8]) -> Option<()> {
    for tensor in &mut params.0 {
        let bytes = take(rest, 4 * tensor.data.len())?;
        let numbers = bytes.as_chunks::<4>().0;
        tensor
            .data
            .iter_mut()
            .zip(numbers)
            .for_each(|(x, &b)| *x = f32::from_le_bytes(b));
    }
    Some(())
}

/// Returns the identity of a training; `from` is the digest of the model that it continues from.
pub(crate) fn fingerprint(
    kind: &str,
    architecture: &Architecture,
    schedule: &Schedule,
    data: Data<'_>,
    from: Option<&str>,
) -> [u8; 32] {
    let mut hash = Sha256::new();
    // Floats are printed so that they parse to the same value.
    hash.update(format!("{kind} {architecture:?} {schedule:?}"));
    hash.update(digest(data.train));
    hash.update(digest(data.held_out));
    if let Some(vectors) = data.vectors {
        for word in vectors.words() {
            hash.update(word.as_bytes());
            let row = vectors.get(word).unwrap_or_default();
            row.iter().for_each(|x| hash.update(x.to_le_bytes()));
        }
    }
    hash.update(from.unwrap_or_default());
    for list in data.dictionary.lists() {
        hash.update(list.id.as_bytes());
    }
    if let Some(speech) = data.speech {
        hash.update(speech.digest());
    }
    hash.finalize().into()
}
