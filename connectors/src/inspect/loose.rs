//! Inspects a single file as far as that is possible without its neighbours.

use std::fmt;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, UInt32Type};
use lethe_core::AuditBatch;
use serde::Serialize;

use super::backfill::Look;
use super::columns::{Batches, Wanted, schema_of};
use super::walk::Walk;
use super::{DatasetError, Scope};
use crate::erase::Erasures;
use crate::replay::{ReplayName, read_replay};
use crate::sink::{ChainError, ChainId, Footer, PartName, Tail, read_footer, read_metadata};
use crate::store::{Store, StoreError};

/// The report of a single file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FileReport {
    /// The file.
    pub file: String,
    /// Its kind: `notes`, `rows` (of a backfill), `replayed`, `audit`, or `unknown`.
    pub kind: &'static str,
    /// Number of rows.
    pub rows: u64,
    /// The checks that were skipped, and why.
    pub not_checked: Vec<String>,
    /// The faults.
    pub faults: Vec<DatasetError>,
}

impl fmt::Display for FileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {}, {} rows; footer and counts checked",
            self.file, self.kind, self.rows
        )?;
        for what in &self.not_checked {
            writeln!(f, "  not checked: {what}")?;
        }
        for fault in &self.faults {
            writeln!(f, "  FAULT: {fault}")?;
        }
        Ok(())
    }
}

/// Splits a path into the dataset's folder and the file's name in it if the path looks like that of a
/// dataset's file; otherwise into its own folder and name.
pub fn locate(path: &Path) -> (PathBuf, String) {
    let is_placed = |name: &str| {
        ChainId::parse_notes(name).is_some()
            || ChainId::parse_audit(name).is_some()
            || PartName::parse(name).is_some()
            || PartName::parse_audit(name).is_some()
            || ReplayName::parse(name).is_some()
            || ReplayName::parse_audit(name).is_some()
    };
    let name_in = |root: &Path| Some(path.strip_prefix(root).ok()?.to_str()?.to_owned());
    let placed = path.ancestors().skip(1).take(6).find_map(|root| {
        let name = name_in(root)?;
        is_placed(&name).then(|| (root.to_owned(), name))
    });
    placed.unwrap_or_else(|| {
        let root = path.parent().unwrap_or(Path::new("")).to_owned();
        let name = path.file_name().unwrap_or_default();
        (root, name.to_string_lossy().into_owned())
    })
}

/// Inspects one file, and its audit file if that is where its footer says or in the same folder.
///
/// # Errors
/// The store's error.
pub(super) async fn inspect_file(
    store: &dyn Store,
    name: &str,
    scope: &Scope,
) -> Result<FileReport, StoreError> {
    let mut report = FileReport {
        file: name.to_owned(),
        kind: "unknown",
        ..FileReport::default()
    };
    let metadata = match read_metadata(store, name).await {
        Ok((metadata, _)) => metadata,
        Err(error) => {
            report.wrong(error)?;
            return Ok(report);
        }
    };
    report.rows = u64::try_from(metadata.file_metadata().num_rows()).unwrap_or_default();
    let pairs = metadata.file_metadata().key_value_metadata();
    let has = |key: &str| pairs.into_iter().flatten().any(|pair| pair.key == key);
    let schema = match schema_of(store, name).await {
        Ok(schema) => schema,
        Err(error) => {
            report.wrong(error)?;
            return Ok(report);
        }
    };
    let column = |name: &str| schema.column_with_name(name).is_some();
    if !has("lethe.format") {
        report.unreadable("its footer was not written by this program");
    } else if column("out_start") {
        report.kind = "audit";
        let rows = pairs
            .into_iter()
            .flatten()
            .find(|pair| pair.key == "lethe.audit_rows");
        let rows = rows.and_then(|pair| pair.value.as_deref()?.parse().ok());
        report.audit(store, name, rows).await?;
    } else if column("lethe_kind") {
        report.kind = "rows";
        report.part(store, scope).await?;
    } else if has("lethe.replay_of_digest") {
        report.kind = "replayed";
        report
            .not_checked
            .push("its rows: give the whole dataset".to_owned());
        if let Err(error) = read_replay(store, name).await {
            report.wrong(error)?;
        }
    } else if has("lethe.next_offset") {
        report.kind = "notes";
        report.notes(store, scope).await?;
    } else {
        report.unreadable("this command cannot check a single file of its kind");
    }
    Ok(report)
}

impl FileReport {
    fn unreadable(&mut self, why: &str) {
        self.faults.push(DatasetError::Unreadable {
            file: self.file.clone(),
            why: why.to_owned(),
        });
    }

    fn wrong(&mut self, error: ChainError) -> Result<(), StoreError> {
        match error {
            ChainError::Store(error) => return Err(error),
            ChainError::Footer { why, .. } => self.unreadable(&why),
            other => self.unreadable(&other.to_string()),
        }
        Ok(())
    }

