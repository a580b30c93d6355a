//! `lethe bundle`: shows, copies and changes bundles.

mod create;
mod measure;
mod quantize;
mod show;

use std::path::{Path, PathBuf};

use lethe_dictionaries::Dictionary;
use lethe_ensemble::{Bundle, BundleManifest, Rule, swap};

use crate::bundle_argument::{bundle_argument, model_argument};
use crate::cli::{BundleCommand, ExportArgs, SwapArgs};
use crate::exit::usage;

pub(super) use show::run as show;

/// Runs the subcommand.
pub(crate) fn run(command: &BundleCommand) -> anyhow::Result<()> {
    match command {
        BundleCommand::Show(args) => show::run(args),
        BundleCommand::Export(args) => export(args),
        BundleCommand::Swap(args) => swapped(args),
        BundleCommand::Quantize(args) => quantize::run(args),
        BundleCommand::Create(args) => create::run(args),
    }
}

/// Writes a copy of a bundle.
fn export(args: &ExportArgs) -> anyhow::Result<()> {
    free(&args.out, "DIR")?;
    let from = bundle_argument(&args.bundle)?;
    // A damaged bundle is not copied.
    let digest = Bundle::open(&from, &Dictionary::builtin())
        .map_err(usage)?
        .manifest
        .digest();
    Bundle::export(&from, &args.out).map_err(usage)?;
    tracing::info!("{}: bundle {digest}", args.out.display());
    Ok(())
}

/// Makes a bundle with other members.
fn swapped(args: &SwapArgs) -> anyhow::Result<()> {
    free(&args.out, "--out")?;
    let from = bundle_argument(&args.bundle)?;
    let members = members(&args.members)?;
    let manifest = swap(
        &from,
        &members,
        args.keep_combiner,
        &args.out,
        &Dictionary::builtin(),
    )
    .map_err(usage)?;
    measure::record(&args.out, &args.gold)?;
    told(&args.out)?;
    let fitted_to_scores = match &manifest.combine {
        Rule::Voting(vote) => !(vote.thresholds.is_empty() && vote.solo_min_score.is_empty()),
        _ => true,
    };
    if fitted_to_scores && args.gold.is_empty() {
        tracing::warn!(
            "the vote was fitted to the old members, and nothing was measured on the new ones: compare both bundles on notes that neither was \
             trained on (`lethe annotate --bundle`, `lethe evaluate`), or fit a new bundle (`lethe ensemble fit`)"
        );
    }
    Ok(())
}

/// Tells which bundle a folder now has.
fn told(folder: &Path) -> anyhow::Result<()> {
    let manifest = BundleManifest::read(folder).map_err(usage)?;
    tracing::info!(
        "{}: bundle {}, made from {}",
        folder.display(),
        manifest.digest(),
        manifest.parent.as_deref().unwrap_or_default()
    );
    Ok(())
}

/// Refuses a folder that has files.
fn free(folder: &Path, option: &str) -> anyhow::Result<()> {
    match std::fs::read_dir(folder).map_or(Ok(true), |mut entries| {
        entries.next().transpose().map(|entry| entry.is_none())
    }) {
        Ok(true) => Ok(()),
        _ => Err(usage(format!(
            "{option} {}: already exists and is not empty",
            folder.display()
        ))),
    }
}

/// Reads the options `NAME=MODEL`.
fn members(arguments: &[String]) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut members: Vec<(String, PathBuf)> = Vec::new();
    for argument in arguments {
        let Some((name, path)) = argument.split_once('=').filter(|(name, _)| is_name(name)) else {
            return Err(usage(format!("--member {argument}: not NAME=MODEL")));
        };
        if members.iter().any(|(other, _)| other == name) {
            return Err(usage(format!("--member {name}: given twice")));
        }
        let folder = model_argument(Path::new(path))?;
        members.push((name.to_owned(), folder));
    }
    Ok(members)
}

/// Returns whether a member can have this name, which becomes a folder's.
fn is_name(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|file| file == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_one_model_and_a_name_that_a_folder_can_have() {
        let refused = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
            members(&arguments).unwrap_err().to_string()
        };
        assert!(refused(&["ssvm"]).contains("not NAME=MODEL"));
        assert!(refused(&["../ssvm=en-fast"]).contains("not NAME=MODEL"));
        assert!(refused(&["a=en-fast", "a=en-fast"]).contains("given twice"));
        let found = members(&["a=en-fast/ssvm".to_owned()]).unwrap();
        assert_eq!(found[0].0, "a");
    }
}
