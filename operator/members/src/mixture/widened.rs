//! Two learners that were trained separately, under common tags: a label that one does not have gets
//! probability 0 from it.
//!
//! A mixture needs the same labels of both ([`Weighted`](super::Weighted)); a model from elsewhere and one
//! trained on local corrections rarely have them.

use lethe_core::NoteBatch;
use lethe_learn::{Marginals, Scheme, TagSet};

use super::Probabilistic;

/// Returns the tags of both: all labels of either, by name; separate tags for last and only tokens if both
/// have them.
pub fn together(first: &TagSet, second: &TagSet) -> TagSet {
    let mut labels = [first.labels(), second.labels()].concat();
    labels.sort_unstable();
    labels.dedup();
    let scheme = if first.scheme() == second.scheme() {
        first.scheme()
    } else {
        Scheme::Bio
    };
    TagSet::new(scheme, labels)
}

/// A member under tags that have more labels, or fewer parts of a span, than its own.
pub struct Widened {
    member: Probabilistic,
    tags: TagSet,
    /// The wider tag of each of the member's tags.
    to: Vec<usize>,
}

impl Widened {
    /// Creates the member under tags of [`together`]; `None` if these lack one of its labels or distinguish
    /// parts that it does not.
    pub fn new(member: Probabilistic, tags: &TagSet) -> Option<Self> {
        let to = places(member.tags(), tags)?;
        Some(Self {
            member,
            tags: tags.clone(),
            to,
        })
    }
}

/// Returns the wider tag for each tag.
fn places(own: &TagSet, tags: &TagSet) -> Option<Vec<usize>> {
    let narrower = match (own.scheme(), tags.scheme()) {
        (Scheme::Bio, Scheme::Bilou) => return None,
        (Scheme::Bilou, Scheme::Bio) => true,
        _ => false,
    };
    let width = if tags.scheme() == Scheme::Bio { 2 } else { 4 };
    let place = |tag: u16| {
        let Some((label, part)) = own.part(tag) else {
            return Some(usize::from(TagSet::OUTSIDE));
        };
        let label = tags
            .labels()
            .iter()
            .position(|name| *name == own.labels()[label])?;
        // In BIO, B, I, L, U become B, I, I, B.
        let part = if narrower { [0, 1, 1, 0][part] } else { part };
        Some(1 + label * width + part)
    };
    (0..own.len() as u16).map(place).collect()
}

impl Marginals for Widened {
    fn tags(&self) -> &TagSet {
        &self.tags
    }

    fn marginals(&self, batch: &NoteBatch) -> Vec<Vec<f32>> {
        let wide = |row: Vec<f32>| {
            let mut all = vec![0.0; row.len() / self.to.len() * self.tags.len()];
            let tokens = all.chunks_exact_mut(self.tags.len());
            for (wide, own) in tokens.zip(row.chunks_exact(self.to.len())) {
                for (&at, p) in self.to.iter().zip(own) {
                    wide[at] += p;
                }
                normalise(wide);
            }
            all
        };
        self.member.marginals(batch).into_iter().map(wide).collect()
    }
}

/// Scales a token's row to a sum of 1. Members that decode in single precision have errors of this size where
/// they are most confident, and a row that sums to more than 1 would outweigh a whole batch in a sum of
/// squares. If a row is all 0, the token is outside.
fn normalise(row: &mut [f32]) {
    let sum: f32 = row.iter().sum();
    if sum.is_finite() && sum > 0.0 {
        row.iter_mut().for_each(|p| *p /= sum);
    } else {
        row.fill(0.0);
        row[usize::from(TagSet::OUTSIDE)] = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    struct FixedMarginals {
        tags: TagSet,
        rows: Vec<Vec<f32>>,
    }

    impl Marginals for FixedMarginals {
        fn tags(&self) -> &TagSet {
            &self.tags
        }

        fn marginals(&self, _: &NoteBatch) -> Vec<Vec<f32>> {
            self.rows.clone()
        }
    }

    fn tags(scheme: Scheme, labels: &[&str]) -> TagSet {
        TagSet::new(scheme, labels.iter().map(|&label| label.to_owned()).collect())
    }

    #[test]
    fn both_have_every_label_and_only_the_parts_that_both_tell() {
        let (bio, bilou) = (tags(Scheme::Bio, &["B", "A"]), tags(Scheme::Bilou, &["B", "C"]));
        assert_eq!(together(&bio, &bilou), tags(Scheme::Bio, &["A", "B", "C"]));
        assert_eq!(together(&bilou, &bilou), bilou);
    }

    #[test]
    fn a_widened_member_gives_nothing_to_labels_that_it_lacks_and_sums_parts_that_are_one() {
        let own = tags(Scheme::Bilou, &["B"]);
        let member = Arc::new(FixedMarginals {
            tags: own,
            rows: vec![vec![0.1, 0.2, 0.3, 0.25, 0.15]],
        });
        let wide = Widened::new(member.clone(), &tags(Scheme::Bio, &["A", "B"])).unwrap();
        let batch = NoteBatch::from_texts(["x"]).unwrap();
        let row = &wide.marginals(&batch)[0];
        let expected = [0.1, 0.0, 0.0, 0.35, 0.55];
        assert!(
            row.iter().zip(expected).all(|(p, q)| (p - q).abs() < 1e-6),
            "{row:?}"
        );
        assert!(Widened::new(member, &tags(Scheme::Bilou, &["A"])).is_none());
        let bio = Arc::new(FixedMarginals {
            tags: tags(Scheme::Bio, &["A"]),
            rows: Vec::new(),
        });
        assert!(Widened::new(bio, &tags(Scheme::Bilou, &["A"])).is_none());
    }

    #[test]
    fn rows_that_are_no_probabilities_are_made_some() {
        let own = tags(Scheme::Bio, &["A"]);
        let member = Arc::new(FixedMarginals {
            tags: own.clone(),
            rows: vec![vec![3.0, 1.0, 0.0, f32::NAN, 1.0, 0.0, 0.0, 0.0, 0.0]],
        });
        let wide = Widened::new(member, &own).unwrap();
        let batch = NoteBatch::from_texts(["x y z"]).unwrap();
        assert_eq!(
            wide.marginals(&batch)[0],
            [0.75, 0.25, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
        );
    }
}
