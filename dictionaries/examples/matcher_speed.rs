//! Prints how fast the built-in dictionary matches a file of notes: `cargo run --release -p lethe-dictionaries --example matcher_speed --
//! NOTES.jsonl`.
//!
//! Reads the `text` of each line. Counts one thread's CPU time (Linux), so that other work on the machine
//! does not matter, without tokenisation; reports the best of five passes.

// A measurement prints, and has nobody to hand an error to.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::time::Instant;

use lethe_core::NoteBatch;
use lethe_dictionaries::{Dictionary, ListSet, Role};

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let texts: Vec<String> = std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            value["text"].as_str().unwrap().to_owned()
        })
        .collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let batches: Vec<NoteBatch> = texts
        .chunks(64)
        .map(|c| NoteBatch::from_texts(c.iter().map(String::as_str)).unwrap())
        .collect();
    let started = Instant::now();
    let dictionary = Dictionary::builtin();
    println!(
        "{dictionary:?} ready in {:?}; {} notes, {bytes} bytes",
        started.elapsed(),
        texts.len()
    );
    let phi = dictionary.role(Role::Phi);
    for what in ["each, every list", "longest, PHI lists", "words"] {
        let mut best = f64::MAX;
        let mut count = 0;
        for _ in 0..5 {
            count = 0;
            let started = cpu();
            let mut entries = vec![];
            for batch in &batches {
                let mut matcher = dictionary.matcher();
                for note in batch.notes() {
                    match what {
                        "words" => {
                            matcher.words(&note, &mut entries);
                            count += entries.iter().filter(|e| !e.is_none()).count();
                        }
                        "longest, PHI lists" => matcher.longest(&note, phi, |_| count += 1),
                        _ => matcher.each(&note, ListSet::ALL, |_| count += 1),
                    }
                }
            }
            best = best.min(cpu() - started);
        }
        println!("{what}: {:.0} MB/s, {count} found", bytes as f64 / best / 1e6);
    }
}

/// Returns the CPU seconds of this thread.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}
