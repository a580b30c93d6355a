//! The settings of a convolutional member.

use lethe_learn::Scheme;
use serde::{Deserialize, Serialize};

use crate::model::{Params, Tensor};
use crate::precision::Precision;
use crate::rng::Rng;
use crate::settings::{SettingsError, overlay};
use crate::types::SHAPES;

/// The settings of a `cnn`, without the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Convolutional {
    /// The network's shape.
    pub architecture: ConvolutionShape,
    /// How it is fitted.
    pub schedule: ConvolutionSchedule,
}

/// The shape of a convolutional network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConvolutionShape {
    /// How spans are encoded as tags.
    pub scheme: Scheme,
    /// The rows of the table of n-grams and words.
    pub buckets: usize,
    /// The size of the vector of an n-gram.
    pub piece: usize,
    /// The size of the vector of a word shape.
    pub shape: usize,
    /// The numbers that a layer computes for each token.
    pub channels: usize,
    /// The distance of a token's neighbours in each layer. Each layer reads three tokens.
    pub dilations: Vec<usize>,
    /// The numbers that the layers compute with when the network runs.
    #[serde(skip_serializing_if = "Precision::is_single")]
    pub precision: Precision,
}

impl Default for ConvolutionShape {
    fn default() -> Self {
        Self {
            scheme: Scheme::Bilou,
            buckets: 1 << 15,
            piece: 48,
            shape: 16,
            channels: 64,
            dilations: vec![1, 2, 4, 8, 1],
            precision: Precision::Float32,
        }
    }
}

/// The training schedule of a convolutional network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConvolutionSchedule {
    /// The passes over the training data.
    pub epochs: u32,
    /// The tokens of a step: notes are added until there are this many.
    pub batch: usize,
    /// Adam's initial learning rate, which decreases to 0 over the passes.
    pub rate: f32,
    /// The share of the inputs that is dropped, of the first and of the last layer.
    pub dropout: f32,
    /// The probability that a word is read by its n-grams alone.
    pub unknown: f32,
    /// The norm to which gradients are clipped.
    pub clip: f32,
    /// The seed.
    pub seed: u64,
}

impl Default for ConvolutionSchedule {
    fn default() -> Self {
        Self {
            epochs: 8,
            batch: 4096,
            rate: 0.004,
            dropout: 0.2,
            unknown: 0.3,
            clip: 1.0,
            seed: 1,
        }
    }
}

/// The most layers.
const MOST: usize = 8;
const LAYERS: [[&str; 2]; MOST] = [
    ["layer.0", "layer.0.bias"],
    ["layer.1", "layer.1.bias"],
    ["layer.2", "layer.2.bias"],
    ["layer.3", "layer.3.bias"],
    ["layer.4", "layer.4.bias"],
    ["layer.5", "layer.5.bias"],
    ["layer.6", "layer.6.bias"],
    ["layer.7", "layer.7.bias"],
];
/// The tensor that is saved in half precision.
pub(super) const PIECES: &str = "pieces";
/// The tensor of the layers' ranges.
pub(super) const RANGES: &str = "ranges";
/// The largest size of a part of a network: far beyond any sensible one, and far below an overflow.
const LARGEST: usize = 1 << 16;

/// The indices of the parameters in [`Params`]. The optimiser updates only the rows of the first one that a
/// step read.
pub(super) mod slot {
    pub(in super::super) const PIECES: usize = 0;
    pub(in super::super) const SHAPES: usize = 1;
    /// From here on, the weights of a layer and then its bias: the input, each convolution, the tags.
    pub(in super::super) const LAYERS: usize = 2;
}

impl Convolutional {
    /// The member's kind.
    pub const KIND: &'static str = "cnn";

    /// Creates a member's settings: the defaults, overridden by `given` (tables `architecture`, `schedule`).
    ///
    /// # Errors
    /// [`SettingsError::Key`], naming the key.
    pub fn new(given: toml::Table) -> Result<Self, SettingsError> {
        let key = SettingsError::Key;
        let mut table = toml::Table::try_from(Self::default()).map_err(|error| key(error.to_string()))?;
        overlay(&mut table, given);
        let read: Result<Self, toml::de::Error> = toml::Value::Table(table).try_into();
        let read = read.map_err(|error| key(error.to_string()))?;
        read.check().map_err(|problem| key(problem.to_owned()))?;
        Ok(read)
    }

