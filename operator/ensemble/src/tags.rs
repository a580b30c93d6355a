//! A member's predictions as one tag per token, the input of sequence combiners (Kim 2020, "Sequence
//! labelling-based ensemble methods").

use lethe_core::{Annotation, Annotations, LabelSet, NoteView};
use lethe_learn::{Scheme, Spanned, TagSet};

/// Returns the BIO tags of all labels of a set, in its order, so that a label's index in the set is its index
/// among the tags.
pub fn tag_set(labels: &LabelSet) -> TagSet {
    let names = labels.labels().iter().map(|label| label.name.clone()).collect();
    TagSet::new(Scheme::Bio, names)
}

/// Returns the first token that a span touches and the one after the last; both are equal if it touches none.
pub(crate) fn touched(note: NoteView<'_>, start: usize, end: usize) -> std::ops::Range<usize> {
    let first = note.tokens.ends.partition_point(|&e| e as usize <= start);
    first..note.tokens.at_or_after(end).max(first)
}

/// Returns the tag of each of the note's tokens by a member's annotations; `tags` is [`tag_set`] of their
/// labels.
///
/// An annotation covers every token that it touches, unless one with precedence covers one of them: the
/// longer (in bytes) precedes the shorter, then the earlier, then the one with the lower label. Labels beyond
/// `tags` are left out.
pub fn token_tags(note: NoteView<'_>, annotations: &Annotations, tags: &TagSet) -> Vec<u16> {
    let mut predictions: Vec<&Annotation> = annotations.iter().collect();
    predictions.sort_by_key(|a| (std::cmp::Reverse(a.span.len()), a.span.start(), a.label));
    let mut row = vec![TagSet::OUTSIDE; note.tokens.len()];
    for annotation in predictions {
        let label = usize::from(annotation.label.0);
        let tokens = touched(note, annotation.span.start(), annotation.span.end());
        let free = row[tokens.clone()].iter().all(|&tag| tag == TagSet::OUTSIDE);
        if label >= tags.labels().len() || tokens.is_empty() || !free {
            continue;
        }
        let span = Spanned {
            first: tokens.start,
            last: tokens.end - 1,
            label,
        };
        tags.write(&mut row, span);
    }
    row
}

#[cfg(test)]
mod tests {
    use lethe_core::{LabelId, NoteBatch, Span};

    use super::*;

    fn tags_of(text: &str, predictions: &[(u32, u32, u16)]) -> Vec<String> {
        let batch = NoteBatch::from_texts([text]).unwrap();
        let one = |&(start, end, label): &(u32, u32, u16)| Annotation {
            span: Span::between(start, end),
            label: LabelId(label),
            score: 1.0,
            rule: "",
        };
        let predictions = Annotations::new(text, predictions.iter().map(one).collect()).unwrap();
        let tags = tag_set(&LabelSet::of_names("t", &["CITY".to_owned(), "DATE".to_owned()]).unwrap());
        let row = token_tags(batch.note(0), &predictions, &tags);
        row.into_iter().map(|tag| tags.name(tag)).collect()
    }

    #[test]
    fn an_annotation_covers_every_token_that_it_touches() {
        assert_eq!(
            tags_of("on 3 May in Leon", &[(4, 6, 1), (12, 16, 0)]),
            ["O", "O", "B-DATE", "O", "B-CITY"]
        );
        assert_eq!(
            tags_of("on 3 May in Leon", &[(3, 6, 1)]),
            ["O", "B-DATE", "I-DATE", "O", "O"]
        );
        assert_eq!(tags_of("a  b", &[(1, 2, 0)]), ["O", "O"]);
    }

    #[test]
    fn of_two_that_overlap_the_longer_one_counts_and_unknown_labels_do_not() {
        assert_eq!(
            tags_of("on 3 May in Leon", &[(3, 4, 0), (3, 8, 1), (12, 16, 9)]),
            ["O", "B-DATE", "I-DATE", "O", "O"]
        );
        assert_eq!(
            tags_of("on 3 May", &[(3, 8, 1), (3, 8, 0)]),
            ["O", "B-CITY", "I-CITY"]
        );
    }
}
