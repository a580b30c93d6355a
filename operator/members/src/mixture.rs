//! A mixture as a model's folder: two models inside, `first` and `second`, and a manifest with the weight
//! between them and their digests.
//!
//! So two members whose probabilities are mixed (Singh 2020) can be copied, checked by digest and named by a
//! bundle like any model. Their labels may differ: a model gives probability 0 to a label that it does not
//! have.

mod weighted;
mod widened;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_core::{LabelSet, Tagger};
use lethe_dictionaries::Dictionary;
use lethe_learn::{Manifest, Marginals, Training};
use lethe_linear::{Learner, LinearMember};
use lethe_neural::convolution::Convolutional;
use serde::{Deserialize, Serialize};

pub use weighted::{Brier, Probabilistic, Weight, Weighted, WeightedError};
pub use widened::{Widened, together};

use crate::model::{OpenError, convolution, network};

/// The kind in a mixture's manifest.
pub const MIXTURE: &str = "mixture";

/// The subfolders of the two models.
pub const PARTS: [&str; 2] = ["first", "second"];

/// A member that predicts spans and computes tag probabilities.
pub trait Learned: Tagger + Marginals + Send + Sync {}

impl<T: Tagger + Marginals + Send + Sync> Learned for T {}

/// The settings in a mixture's manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The first model's weight, 0 to 1; the second has the rest.
    weight: f64,
    /// The [`Manifest::digest`] of the first model.
    first: String,
    /// The same of the second model.
    second: String,
}

/// Why a mixture's folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MixtureError {
    /// The manifest does not describe a mixture.
    #[error("{}: {message}", folder.display())]
    Settings {
        /// The mixture's folder.
        folder: PathBuf,
        /// The parser's message.
        message: String,
    },
    /// A model inside differs from the one that was mixed.
    #[error("{}: its digest is not the one in the mixture's manifest: it was altered; copy the folder again or create the mixture again", folder.display())]
    Digest {
        /// The model's folder.
        folder: PathBuf,
    },
    /// The models cannot be mixed.
    #[error("{}: {source}", folder.display())]
    Weighted {
        /// The mixture's folder.
        folder: PathBuf,
        /// The reason.
        source: WeightedError,
    },
    /// Their tags differ: one has parts of spans that the common tags lack.
    #[error("{}: the tags in the manifest are not those that its two models have in common", folder.display())]
    Tags {
        /// The mixture's folder.
        folder: PathBuf,
    },
}

/// Turns a folder with two models, `first` and `second`, into a mixture by writing its manifest.
///
/// # Errors
/// [`OpenError::Manifest`] for either model's manifest or the mixture's; [`MixtureError::Weighted`] for an
/// invalid weight.
pub fn write(folder: &Path, weight: f64, training: Training) -> Result<Manifest, OpenError> {
    if !(0.0..=1.0).contains(&weight) {
        return Err(OpenError::Mixture(MixtureError::Weighted {
            folder: folder.to_owned(),
            source: WeightedError::Weight(weight),
        }));
    }
    let [first, second] = PARTS.map(|part| Manifest::read(&folder.join(part)));
    let (first, second) = (first?, second?);
    let settings = Settings {
        weight,
        first: first.digest(),
        second: second.digest(),
    };
    let refused = |error: toml::ser::Error| MixtureError::Settings {
        folder: folder.to_owned(),
        message: error.to_string(),
    };
    let settings = toml::Table::try_from(settings).map_err(refused)?;
    let tags = together(&first.tags, &second.tags);
    let mut manifest = Manifest::new(MIXTURE, tags, training, settings);
    manifest.write(folder, &[])?;
    Ok(manifest)
}

/// Opens a mixture whose manifest was read.
pub(crate) fn open(
    folder: &Path,
    manifest: &Manifest,
    name: &str,
    labels: &LabelSet,
    dictionary: &Arc<Dictionary>,
) -> Result<Weighted, OpenError> {
    let settings: Settings =
        toml::Value::Table(manifest.settings.clone())
            .try_into()
            .map_err(|error: toml::de::Error| MixtureError::Settings {
                folder: folder.to_owned(),
                message: error.message().to_owned(),
            })?;
    let part = |part: &str, digest: &str| -> Result<Probabilistic, OpenError> {
        let inside = folder.join(part);
        let page = Manifest::read(&inside)?;
        if page.digest() != digest {
            return Err(MixtureError::Digest { folder: inside }.into());
        }
        let member = learned(&inside, labels, dictionary)?;
        let wide = Widened::new(member as _, &manifest.tags).ok_or_else(|| MixtureError::Tags {
            folder: folder.to_owned(),
        })?;
        Ok(Arc::new(wide))
    };
    let [first, second] = PARTS;
    let weight = Weight {
        first: first.to_owned(),
        second: second.to_owned(),
        weight: settings.weight,
    };
    let members = (part(first, &settings.first)?, part(second, &settings.second)?);
    let mixed = Weighted::new(name, members.0, members.1, &weight, labels);
    mixed.map_err(|source| {
        let folder = folder.to_owned();
        MixtureError::Weighted { folder, source }.into()
    })
}

