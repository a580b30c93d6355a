//! `lethe profile`: proposes a treatment for each column of a table.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use lethe_connectors::tables::{DatabaseConfig, sample_query};
use lethe_core::LabelSet;

use super::backfill::command_line_connection;
use super::documents::print;
use super::run::runtime;
use crate::cli::ProfileArgs;
use crate::exit::usage;
use crate::profile::{Plan, propose};
use crate::redact::{FileKind, only_item, open_table};

/// Prints the proposal, and writes it to a file on request.
pub(crate) fn run(args: &ProfileArgs) -> anyhow::Result<()> {
    let labels = LabelSet::built_in_set(&args.labels).ok_or_else(|| {
        usage(format!(
            "--labels {}: is not one of {}",
            args.labels,
            LabelSet::built_in_ids()
        ))
    })?;
    let plan = match (&args.path, &args.source) {
        (Some(path), _) => of_file(args, path, &labels)?,
        (None, source) => {
            let database = DatabaseConfig {
                connection: command_line_connection(source.as_deref().unwrap_or_default())?,
                query: args.query.clone().unwrap_or_default(),
                ..DatabaseConfig::default()
            };
            let runtime = runtime()?;
            let (schema, rows) = match sample_query(&database, args.rows, runtime.handle()) {
                Err(error) if error.is_permanent() => return Err(usage(error)),
                other => other?,
            };
            propose(&schema, &rows, &labels)
        }
    };
    if let Some(path) = &args.out {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let mut file = file.with_context(|| format!("cannot create {}", path.display()))?;
        file.write_all(plan.to_toml()?.as_bytes())?;
    }
    print(args.json, &plan.rows(), || plan.to_text())
}

/// Proposes a treatment for the columns of a file.
fn of_file(args: &ProfileArgs, path: &Path, labels: &LabelSet) -> anyhow::Result<Plan> {
    let standard_input = path.as_os_str() == "-";
    let format = args.format.or_else(|| standard_input.then_some(FileKind::Csv));
    let name = path.display();
    let item = only_item(path, format).with_context(|| name.to_string())?;
    let content = item
        .open(&Arc::default())
        .with_context(|| format!("{name}: cannot be read"))?;
    let mut table = open_table(&item, content).with_context(|| name.to_string())?;
    let (mut rows, mut count) = (Vec::new(), 0);
    while count < args.rows {
        let Some(more) = table.next() else { break };
        let more = more.with_context(|| name.to_string())?;
        let more = more.slice(0, more.num_rows().min(args.rows - count));
        count += more.num_rows();
        rows.push(more);
    }
    let plan = propose(table.schema(), &rows, labels);
    if table.is_csv() && plan.has_values_for_names() {
        anyhow::bail!("{name}: its first line looks like a row and not like a header; add a header");
    }
    Ok(plan)
}
