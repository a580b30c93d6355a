//! The encoder against the papers' formulas written down plainly, in double precision.

use super::*;
use crate::transformer::testing::{LABELS, Tiny, Weights};

/// Rows of numbers.
type Rows = Vec<Vec<f64>>;

struct Plain<'a> {
    weights: &'a Weights,
    prefix: &'a str,
    epsilon: f64,
}

impl Plain<'_> {
    fn get(&self, name: &str) -> &[f32] {
        &self.weights[name].1
    }

    fn row(&self, table: &str, row: usize) -> Vec<f64> {
        let (shape, values) = &self.weights[&format!("{}.embeddings.{table}.weight", self.prefix)];
        values[row * shape[1]..][..shape[1]]
            .iter()
            .map(|&v| f64::from(v))
            .collect()
    }

    fn dense(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let (weight, bias) = (
            self.get(&format!("{name}.weight")),
            self.get(&format!("{name}.bias")),
        );
        let output = |(weight, bias): (&[f32], &f32)| {
            x.iter().zip(weight).map(|(x, &w)| x * f64::from(w)).sum::<f64>() + f64::from(*bias)
        };
        weight.chunks(x.len()).zip(bias).map(output).collect()
    }

    fn norm(&self, name: &str, x: &[f64], y: &[f64]) -> Vec<f64> {
        let x: Vec<f64> = x.iter().zip(y).map(|(x, y)| x + y).collect();
        let n = x.len() as f64;
        let mean = x.iter().sum::<f64>() / n;
        let deviation = (x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n + self.epsilon).sqrt();
        let weight = self.get(&format!("{name}.LayerNorm.weight"));
        let bias = self.get(&format!("{name}.LayerNorm.bias"));
        let each = |((v, &w), &b): ((&f64, &f32), &f32)| (v - mean) / deviation * f64::from(w) + f64::from(b);
        x.iter().zip(weight).zip(bias).map(each).collect()
    }

    fn attention(&self, layer: &str, x: &Rows, heads: usize) -> Rows {
        let project = |which: &str| -> Rows {
            x.iter()
                .map(|x| self.dense(&format!("{layer}.attention.self.{which}"), x))
                .collect()
        };
        let (query, key, value) = (project("query"), project("key"), project("value"));
        let size = x[0].len() / heads;
        let one = |query: &Vec<f64>| -> Vec<f64> {
            (0..heads)
                .flat_map(|head| {
                    let part = head * size..(head + 1) * size;
                    let dot = |key: &Vec<f64>| -> f64 {
                        let terms = query[part.clone()].iter().zip(&key[part.clone()]);
                        terms.map(|(q, k)| q * k).sum::<f64>() / (size as f64).sqrt()
                    };
                    let weights: Vec<f64> = key.iter().map(|key| dot(key).exp()).collect();
                    let total: f64 = weights.iter().sum();
                    let mixed =
                        |at: usize| value.iter().zip(&weights).map(|(v, w)| v[at] * w).sum::<f64>() / total;
                    part.clone().map(mixed).collect::<Vec<_>>()
                })
                .collect()
        };
        query.iter().map(one).collect()
    }

    fn scores(&self, ids: &[u32], first_position: usize, heads: usize) -> Rows {
        let embedded = |(at, &id): (usize, &u32)| {
            let (word, segment) = (
                self.row("word_embeddings", id as usize),
                self.row("token_type_embeddings", 0),
            );
            let place = self.row("position_embeddings", first_position + at);
            let sum: Vec<f64> = word.iter().zip(&segment).map(|(a, b)| a + b).collect();
            self.norm(&format!("{}.embeddings", self.prefix), &sum, &place)
        };
        let mut x: Rows = ids.iter().enumerate().map(embedded).collect();
        for i in 0..2 {
            let layer = format!("{}.encoder.layer.{i}", self.prefix);
            let context = self.attention(&layer, &x, heads);
            for (x, context) in x.iter_mut().zip(&context) {
                let attended = self.dense(&format!("{layer}.attention.output.dense"), context);
                *x = self.norm(&format!("{layer}.attention.output"), x, &attended);
                let inner = self.dense(&format!("{layer}.intermediate.dense"), x);
                let inner: Vec<f64> = inner.iter().map(|&v| v * normal(v)).collect();
                let outer = self.dense(&format!("{layer}.output.dense"), &inner);
                *x = self.norm(&format!("{layer}.output"), x, &outer);
            }
        }
        x.iter().map(|x| self.dense("classifier", x)).collect()
    }
}

/// The normal distribution, by the series of Marsaglia 2004.
fn normal(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= x * x / f64::from(2 * n + 1);
        sum += term;
    }
    0.5 + sum * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

fn opened(tiny: &Tiny) -> Checkpoint {
    let (folder, _) = tiny.made();
    Checkpoint::read(folder.path(), None).unwrap()
}

#[test]
fn scores_are_those_of_the_formulas_on_every_instruction_set() {
    let tiny = Tiny::random();
    let checkpoint = opened(&tiny);
    let plain = Plain {
        weights: &tiny.weights,
        prefix: "roberta",
        epsilon: 1e-5,
    };
    let windows = [
        vec![0, 9, 200, 33, 2],
        vec![0, 2],
        vec![0, 50, 50, 51, 120, 4, 77, 259, 2],
    ];
    for isa in Isa::all() {
        let scores = Encoder::on(isa, &checkpoint).unwrap().scores(&windows);
        let mut row = 0;
        for window in &windows {
            for expected in plain.scores(window, 2, 3) {
                assert_eq!(scores.row(row).len(), LABELS.len());
                for (found, expected) in scores.row(row).iter().zip(expected) {
                    assert!(
                        (f64::from(*found) - expected).abs() < 2e-4,
                        "{}: {found} {expected}",
                        isa.name()
                    );
                }
                row += 1;
            }
        }
    }
}

#[test]
fn a_window_has_the_same_scores_to_the_last_bit_whatever_stands_beside_it() {
    let encoder = Encoder::new(&opened(&Tiny::random())).unwrap();
    let window = |length: u32| (0..length).map(|i| (i * 37 + length) % 260).collect::<Vec<u32>>();
    let windows: Vec<Vec<u32>> = [3, 64, 17, 1, 40, 33].map(window).to_vec();
    let together = encoder.scores(&windows);
    let mut row = 0;
    for window in windows {
        let alone = encoder.scores(std::slice::from_ref(&window));
        for i in 0..window.len() {
            assert_eq!(together.row(row), alone.row(i));
            row += 1;
        }
    }
}
