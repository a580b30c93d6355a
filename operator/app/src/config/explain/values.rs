//! Values of a file as they are shown: variables are filled in, and secrets are withheld.

use serde_json::Value as Json;
use toml::Value;

/// What is printed instead of a secret.
const WITHHELD: &str = "withheld";

/// Names of keys whose values are withheld wherever they are, for instance properties of librdkafka.
const SECRET_WORDS: [&str; 8] = [
    "password",
    "passphrase",
    "secret",
    "token",
    "credential",
    "jaas",
    "oauthbearer",
    "pem",
];

/// Returns a value of the file as it is shown, and where its parts come from.
pub(super) fn given(name: &str, value: &Value, schema: Option<&Json>, property: &Json) -> (String, String) {
    let mut whence = Vec::new();
    let lower = name.to_lowercase();
    // `bundle`, `dictionary` and `signed_by` are write-only since they are no part of a fingerprint.
    let write_only = |schema: &Json| schema.get("writeOnly") == Some(&Json::Bool(true));
    let is_secret = SECRET_WORDS.iter().any(|word| lower.contains(word))
        || ((write_only(property) || schema.is_some_and(write_only))
            && !["bundle", "dictionary", "signed_by"].contains(&name));
    let shown = shown(value, is_secret, &mut whence);
    let whence: Vec<_> = whence.into_iter().map(|part| format!(", {part}")).collect();
    (shown.to_string(), whence.concat())
}

/// Returns a value with variables filled in and secrets withheld, and adds where they come from.
fn shown(value: &Value, is_secret: bool, whence: &mut Vec<String>) -> Value {
    match value {
        Value::String(text) => Value::String(filled(text, is_secret, whence)),
        Value::Array(items) => {
            let items = items.iter().map(|item| shown(item, is_secret, whence));
            Value::Array(items.collect())
        }
        Value::Table(table) => {
            let entries = table.iter().map(|(name, inner)| {
                let lower = name.to_lowercase();
                let is_secret = is_secret || SECRET_WORDS.iter().any(|word| lower.contains(word));
                (name.clone(), shown(inner, is_secret, whence))
            });
            Value::Table(entries.collect())
        }
        _ if is_secret => {
            whence.push("value withheld".to_owned());
            Value::String(WITHHELD.to_owned())
        }
        other => other.clone(),
    }
}

fn filled(text: &str, is_secret: bool, whence: &mut Vec<String>) -> String {
    let (mut shown, mut rest, mut from_file) = (String::new(), text, false);
    while let Some((before, after)) = rest.split_once('$') {
        shown.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            shown.push('$');
            rest = after;
            continue;
        }
        let Some((name, after)) = after.strip_prefix('{').and_then(|inner| inner.split_once('}')) else {
            break;
        };
        rest = after;
        if let Some(path) = name.strip_prefix("file:") {
            from_file = true;
            whence.push(format!("file {path}, value withheld"));
        } else {
            let withheld = if is_secret { ", value withheld" } else { "" };
            whence.push(format!("environment variable {name}{withheld}"));
            shown.push_str(&std::env::var(name).unwrap_or_default());
        }
    }
    shown.push_str(rest);
    // An address may hold a login: https://user:password@host.
    let has_login = |text: &str| text.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    if from_file || is_secret || has_login(text) || has_login(&shown) {
        if whence.is_empty() {
            whence.push("value withheld".to_owned());
        }
        return WITHHELD.to_owned();
    }
    shown
}
