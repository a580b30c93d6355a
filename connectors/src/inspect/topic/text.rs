//! Compares a note's redacted text with its original: outside the audited spans the two must be equal.

/// An audited span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Audited {
    /// First byte in the original, and the byte after the last.
    pub(super) span: (u32, u32),
    /// First byte in the redacted text, and the byte after the last.
    pub(super) out: (u32, u32),
    /// Whether the action may leave the text unchanged: a surrogate may be equal by chance, a year may be
    /// kept.
    pub(super) may_stand: bool,
}

impl Audited {
    /// Returns whether this action of a policy may write the original text.
    pub(super) fn may_stand(action: &str) -> bool {
        !matches!(
            action,
            "tag" | "mask" | "remove" | "pseudonym" | "encrypt" | "encrypt-id"
        )
    }
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    /// The problem, as a code.
    pub(super) wrong: Option<&'static str>,
    /// Number of spans with the original's text, as their action allows.
    pub(super) unchanged: u64,
}

/// Compares a redacted text with its original.
pub(super) fn compare(original: &str, redacted: &str, spans: &[Audited]) -> Text {
    let mut unchanged = 0;
    let wrong = |why| Text {
        wrong: Some(why),
        unchanged: 0,
    };
    let (mut at, mut out) = (0, 0);
    for one in spans {
        let ((start, end), (out_start, out_end)) = (one.span, one.out);
        let (Some(kept), Some(theirs), Some(was), Some(is)) = (
            part(original, at, start),
            part(redacted, out, out_start),
            part(original, start, end),
            part(redacted, out_start, out_end),
        ) else {
            return wrong("span_out_of_text");
        };
        if kept != theirs {
            return wrong("kept_text_differs");
        }
        let rest = part(redacted, out_start, u32::MAX);
        let stands = !was.is_empty() && rest.is_some_and(|rest| rest.starts_with(was));
        if was == is && one.may_stand {
            unchanged += 1;
        } else if was == is || (stands && !is_kept_after(original, redacted, one)) {
            return wrong("original_stands");
        }
        (at, out) = (end, out_end);
    }
    if part(original, at, u32::MAX) != part(redacted, out, u32::MAX) {
        return wrong("kept_text_differs");
    }
    Text {
        wrong: None,
        unchanged,
    }
}

/// Returns the bytes between two positions; `u32::MAX` means the end.
fn part(text: &str, from: u32, to: u32) -> Option<&[u8]> {
    let to = match to {
        u32::MAX => text.len(),
        to => to as usize,
    };
    text.as_bytes().get(from as usize..to)
}

/// Returns whether the replacement is followed by the byte that follows the span. Then the replacement has
/// its audited length, even if it begins like the original.
fn is_kept_after(original: &str, redacted: &str, one: &Audited) -> bool {
    let after = part(original, one.span.1, u32::MAX);
    let theirs = part(redacted, one.out.1, u32::MAX);
    match (after, theirs) {
        (Some(after), Some(theirs)) => after.first() == theirs.first(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(span: (u32, u32), out: (u32, u32)) -> Audited {
        Audited {
            span,
            out,
            may_stand: false,
        }
    }

    const ORIGINAL: &str = "Mrs Quillfeather was seen by Voss.";
    const SPANS: [Audited; 2] = [
        Audited {
            span: (4, 16),
            out: (4, 13),
            may_stand: false,
        },
        Audited {
            span: (29, 33),
            out: (26, 34),
            may_stand: false,
        },
    ];

    #[test]
    fn a_redacted_text_agrees_with_its_original_outside_the_spans() {
        let redacted = "Mrs [PATIENT] was seen by [DOCTOR].";
        assert_eq!(compare(ORIGINAL, redacted, &SPANS), Text::default());
    }

    #[test]
    fn an_original_that_was_put_back_is_found_whatever_its_length() {
        let longer = "Mrs Quillfeather was seen by [DOCTOR].";
        assert_eq!(compare(ORIGINAL, longer, &SPANS).wrong, Some("original_stands"));
        let shorter = "Mrs [PATIENT] was seen by Voss.";
        assert!(compare(ORIGINAL, shorter, &SPANS).wrong.is_some());
        let same = [tag((0, 4), (0, 4))];
        assert_eq!(
            compare("Voss rests.", "Voss rests.", &same).wrong,
            Some("original_stands")
        );
    }

    #[test]
    fn a_kept_year_may_stand_and_is_counted() {
        let spans = [Audited {
            may_stand: true,
            ..tag((3, 7), (3, 7))
        }];
        let found = compare("In 1999 well.", "In 1999 well.", &spans);
        assert_eq!((found.wrong, found.unchanged), (None, 1));
    }

    #[test]
    fn a_changed_word_or_a_cut_text_is_found() {
        let changed = "Mrs [PATIENT] was sent by [DOCTOR].";
        assert_eq!(
            compare(ORIGINAL, changed, &SPANS).wrong,
            Some("kept_text_differs")
        );
        assert_eq!(
            compare(ORIGINAL, "Mrs [PAT", &SPANS).wrong,
            Some("span_out_of_text")
        );
        assert_eq!(
            compare("Voss rests.", "Voss rests", &[]).wrong,
            Some("kept_text_differs")
        );
    }
}
