//! Two probabilistic members as one: mixes the tag probabilities of both by the weight with the least loss
//! (Singh 2020, which pairs a CRF with naive Bayes).
//!
//! With the mixture `w p + (1 - w) q` and gold as ones and zeros `y`, the Brier loss over tokens and tags is
//! (equation 5) `Σ (w p + (1 - w) q - y)²`. It is a parabola in `w`, whose slope is 0 (equation 6, derived in
//! appendix A) at `w = Σ (y - q)(p - q) / Σ (p - q)²`. The paper does not mention that this may lie outside 0
//! to 1, where the mixture would not be a probability: the best weight is then the nearer end of that range.
//!
//! Both members must give probabilities: uncalibrated margins are not, and mix badly.

use std::collections::BTreeSet;
use std::sync::Arc;

use lethe_core::{Annotations, Collector, LabelId, LabelSet, NoteBatch, NoteView, TagError, Tagger};
use lethe_corpus::Document;
use lethe_learn::{LabelMap, LabelMapError, Marginals, Scheme, TagSet};
use lethe_linear::{Chain, Layout, Scratch, States, StatesError};

/// The least probability: a rounded 0 does not rule out a path.
const LEAST: f32 = 1e-9;

/// The most bytes that a token's features take in the columns of a linear member.
const FEATURES: usize = 2 << 10;
/// Copies of a token's probabilities at the peak: for each member as computed and as returned, under the
/// common tags, mixed, and as scores.
const COPIES: usize = 8;

/// A member that computes tag probabilities, as lanes share it.
pub type Probabilistic = Arc<dyn Marginals + Send + Sync>;

/// Why two members cannot be mixed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WeightedError {
    /// Their tags have different meanings.
    #[error(
        "`{first}` and `{second}` know different labels: a mixture needs two members trained with the same labels"
    )]
    Tags {
        /// The first member.
        first: String,
        /// The second member.
        second: String,
    },
    /// A label has no equivalent in the label set.
    #[error(transparent)]
    Label(#[from] LabelMapError),
    /// There are too many tags.
    #[error(transparent)]
    States(#[from] StatesError),
    /// The weight is invalid.
    #[error("the weight {0} is not between 0 and 1")]
    Weight(f64),
}

/// The sums of equation 6, to which further documents can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Brier {
    over: f64,
    under: f64,
}

impl Brier {
    /// Adds a note: `first` and `second` have `tags` probabilities per token, `gold` one tag per token.
    pub fn add(&mut self, first: &[f32], second: &[f32], gold: &[u16], tags: usize) {
        let tokens = first.chunks_exact(tags).zip(second.chunks_exact(tags)).zip(gold);
        for ((first, second), &gold) in tokens {
            for (tag, (&p, &q)) in first.iter().zip(second).enumerate() {
                let (p, q) = (f64::from(p), f64::from(q));
                let y = if tag == usize::from(gold) { 1.0 } else { 0.0 };
                self.over += (y - q) * (p - q);
                self.under += (p - q) * (p - q);
            }
        }
    }

    /// Returns the first member's weight; a half if both members always agreed.
    pub fn weight(self) -> f64 {
        if self.under > 0.0 {
            (self.over / self.under).clamp(0.0, 1.0)
        } else {
            0.5
        }
    }
}

/// The parameters of a mixture: the two members, and their weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// The member with this weight.
    pub first: String,
    /// The member with the rest.
    pub second: String,
    /// 0 to 1.
    pub weight: f64,
}

