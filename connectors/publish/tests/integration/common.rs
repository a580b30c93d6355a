//! A dataset of synthetic notes in the folder of a table, and a reader of the table that shares no code with the writer.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type};
use delta_kernel::engine::arrow_data::EngineDataArrowExt as _;
use delta_kernel::{Snapshot, SnapshotRef};
use delta_kernel_default_engine::executor::tokio::TokioMultiThreadExecutor;
use delta_kernel_default_engine::{DefaultEngine, DefaultEngineBuilder};
use lethe_connectors::sink::{ChainId, Encoding, Fingerprints, LaneWriter};
use lethe_connectors::store::{Folder, FolderConfig, Store};
use lethe_core::{
    Action, AuditBatch, Carried, CarriedField, Coordinates, Decision, LabelSet, MemberSet, NoteBatch,
    NoteEvent, Outcome, Record, RedactedBatch, Redactor, Span,
};
use lethe_publish::{IcebergTarget, Place, PublishError, Report, Target, publish};
use tokio::runtime::Runtime;

/// A topic whose name is encoded in the names of files, and again in the table's log.
pub(crate) const TOPIC: &str = "notes in/é";

pub(crate) fn chain(partition: i32) -> ChainId {
    ChainId::new(TOPIC, partition)
}

/// A table with a dataset in it, and a runtime.
pub(crate) struct Site {
    pub(crate) root: tempfile::TempDir,
    pub(crate) runtime: Runtime,
    pub(crate) store: Arc<dyn Store>,
}

