//! Requirements on a system, for those who release by an evaluation.

use std::fmt;
use std::str::FromStr;

use crate::report::{Estimate, System};

/// What a system's evaluation must show before its output is released. It is met if the worse limit of the measure's
/// 95 % interval meets it, so that few documents cannot meet it by chance.
///
/// ```
/// use lethe_evaluate::Requirement;
///
/// let requirement: Requirement = "documents:0.95".parse()?;
/// assert_eq!(requirement, Requirement::Documents(0.95));
/// # Ok::<(), lethe_evaluate::RequirementError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Requirement {
    /// At least this share of the documents with identifiers has no leak.
    Documents(f64),
    /// At least this share of the characters of identifiers is covered.
    Characters(f64),
    /// At least this share of the tokens of identifiers is covered.
    Tokens(f64),
    /// At most so many spans leak in 1,000 documents.
    Leaks(f64),
}

/// A text is no requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a requirement; write `documents:`, `characters:` or `tokens:` and a share from 0 to 1, or `leaks:` and a number of spans per 1,000 documents"
)]
pub struct RequirementError(String);

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(written: &str) -> Result<Self, RequirementError> {
        let wrong = || RequirementError(written.to_owned());
        let (of, bound) = written.split_once(':').ok_or_else(wrong)?;
        let bound: f64 = bound.parse().map_err(|_| wrong())?;
        let share = (0.0..=1.0).contains(&bound);
        match of {
            "documents" if share => Ok(Self::Documents(bound)),
            "characters" if share => Ok(Self::Characters(bound)),
            "tokens" if share => Ok(Self::Tokens(bound)),
            "leaks" if bound >= 0.0 && bound.is_finite() => Ok(Self::Leaks(bound)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Documents(least) => write!(f, "documents:{least}"),
            Self::Characters(least) => write!(f, "characters:{least}"),
            Self::Tokens(least) => write!(f, "tokens:{least}"),
            Self::Leaks(most) => write!(f, "leaks:{most}"),
        }
    }
}

impl Requirement {
    /// Returns why a system does not meet it, in a sentence without its full stop; `None` if it does.
    pub fn unmet(&self, system: &System) -> Option<String> {
        let leak = &system.leak;
        let (what, limit, met) = match *self {
            Self::Documents(least) => {
                let exact = leak.documents.exact.map(|interval| interval.high);
                let most = exact
                    .into_iter()
                    .chain(high(&leak.documents.share))
                    .reduce(f64::max);
                at_least(
                    "of the documents have no leak",
                    most.map(|share| 1.0 - share),
                    least,
                )
            }
            Self::Characters(least) => {
                let most = high(&leak.characters.share);
                at_least(
                    "of the characters of identifiers are covered",
                    most.map(|share| 1.0 - share),
                    least,
                )
            }
            Self::Tokens(least) => at_least(
                "of the tokens of identifiers are covered",
                low(&system.measures.token.recall),
                least,
            ),
            Self::Leaks(most) => {
                let limit = high(&leak.spans.per_thousand);
                let met = limit.is_some_and(|limit| limit <= most);
                let shown = limit.map(|limit| format!("up to {limit:.1} spans"));
                ("leak in 1,000 documents", shown, met)
            }
        };
        let name = &system.name;
        match (met, limit) {
            (true, _) => None,
            (false, Some(limit)) => Some(format!(
                "{name}: {limit} {what} (95 % interval), but `{self}` is required"
            )),
            (false, None) => Some(format!(
                "{name}: `{self}` cannot be checked without an interval: gold has no identifiers, or `resamples` is 0"
            )),
        }
    }
}

/// Compares the lower limit of a share.
fn at_least(what: &'static str, limit: Option<f64>, least: f64) -> (&'static str, Option<String>, bool) {
    let met = limit.is_some_and(|limit| limit >= least);
    (
        what,
        limit.map(|limit| format!("as few as {:.2} %", 100.0 * limit)),
        met,
    )
}

/// The upper limit: that over patients, if there is one and it is wider.
fn high(estimate: &Estimate) -> Option<f64> {
    let intervals = [estimate.interval, estimate.by_patient].into_iter().flatten();
    intervals.map(|interval| interval.high).reduce(f64::max)
}

fn low(estimate: &Estimate) -> Option<f64> {
    let intervals = [estimate.interval, estimate.by_patient].into_iter().flatten();
    intervals.map(|interval| interval.low).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use lethe_core::Span;
    use lethe_corpus::{Document, Mark};

    use super::*;
    use crate::{Options, evaluate};

    /// Documents with one identifier each, of which a system misses some.
    fn system(documents: usize, missed: usize, resamples: usize) -> System {
        let document = |at: usize, found: bool| Document {
            id: at.to_string(),
            patient: None,
            text: "Seen by Ada.".into(),
            marks: match found {
                true => vec![Mark::gold(Span::new(8, 11).unwrap(), "DOCTOR")],
                false => vec![],
            },
        };
        let gold: Vec<_> = (0..documents).map(|at| document(at, true)).collect();
        let found = (0..documents).map(|at| document(at, at >= missed)).collect();
        let options = Options {
            resamples,
            ..Options::default()
        };
        let mut report = evaluate(&gold, &[("it".to_owned(), found)], &options).unwrap();
        report.systems.remove(0)
    }

    #[test]
    fn a_requirement_reads_as_it_prints() {
        for written in ["documents:0.95", "characters:0.99", "tokens:1", "leaks:50"] {
            let requirement: Requirement = written.parse().unwrap();
            assert_eq!(requirement.to_string(), written);
        }
        for wrong in [
            "documents",
            "documents:95",
            "leaks:-1",
            "leaks:inf",
            "f1:0.9",
            "tokens:x",
        ] {
            let error = wrong.parse::<Requirement>().unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn the_limit_counts_and_not_the_share() {
        // Clopper and Pearson: no leak in 20 documents leaves up to 16.84 % (two-sided), none in 300 up to 1.22 %.
        let few = system(20, 0, 100);
        let requirement = Requirement::Documents(0.95);
        let why = requirement.unmet(&few).unwrap();
        assert!(
            why.starts_with("it: as few as 83.16 % of the documents have no leak"),
            "{why}"
        );
        assert_eq!(requirement.unmet(&system(300, 0, 100)), None);
    }

    #[test]
    fn leaks_are_at_most_and_shares_at_least() {
        let some = system(200, 20, 500);
        assert_eq!(Requirement::Leaks(200.0).unmet(&some), None);
        assert!(
            Requirement::Leaks(100.0)
                .unmet(&some)
                .unwrap()
                .contains("spans leak in 1,000 documents")
        );
        assert_eq!(Requirement::Characters(0.8).unmet(&some), None);
        assert_eq!(Requirement::Tokens(0.8).unmet(&some), None);
        assert!(Requirement::Tokens(0.9).unmet(&some).is_some());
    }

    #[test]
    fn nothing_is_met_without_an_interval() {
        let none = system(200, 0, 0);
        assert!(
            Requirement::Tokens(0.5)
                .unmet(&none)
                .unwrap()
                .contains("cannot be checked")
        );
        assert_eq!(Requirement::Documents(0.95).unmet(&none), None);
    }
}
