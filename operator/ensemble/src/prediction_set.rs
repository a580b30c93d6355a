//! Every member's predictions for every document, aligned with gold: the data that combiners are fitted and
//! evaluated on.

use std::collections::HashMap;
use std::sync::Arc;

use lethe_core::{Annotation, AnnotationError, Annotations, BatchError, LabelError, LabelSet, NoteBatch};
use lethe_corpus::{Counts, Document, Mark};

/// Gold, and each member's annotations of the same documents, row by row.
#[derive(Clone, Debug)]
pub struct PredictionSet {
    /// The documents, gold marks included.
    pub documents: Vec<Document>,
    /// Their texts as members see them, with tokens; rows in the order of the documents.
    pub batch: NoteBatch,
    /// The label set.
    pub labels: Arc<LabelSet>,
    /// Gold, one row per document.
    pub gold: Vec<Annotations>,
    /// The members' names.
    pub members: Vec<String>,
    /// For each member, one row per document.
    pub by_member: Vec<Vec<Annotations>>,
}

/// Why predictions cannot be aligned with gold.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictionError {
    /// There are no documents.
    #[error("gold has no document")]
    Empty,
    /// Two members have the same name.
    #[error("two members are called `{0}`")]
    SameName(String),
    /// A document occurs twice on one side.
    #[error("{side}: document `{id}` occurs twice")]
    Duplicate {
        /// Gold, or the member.
        side: String,
        /// The document.
        id: String,
    },
    /// A member has no entry for a document, not even an empty one: its predictions are incomplete.
    #[error("`{member}`: no predictions for document `{id}`; cross-validate it on all of gold's documents")]
    Missing {
        /// The member.
        member: String,
        /// The document.
        id: String,
    },
    /// A member has predictions for a document that gold does not have.
    #[error("`{member}`: document `{id}` is not in gold")]
    Unknown {
        /// The member.
        member: String,
        /// The document.
        id: String,
    },
    /// A member read another text of a document.
    #[error("`{member}`: document `{id}` has a text that differs from gold's")]
    OtherText {
        /// The member.
        member: String,
        /// The document.
        id: String,
    },
    /// The label set does not have a label.
    #[error("{side}: document `{id}`: the label set has no label `{label}`{near}")]
    Label {
        /// Gold, or the member.
        side: String,
        /// The document.
        id: String,
        /// The label.
        label: String,
        /// The end of the message: the label that was most likely meant, if one is near.
        near: String,
    },
    /// The labels do not form a set.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// A span is not valid in its document.
    #[error("{side}: document `{id}`: {source}")]
    Span {
        /// Gold, or the member.
        side: String,
        /// The document.
        id: String,
        /// The problem.
        source: AnnotationError,
    },
    /// The texts do not form a batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
}

impl PredictionSet {
    /// Aligns predictions with gold by document id. Without `labels`, the set contains all labels that occur,
    /// by name.
    ///
    /// # Errors
    /// [`PredictionError`], naming member and document.
    pub fn new(
        documents: Vec<Document>,
        members: Vec<(String, Vec<Document>)>,
        labels: Option<Arc<LabelSet>>,
    ) -> Result<Self, PredictionError> {
        if documents.is_empty() {
            return Err(PredictionError::Empty);
        }
        let mut places = HashMap::with_capacity(documents.len());
        for (place, document) in documents.iter().enumerate() {
            if places.insert(document.id.as_str(), place).is_some() {
                return Err(duplicate("gold", document));
            }
        }
        let labels = match labels {
            Some(labels) => labels,
            None => Arc::new(all_labels(&documents, &members)?),
        };
        let batch = NoteBatch::from_texts(documents.iter().map(|document| document.text.as_str()))?;
        let gold = documents
            .iter()
            .map(|document| annotations("gold", document, &document.text, &labels))
            .collect::<Result<_, _>>()?;
        let (mut names, mut by_member) = (Vec::new(), Vec::new());
        for (name, predictions) in members {
            if names.contains(&name) {
                return Err(PredictionError::SameName(name));
            }
            by_member.push(aligned(&name, &predictions, &documents, &places, &labels)?);
            names.push(name);
        }
        Ok(Self {
            batch,
            labels,
            gold,
            members: names,
            by_member,
            documents,
        })
    }

