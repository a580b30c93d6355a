//! Any bytes as gold in any format: an error, or documents whose annotations lie in their texts and are
//! unchanged after a round trip through JSON lines.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use lethe_corpus::{Format, read, write_jsonl};
use libfuzzer_sys::fuzz_target;

/// A file for this process, rewritten for each case.
static PLACE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("lethe-fuzz-{}", std::process::id())));

fuzz_target!(|data: &[u8]| {
    let input = PLACE.with_extension("txt");
    std::fs::write(&input, data).expect("the temporary folder takes a file");
    for format in Format::all().map(Some).chain([None]) {
        let Ok(documents) = read(&input, format) else {
            continue;
        };
        for document in &documents {
            for mark in &document.marks {
                mark.span.check(&document.text).expect("a mark lies in its text");
            }
        }
        let again = PLACE.with_extension("jsonl");
        write_jsonl(&again, &documents).expect("what was read can be written");
        let reread = read(&again, Some(Format::Jsonl)).expect("what was written can be read");
        assert_eq!(reread.len(), documents.len());
        for (one, other) in documents.iter().zip(&reread) {
            assert!(
                one.text == other.text && one.marks == other.marks,
                "a document changed on the way"
            );
        }
    }
});
