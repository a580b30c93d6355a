//! `lethe crossval`: predicts every document with a model that was not trained on it.
//!
//! Folds are independent, and each writes its predictions as a file that is either complete or missing, so
//! that an interrupted run continues with the missing ones.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use lethe_core::{LabelSet, hex};
use lethe_corpus::{Counts, Document, Folds, Group, Split, folds, hold_out, write_jsonl};
use lethe_dictionaries::Dictionary;
use lethe_members::registry::MemberConfig;
use lethe_members::{Job, TrainError, predict};
use serde::{Deserialize, Serialize};

use super::learning::{Passes, read, settings};
use crate::bundle_argument::member_argument;
use crate::cli::{CrossvalArgs, FoldUnit};
use crate::exit::usage;
use crate::interrupt;

/// The settings that all folds in a folder must share.
#[derive(PartialEq, Serialize, Deserialize)]
struct Plan {
    member: String,
    folds: u16,
    by: String,
    seed: u64,
    hold_out: f64,
    /// Digest of the documents.
    data: String,
    /// Digest of those of `--also`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    also: Option<String>,
    settings: toml::Table,
    /// Digest of the dictionary of `--dictionary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dictionary: Option<String>,
}

/// Cross-validates a member.
pub(crate) fn run(args: &CrossvalArgs) -> anyhow::Result<()> {
    let learning = &args.learning;
    if args.member == lethe_members::POS {
        return Err(usage(
            "`pos` predicts no spans; train it, and cross-validate a member with --set features.pos=DIR",
        ));
    }
    interrupt::end_at_once("run the same command again to continue; finished folds are kept");
    let documents = read(&learning.train, learning.rename.as_deref())?;
    let also = if args.also.is_empty() {
        Vec::new()
    } else {
        read(&args.also, learning.rename.as_deref())?
    };
    if !lethe_members::kinds().contains(&&*args.member) {
        if !also.is_empty() {
            return Err(usage(format!(
                "`{}` is not trained, so that --also has no effect; leave it out",
                args.member
            )));
        }
        return as_it_is(args, &documents);
    }
    cross_validate(args, &documents, &also)?;
    Ok(())
}

/// Trains a member in each fold of these documents, with those of `--also`, and returns the predictions; both are kept in `--out`.
///
/// # Errors
/// If `--out` has folds of something else, or a fold fails.
pub(super) fn cross_validate(
    args: &CrossvalArgs,
    documents: &[Document],
    also: &[Document],
) -> anyhow::Result<Vec<Document>> {
    let learning = &args.learning;
    let (group, by) = match args.by {
        FoldUnit::Document => (Group::Document, "document"),
        FoldUnit::Patient => (Group::Patient, "patient"),
    };
    let parts = folds(documents, usize::from(args.folds), group, learning.seed).map_err(usage)?;
    let dictionary = learning.dictionary.load()?;
    let plan = Plan {
        member: args.member.clone(),
        folds: args.folds,
        by: by.to_owned(),
        seed: learning.seed,
        hold_out: learning.hold_out,
        data: lethe_corpus::digest(documents),
        also: (!also.is_empty()).then(|| lethe_corpus::digest(also)),
        settings: settings(learning)?,
        dictionary: learning
            .dictionary
            .dictionary
            .is_some()
            .then(|| hex(dictionary.digest())),
    };
    std::fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    agree(&args.out, &plan)?;

    let run = Run {
        plan: &plan,
        dictionary: &dictionary,
        documents,
        also,
        folds: &parts,
        out: &args.out,
    };
    let predicted = run.all(args.jobs)?;
    let mut together = Counts::default();
    let mut all: Vec<Document> = Vec::with_capacity(documents.len());
    for (fold, predictions) in predicted.into_iter().enumerate() {
        let mut counts = Counts::default();
        for (prediction, &i) in predictions.iter().zip(&parts.split(fold).held) {
            counts += Counts::strict(&documents[i].marks, &prediction.marks);
        }
        tracing::info!("fold {}: strict F1 {:.4}", fold + 1, counts.f1());
        together += counts;
        all.extend(predictions);
    }
    let path = args.out.join("predictions.jsonl");
    whole(&path, &all)?;
    tracing::info!(
        "{}: {} documents in {} folds: strict precision {:.4}, recall {:.4}, F1 {:.4}; predictions are in {}",
        plan.member,
        all.len(),
        plan.folds,
        together.precision(),
        together.recall(),
        together.f1(),
        path.display()
    );
    Ok(all)
}