impl Site {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("notes/_lethe");
        Self {
            store: Arc::new(Folder::open(&FolderConfig { path }).unwrap()),
            runtime: tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .unwrap(),
            root,
        }
    }

    pub(crate) fn table(&self) -> PathBuf {
        self.root.path().join("notes")
    }

    pub(crate) fn audit_table(&self) -> PathBuf {
        self.root.path().join("audit")
    }

    pub(crate) fn dataset(&self) -> PathBuf {
        self.table().join("_lethe")
    }

    /// Appends a file with the rows of these offsets to the chain of a partition.
    pub(crate) fn append(&self, partition: i32, offsets: std::ops::Range<i64>) {
        self.runtime.block_on(async {
            let store = self.store.as_ref();
            let opened =
                LaneWriter::open(store, chain(partition), 0, fingerprints(), Encoding::default()).await;
            let mut writer = opened.unwrap();
            let (notes, audit) = redact(partition, offsets);
            writer.push(&notes, &audit).unwrap();
            writer.commit(store).await.unwrap();
        });
    }

    pub(crate) fn publish(&self) -> Result<Report, PublishError> {
        let place = |path: PathBuf| Place::parse(path.to_str().unwrap()).unwrap();
        let [notes, audit] = [self.table(), self.audit_table()].map(|path| Target::Delta(place(path)));
        publish(
            self.runtime.handle(),
            &place(self.dataset()),
            &notes,
            Some(&audit),
        )
    }

    /// Returns the folder of an Iceberg table, which is not the one that the dataset lies in.
    pub(crate) fn iceberg_table(&self) -> PathBuf {
        self.root.path().join("iceberg")
    }

    /// Publishes the notes to an Iceberg table in a folder.
    pub(crate) fn publish_iceberg(&self) -> Result<Report, PublishError> {
        let place = |path: PathBuf| Place::parse(path.to_str().unwrap()).unwrap();
        let table = IcebergTarget::Folder(place(self.iceberg_table()));
        publish(
            self.runtime.handle(),
            &place(self.dataset()),
            &Target::Iceberg(table),
            None,
        )
    }

    /// Runs the program on the Delta table and the audit's.
    pub(crate) fn program(&self) -> Command {
        let mut command = self.publisher();
        command.arg("--delta").arg(self.table());
        command.arg("--audit-table").arg(self.audit_table());
        command
    }

    /// Runs the program on the Iceberg table in a folder.
    pub(crate) fn iceberg_program(&self) -> Command {
        let mut command = self.publisher();
        command.arg("--iceberg").arg(self.iceberg_table());
        command
    }

    /// Runs the program on the dataset, without a table.
    pub(crate) fn publisher(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lethe-publish"));
        command.arg(self.dataset());
        command
            .env_remove("LETHE_CRASH_AT")
            .env_remove("LETHE_STORE_FAULTS")
            .env_remove("LETHE_LOG");
        command
    }

    /// Returns an engine that reads and writes files by itself.
    pub(crate) fn engine(&self) -> DefaultEngine<TokioMultiThreadExecutor> {
        let executor = Arc::new(TokioMultiThreadExecutor::new(self.runtime.handle().clone()));
        DefaultEngineBuilder::new(Arc::new(object_store::local::LocalFileSystem::new()))
            .with_task_executor(executor)
            .build()
    }

    pub(crate) fn snapshot(&self, table: &Path) -> SnapshotRef {
        Snapshot::builder_for(table.to_str().unwrap())
            .build(&self.engine())
            .unwrap()
    }

    /// Returns how often each partition and offset is in the table.
    pub(crate) fn rows(&self, table: &Path) -> BTreeMap<(i32, i64), usize> {
        let engine = Arc::new(self.engine());
        let snapshot = self.snapshot(table);
        let schema = snapshot.schema().project(&["partition", "offset"]).unwrap();
        let scan = snapshot.scan_builder().with_schema(schema).build().unwrap();
        let mut rows = BTreeMap::new();
        for batch in scan.execute(engine).unwrap() {
            let batch = batch.unwrap().try_into_record_batch().unwrap();
            let partitions = batch.column(0).as_primitive::<Int32Type>();
            let offsets = batch.column(1).as_primitive::<Int64Type>();
            for (partition, offset) in partitions.values().iter().zip(offsets.values()) {
                *rows.entry((*partition, *offset)).or_default() += 1;
            }
        }
        rows
    }

    /// Asserts that the table has exactly the rows of these offsets, each once.
    #[track_caller]
    pub(crate) fn assert_rows(&self, chains: &[(i32, i64)]) {
        let due = chains
            .iter()
            .flat_map(|&(partition, end)| (0..end).map(move |offset| ((partition, offset), 1)));
        assert_eq!(self.rows(&self.table()), due.clone().collect());
        // Each note has one redaction.
        assert_eq!(self.rows(&self.audit_table()), due.collect());
    }

    /// Returns all commits of a table, as text.
    pub(crate) fn log(&self, table: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(table.join("_delta_log"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        names.retain(|name| name.extension().is_some_and(|extension| extension == "json"));
        names.sort();
        names
            .iter()
            .map(|name| std::fs::read_to_string(name).unwrap())
            .collect()
    }
}

pub(crate) fn fingerprints() -> Fingerprints {
    Fingerprints {
        cluster: Some("cluster-1".into()),
        topic_id: Some("topic-1".into()),
        config: "c0ffee".into(),
        mode: Some("safe-harbor".into()),
        policy: "tag".into(),
        bundle: None,
        members: "known".into(),
        labels: "i2b2-2014 1".into(),
        dictionaries: "d1c7".into(),
        tokenizer: "1".into(),
        program: "0.1.0".into(),
        acknowledged: None,
        kept: None,
        derivation: None,
        scheme: None,
    }
}

/// Returns notes at these offsets, and their redaction: the first fifteen bytes of each, which are its name.
fn redact(partition: i32, offsets: std::ops::Range<i64>) -> (RedactedBatch, AuditBatch) {
    static LABELS: LazyLock<LabelSet> = LazyLock::new(LabelSet::i2b2_2014);
    let labels = &*LABELS;
    let carried = Carried::new(vec![
        CarriedField::NoteId,
        CarriedField::PatientId,
        CarriedField::AuthoredAt,
    ]);
    let redactor = Redactor::new(labels, Action::Tag, carried);
    let records = offsets.map(|offset| {
        Record::Note(NoteEvent {
            at: Coordinates {
                topic: Arc::from(TOPIC),
                partition,
                offset,
            },
            note_id: format!("canary-note-{offset}").into(),
            patient_id: Some(format!("canary-patient-{offset}").into()),
            authored_at: Some(1_700_000_000_000 + offset),
            text: format!("Greta Lindqvist was seen again, canary-text {offset}. She sleeps well.").into(),
            ..NoteEvent::default()
        })
    });
    let batch = NoteBatch::from_records(records).unwrap();
    let patient = labels.by_name("PATIENT").unwrap();
    let decide = |_| -> Outcome {
        Ok(vec![Decision::new(
            Span::between(0, 15),
            patient,
            MemberSet::default().with(0),
            1.0,
        )])
    };
    let outcomes: Vec<Outcome> = batch.notes().map(decide).collect();
    let (redacted, audit, _) = redactor
        .redact(labels, &["known".to_owned()], &batch, &outcomes)
        .unwrap();
    (redacted, audit)
}
