//! What the learners of margins share, `mira` and `ssvm`: both correct the weights by one stretch of tokens at a time, as
//! far as its gold path falls short of the worst other one, and differ in how.

use lethe_learn::Scheme;
use serde::{Deserialize, Serialize};

/// Passes between two states on disk.
pub(crate) const SAVED_EVERY: u32 = 2;

/// Settings of `mira` and of `ssvm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How spans are spread over tags.
    pub scheme: Scheme,
    /// Features that fewer tokens have are left out.
    pub cut_off: u32,
    /// How far one stretch may pull: the largest factor of a correction for `mira` (Kim 2020, table 3), the price of a
    /// token within the margin for `ssvm`.
    pub c: f64,
    /// Passes at most; `mira` makes fewer if one finds nothing to correct.
    pub epochs: u32,
    /// About how many tokens a stretch has.
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
