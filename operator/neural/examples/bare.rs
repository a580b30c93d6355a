//! Measures the speed of the bare recurrent layer, 150 -> 2 x 100, on 32 sentences of 30 tokens, on every
//! instruction set: forward, and forward with backward. Compare it with PyTorch: run `bare_pytorch.py` on the
//! same machine.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measuring program")]

use std::time::Instant;

use lethe_kernel::{Buffer, Isa};
use lethe_neural::{BiLstm, Bucket, Trace, Weights};

fn main() {
    let (inputs, hidden, sequences, length) = (150, 100, 32, 30);
    let mut state = 1_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 * 0.2 - 0.1
    };
    let mut some = |n: usize| -> Vec<f32> { (0..n).map(|_| next()).collect() };
    let parts: Vec<[Vec<f32>; 3]> = (0..2)
        .map(|_| {
            [
                some(inputs * 4 * hidden),
                some(hidden * 4 * hidden),
                some(4 * hidden),
            ]
        })
        .collect();
    let weights = || {
        [0, 1].map(|side: usize| Weights {
            input: &parts[side][0],
            recurrent: &parts[side][1],
            bias: &parts[side][2],
        })
    };
    let bucket = Bucket::new(vec![length; sequences]);
    let x = some(bucket.rows() * inputs);
    for isa in Isa::all() {
        let layer = BiLstm::new(isa, hidden, weights());
        let mut trace = Trace::default();
        let tokens = bucket.rows() as f64;
        let mut best = [f64::MAX; 2];
        let above = Buffer::zeros(bucket.rows() * layer.width());
        let mut grads: Vec<Vec<f32>> = parts.iter().flatten().map(|part| vec![0.0; part.len()]).collect();
        let mut d_x = Buffer::zeros(bucket.rows() * lethe_kernel::columns(inputs, isa));
        for _ in 0..150 {
            let start = Instant::now();
            layer.forward(&bucket, &x, inputs, false, &mut trace);
            best[0] = best[0].min(start.elapsed().as_secs_f64());
        }
        for _ in 0..50 {
            let start = Instant::now();
            layer.forward(&bucket, &x, inputs, true, &mut trace);
            let [a, b, c, d, e, f] = &mut grads[..] else {
                unreachable!("six parts")
            };
            layer.backward(
                &bucket,
                weights(),
                &x,
                inputs,
                &above,
                &mut trace,
                [[a, b, c], [d, e, f]],
                &mut d_x,
            );
            best[1] = best[1].min(start.elapsed().as_secs_f64());
        }
        println!(
            "{:9} forward {:>8.0} tokens/s, with backward {:>8.0} tokens/s (best of many runs)",
            isa.name(),
            tokens / best[0],
            tokens / best[1]
        );
    }
}
