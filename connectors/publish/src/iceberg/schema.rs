//! Columns of Iceberg, which have ids, and whether a file fits a table.
//!
//! Readers find a table's column in a file by its id, whatever its name is. Files have the ids of Lethe's columns, and
//! a table that Lethe creates takes them over. Files of earlier versions have none: readers then go by the names in
//! the table's name mapping.

use std::collections::{BTreeMap, BTreeSet};

use arrow_schema::{DataType as Arrow, Field as ArrowField, Schema, TimeUnit};
use lethe_connectors::sink::FieldIds;
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Content, PublishError};

/// A column, or a part of one. Attributes that Lethe does not use are lost, so that columns of a table are never
/// written back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Field {
    pub(crate) id: i32,
    pub(crate) name: String,
    pub(crate) required: bool,
    #[serde(rename = "type")]
    pub(crate) of: Type,
}

/// The type of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Type {
    /// A type without parts, by its name.
    Primitive(String),
    /// A type with parts.
    Nested(Nested),
}

/// A type with parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "kebab-case")]
pub(crate) enum Nested {
    Struct {
        fields: Vec<Field>,
    },
    List {
        element_id: i32,
        element_required: bool,
        element: Box<Type>,
    },
    /// Files of chains have none, but a table can.
    Map {
        key_id: i32,
        key: Box<Type>,
        value_id: i32,
        value_required: bool,
        value: Box<Type>,
    },
}

/// Returns the columns of a file. All are optional, so that files without a later column fit.
///
/// # Errors
/// [`PublishError::Column`] if Iceberg has no type for a column, or if it has no id.
pub(crate) fn columns(file: &str, schema: &Schema, content: Content) -> Result<Vec<Field>, PublishError> {
    let ids = match content {
        Content::Notes => FieldIds::NOTES,
        Content::Audit => FieldIds::AUDIT,
    };
    let column = |field: &arrow_schema::FieldRef| {
        column(field, field.name(), ids).map_err(|(column, why)| PublishError::Column {
            file: file.to_owned(),
            column,
            why,
        })
    };
    schema.fields().iter().map(column).collect()
}

/// Returns a column of a file; in errors, its path and the reason. A file of an earlier version has no ids: its columns
/// are Lethe's by their names.
fn column(field: &ArrowField, path: &str, ids: FieldIds) -> Result<Field, (String, String)> {
    let id = field.metadata().get(PARQUET_FIELD_ID_META_KEY);
    let id = id.and_then(|id| id.parse().ok()).or_else(|| ids.of(path));
    let id = id.ok_or_else(|| (path.to_owned(), "it has no field id".to_owned()))?;
    let of = match field.data_type() {
        Arrow::List(element) => {
            let element = column(element, &format!("{path}.element"), ids)?;
            Type::Nested(Nested::List {
                element_id: element.id,
                element_required: false,
                element: Box::new(element.of),
            })
        }
        Arrow::Struct(parts) => {
            let part = |part: &arrow_schema::FieldRef| column(part, &format!("{path}.{}", part.name()), ids);
            Type::Nested(Nested::Struct {
                fields: parts.iter().map(part).collect::<Result<_, _>>()?,
            })
        }
        other => Type::Primitive(primitive(other).map_err(|why| (path.to_owned(), why))?.to_owned()),
    };
    Ok(Field {
        id,
        name: field.name().clone(),
        required: false,
        of,
    })
}

/// Returns the name of a type in Iceberg (the specification, "Primitive Types").
fn primitive(arrow: &Arrow) -> Result<&'static str, String> {
    Ok(match arrow {
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View => "string",
        Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView => "binary",
        Arrow::Boolean => "boolean",
        Arrow::Int32 => "int",
        // Readers of Iceberg read unsigned numbers of 32 bits as numbers of 64.
        Arrow::Int64 | Arrow::UInt32 => "long",
        Arrow::Float32 => "float",
        Arrow::Float64 => "double",
        Arrow::Date32 => "date",
        Arrow::Timestamp(TimeUnit::Millisecond | TimeUnit::Microsecond, Some(_)) => "timestamptz",
        other => return Err(format!("Iceberg has no type for {other}")),
    })
}

