//! A digest of documents, which identifies the data that a model was fitted to.

use lethe_core::hex;
use sha2::{Digest as _, Sha256};

use crate::Document;

/// Returns the SHA-256 of ids, texts and annotations (start, end, label), in order, as lower-case
/// hexadecimal.
///
/// Each field is preceded by its length, so that moving text from one field to the next changes the digest.
/// Patients and scores do not count, since no model learns from them.
pub fn digest(documents: &[Document]) -> String {
    let mut hash = Sha256::new();
    let number = |hash: &mut Sha256, n: usize| hash.update((n as u64).to_le_bytes());
    let field = |hash: &mut Sha256, text: &str| {
        number(hash, text.len());
        hash.update(text.as_bytes());
    };
    for document in documents {
        field(&mut hash, &document.id);
        field(&mut hash, &document.text);
        number(&mut hash, document.marks.len());
        for mark in &document.marks {
            number(&mut hash, mark.span.start());
            number(&mut hash, mark.span.end());
            field(&mut hash, &mark.label);
        }
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use lethe_core::Span;

    use super::*;
    use crate::Mark;

    fn document(id: &str, text: &str, marks: &[(u32, u32, &str)]) -> Document {
        let mark = |&(start, end, label): &(u32, u32, &str)| Mark::gold(Span::between(start, end), label);
        Document {
            id: id.to_owned(),
            patient: None,
            text: text.to_owned(),
            marks: marks.iter().map(mark).collect(),
        }
    }

    #[test]
    fn it_tells_apart_whatever_may_be_learnt_and_nothing_else() {
        let base = [document("a", "bc", &[(0, 1, "X")])];
        let mut same = base.clone();
        same[0].patient = Some("p".to_owned());
        same[0].marks[0].score = Some(0.5);
        assert_eq!(digest(&base), digest(&same));
        assert_eq!(digest(&base).len(), 64);
        for other in [
            vec![],
            vec![document("ab", "c", &[(0, 1, "X")])],
            vec![document("a", "bd", &[(0, 1, "X")])],
            vec![document("a", "bc", &[(0, 2, "X")])],
            vec![document("a", "bc", &[(0, 1, "Y")])],
            vec![document("a", "bc", &[])],
            vec![base[0].clone(), document("", "", &[])],
        ] {
            assert_ne!(digest(&base), digest(&other));
        }
    }
}
