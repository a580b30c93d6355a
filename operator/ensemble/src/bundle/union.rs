//! Rule members next to a bundle: a configuration adds them, and the bundle stays as it is.

use std::sync::Arc;

use lethe_members::registry::{MemberConfig, labels_of};
use lethe_members::union_rules::{UnionError, unite};

use super::Bundle;

impl Bundle {
    /// Adds rule members, whose spans are redacted in addition to the bundle's decisions. The label set gets
    /// `ORIGIN` if one of them finds it. Members, decisions and digest of the bundle stay as they are.
    ///
    /// # Errors
    /// [`UnionError`].
    pub fn with_union_rules(mut self, rules: &[MemberConfig]) -> Result<Self, UnionError> {
        // The bundle's labels keep their ids, so that its members and its combiner work with the larger set.
        let labels = labels_of(&self.labels, rules);
        self.combiner = unite(self.combiner, &mut self.members, rules, &labels, &self.dictionary)?;
        self.labels = Arc::new(labels);
        Ok(self)
    }
}
