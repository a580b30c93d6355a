//! An Iceberg table.

use std::collections::{BTreeMap, BTreeSet};

use arrow_schema::Schema;
use lethe_connectors::store::crash;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::catalogue::{Answer, Catalogue, State};
use super::folder::Folder;
use super::metadata::{MAIN, Metadata, NAME_MAPPING};
use super::rest::Rest;
use super::schema::{Field, columns, fit};
use super::snapshot::{Builder, data_files_of};
use super::update::{LAST_ADDED, Requirement, Update};
use crate::list::{ListedFile, Listing};
use crate::table::{Commit, Ended, Table, TableFile};
use crate::{Content, IcebergTarget, Place, PublishError};

/// The format version that Lethe writes.
const VERSION: i64 = 2;
/// Properties of a table that Lethe creates. Files that leave the table are not deleted: they are files of a chain.
const PROPERTIES: [(&str, &str); 1] = [("gc.enabled", "false")];

/// An Iceberg table.
pub(crate) struct IcebergTable {
    catalogue: Catalogue,
    name: String,
    dataset: Place,
    /// What comes before the name of a dataset's file in manifests.
    base: String,
    content: Content,
}

impl IcebergTable {
    /// Opens a table, which need not exist, for the files of a dataset.
    ///
    /// # Errors
    /// The catalogue's error.
    pub(crate) fn open(
        target: &IcebergTarget,
        dataset: &Place,
        content: Content,
        runtime: &Handle,
    ) -> Result<Self, PublishError> {
        let (catalogue, name) = match target {
            IcebergTarget::Folder(place) => (
                Catalogue::Folder(Folder::open(place, dataset, runtime)?),
                place.to_string(),
            ),
            IcebergTarget::Catalogue { catalogue, name } => (
                Catalogue::Rest(Rest::open(catalogue, name, dataset, runtime)?),
                name.to_string(),
            ),
        };
        Ok(Self {
            catalogue,
            name,
            base: format!("{}/", dataset.location()),
            dataset: dataset.clone(),
            content,
        })
    }

    /// Opens a table to list its files, which lie in `input`.
    ///
    /// # Errors
    /// The catalogue's error.
    pub(crate) fn to_read(
        target: &IcebergTarget,
        input: &Place,
        runtime: &Handle,
    ) -> Result<Self, PublishError> {
        Self::open(target, input, Content::Notes, runtime)
    }

    /// Returns the files of a snapshot, and its columns.
    ///
    /// # Errors
    /// [`PublishError::Version`]; the catalogue's or the store's error.
    pub(crate) fn list(&self, snapshot: i64) -> Result<Listing, PublishError> {
        let refuse = |why: &str| PublishError::Version {
            table: self.name.clone(),
            version: snapshot,
            why: why.to_owned(),
        };
        let state = self.catalogue.load()?;
        let state = state.ok_or_else(|| refuse("does not exist, and neither does the table"))?;
        let entry = state.metadata.snapshot_of(snapshot);
        let entry = entry
            .ok_or_else(|| refuse("does not exist; the metadata table `snapshots` lists those that do"))?;
        if self.read(state.metadata.renames())? {
            return Err(refuse(
                "can have files with other names of columns, since a column of the table was renamed or its name was used again; \
                 write the rows to a new table",
            ));
        }
        let data = data_files_of(&self.name, &state, entry)?;
        if data.has_deletes {
            return Err(refuse(
                "has files with deleted rows; run `rewrite_data_files` with `delete-file-threshold` 1 and read the snapshot that it makes",
            ));
        }
        let files = data.files.into_iter().map(|file| {
            let name = file.location.strip_prefix(&self.base).map(str::to_owned);
            match (name, file.format.eq_ignore_ascii_case("parquet")) {
                (Some(name), true) => Ok(ListedFile {
                    name,
                    size: file.size.unsigned_abs(),
                }),
                (None, _) => Err(refuse(
                    "has files outside of the input; name a folder or prefix that has all of them",
                )),
                (_, false) => Err(refuse("has files in another format than Parquet")),
            }
        });
        let columns = self.read(state.metadata.columns_of(entry))?;
        Ok(Listing {
            files: files.collect::<Result<_, _>>()?,
            columns: columns.into_iter().map(|column| column.name).collect(),
        })
    }

