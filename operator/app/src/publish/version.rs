//! Finds the files of a version of a table that a backfill reads.

use anyhow::Context as _;
use lethe_connectors::tables::{TableFormat, TableVersion, TablesConfig, VersionFiles};

use super::{STANDARD_INPUT, child, command};
use crate::cli::PublishDatasetArgs;
use crate::exit::usage;

/// Fills in the files of the version of a table, if the configuration names one. The same version always has the same
/// files, so that shards and later runs agree.
///
/// # Errors
/// A usage error if the settings are invalid, or if the table does not have the version; an error of the store or the
/// catalogue.
pub(crate) fn fill_in(tables: &mut TablesConfig, stopped: &dyn Fn() -> bool) -> anyhow::Result<()> {
    let Some(version) = &tables.table else {
        return Ok(());
    };
    let input = tables.input.as_ref().ok_or_else(|| {
        usage("key `backfill.table`: needs `backfill.input`, the folder or bucket that has the table's files")
    })?;
    if tables.format.is_some_and(|format| format != TableFormat::Parquet) {
        return Err(usage(
            "key `backfill.format`: a table has Parquet files; remove the key",
        ));
    }
    let folder = tables.folder.trim_matches('/').to_owned();
    let program = command(&options(version)?);
    let listed = child::run(program, &input.within(&folder), stopped)?;
    let mut listing: VersionFiles =
        serde_json::from_value(listed).context("lethe-publish printed no list of files")?;
    if !folder.is_empty() {
        for file in &mut listing.files {
            file.name = format!("{folder}/{}", file.name);
        }
    }
    tables.format = Some(TableFormat::Parquet);
    tables.version_files = Some(listing);
    Ok(())
}

/// Returns the options that name the table.
fn options(version: &TableVersion) -> anyhow::Result<PublishDatasetArgs> {
    let mut options = PublishDatasetArgs {
        dataset: STANDARD_INPUT.into(),
        list: Some(version.number()),
        ..PublishDatasetArgs::default()
    };
    match version {
        TableVersion::Delta { .. } => options.delta = Some(STANDARD_INPUT.into()),
        TableVersion::Iceberg {
            catalog: None,
            warehouse: None,
            table: None,
            ..
        } => options.iceberg = Some(STANDARD_INPUT.into()),
        TableVersion::Iceberg {
            catalog: Some(catalog),
            warehouse,
            table: Some(table),
            ..
        } => {
            options.iceberg = Some(table.into());
            options.catalog = Some(catalog.into());
            options.warehouse = warehouse.as_ref().map(Into::into);
        }
        TableVersion::Iceberg { .. } => {
            return Err(usage(
                "keys `backfill.table.catalog` and `backfill.table.table`: set both, or neither of them and no `warehouse`",
            ));
        }
    }
    Ok(options)
}