    /// Returns each member's annotations of one row, in member order, for a combiner.
    pub fn row(&self, row: usize) -> Vec<&Annotations> {
        self.by_member.iter().map(|rows| &rows[row]).collect()
    }

    /// Returns the same documents with only these members, in this order.
    ///
    /// # Panics
    /// If a member does not exist.
    #[must_use]
    pub fn with(&self, members: &[usize]) -> Self {
        Self {
            members: members
                .iter()
                .map(|&member| self.members[member].clone())
                .collect(),
            by_member: members
                .iter()
                .map(|&member| self.by_member[member].clone())
                .collect(),
            ..self.clone()
        }
    }

    /// Returns only these documents, by row, in this order, with every member's predictions.
    ///
    /// # Errors
    /// [`BatchError`] if the texts do not form a batch.
    ///
    /// # Panics
    /// If a row does not exist.
    pub fn pick(&self, rows: &[usize]) -> Result<Self, BatchError> {
        let of = |all: &[Annotations]| rows.iter().map(|&row| all[row].clone()).collect();
        let texts = rows.iter().map(|&row| self.documents[row].text.as_str());
        Ok(Self {
            batch: NoteBatch::from_texts(texts)?,
            labels: Arc::clone(&self.labels),
            gold: of(&self.gold),
            members: self.members.clone(),
            by_member: self.by_member.iter().map(|predictions| of(predictions)).collect(),
            documents: rows.iter().map(|&row| self.documents[row].clone()).collect(),
        })
    }

    /// Returns the strict counts of one member against gold.
    pub fn counts(&self, member: usize) -> Counts {
        self.gold
            .iter()
            .zip(&self.by_member[member])
            .map(|(gold, predictions)| strict(gold, predictions))
            .fold(Counts::default(), |mut all, counts| {
                all += counts;
                all
            })
    }

    /// Returns each member's rank by strict micro-F1, 0 the best; of equal ones the one named first is better
    /// (Kim 2019, Methods).
    pub fn ranks(&self) -> Vec<u32> {
        let scores: Vec<f64> = (0..self.members.len())
            .map(|member| self.counts(member).f1())
            .collect();
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let mut ranks = vec![0; order.len()];
        for (rank, member) in order.into_iter().enumerate() {
            ranks[member] = rank as u32;
        }
        ranks
    }
}

/// Returns the strict counts of one document: (label, span) pairs as sets.
fn strict(gold: &Annotations, predictions: &Annotations) -> Counts {
    let mark = |a: &Annotation| Mark::gold(a.span, a.label.0.to_string());
    let (gold, predictions): (Vec<Mark>, Vec<Mark>) = (
        gold.iter().map(mark).collect(),
        predictions.iter().map(mark).collect(),
    );
    Counts::strict(&gold, &predictions)
}

fn all_labels(documents: &[Document], members: &[(String, Vec<Document>)]) -> Result<LabelSet, LabelError> {
    let predictions = members.iter().flat_map(|(_, documents)| documents);
    let mut names: Vec<String> = documents
        .iter()
        .chain(predictions)
        .flat_map(|document| &document.marks)
        .map(|mark| mark.label.clone())
        .collect();
    names.sort();
    names.dedup();
    LabelSet::built_in_with(&names).map_or_else(|| LabelSet::of_names("ensemble", &names), Ok)
}

