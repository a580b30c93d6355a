//! A Delta table in a store.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::Schema;
use delta_kernel::committer::FileSystemCommitter;
use delta_kernel::engine::arrow_data::ArrowEngineData;
use delta_kernel::schema::{StructField, StructType};
use delta_kernel::table_features::ColumnMappingMode;
use delta_kernel::transaction::create_table::create_table;
use delta_kernel::transaction::{CommitResult, UpdateTableOperation};
use delta_kernel::{KernelError, Snapshot, SnapshotRef};
use delta_kernel_default_engine::executor::tokio::TokioMultiThreadExecutor;
use delta_kernel_default_engine::{DefaultEngine, DefaultEngineBuilder};
use lethe_connectors::store::{Store, crash};
use tokio::runtime::Handle;

use super::columns::{columns, fit};
use super::object_store::KernelStore;
use super::rows::rows;
use crate::list::{ListedFile, Listing};
use crate::place::{base, decode};
use crate::table::{Commit, Ended, Table, TableFile};
use crate::{Place, PublishError};

/// The table's place for the kernel: names of the table's store follow the last slash.
const ROOT: &str = "lethe:///";
/// The name of the writer in the table's history.
const WRITER: &str = concat!("lethe/", env!("CARGO_PKG_VERSION"));
/// The number of commits after which a checkpoint is due, unless the table says otherwise. Delta's own default.
const CHECKPOINT_INTERVAL: u64 = 10;
/// Properties of a table that Lethe creates. Rows are only added, and a file that a foreign operation takes out of the
/// table is not deleted: it is a file of a chain.
const PROPERTIES: [(&str, &str); 2] = [
    ("delta.appendOnly", "true"),
    ("delta.deletedFileRetentionDuration", "interval 36500 days"),
];

/// A Delta table in a store.
pub(crate) struct DeltaTable {
    store: Arc<dyn Store>,
    engine: DefaultEngine<TokioMultiThreadExecutor>,
    name: String,
    /// What comes before the name of a dataset's file in the table's log.
    base: String,
    runtime: Handle,
}

impl DeltaTable {
    /// Opens the place of a table, which need not exist, for the files of a dataset.
    ///
    /// # Errors
    /// The store's error; [`PublishError::Vacuum`] and [`PublishError::Inside`] if the dataset cannot lie where it does.
    pub(crate) fn open(place: &Place, dataset: &Place, runtime: &Handle) -> Result<Self, PublishError> {
        let base = base(place, dataset)?;
        Self::at(place, dataset, base, runtime)
    }

    /// Opens a table to list its files, which lie in `input`.
    ///
    /// # Errors
    /// The store's error.
    pub(crate) fn to_read(place: &Place, input: &Place, runtime: &Handle) -> Result<Self, PublishError> {
        Self::at(place, input, input.uri(), runtime)
    }

    fn at(place: &Place, dataset: &Place, base: String, runtime: &Handle) -> Result<Self, PublishError> {
        let store = place.clone().with_settings_of(dataset).open()?;
        let executor = Arc::new(TokioMultiThreadExecutor::new(runtime.clone()));
        let kernel_store = Arc::new(KernelStore::new(Arc::clone(&store)));
        Ok(Self {
            store,
            engine: DefaultEngineBuilder::new(kernel_store)
                .with_task_executor(executor)
                .build(),
            name: place.to_string(),
            base,
            runtime: runtime.clone(),
        })
    }

    /// Refuses settings that change what a file of a chain means, or that make the table forget what is published.
    fn check(&self, snapshot: &SnapshotRef) -> Result<(), PublishError> {
        let refuse = |why: &str| {
            Err(PublishError::Table {
                table: self.name.clone(),
                why: why.to_owned(),
            })
        };
        let properties = snapshot.table_properties();
        if properties.set_transaction_retention_duration.is_some() {
            return refuse(
                "forgets which offsets are published (`delta.setTransactionRetentionDuration`), so that rows would be added twice",
            );
        }
        if properties
            .column_mapping_mode
            .is_some_and(|mode| mode != ColumnMappingMode::None)
        {
            return refuse(
                "renames columns (`delta.columnMapping.mode`), and files of chains have the columns' own names",
            );
        }
        Ok(())
    }

