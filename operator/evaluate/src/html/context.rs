//! Errors with the surrounding text: the only place where note text leaves a document.

use lethe_core::Span;
use lethe_corpus::Document;

use super::markup::escape;
use crate::figure::{class_name, shape_name};
use crate::report::{ErrorCase, ErrorClass, Pointed};

/// Characters shown on either side of an error.
const WINDOW: usize = 80;

/// Formats one error as a list item, with its text if a document is given.
pub(super) fn item(case: &ErrorCase, document: Option<&Document>) -> String {
    let mut out = format!("<li><p class=\"what\">{}</p>", what(case));
    let sides = (case.gold.as_ref(), case.predicted.as_ref());
    if let Some(text) = document.and_then(|document| passage(sides.0, sides.1, &document.text)) {
        out.push_str(&format!("<p class=\"text\"><bdi>{text}</bdi></p>"));
    }
    out.push_str("</li>\n");
    out
}

/// Describes an error without words of the note.
fn what(case: &ErrorCase) -> String {
    let place = |at: &Pointed| format!("{} at {} to {}", escape(&at.label), at.start, at.end);
    let mut out = format!("{} · {}", escape(&case.id), class_name(case.class));
    if let Some(shape) = case.shape.filter(|_| case.class != ErrorClass::Label) {
        out.push_str(&format!(" ({})", shape_name(shape)));
    }
    if let Some(gold) = &case.gold {
        out.push_str(&format!(" · gold {}", place(gold)));
    }
    if let Some(predicted) = &case.predicted {
        out.push_str(&format!(" · predicted {}", place(predicted)));
    }
    if case.leaks {
        out.push_str(" · <span class=\"leak\">leaks</span>");
    }
    out
}

/// Returns the text around an error as markup, with gold (class `g`) and prediction (class `p`) highlighted;
/// `None` if the offsets do not fit the text.
pub fn passage(gold: Option<&Pointed>, predicted: Option<&Pointed>, text: &str) -> Option<String> {
    let span = |at: Option<&Pointed>| match at {
        Some(at) => Span::checked(text, at.start as usize, at.end as usize)
            .ok()
            .map(Some),
        None => Some(None),
    };
    let (gold, predicted) = (span(gold)?, span(predicted)?);
    let both = match (gold, predicted) {
        (Some(gold), Some(predicted)) => gold.union(predicted),
        (one, other) => one.or(other)?,
    };
    let before = Span::between(0, both.start() as u32).get(text)?;
    let after = Span::between(both.end() as u32, text.len() as u32).get(text)?;
    let start = before
        .char_indices()
        .rev()
        .nth(WINDOW - 1)
        .map_or(0, |(at, _)| at);
    let end = after
        .char_indices()
        .nth(WINDOW)
        .map_or(text.len(), |(at, _)| both.end() + at);
    let mut cuts = vec![start, end];
    for span in [gold, predicted].into_iter().flatten() {
        cuts.extend([span.start(), span.end()]);
    }
    cuts.sort_unstable();
    cuts.dedup();
    let mut out = String::from(if start > 0 { "… " } else { "" });
    for ends in cuts.windows(2) {
        let piece = Span::new(ends[0], ends[1]).ok()?;
        // The carriage return of a line end would show as a broken character.
        let words = escape(&piece.get(text)?.replace('\r', "")).replace('\n', "↵ ");
        let inside = |span: Option<Span>| span.is_some_and(|span| span.contains(piece));
        match (inside(gold), inside(predicted)) {
            (false, false) => out.push_str(&words),
            (true, false) => out.push_str(&format!("<span class=\"g\">{words}</span>")),
            (false, true) => out.push_str(&format!("<span class=\"p\">{words}</span>")),
            (true, true) => out.push_str(&format!("<span class=\"g p\">{words}</span>")),
        }
    }
    if end < text.len() {
        out.push_str(" …");
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(gold: Option<(u64, u64)>, predicted: Option<(u64, u64)>) -> ErrorCase {
        let point = |(start, end)| Pointed {
            label: "NAME".to_owned(),
            start,
            end,
        };
        ErrorCase {
            document: 0,
            id: "n1".to_owned(),
            class: ErrorClass::Boundary,
            gold: gold.map(point),
            predicted: predicted.map(point),
            shape: None,
            leaks: false,
        }
    }

    fn shown(case: &ErrorCase, text: &str) -> Option<String> {
        passage(case.gold.as_ref(), case.predicted.as_ref(), text)
    }

    #[test]
    fn gold_and_prediction_are_set_off_where_they_lie() {
        assert_eq!(
            shown(&case(Some((3, 12)), Some((7, 15))), "Dr Eva Ríos <saw>").as_deref(),
            Some(
                "Dr <span class=\"g\">Eva </span><span class=\"g p\">Ríos</span><span class=\"p\"> &lt;s</span>aw&gt;"
            )
        );
    }

    #[test]
    fn a_long_note_is_cut_on_both_sides_of_the_error_between_characters() {
        let text = format!("{}Paz{}", "ñ".repeat(200), "é".repeat(200));
        let shown = shown(&case(Some((400, 403)), None), &text).unwrap();
        let (side, other) = ("ñ".repeat(WINDOW), "é".repeat(WINDOW));
        assert_eq!(shown, format!("… {side}<span class=\"g\">Paz</span>{other} …"));
    }

    #[test]
    fn a_lines_end_is_one_sign_however_it_is_written() {
        for text in ["Dr\r\nPaz", "Dr\nPaz"] {
            let shown = shown(&case(Some((0, 2)), None), text);
            assert_eq!(shown.as_deref(), Some("<span class=\"g\">Dr</span>↵ Paz"));
        }
    }

    #[test]
    fn offsets_of_another_text_show_nothing() {
        assert_eq!(shown(&case(Some((3, 99)), None), "short"), None);
        assert_eq!(shown(&case(Some((1, 2)), None), "ñ"), None);
    }
}
