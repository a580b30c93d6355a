//! Computes figures from counts: over all documents, and with intervals over documents and patients.

use std::collections::HashMap;

use lethe_corpus::{Counts, Document};

use crate::binomial::exact;
use crate::bootstrap::{Matrix, Samples, interval};
use crate::evaluate::Options;
use crate::group::{Grouped, Grouping};
use crate::measure::f_beta;
use crate::report::{Estimate, Group, Groups, LeakGroup, Leaks, Ratios, Score, Share};

/// Columns of the resampled matrix; the strict counts of labels, categories and identifiers follow.
pub(crate) const STRICT: usize = 0;
pub(crate) const SPAN: usize = 1;
pub(crate) const RELAXED: usize = 2;
pub(crate) const TOKEN: usize = 3;
pub(crate) const CHARACTER: usize = 4;
pub(crate) const INTACT: usize = 5;
pub(crate) const SEEN: usize = 6;
pub(crate) const UNSEEN: usize = 7;
/// Leaking spans: of all, of those in training, of the others. A miss leaks.
pub(crate) const LEAKS: usize = 8;
pub(crate) const SEEN_LEAKS: usize = 9;
pub(crate) const UNSEEN_LEAKS: usize = 10;
/// A hit for each document.
pub(crate) const DOCUMENT: usize = 11;
pub(crate) const FIXED: usize = 12;

/// The patients of documents.
pub(crate) struct Patients {
    /// A document's unit: its patient, or the document itself if gold names none.
    pub(crate) of: Vec<usize>,
    /// Distinct patients, if there are any.
    pub(crate) named: Option<usize>,
    /// Whether a patient has several documents; only then do intervals over patients differ.
    several: bool,
}

impl Patients {
    pub(crate) fn new(documents: &[Document]) -> Self {
        let (mut units, mut named, mut of) = (0, HashMap::new(), Vec::with_capacity(documents.len()));
        for document in documents {
            let unit = match &document.patient {
                Some(patient) => *named.entry(patient.as_str()).or_insert(units),
                None => units,
            };
            units = units.max(unit + 1);
            of.push(unit);
        }
        Self {
            several: units < of.len(),
            of,
            named: (!named.is_empty()).then_some(named.len()),
        }
    }
}

/// Sums and resampled sums, from which the figures follow.
pub(crate) struct Figures {
    beta: f64,
    total: Vec<Counts>,
    documents: Samples,
    /// Present if a patient has several documents.
    patients: Option<Samples>,
    /// Patients' intact counts, summed and resampled; a patient is intact if all of their documents are.
    intact: (Counts, Samples),
}

impl Figures {
    pub(crate) fn new(matrix: &Matrix, patients: &Patients, options: &Options<'_>) -> Self {
        let (resamples, seed) = (options.resamples, options.seed);
        let mut clustered = matrix.clustered(&patients.of);
        let patient_samples = patients.several.then(|| clustered.resample(resamples, seed));
        clustered.map(INTACT, |counts| Counts {
            hits: u64::from(counts.hits > 0 && counts.missed == 0),
            spurious: 0,
            missed: u64::from(counts.missed > 0),
        });
        let mut intact = Matrix::new(1);
        clustered
            .rows()
            .for_each(|row| intact.push(&row[INTACT..=INTACT]));
        Self {
            beta: options.beta,
            total: matrix.total(),
            documents: matrix.resample(resamples, seed),
            patients: patient_samples,
            intact: (intact.total()[0], intact.resample(resamples, seed)),
        }
    }

    fn estimate(&self, column: usize, measure: impl Fn(Counts) -> (bool, f64)) -> Estimate {
        let defined = |counts| {
            let (defined, value) = measure(counts);
            defined.then_some(value)
        };
        Estimate {
            value: measure(self.total[column]).1,
            interval: self.documents.interval(column, defined),
            by_patient: self
                .patients
                .as_ref()
                .and_then(|samples| samples.interval(column, defined)),
        }
    }

