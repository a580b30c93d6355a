//! The JSON Schemas of files that users write, and the pages in `docs/reference` and `docs/man`, which tests
//! generate from the code and compare with the committed ones.

#[cfg(test)]
mod commands;
#[cfg(test)]
mod configuration;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod manual;
#[cfg(test)]
mod markdown;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod output;
pub(crate) mod schema;
#[cfg(test)]
mod validate;

// Without transformers the configuration has fewer members, and without Kafka there are fewer commands.
#[cfg(all(test, feature = "transformer", feature = "kafka"))]
mod tests {
    use std::path::Path;

    use super::*;

    /// Compares `docs/reference` and `docs/man` with the code. With the environment variable `LETHE_WRITE_REFERENCE` it
    /// writes the files instead.
    #[test]
    fn the_committed_reference_is_that_of_the_code() {
        let json = |schema: &serde_json::Value| format!("{schema:#}\n");
        let schema = schema::configuration();
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let mut stale = Vec::new();
        let pages = [
            ("configuration.md", configuration::page(&schema)),
            ("lethe.schema.json", json(&schema)),
            ("policy.schema.json", json(&schema::policy())),
            ("commands.md", commands::page()),
            ("metrics.md", metrics::page()),
            ("output.md", output::page()),
        ];
        let pages = pages.map(|(name, content)| (format!("reference/{name}"), content));
        let manual = manual::pages();
        // A command that is gone or renamed leaves its page behind.
        for entry in std::fs::read_dir(docs.join("man")).into_iter().flatten() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if !manual.iter().any(|(page, _)| *page == format!("man/{name}")) {
                stale.push(format!("man/{name}"));
            }
        }
        for (name, content) in pages.into_iter().chain(manual) {
            let path = docs.join(&name);
            if std::env::var_os("LETHE_WRITE_REFERENCE").is_some() {
                std::fs::write(&path, content).unwrap();
            } else if std::fs::read_to_string(&path).unwrap_or_default() != content {
                stale.push(name);
            }
        }
        assert!(
            stale.is_empty(),
            "{stale:?} in docs are stale: run `just reference` and commit them"
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
