//! Looks into tables before they are read: whether they have the columns of the configuration.

use std::collections::{BTreeMap, BTreeSet};

use super::{Input, TableError, TableFormat, Tables, Unit, csv, jsonl, kind_of, parquet, partitions};
use lethe_core::nearest;

/// The maximum number of objects to look into: each takes a request or two.
const MOST: usize = 64;

/// What the first objects of the tables have.
#[derive(Debug, Default)]
pub struct Examined {
    /// Number of examined objects.
    pub objects: usize,
    /// Tables of which no examined object can be read with the configured columns, by the error of the first.
    pub unusable: Vec<TableError>,
    /// Objects that lack a column which others of their table have, and columns that the first lines of no
    /// JSON lines of a table have.
    pub doubtful: Vec<TableError>,
    /// The columns in the schemas of Parquet and the headers of CSV; fields of structs are paths. Keys of JSON
    /// lines are left out, since they may be values of a patient.
    pub columns: BTreeSet<String>,
}

impl Tables {
    /// Looks into the first object of each table, which is a folder apart from its partitions, and into
    /// further objects as long as they are few. Objects that cannot be read are left out, since reading them
    /// later reports it.
    pub fn examine(&self, units: &[Unit]) -> Examined {
        let mut examined = Examined::default();
        // The query was checked before its units were known.
        if let Ok(Some(columns)) = self.check_query() {
            examined.objects = 1;
            examined.columns = columns;
            return examined;
        }
        let mut errors: BTreeMap<String, (usize, Vec<TableError>)> = BTreeMap::new();
        let mut keys: BTreeMap<String, Keys> = BTreeMap::new();
        for unit in first(units) {
            let Ok((columns, lines)) = self.columns_of(unit) else {
                continue;
            };
            examined.objects += 1;
            let table = table_of(&unit.object.name);
            if let Some(lines) = lines {
                let known = keys.entry(table).or_insert_with(|| Keys::of(&unit.shown));
                known.lines += lines;
                known.names.extend(columns);
                continue;
            }
            let (objects, errors) = errors.entry(table).or_default();
            *objects += 1;
            if let Err(error @ TableError::Column { .. }) = self.read(unit, 0) {
                errors.push(error);
            } else {
                examined.columns.extend(columns);
            }
        }
        examined.doubtful = keys.values().flat_map(|keys| self.absent(keys)).collect();
        for (objects, mut found) in errors.into_values() {
            if found.len() == objects && objects > 0 && !found.is_empty() {
                examined.unusable.push(found.swap_remove(0));
            } else {
                examined.doubtful.extend(found);
            }
        }
        examined
    }

    /// Returns the columns of an object, and for JSON lines the number of lines that were read for them.
    fn columns_of(&self, unit: &Unit) -> Result<(BTreeSet<String>, Option<usize>), TableError> {
        let Input::Store(store) = &self.input else {
            return Ok((BTreeSet::new(), None));
        };
        let remote = self.remote(store, &unit.object, &unit.shown);
        let name = &unit.object.name;
        let Some((format, compression)) = kind_of(name, self.config.format) else {
            return Ok((BTreeSet::new(), None));
        };
        let (mut columns, lines) = match format {
            TableFormat::Parquet => (parquet::columns(&remote)?, None),
            TableFormat::Csv => {
                let (_, names) = csv::opened(&remote, compression, &self.config)?;
                (names.into_iter().collect(), None)
            }
            TableFormat::Jsonl => {
                let (keys, lines) = jsonl::keys(&remote, compression, &self.config)?;
                (keys, Some(lines))
            }
        };
        columns.extend(partitions::of(name).into_iter().map(|(name, _)| name));
        Ok((columns, lines))
    }

    /// Returns the configured columns that the first lines of a table do not have.
    fn absent(&self, keys: &Keys) -> Vec<TableError> {
        let mut wanted = self.config.columns.all();
        wanted.retain(|wanted| keys.lines > 0 && !keys.names.contains(&wanted.path));
        let each = wanted.into_iter().map(|wanted| TableError::Column {
            object: keys.object.clone(),
            problem: format!(
                "is in none of the first {} lines{}",
                keys.lines,
                did_you_mean(&wanted.path, keys.names.iter().map(String::as_str))
            ),
            key: wanted.key,
            column: wanted.path,
        });
        each.collect()
    }
}