    /// Creates the settings of fine-tuning: its defaults, overridden by `given` (table `schedule`).
    ///
    /// # Errors
    /// [`SettingsError::Key`], naming the key.
    pub fn tuning(given: toml::Table) -> Result<Self, SettingsError> {
        if given.contains_key("architecture") {
            let problem = "`architecture` cannot be changed: the model's weights have its shape";
            return Err(SettingsError::Key(problem.to_owned()));
        }
        // As for recurrent networks: few documents give few steps.
        let base = "[schedule]\nepochs = 40\nrate = 0.002";
        let mut table: toml::Table = base
            .parse()
            .map_err(|error: toml::de::Error| SettingsError::Key(error.to_string()))?;
        overlay(&mut table, given);
        Self::new(table)
    }

    fn check(&self) -> Result<(), &'static str> {
        self.architecture.check()?;
        let schedule = &self.schedule;
        if schedule.batch == 0 || schedule.epochs == 0 {
            return Err("schedule: batch and epochs must be at least 1");
        }
        if ![schedule.dropout, schedule.unknown]
            .iter()
            .all(|share| (0.0..1.0).contains(share))
        {
            return Err("schedule: dropout and unknown must be from 0 to below 1");
        }
        Ok(())
    }
}

impl ConvolutionShape {
    /// Checks the sizes, which a model's folder also names.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let sizes = [self.piece, self.shape, self.channels];
        if sizes.contains(&0) || self.buckets == 0 {
            return Err("architecture: every size must be at least 1");
        }
        if sizes.iter().any(|&size| size > LARGEST) || self.buckets > 1 << 24 {
            return Err("architecture: a size must be at most 65536, and buckets at most 16777216");
        }
        if self.dilations.len() > MOST - 2 || self.dilations.iter().any(|&d| d == 0 || d > 1024) {
            return Err("architecture: there may be 6 dilations, each from 1 to 1024");
        }
        Ok(())
    }

    /// Returns the size of a token's input.
    pub(super) const fn inputs(&self) -> usize {
        self.piece + self.shape
    }

    /// Returns the number of tokens on each side of a token that can change its scores.
    pub(super) fn reach(&self) -> usize {
        self.dilations.iter().sum()
    }

    /// Returns the parameters without numbers, in the order of [`slot`].
    pub(super) fn tensors(&self, tags: usize) -> Vec<Tensor> {
        let mut shapes = vec![(PIECES, self.buckets, self.piece), ("shapes", SHAPES, self.shape)];
        let first = (self.inputs(), self.channels);
        let inner = self.dilations.iter().map(|_| (3 * self.channels, self.channels));
        let sizes = std::iter::once(first).chain(inner).chain([(self.channels, tags)]);
        for ([weights, bias], (rows, columns)) in LAYERS.into_iter().zip(sizes) {
            shapes.extend([(weights, rows, columns), (bias, 1, columns)]);
        }
        let tensor = |(name, rows, columns)| Tensor {
            name,
            rows,
            columns,
            data: Vec::new(),
        };
        shapes.into_iter().map(tensor).collect()
    }

    /// Returns the tensor of what each channel reached before each convolution and before the tags, without numbers.
    pub(super) fn ranges(&self) -> Tensor {
        Tensor {
            name: RANGES,
            rows: self.dilations.len() + 1,
            columns: self.channels,
            data: Vec::new(),
        }
    }

    /// Returns initial parameters.
    pub(super) fn random(&self, tags: usize, seed: u64) -> Params {
        let one = |(at, tensor): (usize, Tensor)| {
            let shape = (tensor.name, tensor.rows, tensor.columns);
            Tensor::random(shape, at < slot::LAYERS, &mut Rng::new(&[seed, at as u64]))
        };
        Params(self.tensors(tags).into_iter().enumerate().map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(toml: &str) -> Result<Convolutional, SettingsError> {
        Convolutional::new(toml.parse().unwrap())
    }

    #[test]
    fn what_is_given_replaces_the_defaults_one_by_one() {
        let settings = read("[schedule]\nepochs = 3\n[architecture]\ndilations = [1, 3]").unwrap();
        assert_eq!((settings.schedule.epochs, settings.architecture.reach()), (3, 4));
        assert_eq!(settings.schedule.batch, ConvolutionSchedule::default().batch);
    }

    #[test]
    fn an_unknown_key_and_a_size_that_cannot_be_are_refused_by_name() {
        for (toml, named) in [
            ("[schedule]\nepoch = 3", "`epoch`"),
            ("[schedule]\nbatch = 0", "batch"),
            ("[schedule]\ndropout = 1.0", "dropout"),
            ("[architecture]\nchannels = 0", "size"),
            ("[architecture]\nbuckets = 99999999", "buckets"),
            ("[architecture]\ndilations = [1, 2, 3, 4, 5, 6, 7]", "dilations"),
            ("[architecture]\ndilations = [0]", "dilations"),
        ] {
            let message = read(toml).unwrap_err().to_string();
            assert!(message.contains(named), "{message}");
        }
    }
}
