//! What lists and rules say of runs of tokens: entries of several words, and the spans of the rule members.

use std::sync::Arc;

use lethe_core::{LabelSet, NoteBatch, NoteView, Tagger};
use lethe_dictionaries::{Dictionary, Matcher};
use lethe_taggers::registry::{RuleConfig, default_rules};

use super::hash::{feature, of_bytes, pair};
use super::lists::Groups;

/// Features of single tokens of one note, to be sorted by token.
pub(super) type Hits = Vec<(u32, u64)>;

/// A token's part in a span.
fn part(i: usize, first: usize, last: usize) -> u64 {
    match (i == first, i == last) {
        (true, true) => 3,
        (true, false) => 0,
        (false, true) => 2,
        (false, false) => 1,
    }
}

/// Entries of several words: of each group the leftmost longest that do not overlap (Yang 2019's partial matches; a word
/// that is an entry by itself has its features with the word).
pub(super) fn phrases(note: &NoteView<'_>, matcher: &mut Matcher<'_>, groups: &Groups, out: &mut Hits) {
    // Of each group's bit, where its last match ends.
    let mut ends = [0usize; 64];
    let mut longest: Vec<(u64, usize)> = Vec::new();
    let mut from = usize::MAX;
    let mut take = |from: usize, longest: &mut Vec<(u64, usize)>| {
        // Longer ones come later and take precedence.
        while let Some((mut bits, last)) = longest.pop() {
            while bits != 0 {
                let group = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if from < ends[group] {
                    continue;
                }
                ends[group] = last + 1;
                for name in groups.names(1 << group) {
                    for i in from..=last {
                        out.push((i as u32, feature(50, pair(name, part(i, from, last)))));
                    }
                }
            }
        }
    };
    matcher.each(note, groups.phrases, |found| {
        if found.last == found.first {
            return;
        }
        if found.first != from {
            take(from, &mut longest);
            from = found.first;
        }
        longest.push((groups.of(found.entry), found.last));
    });
    take(from, &mut longest);
}

/// The rule members, whatever labels the learned member itself has: rules know i2b2's.
pub(super) struct Rules {
    members: Vec<Arc<dyn Tagger>>,
    /// For each member and label, the name of both.
    names: Vec<Vec<u64>>,
}

impl Rules {
    /// The members that read the text alone: what an event carries of its patient is not in any corpus.
    pub(super) fn new(dictionary: &Arc<Dictionary>) -> Self {
        let labels = LabelSet::i2b2_2014();
        let members: Vec<Arc<dyn Tagger>> = default_rules()
            .iter()
            .filter(|config| !matches!(config, RuleConfig::Known(_)))
            // Every shipped set has a place for every label of the rules; a test builds them all.
            .filter_map(|config| config.build(&labels, dictionary).ok())
            .collect();
        let name = |text: &str| of_bytes(text.as_bytes());
        let names = members
            .iter()
            .map(|member| {
                let labels = labels.labels().iter();
                labels
                    .map(|label| pair(name(member.name()), name(&label.name)))
                    .collect()
            })
            .collect();
        Self { members, names }
    }

    /// Every row's hits.
    pub(super) fn tag(&self, batch: &NoteBatch) -> Vec<Hits> {
        let mut hits = vec![Hits::new(); batch.len()];
        for (member, names) in self.members.iter().zip(&self.names) {
            for (row, found) in member.tag(batch).into_iter().enumerate() {
                let note = batch.note(row);
                for annotation in found.iter().flatten() {
                    let first = note
                        .tokens
                        .ends
                        .partition_point(|&end| end as usize <= annotation.span.start());
                    let end = note.tokens.at_or_after(annotation.span.end());
                    let label = names[usize::from(annotation.label.0)];
                    let rule = of_bytes(annotation.rule.as_bytes());
                    for i in first..end {
                        let part = part(i, first, end - 1);
                        hits[row].push((i as u32, feature(51, pair(label, part))));
                        hits[row].push((i as u32, feature(52, pair(label, rule))));
                    }
                }
            }
        }
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<u32> {
        let dictionary = Dictionary::builtin();
        let (groups, batch) = (Groups::new(&dictionary), NoteBatch::from_texts([text]).unwrap());
        let mut hits = Hits::new();
        phrases(&batch.note(0), &mut dictionary.matcher(), &groups, &mut hits);
        hits.sort_unstable();
        hits.iter().map(|hit| hit.0).collect()
    }

    #[test]
    fn every_token_of_an_entry_of_several_words_is_hit_and_no_other() {
        let hits = found("vive en Las Palmas de Gran Canaria desde ayer");
        assert!((2..=6).all(|i| hits.contains(&i)), "{hits:?}");
        assert!(!hits.contains(&1) && !hits.contains(&8));
        assert!(
            found("Madrid").is_empty(),
            "a single word has its lists with the word"
        );
    }

    #[test]
    fn rules_hit_every_token_of_their_spans() {
        let rules = Rules::new(&Dictionary::builtin());
        let batch = NoteBatch::from_texts(["no hay", "Email: ana@ejemplo.es"]).unwrap();
        let hits = rules.tag(&batch);
        assert!(hits[0].is_empty());
        assert!((2..=6).all(|i| hits[1].iter().any(|hit| hit.0 == i)));
        assert_eq!(rules.members.len(), default_rules().len() - 1);
    }
}