    /// Refuses settings with which Lethe does not write.
    fn check(&self, state: &State) -> Result<(), PublishError> {
        let refuse = |why: String| {
            Err(PublishError::Table {
                table: self.name.clone(),
                why,
            })
        };
        let metadata = &state.metadata;
        let version = self.read(metadata.number("format-version"))?;
        if version != VERSION {
            return refuse(format!(
                "has format version {version}, and Lethe writes version {VERSION}"
            ));
        }
        if self.read(metadata.is_partitioned())? {
            return refuse("is partitioned, and files of chains are not".to_owned());
        }
        if metadata.property("gc.enabled") != Some("false") {
            return refuse(
                "lets engines delete the files of the chains that leave it (`gc.enabled` is not `false`); set the property, or"
                    .to_owned(),
            );
        }
        state.files.place().check_apart(&self.dataset)
    }

    /// Adds the table to a problem of its metadata.
    fn read<T>(&self, found: Result<T, String>) -> Result<T, PublishError> {
        found.map_err(|why| PublishError::Metadata {
            table: self.name.clone(),
            file: "its metadata".to_owned(),
            why,
        })
    }

    /// Returns the schema with the new columns, as JSON.
    fn extended(&self, metadata: &Metadata, new: &[Field]) -> Result<Value, PublishError> {
        let mut schema = self.read(metadata.schema())?.clone();
        let ids = metadata.0["schemas"].as_array().into_iter().flatten();
        let last = ids
            .filter_map(|schema| schema["schema-id"].as_i64())
            .max()
            .unwrap_or(0);
        schema["schema-id"] = (last + 1).into();
        if let Some(fields) = schema["fields"].as_array_mut() {
            fields.extend(new.iter().map(|field| json!(field)));
        }
        Ok(schema)
    }

    /// Returns the changes that make the schema the current one.
    fn set_schema(schema: Value, metadata: Option<&Metadata>, new: &[Field]) -> [Update; 2] {
        let mut ids = BTreeSet::new();
        new.iter().for_each(|field| field.ids(&mut ids));
        let before = metadata.and_then(|metadata| metadata.number("last-column-id").ok());
        let greatest = ids.last().map(|id| i64::from(*id));
        [
            Update::AddSchema {
                schema,
                last_column_id: greatest.max(before).unwrap_or(0),
            },
            Update::SetCurrentSchema {
                schema_id: LAST_ADDED,
            },
        ]
    }
}

impl Table for IcebergTable {
    type State = State;
    type Columns = Vec<Field>;

    fn name(&self) -> &str {
        &self.name
    }

    fn load(&self) -> Result<Option<State>, PublishError> {
        let state = self.catalogue.load()?;
        if let Some(state) = &state {
            self.check(state)?;
        }
        Ok(state)
    }

    fn version(state: &State) -> u64 {
        let number = state.metadata.number("last-sequence-number").unwrap_or(0);
        number.unsigned_abs()
    }

    fn published(&self, state: &State, chain: &str) -> Result<Option<i64>, PublishError> {
        let Some(end) = state.metadata.property(chain) else {
            return Ok(None);
        };
        let parsed = end
            .parse()
            .map_err(|_| format!("the property `{chain}` is not an offset"));
        self.read(parsed).map(Some)
    }

    fn files(&self, state: &State) -> Result<Vec<TableFile>, PublishError> {
        let Some(snapshot) = self.read(state.metadata.snapshot())? else {
            return Ok(Vec::new());
        };
        let data = data_files_of(&self.name, state, snapshot)?;
        let files = data.files.into_iter().filter_map(|file| {
            Some(TableFile {
                file: file.location.strip_prefix(&self.base)?.to_owned(),
                size: file.size.unsigned_abs(),
            })
        });
        Ok(files.collect())
    }

    fn fit(
        &self,
        state: Option<&State>,
        new: &mut Vec<Field>,
        file: &str,
        schema: &Schema,
    ) -> Result<(), PublishError> {
        let columns = columns(file, schema, self.content)?;
        let Some(state) = state else {
            return fit(&[], &BTreeMap::new(), new, file, &columns);
        };
        let table = self.read(state.metadata.columns())?;
        let known = self.read(state.metadata.known_ids())?;
        fit(&table, &known, new, file, &columns)
    }

