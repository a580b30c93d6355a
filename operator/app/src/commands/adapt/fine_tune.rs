//! `lethe adapt fine-tune`: trains a member further on local documents.

use std::time::Instant;

use lethe_members::{TuneJob, fine_tune};

use crate::bundle_argument::model_argument;
use crate::cli::FineTuneArgs;
use crate::commands::learning::{Gold, Passes, settings_of};
use crate::commands::train::coded;
use crate::interrupt;

/// Fine-tunes a model into a new folder.
pub(crate) fn run(args: &FineTuneArgs) -> anyhow::Result<()> {
    let started = Instant::now();
    let model = model_argument(&args.model)?;
    interrupt::end_at_once(format_args!(
        "run the same command again to resume from {}",
        args.continuation.out.display()
    ));
    let (train, held_out) = Gold {
        train: &args.train,
        dev: args.dev.as_deref(),
        rename: args.rename.as_deref(),
        hold_out: args.hold_out,
    }
    .read(args.continuation.seed)?;
    let name = format!("fine-tuning {}", args.model.display());
    tracing::info!(
        "{name}: training on {} documents, {} held out",
        train.len(),
        held_out.len()
    );
    let dictionary = args.continuation.dictionary.load()?;
    let mut passes = Passes::new(name.clone());
    let job = TuneJob {
        model: &model,
        train: &train,
        held_out: &held_out,
        settings: settings_of(args.continuation.settings.as_deref(), &args.continuation.set)?,
        dictionary: &dictionary,
        seed: args.continuation.seed,
        folder: &args.continuation.out,
        restart: args.continuation.restart,
    };
    let tuned = fine_tune(&job, &mut passes).map_err(coded);
    passes.finish();
    let manifest = tuned?;
    let f1 = manifest
        .training
        .held_out_f1
        .map_or(String::new(), |f1| format!("; held-out F1 {f1:.4}"));
    tracing::info!(
        "{} fine-tuned in {:.0} s{f1}; the model is {}",
        manifest.kind,
        started.elapsed().as_secs_f64(),
        args.continuation.out.display()
    );
    Ok(())
}
