//! The recall that was measured for a bundle, from its `bundle.toml`.

use std::path::Path;

use lethe_ensemble::{BundleManifest, Versions};

use super::Section;

/// Looks for bundles by their digests: the built-in ones, and one that the user names.
pub(crate) struct Bundles {
    known: Vec<BundleManifest>,
}

impl Bundles {
    /// Reads the manifests of the built-in bundles, and of a further bundle or of all versions in its folder.
    ///
    /// # Errors
    /// If the further one cannot be read.
    pub(crate) fn read(further: Option<&Path>) -> anyhow::Result<Self> {
        let shipped = lethe_bundles::names().filter_map(lethe_bundles::folder);
        let mut known: Vec<BundleManifest> = shipped
            .filter_map(|folder| BundleManifest::read(&folder).ok())
            .collect();
        if let Some(folder) = further {
            match Versions::of(folder) {
                Some(versions) => {
                    for name in versions.names()? {
                        known.push(BundleManifest::read(&versions.path(&name))?);
                    }
                }
                None => known.push(BundleManifest::read(folder)?),
            }
        }
        Ok(Self { known })
    }

    /// Returns the section about the recall of the bundle with this digest.
    pub(super) fn section(&self, digest: Option<&str>, title: &str) -> Section {
        let section = Section::new(title);
        let Some(digest) = digest else {
            return section.say(
                "No bundle was used, so that no recall was measured for these members together; measure it with `lethe evaluate`.",
            );
        };
        let used = |one: &&BundleManifest| {
            let mut points = one.operating_points();
            points.any(|point| one.digest_at(point) == digest)
        };
        let Some(manifest) = self.known.iter().find(used) else {
            return section.say(
                "The measurements are in the bundle's own bundle.toml, which is not at hand; name the bundle with --bundle.",
            );
        };
        let measured = manifest.measured.iter();
        let measured: Vec<_> = measured
            .filter(|measured| manifest.digest_at(measured.point) == digest)
            .collect();
        if measured.is_empty() {
            return section
                .say("The bundle's bundle.toml holds no measurement; measure it with `lethe evaluate`.");
        }
        let mut section = section
            .say("Recall is the share of the characters of annotated identifiers that the bundle redacted; strict F1 counts only spans with the right label, start and end. The intervals are 95 %, over documents.")
            .say("These figures hold for the data that the table names, and not for this dataset.")
            .header(&["data", "documents", "recall", "95 % CI", "strict F1", "95 % CI"]);
        for measured in measured {
            let [recall, low, high] = measured.recall.map(|share| format!("{:.2} %", 100.0 * share));
            let [f1, least, most] = measured.f1.map(|share| format!("{:.2} %", 100.0 * share));
            section.row([
                measured.on.clone(),
                measured.documents.to_string(),
                recall,
                format!("{low} to {high}"),
                f1,
                format!("{least} to {most}"),
            ]);
        }
        section
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_in_bundles_recall_is_named_with_its_data() {
        let bundles = Bundles::read(None).unwrap();
        let folder = lethe_bundles::folder(lethe_bundles::DEFAULT).unwrap();
        let manifest = BundleManifest::read(&folder).unwrap();
        let section = bundles.section(Some(&manifest.digest()), "Measured recall");
        let measured = &manifest.measured[0];
        assert_eq!(section.rows[0][0], measured.on);
        assert_eq!(section.rows[0][1], measured.documents.to_string());
        assert_eq!(section.rows[0][2], format!("{:.2} %", 100.0 * measured.recall[0]));
    }

    #[test]
    fn a_bundle_that_is_not_at_hand_is_looked_for_where_the_user_says() {
        let bundles = Bundles::read(None).unwrap();
        for digest in [None, Some("0123")] {
            let section = bundles.section(digest, "Measured recall");
            assert!(section.rows.is_empty() && !section.text.is_empty());
        }
        assert!(Bundles::read(Some(Path::new("/nowhere"))).is_err());
    }
}
