//! Measures the tokens per second that the extractor reads on one core, as a whole and without some of its
//! features.
//!
//! `features_speed NOTES.jsonl [NOTES-A-BATCH]`, on Linux.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::path::Path;

use lethe_core::NoteBatch;
use lethe_corpus::read_jsonl;
use lethe_dictionaries::Dictionary;
use lethe_linear::FeatureConfig;

/// Returns the CPU time of this thread in nanoseconds, which other work on the machine hardly affects.
fn ran() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let size = args.get(1).map_or(64, |text| text.parse().unwrap());
    let documents = read_jsonl(Path::new(&args[0])).unwrap();
    let batches: Vec<NoteBatch> = documents
        .chunks(size)
        .map(|part| NoteBatch::from_texts(part.iter().map(|d| d.text.as_str())).unwrap())
        .collect();
    let tokens: usize = batches
        .iter()
        .flat_map(|b| (0..b.len()).map(|row| b.note(row).tokens.len()))
        .sum();
    println!("{tokens} tokens in {} notes, {} per batch", documents.len(), size);
    let whole = FeatureConfig::default();
    for (name, config) in [
        ("whole", whole.clone()),
        (
            "without rules",
            FeatureConfig {
                rules: false,
                ..whole.clone()
            },
        ),
        (
            "without lists",
            FeatureConfig {
                lists: false,
                ..whole.clone()
            },
        ),
        (
            "without document features",
            FeatureConfig {
                document: false,
                ..whole.clone()
            },
        ),
        (
            "words and layout alone",
            FeatureConfig {
                rules: false,
                lists: false,
                document: false,
                ..whole
            },
        ),
    ] {
        let extractor = config.build(&Dictionary::builtin()).unwrap();
        let mut best = f64::MAX;
        let mut types = Vec::new();
        let mut features = Vec::new();
        for _ in 0..7 {
            let start = ran();
            for batch in &batches {
                let columns = extractor.columns(batch);
                types = columns
                    .tables
                    .iter()
                    .map(|t| t.types() * 100 / t.ids.len())
                    .collect();
                features = columns
                    .tables
                    .iter()
                    .map(|t| t.features.len() * 10 / t.ids.len())
                    .collect();
            }
            best = best.min((ran() - start) / 1e9);
        }
        println!(
            "{name:24} {:9.0} tokens/s, {:5.0} ns per token; types per hundred tokens {types:?}; features per ten tokens {features:?}",
            tokens as f64 / best,
            best * 1e9 / tokens as f64
        );
    }
}
