//! `lethe inspect`: is an output dataset whole.

use std::io::Write as _;
use std::time::Duration;

use lethe_connectors::inspect;
use lethe_connectors::store::{FolderConfig, StoreConfig};

use super::run::runtime;
use crate::cli::InspectArgs;
use crate::config::load;
use crate::exit::{Coded, Failure, usage};
use crate::progress::Progress;

/// An audit file younger than this may be one that a writer is about to name.
const ORPHAN_AGE: Duration = Duration::from_secs(3600);

/// Inspects a dataset.
pub(crate) fn run(args: &InspectArgs) -> anyhow::Result<()> {
    let store = match (&args.path, &args.config) {
        (Some(path), _) if !path.is_dir() => {
            return Err(usage(format!("{} is not a folder", path.display())));
        }
        (Some(path), _) => StoreConfig::Folder(FolderConfig { path: path.clone() }),
        (None, Some(config)) => {
            load(config)?
                .sink
                .ok_or_else(|| usage("the configuration has no `[sink]`"))?
                .store
        }
        (None, None) => return Err(usage("give a folder or --config")),
    };
    let runtime = runtime()?;
    let store = store.build()?;
    let mut progress = Progress::start("inspecting", "files", None);
    let report = runtime.block_on(inspect::inspect(store.as_ref(), |now| {
        progress.reach(now.files, now.of)
    }))?;
    progress.finish();
    let mut to = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut to, &report)?;
        writeln!(to)?;
    } else {
        write!(to, "{report}")?;
    }
    if args.remove_orphans {
        let removed = runtime.block_on(inspect::remove_orphans(store.as_ref(), &report, ORPHAN_AGE))?;
        for name in &removed {
            writeln!(to, "removed {name}")?;
        }
        writeln!(to, "{} orphans removed", removed.len())?;
    }
    match report.is_intact() {
        true => Ok(()),
        false => Err(Coded(Failure::Found, "the dataset is not intact; see above".to_owned()).into()),
    }
}
