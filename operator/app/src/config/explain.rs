//! The effective configuration as TOML, with a comment behind each value that says where it comes from.
//!
//! It is derived from the file as written and from the schema, which has the defaults. Secrets and the content
//! of other files are never printed.

mod values;

use std::path::Path;

use serde_json::{Map, Value as Json};
use toml::{Table, Value};

use self::values::given;
use super::Config;
use super::load::locate;
use super::paths::Base;
use super::renamed::{old_name, rename};
use crate::exit::usage;
use crate::reference::schema;

/// Stands for the bundle that runs if the file names nothing else, which has no default in the schema. No
/// bundle has such a name.
const DEFAULT_BUNDLE: &str = "\0default";

/// A file whose values are explained.
struct Source<'a> {
    /// Its name, as it was given.
    name: String,
    text: &'a str,
    /// The tables that the file itself is in.
    above: &'static str,
    /// What made Lethe read this file, for a policy file.
    because: String,
}

impl Source<'_> {
    /// Returns where a key is: file and line, as far as the line can be found.
    fn place(&self, path: &str) -> String {
        let own = path
            .strip_prefix(self.above)
            .unwrap_or(path)
            .trim_start_matches('.');
        // A key that is not there is found at its table, which stands before it.
        let old = old_name(own).and_then(|old| locate(self.text, &old));
        let line = locate(self.text, own).max(old);
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        format!("{}{line}{}", self.name, self.because)
    }
}

impl Config {
    /// Returns the effective configuration of a file as TOML with comments. `policy` is the policy file of the
    /// command line.
    ///
    /// # Errors
    /// As of reading the file, which has been read before.
    pub(crate) fn explain(&self, path: &Path, policy: Option<&Path>) -> anyhow::Result<String> {
        let text = read(path)?;
        let mut table: Table = toml::from_str(&text).map_err(|error| usage(error.message()))?;
        rename(&mut table).map_err(|(key, why)| usage(format!("key `{key}`: {why}")))?;
        let named = table.remove("policy_file");
        let named = named.as_ref().and_then(Value::as_str).map(Path::new);
        let named = named.map(|named| Base::of(path).resolve(named)).transpose();
        let named = named.map_err(|why| usage(format!("key `policy_file`: {why}")))?;
        let because = match policy {
            Some(_) => ", from the command line (--policy)".to_owned(),
            None => format!(", named by `policy_file` in {}", path.display()),
        };
        let schema = schema::configuration();
        let mut writer = Writer {
            root: &schema,
            out: String::new(),
        };
        let file = Source {
            name: path.display().to_string(),
            text: &text,
            above: "",
            because: String::new(),
        };
        if self.engine.runs_default_bundle() {
            let engine = table.entry("engine").or_insert_with(|| Table::new().into());
            if let Value::Table(engine) = engine {
                engine.insert("bundle".to_owned(), DEFAULT_BUNDLE.into());
            }
        }
        if let Some(path) = policy.or(named.as_deref()) {
            let own = table.remove("policy");
            writer.table("", Some(&table), &schema, None, &file);
            if own.is_some() {
                writer
                    .out
                    .push_str("\n# The file's own [policy] is not in effect.\n");
            }
            let text = read(path)?;
            let table: Table = toml::from_str(&text).map_err(|error| usage(error.message()))?;
            let file = Source {
                name: path.display().to_string(),
                text: &text,
                above: "policy",
                because,
            };
            let policy = &schema["properties"]["policy"];
            writer.table("policy", Some(&table), policy, None, &file);
        } else {
            writer.table("", Some(&table), &schema, None, &file);
        }
        Ok(writer.out)
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).map_err(|error| usage(format!("{}: {error}", path.display())))
}

struct Writer<'a> {
    root: &'a Json,
    out: String,
}

