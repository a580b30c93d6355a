//! From documents to a report.

use lethe_core::{LabelSet, TOKENIZER_VERSION};
use lethe_corpus::{Counts, Document, Grouping as By};

use crate::EvaluateError;
use crate::bootstrap::{Matrix, interval};
use crate::group::{Grouped, Grouping, of_marked};
use crate::input::{Input, Predictions};
use crate::measure::{Counted, document_f1, leaking};
use crate::mistake::errors;
use crate::report::{
    Comparison, DocumentScore, Estimate, Groups, Leak, Macro, Measures, Ratios, Report, Seen, SeenLeaks,
    Settings, Share, System,
};
use crate::score::{
    CHARACTER, FIXED, Figures, INTACT, LEAKS, Patients, RELAXED, SEEN, SEEN_LEAKS, SPAN, STRICT, TOKEN,
    UNSEEN, UNSEEN_LEAKS,
};
use crate::seen::Training;
use crate::significance::{approximate_randomisation, paired_t_test, wilcoxon};

/// How to evaluate.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The weight of recall in F-beta; 2 by default, since a missed identifier is worse than an extra
    /// redaction.
    pub beta: f64,
    /// Resamples for each interval; 2,000 by default, 0 for no intervals.
    pub resamples: usize,
    /// Shuffles of a randomisation test; 10,000 by default.
    pub shuffles: usize,
    /// The seed of both. The same seed gives the same figures on every machine.
    pub seed: u64,
    /// Maps labels to categories and HIPAA identifiers.
    pub labels: Option<&'a LabelSet>,
    /// The systems' training documents, for recall on seen and unseen spans.
    pub training: Option<&'a [Document]>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            beta: 2.0,
            resamples: 2_000,
            shuffles: 10_000,
            seed: 1,
            labels: None,
            training: None,
        }
    }
}

/// Scores systems (name, documents) against gold. A document that a system lacks counts as one without
/// predictions; predicted documents may come without their text.
///
/// # Errors
/// [`EvaluateError`] if gold is empty, an id or a name occurs twice, a system has a document that gold lacks
/// or one with another text, a span is empty or does not lie in its text, or beta is not above 0.
pub fn evaluate(
    gold: &[Document],
    systems: &[(String, Vec<Document>)],
    options: &Options<'_>,
) -> Result<Report, EvaluateError> {
    if !(options.beta > 0.0 && options.beta.is_finite()) {
        return Err(EvaluateError::Beta(options.beta));
    }
    let input = Input::new(gold, systems)?;
    let grouped = |by| options.labels.map(|set| Grouping::by(by, &input.labels, set));
    let context = Context {
        options,
        training: options.training.map(Training::new).transpose()?,
        labels: Grouping::labels(&input.labels),
        categories: grouped(By::Category),
        hipaa: grouped(By::Hipaa),
        identifiers: grouped(By::Identifier),
        patients: Patients::new(gold),
    };
    let scored: Vec<Scored> = input
        .systems
        .iter()
        .map(|system| context.score(&input, system))
        .collect();
    let mut comparisons = Vec::new();
    for (i, a) in scored.iter().enumerate() {
        comparisons.extend(scored[i + 1..].iter().map(|b| context.compare(a, b)));
    }
    let lacking = |set: &LabelSet| {
        input
            .labels
            .iter()
            .filter(|label| set.by_name(label).is_none())
            .cloned()
            .collect::<Vec<_>>()
    };
    Ok(Report {
        format: "lethe-evaluation".to_owned(),
        version: 1,
        settings: Settings {
            beta: options.beta,
            resamples: options.resamples as u64,
            shuffles: options.shuffles as u64,
            seed: options.seed,
            label_set: options.labels.map(|set| set.id().to_owned()),
            training_documents: options.training.map(|documents| documents.len() as u64),
            tokenizer: TOKENIZER_VERSION,
        },
        documents: gold.len() as u64,
        patients: context.patients.named.map(|named| named as u64),
        spans: input.gold.iter().map(|items| items.len() as u64).sum(),
        unmapped: options.labels.map(lacking).unwrap_or_default(),
        systems: scored.into_iter().map(|scored| scored.system).collect(),
        comparisons,
    })
}