fn aligned(
    member: &str,
    predictions: &[Document],
    documents: &[Document],
    places: &HashMap<&str, usize>,
    labels: &LabelSet,
) -> Result<Vec<Annotations>, PredictionError> {
    let mut rows: Vec<Option<Annotations>> = vec![None; documents.len()];
    for document in predictions {
        let Some(&place) = places.get(document.id.as_str()) else {
            return Err(PredictionError::Unknown {
                member: member.to_owned(),
                id: document.id.clone(),
            });
        };
        let text = &documents[place].text;
        // Predictions may be offsets without a text.
        if !document.text.is_empty() && document.text != *text {
            return Err(PredictionError::OtherText {
                member: member.to_owned(),
                id: document.id.clone(),
            });
        }
        if rows[place]
            .replace(annotations(member, document, text, labels)?)
            .is_some()
        {
            return Err(duplicate(member, document));
        }
    }
    let row = |(row, document): (Option<Annotations>, &Document)| {
        row.ok_or_else(|| PredictionError::Missing {
            member: member.to_owned(),
            id: document.id.clone(),
        })
    };
    rows.into_iter().zip(documents).map(row).collect()
}

fn annotations(
    side: &str,
    document: &Document,
    text: &str,
    labels: &LabelSet,
) -> Result<Annotations, PredictionError> {
    let one = |mark: &Mark| {
        let label = labels
            .by_name(&mark.label)
            .ok_or_else(|| PredictionError::Label {
                side: side.to_owned(),
                id: document.id.clone(),
                label: mark.label.clone(),
                near: labels.did_you_mean(&mark.label),
            })?;
        Ok(Annotation {
            span: mark.span,
            label,
            score: mark.score.unwrap_or(1.0),
            rule: "",
        })
    };
    let all = document
        .marks
        .iter()
        .map(one)
        .collect::<Result<_, PredictionError>>()?;
    Annotations::new(text, all).map_err(|source| PredictionError::Span {
        side: side.to_owned(),
        id: document.id.clone(),
        source,
    })
}

fn duplicate(side: &str, document: &Document) -> PredictionError {
    PredictionError::Duplicate {
        side: side.to_owned(),
        id: document.id.clone(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use lethe_core::Span;

    use super::*;

    /// Returns a document of this id with marks.
    pub(crate) fn document(id: &str, text: &str, marks: &[(u32, u32, &str)]) -> Document {
        let mark = |&(start, end, label): &(u32, u32, &str)| Mark::gold(Span::between(start, end), label);
        Document {
            id: id.to_owned(),
            patient: None,
            text: text.to_owned(),
            marks: marks.iter().map(mark).collect(),
        }
    }

    fn gold() -> Vec<Document> {
        vec![
            document("a", "Ana Ruiz, 40", &[(0, 8, "NAME"), (10, 12, "AGE")]),
            document("b", "Bea Gil", &[(0, 7, "NAME")]),
        ]
    }

    #[test]
    fn predictions_are_aligned_with_gold_by_id_and_members_ranked_by_strict_f1() {
        let poor = vec![document("b", "", &[(0, 3, "NAME")]), document("a", "", &[])];
        let predictions = PredictionSet::new(
            gold(),
            vec![("poor".to_owned(), poor), ("good".to_owned(), gold())],
            None,
        )
        .unwrap();
        assert_eq!(predictions.ranks(), [1, 0]);
        assert_eq!(predictions.by_member[0][1].len(), 1);
        assert_eq!(
            (predictions.counts(1).f1(), predictions.counts(0).f1()),
            (1.0, 0.0)
        );
        let turned = predictions.with(&[1]);
        assert_eq!((turned.members.len(), turned.row(0)[0].len()), (1, 2));
    }

    #[test]
    fn predictions_that_are_not_gold_s_are_refused_by_name() {
        let mut other = gold();
        other[1].text = "Bea Gal".to_owned();
        let mut more = gold();
        more.push(document("c", "x", &[]));
        let mut twice = gold();
        twice.push(gold().remove(0));
        let mut outside = gold();
        outside[0].marks[0].span = Span::between(0, 99);
        for (predictions, told) in [
            (
                gold().drain(..1).collect::<Vec<_>>(),
                "no predictions for document `b`",
            ),
            (other, "document `b` has a text that differs"),
            (more, "document `c` is not in gold"),
            (twice, "document `a` occurs twice"),
            (outside, "document `a`: span"),
        ] {
            let error = PredictionSet::new(gold(), vec![("crf".to_owned(), predictions)], None).unwrap_err();
            let message = error.to_string();
            assert!(message.contains("crf") && message.contains(told), "{message}");
        }
    }
}
