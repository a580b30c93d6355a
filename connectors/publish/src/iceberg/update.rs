//! Changes of a table's metadata, and the conditions on them, as catalogues take them (the REST catalogue's
//! specification, `TableUpdate` and `TableRequirement`).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::metadata::{MAIN, Metadata};

/// The id of the schema, partition spec or sort order that the same commit adds.
pub(crate) const LAST_ADDED: i32 = -1;

/// A change of a table's metadata.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "action", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub(crate) enum Update {
    AssignUuid {
        uuid: String,
    },
    UpgradeFormatVersion {
        format_version: i32,
    },
    SetLocation {
        location: String,
    },
    AddSchema {
        schema: Value,
        last_column_id: i64,
    },
    SetCurrentSchema {
        schema_id: i32,
    },
    AddSpec {
        spec: Value,
    },
    SetDefaultSpec {
        spec_id: i32,
    },
    AddSortOrder {
        sort_order: Value,
    },
    SetDefaultSortOrder {
        sort_order_id: i32,
    },
    SetProperties {
        updates: BTreeMap<String, String>,
    },
    AddSnapshot {
        snapshot: Value,
    },
    /// Moves the main branch, and keeps its other settings.
    SetSnapshotRef {
        ref_name: &'static str,
        #[serde(flatten)]
        to: Value,
    },
}

/// A condition on a table's metadata.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub(crate) enum Requirement {
    #[serde(rename = "assert-create")]
    Create,
    #[serde(rename = "assert-table-uuid")]
    TableUuid { uuid: String },
    #[serde(rename = "assert-ref-snapshot-id")]
    RefSnapshotId {
        r#ref: &'static str,
        snapshot_id: Option<i64>,
    },
    #[serde(rename = "assert-current-schema-id")]
    CurrentSchemaId { current_schema_id: i64 },
    #[serde(rename = "assert-last-assigned-field-id")]
    LastAssignedFieldId { last_assigned_field_id: i64 },
}

impl Update {
    /// Returns the change that moves the main branch to a snapshot.
    pub(crate) fn move_main(metadata: &Metadata, snapshot: i64) -> Self {
        let mut to = match &metadata.0["refs"][MAIN] {
            Value::Object(branch) => Value::Object(branch.clone()),
            _ => json!({ "type": "branch" }),
        };
        to["snapshot-id"] = snapshot.into();
        Self::SetSnapshotRef { ref_name: MAIN, to }
    }

    /// Makes the change in metadata that no catalogue keeps.
    pub(crate) fn apply(self, metadata: &mut Metadata) {
        let to = &mut metadata.0;
        match self {
            Self::AssignUuid { uuid } => to["table-uuid"] = uuid.into(),
            Self::UpgradeFormatVersion { format_version } => to["format-version"] = format_version.into(),
            Self::SetLocation { location } => to["location"] = location.into(),
            Self::AddSchema {
                schema,
                last_column_id,
            } => {
                to["last-column-id"] = last_column_id.into();
                push(&mut to["schemas"], schema);
            }
            Self::SetCurrentSchema { .. } => to["current-schema-id"] = last(&to["schemas"], "schema-id"),
            Self::AddSpec { spec } => push(&mut to["partition-specs"], spec),
            Self::SetDefaultSpec { .. } => to["default-spec-id"] = last(&to["partition-specs"], "spec-id"),
            Self::AddSortOrder { sort_order } => push(&mut to["sort-orders"], sort_order),
            Self::SetDefaultSortOrder { .. } => {
                to["default-sort-order-id"] = last(&to["sort-orders"], "order-id");
            }
            Self::SetProperties { updates } => {
                for (key, value) in updates {
                    to["properties"][key] = value.into();
                }
            }
            Self::AddSnapshot { snapshot } => {
                to["last-sequence-number"] = snapshot["sequence-number"].clone();
                push(&mut to["snapshots"], snapshot);
            }
            Self::SetSnapshotRef { ref_name, to: branch } => {
                let id = branch["snapshot-id"].clone();
                let time = last(&to["snapshots"], "timestamp-ms");
                push(
                    &mut to["snapshot-log"],
                    json!({ "snapshot-id": id, "timestamp-ms": time }),
                );
                to["current-snapshot-id"] = id;
                to["refs"][ref_name] = branch;
            }
        }
    }
}

fn push(list: &mut Value, entry: Value) {
    match list {
        Value::Array(entries) => entries.push(entry),
        list => *list = Value::Array(vec![entry]),
    }
}

/// Returns a value of the last entry of a list.
fn last(list: &Value, key: &str) -> Value {
    let entry = list.as_array().and_then(|entries| entries.last());
    entry.map(|entry| entry[key].clone()).unwrap_or_default()
}
