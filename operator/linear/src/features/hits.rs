//! Features of runs of tokens from lists and rules: entries of several words, and the spans of the rule
//! members.

use std::ops::Range;
use std::sync::Arc;

use lethe_core::{Annotation, LabelSet, NoteBatch, NoteView, TagError, Tagger};
use lethe_dictionaries::{Dictionary, Matcher};
use lethe_taggers::registry::{RuleConfig, default_rules};

use super::hash::{feature, of_bytes, pair};
use super::lists::Groups;

/// Features of single tokens of one note, to be sorted by token.
pub(super) type Hits = Vec<(u32, u64)>;

/// Returns a token's part in a span.
fn part(i: usize, first: usize, last: usize) -> u64 {
    match (i == first, i == last) {
        (true, true) => 3,
        (true, false) => 0,
        (false, true) => 2,
        (false, false) => 1,
    }
}

/// The end of the last match of each group's bit.
pub(super) type Ends = [usize; 64];

/// Finds the entries of several words that begin at these tokens: of each group the leftmost longest without
/// overlaps (Yang 2019's partial matches; an entry of one word has its features with the word). `ends`
/// continues from the tokens before.
pub(super) fn phrases(
    note: &NoteView<'_>,
    tokens: Range<usize>,
    matcher: &mut Matcher<'_>,
    groups: &Groups,
    ends: &mut Ends,
    out: &mut Hits,
) {
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
    matcher.each_from(note, tokens, groups.phrases, |found| {
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

/// The tokens of a rule's span: the first, the end, and a hash of rule and label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) first: u32,
    pub(super) end: u32,
    label: u64,
    rule: u64,
}

impl Found {
    /// Adds the hits of those of its tokens that lie in a window.
    pub(super) fn hits(&self, window: &Range<usize>, out: &mut Hits) {
        let (first, end) = (self.first as usize, self.end as usize);
        for i in first.max(window.start)..end.min(window.end) {
            let part = part(i, first, end - 1);
            out.push((i as u32, feature(51, pair(self.label, part))));
            out.push((i as u32, feature(52, pair(self.label, self.rule))));
        }
    }
}

/// The rule members, with i2b2's labels whatever the learned member's own are.
pub(super) struct Rules {
    members: Vec<Arc<dyn Tagger>>,
    /// For each member and label, a hash of both names.
    names: Vec<Vec<u64>>,
}

impl Rules {
    /// Creates the members that read only the text: an event's identifiers of its patient are in no corpus.
    pub(super) fn new(dictionary: &Arc<Dictionary>) -> Self {
        let labels = LabelSet::i2b2_2014();
        let members: Vec<Arc<dyn Tagger>> = default_rules()
            .iter()
            .filter(|config| !matches!(config, RuleConfig::Known(_)))
            // Every built-in label set has all labels of the rules; a test builds them all.
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

    /// Returns the hits of every row.
    pub(super) fn tag(&self, batch: &NoteBatch) -> Vec<Hits> {
        let mut hits = vec![Hits::new(); batch.len()];
        for (member, names) in self.members.iter().zip(&self.names) {
            for (row, found) in member.tag(batch).into_iter().enumerate() {
                let note = batch.note(row);
                let whole = 0..note.tokens.len();
                for annotation in found.iter().flatten() {
                    found_by(names, &note, annotation).hits(&whole, &mut hits[row]);
                }
            }
        }
        hits
    }

    /// Returns the rules' spans in a batch's only row, by first token.
    ///
    /// # Errors
    /// [`TagError::OverBudget`]. Any other error of a rule only removes its features.
    pub(super) fn find(&self, batch: &NoteBatch) -> Result<Vec<Found>, TagError> {
        let mut all = Vec::new();
        for (member, names) in self.members.iter().zip(&self.names) {
            for (row, found) in member.tag(batch).into_iter().enumerate() {
                let note = batch.note(row);
                match found {
                    Ok(found) => all.extend(found.iter().map(|one| found_by(names, &note, one))),
                    Err(TagError::OverBudget) => return Err(TagError::OverBudget),
                    Err(_) => {}
                }
            }
            batch.advance()?;
        }
        all.sort_by_key(|found| found.first);
        Ok(all)
    }
}

/// Returns the tokens of an annotation; `names` are its member's, by label.
fn found_by(names: &[u64], note: &NoteView<'_>, annotation: &Annotation) -> Found {
    let first = note
        .tokens
        .ends
        .partition_point(|&end| end as usize <= annotation.span.start());
    let end = note.tokens.at_or_after(annotation.span.end());
    Found {
        first: first as u32,
        end: end as u32,
        label: names[usize::from(annotation.label.0)],
        rule: of_bytes(annotation.rule.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<u32> {
        let dictionary = Dictionary::builtin();
        let (groups, batch) = (Groups::new(&dictionary), NoteBatch::from_texts([text]).unwrap());
        let mut hits = Hits::new();
        let (note, mut matcher) = (batch.note(0), dictionary.matcher());
        phrases(
            &note,
            0..note.tokens.len(),
            &mut matcher,
            &groups,
            &mut [0; 64],
            &mut hits,
        );
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
