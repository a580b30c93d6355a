//! `lethe bundle create`: makes a bundle of trained members that vote.

use std::path::Path;

use lethe_core::{LabelSet, VoteSpec};
use lethe_dictionaries::Dictionary;
use lethe_ensemble::{Bundle, BundleManifest, Part, Provenance, Rule};
use lethe_learn::Manifest;

use super::{free, members};
use crate::cli::CreateArgs;
use crate::config::label_set;
use crate::exit::usage;

/// Makes the bundle, and removes it if it does not open.
pub(super) fn run(args: &CreateArgs) -> anyhow::Result<()> {
    free(&args.out, "--out")?;
    let members = members(&args.members)?;
    let mut names = Vec::new();
    for (_, folder) in &members {
        names.extend_from_slice(Manifest::read(folder).map_err(usage)?.tags.labels());
    }
    let labels = match &args.labels {
        Some(name) => label_set(name, "--labels")?,
        None => LabelSet::built_in_with(&names).ok_or_else(|| {
            usage(format!(
                "--labels: no built-in set ({}) has all labels of the members; name a file of a label set",
                LabelSet::built_in_ids()
            ))
        })?,
    };
    let rule = Rule::Voting(VoteSpec {
        threshold: args.threshold,
        always_redact: args.rules.clone(),
        ..VoteSpec::default()
    });
    let provenance = Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Provenance::default()
    };
    let parts = members.iter().map(|(name, _)| Part::model(name));
    let parts = parts.chain(args.rules.iter().map(|kind| Part::rule(kind)));
    let mut manifest = BundleManifest::new(&labels, rule, provenance, parts.collect());
    let source = |name: &str| {
        let found = members.iter().find(|(member, _)| member == name);
        found.map(|(_, folder)| Path::new(folder))
    };
    let written = manifest
        .add_dictionary(&args.out, args.dictionary.dictionary.as_deref())
        .and_then(|()| manifest.write(&args.out, source))
        .and_then(|()| Bundle::open(&args.out, &Dictionary::builtin()));
    if let Err(error) = written {
        // Its folder has only files that were just written.
        std::fs::remove_dir_all(&args.out).ok();
        return Err(usage(error));
    }
    tracing::info!(
        "{}: bundle {} of {} members; nothing was measured on it",
        args.out.display(),
        manifest.digest(),
        manifest.members.len()
    );
    Ok(())
}
