//! Weaker protection that a configuration must ask for by name, so that no setting opens a hole in silence. What was asked for
//! stands in the footer of every file.

use serde::{Deserialize, Serialize};

use super::Fingerprints;

/// Weaker protection that a configuration acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Acknowledgement {
    /// The rule members alone decide, in the place of the built-in bundle.
    RulesOnly,
    /// Nothing decides: notes come out as they went in.
    NotRedacted,
    /// The dataset goes on under a policy that protects less than that of its last file.
    WeakerMode,
    /// Codes, surrogates and shifted dates differ from those of the dataset's earlier files.
    NewSurrogates,
}

impl Acknowledgement {
    /// The name as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RulesOnly => "rules-only",
            Self::NotRedacted => "not-redacted",
            Self::WeakerMode => "weaker-mode",
            Self::NewSurrogates => "new-surrogates",
        }
    }

    /// Several as a footer has them: sorted, each once, with commas between. `None` if there are none.
    pub fn written(several: &[Self]) -> Option<String> {
        let mut several = several.to_vec();
        several.sort_unstable();
        several.dedup();
        let names: Vec<_> = several.into_iter().map(Self::name).collect();
        (!names.is_empty()).then(|| names.join(","))
    }

    /// Whether it is among those of a footer.
    pub fn is_in(self, fingerprints: &Fingerprints) -> bool {
        let written = fingerprints.acknowledged.as_deref().unwrap_or_default();
        written.split(',').any(|name| name == self.name())
    }
}

/// How much a mode of 45 CFR 164.514 takes away: the more the higher.
pub(super) fn strictness(mode: Option<&str>) -> u8 {
    match mode {
        Some("safe-harbor") => 3,
        Some("limited-data-set") => 2,
        Some("expert-determination") => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_are_written_sorted_and_found_again() {
        use Acknowledgement::{NotRedacted, RulesOnly, WeakerMode};
        let acknowledged = Acknowledgement::written(&[WeakerMode, RulesOnly, WeakerMode]);
        assert_eq!(acknowledged.as_deref(), Some("rules-only,weaker-mode"));
        let fingerprints = Fingerprints {
            acknowledged,
            ..Fingerprints::default()
        };
        assert!(WeakerMode.is_in(&fingerprints) && !NotRedacted.is_in(&fingerprints));
        assert_eq!(Acknowledgement::written(&[]), None);
    }
}