/// Compares a file's columns with those of a table and with the ones to add, and adds the new ones to `new`.
/// `earlier` has the ids of all columns that the table ever had, with their names.
///
/// # Errors
/// [`PublishError::Column`] if a column has another type than in the table, its id or name belongs to another column,
/// or the table requires a column that the file lacks.
pub(crate) fn fit(
    table: &[Field],
    earlier: &BTreeMap<i32, String>,
    new: &mut Vec<Field>,
    file: &str,
    columns: &[Field],
) -> Result<(), PublishError> {
    let refuse = |column: &str, why: String| {
        Err(PublishError::Column {
            file: file.to_owned(),
            column: column.to_owned(),
            why,
        })
    };
    for column in columns {
        let with_id = |field: &&Field| field.id == column.id;
        if let Some(known) = table.iter().find(with_id).or_else(|| new.iter().find(with_id)) {
            if !same(&known.of, &column.of) {
                return refuse(
                    &column.name,
                    format!(
                        "it has type {} in the file and {} in the table; Lethe adds columns to a table, and changes none",
                        text(&column.of),
                        text(&known.of)
                    ),
                );
            }
            continue;
        }
        // Somebody dropped it from the table.
        if earlier.get(&column.id) == Some(&column.name) {
            continue;
        }
        let mut ids = BTreeSet::new();
        column.ids(&mut ids);
        if let Some(id) = ids.iter().find(|id| earlier.contains_key(id)) {
            return refuse(
                &column.name,
                format!("its field id {id} belongs to another column of the table"),
            );
        }
        let named = |field: &Field| field.name.eq_ignore_ascii_case(&column.name);
        if table.iter().chain(new.iter()).any(named) {
            return refuse(
                &column.name,
                format!(
                    "the table has a column of this name with another field id than {}",
                    column.id
                ),
            );
        }
        new.push(column.clone());
    }
    let lacks = |field: &&Field| field.required && !columns.iter().any(|column| column.id == field.id);
    match table.iter().find(lacks) {
        Some(field) => refuse(
            &field.name,
            "the table requires it, and the file does not have it".to_owned(),
        ),
        None => Ok(()),
    }
}

/// Returns whether two types are the same, apart from names of parts and whether they are required.
fn same(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Primitive(a), Type::Primitive(b)) => a == b,
        (
            Type::Nested(Nested::List {
                element_id: a_id,
                element: a,
                ..
            }),
            Type::Nested(Nested::List {
                element_id: b_id,
                element: b,
                ..
            }),
        ) => a_id == b_id && same(a, b),
        (Type::Nested(Nested::Struct { fields: a }), Type::Nested(Nested::Struct { fields: b })) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.id == b.id && same(&a.of, &b.of))
        }
        _ => false,
    }
}

/// Returns a type as the metadata of tables have it.
fn text(of: &Type) -> String {
    match of {
        Type::Primitive(name) => name.clone(),
        nested => serde_json::to_string(nested).unwrap_or_default(),
    }
}

impl Field {
    /// Collects its id and those of its parts.
    pub(crate) fn ids(&self, ids: &mut BTreeSet<i32>) {
        ids.insert(self.id);
        self.of.ids(ids);
    }

    /// Returns its entry in a name mapping (the specification, "Name Mapping Serialization").
    pub(crate) fn mapping(&self) -> Value {
        let mut entry = json!({ "field-id": self.id, "names": [self.name] });
        let parts = self.of.mapping();
        if !parts.is_empty() {
            entry["fields"] = Value::Array(parts);
        }
        entry
    }
}

impl Type {
    fn ids(&self, ids: &mut BTreeSet<i32>) {
        match self {
            Self::Primitive(_) => {}
            Self::Nested(Nested::Struct { fields }) => fields.iter().for_each(|field| field.ids(ids)),
            Self::Nested(Nested::List {
                element_id, element, ..
            }) => {
                ids.insert(*element_id);
                element.ids(ids);
            }
            Self::Nested(Nested::Map {
                key_id,
                key,
                value_id,
                value,
                ..
            }) => {
                ids.extend([*key_id, *value_id]);
                key.ids(ids);
                value.ids(ids);
            }
        }
    }

