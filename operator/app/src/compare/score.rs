//! Counts what both sides have, and where they differ.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lethe_core::{LabelSet, Span};
use lethe_corpus::{Document, Mark, SpanFormat};
use lethe_evaluate::{ErrorCase, ErrorClass, Options, Pointed, Report, Shape, evaluate};

use super::{Agreement, Characters, Comparison, Difference, Kind, LabelPair, Labels, Sides, Spans};
use crate::exit::usage;

/// How intervals are computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resampling {
    pub(crate) resamples: usize,
    pub(crate) seed: u64,
}

/// Compares the two sides. `sides` keeps the own labels of both.
///
/// # Errors
/// If a span does not lie in its note, which [`align`](super::align) excludes.
pub(crate) fn compare(
    sides: &Sides,
    set: &LabelSet,
    mut labels: Labels<'_>,
    format: SpanFormat,
    resampling: Resampling,
) -> anyhow::Result<Comparison> {
    let ours = |label: &str| {
        let label = set.by_name(label).map(|id| set.label(id).category.clone());
        Some(label.unwrap_or_default())
    };
    let (lethe, lethe_names) = by_category(&sides.lethe, ours);
    let (other, other_names) = by_category(&sides.other, |label| labels.category(label));
    let scored = score(&lethe, other.clone(), resampling)?;
    let collapse = |documents: &[Document]| by_category(documents, |_| Some("PHI".to_owned())).0;
    let collapsed = score(&collapse(&lethe), collapse(&other), resampling)?;
    let (Some(system), Some(one)) = (scored.systems.first(), collapsed.systems.first()) else {
        anyhow::bail!("nothing was scored");
    };
    let errors = &system.errors;
    let count = |class: ErrorClass| errors.cases.iter().filter(|case| case.class == class).count() as u64;
    let shifted = |case: &&ErrorCase| case.shape.is_some_and(|shape| shape != Shape::Same);
    let strict = system.measures.strict;
    let other_category = errors.label - errors.label_other_span;
    let spans = Spans {
        lethe: strict.gold,
        other: strict.predicted,
        same: strict.hits + other_category,
        other_category,
        partly: errors.cases.iter().filter(shifted).count() as u64,
        only_lethe: count(ErrorClass::FalseNegative),
        only_other: count(ErrorClass::FalsePositive),
    };
    let character = system.measures.character;
    let mut differences: Vec<Difference> = errors
        .cases
        .iter()
        .filter_map(|case| {
            let at = usize::try_from(case.document).ok()?;
            let text = &lethe.get(at)?.text;
            Some(difference(case, at, text, &lethe_names, &other_names))
        })
        .collect();
    let mut pairs: BTreeMap<(Option<String>, Option<String>), (u64, u64)> = BTreeMap::new();
    for (at, (ours, theirs)) in lethe.iter().zip(&other).enumerate() {
        let key = |mark: &Mark| (at, mark.span, mark.label.clone());
        let in_other: BTreeSet<_> = theirs.marks.iter().map(key).collect();
        for key in ours.marks.iter().map(key).filter(|key| in_other.contains(key)) {
            let names = (lethe_names.get(&key).cloned(), other_names.get(&key).cloned());
            pairs.entry(names).or_default().0 += 1;
        }
    }
    for difference in &differences {
        let name = |side: &Option<Pointed>| side.as_ref().map(|at| at.label.clone());
        let entry = pairs
            .entry((name(&difference.lethe), name(&difference.other)))
            .or_default();
        match difference.kind {
            Kind::Partly => entry.1 += 1,
            _ => entry.0 += 1,
        }
    }
    let mut pairs: Vec<LabelPair> = pairs
        .into_iter()
        .map(|((lethe, other), (same, partly))| LabelPair {
            lethe,
            other,
            same,
            partly,
        })
        .collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.same + pair.partly));
    differences.sort_by_key(|difference| difference.kind);
    Ok(Comparison {
        format: "lethe-comparison",
        version: 1,
        other: format.name(),
        notes: sides.notes.clone(),
        spans,
        characters: Characters {
            both: character.hits,
            only_lethe: character.gold - character.hits,
            only_other: character.predicted - character.hits,
        },
        agreement: Agreement {
            strict: strict.f1,
            span: one.measures.span.f1,
            overlap: one.measures.relaxed.f1,
            character: character.f1,
            of_lethe: character.recall,
            of_other: character.precision,
        },
        labels: pairs,
        mapping: labels.into_seen(),
        all_differences: differences.len() as u64,
        differences,
    })
}

