//! Tells whether corpora in different formats hold the same documents: `same PATH PATH...`, each a file or a
//! folder.
//!
//! Documents are sorted by id, then compared by id, text and annotations.

use std::path::Path;
use std::process::ExitCode;

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() -> Result<ExitCode, lethe_corpus::CorpusError> {
    let mut digests = std::collections::BTreeSet::new();
    for path in std::env::args().skip(1) {
        let mut documents = lethe_corpus::read(Path::new(&path), None)?;
        documents.sort_by(|a, b| a.id.cmp(&b.id));
        let marks: usize = documents.iter().map(|document| document.marks.len()).sum();
        let digest = lethe_corpus::digest(&documents);
        println!("{digest}  {} documents  {marks} marks  {path}", documents.len());
        digests.insert(digest);
    }
    let same = digests.len() == 1;
    println!("{}", if same { "the same" } else { "different" });
    Ok(ExitCode::from(u8::from(!same)))
}
