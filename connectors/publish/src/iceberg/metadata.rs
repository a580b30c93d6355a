//! The metadata of a table (the specification, "Table Metadata"), as JSON, so that nothing is lost which Lethe does not
//! use.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::schema::{Field, Nested, Type};

/// The branch that readers see.
pub(crate) const MAIN: &str = "main";
/// The property with the ids of columns by name, for files without ids.
pub(crate) const NAME_MAPPING: &str = "schema.name-mapping.default";

/// The metadata of a table.
#[derive(Clone, Debug)]
pub(crate) struct Metadata(pub(crate) Value);

impl Metadata {
    /// Returns a number of the metadata.
    ///
    /// # Errors
    /// The name of the number, if it is missing.
    pub(crate) fn number(&self, name: &str) -> Result<i64, String> {
        self.0[name].as_i64().ok_or_else(|| missing(name))
    }

    /// Returns a text of the metadata.
    ///
    /// # Errors
    /// The name of the text, if it is missing.
    pub(crate) fn text(&self, name: &str) -> Result<&str, String> {
        self.0[name].as_str().ok_or_else(|| missing(name))
    }

    /// Returns the table's location, without `/` at its end.
    ///
    /// # Errors
    /// If it is missing.
    pub(crate) fn location(&self) -> Result<&str, String> {
        Ok(self.text("location")?.trim_end_matches('/'))
    }

    /// Returns a property.
    pub(crate) fn property(&self, name: &str) -> Option<&str> {
        self.0["properties"][name].as_str()
    }

    /// Returns the snapshot that readers see; `None` if the table has none.
    ///
    /// # Errors
    /// If the metadata lack the snapshot that they name.
    pub(crate) fn snapshot(&self) -> Result<Option<&Value>, String> {
        match self.0["current-snapshot-id"].as_i64() {
            // Earlier writers wrote -1 for none.
            None | Some(-1) => Ok(None),
            Some(id) => find(&self.0["snapshots"], "snapshot-id", id)
                .map(Some)
                .ok_or_else(|| format!("the snapshot {id} is missing")),
        }
    }

    /// Returns the snapshot with this id.
    pub(crate) fn snapshot_of(&self, id: i64) -> Option<&Value> {
        find(&self.0["snapshots"], "snapshot-id", id)
    }

    /// Returns whether a column ever had another name than now, or a name another column.
    ///
    /// # Errors
    /// If a schema is damaged.
    pub(crate) fn renames(&self) -> Result<bool, String> {
        fn collect(field: &Field, path: &str, pairs: &mut BTreeSet<(i32, String)>) {
            let path = format!("{path}.{}", field.name);
            if let Type::Nested(Nested::Struct { fields }) = &field.of {
                fields.iter().for_each(|field| collect(field, &path, pairs));
            }
            pairs.insert((field.id, path));
        }
        let mut pairs = BTreeSet::new();
        for schema in self.0["schemas"].as_array().into_iter().flatten() {
            fields(schema)?
                .iter()
                .for_each(|field| collect(field, "", &mut pairs));
        }
        let ids: BTreeSet<i32> = pairs.iter().map(|(id, _)| *id).collect();
        let paths: BTreeSet<&String> = pairs.iter().map(|(_, path)| path).collect();
        Ok(ids.len() != pairs.len() || paths.len() != pairs.len())
    }

    /// Returns the schema that new rows have, as JSON.
    ///
    /// # Errors
    /// If it is missing.
    pub(crate) fn schema(&self) -> Result<&Value, String> {
        let id = self.number("current-schema-id")?;
        find(&self.0["schemas"], "schema-id", id).ok_or_else(|| format!("the schema {id} is missing"))
    }

    /// Returns the columns that new rows have.
    ///
    /// # Errors
    /// If the schema is missing or damaged.
    pub(crate) fn columns(&self) -> Result<Vec<Field>, String> {
        fields(self.schema()?)
    }

    /// Returns the columns that a snapshot had.
    ///
    /// # Errors
    /// If the schema is missing or damaged.
    pub(crate) fn columns_of(&self, snapshot: &Value) -> Result<Vec<Field>, String> {
        // Earlier writers named no schema.
        let Some(id) = snapshot["schema-id"].as_i64() else {
            return self.columns();
        };
        let schema = find(&self.0["schemas"], "schema-id", id);
        fields(schema.ok_or_else(|| format!("the schema {id} is missing"))?)
    }

    /// Returns the ids of all columns, and of parts of columns, that the table ever had, with their names.
    ///
    /// # Errors
    /// If a schema is damaged.
    pub(crate) fn known_ids(&self) -> Result<BTreeMap<i32, String>, String> {
        fn collect(field: &Field, known: &mut BTreeMap<i32, String>) {
            let mut ids = BTreeSet::new();
            field.ids(&mut ids);
            for id in ids {
                known.entry(id).or_default();
            }
            known.insert(field.id, field.name.clone());
            if let Type::Nested(Nested::Struct { fields }) = &field.of {
                fields.iter().for_each(|field| collect(field, known));
            }
        }
        let mut known = BTreeMap::new();
        for schema in self.0["schemas"].as_array().into_iter().flatten() {
            fields(schema)?
                .iter()
                .for_each(|field| collect(field, &mut known));
        }
        Ok(known)
    }

    /// Returns whether new rows are spread over partitions.
    ///
    /// # Errors
    /// If the rule of the partitions is missing.
    pub(crate) fn is_partitioned(&self) -> Result<bool, String> {
        let id = self.number("default-spec-id")?;
        let spec = find(&self.0["partition-specs"], "spec-id", id);
        let spec = spec.ok_or_else(|| format!("the partition spec {id} is missing"))?;
        Ok(spec["fields"].as_array().is_none_or(|fields| !fields.is_empty()))
    }
}

fn missing(name: &str) -> String {
    format!("`{name}` is missing or damaged")
}

fn find<'a>(list: &'a Value, key: &str, id: i64) -> Option<&'a Value> {
    list.as_array()?
        .iter()
        .find(|entry| entry[key].as_i64() == Some(id))
}

fn fields(schema: &Value) -> Result<Vec<Field>, String> {
    serde_json::from_value(schema["fields"].clone()).map_err(|error| format!("a schema is damaged ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn metadata(schemas: Value) -> Metadata {
        Metadata(json!({ "schemas": schemas }))
    }

    fn schema(fields: &[(i32, &str)]) -> Value {
        let field =
            |(id, name): &(i32, &str)| json!({ "id": id, "name": name, "required": false, "type": "string" });
        json!({ "type": "struct", "fields": fields.iter().map(field).collect::<Vec<_>>() })
    }

    #[test]
    fn a_renamed_column_and_a_name_that_was_used_again_are_renames_and_a_new_column_is_none() {
        let first = schema(&[(1, "note"), (2, "ward")]);
        let added = metadata(json!([first, schema(&[(1, "note"), (2, "ward"), (3, "site")])]));
        assert_eq!(added.renames(), Ok(false));
        let renamed = metadata(json!([first, schema(&[(1, "text"), (2, "ward")])]));
        assert_eq!(renamed.renames(), Ok(true));
        let used_again = metadata(json!([
            first,
            schema(&[(1, "note")]),
            schema(&[(1, "note"), (3, "ward")])
        ]));
        assert_eq!(used_again.renames(), Ok(true));
    }
}
