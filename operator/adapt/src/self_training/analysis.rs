//! Analyses why self-training helps or does not: what became of the target's words and entities that were
//! wrong before (Liao 2021, "Reasons for performance improvement").
//!
//! The analysis holds counts and probabilities, and no text.

use lethe_core::NoteBatch;
use lethe_corpus::{Counts, Document, Mark};
use lethe_learn::{Marginals, TagSet};
use serde::Serialize;

/// The upper ends of the bins of the right tag's probability.
const ENDS: [f64; 8] = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0];

/// A model's predictions for the target's documents.
pub struct ModelPredictions<'a> {
    /// The tags' probabilities.
    pub shares: &'a dyn Marginals,
    /// The same documents with predicted spans instead of gold.
    pub documents: &'a [Document],
}

/// Words of gold entities whose tag was wrong before.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WordBin {
    /// The lower bound of the right tag's probability before.
    pub from: f64,
    /// The upper bound, inclusive.
    pub to: f64,
    /// The number of words.
    pub wrong: usize,
    /// Those that are right after.
    pub corrected: usize,
}

/// Entities that were not found exactly before, by whether a word of them had the right tag.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EntityBin {
    /// Whether at least one word was right before.
    pub some_right: bool,
    /// The number of entities.
    pub wrong: usize,
    /// Those that are found exactly after.
    pub corrected: usize,
}

/// Corrected and new errors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// The analysed label; `None` for all.
    pub label: Option<String>,
    /// Strict micro-F1 before and after.
    pub f1: [f64; 2],
    /// Precision before and after.
    pub precision: [f64; 2],
    /// Recall before and after.
    pub recall: [f64; 2],
    /// Words that were wrong, by the right tag's probability before.
    pub words: Vec<WordBin>,
    /// The median of that probability among words that became right, and among those that stayed wrong.
    pub medians: [Option<f64>; 2],
    /// Words that were right before and are wrong after.
    pub spoilt: usize,
    /// Entities that were wrong.
    pub entities: Vec<EntityBin>,
    /// Entities that were found exactly before and are not after.
    pub lost: usize,
    /// False positives before and after.
    pub invented: [usize; 2],
}