/// A system's report and the values that comparisons need.
struct Scored {
    system: System,
    strict: Vec<Counts>,
    samples: [Option<Vec<f64>>; 2],
}

/// The inputs that all systems share.
struct Context<'a> {
    options: &'a Options<'a>,
    training: Option<Training>,
    labels: Grouping,
    categories: Option<Grouping>,
    hipaa: Option<Grouping>,
    identifiers: Option<Grouping>,
    patients: Patients,
}

impl Context<'_> {
    fn score(&self, input: &Input<'_>, system: &Predictions<'_>) -> Scored {
        let groupings: Vec<&Grouping> = [Some(&self.labels), self.categories.as_ref(), self.hipaa.as_ref()]
            .into_iter()
            .flatten()
            .collect();
        let leak_groupings: Vec<&Grouping> = std::iter::once(&self.labels).chain(&self.identifiers).collect();
        let leak_column = FIXED
            + groupings
                .iter()
                .map(|grouping| grouping.names.len() + 1)
                .sum::<usize>();
        let leak_columns: usize = leak_groupings.iter().map(|grouping| grouping.names.len()).sum();
        let mut matrix = Matrix::new(leak_column + leak_columns);
        let mut grouped: Vec<Vec<Grouped>> = groupings
            .iter()
            .map(|grouping| vec![Grouped::default(); grouping.names.len()])
            .collect();
        for (at, (gold, predicted)) in input.gold.iter().zip(&system.marks).enumerate() {
            let tokens = &input.tokens[at];
            let counted = Counted::new(&input.documents[at].text, tokens, gold, predicted);
            let leaking = leaking(&input.documents[at].text, gold, predicted);
            let missed: Vec<bool> = gold
                .iter()
                .map(|item| predicted.binary_search(item).is_err())
                .collect();
            let seen = self
                .training
                .as_ref()
                .map(|training| training.has(input, at))
                .unwrap_or_default();
            let of_seen = |marks: &[bool], which: bool| -> Counts {
                let spans = marks.iter().zip(&seen).filter(|(_, seen)| **seen == which);
                spans.map(|(&marked, _)| of_marked(marked)).sum()
            };
            let mut row = vec![
                counted.strict,
                counted.span,
                counted.relaxed,
                counted.token,
                counted.character,
                counted.intact,
                of_seen(&missed, true),
                of_seen(&missed, false),
                leaking.iter().copied().map(of_marked).sum(),
                of_seen(&leaking, true),
                of_seen(&leaking, false),
                of_marked(false),
            ];
            for (grouping, sums) in groupings.iter().zip(&mut grouped) {
                let counts = grouping.count(tokens, gold, predicted);
                let mut micro = Counts::default();
                for (sum, group) in sums.iter_mut().zip(counts) {
                    *sum += group;
                    micro += group.strict;
                    row.push(group.strict);
                }
                row.push(micro);
            }
            for grouping in &leak_groupings {
                row.extend(grouping.marked(gold, &leaking));
            }
            matrix.push(&row);
        }
        let figures = Figures::new(&matrix, &self.patients, self.options);
        let strict: Vec<Counts> = matrix.rows().map(|row| row[STRICT]).collect();
        let mut column = FIXED;
        let mut groups = groupings.iter().zip(&grouped).map(|(grouping, sums)| {
            let groups = figures.groups(grouping, sums, column);
            column += sums.len() + 1;
            groups
        });
        // The first grouping has every label, and it always exists.
        let labels = groups.next().unwrap_or_else(|| Groups {
            micro: figures.score(STRICT),
            groups: Vec::new(),
        });
        let (categories, hipaa) = (groups.next(), groups.next());
        let system = System {
            name: system.name.to_owned(),
            missing_documents: (input.documents.len() - system.given) as u64,
            measures: Measures {
                strict: figures.score(STRICT),
                span: figures.score(SPAN),
                relaxed: figures.score(RELAXED),
                token: figures.score(TOKEN),
                character: figures.score(CHARACTER),
            },
            averages: Macro {
                labels: mean(
                    grouped[0]
                        .iter()
                        .map(|group| group.strict)
                        .filter(|counts| counts.hits + counts.missed > 0),
                ),
                documents: mean(strict.iter().copied()),
            },
            leak: self.leak(&figures, leak_column),
            labels,
            categories,
            hipaa,
            seen: self.training.is_some().then(|| Seen {
                seen: figures.found(SEEN),
                unseen: figures.found(UNSEEN),
            }),
            errors: errors(input, system),
            documents: (input.documents.iter().zip(&strict))
                .map(|(document, counts)| DocumentScore {
                    id: document.id.clone(),
                    gold: counts.hits + counts.missed,
                    predicted: counts.hits + counts.spurious,
                    hits: counts.hits,
                    f1: document_f1(*counts),
                })
                .collect(),
        };
        Scored {
            system,
            strict,
            samples: figures.strict_f1(),
        }
    }

    /// Returns the leaks. The columns by label begin at `column`, and those of identifiers follow.
    fn leak(&self, figures: &Figures, column: usize) -> Leak {
        Leak {
            characters: Share {
                exact: None,
                ..figures.lost(CHARACTER)
            },
            documents: figures.lost(INTACT),
            patients: self.patients.named.map(|_| figures.leaking_patients()),
            spans: figures.leaks(LEAKS),
            identifiers: (self.identifiers.as_ref())
                .map(|kinds| figures.leak_groups(kinds, column + self.labels.names.len())),
            labels: figures.leak_groups(&self.labels, column),
            seen: self.training.is_some().then(|| SeenLeaks {
                seen: figures.leaks(SEEN_LEAKS),
                unseen: figures.leaks(UNSEEN_LEAKS),
            }),
        }
    }

    fn compare(&self, a: &Scored, b: &Scored) -> Comparison {
        let by_document = |scored: &Scored| -> Vec<f64> {
            scored
                .system
                .documents
                .iter()
                .map(|document| document.f1)
                .collect()
        };
        let apart = |which: usize| {
            let (a, b) = (a.samples[which].as_ref()?, b.samples[which].as_ref()?);
            interval(a.iter().zip(b).map(|(a, b)| a - b).collect())
        };
        let (x, y) = (by_document(a), by_document(b));
        let f1 = |scored: &Scored| scored.system.measures.strict.f1.value;
        Comparison {
            a: a.system.name.clone(),
            b: b.system.name.clone(),
            difference: Estimate {
                value: f1(a) - f1(b),
                interval: apart(0),
                by_patient: apart(1),
            },
            t_test: paired_t_test(&x, &y),
            wilcoxon: wilcoxon(&x, &y),
            randomisation: approximate_randomisation(
                &a.strict,
                &b.strict,
                self.options.shuffles,
                self.options.seed,
            ),
        }
    }
}

/// Returns the means of precision, of recall and of F1; 0 without counts. All three are 1 if there is neither
/// gold nor a prediction.
fn mean(all: impl Iterator<Item = Counts>) -> Ratios {
    let (mut sum, mut n) = (
        Ratios {
            precision: 0.0,
            recall: 0.0,
            f1: 0.0,
        },
        0u32,
    );
    for counts in all {
        let empty = counts == Counts::default();
        sum.precision += if empty { 1.0 } else { counts.precision() };
        sum.recall += if empty { 1.0 } else { counts.recall() };
        sum.f1 += document_f1(counts);
        n += 1;
    }
    let n = f64::from(n.max(1));
    Ratios {
        precision: sum.precision / n,
        recall: sum.recall / n,
        f1: sum.f1 / n,
    }
}
