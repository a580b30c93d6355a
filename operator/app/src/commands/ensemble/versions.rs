//! `lethe ensemble publish | versions | roll-back`: manages the versions of a stream's bundle.

use std::io::Write as _;
use std::path::Path;

use lethe_dictionaries::Dictionary;
use lethe_ensemble::Versions;
use serde::Serialize;

use crate::bundle_argument::bundle_argument;
use crate::cli::{PublishArgs, RollBackArgs, VersionsArgs};
use crate::commands::documents::print;
use crate::exit::usage;

/// Makes a bundle the current version.
pub(crate) fn publish(args: &PublishArgs) -> anyhow::Result<()> {
    let name = Versions::publish(&args.to, &bundle_argument(&args.bundle)?, &Dictionary::builtin());
    let name = name.map_err(usage)?;
    writeln!(std::io::stdout(), "{name}")?;
    Ok(())
}

/// Prints the versions: first those that were in use, starting with the current one, then the others.
pub(crate) fn list(args: &VersionsArgs) -> anyhow::Result<()> {
    let versions = versions(&args.folder)?;
    let used = versions.used().map_err(usage)?;
    let states = std::iter::once("current").chain(std::iter::repeat("before"));
    let mut listed: Vec<Version> = used
        .iter()
        .zip(states)
        .map(|(name, state)| Version {
            version: name.clone(),
            state,
        })
        .collect();
    let others = versions.names().map_err(usage)?.into_iter();
    listed.extend(others.filter(|name| !used.contains(name)).map(|version| Version {
        version,
        state: "not in use",
    }));
    print(args.json, &listed, || {
        let lines = listed
            .iter()
            .map(|Version { version, state }| format!("{version}  {state}\n"));
        lines.collect()
    })
}

/// A version, as it is printed.
#[derive(Serialize)]
struct Version {
    version: String,
    /// `current`, `before` or `not in use`.
    state: &'static str,
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
