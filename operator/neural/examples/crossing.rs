//! Counts the gold spans of JSON-lines corpora that cross the end of a sentence: `crossing CORPUS...`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measuring program")]

use lethe_core::NoteBatch;

fn main() {
    for path in std::env::args().skip(1) {
        let documents = lethe_corpus::read_jsonl(path.as_ref()).unwrap();
        let batch = NoteBatch::from_texts(documents.iter().map(|d| d.text.as_str())).unwrap();
        let (mut spans, mut crossing, mut sentences, mut tokens, mut longest) = (0, 0, 0, 0, 0);
        for (document, note) in documents.iter().zip(batch.notes()) {
            sentences += note.sentence_ends.len();
            tokens += note.tokens.len();
            let mut start = 0;
            for &end in note.sentence_ends {
                longest = longest.max(end - start);
                start = end;
            }
            for mark in &document.marks {
                spans += 1;
                let first = note
                    .tokens
                    .ends
                    .partition_point(|&end| end as usize <= mark.span.start());
                let after = note
                    .tokens
                    .starts
                    .partition_point(|&start| (start as usize) < mark.span.end());
                let crosses = |&end: &u32| first < end as usize && (end as usize) < after;
                crossing += usize::from(note.sentence_ends.iter().any(crosses));
            }
        }
        println!(
            "{spans} spans, {crossing} cross the end of a sentence; {tokens} tokens in {sentences} sentences, longest {longest}"
        );
    }
}
