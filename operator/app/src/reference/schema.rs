//! The JSON Schemas of files that users write, derived from the types that read them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Number, Value};

use lethe_policy::PolicyFile;

use crate::config::Config;

/// Returns the JSON Schema (draft 2020-12) of a configuration file.
pub(crate) fn configuration() -> Value {
    of::<Config>("Lethe configuration")
}

/// Returns the JSON Schema (draft 2020-12) of a policy file.
pub(crate) fn policy() -> Value {
    of::<PolicyFile>("Lethe policy")
}

fn of<T: JsonSchema>(title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    if let Value::Object(root) = &mut schema {
        root.insert("title".to_owned(), title.into());
    }
    schema
}

/// Removes what TOML cannot express or what only Rust means: nulls, the widths of integers, line breaks of
/// comments.
fn tidy(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(object) => {
            object.values_mut().for_each(tidy);
            tidy_object(object);
        }
        Value::Number(number) => *number = shortest(number),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn tidy_object(object: &mut Map<String, Value>) {
    if object.get("default") == Some(&Value::Null) {
        object.shift_remove("default");
    }
    if let Some(default) = object.get_mut("default") {
        remove_nulls(default);
    }
    if object.get("format").is_some_and(Value::is_string) {
        object.shift_remove("format");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type") != Some(&"null".into()));
        if let [Value::Object(one)] = choices.as_slice() {
            let one = one.clone();
            object.shift_remove("anyOf");
            for (key, value) in one {
                object.entry(key).or_insert(value);
            }
        }
    }
    describe_variant(object);
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = for_users(text);
    }
}

