//! Operating points: how the vote of a bundle weighs recall against precision.

use std::path::Path;

use lethe_core::LabelSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bundle, BundleError, BundleManifest, MANIFEST};

/// How the vote of a bundle weighs recall against precision.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OperatingPoint {
    /// The vote that the bundle was made for: a leak is worse than a word too many.
    #[default]
    Recall,
    /// Fewer words too many, and more leaks.
    Balanced,
    /// As few words too many as its members allow.
    Precision,
}

impl OperatingPoint {
    /// All points, in order.
    pub const ALL: [Self; 3] = [Self::Recall, Self::Balanced, Self::Precision];

    /// Returns whether it is the point of a bundle for which none is named.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the name of the point in manifests, configurations and options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Balanced => "balanced",
            Self::Precision => "precision",
        }
    }
}

impl std::fmt::Display for OperatingPoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for OperatingPoint {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|point| point.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            format!(
                "there is no operating point {name:?}; there are {}",
                names.join(", ")
            )
        })
    }
}

impl BundleManifest {
    /// Returns the operating points that the bundle has.
    pub fn operating_points(&self) -> impl Iterator<Item = OperatingPoint> {
        std::iter::once(OperatingPoint::Recall).chain(self.points.keys().copied())
    }

    /// Returns what tells the bundle's decisions at an operating point apart from all others: its digest, with the point after a
    /// colon unless that is `recall`.
    pub fn digest_at(&self, point: OperatingPoint) -> String {
        if point.is_default() {
            self.digest()
        } else {
            format!("{}:{point}", self.digest())
        }
    }

    /// Refuses points that no vote of these members can have.
    pub(super) fn check_points(&self, labels: &LabelSet, path: &Path) -> Result<(), BundleError> {
        if self.points.contains_key(&OperatingPoint::Recall) {
            return Err(BundleError::Manifest {
                path: path.to_owned(),
                message: "key `points.recall`: is what `combine` has; leave it out".to_owned(),
            });
        }
        for (point, vote) in &self.points {
            self.vote(vote, labels, path, &format!("points.{point}"))?;
        }
        Ok(())
    }
}

impl Bundle {
    /// Lets the vote of an operating point decide.
    ///
    /// # Errors
    /// [`BundleError::Point`] if the bundle does not have it.
    pub fn at(mut self, point: OperatingPoint, folder: &Path) -> Result<Self, BundleError> {
        if point.is_default() {
            return Ok(self);
        }
        let path = folder.join(MANIFEST);
        let Some(vote) = self.manifest.points.get(&point) else {
            let has = self.manifest.operating_points().map(OperatingPoint::name);
            return Err(BundleError::Point {
                path,
                point,
                has: has.collect::<Vec<_>>().join(", "),
            });
        };
        let key = format!("points.{point}");
        self.combiner = self.manifest.vote(vote, &self.labels, &path, &key)?;
        Ok(self)
    }
}
