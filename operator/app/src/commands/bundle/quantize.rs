//! `lethe bundle quantize`: makes a bundle whose networks have weights of eight bits.

use lethe_dictionaries::Dictionary;
use lethe_ensemble::{Bundle, BundleManifest, Measured, swap};
use lethe_members::round;

use super::measure::record;
use super::{free, told};
use crate::bundle_argument::bundle_argument;
use crate::cli::QuantizeArgs;
use crate::commands::learning::read;
use crate::exit::usage;

/// Rounds the members, and replaces them.
pub(super) fn run(args: &QuantizeArgs) -> anyhow::Result<()> {
    free(&args.out, "--out")?;
    let from = bundle_argument(&args.bundle)?;
    let manifest = Bundle::open(&from, &Dictionary::builtin())
        .map_err(usage)?
        .manifest;
    let notes = read(&args.notes, None)?;
    let rounded = tempfile::tempdir()?;
    let mut members = Vec::new();
    for name in &args.members {
        let folder = manifest.model_folder(&from, name).map_err(usage)?;
        let out = rounded.path().join(name);
        let texts = notes.iter().map(|note| note.text.as_str());
        round(&folder, texts, &out).map_err(|error| usage(format!("--member {name}: {error}")))?;
        members.push((name.clone(), out));
    }
    // Rounding changes scores a little: a combiner that was fitted to them stays.
    swap(&from, &members, true, &args.out, &Dictionary::builtin()).map_err(usage)?;
    if args.gold.is_empty() {
        let before = manifest.measured.into_iter().map(|measured| Measured {
            on: format!("{}, before its networks were rounded to eight bits", measured.on),
            cost: None,
            ..measured
        });
        let mut manifest = BundleManifest::read(&args.out).map_err(usage)?;
        manifest.record(&args.out, before.collect()).map_err(usage)?;
    } else {
        record(&args.out, &args.gold)?;
    }
    told(&args.out)
}
