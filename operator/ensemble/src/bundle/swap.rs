//! Makes a bundle from another by replacing trained members, for example by fine-tuned ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_dictionaries::Dictionary;
use lethe_learn::{Manifest, ManifestError};

use super::write::{MEMBERS, copy_model};
use super::{Bundle, BundleError, BundleManifest, MANIFEST, Part, Rule, io};
use crate::SIGNATURE;

/// Why members of a bundle cannot be replaced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SwapError {
    /// The bundle, or the one that would result, cannot be used.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The new member's folder holds no model.
    #[error(transparent)]
    Model(#[from] ManifestError),
    /// The bundle has no such member.
    #[error("there is no member `{name}`; replace one of {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The trained members of the bundle.
        known: Vec<String>,
    },
    /// The new model cannot predict what the old one can.
    #[error("the new `{name}` cannot predict {}, which the old one can, so that the bundle would miss them; train it on documents that have these labels", labels.join(", "))]
    Labels {
        /// The member.
        name: String,
        /// The labels.
        labels: Vec<String>,
    },
    /// The combiner was fitted to the scores of the old member.
    #[error(
        "the combiner `{kind}` was fitted to the scores of the old `{name}`, and is unreliable with another member; fit a new bundle with `lethe ensemble fit`, or accept it with --keep-combiner"
    )]
    Fitted {
        /// The member.
        name: String,
        /// The combiner.
        kind: String,
    },
}

/// Writes a new bundle to `out`: that of `base` with the models of some members replaced, by name. Copies the
/// other members and the combination unchanged, and drops the measurements, which do not hold for it.
///
/// The manifest names the digest of the old bundle, and each new member that of the one it replaced.
///
/// # Errors
/// [`SwapError`]. A fitted combiner is refused unless `keep_combiner` accepts it.
pub fn swap(
    base: &Path,
    members: &[(String, PathBuf)],
    keep_combiner: bool,
    out: &Path,
    dictionary: &Arc<Dictionary>,
) -> Result<BundleManifest, SwapError> {
    // Replaces no member of a damaged bundle.
    let mut manifest = Bundle::open(base, dictionary)?.manifest;
    let parent = manifest.digest();
    for (name, folder) in members {
        let model = Manifest::read(folder)?;
        let part = manifest.part(name)?;
        let old = Manifest::read(&model_of(base, part)?)?;
        let missing = |label: &&String| !model.tags.labels().contains(label);
        let labels: Vec<String> = old.tags.labels().iter().filter(missing).cloned().collect();
        if !labels.is_empty() {
            return Err(SwapError::Labels {
                name: name.clone(),
                labels,
            });
        }
    }
    if let (Rule::Fitted { kind, .. }, Some((name, _)), false) =
        (&manifest.combine, members.first(), keep_combiner)
    {
        return Err(SwapError::Fitted {
            name: name.clone(),
            kind: kind.clone(),
        });
    }
    Bundle::export(base, out)?;
    let done = replace(&mut manifest, members, parent, out)
        .and_then(|()| Ok(Bundle::open(out, dictionary)?.manifest));
    if done.is_err() {
        // A bundle that cannot be opened is removed; its folder has only files that were just written.
        std::fs::remove_dir_all(out).ok();
    }
    done
}

fn replace(
    manifest: &mut BundleManifest,
    members: &[(String, PathBuf)],
    parent: String,
    out: &Path,
) -> Result<(), SwapError> {
    // The signature is that of the old manifest. Without a manifest the folder is no bundle until it is
    // complete.
    for name in [MANIFEST, SIGNATURE] {
        let path = out.join(name);
        if path.exists() {
            std::fs::remove_file(&path).map_err(|source| io(&path, source))?;
        }
    }
    for (name, folder) in members {
        let part = manifest.part(name)?;
        let place = out.join(MEMBERS).join(name);
        if place.exists() {
            std::fs::remove_dir_all(&place).map_err(|source| io(&place, source))?;
        }
        copy_model(folder, &place)?;
        *part = Part {
            digest: Some(Manifest::read(&place)?.digest()),
            replaces: part.digest.take(),
            ..Part::model(name)
        };
    }
    manifest.parent = Some(parent);
    manifest.measured.clear();
    manifest.save(out)?;
    Ok(())
}

/// Returns the folder of a model in its bundle's folder.
fn model_of(bundle: &Path, part: &Part) -> Result<PathBuf, SwapError> {
    let folder = match crate::Versions::of(bundle) {
        Some(versions) => versions.path(&versions.current()?),
        None => bundle.to_owned(),
    };
    let path = part.member.get("path").and_then(toml::Value::as_str);
    Ok(folder.join(path.unwrap_or_default()))
}

impl BundleManifest {
    /// Returns the names of the members that are trained models, which can be replaced.
    pub fn models(&self) -> Vec<String> {
        let models = self.members.iter().filter(|part| part.is_model());
        models.map(|part| part.name.clone()).collect()
    }

    /// Returns the folder of a trained member of this bundle, which was read from `bundle`.
    ///
    /// # Errors
    /// [`SwapError::Unknown`] if it has no such member.
    pub fn model_folder(&self, bundle: &Path, name: &str) -> Result<PathBuf, SwapError> {
        model_of(bundle, self.clone().part(name)?)
    }

    /// Finds a trained member by name.
    fn part(&mut self, name: &str) -> Result<&mut Part, SwapError> {
        let known = self.models();
        let mut parts = self.members.iter_mut();
        parts
            .find(|part| part.name == name && part.is_model())
            .ok_or_else(|| SwapError::Unknown {
                name: name.to_owned(),
                known,
            })
    }
}

impl Part {
    /// Returns whether it is a trained model whose name can be that of a folder.
    fn is_model(&self) -> bool {
        let is_plain = Path::new(&self.name)
            .file_name()
            .is_some_and(|file| *file == *self.name);
        is_plain && self.member.get("kind").and_then(toml::Value::as_str) == Some("model")
    }
}