    fn mapping(&self) -> Vec<Value> {
        let part = |id: i32, name: &str, of: &Self| {
            Field {
                id,
                name: name.to_owned(),
                required: false,
                of: of.clone(),
            }
            .mapping()
        };
        match self {
            Self::Primitive(_) => Vec::new(),
            Self::Nested(Nested::Struct { fields }) => fields.iter().map(Field::mapping).collect(),
            Self::Nested(Nested::List {
                element_id, element, ..
            }) => vec![part(*element_id, "element", element)],
            Self::Nested(Nested::Map {
                key_id,
                key,
                value_id,
                value,
                ..
            }) => vec![part(*key_id, "key", key), part(*value_id, "value", value)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array, UInt32Array};
    use std::sync::Arc;

    fn field(id: i32, name: &str, of: &str) -> Field {
        Field {
            id,
            name: name.to_owned(),
            required: false,
            of: Type::Primitive(of.to_owned()),
        }
    }

    fn check(table: &[&Field], earlier: &[(i32, &str)], file: &[&Field]) -> Result<Vec<String>, String> {
        let [table, file] = [table, file].map(|fields| fields.iter().copied().cloned().collect::<Vec<_>>());
        let known = table.iter().map(|field| (field.id, field.name.clone()));
        let earlier = earlier.iter().map(|(id, name)| (*id, (*name).to_owned()));
        let mut new = Vec::new();
        fit(
            &table,
            &known.chain(earlier).collect(),
            &mut new,
            "notes/f.parquet",
            &file,
        )
        .map(|()| new.into_iter().map(|field| field.name).collect())
        .map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_without_ids_has_the_columns_of_one_with_ids() {
        let columns_of = |column: ArrayRef, ids: bool| {
            let field = ArrowField::new("redactions", column.data_type().clone(), false);
            let metadata = ids.then(|| (PARQUET_FIELD_ID_META_KEY.to_owned(), "15".to_owned()));
            let field = field.with_metadata(metadata.into_iter().collect());
            columns("f", &Schema::new(vec![field]), Content::Notes).unwrap()
        };
        let old = columns_of(Arc::new(UInt32Array::from(vec![1])), false);
        let new = columns_of(Arc::new(Int64Array::from(vec![1])), true);
        assert_eq!(old, [field(15, "redactions", "long")]);
        assert_eq!(old, new);
    }

    #[test]
    fn a_column_that_lethe_does_not_know_and_that_has_no_id_is_refused() {
        let schema = Schema::new(vec![ArrowField::new("mine", Arrow::Utf8, true)]);
        let error = columns("notes/f.parquet", &schema, Content::Notes).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("`mine`") && error.contains("notes/f.parquet"),
            "{error}"
        );
    }

    #[test]
    fn a_new_column_is_added_and_a_renamed_or_dropped_one_is_not() {
        let (a, b) = (field(1, "a", "long"), field(2, "b", "string"));
        assert_eq!(check(&[&a], &[], &[&a, &b]), Ok(vec!["b".to_owned()]));
        assert_eq!(check(&[&a, &b], &[], &[&a]), Ok(vec![]));
        assert_eq!(check(&[&field(1, "renamed", "long")], &[], &[&a]), Ok(vec![]));
        assert_eq!(check(&[&a], &[(2, "b")], &[&a, &b]), Ok(vec![]));
    }

    #[test]
    fn a_column_that_would_be_read_as_another_is_refused() {
        let (a, b) = (field(1, "a", "long"), field(2, "b", "string"));
        for (table, earlier, file) in [
            // Another type.
            (field(1, "a", "string"), &[][..], &a),
            // The id belonged to another column.
            (a.clone(), &[(2, "c")], &b),
            // The name belongs to another column.
            (field(9, "B", "string"), &[], &b),
        ] {
            let error = check(&[&table], earlier, &[&a, file]).unwrap_err();
            assert!(error.contains("notes/f.parquet"), "{error}");
        }
        let required = Field { required: true, ..b };
        let error = check(&[&a, &required], &[], &[&a]).unwrap_err();
        assert!(error.contains("requires"), "{error}");
    }

    #[test]
    fn columns_are_written_as_the_specification_says() {
        let beat = Field {
            of: Type::Nested(Nested::List {
                element_id: 5,
                element_required: false,
                element: Box::new(Type::Nested(Nested::Struct {
                    fields: vec![field(6, "start", "long")],
                })),
            }),
            ..field(4, "beat", "")
        };
        let start = json!({ "id": 6, "name": "start", "required": false, "type": "long" });
        let element = json!({ "type": "struct", "fields": [start] });
        let of = json!({ "type": "list", "element-id": 5, "element-required": false, "element": element });
        let written = json!({ "id": 4, "name": "beat", "required": false, "type": of });
        assert_eq!(json!(beat), written);
        assert_eq!(serde_json::from_value::<Field>(written).unwrap(), beat);
        let start = json!({ "field-id": 6, "names": ["start"] });
        let element = json!({ "field-id": 5, "names": ["element"], "fields": [start] });
        assert_eq!(
            beat.mapping(),
            json!({ "field-id": 4, "names": ["beat"], "fields": [element] })
        );
    }
}
