//! The comparison of two corpora.

use std::collections::HashSet;

use super::count::{Counted, CountedGroup, LabelGroups, amount};
use super::report::{Comparison, GroupRatio, GroupRatios, Ratio};
use super::terms::terms;
use super::{StatisticsOptions, part, share};

/// A corpus and its name.
type Named<'a> = (&'a str, &'a Counted);

/// Compares a corpus with the first. Terms leave out the protected words.
pub(super) fn comparison(
    (first_name, first): Named<'_>,
    (other_name, other): Named<'_>,
    groupings: &[LabelGroups],
    protected: &HashSet<&str>,
    options: &StatisticsOptions<'_>,
) -> Comparison {
    let mut groups = groupings
        .iter()
        .enumerate()
        .map(|(at, grouping)| group_ratios(grouping, (first, &first.groups[at]), (other, &other.groups[at])));
    let ratio_of = |of: fn(&Counted) -> &[u64]| {
        let (first, other) = (amount(of(first)), amount(of(other)));
        Ratio {
            total: ratio(other.total as f64, first.total as f64),
            mean: ratio(other.mean, first.mean),
        }
    };
    let listed = options.terms > 0 && first.annotated && other.annotated;
    Comparison {
        first: first_name.to_owned(),
        other: other_name.to_owned(),
        documents: ratio(other.documents() as f64, first.documents() as f64),
        sentences: ratio_of(|counted| &counted.sentences),
        tokens: ratio_of(|counted| &counted.tokens),
        spans: ratio_of(|counted| &counted.spans),
        span_tokens: ratio_of(|counted| &counted.span_tokens),
        labels: groups.next().unwrap_or_else(|| {
            group_ratios(&LabelGroups::new(std::iter::empty()), (first, &[]), (other, &[]))
        }),
        categories: groups.next(),
        hipaa: groups.next(),
        identifiers: groups.next(),
        terms: listed.then(|| {
            terms(
                &first.words,
                &other.words,
                protected,
                options.terms,
                options.least_documents,
            )
        }),
    }
}

/// A corpus and its groups of one grouping.
type Grouped<'a> = (&'a Counted, &'a [CountedGroup]);

fn group_ratios(grouping: &LabelGroups, first: Grouped<'_>, other: Grouped<'_>) -> GroupRatios {
    let sum = |numbers: &[u64]| numbers.iter().sum::<u64>();
    let tokens = (sum(&first.0.tokens), sum(&other.0.tokens));
    let group = |name: &str, (first, other): (Sums, Sums)| GroupRatio {
        name: name.to_owned(),
        spans: ratio(other.spans as f64, first.spans as f64),
        rate: ratio(share(other.spans, tokens.1), share(first.spans, tokens.0)),
        tokens: ratio(other.tokens as f64, first.tokens as f64),
        forms_seen: part(other.forms_seen, other.forms),
        spans_seen: part(other.spans_seen, other.spans),
    };
    let pairs: Vec<(Sums, Sums)> = (first.1.iter().zip(other.1))
        .map(|(first, other)| (Sums::of(first, first), Sums::of(other, first)))
        .collect();
    let all = |of: fn(&(Sums, Sums)) -> Sums, corpus: &Counted| Sums {
        tokens: sum(&corpus.span_tokens),
        ..pairs.iter().map(of).fold(Sums::default(), Sums::plus)
    };
    GroupRatios {
        all: group("all", (all(|pair| pair.0, first.0), all(|pair| pair.1, other.0))),
        groups: (grouping.names.iter().zip(&pairs))
            .map(|(name, &pair)| group(name, pair))
            .collect(),
    }
}

/// The numbers of a group.
#[derive(Clone, Copy, Default)]
struct Sums {
    spans: u64,
    tokens: u64,
    forms: u64,
    forms_seen: u64,
    spans_seen: u64,
}

impl Sums {
    /// Counts a group, and what of it the same group of the first corpus has.
    fn of(group: &CountedGroup, first: &CountedGroup) -> Self {
        let seen = || {
            group
                .forms
                .iter()
                .filter(|(form, _)| first.forms.contains_key(*form))
        };
        Self {
            spans: group.spans(),
            tokens: group.tokens,
            forms: group.forms.len() as u64,
            forms_seen: seen().count() as u64,
            spans_seen: seen().map(|(_, spans)| spans).sum(),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            spans: self.spans + other.spans,
            tokens: self.tokens + other.tokens,
            forms: self.forms + other.forms,
            forms_seen: self.forms_seen + other.forms_seen,
            spans_seen: self.spans_seen + other.spans_seen,
        }
    }
}

/// Returns `other / first`, unless `first` is 0.
fn ratio(other: f64, first: f64) -> Option<f64> {
    (first > 0.0).then(|| other / first)
}
