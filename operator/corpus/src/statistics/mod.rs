//! Statistics of corpora: sizes, spans by label, surface forms, and what distinguishes one corpus from another (Kim 2020,
//! tables 1 and 2; Yang 2019, table 1; Singh 2020, tables I and II; Liao 2021, table 1).
//!
//! Invariant: apart from names of corpora and labels, a report holds numbers, and words that occur in no span of any
//! corpus.

mod compare;
mod count;
mod report;
mod terms;

use std::collections::{BTreeSet, HashSet};

use lethe_core::{LabelSet, SpanError, TOKENIZER_VERSION};

use crate::{Document, Grouping, Mark, Rename};
use count::{Counted, LabelGroups};

pub use report::{
    Amount, Comparison, Corpus, Group, GroupRatio, GroupRatios, Groups, Occurrences, Part, Portion, Ratio,
    Settings, Statistics, Term, Terms,
};

/// What to compute.
#[derive(Clone, Copy, Debug)]
pub struct StatisticsOptions<'a> {
    /// New names for labels. Words of spans that it drops are not listed either.
    pub rename: &'a Rename,
    /// Maps labels to categories and HIPAA identifiers.
    pub labels: Option<&'a LabelSet>,
    /// The number of over-represented words to list for each of two corpora; 0 for none.
    pub terms: usize,
    /// The number of a corpus' documents in which a word must occur to be listed for it.
    pub least_documents: u64,
}

/// Why corpora cannot be counted. It holds names, ids and offsets, never text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatisticsError {
    /// There is nothing to count.
    #[error("corpus `{corpus}` has no documents")]
    NoDocuments {
        /// The corpus.
        corpus: String,
    },
    /// Two corpora have the same name, so that the report could not tell them apart.
    #[error("two corpora are called `{name}`")]
    SameName {
        /// The name.
        name: String,
    },
    /// A span is empty.
    #[error("corpus `{corpus}`, document `{id}`, span {index} is empty (at byte {at})")]
    EmptySpan {
        /// The corpus.
        corpus: String,
        /// The document.
        id: String,
        /// The index of the document's annotation, from 0.
        index: usize,
        /// Its position.
        at: usize,
    },
    /// A span does not lie in its document's text.
    #[error("corpus `{corpus}`, document `{id}`, span {index}: {source}")]
    Span {
        /// The corpus.
        corpus: String,
        /// The document.
        id: String,
        /// The index of the document's annotation, from 0.
        index: usize,
        /// The cause.
        source: SpanError,
    },
}

/// Counts corpora, by name, and compares the first with each of the others.
///
/// # Errors
/// [`StatisticsError`] if a corpus has no documents, two have the same name, or a span is empty or does not lie in its text.
pub fn statistics(
    corpora: &[(String, Vec<Document>)],
    options: &StatisticsOptions<'_>,
) -> Result<Statistics, StatisticsError> {
    let marks = checked(corpora, options.rename)?;
    let labels: BTreeSet<&str> = marks
        .iter()
        .flatten()
        .flatten()
        .map(|mark| mark.label.as_str())
        .collect();
    let mut groupings = vec![LabelGroups::new(
        labels.iter().map(|&label| (label, label.to_owned())),
    )];
    if let Some(set) = options.labels {
        let by =
            |by: Grouping| LabelGroups::new(labels.iter().map(|&label| (label, by.group_of(label, set))));
        groupings.extend([Grouping::Category, Grouping::Hipaa, Grouping::Identifier].map(by));
    }
    let counted: Vec<Counted> = (corpora.iter().zip(&marks))
        .map(|((_, documents), marks)| Counted::new(documents, marks, &groupings))
        .collect();
    let comparisons = match (corpora, &*counted) {
        ([(first, _), others @ ..], [counted_first, counted_others @ ..]) => {
            let protected: HashSet<&str> = counted
                .iter()
                .flat_map(|counted| counted.words.protected())
                .collect();
            (others.iter().zip(counted_others))
                .map(|((other, _), counted)| {
                    compare::comparison(
                        (first, counted_first),
                        (other, counted),
                        &groupings,
                        &protected,
                        options,
                    )
                })
                .collect()
        }
        _ => Vec::new(),
    };
    let lacking = |set: &LabelSet| -> Vec<String> {
        let unknown = labels.iter().filter(|label| set.by_name(label).is_none());
        unknown.map(|&label| label.to_owned()).collect()
    };
    Ok(Statistics {
        format: "lethe-corpus-statistics".to_owned(),
        version: 1,
        settings: Settings {
            label_set: options.labels.map(|set| set.id().to_owned()),
            terms: options.terms as u64,
            least_documents: options.least_documents,
            tokenizer: TOKENIZER_VERSION,
        },
        unmapped: options.labels.map(lacking).unwrap_or_default(),
        corpora: (corpora.iter().zip(&counted))
            .map(|((name, _), counted)| counted.report(name, &groupings))
            .collect(),
        comparisons,
    })
}

/// Checks names and spans, and returns the renamed annotations by corpus and document.
fn checked(
    corpora: &[(String, Vec<Document>)],
    rename: &Rename,
) -> Result<Vec<Vec<Vec<Mark>>>, StatisticsError> {
    let mut names = HashSet::new();
    for (name, documents) in corpora {
        if !names.insert(name) {
            return Err(StatisticsError::SameName { name: name.clone() });
        }
        if documents.is_empty() {
            return Err(StatisticsError::NoDocuments { corpus: name.clone() });
        }
        for document in documents {
            check(name, document)?;
        }
    }
    let renamed = |document: &Document| {
        let mut marks = document.marks.clone();
        rename.apply_to(&mut marks);
        marks
    };
    Ok(corpora
        .iter()
        .map(|(_, documents)| documents.iter().map(renamed).collect())
        .collect())
}

/// Checks that all annotations of a document are spans of its text and not empty.
fn check(corpus: &str, document: &Document) -> Result<(), StatisticsError> {
    for (index, mark) in document.marks.iter().enumerate() {
        let (corpus, id) = (|| corpus.to_owned(), || document.id.clone());
        mark.span
            .check(&document.text)
            .map_err(|source| StatisticsError::Span {
                corpus: corpus(),
                id: id(),
                index,
                source,
            })?;
        if mark.span.is_empty() {
            return Err(StatisticsError::EmptySpan {
                corpus: corpus(),
                id: id(),
                index,
                at: mark.span.start(),
            });
        }
    }
    Ok(())
}

/// Returns `part / whole`; 0 if `whole` is 0.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

fn part(count: u64, of: u64) -> Part {
    Part {
        count,
        of,
        share: share(count, of),
    }
}

#[cfg(test)]
mod tests;
