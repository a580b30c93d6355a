//! Runs one loop a number of times on the same numbers, for `scripts/instructions`, which counts the instructions.
//!
//! `instructions` prints the loops of this processor, one per line: the instruction set and the name. `instructions SET
//! NAME TIMES` runs one.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

use std::hint::black_box;
use std::process::ExitCode;

use lethe_kernel::testing::numbers;
use lethe_kernel::{Gates, Isa, Matrix, Step, exp_in_place, step, tanh_in_place};

/// The sizes of the English recurrent network: its units, and its tags.
const UNITS: usize = 100;
const TAGS: usize = 121;
/// The rows of a product, and the sequences that a step takes ahead.
const ROWS: usize = 64;
const SEQUENCES: usize = 12;

type Loop = (&'static str, fn(Isa, usize));

/// All loops. A new one gets a line here, and its count from `scripts/instructions --write`.
const LOOPS: [Loop; 5] = [
    ("product", product),
    ("best", best),
    ("lstm-step", lstm_step),
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