/// Predicts the documents with a member that is not trained.
fn as_it_is(args: &CrossvalArgs, documents: &[Document]) -> anyhow::Result<()> {
    let named = Path::new(&args.member);
    let trained = named.join("member.toml");
    if trained.exists() {
        return Err(usage(format!(
            "{}: is a trained model, which may have seen these documents; name its kind to train it in each fold",
            trained.display()
        )));
    }
    let config = member_argument(named).map_err(|error| {
        usage(format!(
            "{error}; a member that is trained is one of {}",
            lethe_members::kinds().join(", ")
        ))
    })?;
    if matches!(config, MemberConfig::Model(_)) {
        return Err(usage(format!(
            "`{}`: is a trained model; name its kind to train it in each fold",
            args.member
        )));
    }
    let names: BTreeSet<&str> = documents
        .iter()
        .flat_map(|document| &document.marks)
        .map(|mark| &*mark.label)
        .collect();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let labels = LabelSet::built_in_with(&names).ok_or_else(|| {
        usage(format!(
            "the gold labels ({}) are of no built-in label set ({}); use `--rename`",
            names.join(", "),
            LabelSet::built_in_ids()
        ))
    })?;
    let dictionary = args.learning.dictionary.load()?;
    let member = config.build(&labels, &dictionary).map_err(usage)?;
    let predictions = predict(member.as_ref(), &labels, documents)?;
    let pairs = documents.iter().zip(&predictions);
    let counts = pairs.fold(Counts::default(), |mut counts, (gold, found)| {
        counts += Counts::strict(&gold.marks, &found.marks);
        counts
    });
    std::fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let path = args.out.join("predictions.jsonl");
    whole(&path, &predictions)?;
    tracing::info!(
        "{}: {} documents, without training: strict precision {:.4}, recall {:.4}, F1 {:.4}; predictions are in {}",
        args.member,
        predictions.len(),
        counts.precision(),
        counts.recall(),
        counts.f1(),
        path.display()
    );
    Ok(())
}

/// Writes the plan into a new folder, or compares it with the existing one.
fn agree(out: &Path, plan: &Plan) -> anyhow::Result<()> {
    let path = out.join("crossval.toml");
    let text = toml::to_string(plan)?;
    match std::fs::read_to_string(&path) {
        Ok(old) => {
            let same = toml::from_str::<Plan>(&old).is_ok_and(|old| old == *plan);
            if same {
                return Ok(());
            }
            Err(usage(format!(
                "{}: the existing folds have another member, or other settings, documents or folds; use another --out",
                path.display()
            )))
        }
        Err(_) => std::fs::write(&path, text).with_context(|| path.display().to_string()),
    }
}

/// Writes documents under a temporary name first, so that the final name means a complete file.
fn whole(path: &Path, documents: &[Document]) -> anyhow::Result<()> {
    let draft = path.with_extension("part");
    write_jsonl(&draft, documents)?;
    std::fs::rename(&draft, path).with_context(|| path.display().to_string())
}

struct Run<'a> {
    plan: &'a Plan,
    dictionary: &'a Arc<Dictionary>,
    documents: &'a [Document],
    /// What every fold trains on besides.
    also: &'a [Document],
    folds: &'a Folds,
    out: &'a Path,
}

impl Run<'_> {
    /// Returns every fold's predictions, in the order of its held-out documents.
    fn all(&self, jobs: Option<usize>) -> anyhow::Result<Vec<Vec<Document>>> {
        let count = self.folds.count();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = jobs.unwrap_or(cores).clamp(1, count);
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    loop {
                        let fold = next.fetch_add(1, Ordering::Relaxed);
                        if fold >= count {
                            break;
                        }
                        let result = self.fold(fold);
                        // After a failure no fold is started; running folds finish, and their results stay.
                        if result.is_err() {
                            next.store(count, Ordering::Relaxed);
                        }
                        if let Ok(mut results) = results.lock() {
                            results.push((fold, result));
                        }
                    }
                });
            }
        });
        let mut results = results
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        results.sort_by_key(|(fold, _)| *fold);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn fold(&self, fold: usize) -> anyhow::Result<Vec<Document>> {
        let split = self.folds.split(fold);
        let held = Split::pick(&split.held, self.documents);
        let name = format!("fold-{:02}", fold + 1);
        let path: PathBuf = self.out.join(format!("{name}.jsonl"));
        if path.exists() {
            tracing::info!("{name}: already done");
            return lethe_corpus::read(&path, None).map_err(usage);
        }
        let rest = Split::pick(&split.train, self.documents);
        let inner = if self.plan.hold_out > 0.0 {
            hold_out(&rest, self.plan.hold_out, self.plan.seed)
        } else {
            Split {
                train: (0..rest.len()).collect(),
                held: Vec::new(),
            }
        };
        let folder = self.out.join(&name);
        let mut passes = Passes::new(name.clone());
        let mut train = Split::pick(&inner.train, &rest);
        train.extend(self.also.iter().cloned());
        let job = Job {
            kind: &self.plan.member,
            train: &train,
            held_out: &Split::pick(&inner.held, &rest),
            settings: self.plan.settings.clone(),
            dictionary: self.dictionary,
            seed: self.plan.seed,
            folder: &folder,
            restart: false,
        };
        let trained = lethe_members::train(&job, &mut passes);
        passes.finish();
        match trained {
            // An earlier run was stopped between the model and the predictions.
            Err(TrainError::Done { .. }) => {}
            trained => {
                trained.with_context(|| name.clone())?;
            }
        }
        let model = lethe_members::open(&folder, None, &self.dictionary.into())?;
        let predictions =
            predict(model.member.as_ref(), &model.labels, &held).with_context(|| name.clone())?;
        whole(&path, &predictions)?;
        Ok(predictions)
    }
}