/// Opens any model's folder as a member that computes tag probabilities, under the engine's labels.
///
/// # Errors
/// [`OpenError`], naming the folder or file.
pub fn learned(
    folder: &Path,
    labels: &LabelSet,
    dictionary: &Arc<Dictionary>,
) -> Result<Arc<dyn Learned>, OpenError> {
    let manifest = Manifest::read(folder)?;
    if manifest.kind == MIXTURE {
        return Ok(Arc::new(open(folder, &manifest, MIXTURE, labels, dictionary)?));
    }
    if Learner::KINDS.contains(&manifest.kind.as_str()) {
        return Ok(Arc::new(LinearMember::open(folder, labels, dictionary)?));
    }
    if manifest.kind == Convolutional::KIND {
        return Ok(Arc::new(convolution(folder, &manifest.kind, labels)?));
    }
    Ok(Arc::new(network(
        folder,
        &manifest,
        &manifest.kind,
        labels,
        dictionary,
    )?))
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;
    use lethe_dictionaries::LazyDictionary;
    use lethe_learn::NoObserver;

    use super::*;
    use crate::training::tests::{documents, job};
    use crate::{ModelConfig, open, predict, train};

    /// Returns a mixture of a CRF of names and dates with naive Bayes of names alone.
    fn mixed(folder: &Path, weight: f64) -> Manifest {
        let documents = documents();
        let mut names = documents.clone();
        names
            .iter_mut()
            .for_each(|document| document.marks.retain(|mark| mark.label == "NAME"));
        train(&job("crf", &documents, &folder.join("first")), &mut NoObserver).unwrap();
        train(
            &job("naive-bayes", &names, &folder.join("second")),
            &mut NoObserver,
        )
        .unwrap();
        write(folder, weight, Training::default()).unwrap()
    }

    #[test]
    fn a_mixture_opens_as_any_model_does_and_says_what_its_weight_says() {
        let (documents, folder) = (documents(), tempfile::tempdir().unwrap());
        let first = folder.path().join("first");
        let page = mixed(folder.path(), 1.0);
        assert_eq!(page.tags.labels(), ["DATE", "NAME"]);
        let model = open(folder.path(), None, &LazyDictionary::Builtin).unwrap();
        assert_eq!(model.member.name(), MIXTURE);
        let alone = open(&first, Some(&model.labels), &LazyDictionary::Builtin).unwrap();
        let marks = |member: &dyn Tagger| -> Vec<Vec<(usize, String)>> {
            let predicted = predict(member, &model.labels, &documents).unwrap().into_iter();
            let each = |mark: lethe_corpus::Mark| (mark.span.start(), mark.label);
            predicted
                .map(|document| document.marks.into_iter().map(each).collect())
                .collect()
        };
        let predictions = marks(model.member.as_ref());
        assert_eq!(
            predictions,
            marks(alone.member.as_ref()),
            "all the weight is the first's"
        );
        // With weight 0 it is naive Bayes, which has no dates.
        let other = write(folder.path(), 0.0, Training::default()).unwrap();
        assert_ne!(other.digest(), page.digest());
        let model = ModelConfig {
            path: folder.path().to_owned(),
            name: Some("both".to_owned()),
        };
        let member = model.build(
            &LabelSet::of_names("x", &["NAME", "DATE"].map(str::to_owned)).unwrap(),
            &LazyDictionary::Builtin,
        );
        let member = member.unwrap();
        assert_eq!(member.name(), "both");
        let batch = NoteBatch::from_texts([documents[0].text.as_str()]).unwrap();
        assert_eq!(member.tag(&batch)[0].as_ref().unwrap().len(), 1);
    }

    #[test]
    fn a_mixture_of_a_mixture_opens_too() {
        let folder = tempfile::tempdir().unwrap();
        mixed(&folder.path().join("first"), 0.5);
        let bayes = folder.path().join("second");
        train(&job("naive-bayes", &documents(), &bayes), &mut NoObserver).unwrap();
        write(folder.path(), 0.5, Training::default()).unwrap();
        let model = open(folder.path(), None, &LazyDictionary::Builtin).unwrap();
        let found = predict(model.member.as_ref(), &model.labels, &documents()).unwrap();
        assert_eq!(found[0].marks.len(), 2);
    }

    #[test]
    fn a_mixture_whose_models_or_page_were_altered_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        mixed(folder.path(), 0.5);
        let refused = |expected: &str| {
            let message = open(folder.path(), None, &LazyDictionary::Builtin)
                .map(drop)
                .unwrap_err()
                .to_string();
            assert!(message.contains(expected), "{message}");
        };
        let page = folder.path().join("member.toml");
        let good = std::fs::read_to_string(&page).unwrap();
        std::fs::write(&page, good.replace("weight = 0.5", "weight = 1.5")).unwrap();
        refused("the weight 1.5");
        std::fs::write(&page, good.replace("weight = 0.5", "heft = 0.5")).unwrap();
        refused("heft");
        std::fs::write(&page, good).unwrap();
        // A different model from the one that was mixed.
        let (documents, other) = (documents(), folder.path().join("other"));
        let of_half = job("naive-bayes", &documents[..18], &other);
        train(&of_half, &mut NoObserver).unwrap();
        std::fs::remove_dir_all(folder.path().join("second")).unwrap();
        std::fs::rename(&other, folder.path().join("second")).unwrap();
        refused("second: its digest is not the one in the mixture's manifest");
        assert!(write(folder.path(), -0.1, Training::default()).is_err());
    }
}
