//! Builds a bundle's folder.

use std::path::Path;

use lethe_learn::Manifest;
use lethe_members::mixture;
use lethe_members::registry::{MemberConfig, checkpoint_files};

use super::{BundleError, BundleManifest, COMBINER, MANIFEST, Measured, Part, Rule, io, sha256};
use crate::Fitted;

/// The subfolder of the models in a bundle.
pub(super) const MEMBERS: &str = "members";

impl Part {
    /// Creates a part from a trained model; `write` copies its folder.
    pub fn model(name: &str) -> Self {
        let mut member = toml::Table::new();
        member.insert("kind".to_owned(), "model".into());
        member.insert("path".to_owned(), format!("{MEMBERS}/{name}").into());
        Self::of(name, member)
    }

    /// Creates a rule member with its default settings.
    pub fn rule(kind: &str) -> Self {
        let mut member = toml::Table::new();
        member.insert("kind".to_owned(), kind.into());
        Self::of(kind, member)
    }

    /// Creates a part from any member; `write` copies the files that it reads.
    ///
    /// # Errors
    /// The reason why a bundle cannot have it.
    pub fn member(name: &str, config: &MemberConfig) -> Result<Self, String> {
        let config = config.clone().named(name).map_err(|own| {
            format!("in a bundle, this member is called `{own}`: call its predictions so, too")
        })?;
        if matches!(config, MemberConfig::Model(_)) {
            return Ok(Self::model(name));
        }
        let mut member = toml::Table::try_from(&config).map_err(|error| error.to_string())?;
        if let Some(path) = config.path() {
            let mut place = format!("{MEMBERS}/{name}");
            if let Some(extension) = path.extension().filter(|_| path.is_file()) {
                place = format!("{place}.{}", extension.to_string_lossy());
            }
            member.insert("path".to_owned(), place.into());
        } else if member.get("kind").and_then(toml::Value::as_str) == Some("external") {
            return Err(
                "a bundle has no predictions of another tool; list its members in `engine.members`"
                    .to_owned(),
            );
        }
        Ok(Self::of(name, member))
    }

    /// Copies what the member reads into a bundle's folder.
    fn copy(&self, from: &Path, folder: &Path) -> Result<(), BundleError> {
        let Some(place) = self.member.get("path").and_then(toml::Value::as_str) else {
            return Ok(());
        };
        let to = folder.join(place);
        match self.member.get("kind").and_then(toml::Value::as_str) {
            Some("model") => return copy_model(from, &to),
            Some("transformer") => {
                for name in checkpoint_files() {
                    copy_file(&from.join(name), &to.join(name))?;
                }
            }
            _ => copy_file(from, &to)?,
        }
        Ok(())
    }

    fn of(name: &str, member: toml::Table) -> Self {
        Self {
            name: name.to_owned(),
            member,
            digest: None,
            replaces: None,
            f1: None,
            cost: None,
        }
    }
}

impl BundleManifest {
    /// Sets a fitted combiner, and writes its file into the bundle's folder. The spans of members that it was
    /// not fitted on are redacted in addition.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn fitted(&mut self, folder: &Path, kind: &str, fitted: &Fitted) -> Result<(), BundleError> {
        let path = folder.join(COMBINER);
        let bytes = fitted.to_bytes().map_err(|error| BundleError::Manifest {
            path: path.clone(),
            message: error.to_string(),
        })?;
        std::fs::create_dir_all(folder).map_err(|source| io(folder, source))?;
        std::fs::write(&path, &bytes).map_err(|source| io(&path, source))?;
        self.combine = Rule::Fitted {
            kind: kind.to_owned(),
            digest: sha256(&bytes),
            union_rules: self
                .members
                .iter()
                .skip(fitted.members().len())
                .map(|part| part.name.clone())
                .collect(),
        };
        Ok(())
    }

    /// Writes a bundle: copies what its members read, which `source` locates by the member's name, and then writes
    /// the manifest with their digests.
    ///
    /// # Errors
    /// [`BundleError`]: a folder without a manifest is not a bundle.
    pub fn write<'s>(
        &mut self,
        folder: &Path,
        source: impl Fn(&str) -> Option<&'s Path>,
    ) -> Result<(), BundleError> {
        let path = folder.join(MANIFEST);
        for part in &mut self.members {
            if let Some(from) = source(&part.name) {
                part.copy(from, folder)?;
            }
            part.digest = part
                .config(folder)?
                .digest()
                .map_err(|source| BundleError::Member {
                    path: path.clone(),
                    member: part.name.clone(),
                    source: Box::new(source),
                })?;
        }
        self.save(folder)
    }

    /// Replaces the measurements, and writes the manifest of a bundle that was opened from `folder`.
    ///
    /// # Errors
    /// [`BundleError::Io`].
    pub fn record(&mut self, folder: &Path, measured: Vec<Measured>) -> Result<(), BundleError> {
        self.measured = measured;
        self.save(folder)
    }

    /// Writes the manifest, which completes the bundle.
    pub(super) fn save(&mut self, folder: &Path) -> Result<(), BundleError> {
        let path = folder.join(MANIFEST);
        let text = toml::to_string(self).map_err(|error| BundleError::Manifest {
            path: path.clone(),
            message: error.to_string(),
        })?;
        std::fs::create_dir_all(folder).map_err(|source| io(folder, source))?;
        let draft = folder.join(".bundle.toml.part");
        std::fs::write(&draft, &text).map_err(|source| io(&draft, source))?;
        std::fs::rename(&draft, &path).map_err(|source| io(&path, source))?;
        self.file_digest = Some(sha256(text.as_bytes()));
        Ok(())
    }
}

