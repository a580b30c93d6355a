//! The bundle that corrections make from the base: the same members and the same vote, with one member mixed
//! with naive Bayes, and with phrases that are redacted regardless of the vote.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use lethe_core::LabelSet;
use lethe_dictionaries::Dictionary;
use lethe_ensemble::{BundleManifest, Part, Rule};
use lethe_learn::{Manifest, Training};
use lethe_linear::pos::PosTagger;
use lethe_linear::{Bayes, FeatureConfig};
use lethe_members::mixture::{self, MIXTURE, PARTS, learned};
use lethe_members::{Learned, OpenError};

use super::CorrectionsError;
use super::journal::io;

/// The name of the phrases' file in a bundle, without its extension.
const PHRASES: &str = "phrases";
/// Kinds of models whose probabilities can be mixed; margins mix badly.
const PROBABILISTIC: [&str; 5] = ["crf", "memm", "naive-bayes", "cnn", MIXTURE];

/// The member of a bundle that naive Bayes is mixed with.
pub(super) struct FirstMember {
    pub(super) name: String,
    pub(super) member: Arc<dyn Learned>,
    /// Its features. Naive Bayes uses the same, so that the stream computes them once.
    pub(super) features: FeatureConfig,
}

impl FirstMember {
    /// Finds the member of this name; without a name, the only one whose probabilities can be mixed, or
    /// `None` if no member can be mixed.
    ///
    /// # Errors
    /// [`CorrectionsError::First`], which names the possible members.
    pub(super) fn of(
        folder: &Path,
        bundle_manifest: &BundleManifest,
        wanted: Option<&str>,
        labels: &LabelSet,
        dictionary: &Arc<Dictionary>,
    ) -> Result<Option<Self>, CorrectionsError> {
        let mut models = Vec::new();
        for part in &bundle_manifest.members {
            if let Some(path) = place(part).filter(|_| is_model(part)) {
                let kind = Manifest::read(&folder.join(&path)).map_err(OpenError::from)?.kind;
                models.push((part.name.as_str(), path, kind));
            }
        }
        let mixes = models
            .iter()
            .filter(|(_, _, kind)| PROBABILISTIC.contains(&kind.as_str()));
        let names: Vec<&str> = mixes.clone().map(|(name, ..)| *name).collect();
        let first = |problem: String| CorrectionsError::First { problem };
        let found = match wanted {
            Some(name) => {
                let found = models.iter().find(|(one, ..)| *one == name).ok_or_else(|| {
                    let all: Vec<&str> = models.iter().map(|(name, ..)| *name).collect();
                    first(format!(
                        "the bundle has no trained member `{name}`; choose one of {}",
                        listed(&all)
                    ))
                })?;
                Some(found)
            }
            None if names.len() > 1 => {
                return Err(first(format!(
                    "several members of the bundle can be mixed with naive Bayes; choose one of {}",
                    listed(&names)
                )));
            }
            None => mixes.clone().next(),
        };
        let Some((name, path, _)) = found else {
            return Ok(None);
        };
        let path = folder.join(path);
        let manifest = Manifest::read(&path).map_err(OpenError::from)?;
        if let Some(label) = manifest
            .tags
            .labels()
            .iter()
            .find(|label| labels.by_name(label).is_none())
        {
            return Err(first(format!(
                "member `{name}` has a label `{label}` that is not in the bundle's label set; choose another member"
            )));
        }
        Ok(Some(Self {
            name: (*name).to_owned(),
            member: learned(&path, labels, dictionary)?,
            features: features(&path, &manifest)?,
        }))
    }
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

fn is_model(part: &Part) -> bool {
    part.member.get("kind").and_then(toml::Value::as_str) == Some("model")
}

/// Returns the path of a member's model within the bundle, if it lies there.
fn place(part: &Part) -> Option<PathBuf> {
    let path = Path::new(part.member.get("path")?.as_str()?);
    let inside = path.components().all(|one| matches!(one, Component::Normal(_)));
    inside.then(|| path.to_owned())
}

/// Returns the features of a linear model, for a mixture those of its first; the default ones for any other
/// model.
fn features(folder: &Path, manifest: &Manifest) -> Result<FeatureConfig, CorrectionsError> {
    if manifest.kind == MIXTURE {
        let inside = folder.join(PARTS[0]);
        let manifest = Manifest::read(&inside).map_err(OpenError::from)?;
        return features(&inside, &manifest);
    }
    let settings = manifest.settings.get("features").cloned();
    let Some(Ok(config)) = settings.map(toml::Value::try_into::<FeatureConfig>) else {
        return Ok(FeatureConfig::default());
    };
    let Some(file) = &config.pos else {
        return Ok(config);
    };
    let bytes = manifest.file(folder, file).map_err(OpenError::from)?;
    match PosTagger::from_bytes(&bytes) {
        Ok(tagger) => Ok(config.with_tagger(Arc::new(tagger))),
        // The member itself could not be opened with invalid features.
        Err(_) => Ok(FeatureConfig::default()),
    }
}

/// The parts of a corrected bundle.
pub(super) struct CandidateSpec<'r> {
    /// The base's folder.
    pub(super) base: &'r Path,
    /// The mixed member, its weight, and naive Bayes.
    pub(super) mixed: Option<(&'r str, f64, &'r Bayes)>,
    /// The compiled phrases.
    pub(super) phrases: Option<&'r [u8]>,
    pub(super) dictionary: &'r Arc<Dictionary>,
    pub(super) seed: u64,
}