    fn names(columns: &Vec<Field>) -> Vec<String> {
        columns.iter().map(|column| column.name.clone()).collect()
    }

    fn create(&self, columns: Vec<Field>) -> Result<(), PublishError> {
        let (uuid, location) = self.catalogue.stage()?;
        Place::of_location(&location)?.check_apart(&self.dataset)?;
        let schema = json!({ "type": "struct", "schema-id": 0, "fields": columns });
        let mut properties: BTreeMap<String, String> = PROPERTIES
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let mapping: Vec<Value> = columns.iter().map(Field::mapping).collect();
        properties.insert(NAME_MAPPING.to_owned(), json!(mapping).to_string());
        let mut updates = vec![
            Update::AssignUuid { uuid },
            Update::UpgradeFormatVersion { format_version: 2 },
        ];
        updates.extend(Self::set_schema(schema, None, &columns));
        updates.extend([
            Update::AddSpec {
                spec: json!({ "spec-id": 0, "fields": [] }),
            },
            Update::SetDefaultSpec { spec_id: LAST_ADDED },
            Update::AddSortOrder {
                sort_order: json!({ "order-id": 0, "fields": [] }),
            },
            Update::SetDefaultSortOrder {
                sort_order_id: LAST_ADDED,
            },
            Update::SetLocation { location },
            Update::SetProperties { updates: properties },
        ]);
        match self.catalogue.create(updates)? {
            Answer::Done => crash::point("table_created"),
            // Another writer created it.
            Answer::Refused => {}
            Answer::Unknown(error) => return Err(error),
        }
        Ok(())
    }

    fn commit(&self, state: &State, commit: Commit<Vec<Field>>) -> Result<Ended, PublishError> {
        let metadata = &state.metadata;
        let parent = self.read(metadata.snapshot())?;
        let mut requirements = vec![
            Requirement::TableUuid {
                uuid: self.read(metadata.text("table-uuid"))?.to_owned(),
            },
            Requirement::RefSnapshotId {
                r#ref: MAIN,
                snapshot_id: parent.and_then(|parent| parent["snapshot-id"].as_i64()),
            },
        ];
        let mut properties: BTreeMap<String, String> = commit
            .ends
            .into_iter()
            .map(|(chain, end)| (chain, end.to_string()))
            .collect();
        let mut updates = Vec::new();
        let mut columns = self.read(metadata.columns())?;
        let mut schema = self.read(metadata.schema())?.clone();
        if !commit.columns.is_empty() {
            requirements.extend([
                Requirement::CurrentSchemaId {
                    current_schema_id: self.read(metadata.number("current-schema-id"))?,
                },
                Requirement::LastAssignedFieldId {
                    last_assigned_field_id: self.read(metadata.number("last-column-id"))?,
                },
            ]);
            schema = self.extended(metadata, &commit.columns)?;
            updates.extend(Self::set_schema(schema.clone(), Some(metadata), &commit.columns));
            let mapping = metadata.property(NAME_MAPPING);
            let mapping = mapping.and_then(|mapping| serde_json::from_str::<Vec<Value>>(mapping).ok());
            let mut mapping = mapping.unwrap_or_else(|| columns.iter().map(Field::mapping).collect());
            mapping.extend(commit.columns.iter().map(Field::mapping));
            properties.insert(NAME_MAPPING.to_owned(), json!(mapping).to_string());
            columns.extend(commit.columns);
        }
        updates.push(Update::SetProperties { updates: properties });
        let mut prepared = None;
        if !commit.files.is_empty() {
            let builder = Builder::new(&self.name, state, &schema, &columns, &self.base)?;
            prepared = match commit.data_change {
                true => Some(builder.append(&commit.files)?),
                false => builder.replace(&commit.files)?,
            };
        }
        let mut version = Self::version(state);
        if let Some(prepared) = prepared {
            version += 1;
            let main = Update::move_main(metadata, prepared.id);
            updates.extend([
                Update::AddSnapshot {
                    snapshot: prepared.entry,
                },
                main,
            ]);
        }
        match self.catalogue.change(state, &requirements, updates)? {
            Answer::Done => Ok(Ended::Committed(version)),
            Answer::Refused => Ok(Ended::Conflict),
            Answer::Unknown(error) => Ok(Ended::Unknown(error)),
        }
    }
}
