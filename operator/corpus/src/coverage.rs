//! The tokens and the words that spans cover.

use lethe_core::Span;

/// Returns the indices of the tokens that share a byte with one of the spans, as a sorted set. Tokens are sorted and
/// do not overlap; spans may.
pub fn covered_tokens(tokens: &[Span], spans: impl Iterator<Item = Span>) -> Vec<usize> {
    let mut covered = Vec::new();
    for span in spans {
        let first = tokens.partition_point(|token| token.end() <= span.start());
        let last = tokens.partition_point(|token| token.start() < span.end());
        covered.extend(first..last);
    }
    covered.sort_unstable();
    covered.dedup();
    covered
}

/// Returns the surface form of a span: its text in lower case, with white space as single spaces.
pub fn surface_form(text: &str, span: Span) -> String {
    let mut words = String::with_capacity(span.len());
    for word in span.of(text).split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().flat_map(char::to_lowercase));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_covered_if_a_span_shares_a_byte_with_it() {
        let tokens = [(0, 2), (2, 3), (4, 8)].map(|(start, end)| Span::between(start, end));
        let spans = [(7, 9), (1, 2), (0, 1), (3, 4)].map(|(start, end)| Span::between(start, end));
        assert_eq!(covered_tokens(&tokens, spans.into_iter()), [0, 2]);
    }

    #[test]
    fn a_surface_form_has_no_case_and_no_line_break() {
        let text = "Dr. EVA\n  Ríos, Lugo";
        assert_eq!(surface_form(text, Span::between(4, 15)), "eva ríos");
    }
}
