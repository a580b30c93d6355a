//! Bundles and models that a user names: a built-in bundle by its name, or a path.

use std::path::{Path, PathBuf};

use lethe_core::nearest;
use lethe_ensemble::{BundleManifest, Versions};
use lethe_members::ModelConfig;
use lethe_members::registry::{MemberConfig, default_rules};

use crate::exit::usage;

/// The file that makes a folder a model.
const MODEL: &str = "member.toml";
/// The file that makes a folder a bundle.
const BUNDLE: &str = "bundle.toml";

/// Returns the folder of a bundle that is named by its name or its path.
///
/// # Errors
/// What there is instead, with the built-in bundle of a similar name.
pub(crate) fn bundle(named: &Path) -> Result<PathBuf, String> {
    if let Some(shipped) = named.to_str().and_then(lethe_bundles::folder) {
        return Ok(shipped);
    }
    if named.exists() {
        return Ok(named.to_owned());
    }
    Err(format!(
        "{}: neither a built-in bundle ({}) nor an existing folder{}",
        named.display(),
        lethe_bundles::names().collect::<Vec<_>>().join(", "),
        similar(named)
    ))
}

/// Returns the question whether the built-in bundle of a similar name was meant, or nothing.
fn similar(named: &Path) -> String {
    (named.file_name())
        .and_then(|name| nearest(name.to_str()?, lethe_bundles::names()))
        .map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// Returns the folder of a bundle that an argument of the command line names.
///
/// # Errors
/// A usage error.
pub(crate) fn bundle_argument(named: &Path) -> anyhow::Result<PathBuf> {
    bundle(named).map_err(usage)
}

/// Returns the folder of a trained model that an argument names: a path, or the member of a bundle as
/// `BUNDLE/MEMBER`. A bundle with one trained member means that member.
///
/// # Errors
/// A usage error that lists the members of the bundle.
pub(crate) fn model_argument(named: &Path) -> anyhow::Result<PathBuf> {
    if named.join(MODEL).is_file() {
        return Ok(named.to_owned());
    }
    let whole = bundle(named).map(|folder| current(&folder));
    if let Ok(folder) = &whole
        && is_file(&folder.join(BUNDLE))
    {
        let members = models(folder);
        return match members.as_slice() {
            [(_, only)] => Ok(only.clone()),
            _ => Err(usage(format!(
                "{}: is a bundle, not a model; name one of its members: {}",
                named.display(),
                listed(named, &members)
            ))),
        };
    }
    if let (Some(parent), Some(name)) = (named.parent(), named.file_name())
        && let Ok(folder) = bundle(parent).map(|folder| current(&folder))
        && is_file(&folder.join(BUNDLE))
    {
        let members = models(&folder);
        let found = members.iter().find(|(member, _)| **member == *name);
        return found.map(|(_, path)| path.clone()).ok_or_else(|| {
            usage(format!(
                "{}: {} is a bundle without this member; name one of {}",
                named.display(),
                parent.display(),
                listed(parent, &members)
            ))
        });
    }
    Err(usage(format!(
        "{}: neither a trained model ({} does not exist) nor a built-in bundle ({}) or a member of one{}",
        named.display(),
        named.join(MODEL).display(),
        lethe_bundles::names().collect::<Vec<_>>().join(", "),
        similar(named)
    )))
}

/// Returns the member that an argument names: a rule by its kind, with its default settings; a TOML file with the
/// keys of a member, as `engine.members` has them; or a trained model, as [`model_argument`].
///
/// # Errors
/// A usage error.
pub(crate) fn member_argument(named: &Path) -> anyhow::Result<MemberConfig> {
    let rules = default_rules();
    let name =
        |config: &MemberConfig| matches!(config, MemberConfig::Rule(rule) if Path::new(rule.name()) == named);
    if let Some(rule) = rules.into_iter().find(name) {
        return Ok(rule);
    }
    if named.extension().is_none_or(|extension| extension != "toml") {
        let path = model_argument(named)?;
        return Ok(MemberConfig::Model(ModelConfig { path, name: None }));
    }
    let refused = |problem: &dyn std::fmt::Display| usage(format!("{}: {problem}", named.display()));
    let text = std::fs::read_to_string(named).map_err(|error| refused(&error))?;
    let mut table: toml::Table = text.parse().map_err(|error| refused(&error))?;
    // A path is relative to the file, as in a configuration.
    if let (Some(toml::Value::String(path)), Some(folder)) = (table.get_mut("path"), named.parent()) {
        *path = folder.join(&*path).to_string_lossy().into_owned();
    }
    table
        .try_into()
        .map_err(|error: toml::de::Error| refused(&error.message()))
}

/// Returns the current version of a folder of versions, and any other folder unchanged.
fn current(folder: &Path) -> PathBuf {
    Versions::of(folder)
        .and_then(|versions| Some(versions.path(&versions.current().ok()?)))
        .unwrap_or_else(|| folder.to_owned())
}

fn is_file(path: &Path) -> bool {
    path.is_file() || lethe_bundles::file(path).is_some()
}

/// Returns the trained members of a bundle with their folders; none if it cannot be read.
pub(crate) fn models(folder: &Path) -> Vec<(String, PathBuf)> {
    let folder = &current(folder);
    let manifest = BundleManifest::read(folder).ok();
    let parts = manifest.into_iter().flat_map(|manifest| manifest.members);
    parts
        .filter_map(|part| {
            let path = folder.join(part.member.get("path")?.as_str()?);
            is_file(&path.join(MODEL)).then_some((part.name, path))
        })
        .collect()
}

fn listed(bundle: &Path, members: &[(String, PathBuf)]) -> String {
    let one = |(name, _): &(String, PathBuf)| bundle.join(name).display().to_string();
    members.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_built_in_bundle_and_anything_else_a_path() {
        let shipped = bundle(Path::new("en-clinical")).unwrap();
        assert!(lethe_bundles::is_shipped(&shipped));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(bundle(folder.path()), Ok(folder.path().to_owned()));
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_names_that_exist() {
        let why = bundle(Path::new("conf/en-clincal")).unwrap_err();
        assert_eq!(
            why,
            "conf/en-clincal: neither a built-in bundle (en-clinical, en-fast) nor an existing folder; did you mean `en-clinical`?"
        );
        let why = bundle(Path::new("elsewhere")).unwrap_err();
        assert!(!why.contains("did you mean"), "{why}");
    }

    #[test]
    fn a_member_of_a_built_in_bundle_is_a_model() {
        for named in ["en-clinical/ssvm", "en-fast/ssvm", "en-fast"] {
            let folder = model_argument(Path::new(named)).unwrap();
            assert!(lethe_learn::Manifest::read(&folder).is_ok(), "{named}");
        }
    }

    #[test]
    fn a_member_is_named_by_its_kind_by_a_file_or_by_its_model() {
        let rule = member_argument(Path::new("gazetteer")).unwrap();
        assert!(rule.path().is_none());
        let model = member_argument(Path::new("en-fast/ssvm")).unwrap();
        assert!(model.path().is_some_and(|path| path.ends_with("ssvm")));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wards.toml");
        std::fs::write(&file, "kind = \"phrases\"\npath = \"wards.dict\"\n").unwrap();
        let phrases = member_argument(&file).unwrap();
        assert_eq!(phrases.path(), Some(&*folder.path().join("wards.dict")));
        std::fs::write(&file, "kind = \"phrases\"\nfile = \"wards.dict\"\n").unwrap();
        let why = member_argument(&file).unwrap_err().to_string();
        assert!(why.contains("wards.toml") && why.contains("file"), "{why}");
    }

    #[test]
    fn a_bundle_with_several_models_or_an_unknown_member_lists_the_members() {
        for named in ["en-clinical", "en-clinical/crf"] {
            let why = model_argument(Path::new(named)).unwrap_err().to_string();
            assert!(
                why.contains("en-clinical/lstm-crf-l") && why.contains("en-clinical/ssvm"),
                "{why}"
            );
            assert!(!why.contains("known"), "a rule is no model: {why}");
        }
    }
}