    /// Writes a checkpoint if one is due after `since` commits, so that readers need not read the whole log, and
    /// returns whether it did. The table is complete without it: a failure is logged.
    fn checkpoint(&self, snapshot: &SnapshotRef, since: u64) -> bool {
        let interval = snapshot.table_properties().checkpoint_interval;
        if since < interval.map_or(CHECKPOINT_INTERVAL, std::num::NonZero::get) {
            return false;
        }
        match snapshot.checkpoint(&self.engine, None) {
            Ok(_) => {
                crash::point("checkpoint_written");
                true
            }
            Err(error) => {
                tracing::warn!(
                    "{}: cannot write a checkpoint ({error}); the table is complete without it",
                    self.name
                );
                false
            }
        }
    }

    /// Adds the table to an error of the kernel.
    fn kernel(&self, source: KernelError) -> PublishError {
        PublishError::Kernel {
            table: self.name.clone(),
            source: Box::new(source),
        }
    }
}

impl DeltaTable {
    /// Returns the files of a version. Relative paths are names in the table's folder, which is the input's.
    ///
    /// # Errors
    /// [`PublishError::Version`]; the kernel's error.
    pub(crate) fn list(&self, version: i64) -> Result<Listing, PublishError> {
        let refuse = |why: String| PublishError::Version {
            table: self.name.clone(),
            version,
            why,
        };
        let newest = Snapshot::builder_for(ROOT).build(&self.engine);
        let newest = newest.map_err(|error| self.kernel(error))?.version();
        let number = u64::try_from(version).ok().filter(|number| *number <= newest);
        let number = number.ok_or_else(|| refuse(format!("does not exist; the newest is {newest}")))?;
        let snapshot = Snapshot::builder_for(ROOT).at_version(number).build(&self.engine);
        let snapshot = snapshot.map_err(|error| self.kernel(error))?;
        let mapping = snapshot.table_properties().column_mapping_mode;
        if mapping.is_some_and(|mode| mode != ColumnMappingMode::None) {
            return Err(refuse(
                "renames columns (`delta.columnMapping.mode`), so that the files have other names; write the rows to a table without it"
                    .to_owned(),
            ));
        }
        let mut files = Vec::new();
        for file in self.scan(&snapshot)? {
            if file.has_deleted_rows {
                return Err(refuse(
                    "has files with deleted rows (deletion vectors); run `REORG TABLE ... APPLY (PURGE)` and read the version that it makes"
                        .to_owned(),
                ));
            }
            let name = match file.path.strip_prefix(&self.base) {
                Some(name) => decode(name),
                None if file.path.contains("://") || file.path.starts_with('/') => None,
                None => decode(&file.path),
            };
            let name = name.ok_or_else(|| refuse("has files outside of the table's folder".to_owned()))?;
            if !file
                .partitions
                .iter()
                .all(|(column, value)| is_named(&name, column, value))
            {
                return Err(refuse(
                    "has partitions whose values are not in the names of its files; write the rows to a table without partitions".to_owned(),
                ));
            }
            files.push(ListedFile {
                name,
                size: file.size.unsigned_abs(),
            });
        }
        let columns = snapshot
            .schema()
            .fields()
            .map(|field| field.name().clone())
            .collect();
        Ok(Listing { files, columns })
    }

    /// Returns the files that the log of a version names.
    fn scan(&self, snapshot: &SnapshotRef) -> Result<Vec<Scanned>, PublishError> {
        let scan = Arc::clone(snapshot).scan_builder().build();
        let scan = scan.map_err(|error| self.kernel(error))?;
        let parts = scan.scan_metadata(&self.engine);
        let mut found: Vec<Scanned> = Vec::new();
        for part in parts.map_err(|error| self.kernel(error))? {
            let visited = part.and_then(|part| {
                part.visit_scan_files(found, |found: &mut Vec<Scanned>, file| {
                    found.push(Scanned {
                        path: file.path,
                        size: file.size,
                        has_deleted_rows: file.dv_info.has_vector(),
                        partitions: file.partition_values,
                    });
                })
            });
            found = visited.map_err(|error| self.kernel(error))?;
        }
        Ok(found)
    }
}

/// A file of a version, as the log has it.
struct Scanned {
    path: String,
    size: i64,
    has_deleted_rows: bool,
    partitions: HashMap<String, String>,
}

/// Returns whether the name of a file has the value of a partition, as Spark writes it: `ward=4%20West/part-0.parquet`.
fn is_named(name: &str, column: &str, value: &str) -> bool {
    let folders = name.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders
        .split('/')
        .filter_map(|folder| folder.split_once('='))
        .any(|(key, found)| decode(key).as_deref() == Some(column) && decode(found).as_deref() == Some(value))
}

impl Table for DeltaTable {
    type State = SnapshotRef;
    type Columns = Vec<StructField>;

    fn name(&self) -> &str {
        &self.name
    }

