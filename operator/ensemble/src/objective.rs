//! The objective of pruning.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Tally;

/// What to maximise, and under which bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// The measure to maximise.
    #[serde(default)]
    pub measure: Measure,
    /// The minimum recall.
    #[serde(default)]
    pub floor: Option<Floor>,
    /// The maximum cost of the members, in µs per token.
    #[serde(default)]
    pub ceiling: Option<f64>,
}

/// A measure. Written `f1`, `f2`, `f0.5`, `precision`: over strict counts; `characters:f2`: over characters,
/// covered or not; `documents`: over documents, with a leak or without.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Measure {
    /// F with recall weighted this many times as much as precision; with 1 it is the papers' micro-averaged
    /// F1.
    F(f64),
    /// The same over characters, whatever label and boundaries: redacted characters against gold characters.
    CharactersF(f64),
    /// The share of documents with identifiers in which none leaks, whatever the labels. It does not see what is
    /// redacted in vain.
    Documents,
    /// Precision; without a floor it keeps only the spans on which all members agree, and leaks the rest.
    Precision,
}

/// The minimum recall. Written `characters:0.99`, `spans:0.95`, `documents:0.9`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Floor {
    /// Gold characters that are covered, under any label, and so do not leak.
    Characters(f64),
    /// Gold spans that are found with label, start and end.
    Spans(f64),
    /// Documents with gold spans in which none leaks.
    Documents(f64),
}

/// Why a measure or a floor could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectiveError {
    /// The text is not a measure.
    #[error(
        "`{0}` is not a measure; write `f1`, `f` and another weight of recall above 0, `characters:f1`, `documents`, or `precision`"
    )]
    Measure(String),
    /// The text is not a floor.
    #[error("`{0}` is not a floor; write `characters:`, `spans:` or `documents:` and a share from 0 to 1")]
    Floor(String),
}

impl Default for Measure {
    fn default() -> Self {
        Self::F(1.0)
    }
}

impl Measure {
    /// Returns its value, 0 to 1.
    pub fn of(self, tally: &Tally) -> f64 {
        match self {
            // Integers are kept until the last division, so that equal ratios are equal.
            Self::F(1.0) => tally.f1(),
            Self::F(beta) => tally.f_beta(beta),
            Self::CharactersF(beta) => tally.character_f_beta(beta),
            Self::Documents => tally.intact_documents(),
            Self::Precision => tally.precision(),
        }
    }
}

impl Floor {
    /// Returns by how much recall falls short; 0 if it does not.
    pub fn shortfall(self, tally: &Tally) -> f64 {
        let (least, recall) = match self {
            Self::Characters(least) => (least, tally.character_recall()),
            Self::Spans(least) => (least, tally.recall()),
            Self::Documents(least) => (least, tally.intact_documents()),
        };
        (least - recall).max(0.0)
    }
}

impl Objective {
    /// Returns the standing of a set of members.
    pub fn standing(&self, tally: &Tally, cost: f64, members: u32) -> Standing {
        Standing {
            excess: self.ceiling.map_or(0.0, |most| (cost - most).max(0.0)),
            shortfall: self.floor.map_or(0.0, |floor| floor.shortfall(tally)),
            value: self.measure.of(tally),
            cost,
            members,
        }
    }
}

/// The standing of a set of members under an objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// µs per token above the ceiling; 0 if within it.
    pub excess: f64,
    /// The recall missing to the floor; 0 if it is met.
    pub shortfall: f64,
    /// The value of the measure.
    pub value: f64,
    /// µs per token.
    pub cost: f64,
    /// The number of members.
    pub members: u32,
}

impl Standing {
    /// Returns whether both bounds are met.
    pub fn meets(&self) -> bool {
        self.excess == 0.0 && self.shortfall == 0.0
    }

    /// Compares standings; the greater is better: less excess over the ceiling, then less shortfall from the
    /// floor, then the higher measure, then the lower cost, then fewer members.
    pub fn total_cmp(&self, other: &Self) -> Ordering {
        other
            .excess
            .total_cmp(&self.excess)
            .then(other.shortfall.total_cmp(&self.shortfall))
            .then(self.value.total_cmp(&other.value))
            .then(other.cost.total_cmp(&self.cost))
            .then(other.members.cmp(&self.members))
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F(beta) => write!(f, "f{beta}"),
            Self::CharactersF(beta) => write!(f, "characters:f{beta}"),
            Self::Documents => f.write_str("documents"),
            Self::Precision => f.write_str("precision"),
        }
    }
}

impl FromStr for Measure {
    type Err = ObjectiveError;

