//! Runs one loop a number of times on the same numbers, for `scripts/instructions`, which counts the instructions.
//!
//! `instructions` prints the loops of this processor, one per line: the instruction set and the name. `instructions SET
//! NAME TIMES` runs one.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

use std::hint::black_box;
use std::process::ExitCode;

use lethe_kernel::testing::numbers;
use lethe_kernel::{
    Activations, BYTE_ZERO, ByteLayer, ByteRows, ByteStep, ByteSteps, Gates, Isa, Matrix, Step, exp_in_place,
    step, tanh_in_place,
};

/// The sizes of the English recurrent network: its units, and its tags.
const UNITS: usize = 100;
const TAGS: usize = 121;
/// The numbers per token of the English convolutional network.
const CHANNELS: usize = 96;
/// The rows of a product, and the sequences that a step takes ahead.
const ROWS: usize = 64;
const SEQUENCES: usize = 12;

type Loop = (&'static str, fn(Isa, usize));

/// All loops. A new one gets a line here, and its count from `scripts/instructions --write`.
const LOOPS: [Loop; 7] = [
    ("product", product),
    ("best", best),
    ("lstm-step", lstm_step),
    ("byte-layer", byte_layer),
    ("byte-step", byte_step),
    ("exp", exp),
    ("tanh", tanh),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => {
            for isa in Isa::all() {
                LOOPS
                    .iter()
                    .for_each(|(name, _)| println!("{}\t{name}", isa.name()));
            }
            ExitCode::SUCCESS
        }
        [set, name, times] => {
            let isa = Isa::all().into_iter().find(|isa| isa.name() == set);
            let run = LOOPS.iter().find(|(known, _)| *known == name);
            let (Some(isa), Some((_, run)), Ok(times)) = (isa, run, times.parse()) else {
                eprintln!(
                    "instructions: no loop `{name}` for {set} {times} times; run it without arguments for a list"
                );
                return ExitCode::from(2);
            };
            run(isa, times);
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("usage: instructions [SET NAME TIMES]");
            ExitCode::from(2)
        }
    }
}

/// The scores of tags: rows of units by the weights of tags.
fn product(isa: Isa, times: usize) {
    let matrix = Matrix::of_rows(isa, &numbers(UNITS * TAGS, 1), TAGS, 0.0);
    let (a, mut c) = (numbers(ROWS * UNITS, 2), vec![0.0; ROWS * matrix.width()]);
    for _ in 0..times {
        matrix.product(ROWS, black_box(&a), UNITS, black_box(&mut c));
    }
}

/// A step of the best path.
fn best(isa: Isa, times: usize) {
    let matrix = Matrix::of_rows(isa, &numbers(TAGS * TAGS, 1), TAGS, -1e8);
    let (a, mut c) = (
        numbers(SEQUENCES * TAGS, 2),
        vec![0.0; SEQUENCES * matrix.width()],
    );
    for _ in 0..times {
        matrix.best(SEQUENCES, black_box(&a), TAGS, black_box(&mut c));
    }
}

/// A step of the recurrent layer, in one direction.
fn lstm_step(isa: Isa, times: usize) {
    let gates = Gates { hidden: UNITS, isa };
    let (width, padded) = (gates.width(), gates.padded());
    let recurrent = Matrix::pack(isa, UNITS, width, |row, line| {
        line.copy_from_slice(&numbers(width, row as u64));
    });
    let mut hidden = vec![0.0; 2 * SEQUENCES * padded];
    let mut cells = vec![0.0; 2 * SEQUENCES * padded];
    let mut input = numbers(SEQUENCES * width, 3);
    for _ in 0..times {
        step(
            gates,
            &recurrent,
            Step {
                rows: SEQUENCES,
                from: Some(0),
                to: SEQUENCES,
                hidden: black_box(&mut hidden),
                stride: padded,
                column: 0,
                cells: &mut cells,
                gates: &mut input,
                gates_at: 0,
                keep: false,
            },
        );
    }
}

/// Returns weights of eight bits.
fn bytes(len: usize, seed: u64) -> Vec<i8> {
    numbers(len, seed).iter().map(|x| (x * 127.0) as i8).collect()
}

/// A convolution with weights of eight bits.
fn byte_layer(isa: Isa, times: usize) {
    let (factors, biases) = (vec![0.001; CHANNELS], numbers(CHANNELS, 2));
    let weights = bytes(3 * CHANNELS * CHANNELS, 1);
    let layer = ByteLayer::pack(isa, 3, CHANNELS, &weights, &factors, &biases);
    let width = layer.width();
    let input: Vec<u8> = (0..(ROWS + 2) * width).map(|i| (i % 128) as u8).collect();
    let (mut sums, mut found) = (vec![0.0; ROWS * width], vec![0; ROWS * width]);
    let per_unit = vec![0.5; width];
    for _ in 0..times {
        let input = ByteRows {
            bytes: black_box(&input),
            rows: ROWS,
            stride: width,
            tap: width,
        };
        let output = Activations {
            sums: black_box(&mut sums),
            per_unit: &per_unit,
            bytes: &mut found,
        };
        layer.add_positive(input, output);
    }
}

/// A step of the recurrent layer with weights of eight bits, in one direction.
fn byte_step(isa: Isa, times: usize) {
    let gates = Gates {
        hidden: UNITS,
        isa: ByteSteps::isa(isa),
    };
    let padded = gates.padded();
    let steps = ByteSteps::pack(gates, &bytes(4 * UNITS * UNITS, 1), &vec![0.001; 4 * UNITS]);
    let mut hidden = vec![BYTE_ZERO; 2 * SEQUENCES * padded];
    let mut cells = vec![0.0; 2 * SEQUENCES * padded];
    let input = numbers(SEQUENCES * gates.width(), 3);
    for _ in 0..times {
        steps.step(ByteStep {
            rows: SEQUENCES,
            from: Some(0),
            to: SEQUENCES,
            hidden: black_box(&mut hidden),
            stride: padded,
            column: 0,
            cells: &mut cells,
            input: &input,
        });
    }
}

fn exp(isa: Isa, times: usize) {
    let mut values = numbers(ROWS * TAGS, 1);
    for _ in 0..times {
        exp_in_place(isa, black_box(&mut values));
    }
}

fn tanh(isa: Isa, times: usize) {
    let mut values = numbers(ROWS * TAGS, 1);
    for _ in 0..times {
        tanh_in_place(isa, black_box(&mut values));
    }
}
