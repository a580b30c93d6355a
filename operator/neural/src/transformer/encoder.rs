//! The encoder of BERT (Devlin 2019) and RoBERTa (Liu 2019) with a layer of labels on top, for inference.
//!
//! Windows stand row under row. Everything but attention works on rows, and attention on one window at a time, so a
//! window's scores depend on nothing but the window.

use super::checkpoint::{Checkpoint, Tensors, TransformerError};
use super::layers::{Activation, Dense, Norm, Part, softmax};
use crate::kernel::{Isa, Matrix};

/// Vectors of sub-words and positions, layers, and labels.
pub(super) struct Encoder {
    isa: Isa,
    hidden: usize,
    heads: usize,
    activation: Activation,
    words: Vec<f32>,
    /// Position and first segment, added.
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    classifier: Dense,
    labels: usize,
}

struct Layer {
    /// Query, divided by the root of a head's size, key and value, side by side.
    attention: Dense,
    attended: Dense,
    attention_norm: Norm,
    inner: Dense,
    outer: Dense,
    norm: Norm,
}

/// Scores of labels, one row a sub-word.
pub(super) struct Scores {
    values: Vec<f32>,
    width: usize,
    labels: usize,
}

impl Scores {
    /// A sub-word's scores, before softmax.
    pub(super) fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.width..][..self.labels]
    }
}

/// Room for what passes between layers.
#[derive(Default)]
struct Room {
    projected: Vec<f32>,
    context: Vec<f32>,
    weights: Vec<f32>,
    inner: Vec<f32>,
    result: Vec<f32>,
    scratch: Vec<f32>,
}

impl Encoder {
    /// Takes the tensors and packs them.
    pub(super) fn new(checkpoint: &Checkpoint) -> Result<Self, TransformerError> {
        Self::on(Isa::best(), checkpoint)
    }

    /// As [`Encoder::new`], for an instruction set.
    pub(super) fn on(isa: Isa, checkpoint: &Checkpoint) -> Result<Self, TransformerError> {
        let shape = &checkpoint.shape;
        let (tensors, hidden) = (checkpoint.tensors()?, shape.hidden);
        let norm = |name: &str| -> Result<Norm, TransformerError> {
            Ok(Norm {
                weight: tensors.get(&format!("{name}.LayerNorm.weight"), &[hidden])?,
                bias: tensors.get(&format!("{name}.LayerNorm.bias"), &[hidden])?,
                epsilon: shape.epsilon,
            })
        };
        let dense = |name: &str, from: usize, to: usize| -> Result<Dense, TransformerError> {
            Ok(Dense::new(isa, from, &[part(&tensors, name, from, to)?]))
        };
        let embeddings = format!("{}.embeddings", shape.prefix);
        let table =
            |name: &str, rows: usize| tensors.get(&format!("{embeddings}.{name}.weight"), &[rows, hidden]);
        let segments = table("token_type_embeddings", shape.types)?;
        let mut positions = table("position_embeddings", shape.first_position + shape.positions)?;
        positions.drain(..shape.first_position * hidden);
        for row in positions.chunks_exact_mut(hidden) {
            row.iter_mut()
                .zip(&segments)
                .for_each(|(to, segment)| *to += segment);
        }
        let layer = |i: usize| -> Result<Layer, TransformerError> {
            let name = format!("{}.encoder.layer.{i}", shape.prefix);
            let projection = |which: &str| {
                part(
                    &tensors,
                    &format!("{name}.attention.self.{which}"),
                    hidden,
                    hidden,
                )
            };
            let mut query = projection("query")?;
            query.factor = 1.0 / ((hidden / shape.heads) as f32).sqrt();
            let parts = [query, projection("key")?, projection("value")?];
            Ok(Layer {
                attention: Dense::new(isa, hidden, &parts),
                attended: dense(&format!("{name}.attention.output.dense"), hidden, hidden)?,
                attention_norm: norm(&format!("{name}.attention.output"))?,
                inner: dense(&format!("{name}.intermediate.dense"), hidden, shape.inner)?,
                outer: dense(&format!("{name}.output.dense"), shape.inner, hidden)?,
                norm: norm(&format!("{name}.output"))?,
            })
        };
        Ok(Self {
            isa,
            hidden,
            heads: shape.heads,
            activation: shape.activation,
            words: table("word_embeddings", shape.words)?,
            positions,
            norm: norm(&embeddings)?,
            layers: (0..shape.layers).map(layer).collect::<Result<_, _>>()?,
            classifier: dense("classifier", hidden, shape.labels.len())?,
            labels: shape.labels.len(),
        })
    }

