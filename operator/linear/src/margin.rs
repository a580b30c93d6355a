//! The code shared by the margin learners, `mira` and `ssvm`: both update the weights after each stretch of
//! tokens by the amount that its gold path falls short of the worst other path; the updates differ.

use lethe_learn::Scheme;
use serde::{Deserialize, Serialize};

/// Passes between two saved states.
pub(crate) const SAVED_EVERY: u32 = 2;

/// Settings of `mira` and of `ssvm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How spans are encoded as tags.
    pub scheme: Scheme,
    /// Features of fewer tokens are left out.
    pub cut_off: u32,
    /// The limit of one stretch's effect: the largest factor of an update for `mira` (Kim 2020, table 3), the
    /// penalty of a token within the margin for `ssvm`.
    pub c: f64,
    /// The maximum number of passes; `mira` stops after a pass without updates.
    pub epochs: u32,
    /// The approximate number of tokens in a stretch.
    pub stretch: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scheme: Scheme::Bio,
            cut_off: 2,
            c: 0.1,
            epochs: 12,
            stretch: 12,
        }
    }
}
