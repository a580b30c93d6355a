//! Compares tables with the files of their dataset, and changes nothing.

use std::collections::BTreeMap;
use std::fmt;

use lethe_connectors::sink::{ChainId, find_chains};
use lethe_connectors::store::Store;
use tokio::runtime::Handle;

use crate::chain::Content;
use crate::delta::DeltaTable;
use crate::iceberg::IcebergTable;
use crate::table::{Table, TableFile};
use crate::{Place, PublishError, Target};

/// Differences between the tables of a dataset and its files.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CheckReport {
    /// The dataset.
    pub dataset: String,
    /// The tables, in the order in which they were read.
    pub tables: Vec<TableCheck>,
}

/// Differences between one table and the files of its dataset.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TableCheck {
    /// The table.
    pub table: String,
    /// What it holds.
    pub content: Content,
    /// The number of its state, as in [`crate::TableReport::version`]. `None` if the table does not exist.
    pub version: Option<u64>,
    /// The number of files of the dataset that the table names.
    pub files: u64,
    /// Files of the dataset that the table names and that do not exist.
    pub missing: Vec<String>,
    /// Files that have another size than in the table.
    pub resized: Vec<Resized>,
}

/// A file that has another size than in a table.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Resized {
    /// The file's name in the dataset.
    pub file: String,
    /// Its size in the table, in bytes.
    pub in_table: u64,
    /// Its size in bytes.
    pub in_dataset: u64,
}

impl CheckReport {
    /// Returns whether the notes' table exists, and each file that a table names exists and has its size. The audit has
    /// no table until it has a row.
    pub fn is_sound(&self) -> bool {
        self.tables.iter().all(|table| {
            let exists = table.version.is_some() || table.content == Content::Audit;
            exists && table.missing.is_empty() && table.resized.is_empty()
        })
    }
}

/// Compares tables with the dataset that was published to them. Blocks; call it outside of the runtime.
///
/// Takes time in proportion to all files, and reads none of them. Files of a table that lie outside of the dataset,
/// which another program wrote, are left out.
///
/// # Errors
/// [`PublishError`] if a table or the dataset cannot be read, or if the dataset has no chain.
pub fn check(
    runtime: &Handle,
    dataset: &Place,
    notes: &Target,
    audit: Option<&Target>,
) -> Result<CheckReport, PublishError> {
    let store = dataset.open()?;
    let chains = runtime.block_on(find_chains(store.as_ref()))?;
    if chains.is_empty() {
        return Err(PublishError::NoChains {
            dataset: dataset.to_string(),
        });
    }
    let tables = audit.map(|audit| (Content::Audit, audit));
    let tables = tables.into_iter().chain([(Content::Notes, notes)]);
    let mut report = CheckReport {
        dataset: dataset.to_string(),
        tables: Vec::new(),
    };
    for (content, target) in tables {
        target.check(dataset)?;
        // The table first: a file that is published in the meantime exists before the table names it.
        let (table, version, listed) = match target {
            Target::Delta(place) => read(&DeltaTable::open(place, dataset, runtime)?)?,
            Target::Iceberg(target) => read(&IcebergTable::open(target, dataset, content, runtime)?)?,
        };
        let sizes = runtime.block_on(sizes(store.as_ref(), content, &chains))?;
        report
            .tables
            .push(compare(table, content, version, listed, &sizes));
    }
    Ok(report)
}

fn read<T: Table>(table: &T) -> Result<(String, Option<u64>, Vec<TableFile>), PublishError> {
    let name = table.name().to_owned();
    match table.load()? {
        Some(state) => Ok((name, Some(T::version(&state)), table.files(&state)?)),
        None => Ok((name, None, Vec::new())),
    }
}

/// Returns the size of each file of the chains.
async fn sizes<'a>(
    store: &dyn Store,
    content: Content,
    chains: impl IntoIterator<Item = &'a ChainId>,
) -> Result<BTreeMap<String, u64>, PublishError> {
    let mut sizes = BTreeMap::new();
    for chain in chains {
        let folder = match content {
            Content::Notes => chain.notes_folder(),
            Content::Audit => chain.audit_folder(),
        };
        let objects = store.list_after(&folder, None).await?;
        sizes.extend(objects.into_iter().map(|object| (object.name, object.size)));
    }
    Ok(sizes)
}

fn compare(
    table: String,
    content: Content,
    version: Option<u64>,
    listed: Vec<TableFile>,
    sizes: &BTreeMap<String, u64>,
) -> TableCheck {
    let mut check = TableCheck {
        table,
        content,
        version,
        files: listed.len() as u64,
        missing: Vec::new(),
        resized: Vec::new(),
    };
    for TableFile { file, size } in listed {
        match sizes.get(&file) {
            None => check.missing.push(file),
            Some(&found) if found != size => check.resized.push(Resized {
                file,
                in_table: size,
                in_dataset: found,
            }),
            Some(_) => {}
        }
    }
    check.missing.sort_unstable();
    check.resized.sort_unstable_by(|a, b| a.file.cmp(&b.file));
    check
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for table in &self.tables {
            write!(f, "{table}")?;
        }
        Ok(())
    }
}

impl fmt::Display for TableCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content = self.content;
        let Some(version) = self.version else {
            return writeln!(f, "{content}: the table {} does not exist", self.table);
        };
        writeln!(
            f,
            "{content}: {} (version {version}) names {} files of the dataset; {} of them are missing, {} have another size",
            self.table,
            self.files,
            self.missing.len(),
            self.resized.len()
        )?;
        for file in &self.missing {
            writeln!(f, "  missing: {file}")?;
        }
        for Resized {
            file,
            in_table,
            in_dataset,
        } in &self.resized
        {
            writeln!(
                f,
                "  other size: {file} has {in_dataset} bytes, and {in_table} in the table"
            )?;
        }
        if !self.missing.is_empty() {
            writeln!(
                f,
                "Restore the missing files from a copy of the dataset; `lethe inspect` then checks their content."
            )?;
        }
        if !self.resized.is_empty() {
            writeln!(
                f,
                "Publish again: it renews the entries of files that an erasure replaced. If the sizes still differ, run `lethe inspect`."
            )?;
        }
        Ok(())
    }
}