    /// Scores of every sub-word of these windows, one window's rows after the other's.
    ///
    /// # Panics
    /// If an id is not of the vocabulary, or a window is longer than there are positions.
    pub(super) fn scores(&self, windows: &[Vec<u32>]) -> Scores {
        let lengths: Vec<usize> = windows.iter().map(Vec::len).collect();
        let rows = lengths.iter().sum();
        let mut x = self.embed(windows);
        let mut room = Room::default();
        for layer in &self.layers {
            layer.attention.run(rows, &x, self.hidden, &mut room.projected);
            self.attend(&lengths, layer.attention.width(), &mut room);
            layer
                .attended
                .run(rows, &room.context, self.hidden, &mut room.result);
            self.add(&mut x, &room.result, layer.attended.width());
            layer.attention_norm.run(&mut x);
            layer.inner.run(rows, &x, self.hidden, &mut room.inner);
            self.activation.run(self.isa, &mut room.inner);
            layer
                .outer
                .run(rows, &room.inner, layer.inner.width(), &mut room.result);
            self.add(&mut x, &room.result, layer.outer.width());
            layer.norm.run(&mut x);
        }
        let mut values = Vec::new();
        self.classifier.run(rows, &x, self.hidden, &mut values);
        Scores {
            values,
            width: self.classifier.width(),
            labels: self.labels,
        }
    }

    fn embed(&self, windows: &[Vec<u32>]) -> Vec<f32> {
        let mut x = Vec::new();
        for window in windows {
            for (position, &id) in window.iter().enumerate() {
                let word = &self.words[id as usize * self.hidden..][..self.hidden];
                let place = &self.positions[position * self.hidden..][..self.hidden];
                x.extend(word.iter().zip(place).map(|(word, place)| word + place));
            }
        }
        self.norm.run(&mut x);
        x
    }

    /// Scaled dot-product attention (Vaswani 2017, equation 1), head by head within each window.
    fn attend(&self, lengths: &[usize], stride: usize, room: &mut Room) {
        let (hidden, size) = (self.hidden, self.hidden / self.heads);
        room.context.clear();
        room.context.resize(lengths.iter().sum::<usize>() * hidden, 0.0);
        let mut from = 0;
        for &length in lengths {
            for head in 0..self.heads {
                let of = |part: usize| &room.projected[from * stride + part * hidden + head * size..];
                room.scratch.clear();
                room.scratch.resize(size * length, 0.0);
                for (place, key) in of(1).chunks(stride).take(length).enumerate() {
                    for (i, &v) in key[..size].iter().enumerate() {
                        room.scratch[i * length + place] = v;
                    }
                }
                let keys = Matrix::of_rows(self.isa, &room.scratch, length, 0.0);
                room.scratch.clear();
                for value in of(2).chunks(stride).take(length) {
                    room.scratch.extend_from_slice(&value[..size]);
                }
                let values = Matrix::of_rows(self.isa, &room.scratch, size, 0.0);
                room.weights.clear();
                room.weights.resize(length * keys.width(), 0.0);
                keys.product(length, of(0), stride, &mut room.weights);
                for row in room.weights.chunks_exact_mut(keys.width()) {
                    softmax(self.isa, &mut row[..length]);
                }
                room.scratch.clear();
                room.scratch.resize(length * values.width(), 0.0);
                values.product(length, &room.weights, keys.width(), &mut room.scratch);
                let to = room.context[from * hidden..].chunks_exact_mut(hidden);
                for (to, mixed) in to.zip(room.scratch.chunks_exact(values.width())) {
                    to[head * size..][..size].copy_from_slice(&mixed[..size]);
                }
            }
            from += length;
        }
    }

    /// Adds `y`, whose rows are `width` apart, to `x`.
    fn add(&self, x: &mut [f32], y: &[f32], width: usize) {
        for (x, y) in x.chunks_exact_mut(self.hidden).zip(y.chunks_exact(width)) {
            x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
        }
    }
}

fn part(tensors: &Tensors<'_>, name: &str, from: usize, to: usize) -> Result<Part, TransformerError> {
    Ok(Part {
        weight: tensors.get(&format!("{name}.weight"), &[to, from])?,
        bias: tensors.get(&format!("{name}.bias"), &[to])?,
        factor: 1.0,
    })
}

#[cfg(test)]
mod tests;
