//! Combinations of tokens with their neighbours and fields. In ordinary text they seldom repeat, so that
//! every token is a type of its own; in long runs of a few punctuation marks nearly all of them repeat, and a
//! type's features need not be computed again.

use super::layout::Place;
use super::templates::{COMBINED, combine};
use super::words::Word;
use crate::Table;

/// The number of recent combinations that are cached: as many as fit in the processor's cache.
const REMEMBERED: usize = 64;

/// Everything that a token's combinations depend on: the types of the words around it, 0 beyond the note's
/// ends, and its field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Around {
    words: [u32; 5],
    before: u32,
    key: u64,
    section: u64,
}

impl Around {
    fn of(ids: &[u32], place: &Place, i: usize) -> Self {
        // A word of type 0 is outside every note.
        let at = |at: Option<usize>| at.and_then(|at| ids.get(at)).copied().unwrap_or(0);
        let words = match i.checked_sub(2).and_then(|first| ids.get(first..i + 3)) {
            Some(&[a, b, c, d, e]) => [a, b, c, d, e],
            _ => [
                at(i.checked_sub(2)),
                at(i.checked_sub(1)),
                at(Some(i)),
                at(Some(i + 1)),
                at(Some(i + 2)),
            ],
        };
        Self {
            words,
            before: place.before as u32,
            key: place.key2,
            section: place.section,
        }
    }

    /// Returns its cache slot.
    fn slot(&self) -> usize {
        let [a, b, c, d, e] = self.words.map(u64::from);
        let hash = (a << 32 | b).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ (c << 32 | d).wrapping_mul(0xbf58_476d_1ce4_e5b9)
            ^ e.wrapping_mul(0x94d0_49bb_1331_11eb);
        (hash >> 32) as usize % REMEMBERED
    }
}

/// The table of combinations under construction.
pub(super) struct Combined {
    table: Table,
    /// The cache by [`Around::slot`]; type 0, the outside, marks an empty slot.
    remembered: [(Around, u32); REMEMBERED],
}

impl Combined {
    /// Creates an empty table for this many tokens.
    pub(super) fn new(tokens: usize) -> Self {
        let mut table = Table {
            ends: Vec::with_capacity(tokens + 1),
            features: Vec::with_capacity(tokens * COMBINED),
            ids: Vec::with_capacity(tokens),
            ..Table::default()
        };
        table.ends.push(0);
        Self {
            table,
            remembered: [(Around::default(), 0); REMEMBERED],
        }
    }

    /// Adds token `i` of a note, whose words have these types.
    pub(super) fn push(&mut self, ids: &[u32], words: &[Word], places: &[Place], i: usize) {
        let around = Around::of(ids, &places[i], i);
        let (last, id) = &mut self.remembered[around.slot()];
        if *last != around || *id == 0 {
            (*last, *id) = (around, self.table.ends.len() as u32);
            combine(words, places, i, &mut self.table.features);
            self.table.ends.push(self.table.features.len() as u32);
        }
        self.table.ids.push(*id);
    }

    pub(super) fn into_table(self) -> Table {
        self.table
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::TokenKind;
    use proptest::prelude::*;

    use super::*;
    use crate::features::layout::{Gap, lay_out};
    use crate::features::words::{Lists, Words};

    /// Returns each token's combinations from the table and as computed for it alone, and the number of
    /// types.
    fn both(tokens: &[(&str, TokenKind)], gaps: &[Gap]) -> (Vec<[Vec<u64>; 2]>, usize) {
        let lists = Lists {
            tagger: None,
            dictionary: None,
        };
        let (mut store, mut ids, mut words, mut places) =
            (Words::default(), Vec::new(), Vec::new(), Vec::new());
        let mut batch = store.begin(tokens.len());
        for &(text, kind) in tokens {
            let id = store.push(&mut batch, text, (0, text.len(), kind), &lists);
            ids.push(id);
            words.push(batch.words[id as usize]);
        }
        let gaps: Vec<Gap> = [&[Gap::Edge], &gaps[1..], &[Gap::Edge]].concat();
        lay_out(&words, &gaps, &[tokens.len() as u32], &mut places);
        let mut combined = Combined::new(tokens.len());
        (0..tokens.len()).for_each(|i| combined.push(&ids, &words, &places, i));
        let table = combined.into_table();
        let of = |i: usize| {
            let mut alone = Vec::new();
            combine(&words, &places, i, &mut alone);
            [table.of(table.ids[i], 0).to_vec(), alone]
        };
        ((0..tokens.len()).map(of).collect(), table.types())
    }

    const TOKENS: [(&str, TokenKind); 5] = [
        ("Plan", TokenKind::Letters),
        ("a", TokenKind::Letters),
        ("7", TokenKind::Digits),
        (":", TokenKind::Punctuation),
        ("\"", TokenKind::Punctuation),
    ];

    #[test]
    fn a_run_of_a_few_marks_has_a_few_types() {
        let tokens = [TOKENS[4], TOKENS[1]].repeat(500);
        let (features, types) = both(&tokens, &vec![Gap::Glued; tokens.len()]);
        assert!(types < 10, "{types}");
        assert!(features.iter().all(|[table, alone]| table == alone));
    }

    proptest! {
        #[test]
        fn each_token_has_the_combinations_that_are_made_for_it_alone(
            unit in proptest::collection::vec((0..TOKENS.len(), 0..4usize), 1..20),
            more in proptest::collection::vec((0..TOKENS.len(), 0..4usize), 0..40),
        ) {
            let all = [unit.repeat(4), more].concat();
            let tokens: Vec<_> = all.iter().map(|&(token, _)| TOKENS[token]).collect();
            const GAPS: [Gap; 4] = [Gap::Glued, Gap::Blank, Gap::Line, Gap::Glued];
            let gaps: Vec<Gap> = all.iter().map(|&(_, gap)| GAPS[gap]).collect();
            for [table, alone] in both(&tokens, &gaps).0 {
                prop_assert_eq!(table, alone);
            }
        }
    }
}