/// The keys of the first JSON lines of a table.
struct Keys {
    /// The first object.
    object: String,
    names: BTreeSet<String>,
    lines: usize,
}

impl Keys {
    fn of(object: &str) -> Self {
        Self {
            object: object.to_owned(),
            names: BTreeSet::new(),
            lines: 0,
        }
    }
}

/// Returns the question after an unknown name, or nothing.
pub(super) fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// Returns a unit of each object to look into: of the first object of every table, then of others.
fn first(units: &[Unit]) -> Vec<&Unit> {
    let (mut tables, mut objects) = (BTreeSet::new(), BTreeSet::new());
    let objects = units.iter().filter(|unit| objects.insert(&unit.object.name));
    let (firsts, others): (Vec<_>, Vec<_>) =
        objects.partition(|unit| tables.insert(table_of(&unit.object.name)));
    firsts.into_iter().chain(others).take(MOST).collect()
}

/// Returns the folder of an object without its partitions.
fn table_of(name: &str) -> String {
    let folders = name.rsplit_once('/').map_or("", |(folders, _)| folders);
    let plain: Vec<&str> = folders
        .split('/')
        .filter(|folder| !folder.contains('='))
        .collect();
    plain.join("/")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{Memory, Store as _};
    use crate::tables::TablesConfig;

    /// Examines these objects for the columns `note_id`, `note` and, if it is given, one more.
    fn examined(objects: &[(&str, &str)], more: Option<&str>) -> Examined {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let store = Arc::new(Memory::default());
        for (name, text) in objects {
            let bytes = bytes::Bytes::copy_from_slice(text.as_bytes());
            runtime.block_on(store.create(name, bytes)).unwrap();
        }
        let config: TablesConfig = serde_json::from_value(serde_json::json!({
            "input": { "kind": "folder", "path": "/nowhere" },
            "columns": { "text": ["note"], "keep": more.into_iter().collect::<Vec<_>>(), "note_id": "note_id" },
        }))
        .unwrap();
        let tables = Tables {
            config,
            input: Input::Store(store),
            runtime: runtime.handle().clone(),
            later: std::sync::Mutex::default(),
        };
        let units = tables.units(None).unwrap().units;
        tables.examine(&units)
    }

    #[test]
    fn a_column_that_no_object_of_a_table_has_is_named_with_the_one_that_it_is_like() {
        let found = examined(
            &[
                ("a/1.csv", "note_id,note\n"),
                ("b/1.csv", "note_id,notes\n"),
                ("b/2.csv", "note_id,notes\n"),
            ],
            None,
        );
        let told: Vec<String> = found.unusable.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].contains("b/1.csv")
                && told[0].contains("`note`")
                && told[0].contains("did you mean `notes`?"),
            "{told:?}"
        );
        assert_eq!(found.objects, 3);
        assert_eq!(Vec::from_iter(found.columns), ["note", "note_id"]);
    }

    #[test]
    fn one_object_without_a_column_does_not_make_its_table_unusable() {
        let found = examined(&[("1.csv", "note_id,note\n"), ("2.csv", "id,text\n")], None);
        assert!(found.unusable.is_empty());
        assert_eq!(found.doubtful.len(), 1);
    }

    #[test]
    fn partitions_are_columns_and_do_not_part_a_table() {
        let found = examined(
            &[
                ("t/ward=1/a.csv", "note_id,note\n"),
                ("t/ward=2/a.csv", "note_id,note\n"),
            ],
            Some("ward"),
        );
        assert!(found.unusable.is_empty() && found.doubtful.is_empty());
        assert_eq!(table_of("t/ward=1/a.csv"), "t");
    }

    #[test]
    fn a_key_that_the_first_json_lines_lack_is_a_doubt() {
        let line = "{\"note_id\": 1, \"note\": \"x\", \"ward\": {\"name\": \"y\"}}\n";
        let found = examined(&[("a.jsonl", line), ("b.jsonl", line)], Some("ward.nam"));
        assert!(found.unusable.is_empty());
        let told: Vec<String> = found.doubtful.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].contains("first 2 lines") && told[0].contains("`ward.name`"),
            "{told:?}"
        );
    }
}
