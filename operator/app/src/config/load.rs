//! Reading a configuration: secrets are filled in, and an error names file, line and key.

use std::path::Path;

use anyhow::Context as _;
use lethe_core::reworded;
use toml::Value;
use zeroize::{Zeroize as _, Zeroizing};

use super::Config;
use super::origin::{Origin, SecretFile};
use super::paths::{self, Base};
use super::renamed::rename;
use crate::exit::usage;

/// Reads a configuration file.
///
/// In any string `${NAME}` stands for an environment variable and `${file:PATH}` for a file's content without its
/// last line break; `$$` for a dollar sign. They are filled in after parsing, so a value cannot add keys.
/// Relative paths start at the file's folder.
pub(crate) fn load(path: &Path) -> anyhow::Result<Config> {
    let text = std::fs::read_to_string(path)
        .map(Zeroizing::new)
        .map_err(|error| usage(format!("{}: {error}", path.display())))?;
    parse_in(&text, &path.display().to_string(), &Base::of(path))
}

/// Reads a configuration from the text of the file `origin`.
#[cfg(any(feature = "kafka", test))]
pub(crate) fn parse(text: &str, origin: &str) -> anyhow::Result<Config> {
    parse_in(text, origin, &Base::of(Path::new(origin)))
}

/// Reads a configuration from text; `origin` is named in messages, and relative paths start at `base`.
pub(super) fn parse_in(text: &str, origin: &str, base: &Base) -> anyhow::Result<Config> {
    let mut table: toml::Table = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        usage(format!("cannot read {origin}:{line}: {}", error.message()))
    })?;
    let mut files = Vec::new();
    for (key, value) in &mut table {
        fill_in(value, key, &mut files, base).map_err(|(key, why)| at(text, origin, &key, &why))?;
    }
    for warning in rename(&mut table).map_err(|(key, why)| at(text, origin, &key, &why))? {
        tracing::warn!("{origin}: {warning}");
    }
    let written = paths::resolve(&mut table, base).map_err(|(key, why)| at(text, origin, &key, &why))?;
    let config: Result<Config, _> = serde_path_to_error::deserialize(Value::Table(table));
    let mut config = config.map_err(|error| {
        let path = error.path().to_string();
        let message = without_value(error.into_inner().message());
        refused(text, origin, &offending_key(&path, &message), &message)
    })?;
    config.engine.written = written;
    config.take_policy(origin, base)?;
    config.name_input();
    files.extend(config.named_files());
    config.origin = Origin::new(text, origin, base.clone(), files);
    Ok(config)
}

/// The message without the value at fault, which may be a secret: `password = 12345` is of the wrong type.
fn without_value(message: &str) -> String {
    let wrong = message.starts_with("invalid type: ") || message.starts_with("invalid value: ");
    match message.rsplit_once(", expected ") {
        Some((found, expected)) if wrong => {
            let kind = found.split(['"', '`']).next().unwrap_or_default().trim_end();
            format!("{kind}, expected {expected}")
        }
        _ => message.to_owned(),
    }
}

/// The path of the key at fault: serde names an unknown or missing field in its message, and its table in the path.
fn offending_key(path: &str, message: &str) -> String {
    let quoted = message
        .split('`')
        .nth(1)
        .filter(|_| message.starts_with("unknown field"));
    match quoted {
        Some(field) if path == "." => field.to_owned(),
        Some(field) if !path.ends_with(field) => format!("{path}.{field}"),
        _ => path.to_owned(),
    }
}

fn at(text: &str, origin: &str, key: &str, why: &str) -> anyhow::Error {
    usage(format!(
        "cannot read {}: key `{key}`: {why}",
        place(text, origin, key)
    ))
}

/// The error of a file that the types do not accept. Of an unknown key it suggests the one that was meant.
fn refused(text: &str, origin: &str, key: &str, message: &str) -> anyhow::Error {
    let name = key.rsplit('.').next().unwrap_or(key);
    match reworded(message).strip_prefix(&format!("unknown key `{name}`")) {
        Some(rest) => usage(format!(
            "cannot read {}: unknown key `{key}`{rest}",
            place(text, origin, key)
        )),
        None => at(text, origin, key, &reworded(message)),
    }
}

/// The file, and the line of a key if it is in the file.
fn place(text: &str, origin: &str, key: &str) -> String {
    locate(text, key).map_or_else(|| origin.to_owned(), |line| format!("{origin}:{line}"))
}

fn fill_in(
    value: &mut Value,
    key: &str,
    files: &mut Vec<SecretFile>,
    base: &Base,
) -> Result<(), (String, String)> {
    match value {
        Value::String(string) => {
            let mut filled = interpolate(string, key, files, base)
                .map_err(|error| (key.to_owned(), format!("{error:#}")))?;
            // Moved, as the values of the table are moved into the configuration: a secret is not copied on its way.
            string.zeroize();
            *string = std::mem::take(&mut *filled);
            Ok(())
        }
        Value::Array(items) => items
            .iter_mut()
            .try_for_each(|item| fill_in(item, key, files, base)),
        Value::Table(table) => table
            .iter_mut()
            .try_for_each(|(name, item)| fill_in(item, &format!("{key}.{name}"), files, base)),
        _ => Ok(()),
    }
}