/// A side's own label of each note, span and category.
type Names = HashMap<(usize, Span, String), String>;

/// Replaces labels by categories, without the spans whose label has none.
fn by_category(
    documents: &[Document],
    mut category: impl FnMut(&str) -> Option<String>,
) -> (Vec<Document>, Names) {
    let mut names = Names::new();
    let mut out = Vec::with_capacity(documents.len());
    for (at, document) in documents.iter().enumerate() {
        let mut marks: Vec<Mark> = Vec::with_capacity(document.marks.len());
        for mark in &document.marks {
            let Some(category) = category(&mark.label) else {
                continue;
            };
            names
                .entry((at, mark.span, category.clone()))
                .or_insert_with(|| mark.label.clone());
            marks.push(Mark {
                label: category,
                ..mark.clone()
            });
        }
        out.push(Document {
            marks,
            ..document.clone()
        });
    }
    (out, names)
}

fn score(lethe: &[Document], other: Vec<Document>, resampling: Resampling) -> anyhow::Result<Report> {
    let options = Options {
        resamples: resampling.resamples,
        seed: resampling.seed,
        ..Options::default()
    };
    evaluate(lethe, &[("other".to_owned(), other)], &options).map_err(usage)
}

fn difference(case: &ErrorCase, at: usize, text: &str, lethe: &Names, other: &Names) -> Difference {
    let own = |side: &Option<Pointed>, names: &Names| {
        side.as_ref().map(|point| {
            let span = Span::between(to_u32(point.start), to_u32(point.end));
            let name = names.get(&(at, span, point.label.clone()));
            Pointed {
                label: name.unwrap_or(&point.label).clone(),
                ..point.clone()
            }
        })
    };
    let (lethe, other) = (own(&case.gold, lethe), own(&case.predicted, other));
    let start = [&lethe, &other]
        .into_iter()
        .flatten()
        .map(|point| point.start)
        .min();
    let before = Span::between(0, to_u32(start.unwrap_or_default())).of(text);
    Difference {
        at,
        note: case.id.clone(),
        kind: match (case.class, case.shape) {
            (ErrorClass::FalseNegative, _) => Kind::OnlyLethe,
            (ErrorClass::FalsePositive, _) => Kind::OnlyOther,
            (_, Some(Shape::Same)) => Kind::Label,
            _ => Kind::Partly,
        },
        line: 1 + before.matches('\n').count() as u64,
        lethe,
        other,
        text: None,
    }
}

/// Returns an offset of a note, which has at most 4 GiB.
fn to_u32(at: u64) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Difference {
    /// Returns the words that one or the other side covers.
    pub(super) fn words<'t>(&self, text: &'t str) -> &'t str {
        let points = [&self.lethe, &self.other].into_iter().flatten();
        let spans = points.map(|point| Span::between(to_u32(point.start), to_u32(point.end)));
        spans.reduce(Span::union).map_or("", |span| span.of(text))
    }
}

impl Comparison {
    /// Keeps the first `count` differences of each kind, with their words if `texts` are given.
    pub(crate) fn limited(&self, count: usize, texts: Option<&[Document]>) -> Self {
        let mut kept: BTreeMap<Kind, usize> = BTreeMap::new();
        let mut limited = self.clone();
        limited.differences.retain(|difference| {
            let kept = kept.entry(difference.kind).or_default();
            *kept += 1;
            *kept <= count
        });
        for difference in &mut limited.differences {
            let note = texts.and_then(|texts| texts.get(difference.at));
            difference.text = note.map(|note| difference.words(&note.text).to_owned());
        }
        limited
    }
}
