//! `lethe ensemble publish | versions | roll-back`: manages the versions of a stream's bundle.

use std::io::Write as _;
use std::path::Path;

use lethe_dictionaries::Dictionary;
use lethe_ensemble::Versions;

use crate::cli::{PublishArgs, RollBackArgs, VersionsArgs};
use crate::exit::usage;

/// Makes a bundle the current version.
pub(crate) fn publish(args: &PublishArgs) -> anyhow::Result<()> {
    let name = Versions::publish(&args.to, &args.bundle, &Dictionary::builtin()).map_err(usage)?;
    writeln!(std::io::stdout(), "{name}")?;
    Ok(())
}

/// Prints the versions: first those that were in use, starting with the current one, then the others.
pub(crate) fn list(args: &VersionsArgs) -> anyhow::Result<()> {
    let versions = versions(&args.folder)?;
    let used = versions.used().map_err(usage)?;
    let mut to = std::io::stdout().lock();
    for (place, name) in used.iter().enumerate() {
        let state = if place == 0 { "current" } else { "before" };
        writeln!(to, "{name}  {state}")?;
    }
    for name in versions.names().map_err(usage)? {
        if !used.contains(&name) {
            writeln!(to, "{name}  not in use")?;
        }
    }
    Ok(())
}

/// Rolls back to another version.
pub(crate) fn roll_back(args: &RollBackArgs) -> anyhow::Result<()> {
    let name = versions(&args.folder)?
        .roll_back(args.to.as_deref())
        .map_err(usage)?;
    writeln!(std::io::stdout(), "{name}")?;
    Ok(())
}

fn versions(folder: &Path) -> anyhow::Result<Versions> {
    Versions::of(folder).ok_or_else(|| {
        usage(format!(
            "{}: not a folder of versions; create one with `lethe ensemble publish BUNDLE --to {}`",
            folder.display(),
            folder.display()
        ))
    })
}
