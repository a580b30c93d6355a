//! Relative paths of a configuration or policy file start at the folder of that file, whatever the working
//! directory is.

use std::path::{Path, PathBuf};

use lethe_core::LabelSet;
use serde::Serialize;
use serde_json::Value as Json;
use toml::Value;

/// The keys of a configuration whose values are paths; `[]` stands for every item of a list, `*` for every key of a table. The paths of a
/// policy are in [`PolicyFile::with_paths`](lethe_policy::PolicyFile::with_paths).
const PATHS: &[&str] = &[
    "source.input",
    "source.codes.path",
    "source.codes.ca",
    "source.store.path",
    "source.store.ca",
    "source.security.ca",
    "source.security.certificate",
    "source.security.key",
    "source.security.keytab",
    "source.security.token.path",
    "source.security.token.client_secret_file",
    "source.security.token.ca",
    "format.registry.ca",
    "format.schema_file",
    "engine.bundle",
    "engine.languages.*",
    "engine.signed_by[]",
    "engine.labels",
    "engine.dictionary",
    "engine.members[].path",
    "engine.members[].process.folder",
    "engine.members[].service.token_file",
    "engine.members[].service.ca",
    "engine.union_rules[].path",
    "engine.union_rules[].process.folder",
    "engine.union_rules[].service.token_file",
    "engine.union_rules[].service.ca",
    "policy_file",
    "sink.store.path",
    "sink.store.ca",
    "sink.table.path",
    "sink.table.audit_path",
    "emit.security.ca",
    "emit.security.certificate",
    "emit.security.key",
    "emit.security.keytab",
    "emit.security.token.path",
    "emit.security.token.client_secret_file",
    "emit.security.token.ca",
    "emit.store.path",
    "emit.store.ca",
    "backfill.input.path",
    "backfill.input.ca",
    "backfill.codes.path",
    "backfill.codes.ca",
    "corrections.from.input",
    "corrections.state",
    "corrections.held_out",
];

/// The folder at which the relative paths of a file start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Base(PathBuf);

impl Base {
    /// Returns the folder of a file.
    pub(crate) fn of(file: &Path) -> Self {
        Self(file.parent().unwrap_or(Path::new("")).to_owned())
    }

    /// Resolves a path of the file.
    ///
    /// # Errors
    /// The problem and what to write, if only the working directory has something at the path: earlier
    /// versions started there, and a silent change would read other files or begin a second dataset.
    pub(crate) fn resolve(&self, path: &Path) -> Result<PathBuf, String> {
        if path.is_absolute() || path.as_os_str().is_empty() || self.0.as_os_str().is_empty() {
            return Ok(path.to_owned());
        }
        let here = self.0.join(path);
        if has_content(path) && !is_same(&here, path) {
            let moved = !has_content(&here);
            let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            let (path, here, full) = (path.display(), here.display(), full.display());
            if moved {
                return Err(format!(
                    "`{path}` is a relative path, which starts at the folder of the file that names it, but {here} does not exist or is empty; the \
                     working directory, where relative paths started in earlier versions, has {full}: write that path, or move it to {here}"
                ));
            }
            tracing::warn!(
                "both {here} and {full} exist; the relative path `{path}` means the first, because relative paths start at the folder of the file \
                 that names them"
            );
        }
        Ok(here)
    }
}

