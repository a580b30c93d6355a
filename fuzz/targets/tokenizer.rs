//! Tokens and sentence ends of any text: in order, disjoint, on character boundaries, with no letter or digit
//! outside of them.
#![no_main]

use lethe_core::{Token, Tokens, sentence_ends, tokenize};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut tokens: Vec<Token> = Vec::new();
    tokenize(text, |token| tokens.push(token));

    let mut covered = vec![false; text.len()];
    let mut end = 0;
    for token in &tokens {
        assert!(token.span.start() >= end && !token.span.is_empty());
        assert!(text.is_char_boundary(token.span.start()) && text.is_char_boundary(token.span.end()));
        end = token.span.end();
        covered[token.span.start()..end].fill(true);
    }
    for (at, c) in text.char_indices() {
        assert!(
            covered[at] || !c.is_alphanumeric(),
            "U+{:04X} lies in no token",
            c as u32
        );
    }

    let mut last = None;
    let column = |of: fn(&Token) -> u32| tokens.iter().map(of).collect::<Vec<_>>();
    let (starts, ends) = (
        column(|token| token.span.start() as u32),
        column(|token| token.span.end() as u32),
    );
    let kinds: Vec<u8> = tokens.iter().map(|token| token.kind as u8).collect();
    let columns = Tokens {
        starts: &starts,
        ends: &ends,
        kinds: &kinds,
    };
    sentence_ends(text, columns, |sentence| {
        assert!(last.is_none_or(|before| before < sentence));
        last = Some(sentence);
    });
});