    fn from_str(written: &str) -> Result<Self, ObjectiveError> {
        match written {
            "precision" => return Ok(Self::Precision),
            "documents" => return Ok(Self::Documents),
            _ => {}
        }
        let (of, figure): (fn(f64) -> Self, _) = match written.strip_prefix("characters:") {
            Some(figure) => (Self::CharactersF, figure),
            None => (Self::F, written),
        };
        let beta = figure.strip_prefix(['f', 'F']).and_then(|beta| beta.parse().ok());
        beta.filter(|beta: &f64| beta.is_finite() && *beta > 0.0)
            .map(of)
            .ok_or_else(|| ObjectiveError::Measure(written.to_owned()))
    }
}

impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Characters(least) => write!(f, "characters:{least}"),
            Self::Spans(least) => write!(f, "spans:{least}"),
            Self::Documents(least) => write!(f, "documents:{least}"),
        }
    }
}

impl FromStr for Floor {
    type Err = ObjectiveError;

    fn from_str(written: &str) -> Result<Self, ObjectiveError> {
        let wrong = || ObjectiveError::Floor(written.to_owned());
        let (of, least) = written.split_once(':').ok_or_else(wrong)?;
        let least: f64 = least.parse().map_err(|_| wrong())?;
        match of {
            _ if !(0.0..=1.0).contains(&least) => Err(wrong()),
            "characters" => Ok(Self::Characters(least)),
            "spans" => Ok(Self::Spans(least)),
            "documents" => Ok(Self::Documents(least)),
            _ => Err(wrong()),
        }
    }
}

impl TryFrom<String> for Measure {
    type Error = ObjectiveError;

    fn try_from(written: String) -> Result<Self, ObjectiveError> {
        written.parse()
    }
}

impl From<Measure> for String {
    fn from(measure: Measure) -> Self {
        measure.to_string()
    }
}

impl TryFrom<String> for Floor {
    type Error = ObjectiveError;

    fn try_from(written: String) -> Result<Self, ObjectiveError> {
        written.parse()
    }
}

impl From<Floor> for String {
    fn from(floor: Floor) -> Self {
        floor.to_string()
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.measure)?;
        if let Some(floor) = self.floor {
            write!(f, " with recall of {floor}")?;
        }
        if let Some(ceiling) = self.ceiling {
            write!(f, " at {ceiling} µs per token or less")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(hits: u64, predicted: u64, covered: u64) -> Tally {
        Tally {
            hits,
            predicted,
            gold: 10,
            covered,
            marked: 100,
            characters: 100,
            documents: 10,
            intact: hits,
        }
    }

    #[test]
    fn a_floor_comes_before_the_measure_and_a_ceiling_before_the_floor() {
        let objective = Objective {
            measure: Measure::Precision,
            floor: Some(Floor::Characters(0.9)),
            ceiling: Some(5.0),
        };
        let cheap_and_leaky = objective.standing(&tally(5, 5, 50), 5.0, 2);
        let less_leaky = objective.standing(&tally(5, 9, 80), 5.0, 2);
        let sound = objective.standing(&tally(5, 9, 90), 5.0, 2);
        let dear = objective.standing(&tally(9, 9, 99), 5.5, 2);
        let order = [dear, cheap_and_leaky, less_leaky, sound];
        for two in order.windows(2) {
            assert_eq!(two[0].total_cmp(&two[1]), Ordering::Less, "{two:?}");
        }
        assert_eq!(
            order.map(|standing| standing.meets()),
            [false, false, false, true]
        );
    }

    #[test]
    fn of_equal_measures_the_cheaper_wins_and_then_the_one_with_fewer_members() {
        let standing = |cost, members| Objective::default().standing(&tally(5, 5, 50), cost, members);
        assert_eq!(standing(3.0, 4).total_cmp(&standing(4.0, 2)), Ordering::Greater);
        assert_eq!(standing(3.0, 2).total_cmp(&standing(3.0, 4)), Ordering::Greater);
    }

    #[test]
    fn measures_and_floors_are_read_as_they_are_written_and_nonsense_is_refused() {
        for written in ["f1", "f2", "f0.5", "documents", "precision"] {
            assert_eq!(written.parse::<Measure>().unwrap().to_string(), written);
        }
        for written in ["characters:0.99", "spans:1", "documents:0.9"] {
            assert_eq!(written.parse::<Floor>().unwrap().to_string(), written);
        }
        for wrong in ["", "f", "f0", "f-1", "fnan", "recall"] {
            assert!(wrong.parse::<Measure>().is_err(), "{wrong}");
        }
        for wrong in ["0.9", "characters", "characters:2", "words:0.5", "spans:NaN"] {
            assert!(wrong.parse::<Floor>().is_err(), "{wrong}");
        }
    }
}