    /// Returns the audit file's name: the one in the footer, or a file of that name in the same folder.
    async fn find(&self, store: &dyn Store, audit: &str) -> Result<Option<String>, StoreError> {
        let base = audit.rsplit('/').next().unwrap_or(audit);
        let sibling = match self.file.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{base}"),
            None => base.to_owned(),
        };
        for name in [audit.to_owned(), sibling] {
            match store.look(&name).await {
                Ok(_) => return Ok(Some(name)),
                Err(StoreError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Checks a notes file of a chain.
    async fn notes(&mut self, store: &dyn Store, scope: &Scope) -> Result<(), StoreError> {
        let footer: Footer = match read_footer(store, &self.file).await {
            Ok(footer) => footer,
            Err(error) => return self.wrong(error),
        };
        let named = ChainId::parse_notes(&self.file);
        if named.is_some_and(|(chain, first)| chain != footer.chain || first != footer.first) {
            self.unreadable(&format!(
                "the footer belongs to {} from offset {}",
                footer.chain, footer.first
            ));
        }
        self.not_checked
            .push("its own digest, which the next file of its chain holds".to_owned());
        let erasures = Erasures::read(store).await?;
        let audit = match &footer.audit {
            Some(audit) => self.find(store, audit).await?,
            None => None,
        };
        if let (Some(audit), None) = (&footer.audit, &audit) {
            self.not_checked
                .push(format!("its audit file {audit}, which was not found"));
        }
        let tail = Tail {
            first: footer.first,
            next: footer.next,
            file: self.file.clone(),
            footer,
        };
        let mut walk = Walk::new(store, tail.footer.chain.clone(), scope, &erasures);
        walk.alone(&tail, audit.as_deref()).await?;
        self.faults.append(&mut walk.report.faults);
        Ok(())
    }

    /// Checks a part of a backfill.
    async fn part(&mut self, store: &dyn Store, scope: &Scope) -> Result<(), StoreError> {
        self.not_checked
            .push("its own digest, which the manifest holds".to_owned());
        let mut look = Look::new(store, scope, self.file.clone());
        look.alone = true;
        if let Ok(footer) = crate::sink::read_part(store, &self.file).await
            && let Some((audit, _)) = &footer.audit
        {
            look.audit_at = self.find(store, audit).await?;
            if look.audit_at.is_none() {
                self.not_checked
                    .push(format!("its audit file {audit}, which was not found"));
            }
        }
        look.part(true).await?;
        self.faults.append(&mut look.faults);
        Ok(())
    }

    /// Checks an audit file: its rows against its footer and against each other.
    async fn audit(&mut self, store: &dyn Store, name: &str, rows: Option<u64>) -> Result<(), StoreError> {
        self.not_checked
            .push("its notes: give the file that refers to it, or the whole dataset".to_owned());
        match rows {
            Some(footer) if footer != self.rows => self.faults.push(DatasetError::Count {
                file: name.to_owned(),
                of: "audit rows",
                footer,
                found: self.rows,
            }),
            Some(_) => {}
            None => self
                .not_checked
                .push("its rows, which its footer does not count".to_owned()),
        }
        if let Err(error) = self.spans(store, name).await {
            self.wrong(error)?;
        }
        Ok(())
    }

    async fn spans(&mut self, store: &dyn Store, name: &str) -> Result<(), ChainError> {
        let schema = AuditBatch::schema();
        let wanted = Wanted {
            schema: &schema,
            must: &["offset", "start", "end", "out_start", "out_end"],
            may: &[],
        };
        let mut batches = Batches::open(store, name, &wanted).await?;
        let mut wrong = None;
        while let Some(batch) = batches.next().await? {
            let numbers = |name: &str| batch[name].as_primitive::<UInt32Type>();
            let (start, end) = (numbers("start"), numbers("end"));
            let (out_start, out_end) = (numbers("out_start"), numbers("out_end"));
            let offsets = batch["offset"].as_primitive::<Int64Type>();
            let turned = (0..batch.num_rows())
                .find(|&row| start.value(row) > end.value(row) || out_start.value(row) > out_end.value(row));
            wrong = wrong.or(turned.map(|row| offsets.value(row)));
        }
        self.faults.extend(wrong.map(|offset| DatasetError::Row {
            file: name.to_owned(),
            offset,
            why: "its span ends before it begins",
        }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_dataset_is_found_with_its_dataset_and_any_other_with_its_folder() {
        let name = ChainId::new("t", 0).notes_name(7);
        let path = Path::new("/data/set").join(&name);
        assert_eq!(locate(&path), (PathBuf::from("/data/set"), name));
        let path = Path::new("/data/copy.parquet");
        assert_eq!(locate(path), (PathBuf::from("/data"), "copy.parquet".to_owned()));
    }
}
