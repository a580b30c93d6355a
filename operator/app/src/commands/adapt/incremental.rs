//! `lethe adapt incremental`: a study of incremental learning.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use lethe_adapt::study::{Plan, Setup, Study, Test};
use lethe_adapt::{First, Ground, Refitted, WarmStart, sentences};
use lethe_core::LabelSet;
use lethe_corpus::{Document, Rename};
use lethe_evaluate::sheet::counted;
use lethe_learn::Manifest;
use lethe_linear::{FeatureConfig, Learner, LinearMember};
use lethe_members::{Job, TrainError};

use crate::bundle_argument::model_argument;
use crate::cli::{IncrementalArgs, Unit};
use crate::commands::evaluate;
use crate::commands::learning::Passes;
use crate::exit::usage;
use crate::progress::Progress;

/// The kind of model that the study trains. The paper's tags distinguish first, last and only tokens, as
/// naive Bayes' do.
const CRF: &str = "crf";
const CRF_SETTINGS: &str = "scheme = \"bilou\"";

/// Runs the study and writes its results.
pub(crate) fn run(args: &IncrementalArgs) -> anyhow::Result<()> {
    let renames = args.rename.iter().map(|path| Rename::read(path).map_err(usage));
    let renames = renames.collect::<Result<Vec<_>, _>>()?;
    let stream = read(&args.stream, &renames)?;
    let test = read(&args.test, &renames)?;
    if let (Some(folder), [_, ..]) = (&args.first, &args.first_train[..]) {
        train_first(args, &read(&args.first_train, &renames)?, folder)?;
    }
    let model = args.first.as_deref().map(model_argument).transpose()?;
    let units = cut(&stream, args.unit)?;
    let names: Vec<String> = names(&stream);
    let ground = Ground {
        features: FeatureConfig::default(),
        dictionary: args.dictionary.load()?,
        labels: Arc::new(labels(&names, model.as_deref())?),
        seed: args.seed,
    };
    let (first, told) = first(args, model.as_deref(), &ground)?;
    let spans = |documents: &[Document]| documents.iter().map(|document| document.marks.len()).sum();
    let setup = Setup {
        title: args.title.clone(),
        first: told,
        unit: match args.unit {
            Unit::Sentences => "sentence".to_owned(),
            Unit::Documents => "document".to_owned(),
        },
        stream_documents: stream.len(),
        stream_spans: spans(&stream),
        test_documents: test.len(),
        test_spans: spans(&test),
        labels: names,
    };
    let test = match args.unit {
        Unit::Sentences => Test::sentences(test)?,
        Unit::Documents => Test::documents(test)?,
    };
    let study = Study {
        units: &units,
        test: &test,
        first,
        ground,
        plan: Plan {
            batch: args.batch as usize,
            increments: args.increments.map(|most| most as usize),
            repeats: args.repeats as usize,
            seed: args.seed,
            jobs: args
                .jobs
                .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        },
    };
    let steps = args.repeats as usize * (study.increments() + 1);
    let progress = Mutex::new(Progress::start("increments", "increments", Some(steps as u64)));
    let step = || {
        if let Ok(mut progress) = progress.lock() {
            progress.add(1);
        }
    };
    let report = study.run(setup, &step).map_err(usage)?;
    if let Ok(progress) = progress.into_inner() {
        progress.finish();
    }

    std::fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let write = |name: &str, content: &str| {
        let path = args.out.join(name);
        std::fs::write(&path, content).with_context(|| path.display().to_string())
    };
    write(
        "study.json",
        &format!("{}\n", serde_json::to_string_pretty(&report)?),
    )?;
    for (name, drawing) in report.figures() {
        write(name, &drawing)?;
    }
    write("README.md", &report.page())?;
    let told = &report.told[0];
    tracing::info!(
        "the mixture is at least as good as the better learner at {} of {} increments; the report is {}",
        told.at_least,
        told.of,
        args.out.join("README.md").display()
    );
    Ok(())
}

/// Reads documents of all paths, and renames their labels.
fn read(paths: &[PathBuf], renames: &[Rename]) -> anyhow::Result<Vec<Document>> {
    let mut documents = Vec::new();
    for path in paths {
        documents.extend(evaluate::read(path, &Rename::default())?);
    }
    renames.iter().for_each(|rename| rename.apply(&mut documents));
    if documents.is_empty() {
        return Err(usage("no documents found"));
    }
    Ok(documents)
}

