//! Weaker protection, which a configuration must acknowledge by name so that no setting weakens it silently.
//! The footer of every file holds the acknowledgements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Fingerprints;

/// Weaker protection that a configuration acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Acknowledgement {
    /// The rule members decide without the built-in bundle.
    RulesOnly,
    /// Notes leave unredacted.
    NotRedacted,
    /// The dataset continues under a policy that protects less than the policy of its last file.
    WeakerMode,
    /// Codes, surrogates and shifted dates differ from those of the dataset's earlier files.
    NewSurrogates,
}

impl Acknowledgement {
    /// Returns the name as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RulesOnly => "rules-only",
            Self::NotRedacted => "not-redacted",
            Self::WeakerMode => "weaker-mode",
            Self::NewSurrogates => "new-surrogates",
        }
    }

    /// Formats acknowledgements for a footer: sorted, unique, separated by commas. `None` if there are none.
    pub fn written(several: &[Self]) -> Option<String> {
        let mut several = several.to_vec();
        several.sort_unstable();
        several.dedup();
        let names: Vec<_> = several.into_iter().map(Self::name).collect();
        (!names.is_empty()).then(|| names.join(","))
    }

    /// Returns whether a footer contains it.
    pub fn is_in(self, fingerprints: &Fingerprints) -> bool {
        let written = fingerprints.acknowledged.as_deref().unwrap_or_default();
        written.split(',').any(|name| name == self.name())
    }
}

/// Returns how much a mode of 45 CFR 164.514 removes; a higher number means more.
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
