//! `lethe adapt self-train`: trains a member further with labels of its own or of an ensemble.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use lethe_adapt::{Analysis, EnsembleTeacher, ModelPredictions};
use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_ensemble::Bundle;
use lethe_learn::{Manifest, Marginals};
use lethe_members::{SelfTrainJob, open, predict, probabilistic, self_train};

use crate::bundle_argument::{bundle_argument, model_argument};
use crate::cli::SelfTrainArgs;
use crate::commands::evaluate::rename;
use crate::commands::learning::{Passes, read, settings_of};
use crate::commands::train::coded;
use crate::exit::usage;
use crate::interrupt;

/// Trains a model into a new folder, and analyses the errors if requested.
pub(crate) fn run(args: &SelfTrainArgs) -> anyhow::Result<()> {
    let started = Instant::now();
    let model = model_argument(&args.model)?;
    interrupt::end_at_once(format_args!(
        "run the same command again to resume from {}",
        args.continuation.out.display()
    ));
    let renamed = |paths: &[PathBuf]| match paths {
        [] => Ok(Vec::new()),
        paths => read(paths, args.rename.as_deref()),
    };
    let mut labelled = renamed(&args.train)?;
    labelled.extend(renamed(&args.labelled)?);
    let (unlabelled, held_out) = (renamed(&args.unlabelled)?, renamed(&args.held_out)?);
    let test = renamed(&args.test)?;
    let teacher = args
        .teacher
        .as_deref()
        .map(|bundle| teach(args, &model, bundle))
        .transpose()?;
    let name = format!("self-training {}", args.model.display());
    tracing::info!(
        "{name}: {} documents with gold, {} without, {} held out",
        labelled.len(),
        unlabelled.len(),
        held_out.len()
    );
    let dictionary = args.continuation.dictionary.load()?;
    let mut passes = Passes::new(name);
    let job = SelfTrainJob {
        model: &model,
        labelled: &labelled,
        unlabelled: &unlabelled,
        held_out: &held_out,
        teacher: teacher.as_ref().map(|teacher| teacher as &(dyn Marginals + Sync)),
        settings: settings_of(args.continuation.settings.as_deref(), &args.continuation.set)?,
        dictionary: &dictionary,
        bound: args.bound / 100.0,
        seed: args.continuation.seed,
        folder: &args.continuation.out,
        restart: args.continuation.restart,
    };
    let done = self_train(&job, &mut passes).map_err(coded);
    passes.finish();
    let done = done?;
    tracing::info!(
        "{} self-trained in {:.0} s; held-out strict F1 {:.4}, before {:.4}; the model is {}",
        done.manifest.kind,
        started.elapsed().as_secs_f64(),
        done.after,
        done.before,
        args.continuation.out.display()
    );
    match &args.analysis {
        Some(folder) => analyse(args, &model, &test, folder, &dictionary),
        None => Ok(()),
    }
}

/// Builds the teacher: the bundle's members with the model's tags.
fn teach(args: &SelfTrainArgs, model: &Path, folder: &Path) -> anyhow::Result<EnsembleTeacher> {
    let bundle = Bundle::open(&bundle_argument(folder)?, &Dictionary::builtin()).map_err(usage)?;
    let tags = Manifest::read(model).map_err(usage)?.tags;
    let rename = rename(args.rename.as_deref())?;
    EnsembleTeacher::new(bundle.members, bundle.labels, rename, tags).map_err(usage)
}

/// Returns a model's tag probabilities and its predicted documents.
fn predictions(
    folder: &Path,
    documents: &[Document],
    dictionary: &Arc<Dictionary>,
) -> anyhow::Result<(Arc<dyn Marginals + Send + Sync>, Vec<Document>)> {
    let model = open(folder, None, &dictionary.into())?;
    let spans = predict(model.member.as_ref(), &model.labels, documents)?;
    Ok((probabilistic(folder, Some(&model.labels), dictionary)?, spans))
}

fn analyse(
    args: &SelfTrainArgs,
    model: &Path,
    test: &[Document],
    folder: &Path,
    dictionary: &Arc<Dictionary>,
) -> anyhow::Result<()> {
    let (before, after) = (
        predictions(model, test, dictionary)?,
        predictions(&args.continuation.out, test, dictionary)?,
    );
    let [before, after] = [&before, &after].map(|(shares, documents)| ModelPredictions {
        shares: shares.as_ref(),
        documents,
    });
    let analysis = Analysis::new(test, &before, &after, args.label.as_deref())?;
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let write = |name: &str, content: &str| {
        let path = folder.join(name);
        std::fs::write(&path, content).with_context(|| path.display().to_string())
    };
    write(
        "analysis.json",
        &format!("{}\n", serde_json::to_string_pretty(&analysis)?),
    )?;
    for (name, drawing) in analysis.figures() {
        write(name, &drawing)?;
    }
    tracing::info!(
        "strict F1 on the target {:.4}, before {:.4}; the analysis is in {}",
        analysis.f1[1],
        analysis.f1[0],
        folder.display()
    );
    Ok(())
}