/// Returns whether something is at a path, except an empty folder.
fn has_content(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.exists(),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// The relative paths of a configuration as they are written, by what they were resolved to.
///
/// Fingerprints and ids cover the written form, so that they depend neither on the working directory nor on
/// how `--config` is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written(Vec<(String, String)>);

impl Written {
    /// Returns settings as JSON, with paths as they are written.
    pub(crate) fn form(&self, settings: &impl Serialize) -> Json {
        let mut value = serde_json::to_value(settings).expect("settings have string keys and UTF-8 paths");
        self.restore(&mut value);
        value
    }

    /// Returns a path as it is written.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        let pair = self.0.iter().find(|(resolved, _)| Path::new(resolved) == path);
        pair.map_or_else(|| path.to_owned(), |(_, written)| written.into())
    }

    /// Returns a text that ends with a path, with the path as it is written.
    pub(crate) fn ending(&self, text: String) -> String {
        let found = (self.0.iter()).find_map(|(resolved, written)| {
            let before = text.strip_suffix(resolved.as_str())?;
            (before.is_empty() || before.ends_with(' ')).then(|| format!("{before}{written}"))
        });
        found.unwrap_or(text)
    }

    fn restore(&self, value: &mut Json) {
        match value {
            Json::String(text) => {
                if let Some((_, written)) = self.0.iter().find(|(resolved, _)| resolved == text) {
                    text.clone_from(written);
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.restore(item)),
            Json::Object(table) => table.values_mut().for_each(|item| self.restore(item)),
            _ => {}
        }
    }
}

/// Resolves every relative path of a configuration.
///
/// # Errors
/// The key, and the problem of [`Base::resolve`].
pub(super) fn resolve(table: &mut toml::Table, base: &Base) -> Result<Written, (String, String)> {
    let mut written = Written::default();
    for key in PATHS {
        let (first, rest) = key.split_once('.').unwrap_or((key, ""));
        if let Some(value) = table.get_mut(first) {
            visit(value, rest, key, base, &mut written).map_err(|why| (key.replace("[]", ""), why))?;
        }
    }
    Ok(written)
}

fn visit(value: &mut Value, rest: &str, key: &str, base: &Base, written: &mut Written) -> Result<(), String> {
    match value {
        Value::Array(items) => items
            .iter_mut()
            .try_for_each(|item| visit(item, rest, key, base, written)),
        Value::Table(table) => {
            let (next, rest) = rest.split_once('.').unwrap_or((rest, ""));
            if next == "*" {
                let mut values = table.iter_mut().map(|(_, value)| value);
                return values.try_for_each(|value| visit(value, rest, key, base, written));
            }
            match table.get_mut(next.trim_end_matches("[]")) {
                Some(value) => visit(value, rest, key, base, written),
                None => Ok(()),
            }
        }
        Value::String(text) if rest.is_empty() && !is_name(key, text) => {
            let resolved = base.resolve(Path::new(text))?;
            // A path from TOML is UTF-8; the folder of the file may not be.
            let resolved = resolved.into_os_string().into_string().map_err(|_| {
                "the name of the file's folder is not UTF-8; write an absolute path".to_owned()
            })?;
            if resolved != *text {
                written
                    .0
                    .push((resolved.clone(), std::mem::replace(text, resolved)));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns whether a value is no path, but the name of something that the program contains, or a URL.
fn is_name(key: &str, value: &str) -> bool {
    match key {
        "sink.table.path" | "sink.table.audit_path" => value.contains("://"),
        "engine.bundle" | "engine.languages.*" => lethe_bundles::names().any(|name| name == value),
        "engine.labels" => LabelSet::built_in_set(value).is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use crate::reference::schema;
    use lethe_connectors::store::StoreConfig;
    use lethe_core::fingerprint;

    /// A folder that has files, and the text of a configuration in it.
    fn beside(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            std::fs::write(folder.path().join(file), "x").unwrap();
        }
        folder
    }

    fn origin(folder: &tempfile::TempDir) -> String {
        folder.path().join("lethe.toml").display().to_string()
    }

    #[test]
    fn a_relative_path_starts_at_the_folder_of_the_configuration() {
        let folder = beside(&["site.dict"]);
        let text = "[engine]\nbundle = \"bundles/a\"\nsigned_by = [\"a.pub\", \"/etc/b.pub\"]\n\
                    [sink]\nstore = { kind = \"folder\", path = \"redacted\" }\n\
                    [backfill]\ninput = { kind = \"folder\", path = \"../export\" }\ncolumns = {}\n";
        let config = parse(text, &origin(&folder)).unwrap();
        let at = |path: &str| folder.path().join(path);
        assert_eq!(config.engine.bundle, Some(at("bundles/a")));
        let keys = config.engine.signed_by.unwrap();
        assert_eq!(keys, [at("a.pub"), PathBuf::from("/etc/b.pub")]);
        let StoreConfig::Folder(store) = config.sink.unwrap().store else {
            panic!("a folder");
        };
        assert_eq!(store.path, at("redacted"));
        let Some(StoreConfig::Folder(input)) = config.backfill.unwrap().input else {
            panic!("a folder");
        };
        assert_eq!(input.path, at("../export"));
    }

    #[test]
    fn names_of_what_the_program_contains_are_no_paths() {
        let folder = beside(&["en-clinical", "meddocan"]);
        let text = "[engine]\nbundle = \"en-clinical\"\nlabels = \"meddocan\"\n";
        let config = parse(text, &origin(&folder)).unwrap();
        assert_eq!(config.engine.bundle, Some("en-clinical".into()));
        assert_eq!(config.engine.labels.as_deref(), Some("meddocan"));
    }

    #[test]
    fn a_path_that_only_the_working_directory_has_is_refused_with_both_places() {
        // Tests run in the folder of this crate.
        let folder = beside(&[]);
        std::fs::create_dir(folder.path().join("src")).unwrap();
        for (key, text) in [
            ("engine.dictionary", "[engine]\ndictionary = \"Cargo.toml\"\n"),
            (
                "sink.store.path",
                "[sink]\nstore = { kind = \"folder\", path = \"src\" }\n",
            ),
            ("policy_file", "policy_file = \"Cargo.toml\"\n"),
            (
                "keys.file",
                "[policy]\nmode = \"custom\"\nkeys = { file = \"Cargo.toml\" }\n",
            ),
            ("engine.labels", "[engine]\nlabels = \"${file:Cargo.toml}\"\n"),
        ] {
            let why = format!("{:#}", parse(text, &origin(&folder)).unwrap_err());
            let full = std::env::current_dir().unwrap().display().to_string();
            assert!(why.contains(&format!("`{key}`")) && why.contains(&full), "{why}");
            assert!(why.contains(&folder.path().display().to_string()), "{why}");
        }
    }

    #[test]
    fn a_path_that_both_places_have_means_the_one_of_the_configuration() {
        let folder = beside(&["Cargo.toml"]);
        let base = Base::of(&folder.path().join("lethe.toml"));
        let resolved = base.resolve(Path::new("Cargo.toml"));
        assert_eq!(resolved, Ok(folder.path().join("Cargo.toml")));
    }

    #[test]
    fn fingerprints_and_ids_depend_on_a_path_as_it_is_written() {
        let folder = beside(&[]);
        let text = "[source]\nkind = \"text\"\ninput = \"notes\"\n\
                    [engine]\nmembers = [{ kind = \"model\", name = \"a\", path = \"models/a\" }]\n";
        let there = parse(text, &origin(&folder)).unwrap();
        let here = parse(text, "lethe.toml").unwrap();
        assert_ne!(fingerprint(&there.engine), fingerprint(&here.engine));
        let form = there.engine.written.form(&there.engine);
        assert_eq!(fingerprint(&form), fingerprint(&here.engine));
        let id = |config: &crate::config::Config| config.naming().unwrap().input_id;
        assert_eq!(id(&there), "notes");
        assert_eq!(id(&there), id(&here));
    }

    #[test]
    fn the_digest_of_a_policy_does_not_depend_on_its_folder() {
        let folder = beside(&[]);
        let text = "[policy]\nmode = \"custom\"\nkeys = { file = \"k.toml\" }\n";
        let file = |origin: &str| parse(text, origin).unwrap().engine.policy.unwrap().file;
        let (there, here) = (file(&origin(&folder)), file("lethe.toml"));
        assert_ne!(there.keys, here.keys);
        assert_eq!(there.digest(), here.digest());
    }

    /// The keys of a schema whose values are text, each with its description or that of its list.
    fn texts(schema: &Json) -> Vec<(String, String)> {
        fn walk(
            root: &Json,
            node: &Json,
            key: &str,
            about: &str,
            seen: &[&str],
            into: &mut Vec<(String, String)>,
        ) {
            let about = node["description"].as_str().unwrap_or(about);
            if let Some(name) = node["$ref"].as_str().and_then(|to| to.rsplit('/').next())
                && !seen.contains(&name)
            {
                let seen = [seen, &[name]].concat();
                walk(root, &root["$defs"][name], key, about, &seen, into);
            }
            if node["type"] == "string" && node.get("enum").is_none() && node.get("const").is_none() {
                into.push((key.to_owned(), about.to_owned()));
            }
            for choices in ["anyOf", "oneOf", "allOf"] {
                for choice in node[choices].as_array().into_iter().flatten() {
                    walk(root, choice, key, about, seen, into);
                }
            }
            for (name, inner) in node["properties"].as_object().into_iter().flatten() {
                let key = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}.{name}")
                };
                walk(root, inner, &key, "", seen, into);
            }
            if node["items"].is_object() {
                walk(root, &node["items"], &format!("{key}[]"), about, seen, into);
            }
            if node["additionalProperties"].is_object() {
                walk(
                    root,
                    &node["additionalProperties"],
                    &format!("{key}.*"),
                    about,
                    seen,
                    into,
                );
            }
        }
        let mut into = Vec::new();
        walk(schema, schema, "", "", &[], &mut into);
        into
    }

    #[test]
    fn every_key_that_the_schema_describes_as_a_file_or_folder_is_resolved() {
        let others = [
            "source.folder",
            "backfill.folder",
            "emit.suffix",
            "format.message",
            "engine.members[].digest",
            "engine.union_rules[].digest",
            "source.input_id",
            "backfill.input_id",
            "policy.keys.env",
            "policy.keep.*",
            "backfill.columns.reasons.*",
        ];
        let texts = texts(&schema::configuration());
        for key in PATHS {
            assert!(
                texts.iter().any(|(known, _)| known == key),
                "{key} is not in the schema"
            );
        }
        for (key, about) in &texts {
            let words: Vec<&str> = about.split(|c: char| !c.is_alphanumeric()).collect();
            let names_a_file = ["file", "File", "folder", "PEM"]
                .iter()
                .any(|word| words.contains(word));
            let known = PATHS.contains(&key.as_str())
                || others.contains(&key.as_str())
                || key
                    .strip_prefix("policy.")
                    .is_some_and(|key| lethe_policy::PATHS.contains(&key));
            assert!(known || !names_a_file, "{key}: {about}");
        }
    }
}
