//! `lethe backfill`: tables of a warehouse, or a shard of them.

use std::sync::Arc;

use lethe_connectors::Stop;
use lethe_connectors::secret::Secret;
use lethe_connectors::source::commands;
use lethe_connectors::tables::{TableColumns, TablesConfig, has_password};
use lethe_core::CarriedField;

use super::documents::print;
use super::run::{fingerprints, runtime};
use crate::backfill::{self, Backfill, Only};
use crate::background;
use crate::cli::{BackfillArgs, DatabaseArgs};
use crate::clinical::ClinicalTerms;
use crate::config::{BuiltEngine, Config, load};
use crate::exit::{Coded, Failure, usage};
use crate::pipeline::EngineVersion;
use crate::publish;
use crate::signals::{Overrun, stop_on_signal};
use crate::telemetry::{Build, Telemetry};

/// Runs the backfill of the configuration.
pub(crate) fn run(args: &BackfillArgs) -> anyhow::Result<()> {
    let mut config = load(&args.config)?.with_policy(args.policy.as_ref())?;
    if let Some(tables) = &mut config.backfill {
        query(tables, &args.database)?;
    }
    carry(&mut config);
    let config = Arc::new(config);
    let runtime = runtime()?;
    let (told, inbox) = commands();
    let stop = Stop::new(config.resources.drain());
    stop_on_signal(&runtime, told, &stop, Overrun::Wait)?;
    let tables = config
        .backfill
        .as_ref()
        .ok_or_else(|| usage("the configuration has no `[backfill]`; add it with the tables to read"))?;
    let sink = config
        .sink
        .as_ref()
        .ok_or_else(|| usage("the configuration has no `[sink]`; add it with the store for redacted rows"))?;
    config.telemetry.check(config.resources.drain())?;
    config.check_object_names()?;
    let only = args.only.as_deref().map(Only::read).transpose()?;
    let mut built = background::engine(&config, &stop)?;
    backfill::check(tables, built.engine.labels())?;
    keep(&tables.columns, &mut built)?;
    built.announce();
    let telemetry = Telemetry::new(&config.telemetry, runtime.handle())?;
    let server = telemetry.serve(&config.telemetry)?;
    telemetry.board().built(Build {
        bundle: built.bundle.clone().unwrap_or_default(),
        policy: built.policy.clone(),
        members: built.engine.members().to_vec(),
    });
    let store = sink
        .store
        .build()
        .map_err(|error| anyhow::anyhow!("`[sink.store]`: {error}"))?;
    let mut tables = tables.clone();
    publish::fill_in(&mut tables, &|| stop.is_requested())?;
    let backfill = Backfill {
        tables: &tables,
        engine_version: EngineVersion {
            engine: Arc::clone(&built.engine),
            fingerprints: fingerprints(&config, &built, None),
        },
        store,
        encoding: sink.encoding,
        workers: config.resources.worker_count(),
        limits: config.resources.limits()?,
        terms: ClinicalTerms::new(&built.words),
        telemetry: Arc::clone(&telemetry),
        shard: args.shard,
        only,
        stop,
    };
    let result = backfill::run(backfill, runtime.handle(), inbox);
    telemetry.shut_down();
    drop(server);
    let summary = result?;
    print(args.json, &summary, || summary.table())?;
    if let Some(why) = summary.unreadable() {
        return Err(Coded(Failure::Found, why).into());
    }
    // Outside the macro, which evaluates its arguments only if the level is on.
    let totals = summary.dataset;
    tracing::info!(
        rows = summary.run.rows,
        redacted = totals.redacted,
        quarantined = totals.quarantined,
        files = totals.files,
        "done: {summary}"
    );
    Ok(())
}

/// Returns the connection string of `--source`.
///
/// # Errors
/// A usage error if it contains a password, which other users of the machine could read.
pub(super) fn command_line_connection(source: &str) -> anyhow::Result<Secret> {
    if has_password(source) {
        return Err(usage(
            "--source: contains a password, which other users of this machine can read; leave it out, and set `PGPASSWORD`, `PGPASSFILE` or `backfill.database.password`",
        ));
    }
    Ok(source.into())
}

/// Applies the options that name a query.
///
/// # Errors
/// A usage error if the command line contains a password.
fn query(tables: &mut TablesConfig, args: &DatabaseArgs) -> anyhow::Result<()> {
    if args.source.is_none() && args.query.is_none() && args.key.is_none() {
        return Ok(());
    }
    let database = tables.database.get_or_insert_default();
    if let Some(source) = &args.source {
        database.connection = command_line_connection(source)?;
        tables.input = None;
    }
    if let Some(query) = &args.query {
        database.query.clone_from(query);
    }
    if let Some(key) = &args.key {
        database.key.clone_from(key);
    }
    Ok(())
}

/// Sets the fields of a note event that are kept, so that a policy whose mode forbids one refuses it.
pub(super) fn carry(config: &mut Config) {
    if let Some(tables) = &config.backfill {
        config.engine.redaction.keep = Some(carried(&tables.columns));
    }
}

/// Checks that kept columns have the reasons that the policy's mode requires, and adds the reasons to the
/// files' metadata.
///
/// # Errors
/// A usage error that names every column without a reason.
pub(super) fn keep(columns: &TableColumns, built: &mut BuiltEngine) -> anyhow::Result<()> {
    let unexplained = columns.unexplained();
    let listed = unexplained.join(", ");
    match built.mode {
        _ if unexplained.is_empty() => {}
        Some(mode @ ("safe-harbor" | "limited-data-set")) => {
            return Err(usage(format!(
                "key `backfill.columns.keep`: mode `{mode}` requires a reason for each kept column, and {listed} has none; explain in `backfill.columns.reasons` why it identifies nobody, or move it to `identifiers` or `text`"
            )));
        }
        _ => tracing::warn!(
            "columns that are kept unchanged: {listed}; move those that can contain a name or a number to `identifiers` or `text`"
        ),
    }
    let reasons = columns
        .reasons
        .iter()
        .map(|(path, reason)| format!("{path}: {reason}"));
    let all: Vec<String> = built.kept.take().into_iter().chain(reasons).collect();
    built.kept = (!all.is_empty()).then(|| all.join("; "));
    Ok(())
}

/// Returns the kept fields of a note event, which the policy's mode may forbid.
fn carried(columns: &TableColumns) -> Vec<CarriedField> {
    let fields = [
        (CarriedField::PatientId, &columns.patient_id),
        (CarriedField::NoteId, &columns.note_id),
        (CarriedField::EncounterId, &columns.encounter_id),
        (CarriedField::AuthorId, &columns.author_id),
        (CarriedField::NoteType, &columns.note_type),
        (CarriedField::AuthoredAt, &columns.authored_at),
    ];
    let kept = |path: &Option<String>| path.as_ref().is_some_and(|path| columns.keep.contains(path));
    fields
        .into_iter()
        .filter(|(_, path)| kept(path))
        .map(|(field, _)| field)
        .collect()
}