fn copy_file(from: &Path, to: &Path) -> Result<(), BundleError> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).map_err(|source| io(folder, source))?;
    }
    std::fs::copy(from, to).map_err(|source| io(from, source))?;
    Ok(())
}

/// Copies a model's manifest and the files that it names, for a mixture those of its two models, and no other
/// files.
pub(super) fn copy_model(from: &Path, to: &Path) -> Result<(), BundleError> {
    let refused = |error: lethe_learn::ManifestError| BundleError::Manifest {
        path: from.to_owned(),
        message: error.to_string(),
    };
    let mut manifest = Manifest::read(from).map_err(refused)?;
    let names: Vec<String> = manifest.files.keys().cloned().collect();
    let mut files = Vec::with_capacity(names.len());
    for name in &names {
        files.push((name.as_str(), manifest.file(from, name).map_err(refused)?));
    }
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (*name, &**bytes)).collect();
    if manifest.kind == mixture::MIXTURE {
        for part in mixture::PARTS {
            copy_model(&from.join(part), &to.join(part))?;
        }
    }
    manifest.write(to, &files).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_would_start_or_ask_a_tool_is_refused() {
        for (key, settings) in [
            ("process", "process = { command = [\"true\"] }"),
            ("service", "service = { url = \"https://example.org\" }"),
        ] {
            let member = format!("kind = \"external\"\nname = \"tool\"\nversion = \"1\"\n{settings}");
            let part = Part::of("tool", toml::from_str(&member).unwrap());
            let message = part.config(Path::new("b")).unwrap_err().to_string();
            assert!(
                message.contains(&format!("member `tool`: key `{key}`: a bundle cannot")),
                "{message}"
            );
        }
    }

    fn member(table: &str) -> MemberConfig {
        toml::from_str(table).unwrap()
    }

    #[test]
    fn a_rule_keeps_its_settings_and_the_name_that_it_has_in_votes() {
        let part = Part::member("gazetteer", &member("kind = \"gazetteer\"")).unwrap();
        assert!(part.config(Path::new("b")).unwrap().path().is_none());
        let why = Part::member("lists", &member("kind = \"gazetteer\"")).unwrap_err();
        assert!(why.contains("`gazetteer`"), "{why}");
    }

    #[test]
    fn a_list_of_phrases_is_copied_into_the_bundle() {
        let folder = tempfile::tempdir().unwrap();
        let (file, bundle) = (folder.path().join("wards.dict"), folder.path().join("bundle"));
        std::fs::write(&file, "phrases").unwrap();
        let config = member(&format!("kind = \"phrases\"\npath = {file:?}"));
        let part = Part::member("wards", &config).unwrap();
        part.copy(&file, &bundle).unwrap();
        let copied = part.config(&bundle).unwrap();
        assert_eq!(copied.path(), Some(&*bundle.join("members/wards.dict")));
        assert_eq!(
            std::fs::read(bundle.join("members/wards.dict")).unwrap(),
            b"phrases"
        );
    }

    #[test]
    fn predictions_of_another_tool_are_refused() {
        let config = member("kind = \"external\"\nname = \"mist\"\npath = \"mist.jsonl\"");
        let why = Part::member("mist", &config).unwrap_err();
        assert!(why.contains("engine.members"), "{why}");
    }
}
