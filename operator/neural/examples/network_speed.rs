//! Measures the speed of a whole member on one core, characters and decoding included: `speed FOLDER CORPUS
//! [ISA]`.
//!
//! Notes of the corpus are tagged in batches of different sizes; the result is tokens per second of CPU time,
//! which other load on the machine disturbs least. A fresh member (cold) has not computed any word type yet.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measuring program")]

use lethe_core::{LabelSet, NoteBatch, Tagger as _};
use lethe_dictionaries::Dictionary;
use lethe_kernel::Isa;
use lethe_neural::Network;

/// Returns the CPU time of this thread in seconds.
fn seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let network = Network::load(args[0].as_ref(), None).unwrap();
    let mut documents = lethe_corpus::read_jsonl(args[1].as_ref()).unwrap();
    documents.truncate(128);
    let dictionary = Dictionary::builtin();
    for isa in Isa::all() {
        if args.get(2).is_some_and(|name| name != isa.name()) {
            continue;
        }
        for size in [1, 16, 64] {
            let batches: Vec<NoteBatch> = documents
                .chunks(size)
                .map(|chunk| NoteBatch::from_texts(chunk.iter().map(|d| d.text.as_str())).unwrap())
                .collect();
            let count = |batch: &NoteBatch| batch.notes().map(|note| note.tokens.len()).sum::<usize>();
            let tokens: usize = batches.iter().map(count).sum();
            let member = network
                .member_on(isa, "m", &LabelSet::meddocan(), &dictionary)
                .unwrap();
            let mut times = Vec::new();
            for _ in 0..5 {
                let start = seconds();
                for batch in &batches {
                    member.tag(batch);
                }
                times.push(seconds() - start);
            }
            let best = times[1..].iter().copied().fold(f64::MAX, f64::min);
            println!(
                "{:9} {size:>4} notes per batch ({} tokens per note): cold {:>8.0}, warm {:>8.0} tokens/s",
                isa.name(),
                tokens / documents.len(),
                tokens as f64 / times[0],
                tokens as f64 / best
            );
        }
    }
}
