//! The counts of one corpus.

use std::collections::{BTreeSet, HashMap, HashSet};

use lethe_core::{Span, Tokens, sentence_ends, tokenize};

use super::report::{Amount, Corpus, Group, Groups, Portion};
use super::terms::Words;
use super::{part, share};
use crate::{Document, Mark, covered_tokens, surface_form};

/// Groups of labels, sorted by name.
pub(super) struct LabelGroups {
    pub(super) names: Vec<String>,
    /// A label's group.
    of: HashMap<String, usize>,
}

impl LabelGroups {
    /// Creates the groups of labels from pairs of a label and the name of its group.
    pub(super) fn new<'a>(pairs: impl Iterator<Item = (&'a str, String)> + Clone) -> Self {
        let names: BTreeSet<String> = pairs.clone().map(|(_, name)| name).collect();
        let names: Vec<String> = names.into_iter().collect();
        let of = pairs
            .map(|(label, name)| (label.to_owned(), names.partition_point(|other| *other < name)))
            .collect();
        Self { names, of }
    }
}

/// One corpus.
pub(super) struct Counted {
    patients: Option<u64>,
    /// By document.
    pub(super) sentences: Vec<u64>,
    pub(super) tokens: Vec<u64>,
    pub(super) spans: Vec<u64>,
    pub(super) span_tokens: Vec<u64>,
    /// By grouping and group.
    pub(super) groups: Vec<Vec<CountedGroup>>,
    pub(super) words: Words,
    /// Whether the corpus has spans, dropped ones included.
    pub(super) annotated: bool,
}

/// One group of spans.
#[derive(Clone, Default)]
pub(super) struct CountedGroup {
    pub(super) tokens: u64,
    /// The spans of each surface form.
    pub(super) forms: HashMap<String, u64>,
}

impl CountedGroup {
    pub(super) fn spans(&self) -> u64 {
        self.forms.values().sum()
    }

    fn once(&self) -> u64 {
        self.forms.values().filter(|&&spans| spans == 1).count() as u64
    }
}

impl Counted {
    /// Counts documents with their renamed annotations.
    pub(super) fn new(documents: &[Document], marks: &[Vec<Mark>], groupings: &[LabelGroups]) -> Self {
        let patients: HashSet<&str> = documents
            .iter()
            .filter_map(|document| document.patient.as_deref())
            .collect();
        let mut counted = Self {
            patients: (!patients.is_empty()).then_some(patients.len() as u64),
            sentences: Vec::with_capacity(documents.len()),
            tokens: Vec::with_capacity(documents.len()),
            spans: Vec::with_capacity(documents.len()),
            span_tokens: Vec::with_capacity(documents.len()),
            groups: groupings
                .iter()
                .map(|grouping| vec![CountedGroup::default(); grouping.names.len()])
                .collect(),
            words: Words::default(),
            annotated: documents.iter().any(|document| !document.marks.is_empty()),
        };
        for (document, marks) in documents.iter().zip(marks) {
            counted.add(&document.text, marks, groupings);
            counted.words.add(document);
        }
        counted
    }

    fn add(&mut self, text: &str, marks: &[Mark], groupings: &[LabelGroups]) {
        let (mut tokens, mut starts, mut ends, mut kinds) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        tokenize(text, |token| {
            tokens.push(token.span);
            // A span's offsets are 32 bits wide.
            starts.push(token.span.start() as u32);
            ends.push(token.span.end() as u32);
            kinds.push(token.kind as u8);
        });
        let mut sentences = 0;
        let columns = Tokens {
            starts: &starts,
            ends: &ends,
            kinds: &kinds,
        };
        sentence_ends(text, columns, |_| sentences += 1);
        self.sentences.push(sentences);
        self.tokens.push(tokens.len() as u64);
        self.spans.push(marks.len() as u64);
        let covered = |spans: &mut dyn Iterator<Item = Span>| covered_tokens(&tokens, spans).len() as u64;
        self.span_tokens
            .push(covered(&mut marks.iter().map(|mark| mark.span)));
        for (grouping, groups) in groupings.iter().zip(&mut self.groups) {
            // Spans that differ only in labels of one group are one.
            let spans: BTreeSet<(usize, Span)> = marks
                .iter()
                .map(|mark| (grouping.of[&mark.label], mark.span))
                .collect();
            let spans: Vec<(usize, Span)> = spans.into_iter().collect();
            for run in spans.chunk_by(|a, b| a.0 == b.0) {
                let group = &mut groups[run[0].0];
                group.tokens += covered(&mut run.iter().map(|&(_, span)| span));
                for &(_, span) in run {
                    *group.forms.entry(surface_form(text, span)).or_default() += 1;
                }
            }
        }
    }

    pub(super) fn documents(&self) -> u64 {
        self.tokens.len() as u64
    }

    pub(super) fn report(&self, name: &str, groupings: &[LabelGroups]) -> Corpus {
        let mut groups = groupings
            .iter()
            .zip(&self.groups)
            .map(|(grouping, groups)| self.groups(grouping, groups));
        let empty = self.spans.iter().filter(|&&spans| spans == 0).count() as u64;
        Corpus {
            name: name.to_owned(),
            documents: self.documents(),
            patients: self.patients,
            without_spans: part(empty, self.documents()),
            sentences: amount(&self.sentences),
            tokens: amount(&self.tokens),
            spans: amount(&self.spans),
            span_tokens: amount(&self.span_tokens),
            // The first grouping is that by label, and it always exists.
            labels: groups
                .next()
                .unwrap_or_else(|| self.groups(&LabelGroups::new(std::iter::empty()), &[])),
            categories: groups.next(),
            hipaa: groups.next(),
            identifiers: groups.next(),
        }
    }

    fn groups(&self, grouping: &LabelGroups, counted: &[CountedGroup]) -> Groups {
        let spans: u64 = counted.iter().map(CountedGroup::spans).sum();
        let tokens: u64 = self.span_tokens.iter().sum();
        let of_corpus: u64 = self.tokens.iter().sum();
        let portion = |count, all| Portion {
            count,
            share: share(count, all),
            per_thousand: 1000.0 * share(count, of_corpus),
        };
        Groups {
            all: Group {
                name: "all".to_owned(),
                spans: portion(spans, spans),
                tokens: portion(tokens, tokens),
                forms: counted.iter().map(|group| group.forms.len() as u64).sum(),
                once: part(counted.iter().map(CountedGroup::once).sum(), spans),
            },
            groups: (grouping.names.iter().zip(counted))
                .map(|(name, group)| Group {
                    name: name.clone(),
                    spans: portion(group.spans(), spans),
                    tokens: portion(group.tokens, tokens),
                    forms: group.forms.len() as u64,
                    once: part(group.once(), group.spans()),
                })
                .collect(),
        }
    }
}

/// Summarises the numbers of documents.
pub(super) fn amount(by_document: &[u64]) -> Amount {
    let mut sorted = by_document.to_vec();
    sorted.sort_unstable();
    let at = |index: usize| sorted.get(index).copied().unwrap_or(0);
    let (total, n) = (sorted.iter().sum(), sorted.len());
    Amount {
        total,
        mean: share(total, n as u64),
        min: at(0),
        median: (at(n.saturating_sub(1) / 2) + at(n / 2)) as f64 / 2.0,
        max: at(n.saturating_sub(1)),
    }
}
