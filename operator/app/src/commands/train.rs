//! `lethe train`: trains a member on documents with gold spans.

use std::time::Instant;

use lethe_members::{Job, TrainError, read_tsv, train_pos};

use super::learning::{Gold, Passes, settings};
use crate::cli::TrainArgs;
use crate::exit::{Coded, Failure, usage};
use crate::interrupt;

/// Trains a member into a folder.
pub(crate) fn run(args: &TrainArgs) -> anyhow::Result<()> {
    let started = Instant::now();
    let learning = &args.learning;
    interrupt::end_at_once(format_args!(
        "run the same command again to resume from {}",
        args.out.display()
    ));
    if args.member == lethe_members::POS {
        return parts_of_speech(args);
    }
    let (train, held_out) = Gold {
        train: &learning.train,
        dev: args.dev.as_deref(),
        rename: learning.rename.as_deref(),
        hold_out: learning.hold_out,
    }
    .read(learning.seed)?;
    tracing::info!(
        "{}: training on {} documents, {} held out",
        args.member,
        train.len(),
        held_out.len()
    );
    let dictionary = learning.dictionary.load()?;
    let mut passes = Passes::new(args.member.clone());
    let job = Job {
        kind: &args.member,
        train: &train,
        held_out: &held_out,
        settings: settings(learning)?,
        dictionary: &dictionary,
        seed: learning.seed,
        folder: &args.out,
        restart: args.restart,
    };
    let trained = lethe_members::train(&job, &mut passes).map_err(coded);
    passes.finish();
    let manifest = trained?;
    let f1 = manifest
        .training
        .held_out_f1
        .map_or(String::new(), |f1| format!("; held-out F1 {f1:.4}"));
    tracing::info!(
        "{} trained in {:.0} s{f1}; the model is {}",
        args.member,
        started.elapsed().as_secs_f64(),
        args.out.display()
    );
    Ok(())
}

/// Trains the part-of-speech tagger, whose gold has its own format.
fn parts_of_speech(args: &TrainArgs) -> anyhow::Result<()> {
    let learning = &args.learning;
    let mut sentences = Vec::new();
    for path in &learning.train {
        sentences.extend(read_tsv(path).map_err(usage)?);
    }
    let held_out = args.dev.as_deref().map(read_tsv).transpose().map_err(usage)?;
    let share = train_pos(
        &sentences,
        &held_out.unwrap_or_default(),
        learning.seed,
        &args.out,
        args.restart,
    )
    .map_err(coded)?;
    let share = share.map_or(String::new(), |share| {
        format!("; {:.2} % of --dev tagged correctly", share * 100.0)
    });
    tracing::info!(
        "pos trained on {} sentences{share}; the model is {}",
        sentences.len(),
        args.out.display()
    );
    Ok(())
}

/// Returns the error with the exit code of its kind.
pub(crate) fn coded(error: TrainError) -> anyhow::Error {
    if let TrainError::Worse { .. } = error {
        Coded(Failure::Worse, error.to_string()).into()
    } else if error.is_usage() {
        usage(error)
    } else {
        error.into()
    }
}