    pub(crate) fn score(&self, column: usize) -> Score {
        let counts = self.total[column];
        let something = |counts: Counts| counts != Counts::default();
        Score {
            gold: counts.hits + counts.missed,
            predicted: counts.hits + counts.spurious,
            hits: counts.hits,
            precision: self.estimate(column, |counts| {
                (counts.hits + counts.spurious > 0, counts.precision())
            }),
            recall: self.estimate(column, |counts| {
                (counts.hits + counts.missed > 0, counts.recall())
            }),
            f1: self.estimate(column, |counts| (something(counts), counts.f1())),
            f_beta: self.estimate(column, |counts| (something(counts), f_beta(counts, self.beta))),
        }
    }

    /// Returns the share of gold that was found.
    pub(crate) fn found(&self, column: usize) -> Share {
        let counts = self.total[column];
        Share {
            count: counts.hits,
            of: counts.hits + counts.missed,
            share: self.estimate(column, |counts| {
                (counts.hits + counts.missed > 0, counts.recall())
            }),
            exact: exact(counts.hits, counts.hits + counts.missed),
        }
    }

    /// Returns the share of gold that was missed.
    pub(crate) fn lost(&self, column: usize) -> Share {
        let counts = self.total[column];
        Share {
            count: counts.missed,
            of: counts.hits + counts.missed,
            share: self.estimate(column, |counts| (counts.hits + counts.missed > 0, lost(counts))),
            exact: exact(counts.missed, counts.hits + counts.missed),
        }
    }

    /// Returns the share of patients with a leak.
    pub(crate) fn leaking_patients(&self) -> Share {
        let (counts, samples) = &self.intact;
        let gold = counts.hits + counts.missed;
        Share {
            count: counts.missed,
            of: gold,
            share: Estimate {
                value: lost(*counts),
                interval: None,
                by_patient: samples.interval(0, |counts| {
                    (counts.hits + counts.missed > 0).then(|| lost(counts))
                }),
            },
            exact: exact(counts.missed, gold),
        }
    }

    /// Returns the leaks that a column counts.
    pub(crate) fn leaks(&self, column: usize) -> Leaks {
        let per_thousand = |(leaks, documents): (Counts, Counts)| {
            (documents.hits > 0).then(|| 1000.0 * leaks.missed as f64 / documents.hits as f64)
        };
        let over = |samples: &Samples| {
            let both = samples.column(column).zip(samples.column(DOCUMENT));
            interval(both.filter_map(per_thousand).collect())
        };
        Leaks {
            spans: self.lost(column),
            per_thousand: Estimate {
                value: per_thousand((self.total[column], self.total[DOCUMENT])).unwrap_or(0.0),
                interval: over(&self.documents),
                by_patient: self.patients.as_ref().and_then(over),
            },
        }
    }

    /// Returns the leaks of each group that gold has; their columns begin at `column`.
    pub(crate) fn leak_groups(&self, grouping: &Grouping, column: usize) -> Vec<LeakGroup> {
        let group = |(i, name): (usize, &String)| LeakGroup {
            name: name.clone(),
            leaks: self.leaks(column + i),
        };
        let groups = grouping.names.iter().enumerate().map(group);
        groups.filter(|group| group.leaks.spans.of > 0).collect()
    }

    /// Returns a grouping's figures; its strict counts begin at `column` and end with their sum.
    pub(crate) fn groups(&self, grouping: &Grouping, sums: &[Grouped], column: usize) -> Groups {
        let group = |(i, sum): (usize, &Grouped)| Group {
            name: grouping.names[i].clone(),
            strict: self.score(column + i),
            relaxed: Ratios {
                precision: sum.relaxed.precision(),
                recall: sum.relaxed.recall(),
                f1: sum.relaxed.f1(),
            },
            token: sum.token(),
        };
        Groups {
            micro: self.score(column + sums.len()),
            groups: (sums.iter().enumerate())
                .filter(|(_, sum)| sum.strict != Counts::default())
                .map(group)
                .collect(),
        }
    }

    /// Returns the strict F1 by resample, of documents and of patients.
    pub(crate) fn strict_f1(&self) -> [Option<Vec<f64>>; 2] {
        let f1 = |samples: &Samples| samples.column(STRICT).map(Counts::f1).collect();
        [Some(f1(&self.documents)), self.patients.as_ref().map(f1)]
    }
}

fn lost(counts: Counts) -> f64 {
    let gold = counts.hits + counts.missed;
    if gold == 0 {
        0.0
    } else {
        counts.missed as f64 / gold as f64
    }
}
