//! Two probabilistic members as one: the tag probabilities of both, mixed by the weight that loses least (Singh 2020, which
//! pairs a random field with naive Bayes).
//!
//! With the mixture `w p + (1 - w) q` and gold as ones and zeros `y`, the Brier loss over tokens and tags is (equation 5)
//! `Σ (w p + (1 - w) q - y)²`. It is a parabola in `w`, whose slope is 0 (equation 6, derived in appendix A) at
//! `w = Σ (y - q)(p - q) / Σ (p - q)²`. The paper leaves out that this may lie beyond 0 or 1, where the mixture would be no
//! probability: the best weight between them is then the nearer end.
//!
//! Both members must give probabilities: margins that were never set against held-out documents are none, and mix badly.

use std::collections::BTreeSet;
use std::sync::Arc;

use lethe_core::{Annotations, Collector, LabelId, LabelSet, NoteBatch, NoteView, TagError, Tagger};
use lethe_corpus::Document;
use lethe_learn::{LabelMap, LabelMapError, Marginals, Scheme, TagSet};
use lethe_linear::{Chain, Layout, Scratch, States, StatesError};

/// A probability below this counts as this: no path is ruled out by one rounded 0.
const LEAST: f32 = 1e-9;

/// Bytes of a token's features at most, in the columns of a linear member.
const FEATURES: usize = 2 << 10;
/// Copies of a token's probabilities at the peak: of either member as it computes them and as it gives them, under common tags, mixed,
/// and as scores.
const COPIES: usize = 8;

/// A member that tells how likely each tag is, as lanes share it.
pub type Probabilistic = Arc<dyn Marginals + Send + Sync>;

/// Why two members cannot be mixed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WeightedError {
    /// Their tags do not stand for the same.
    #[error(
        "`{first}` and `{second}` know different labels: a mixture needs two members trained with the same labels"
    )]
    Tags {
        /// The one.
        first: String,
        /// The other.
        second: String,
    },
    /// A label has no place in the label set.
    #[error(transparent)]
    Label(#[from] LabelMapError),
    /// Too many tags.
    #[error(transparent)]
    States(#[from] StatesError),
    /// The weight is invalid.
    #[error("a weight of {0}: it lies between 0 and 1")]
    Weight(f64),
}

/// The sums of equation 6, which more documents add to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Brier {
    over: f64,
    under: f64,
}

impl Brier {
    /// Adds a note: `first` and `second` have `tags` probabilities a token, `gold` one tag a token.
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

    /// Returns the first member's weight; a half where both have always said the same.
    pub fn weight(self) -> f64 {
        if self.under > 0.0 {
            (self.over / self.under).clamp(0.0, 1.0)
        } else {
            0.5
        }
    }
}

/// What is kept of a mixture: who is mixed, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// The member that has the weight.
    pub first: String,
    /// The member that has the rest.
    pub second: String,
    /// 0 to 1.
    pub weight: f64,
}

impl Weight {
    /// Returns the best weight on documents that neither member was fitted to; `batch` has their texts, in
    /// their order.
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

/// Tags that two members have in common, and how each one's own are these.
struct Matching {
    tags: TagSet,
    /// For each member, for each of its tags, the common one.
    to: [Vec<usize>; 2],
    /// For each common label the engine's.
    labels: Vec<LabelId>,
}

impl Matching {
    /// Matches tags by the engine's labels that they stand for. Where only one member tells last and only tokens apart, the
    /// mixture does not: what begins or continues a span is as likely as the sum of both kinds.
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
                // B, I, L, U are in BIO what begins, goes on, goes on, begins.
                let part = if width == 2 { [0, 1, 1, 0][part] } else { part };
                Some(1 + place * width + part)
            };
            // What has no label is outside.
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

    /// Returns the probabilities of a member's tags as those of the common ones.
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

/// Two members mixed: tags by what both together hold most likely.
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
    /// Returns the mixture under a name of its own; `weight` names the members as well.
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
        // All steps that the scheme allows weigh the same.
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

    /// Returns the most likely tags that follow the scheme, token by token independent otherwise, and each
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

    /// It reads notes whole: the features of a token, and its probabilities by either member, under common tags, and mixed.
    fn token_bytes(&self) -> usize {
        let tags = [self.first.tags(), self.second.tags(), &self.matching.tags];
        let most = tags.map(TagSet::len).into_iter().max().unwrap_or(0);
        FEATURES + COPIES * most * size_of::<f32>()
    }
}

#[cfg(test)]
mod tests;