impl Weight {
    /// Returns the best weight on documents that neither member was fitted to; `batch` has their texts in the
    /// same order.
    ///
    /// # Errors
    /// [`WeightedError::Tags`] or [`WeightedError::Label`].
    pub fn fit(
        first: (&str, &dyn Marginals),
        second: (&str, &dyn Marginals),
        batch: &NoteBatch,
        documents: &[Document],
        labels: &LabelSet,
    ) -> Result<Self, WeightedError> {
        let matching = Matching::new((first.0, first.1.tags()), (second.0, second.1.tags()), labels)?;
        let mut sums = Brier::default();
        let rows = first
            .1
            .marginals(batch)
            .into_iter()
            .zip(second.1.marginals(batch));
        for ((note, document), (p, q)) in batch.notes().zip(documents).zip(rows) {
            let gold = matching.tags.encode(note.tokens, &document.marks);
            let (p, q) = (matching.common(0, &p), matching.common(1, &q));
            sums.add(&p, &q, &gold, matching.tags.len());
        }
        Ok(Self {
            first: first.0.to_owned(),
            second: second.0.to_owned(),
            weight: sums.weight(),
        })
    }
}

/// The tags that two members have in common, and the mapping of each one's own tags to these.
struct Matching {
    tags: TagSet,
    /// For each member, the common tag of each of its tags.
    to: [Vec<usize>; 2],
    /// The engine's label of each common label.
    labels: Vec<LabelId>,
}

impl Matching {
    /// Matches tags by the engine's labels that they stand for. If only one member distinguishes last and
    /// only tokens, the mixture does not: the probabilities of beginning or continuing a span are then sums
    /// over both kinds.
    fn new(
        first: (&str, &TagSet),
        second: (&str, &TagSet),
        labels: &LabelSet,
    ) -> Result<Self, WeightedError> {
        let mapped = |tags: &TagSet| -> Result<Vec<LabelId>, LabelMapError> {
            let map = LabelMap::new(tags.labels(), labels)?;
            Ok((0..tags.labels().len()).map(|label| map.get(label)).collect())
        };
        let both = [mapped(first.1)?, mapped(second.1)?];
        let distinct = |labels: &[LabelId]| labels.iter().collect::<BTreeSet<_>>().len() == labels.len();
        let same = both[0].len() == both[1].len() && both[1].iter().all(|label| both[0].contains(label));
        if !(same && distinct(&both[0]) && distinct(&both[1])) {
            return Err(WeightedError::Tags {
                first: first.0.to_owned(),
                second: second.0.to_owned(),
            });
        }
        let scheme = if first.1.scheme() == second.1.scheme() {
            first.1.scheme()
        } else {
            Scheme::Bio
        };
        let tags = TagSet::new(scheme, first.1.labels().to_vec());
        let width = tags.len().saturating_sub(1) / both[0].len().max(1);
        let to = |own: &TagSet, ids: &[LabelId]| -> Vec<usize> {
            let common = |tag: u16| {
                let (label, part) = own.part(tag)?;
                let place = both[0].iter().position(|id| *id == ids[label])?;
                // In BIO, B, I, L, U become B, I, I, B.
                let part = if width == 2 { [0, 1, 1, 0][part] } else { part };
                Some(1 + place * width + part)
            };
            // A tag without a label is outside.
            (0..own.len() as u16)
                .map(|tag| common(tag).unwrap_or(0))
                .collect()
        };
        Ok(Self {
            to: [to(first.1, &both[0]), to(second.1, &both[1])],
            tags,
            labels: both[0].clone(),
        })
    }

    /// Returns the probabilities of a member's tags as those of the common tags.
    fn common(&self, member: usize, marginals: &[f32]) -> Vec<f32> {
        let (to, tags) = (&self.to[member], self.tags.len());
        let mut all = vec![0.0; marginals.len() / to.len() * tags];
        for (common, own) in all.chunks_exact_mut(tags).zip(marginals.chunks_exact(to.len())) {
            for (&at, p) in to.iter().zip(own) {
                common[at] += p;
            }
        }
        all
    }
}

/// Two mixed members: predicts the tags with the highest mixed probability.
pub struct Weighted {
    name: String,
    first: Probabilistic,
    second: Probabilistic,
    weight: f32,
    matching: Matching,
    states: States,
    chain: Chain,
}