/// Splits documents into the units that are learnt.
fn cut(documents: &[Document], unit: Unit) -> anyhow::Result<Vec<Document>> {
    if unit == Unit::Documents {
        return Ok(documents.to_vec());
    }
    let mut units = Vec::new();
    for document in documents {
        units.extend(sentences(document, true)?.into_iter().map(|piece| piece.document));
    }
    Ok(units)
}

/// Returns the labels of documents, sorted.
fn names(documents: &[Document]) -> Vec<String> {
    let marks = documents.iter().flat_map(|document| &document.marks);
    let names: BTreeSet<&String> = marks.map(|mark| &mark.label).collect();
    names.into_iter().cloned().collect()
}

/// Returns the labels that both learners run under: the documents' and the model's.
fn labels(names: &[String], model: Option<&Path>) -> anyhow::Result<LabelSet> {
    let mut all: BTreeSet<String> = names.iter().cloned().collect();
    if let Some(folder) = model {
        let manifest = Manifest::read(folder).map_err(usage)?;
        all.extend(manifest.tags.labels().iter().cloned());
    }
    if all.is_empty() {
        return Err(usage("no document has a gold span, so there is nothing to learn"));
    }
    LabelSet::of_names("adapt", &all.into_iter().collect::<Vec<_>>()).map_err(usage)
}

/// Trains the first institute's model, unless it exists.
fn train_first(args: &IncrementalArgs, documents: &[Document], folder: &Path) -> anyhow::Result<()> {
    let units = cut(documents, args.unit)?;
    let mut passes = Passes::new(CRF);
    let job = Job {
        kind: CRF,
        train: &units,
        held_out: &[],
        settings: CRF_SETTINGS.parse()?,
        dictionary: &args.dictionary.load()?,
        seed: args.seed,
        folder,
        restart: false,
    };
    let trained = lethe_members::train(&job, &mut passes);
    passes.finish();
    match trained {
        Ok(_) => Ok(()),
        Err(TrainError::Done { .. }) => {
            let manifest = Manifest::read(folder).map_err(usage)?;
            if manifest.training.data == lethe_corpus::digest(&units) {
                tracing::info!("{}: already trained", folder.display());
                return Ok(());
            }
            Err(usage(format!(
                "{}: this model was trained on other documents, units or labels than --first-train; use another folder for --first",
                folder.display()
            )))
        }
        Err(error) if error.is_usage() => Err(usage(error)),
        Err(error) => Err(error.into()),
    }
}

/// Creates the model and its description for the report.
fn first(args: &IncrementalArgs, model: Option<&Path>, ground: &Ground) -> anyhow::Result<(First, String)> {
    let Some(folder) = model else {
        let mut settings: toml::Table = CRF_SETTINGS.parse()?;
        settings.insert("kind".to_owned(), CRF.into());
        let crf: Learner = settings.try_into()?;
        let told = "a random field, retrained at each increment on everything that has arrived".to_owned();
        return Ok((First::Refitted(Refitted::new(crf)), told));
    };
    let manifest = Manifest::read(folder).map_err(usage)?;
    let units = manifest.training.documents as u64;
    let from = format!(
        "a `{}` trained on {} of other documents",
        manifest.kind,
        counted(units, unit(args))
    );
    if args.first_learns {
        let warm_start = WarmStart::open(folder.to_owned(), ground).map_err(usage)?;
        let told = format!("{from}, fine-tuned at each increment on everything that has arrived");
        return Ok((First::WarmStart(warm_start), told));
    }
    let member = LinearMember::open(folder, &ground.labels, &ground.dictionary).map_err(usage)?;
    Ok((
        First::Still(Arc::new(member)),
        format!("{from}, which does not learn"),
    ))
}

/// Returns the unit's name. The units of a model from `lethe train` are documents.
fn unit(args: &IncrementalArgs) -> &'static str {
    match args.unit {
        Unit::Sentences if !args.first_train.is_empty() || args.first.is_none() => "sentence",
        _ => "document",
    }
}
