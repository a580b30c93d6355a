//! The JSON Schemas of files that users write, and the pages in `docs/reference`, which tests generate from
//! the code and compare with the committed ones.

#[cfg(test)]
mod configuration;
#[cfg(test)]
mod markdown;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod output;
pub(crate) mod schema;
#[cfg(test)]
mod validate;

// Without transformers the configuration has fewer members.
#[cfg(all(test, feature = "transformer"))]
mod tests {
    use std::path::Path;

    use super::*;

    /// Compares `docs/reference` with the code. With the environment variable `LETHE_WRITE_REFERENCE` it
    /// writes the files instead.
    #[test]
    fn the_committed_reference_is_that_of_the_code() {
        let json = |schema: &serde_json::Value| format!("{schema:#}\n");
        let schema = schema::configuration();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
        let mut stale = Vec::new();
        for (name, content) in [
            ("configuration.md", configuration::page(&schema)),
            ("lethe.schema.json", json(&schema)),
            ("policy.schema.json", json(&schema::policy())),
            ("metrics.md", metrics::page()),
            ("output.md", output::page()),
        ] {
            let path = folder.join(name);
            if std::env::var_os("LETHE_WRITE_REFERENCE").is_some() {
                std::fs::write(&path, content).unwrap();
            } else if std::fs::read_to_string(&path).unwrap_or_default() != content {
                stale.push(name);
            }
        }
        assert!(
            stale.is_empty(),
            "{stale:?} in docs/reference are stale: run `just reference` and commit them"
        );
    }

    #[test]
    fn the_examples_name_their_schema_and_conform_to_it() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for (folder, schema, name) in [
            ("examples", schema::configuration(), "lethe.schema.json"),
            ("policies", schema::policy(), "policy.schema.json"),
        ] {
            let mut examples = 0;
            for entry in std::fs::read_dir(docs.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let text = std::fs::read_to_string(&path).unwrap();
                let directive = format!("#:schema ../reference/{name}\n");
                assert!(text.starts_with(&directive), "{}", path.display());
                let document: serde_json::Value = toml::from_str(&text).unwrap();
                assert_eq!(
                    validate::validate(&schema, &schema, &document),
                    Ok(()),
                    "{}",
                    path.display()
                );
                examples += 1;
            }
            assert!(examples > 0, "{folder}");
        }
    }
}