impl Weighted {
    /// Creates the mixture under a name of its own; `weight` also names the members.
    ///
    /// # Errors
    /// [`WeightedError`].
    pub fn new(
        name: impl Into<String>,
        first: Probabilistic,
        second: Probabilistic,
        weight: &Weight,
        labels: &LabelSet,
    ) -> Result<Self, WeightedError> {
        if !(0.0..=1.0).contains(&weight.weight) {
            return Err(WeightedError::Weight(weight.weight));
        }
        let matching = Matching::new(
            (&weight.first, first.tags()),
            (&weight.second, second.tags()),
            labels,
        )?;
        let states = States::new(matching.tags.clone())?;
        // All steps that the scheme allows have the same weight.
        let chain = Chain::new(&states, &vec![0.0; Layout::of(&states).len()]);
        Ok(Self {
            name: name.into(),
            first,
            second,
            weight: weight.weight as f32,
            matching,
            states,
            chain,
        })
    }

    /// Returns the most likely tags that follow the scheme, with tokens otherwise independent, and each
    /// token's probability.
    fn annotate(
        &self,
        note: NoteView<'_>,
        mixed: &[f32],
        scratch: &mut Scratch,
    ) -> Result<Annotations, TagError> {
        let mut collector = Collector::new(note);
        let tags = &self.matching.tags;
        if mixed.is_empty() || mixed.len() != note.tokens.len() * tags.len() {
            return Ok(collector.finish()?);
        }
        let width = self.states.width();
        let mut scores = vec![0.0; note.tokens.len() * width];
        for (row, token) in scores.chunks_exact_mut(width).zip(mixed.chunks_exact(tags.len())) {
            for (&p, tag) in token.iter().zip(0..) {
                row[usize::from(self.states.of(tag))] = p.max(LEAST).ln();
            }
        }
        let mut path = Vec::new();
        self.chain.best_path(&scores, scratch, &mut path);
        let path: Vec<u16> = path
            .iter()
            .map(|&state| self.states.tag(state.into()).unwrap_or(TagSet::OUTSIDE))
            .collect();
        for span in tags.decode(&path) {
            let tokens = span.first..=span.last;
            let confidence = tokens
                .map(|t| mixed[t * tags.len() + usize::from(path[t])])
                .fold(1.0, f32::min);
            collector.tokens(
                span.first,
                span.last,
                self.matching.labels[span.label],
                confidence.clamp(0.0, 1.0),
                "",
            );
        }
        Ok(collector.finish()?)
    }
}

impl Marginals for Weighted {
    fn tags(&self) -> &TagSet {
        &self.matching.tags
    }

    fn marginals(&self, batch: &NoteBatch) -> Vec<Vec<f32>> {
        let (first, second) = (self.first.marginals(batch), self.second.marginals(batch));
        let mix = |(p, q): (&f32, &f32)| self.weight * p + (1.0 - self.weight) * q;
        let row = |(p, q): (Vec<f32>, Vec<f32>)| {
            let (p, q) = (self.matching.common(0, &p), self.matching.common(1, &q));
            p.iter().zip(&q).map(mix).collect()
        };
        first.into_iter().zip(second).map(row).collect()
    }
}

impl Tagger for Weighted {
    fn name(&self) -> &str {
        &self.name
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        let mut scratch = Scratch::default();
        let rows = batch.notes().zip(self.marginals(batch));
        let one = |(note, mixed): (NoteView<'_>, Vec<f32>)| {
            batch.advance()?;
            self.annotate(note, &mixed, &mut scratch)
        };
        rows.map(one).collect()
    }

    fn is_trained_on(&self, label: LabelId) -> bool {
        self.matching.labels.contains(&label)
    }

    /// Notes are read whole: the features of a token, and its probabilities by either member, under the
    /// common tags, and mixed.
    fn token_bytes(&self) -> usize {
        let tags = [self.first.tags(), self.second.tags(), &self.matching.tags];
        let most = tags.map(TagSet::len).into_iter().max().unwrap_or(0);
        FEATURES + COPIES * most * size_of::<f32>()
    }
}

#[cfg(test)]
mod tests;