impl Analysis {
    /// Compares two models' predictions; both must be in gold's order.
    ///
    /// # Errors
    /// [`lethe_core::BatchError`] if the texts do not form a batch.
    pub fn new(
        gold: &[Document],
        before: &ModelPredictions<'_>,
        after: &ModelPredictions<'_>,
        label: Option<&str>,
    ) -> Result<Self, lethe_core::BatchError> {
        let batch = NoteBatch::from_texts(gold.iter().map(|document| document.text.as_str()))?;
        let tags = before.shares.tags();
        let shares = before.shares.marginals(&batch);
        let wanted = |marks: &[Mark]| -> Vec<Mark> {
            let asked = |mark: &&Mark| label.is_none_or(|label| mark.label == label);
            marks.iter().filter(asked).cloned().collect()
        };
        let mut counts = [Counts::default(), Counts::default()];
        let bin = |some_right| EntityBin {
            some_right,
            ..EntityBin::default()
        };
        let mut entities = vec![bin(false), bin(true)];
        let mut words: Vec<(f64, bool)> = Vec::new();
        let (mut spoilt, mut lost, mut invented) = (0, 0, [0, 0]);
        for (row, document) in gold.iter().enumerate() {
            let note = batch.note(row);
            let gold = wanted(&document.marks);
            let predictions = [before, after].map(|predictions| wanted(&predictions.documents[row].marks));
            let right = tags.encode(note.tokens, &gold);
            let told = [0, 1].map(|i| tags.encode(note.tokens, &predictions[i]));
            let same = |a: &Mark, b: &Mark| a.span == b.span && a.label == b.label;
            for i in [0, 1] {
                counts[i] += Counts::strict(&gold, &predictions[i]);
                let none = |mark: &&Mark| !gold.iter().any(|entity| same(entity, mark));
                invented[i] += predictions[i].iter().filter(none).count();
            }
            for entity in &gold {
                let tokens = note
                    .tokens
                    .ends
                    .partition_point(|&end| end as usize <= entity.span.start())
                    ..note.tokens.at_or_after(entity.span.end());
                let found = [0, 1].map(|i| predictions[i].iter().any(|mark| same(mark, entity)));
                let mut some_right = false;
                // Words without a tag, or with one that belongs to an earlier entity, are not analysed.
                for t in tokens.filter(|&t| right[t] != TagSet::OUTSIDE) {
                    let ok = [0, 1].map(|i| told[i][t] == right[t]);
                    some_right |= ok[0];
                    match ok {
                        [false, now] => {
                            let p = shares[row][t * tags.len() + usize::from(right[t])];
                            words.push((f64::from(p), now));
                        }
                        [true, false] => spoilt += 1,
                        [true, true] => {}
                    }
                }
                match found {
                    [false, now] => {
                        let bin = &mut entities[usize::from(some_right)];
                        bin.wrong += 1;
                        bin.corrected += usize::from(now);
                    }
                    [true, false] => lost += 1,
                    [true, true] => {}
                }
            }
        }
        let mut from = 0.0;
        let bins = ENDS.map(|to| {
            let within = |&&(p, _): &&(f64, bool)| (p > from || from == 0.0) && p <= to;
            let own: Vec<&(f64, bool)> = words.iter().filter(within).collect();
            let bin = WordBin {
                from,
                to,
                wrong: own.len(),
                corrected: own.iter().filter(|(_, now)| *now).count(),
            };
            from = to;
            bin
        });
        let median = |corrected: bool| {
            let own = words.iter().filter(|(_, now)| *now == corrected);
            let mut own: Vec<f64> = own.map(|(p, _)| *p).collect();
            own.sort_by(f64::total_cmp);
            own.get(own.len() / 2).copied()
        };
        Ok(Self {
            label: label.map(str::to_owned),
            f1: counts.map(Counts::f1),
            precision: counts.map(Counts::precision),
            recall: counts.map(Counts::recall),
            words: bins.to_vec(),
            medians: [median(true), median(false)],
            spoilt,
            entities,
            lost,
            invented,
        })
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::Span;
    use lethe_learn::Scheme;

    use super::*;
    use crate::common::CachedMarginals;

    fn document(spans: &[(usize, usize)]) -> Document {
        let mark = |&(start, end)| Mark::gold(Span::new(start, end).unwrap(), "NAME");
        Document {
            id: "a".to_owned(),
            patient: None,
            text: "Ana Ruiz and Luis Gil and Eva".to_owned(),
            marks: spans.iter().map(mark).collect(),
        }
    }

    #[test]
    fn words_are_told_by_the_right_tags_share_and_entities_by_their_right_words() {
        let tags = TagSet::new(Scheme::Bio, vec!["NAME".to_owned()]);
        // Ana Ruiz | Luis Gil | Eva: `Ana` is right and `Ruiz` missing; nothing of the second; the third is
        // found.
        let (gold, before, after) = (
            [document(&[(0, 8), (13, 21), (26, 29)])],
            [document(&[(0, 3), (26, 29)])],
            [document(&[(0, 8), (9, 12)])],
        );
        let row = vec![
            0.1, 0.9, 0.0, 0.7, 0.05, 0.25, 1.0, 0.0, 0.0, 0.995, 0.005, 0.0, 0.9, 0.06, 0.04, 1.0, 0.0, 0.0,
            0.0, 1.0, 0.0,
        ];
        let told = CachedMarginals {
            tags,
            rows: vec![row],
        };
        let predictions = |documents| ModelPredictions {
            shares: &told,
            documents,
        };
        let found = Analysis::new(&gold, &predictions(&before), &predictions(&after), Some("NAME")).unwrap();
        let of = |from: f64| {
            found
                .words
                .iter()
                .find(|bin| bin.from == from)
                .map(|bin| (bin.wrong, bin.corrected))
        };
        assert_eq!(of(0.2), Some((1, 1)), "`Ruiz` at 0.25 became right");
        assert_eq!(
            (of(0.0), of(0.01)),
            (Some((1, 0)), Some((1, 0))),
            "{:?}",
            found.words
        );
        assert_eq!(found.medians[0], Some(0.25));
        let entities: Vec<_> = found
            .entities
            .iter()
            .map(|bin| (bin.some_right, bin.wrong, bin.corrected))
            .collect();
        assert_eq!(entities, [(false, 1, 0), (true, 1, 1)]);
        assert_eq!((found.spoilt, found.lost, found.invented), (1, 1, [1, 1]));
        let nothing =
            Analysis::new(&gold, &predictions(&before), &predictions(&after), Some("DATE")).unwrap();
        assert!(nothing.words.iter().all(|bin| bin.wrong == 0) && nothing.medians == [None, None]);
    }
}
