//! The page of every configuration key, from the JSON Schema.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::markdown::{GENERATED, binary, code, fragment, inline, table};

/// The version that introduced a key, unless the key has its own `x-since`.
const SINCE: &str = "0.1.0";

/// Titles of tables that several keys share.
const TITLES: [(&str, &str); 6] = [
    ("Fields", "Field paths"),
    ("MemberConfig", "Members"),
    ("Operation", "Policy actions"),
    ("RegistryConfig", "Schema registry"),
    ("Security", "TLS and login"),
    ("StoreConfig", "Store"),
];

const INTRODUCTION: &str = "# Configuration reference

Every key of a configuration file. [Configuration](../configuration.md) explains how to write one, and the
[policy reference](../policy-reference.md) explains policies.

Lethe refuses unknown keys. Any string may contain `${NAME}` for an environment variable and `${file:PATH}`
for the content of a file. A default of `none` means that the key is optional and has no fixed value; its
meaning says what happens without it. `lethe schema config` prints the JSON Schema of this page. To have an
editor check a file against it, begin the file with

```toml
#:schema lethe.schema.json
```

where the path leads to [lethe.schema.json](lethe.schema.json).

";

/// Returns the page.
pub(super) fn page(schema: &Value) -> String {
    let none = Map::new();
    let mut writer = Writer {
        definitions: schema.get("$defs").and_then(Value::as_object).unwrap_or(&none),
        uses: BTreeMap::new(),
        shared: Vec::new(),
        sections: Vec::new(),
    };
    count(schema, &mut writer.uses);
    writer.section(2, "Top level", "", schema);
    let own = writer.sections.len();
    let mut at = 0;
    // A shared table may contain another one, which is then the last.
    while let Some((name, paths)) = writer.shared.get(at) {
        let (name, definitions) = (*name, writer.definitions);
        let key = paths.first().and_then(|path| path.rsplit('.').next());
        let key = key.unwrap_or_default().to_owned();
        writer.section(2, title(name), &key, &definitions[name]);
        at += 1;
    }
    let mut page = format!("{GENERATED}{INTRODUCTION}");
    for (at, section) in writer.sections.iter().enumerate() {
        if at == own {
            page.push_str("# Shared tables\n\nSeveral keys have these tables as their value.\n\n");
        }
        page.push_str(&section.heading);
        let users = writer
            .shared
            .iter()
            .find(|(name, _)| section.title == title(name));
        if let Some((_, paths)) = users {
            let mut paths: Vec<_> = paths.iter().map(|path| code(path)).collect();
            paths.sort();
            paths.dedup();
            page.push_str(&format!("Used by {}.\n\n", paths.join(", ")));
        }
        page.push_str(&section.body);
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// Counts the references to each definition.
fn count<'a>(value: &'a Value, uses: &mut BTreeMap<&'a str, usize>) {
    match value {
        Value::Object(object) => {
            if let Some(name) = referred(value) {
                *uses.entry(name).or_default() += 1;
            }
            object.values().for_each(|value| count(value, uses));
        }
        Value::Array(items) => items.iter().for_each(|item| count(item, uses)),
        _ => {}
    }
}

fn referred(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

fn title(definition: &str) -> &str {
    let titled = TITLES.iter().find(|(name, _)| *name == definition);
    titled.map_or(definition, |&(_, title)| title)
}

fn text<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the alternatives of a schema.
fn choices(schema: &Value) -> &[Value] {
    let all = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    all.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

/// Returns the key and value that distinguish an alternative, for instance `kind` and `kafka`.
fn tag(schema: &Value) -> Option<(&str, &Value)> {
    properties(schema).find_map(|(name, value)| Some((name.as_str(), value.get("const")?)))
}

/// The text about one table.
struct Section {
    title: String,
    heading: String,
    body: String,
}

struct Writer<'a> {
    definitions: &'a Map<String, Value>,
    uses: BTreeMap<&'a str, usize>,
    /// Definitions that get a section of their own, with the keys that refer to them.
    shared: Vec<(&'a str, Vec<String>)>,
    sections: Vec<Section>,
}

impl<'a> Writer<'a> {
    /// Follows a reference.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        let target = referred(schema).and_then(|name| self.definitions.get(name));
        target.unwrap_or(schema)
    }

    /// Returns whether a value is a table with keys of its own.
    fn is_table(&self, schema: &'a Value) -> bool {
        let resolved = self.resolved(schema);
        let alternatives = choices(resolved);
        properties(resolved).next().is_some()
            || (!alternatives.is_empty() && alternatives.iter().all(|one| text(one, "type") == "object"))
    }

    /// Returns the table with keys of its own that a value is, or that its items are, and the heading of the
    /// section that describes it.
    fn described(&self, path: &str, schema: &'a Value) -> Option<(&'a Value, String)> {
        let resolved = self.resolved(schema);
        let (inner, list) = match (resolved.get("items"), resolved.get("additionalProperties")) {
            (Some(items), _) => (items, true),
            (None, Some(values)) if values.is_object() => (values, false),
            _ => (schema, false),
        };
        if !self.is_table(inner) {
            return None;
        }
        let heading = match referred(inner) {
            Some(name) if self.uses[name] > 1 => title(name).to_owned(),
            _ if list => format!("`[[{path}]]`"),
            _ => format!("`[{path}]`"),
        };
        Some((inner, heading))
    }

    /// Writes the section of a table, and those of the tables in it.
    fn section(&mut self, depth: usize, title: &str, path: &str, schema: &'a Value) {
        let schema = self.resolved(schema);
        let mut body = String::new();
        if !path.is_empty() {
            body.push_str(&paragraph(schema));
        }
        let mut inner = Vec::new();
        body.push_str(&self.keys(path, schema, &mut inner));
        let (tagged, others): (Vec<_>, Vec<_>) = choices(schema).iter().partition(|one| tag(one).is_some());
        let rows = others.into_iter().flat_map(properties);
        let rows: Vec<_> = rows
            .map(|(name, value)| self.row(path, name, value, false))
            .collect();
        if !rows.is_empty() {
            body.push_str(&format!("Set exactly one of these keys.\n\n{}", keys_table(rows)));
        }
        for variant in tagged {
            if let Some((name, value)) = tag(variant) {
                let heading = format!("{} `{name} = {}`\n\n", "#".repeat(depth + 1), inline(value));
                body.push_str(&heading);
            }
            body.push_str(&paragraph(variant));
            body.push_str(&self.keys(path, variant, &mut inner));
        }
        self.sections.push(Section {
            title: title.to_owned(),
            heading: format!("{} {title}\n\n", "#".repeat(depth)),
            body,
        });
        for (title, path, schema) in inner {
            let depth = if path.contains('.') { 3 } else { 2 };
            self.section(depth, &title, &path, schema);
        }
    }

    /// Returns the keys of a table, and adds the tables among them to `inner`.
    fn keys(
        &mut self,
        path: &str,
        schema: &'a Value,
        inner: &mut Vec<(String, String, &'a Value)>,
    ) -> String {
        let required = schema.get("required").and_then(Value::as_array);
        let required: Vec<_> = required.into_iter().flatten().filter_map(Value::as_str).collect();
        let mut rows = Vec::new();
        for (name, property) in properties(schema).filter(|(_, property)| property.get("const").is_none()) {
            rows.push(self.row(path, name, property, required.contains(&name.as_str())));
            let path = join(path, name);
            let Some((table, title)) = self.described(&path, property) else {
                continue;
            };
            match referred(table) {
                Some(definition) if self.uses[definition] > 1 => self.share(definition, path),
                _ => inner.push((title, path, table)),
            }
        }
        keys_table(rows)
    }

    fn share(&mut self, definition: &'a str, path: String) {
        match self.shared.iter_mut().find(|(name, _)| *name == definition) {
            Some((_, paths)) => paths.push(path),
            None => self.shared.push((definition, vec![path])),
        }
    }

    fn row(&self, path: &str, name: &str, property: &'a Value, is_required: bool) -> [String; 7] {
        let unit = match text(property, "x-unit") {
            "" if name.ends_with("_bytes") => "bytes",
            "" if name.ends_with("_seconds") => "s",
            unit => unit,
        };
        let example = property.get("examples").and_then(|all| all.get(0));
        let since = match text(property, "x-since") {
            "" => SINCE,
            since => since,
        };
        let path = join(path, name);
        [
            code(name),
            self.kind(&path, property, false),
            self.default(property, is_required, unit),
            unit.to_owned(),
            example.map(|value| code(&inline(value))).unwrap_or_default(),
            since.to_owned(),
            self.meaning(property),
        ]
    }

    fn default(&self, property: &'a Value, is_required: bool, unit: &str) -> String {
        let size = |value: &Value| value.as_u64().filter(|_| unit == "bytes").and_then(binary);
        match property.get("default") {
            _ if is_required => "required".to_owned(),
            // Its own section has the defaults of its keys.
            Some(Value::Object(_)) if self.is_table(property) => String::new(),
            Some(value) => match size(value) {
                Some(size) => format!("`{value}` ({size})"),
                None => code(&inline(value)),
            },
            None if self.is_table(property) => String::new(),
            None => "none".to_owned(),
        }
    }

    /// Returns the type of a value, in words.
    fn kind(&self, path: &str, schema: &'a Value, plural: bool) -> String {
        let s = if plural { "s" } else { "" };
        if self.is_table(schema) {
            let heading = self
                .described(path, schema)
                .map(|(_, heading)| heading)
                .unwrap_or_default();
            return format!("[table{s}](#{})", fragment(&heading));
        }
        let resolved = self.resolved(schema);
        let heading = self
            .described(path, schema)
            .map(|(_, heading)| fragment(&heading));
        let inner = |schema: &'a Value| match &heading {
            Some(to) => format!("[tables](#{to})"),
            None => self.kind(path, schema, true),
        };
        match (resolved.get("type"), choices(resolved)) {
            (Some(Value::Array(names)), _) => {
                let names: Vec<_> = names.iter().filter_map(Value::as_str).collect();
                names.join(" or ")
            }
            (Some(Value::String(name)), _) if name == "array" => match resolved.get("items") {
                Some(items) => format!("array{s} of {}", inner(items)),
                None => format!("array{s}"),
            },
            (Some(Value::String(name)), _) if name == "object" => {
                match resolved.get("additionalProperties") {
                    Some(values) if values.is_object() => format!("table{s} of {} by name", inner(values)),
                    _ => format!("table{s}"),
                }
            }
            (Some(Value::String(name)), _) => format!("{name}{s}"),
            (_, alternatives) => {
                let mut names: Vec<_> = alternatives
                    .iter()
                    // Only a key that is always a table has a section of its own.
                    .map(|one| match self.is_table(one) {
                        true => format!("table{s}"),
                        false => self.kind(path, one, plural),
                    })
                    .collect();
                names.dedup();
                names.join(" or ")
            }
        }
    }

    /// Returns the description of a key, with the values that it may have.
    fn meaning(&self, property: &'a Value) -> String {
        let own = text(property, "description");
        let own = if own.is_empty() {
            text(self.resolved(property), "description")
        } else {
            own
        };
        let mut meaning = own.replace("\n\n", "<br>");
        let values = self.values(property);
        if values.iter().all(|(_, described)| described.is_empty()) || values.len() > 8 {
            let names: Vec<_> = values.into_iter().map(|(value, _)| value).collect();
            if !names.is_empty() {
                meaning.push_str(&format!(" One of {}.", names.join(", ")));
            }
            return meaning;
        }
        for (value, described) in values {
            meaning.push_str(&format!("<br>{value}: {described}"));
        }
        meaning
    }

    /// Returns the values that a key, an item or an entry may have, with their descriptions.
    fn values(&self, schema: &'a Value) -> Vec<(String, &'a str)> {
        let resolved = self.resolved(schema);
        if self.is_table(schema) {
            return Vec::new();
        }
        let inner = resolved
            .get("items")
            .or_else(|| resolved.get("additionalProperties"));
        if let Some(inner) = inner.filter(|inner| inner.is_object()) {
            return self.values(inner);
        }
        let of = |schema: &'a Value| {
            let described = text(schema, "description");
            let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
            let values = schema.get("const").into_iter().chain(listed);
            let tables = properties(schema).map(|(name, _)| format!("{{ {name} = \"...\" }}"));
            let values = values.map(inline).chain(tables);
            values.map(move |value| (code(&value), described))
        };
        let alone = resolved.get("enum").map(|_| resolved);
        alone.into_iter().chain(choices(resolved)).flat_map(of).collect()
    }
}

/// Returns the description of a table or of an alternative.
fn paragraph(schema: &Value) -> String {
    match text(schema, "description") {
        "" => String::new(),
        text => format!("{text}\n\n"),
    }
}

fn keys_table(rows: Vec<[String; 7]>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head = ["key", "type", "default", "unit", "example", "since", "meaning"];
    table(head, rows) + "\n"
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}
