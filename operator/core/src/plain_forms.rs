//! A second reading of notes with disguised characters.
//!
//! Members read such a note as it stands and in its plain form ([`PlainForm`]). Their spans in the plain form
//! are spans of the original, and vote with the others.

use lethe_text::PlainForm;

use crate::ensemble::tag_isolated;
use crate::footprint::Footprint;
use crate::{Annotation, AnnotationError, Annotations, BatchError, NoteBatch, QuarantineCode, Span, Tagger};

/// The plain forms of a batch's notes.
pub(crate) struct PlainForms {
    /// That of each row; `None` for a row without disguised characters.
    forms: Vec<Option<PlainForm>>,
    /// A batch of the same rows, which have text only if they have a plain form.
    batch: NoteBatch,
}

impl PlainForms {
    /// Returns the plain forms of a batch's notes, or `None` if no note has disguised characters.
    ///
    /// # Errors
    /// As [`NoteBatch::from_records`].
    pub(crate) fn of(batch: &NoteBatch) -> Result<Option<Self>, BatchError> {
        let forms: Vec<_> = batch.notes().map(|note| PlainForm::of(note.text)).collect();
        if forms.iter().all(Option::is_none) {
            return Ok(None);
        }
        let texts = forms.iter().map(|form| form.as_ref().map(PlainForm::text));
        let batch = batch.with_texts(texts)?;
        Ok(Some(Self { forms, batch }))
    }

    /// Returns the footprint of their texts and tokens.
    pub(crate) fn footprint(&self) -> Footprint {
        let forms = self.forms.iter().flatten().map(PlainForm::bytes);
        // The batch has a copy of each text, and three numbers for each token.
        let columns = self
            .batch
            .notes()
            .map(|note| note.text.len() + 9 * note.tokens.len());
        Footprint::of_bytes(forms.chain(columns).sum())
    }

    /// Adds what a member finds in the plain forms to what it found in the notes of `original`.
    pub(crate) fn tag(
        &self,
        member: &dyn Tagger,
        original: &NoteBatch,
        rows: &mut [Result<Annotations, QuarantineCode>],
    ) {
        if !member.reads_plain_forms() {
            return;
        }
        let found = tag_isolated(member, &self.batch);
        for ((row, form), (found, tagged)) in self.forms.iter().enumerate().zip(found.into_iter().zip(rows)) {
            let (Some(form), Ok(annotations)) = (form, &*tagged) else {
                continue;
            };
            let both = |found: Annotations| {
                with_plain(annotations, &found, form, original.note(row).text)
                    .map_err(|_| QuarantineCode::InvalidSpan)
            };
            *tagged = found.and_then(both);
        }
    }
}

/// Returns a member's annotations of a note together with those of its plain form, as spans of the note. Spans
/// that lie within one of the plain form are left out: "J" in "J o h n".
fn with_plain(
    annotations: &Annotations,
    plain: &Annotations,
    form: &PlainForm,
    text: &str,
) -> Result<Annotations, AnnotationError> {
    let moved = |annotation: &Annotation| {
        let range = form.original(annotation.span.start()..annotation.span.end());
        let span = Span::new(range.start, range.end)?;
        Ok(Annotation { span, ..*annotation })
    };
    let mut all = plain
        .iter()
        .map(moved)
        .collect::<Result<Vec<_>, AnnotationError>>()?;
    // Both are in the order of their starts.
    let (mut next, mut reach) = (0, 0);
    let mut kept = Vec::new();
    for annotation in annotations {
        while let Some(before) = all
            .get(next)
            .filter(|other| other.span.start() <= annotation.span.start())
        {
            reach = reach.max(before.span.end());
            next += 1;
        }
        if reach < annotation.span.end() {
            kept.push(*annotation);
        }
    }
    all.append(&mut kept);
    Annotations::new(text, all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LabelId, TagError, tag_each};

    /// Tags the words "John" and "J"; fails on "fail".
    struct Names;

    impl Tagger for Names {
        fn name(&self) -> &str {
            "names"
        }

        fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
            if batch.notes().any(|note| note.text.contains("fail")) {
                return vec![Err(TagError::Failed("out of sorts")); batch.len()];
            }
            tag_each(batch, |note, out| {
                for token in 0..note.tokens.len() {
                    if matches!(note.word(token), "John" | "J") {
                        out.tokens(token, token, LabelId(0), 1.0, "name");
                    }
                }
            })
        }
    }

    fn tagged(texts: &[&str]) -> Vec<Result<Vec<String>, QuarantineCode>> {
        let batch = NoteBatch::from_texts(texts.iter().copied()).unwrap();
        let mut rows = tag_isolated(&Names, &batch);
        if let Some(forms) = PlainForms::of(&batch).unwrap() {
            forms.tag(&Names, &batch, &mut rows);
        }
        let words = |(row, annotations): (usize, Annotations)| {
            let text = batch.note(row).text;
            annotations
                .iter()
                .map(|one| one.span.of(text).to_owned())
                .collect()
        };
        let each = rows.into_iter().enumerate();
        each.map(|(row, found)| found.map(|found| words((row, found))))
            .collect()
    }

    #[test]
    fn a_name_in_the_plain_form_is_a_span_of_the_note() {
        let texts = ["John", "saw J&#111;hn", "J o h n and J", "Jo\u{200b}hn Hale"];
        let expected = [
            vec!["John"],
            vec!["J&#111;hn"],
            vec!["J o h n", "J"],
            vec!["Jo\u{200b}hn"],
        ];
        let found: Vec<_> = tagged(&texts).into_iter().map(Result::unwrap).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_note_whose_plain_form_cannot_be_tagged_is_quarantined() {
        let expected = [Ok(vec!["John".to_owned()]), Err(QuarantineCode::MemberError)];
        assert_eq!(tagged(&["John", "fa&#105;l"]), expected);
    }

    #[test]
    fn a_batch_without_disguised_characters_has_no_plain_forms() {
        let batch = NoteBatch::from_texts(["John", "140\n4.2"]).unwrap();
        assert!(PlainForms::of(&batch).unwrap().is_none());
    }
}
