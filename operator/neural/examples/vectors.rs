//! Trains word vectors on the texts of JSON-lines corpora: `vectors OUT as-written|folded CORPUS...`
#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "a measuring program")]

use lethe_neural::{Casing, SkipGram};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let casing = if args[1] == "folded" {
        Casing::Folded
    } else {
        Casing::AsWritten
    };
    let mut texts = Vec::new();
    for path in &args[2..] {
        let documents = lethe_corpus::read_jsonl(path.as_ref()).unwrap();
        texts.extend(documents.into_iter().map(|document| document.text));
    }
    let start = std::time::Instant::now();
    let settings = SkipGram::default();
    let vectors = settings.train(texts.iter().map(String::as_str), casing, |share| {
        eprintln!("{:.0} % {:.0} s", 100.0 * share, start.elapsed().as_secs_f64());
    });
    eprintln!("{vectors:?}");
    vectors.write(args[0].as_ref()).unwrap();
}