/// Returns a comment without what only users of the Rust type need: its sections, and paragraphs after the
/// first that link to items.
fn for_users(comment: &str) -> String {
    let paragraphs = comment.split("\n\n").take_while(|lines| !lines.starts_with("# "));
    let paragraphs = paragraphs
        .enumerate()
        .filter(|(at, lines)| *at == 0 || !lines.contains("[`"))
        .map(|(_, lines)| lines.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// Removes the keys without a value from a default, at any depth.
fn remove_nulls(value: &mut Value) {
    if let Value::Object(object) = value {
        object.retain(|_, inner| !inner.is_null());
        object.values_mut().for_each(remove_nulls);
    }
}

/// Gives the description of an enum's variant to the key that selects it, as in `keys = { file = "..." }`.
fn describe_variant(object: &mut Map<String, Value>) {
    let description = object.get("description").cloned();
    if let (Some(description), Some(Value::Object(properties))) = (description, object.get_mut("properties"))
        && let (1, Some(Value::Object(property))) = (properties.len(), properties.values_mut().next())
        && !property.contains_key("const")
    {
        property.entry("description").or_insert(description);
    }
}

/// Returns a 32-bit default as it is written: 0.9, which as 64 bits is 0.8999999761581421.
fn shortest(number: &Number) -> Number {
    let narrow = number.as_f64().map(|wide| (wide, wide as f32));
    match narrow {
        Some((wide, narrow)) if number.is_f64() && f64::from(narrow) == wide => {
            let written = narrow.to_string().parse().ok();
            written
                .and_then(Number::from_f64)
                .unwrap_or_else(|| number.clone())
        }
        _ => number.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::validate::validate;
    use super::*;

    /// Calls `check` with every schema of a property.
    fn each_property(value: &Value, path: &str, check: &mut impl FnMut(&str, &Value)) {
        match value {
            Value::Object(object) => {
                if let Some(Value::Object(properties)) = object.get("properties") {
                    for (name, property) in properties {
                        check(&format!("{path}.{name}"), property);
                    }
                }
                for (key, inner) in object {
                    let path = format!("{path}/{key}");
                    match (key.as_str(), inner) {
                        ("default" | "examples", _) => {}
                        // Its keys are names of properties, of which one is "properties".
                        ("properties", Value::Object(properties)) => properties
                            .values()
                            .for_each(|property| each_property(property, &path, check)),
                        _ => each_property(inner, &path, check),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| each_property(item, path, check)),
            _ => {}
        }
    }

    #[test]
    fn every_key_has_a_description_and_its_default_and_examples_are_valid() {
        for schema in [configuration(), policy()] {
            let mut keys = 0;
            each_property(&schema, "", &mut |path, property| {
                keys += 1;
                let described = property.get("description").and_then(Value::as_str);
                let is_tag = property.get("const").is_some();
                assert!(
                    is_tag || described.is_some_and(|text| text.len() > 5),
                    "{path} has no description"
                );
                assert!(
                    !described.is_some_and(|text| text.contains("[`")),
                    "{path} links to a Rust item"
                );
                let examples = property.get("examples").and_then(Value::as_array);
                for value in property
                    .get("default")
                    .into_iter()
                    .chain(examples.into_iter().flatten())
                {
                    assert_eq!(validate(&schema, property, value), Ok(()), "{path}: {value}");
                }
            });
            assert!(keys > 20, "{keys}");
        }
    }

    #[test]
    fn descriptions_leave_out_what_only_rust_means() {
        let comment = "How members\nvote.\n\n[`VoteSpec::build`] checks it.\n\nIt is a table.\n\n# Examples\n\n```\nlet a;\n```";
        assert_eq!(for_users(comment), "How members vote.\n\nIt is a table.");
        for schema in [configuration(), policy()] {
            let text = schema.to_string();
            assert!(!text.contains("[`") && !text.contains("# Errors") && !text.contains("```"));
        }
    }

    fn refused(toml: &str) -> Option<String> {
        let document: Value = toml::from_str(toml).unwrap();
        let schema = configuration();
        validate(&schema, &schema, &document).err()
    }

    #[test]
    fn the_schema_accepts_and_refuses_what_the_program_does() {
        let kafka = "[source]\nkind = \"kafka\"\nbrokers = [\"b:1\"]\ntopics = [\"t\"]\ngroup = \"g\"\n";
        for good in [
            "",
            kafka,
            &*format!(
                "{kafka}security = {{ protocol = \"tls\", ca = \"/ca\" }}\nproperties = {{ \"a.b\" = 3 }}\n"
            ),
            "[format]\nkind = \"hl7v2\"\nkeep_message = true\n",
            "[sink]\nstore = { kind = \"s3\", bucket = \"b\" }\nroll = { max_idle_seconds = 0.5 }\n",
            "[sink]\nstore = { kind = \"azure\", account = \"a\", container = \"c\" }\n",
            "[sink]\nstore = { kind = \"gcs\", bucket = \"b\", anonymous = true }\n",
            "[engine]\nmembers = [{ kind = \"known\" }, { kind = \"model\", path = \"m\" }]\n",
            "[engine.vote]\nsolo_min_score = { DATE = 0.9 }\n",
            "[policy]\nmode = \"custom\"\nkeys = { file = \"/keys\" }\n",
            "[policy]\nmode = \"custom\"\nlabels = { DATE = { action = \"shift\" } }\n",
            "[backfill]\ninput = { kind = \"folder\", path = \"/in\" }\ncolumns = { text = [\"note\"] }\n",
        ] {
            assert_eq!(refused(good), None, "{good}");
            assert!(crate::config::parse(good, "lethe.toml").is_ok(), "{good}");
        }
        for bad in [
            "brokes = 3\n",
            &*format!("{kafka}broker = 3\n"),
            "[source]\nkind = \"kafka\"\n",
            "[source]\nkind = \"carrier-pigeon\"\n",
            "[sink]\nstore = { kind = \"s3\", bucket = \"b\", path = \"/out\" }\n",
            "[engine]\nmembers = [{ kind = \"model\", path = \"m\", typos = true }]\n",
            "[engine.review]\nmargin = \"one\"\n",
            "[policy]\nmode = \"custom\"\n[policy.keep]\nname = \"a reason\"\n",
        ] {
            assert!(refused(bad).is_some(), "{bad}");
            assert!(crate::config::parse(bad, "lethe.toml").is_err(), "{bad}");
        }
    }
}