fn interpolate(
    string: &str,
    key: &str,
    files: &mut Vec<SecretFile>,
    base: &Base,
) -> anyhow::Result<Zeroizing<String>> {
    let mut parts: Vec<Zeroizing<String>> = Vec::new();
    let mut rest = string;
    while let Some((before, after)) = rest.split_once('$') {
        parts.push(before.to_owned().into());
        if let Some(after) = after.strip_prefix('$') {
            parts.push("$".to_owned().into());
            rest = after;
        } else if let Some((name, after)) = after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            match name.strip_prefix("file:") {
                Some(path) => {
                    let path = base.resolve(Path::new(path)).map_err(anyhow::Error::msg)?;
                    let mut content = std::fs::read_to_string(&path)
                        .map(Zeroizing::new)
                        .with_context(|| format!("cannot read the secret file {}", path.display()))?;
                    files.push(SecretFile::read(key, &path, content.as_bytes()));
                    let length = content.trim_end_matches(['\r', '\n']).len();
                    content.truncate(length);
                    parts.push(content);
                }
                None => {
                    let value = std::env::var(name)
                        .with_context(|| format!("the environment variable {name} is not set"))?;
                    parts.push(value.into());
                }
            }
            rest = after;
        } else {
            anyhow::bail!("a `$` must be `${{NAME}}`, `${{file:PATH}}` or `$$`");
        }
    }
    // Room for all of it at once: a string that grows leaves copies of a secret behind.
    let length = rest.len() + parts.iter().map(|part| part.len()).sum::<usize>();
    let mut out = Zeroizing::new(String::with_capacity(length));
    parts.iter().for_each(|part| out.push_str(part));
    out.push_str(rest);
    Ok(out)
}

/// The line of a key given by its dotted path, as far as the file has it: the deepest part that is found.
pub(super) fn locate(text: &str, key: &str) -> Option<usize> {
    let root = toml::de::DeTable::parse(text).ok()?;
    let mut table = root.get_ref();
    let mut found = None;
    for part in key.split('.') {
        let (name, index) = part.split_once('[').map_or((part, None), |(name, index)| {
            (name, index.trim_end_matches(']').parse::<usize>().ok())
        });
        let Some((spanned_key, value)) = table.iter().find(|(k, _)| k.get_ref() == name) else {
            break;
        };
        found = Some(line_of(text, spanned_key.span().start));
        let value = match (value.get_ref(), index) {
            (toml::de::DeValue::Array(items), Some(index)) => items.get(index).map(|item| {
                found = Some(line_of(text, item.span().start));
                item.get_ref()
            }),
            (value, _) => Some(value),
        };
        match value {
            Some(toml::de::DeValue::Table(inner)) => table = inner,
            _ => break,
        }
    }
    found
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|&byte| byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        format!("{:#}", parse(text, "lethe.toml").unwrap_err())
    }

    #[test]
    fn an_unknown_key_is_refused_with_file_line_and_key() {
        let message = error("[resources]\nworkers = 2\nmemory = 3\n");
        assert!(
            message.starts_with(
                "cannot read lethe.toml:3: unknown key `resources.memory`; expected one of `workers`"
            ),
            "{message}"
        );
    }

    #[test]
    fn the_key_that_was_meant_is_suggested() {
        for (text, expected) in [
            (
                "[source]\nkind = \"kafka\"\nbrokes = [\"b:1\"]\ntopics = [\"t\"]\ngroup = \"g\"\n",
                "cannot read lethe.toml:3: unknown key `source.brokes`; did you mean `brokers`?",
            ),
            (
                "[telemety]\n",
                "cannot read lethe.toml:1: unknown key `telemety`; did you mean `telemetry`?",
            ),
            (
                "[source]\nkind = \"kafak\"\n",
                "cannot read lethe.toml:2: key `source.kind`: unknown value `kafak`; did you mean `kafka`?",
            ),
            (
                "[policy]\nmode = \"custom\"\npropagte = true\n",
                "cannot read lethe.toml:3: unknown key `policy.propagte`; did you mean `propagate`?",
            ),
        ] {
            assert_eq!(error(text), expected);
        }
    }

    #[test]
    fn an_unknown_key_in_a_tagged_table_is_found_too() {
        let message = error(
            "[source]\nkind = \"kafka\"\nbrokers = \"b:1\"\ntopics = [\"t\"]\ngroup = \"g\"\nbroker = 1\n",
        );
        assert!(message.contains(":6:") && message.contains("broker"), "{message}");
    }

    #[test]
    fn a_value_of_the_wrong_type_names_its_key_and_line() {
        let message = error("[resources]\n\nworkers = \"two\"\n");
        assert!(
            message.contains(":3:") && message.contains("resources.workers"),
            "{message}"
        );
    }

    #[test]
    fn a_value_of_the_wrong_type_is_not_shown_since_it_may_be_a_secret() {
        for value in ["\"hunter2\"", "\"a, expected hunter2\"", "[\"hunter2\"]"] {
            let message = error(&format!("[resources]\nworkers = {value}\n"));
            assert!(
                !message.contains("hunter2") && message.contains("expected"),
                "{message}"
            );
        }
    }

    #[test]
    fn broken_toml_names_its_line() {
        assert!(error("[resources]\nworkers = \n").contains("lethe.toml:2:"));
    }

    #[test]
    fn a_variable_is_filled_in_and_a_missing_one_is_named_with_its_key() {
        assert_eq!(
            *interpolate("a$$b", "key", &mut vec![], &Base::default()).unwrap(),
            "a$b"
        );
        let message = error("[engine]\nlabels = \"${LETHE_TEST_NOT_SET}\"\n");
        assert!(
            message.contains(":2:")
                && message.contains("engine.labels")
                && message.contains("LETHE_TEST_NOT_SET"),
            "{message}"
        );
    }

    #[test]
    fn a_secret_file_is_read_without_its_last_line_break() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hunter2\n").unwrap();
        let path = file.path().display();
        let filled = interpolate(
            &format!("a-${{file:{path}}}-b"),
            "key",
            &mut vec![],
            &Base::default(),
        )
        .unwrap();
        assert_eq!(*filled, "a-hunter2-b");
        assert_eq!(filled.capacity(), filled.len(), "it never grew");
    }
}