    fn load(&self) -> Result<Option<SnapshotRef>, PublishError> {
        let log = self
            .runtime
            .block_on(self.store.list_page("_delta_log", None, 1))?;
        if log.is_empty() {
            return Ok(None);
        }
        let snapshot = Snapshot::builder_for(ROOT).build(&self.engine);
        let snapshot = snapshot.map_err(|error| self.kernel(error))?;
        self.check(&snapshot)?;
        Ok(Some(snapshot))
    }

    fn version(state: &SnapshotRef) -> u64 {
        state.version()
    }

    fn published(&self, snapshot: &SnapshotRef, chain: &str) -> Result<Option<i64>, PublishError> {
        let found = snapshot.get_app_id_version(chain, &self.engine);
        found.map_err(|error| self.kernel(error))
    }

    fn files(&self, snapshot: &SnapshotRef) -> Result<Vec<TableFile>, PublishError> {
        let own = self.scan(snapshot)?.into_iter().filter_map(|file| {
            Some(TableFile {
                file: decode(file.path.strip_prefix(&self.base)?)?,
                size: file.size.unsigned_abs(),
            })
        });
        Ok(own.collect())
    }

    fn fit(
        &self,
        state: Option<&SnapshotRef>,
        new: &mut Vec<StructField>,
        file: &str,
        schema: &Schema,
    ) -> Result<(), PublishError> {
        let columns = columns(file, schema)?;
        match state {
            Some(snapshot) => fit(&snapshot.schema(), new, file, &columns),
            None => {
                let none = StructType::try_new([]).map_err(|error| self.kernel(error))?;
                fit(&none, new, file, &columns)
            }
        }
    }

    fn names(columns: &Vec<StructField>) -> Vec<String> {
        columns.iter().map(|column| column.name.clone()).collect()
    }

    fn create(&self, columns: Vec<StructField>) -> Result<(), PublishError> {
        let schema = StructType::try_new(columns).map_err(|error| self.kernel(error))?;
        let built = create_table(ROOT, Arc::new(schema), WRITER, false)
            .with_table_properties(PROPERTIES)
            .build(&self.engine, Box::new(FileSystemCommitter::new()));
        let built = match built {
            Err(KernelError::TableAlreadyExistsAtPath(_)) => return Ok(()),
            built => built.map_err(|error| self.kernel(error))?,
        };
        match built.commit(&self.engine).map_err(|error| self.kernel(error))? {
            CommitResult::Committed(_) => crash::point("table_created"),
            CommitResult::Conflicted(_) => {}
            CommitResult::Retryable(retryable) => return Err(self.kernel(retryable.error)),
        }
        Ok(())
    }

    fn commit(
        &self,
        snapshot: &SnapshotRef,
        commit: Commit<Vec<StructField>>,
    ) -> Result<Ended, PublishError> {
        let operation = match commit.data_change {
            true => UpdateTableOperation::StreamingUpdate,
            false => UpdateTableOperation::Custom("LETHE ERASE".to_owned()),
        };
        let mut builder = Arc::clone(snapshot).update_table(operation, WRITER, commit.data_change);
        for column in commit.columns {
            builder = builder.add_column(column);
        }
        for (app_id, end) in commit.ends {
            builder = builder.with_transaction_id(app_id, end);
        }
        let built = builder.build(&self.engine, Box::new(FileSystemCommitter::new()));
        let mut transaction = built.map_err(|error| self.kernel(error))?;
        if !transaction.logical_partition_columns().is_empty() {
            return Err(PublishError::Table {
                table: self.name.clone(),
                why: "is partitioned, and files of chains are not".to_owned(),
            });
        }
        if !commit.files.is_empty() {
            let rows = rows(&self.base, &commit.files).map_err(|error| self.kernel(error.into()))?;
            transaction.add_files(Box::new(ArrowEngineData::new(rows)));
        }
        match transaction.commit(&self.engine) {
            Ok(CommitResult::Committed(committed)) => {
                crash::point("committed");
                let since = committed.post_commit_stats().commits_since_checkpoint;
                if let Some(now) = committed.post_commit_snapshot() {
                    self.checkpoint(now, since);
                }
                Ok(Ended::Committed(committed.commit_version()))
            }
            Ok(CommitResult::Conflicted(_)) => Ok(Ended::Conflict),
            Ok(CommitResult::Retryable(retryable)) => Ok(Ended::Unknown(self.kernel(retryable.error))),
            Err(error) => match self.kernel(error) {
                error if error.is_temporary() => Ok(Ended::Unknown(error)),
                error => Err(error),
            },
        }
    }
}
