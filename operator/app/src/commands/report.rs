//! `lethe report`: what was done to a dataset, for people who decide about its release.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use lethe_connectors::inspect::summarise;
use lethe_connectors::store::{FolderConfig, StoreConfig};

use super::documents::create;
use super::run::runtime;
use crate::bundle_argument::bundle_argument;
use crate::cli::ReportArgs;
use crate::config::load;
use crate::exit::usage;
use crate::progress::Progress;
use crate::redact::RECORD;
use crate::report::{Bundles, Report, of_dataset, of_evaluation, of_folder, to_html, to_markdown};

/// Writes the report.
pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<()> {
    let mut report = report(args)?;
    if let Some(path) = &args.evaluation {
        report.sections.push(of_evaluation(path).map_err(usage)?);
    }
    let text = match args.json {
        true => serde_json::to_string_pretty(&report)? + "\n",
        false => to_markdown(&report),
    };
    if let Some(path) = &args.html {
        let mut out = create(path)?;
        out.write_all(to_html(&report).as_bytes())?;
        return Ok(out.flush()?);
    }
    let mut out = create(args.output.as_deref().unwrap_or(Path::new("-")))?;
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

fn report(args: &ReportArgs) -> anyhow::Result<Report> {
    let config = args.config.as_deref().map(load).transpose()?;
    let configured = config.as_ref().and_then(|config| config.engine.bundle.as_deref());
    let named = args.bundle.as_deref().or(configured);
    let folder = named.map(bundle_argument).transpose()?;
    let bundles = Bundles::read(folder.as_deref()).map_err(usage)?;
    if let Some(path) = args.path.as_deref().filter(|path| path.join(RECORD).is_file()) {
        return of_folder(path, &bundles);
    }
    let store = match (&args.path, config) {
        (Some(path), _) if path.is_dir() => StoreConfig::Folder(FolderConfig {
            path: path.to_owned(),
        }),
        (Some(path), _) => return Err(usage(format!("{}: no such folder", path.display()))),
        (None, Some(config)) => {
            let sink = config.sink;
            sink.ok_or_else(|| usage("the configuration has no `[sink]`"))?
                .store
        }
        (None, None) => return Err(usage("give a folder or --config")),
    };
    let store = store.build()?;
    let mut progress = Progress::start("reading", "files", None);
    let summary = runtime()?
        .block_on(summarise(store.as_ref(), |now| progress.reach(now.files, now.of)))
        .context("the dataset cannot be read; `lethe inspect` says more")?;
    progress.finish();
    if summary.files == 0 {
        return Err(usage(format!(
            "{}: no chains, no backfill and no record of `lethe redact`; is this the folder or the store of an output?",
            store.describe()
        )));
    }
    Ok(of_dataset(&summary, &store.describe(), &bundles))
}