impl CandidateSpec<'_> {
    /// Writes the bundle's folder and replaces any earlier one.
    ///
    /// # Errors
    /// [`CorrectionsError`].
    pub(super) fn write(&self, folder: &Path) -> Result<BundleManifest, CorrectionsError> {
        clear(folder)?;
        copy(self.base, folder)?;
        let mut bundle_manifest = BundleManifest::read(self.base)?;
        bundle_manifest.corrects = Some(bundle_manifest.digest());
        // The measures apply to the base.
        bundle_manifest.measured.clear();
        if let Some((name, weight, bayes)) = self.mixed {
            self.mix(folder, &mut bundle_manifest, name, weight, bayes)?;
        }
        if let Some(bytes) = self.phrases {
            self.add_phrases(folder, &mut bundle_manifest, bytes)?;
        }
        bundle_manifest.write(folder, |_| None)?;
        Ok(bundle_manifest)
    }

    fn mix(
        &self,
        folder: &Path,
        bundle_manifest: &mut BundleManifest,
        name: &str,
        weight: f64,
        bayes: &Bayes,
    ) -> Result<(), CorrectionsError> {
        let part = bundle_manifest.members.iter_mut().find(|part| part.name == name);
        let place = part.as_deref().and_then(place);
        let (Some(part), Some(place)) = (part, place) else {
            let problem = format!("the bundle has no trained member `{name}` in its folder");
            return Err(CorrectionsError::First { problem });
        };
        let (path, aside) = (folder.join(place), folder.join(".first"));
        std::fs::rename(&path, &aside).map_err(io(&path))?;
        std::fs::create_dir_all(&path).map_err(io(&path))?;
        let [first, second] = PARTS.map(|part| path.join(part));
        std::fs::rename(&aside, &first).map_err(io(&first))?;
        let mut trained = bayes.trained(None, self.dictionary)?;
        trained.write(&second).map_err(OpenError::from)?;
        let training = Training {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: self.seed,
            data: trained.manifest.training.data.clone(),
            documents: trained.manifest.training.documents,
            ..Training::default()
        };
        mixture::write(&path, weight, training)?;
        // The member's F1 and cost were measured without naive Bayes.
        (part.f1, part.cost) = (None, None);
        Ok(())
    }

    fn add_phrases(
        &self,
        folder: &Path,
        bundle_manifest: &mut BundleManifest,
        bytes: &[u8],
    ) -> Result<(), CorrectionsError> {
        // The base may itself be a corrected bundle, whose names must not collide.
        let free = |name: &String| bundle_manifest.members.iter().all(|part| part.name != *name);
        let names = std::iter::once(PHRASES.to_owned()).chain((2..).map(|n| format!("{PHRASES}-{n}")));
        let name = names.into_iter().find(free).unwrap_or_default();
        let file = format!("{name}.dictionary");
        let path = folder.join(&file);
        std::fs::write(&path, bytes).map_err(io(&path))?;
        let mut part = Part::rule(PHRASES);
        part.name.clone_from(&name);
        part.member.insert("path".to_owned(), file.into());
        part.member.insert("name".to_owned(), name.clone().into());
        bundle_manifest.members.push(part);
        match &mut bundle_manifest.combine {
            Rule::Voting(vote) => vote.union_rules.push(name),
            Rule::Fitted { union_rules, .. } => union_rules.push(name),
            _ => return Err(CorrectionsError::Combiner),
        }
        Ok(())
    }
}

/// Removes a folder if it exists.
pub(super) fn clear(folder: &Path) -> Result<(), CorrectionsError> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io(folder)(error).into()),
        _ => Ok(()),
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), CorrectionsError> {
    super::journal::make_folder(to)?;
    for entry in std::fs::read_dir(from).map_err(io(from))? {
        let entry = entry.map_err(io(from))?;
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &copied)?;
        } else {
            std::fs::copy(&path, &copied).map_err(io(&copied))?;
        }
    }
    Ok(())
}