impl<'a> Writer<'a> {
    fn resolved(&self, schema: &'a Json) -> &'a Json {
        let target = schema.get("$ref").and_then(Json::as_str);
        let target = target.and_then(|path| self.root.pointer(path.strip_prefix('#')?));
        target.unwrap_or(schema)
    }

    /// Returns the schemas of a table's keys: those of the table, and of the alternative that its tag selects.
    fn keys(&self, schema: &'a Json, table: &Table, inherited: Option<&Json>) -> Vec<(&'a str, &'a Json)> {
        let schema = self.resolved(schema);
        let alternatives = schema.get("oneOf").or_else(|| schema.get("anyOf"));
        let alternatives = alternatives.and_then(Json::as_array).into_iter().flatten();
        let selected = alternatives.map(|one| self.resolved(one)).filter(|one| {
            properties(one).all(|(name, property)| match property.get("const") {
                Some(tag) => match (table.get(name), inherited.and_then(|value| value.get(name))) {
                    (Some(given), _) => given.as_str() == tag.as_str(),
                    (None, default) => default == Some(tag),
                },
                None => true,
            }) && required(one).all(|name| {
                table.contains_key(name) || inherited.is_some_and(|value| value.get(name).is_some())
            })
        });
        std::iter::once(schema)
            .chain(selected)
            .flat_map(properties)
            .collect()
    }

    /// Returns whether a value is a table with keys of its own.
    fn is_table(&self, schema: &'a Json) -> bool {
        let schema = self.resolved(schema);
        let tagged = schema.get("oneOf").and_then(Json::as_array);
        properties(schema).next().is_some()
            || tagged.is_some_and(|all| {
                all.iter()
                    .all(|one| properties(self.resolved(one)).any(|(_, key)| key.get("const").is_some()))
            })
    }

    /// Returns the schema of the tables that a free table has by name, such as the policy's `labels`.
    fn of_tables(&self, schema: &'a Json) -> Option<&'a Json> {
        let values = self.resolved(schema).get("additionalProperties")?;
        self.is_table(values).then_some(values)
    }

    /// Writes a table: its values, then the tables in it. `own` is what the file has of it, and `inherited` the
    /// default of the whole table.
    fn table(
        &mut self,
        path: &str,
        own: Option<&Table>,
        schema: &'a Json,
        inherited: Option<&Json>,
        file: &Source<'_>,
    ) {
        let empty = Table::new();
        let table = own.unwrap_or(&empty);
        let keys = self.keys(schema, table, inherited);
        let (mut lines, mut inner) = (Vec::new(), Vec::new());
        for &(name, property) in &keys {
            let at = join(path, name);
            let default = inherited
                .and_then(|value| value.get(name))
                .or_else(|| property.get("default"));
            match table.get(name) {
                Some(Value::Table(own)) if self.is_table(property) || self.of_tables(property).is_some() => {
                    inner.push((name, Some(own), property, default));
                }
                Some(Value::String(text)) if text == DEFAULT_BUNDLE => {
                    lines.push((
                        name,
                        format!("\"{}\"", lethe_bundles::DEFAULT),
                        "default".to_owned(),
                    ));
                }
                Some(value) => {
                    let (shown, whence) = given(name, value, Some(self.resolved(property)), property);
                    lines.push((name, shown, format!("{}{whence}", file.place(&at))));
                }
                None if self.is_table(property) => {
                    // A table without a default is left out unless all of its keys have one.
                    let optional = required(self.resolved(property)).next().is_none()
                        && self.resolved(property).get("oneOf").is_none();
                    let in_effect = default.is_some() || (optional && path.is_empty() && name != "policy");
                    if in_effect {
                        inner.push((name, None, property, default));
                    }
                }
                None => {
                    let default = default.filter(|default| !is_empty(default));
                    let default = default.or_else(|| property.get("const")).and_then(toml_of);
                    lines.extend(default.map(|value| (name, value.to_string(), "default".to_owned())));
                }
            }
        }
        // Keys that the schema has no name for: of free tables, and old names that are still read.
        let values = self
            .resolved(schema)
            .get("additionalProperties")
            .filter(|one| one.is_object());
        for (name, value) in table
            .iter()
            .filter(|(name, _)| !keys.iter().any(|(key, _)| key == name))
        {
            if let (Value::Table(own), Some(values)) = (value, self.of_tables(schema)) {
                inner.push((name, Some(own), values, None));
                continue;
            }
            let (shown, whence) = given(name, value, values, &Json::Null);
            lines.push((name, shown, format!("{}{whence}", file.place(&join(path, name)))));
        }
        if !path.is_empty() && (!lines.is_empty() || (inner.is_empty() && own.is_some())) {
            let gap = if self.out.is_empty() { "" } else { "\n" };
            self.out.push_str(&format!("{gap}[{path}]\n"));
        }
        for (name, value, whence) in lines {
            self.out
                .push_str(&format!("{} = {value}  # {whence}\n", bare(name)));
        }
        for (name, own, property, default) in inner {
            self.table(&join(path, name), own, property, default, file);
        }
    }
}

fn properties(schema: &Json) -> impl Iterator<Item = (&str, &Json)> {
    let all = schema.get("properties").and_then(Json::as_object);
    all.into_iter()
        .flatten()
        .map(|(name, property)| (name.as_str(), property))
}

fn required(schema: &Json) -> impl Iterator<Item = &str> {
    let all = schema.get("required").and_then(Json::as_array);
    all.into_iter().flatten().filter_map(Json::as_str)
}

/// Returns whether a default says nothing: no text, an empty list or an empty table.
fn is_empty(default: &Json) -> bool {
    match default {
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(object) => object.is_empty(),
        _ => false,
    }
}

fn toml_of(value: &Json) -> Option<Value> {
    Some(match value {
        Json::Null => return None,
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Integer(whole),
            None => Value::Float(number.as_f64()?),
        },
        Json::String(text) => Value::String(text.clone()),
        Json::Array(items) => Value::Array(items.iter().filter_map(toml_of).collect()),
        Json::Object(object) => Value::Table(entries(object)),
    })
}

fn entries(object: &Map<String, Json>) -> Table {
    let entries = object
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), toml_of(value)?)));
    entries.collect()
}

/// Returns a key as TOML writes it.
fn bare(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}

fn join(path: &str, name: &str) -> String {
    match path {
        "" => bare(name),
        _ => format!("{path}.{}", bare(name)),
    }
}

#[cfg(test)]
mod tests;
