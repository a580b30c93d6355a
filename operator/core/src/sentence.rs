//! Sentence ends: the end of a line, or closing punctuation before a capital.
//!
//! Members process a note sentence by sentence. Notes are lists and forms as much as prose, so a line break
//! ends a sentence unless the next line clearly continues it.

use crate::{Span, TokenKind, Tokens};

/// Abbreviations whose full stop does not end a sentence, folded to lower case.
const ABBREVIATIONS: [&str; 30] = [
    "dr", "dra", "mr", "mrs", "ms", "st", "jr", "sr", "sra", "srta", "prof", "vs", "no", "nos", "av", "avda",
    "pt", "dept", "approx", "fig", "e", "i", "d", "dña", "ave", "blvd", "rd", "hosp", "univ", "ext",
];

/// Calls `emit` with each sentence's end, as an exclusive index into `tokens`. The last one is
/// `tokens.len()`.
pub fn sentence_ends(text: &str, tokens: Tokens<'_>, mut emit: impl FnMut(u32)) {
    for next in 1..tokens.len() {
        let gap = Span::between(tokens.ends[next - 1], tokens.starts[next]).of(text);
        let word = tokens.span(next).of(text);
        let breaks = gap.bytes().filter(|&byte| byte == b'\n').count();
        let ends = if breaks >= 2 {
            true
        } else if breaks == 1 {
            !word.starts_with(char::is_lowercase)
        } else {
            !gap.is_empty() && is_closing(text, tokens, next - 1) && !word.starts_with(char::is_lowercase)
        };
        if ends {
            emit(next as u32);
        }
    }
    if !tokens.is_empty() {
        emit(tokens.len() as u32);
    }
}

fn is_closing(text: &str, tokens: Tokens<'_>, at: usize) -> bool {
    match tokens.span(at).of(text) {
        "?" | "!" => true,
        "." => match at.checked_sub(1).and_then(|before| tokens.get(before)) {
            Some(before)
                if before.kind == TokenKind::Letters && before.span.end() == tokens.span(at).start() =>
            {
                let word = before.span.of(text);
                // "J. Smith": the full stop of an initial does not end a sentence.
                word.chars().nth(1).is_some() && !ABBREVIATIONS.contains(&word.to_lowercase().as_str())
            }
            _ => true,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::NoteBatch;

    fn sentences(text: &str) -> Vec<String> {
        let batch = NoteBatch::from_texts([text]).unwrap();
        let note = batch.note(0);
        let (mut out, mut from) = (Vec::new(), 0);
        for &end in note.sentence_ends {
            let words: Vec<_> = (from..end as usize).map(|i| note.word(i)).collect();
            out.push(words.join(" "));
            from = end as usize;
        }
        out
    }

    #[test]
    fn a_title_and_an_initial_end_no_sentence() {
        assert_eq!(
            sentences("Seen by Dr. J. Hale. She left."),
            ["Seen by Dr . J . Hale .", "She left ."]
        );
    }

    #[test]
    fn a_form_line_is_a_sentence_and_a_wrapped_line_is_not() {
        assert_eq!(
            sentences("Nombre: Ana\nEdad: 3\nel paciente\nfue visto"),
            [
                "Nombre : Ana",
                "Edad : 3\nel paciente fue visto".replace('\n', " ").as_str()
            ]
        );
    }
}
