//! Trains the part-of-speech tagger on tagged sentences, and prints its accuracy on others.
//!
//! `pos_train OUT EPOCHS TRAIN.tsv... -- TEST.tsv...`

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::path::Path;

use lethe_linear::pos::{Accuracy, read_tsv, train};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let split = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let read = |path: &String| read_tsv(Path::new(path)).unwrap();
    let sentences: Vec<_> = args[2..split].iter().flat_map(read).collect();
    let tagger = train(&sentences, args[1].parse().unwrap(), 1);
    let bytes = tagger.to_bytes();
    println!(
        "{tagger:?}, {} bytes; train {:.4}",
        bytes.len(),
        Accuracy::of(&tagger, &sentences).share()
    );
    for path in &args[(split + 1).min(args.len())..] {
        println!("{path}: {:.4}", Accuracy::of(&tagger, &read(path)).share());
    }
    std::fs::write(&args[0], bytes).unwrap();
}
