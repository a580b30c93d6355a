use lethe_kernel::testing::numbers;

use super::*;

const INPUTS: usize = 5;
const HIDDEN: usize = 9;

fn weights(all: &[f32]) -> [Weights<'_>; 2] {
    let (input, recurrent) = (INPUTS * 4 * HIDDEN, HIDDEN * 4 * HIDDEN);
    let one = |from: usize| Weights {
        input: &all[from..from + input],
        recurrent: &all[from + input..from + input + recurrent],
        bias: &all[from + input + recurrent..from + input + recurrent + 4 * HIDDEN],
    };
    [one(0), one(input + recurrent + 4 * HIDDEN)]
}

const SIZE: usize = 2 * (INPUTS + HIDDEN + 1) * 4 * HIDDEN;

/// Returns the layer's outputs, computed number by number in 64 bits.
fn plain(bucket: &Bucket, w: [Weights<'_>; 2], inputs: &[f32]) -> Vec<f64> {
    let mut out = vec![0.0; bucket.rows() * 2 * HIDDEN];
    for (s, &length) in bucket.lengths().iter().enumerate() {
        for (direction, w) in w.iter().enumerate() {
            let (mut h, mut c) = ([0.0_f64; HIDDEN], [0.0_f64; HIDDEN]);
            for i in 0..length {
                let row = bucket.row(s, if direction == 0 { i } else { length - 1 - i });
                let mut z: Vec<f64> = w.bias.iter().map(|&b| f64::from(b)).collect();
                for (j, z) in z.iter_mut().enumerate() {
                    for k in 0..INPUTS {
                        *z += f64::from(inputs[row * INPUTS + k]) * f64::from(w.input[k * 4 * HIDDEN + j]);
                    }
                    for (k, h) in h.iter().enumerate() {
                        *z += h * f64::from(w.recurrent[k * 4 * HIDDEN + j]);
                    }
                }
                let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
                for u in 0..HIDDEN {
                    c[u] = logistic(z[HIDDEN + u]) * c[u] + logistic(z[u]) * z[2 * HIDDEN + u].tanh();
                    h[u] = logistic(z[3 * HIDDEN + u]) * c[u].tanh();
                    out[row * 2 * HIDDEN + direction * HIDDEN + u] = h[u];
                }
            }
        }
    }
    out
}

#[test]
fn the_layer_equals_its_equations_on_every_instruction_set() {
    let bucket = Bucket::new(vec![7, 4, 4, 3, 1, 1, 1, 1]);
    let (all, inputs) = (numbers(SIZE, 1), numbers(bucket.rows() * INPUTS, 2));
    let expected = plain(&bucket, weights(&all), &inputs);
    for isa in Isa::all() {
        let layer = BiLstm::new(isa, HIDDEN, weights(&all));
        let mut trace = Trace::default();
        layer.forward(&bucket, &inputs, INPUTS, false, &mut trace);
        for row in 0..bucket.rows() {
            for unit in 0..2 * HIDDEN {
                let found = trace.hidden[row * layer.width() + layer.column(unit)];
                assert!((f64::from(found) - expected[row * 2 * HIDDEN + unit]).abs() < 2e-6);
            }
        }
    }
}

#[test]
fn the_gradient_equals_finite_differences_on_every_instruction_set() {
    let bucket = Bucket::new(vec![4, 2, 1]);
    let (all, inputs) = (numbers(SIZE, 3), numbers(bucket.rows() * INPUTS, 4));
    let slopes = numbers(bucket.rows() * 2 * HIDDEN, 5);
    let value = |all: &[f32], inputs: &[f32]| -> f64 {
        let out = plain(&bucket, weights(all), inputs);
        out.iter().zip(&slopes).map(|(h, &s)| h * f64::from(s)).sum()
    };
    for isa in Isa::all() {
        let layer = BiLstm::new(isa, HIDDEN, weights(&all));
        let mut trace = Trace::default();
        layer.forward(&bucket, &inputs, INPUTS, true, &mut trace);
        let mut above = Buffer::zeros(bucket.rows() * layer.width());
        for row in 0..bucket.rows() {
            for unit in 0..2 * HIDDEN {
                above[row * layer.width() + layer.column(unit)] = slopes[row * 2 * HIDDEN + unit];
            }
        }
        let d_stride = lethe_kernel::columns(INPUTS, isa);
        let (mut grads, mut d_inputs) = (vec![0.0; SIZE], vec![0.0; bucket.rows() * d_stride]);
        let (a, rest) = grads.split_at_mut(INPUTS * 4 * HIDDEN);
        let (b, rest) = rest.split_at_mut(HIDDEN * 4 * HIDDEN);
        let (c, rest) = rest.split_at_mut(4 * HIDDEN);
        let (d, rest) = rest.split_at_mut(INPUTS * 4 * HIDDEN);
        let (e, f) = rest.split_at_mut(HIDDEN * 4 * HIDDEN);
        layer.backward(
            &bucket,
            weights(&all),
            &inputs,
            INPUTS,
            &above,
            &mut trace,
            [[a, b, c], [d, e, f]],
            &mut d_inputs,
        );
        let step = 1e-3_f32;
        for at in (0..SIZE).step_by(7) {
            let (mut more, mut less) = (all.clone(), all.clone());
            (more[at], less[at]) = (all[at] + step, all[at] - step);
            let difference = (value(&more, &inputs) - value(&less, &inputs)) / f64::from(more[at] - less[at]);
            assert!(
                (difference - f64::from(grads[at])).abs() < 1e-4,
                "weight {at}: {difference} {}",
                grads[at]
            );
        }
        for at in 0..inputs.len() {
            let (mut more, mut less) = (inputs.clone(), inputs.clone());
            (more[at], less[at]) = (inputs[at] + step, inputs[at] - step);
            let difference = (value(&all, &more) - value(&all, &less)) / f64::from(more[at] - less[at]);
            assert!(
                (difference - f64::from(d_inputs[at / INPUTS * d_stride + at % INPUTS])).abs() < 1e-4,
                "input {at}"
            );
        }
    }
}

#[test]
fn a_sequence_has_the_same_states_to_the_last_bit_in_every_bucket() {
    let lengths = [9, 6, 6, 2, 1];
    let together = Bucket::new(lengths.to_vec());
    let (all, inputs) = (numbers(SIZE, 6), numbers(together.rows() * INPUTS, 7));
    for isa in Isa::all() {
        let layer = BiLstm::new(isa, HIDDEN, weights(&all));
        let (mut many, mut one) = (Trace::default(), Trace::default());
        layer.forward(&together, &inputs, INPUTS, false, &mut many);
        for (s, &length) in lengths.iter().enumerate() {
            let own: Vec<f32> = (0..length)
                .flat_map(|t| &inputs[together.row(s, t) * INPUTS..][..INPUTS])
                .copied()
                .collect();
            layer.forward(&Bucket::new(vec![length]), &own, INPUTS, false, &mut one);
            for t in 0..length {
                let width = layer.width();
                assert_eq!(
                    one.hidden[t * width..][..width],
                    many.hidden[together.row(s, t) * width..][..width]
                );
            }
        }
    }
}
