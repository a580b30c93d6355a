//! Fine-tuning: continues training a model on other notes and writes a new model.

use std::path::Path;
use std::sync::Arc;

use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_learn::{Manifest, Observer};
use lethe_linear::{Learner, WarmStartError, WarmStartTask};
use lethe_neural::convolution::Convolutional;
use lethe_neural::{Recurrent, Tuning};

use crate::speech::speech_in;
use crate::training::{TrainError, within};

/// A fine-tuning job.
pub struct TuneJob<'a> {
    /// The folder of the model to continue from.
    pub model: &'a Path,
    /// The documents to fit.
    pub train: &'a [Document],
    /// Documents for evaluation during training only. May be empty.
    pub held_out: &'a [Document],
    /// The settings. Linear members have their learner's settings, recurrent ones the tables `schedule` and
    /// `vectors`, a `cnn` the table `schedule`; other keys have the defaults of fine-tuning, then the model's own.
    pub settings: toml::Table,
    /// The dictionary that the model was trained with.
    pub dictionary: &'a Arc<Dictionary>,
    /// The same seed gives the same model, byte for byte.
    pub seed: u64,
    /// The folder that becomes the model.
    pub folder: &'a Path,
    /// Whether to start again if the folder holds a model or a stopped training.
    pub restart: bool,
}

/// Continues training a trained member. A training that was killed resumes when the same job is run again.
/// The new manifest names the digest of the old one.
///
/// # Errors
/// [`TrainError`].
pub fn fine_tune(job: &TuneJob<'_>, observer: &mut dyn Observer) -> Result<Manifest, TrainError> {
    let manifest = Manifest::read(job.model)?;
    let kind = manifest.kind.clone();
    if Learner::KINDS.contains(&kind.as_str()) {
        return linear(job, &kind, observer);
    }
    if kind == Convolutional::KIND {
        return convolutional(job, &kind, observer);
    }
    if !Recurrent::KINDS.contains(&kind.as_str()) {
        return Err(TrainError::NotTuned { kind });
    }
    let mut tuning = Tuning::new(job.settings.clone()).map_err(|error| TrainError::Settings {
        kind,
        message: error.to_string(),
    })?;
    tuning.schedule.seed = job.seed;
    tuning.speech = speech_in(job.model, &manifest)?;
    within(job.folder, job.restart, |state| {
        let network = tuning.warm_start(
            job.model,
            job.train,
            job.held_out,
            job.dictionary,
            Some(state),
            observer,
        )?;
        network.save(job.folder)?;
        Ok(Manifest::read(job.folder)?)
    })
}

fn convolutional(job: &TuneJob<'_>, kind: &str, observer: &mut dyn Observer) -> Result<Manifest, TrainError> {
    let mut tuning = Convolutional::tuning(job.settings.clone()).map_err(|error| TrainError::Settings {
        kind: kind.to_owned(),
        message: error.to_string(),
    })?;
    tuning.schedule.seed = job.seed;
    within(job.folder, job.restart, |state| {
        let network = tuning.warm_start(job.model, job.train, job.held_out, Some(state), observer)?;
        network.save(job.folder)?;
        Ok(Manifest::read(job.folder)?)
    })
}

fn linear(job: &TuneJob<'_>, kind: &str, observer: &mut dyn Observer) -> Result<Manifest, TrainError> {
    let task = WarmStartTask {
        model: job.model,
        settings: &job.settings,
        documents: job.train,
        held_out: (!job.held_out.is_empty()).then_some(job.held_out),
        dictionary: job.dictionary,
        seed: job.seed,
        state: None,
    };
    task.check().map_err(|error| match error {
        WarmStartError::Setting(message) => TrainError::Settings {
            kind: kind.to_owned(),
            message,
        },
        WarmStartError::Kind { kind, .. } => TrainError::NotTuned { kind },
        error => error.into(),
    })?;
    within(job.folder, job.restart, |state| {
        let task = WarmStartTask {
            state: Some(state),
            ..task
        };
        let mut trained = lethe_linear::warm_start(&task, observer)?;
        trained
            .write(job.folder)
            .map_err(lethe_linear::TrainError::from)?;
        Ok(trained.manifest)
    })
}

#[cfg(test)]
mod tests {
    use lethe_corpus::{Counts, Mark};
    use lethe_learn::NoObserver;

    use super::*;
    use crate::training::tests::{builtin, documents, job};
    use crate::{kinds, open, predict, train};

    /// Notes of another institution: other words around names, and wards, which the first institution does
    /// not annotate.
    fn local() -> Vec<Document> {
        let (names, wards) = (["Ines", "Oscar", "Nuria", "Ivan"], ["Norte", "Sur", "Este"]);
        let each = |i: usize| {
            let (name, ward) = (names[i % 4], wards[i % 3]);
            let text = format!("{name} vino al pabellon {ward} el dia 19{}.\n", 40 + i);
            let mark = |part: &str, label: &str| {
                let start = text.find(part).unwrap();
                Mark::gold(lethe_core::Span::new(start, start + part.len()).unwrap(), label)
            };
            Document {
                id: format!("l{i}"),
                patient: None,
                marks: vec![mark(name, "NAME"), mark(ward, "WARD")],
                text: text.clone(),
            }
        };
        (0..24).map(each).collect()
    }

    fn tuned<'a>(model: &'a Path, train: &'a [Document], folder: &'a Path, kind: &str) -> TuneJob<'a> {
        let settings = match kind {
            Convolutional::KIND => "schedule = { epochs = 30, rate = 0.02, dropout = 0.0, batch = 64 }",
            _ if Recurrent::KINDS.contains(&kind) => {
                "schedule = { epochs = 30, rate = 0.02, dropout = 0.0, batch = 4 }"
            }
            _ => "",
        };
        TuneJob {
            model,
            train,
            held_out: &[],
            settings: settings.parse().unwrap(),
            dictionary: builtin(),
            seed: 4,
            folder,
            restart: false,
        }
    }

    fn f1(model: &Path, documents: &[Document]) -> f64 {
        let model = open(model, None, &builtin().into()).unwrap();
        let predicted = predict(model.member.as_ref(), &model.labels, documents).unwrap();
        let mut counts = Counts::default();
        for (gold, predictions) in documents.iter().zip(&predicted) {
            counts += Counts::strict(&gold.marks, &predictions.marks);
        }
        counts.f1()
    }

    #[test]
    fn every_kind_that_goes_on_learns_the_other_house_and_a_label_of_its_own() {
        let (documents, local) = (documents(), local());
        for kind in kinds().into_iter().filter(|kind| *kind != "naive-bayes") {
            let folder = tempfile::tempdir().unwrap();
            let (old, new, again) = (
                folder.path().join("old"),
                folder.path().join("new"),
                folder.path().join("again"),
            );
            let before = train(&job(kind, &documents, &old), &mut NoObserver).unwrap();
            let manifest = fine_tune(&tuned(&old, &local, &new, kind), &mut NoObserver).unwrap();
            assert_eq!(manifest.tags.labels(), ["DATE", "NAME", "WARD"]);
            assert_eq!(manifest.training.goes_on_from, Some(before.digest()));
            let (was, is) = (f1(&old, &local), f1(&new, &local));
            assert!(is > 0.9 && is > was, "{kind}: {was} {is}");
            let same = fine_tune(&tuned(&old, &local, &again, kind), &mut NoObserver).unwrap();
            assert_eq!(same, manifest, "{kind}: the same bytes every time");
            // And once more, from the fine-tuned model.
            let third = folder.path().join("third");
            fine_tune(&tuned(&new, &local, &third, kind), &mut NoObserver).unwrap();
        }
    }

    #[test]
    fn what_cannot_be_gone_on_from_is_refused_and_leaves_no_model() {
        let (documents, folder) = (documents(), tempfile::tempdir().unwrap());
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        train(&job("naive-bayes", &documents, &old), &mut NoObserver).unwrap();
        let refused = fine_tune(&tuned(&old, &documents, &new, "naive-bayes"), &mut NoObserver).unwrap_err();
        assert!(
            refused.is_usage() && refused.to_string().contains("naive-bayes"),
            "{refused}"
        );
        let crf = folder.path().join("crf");
        train(&job("crf", &documents, &crf), &mut NoObserver).unwrap();
        for (key, told) in [
            ("colour", "colour"),
            ("features", "cannot be changed"),
            ("scheme", "cannot be changed"),
        ] {
            let mut job = tuned(&crf, &documents, &new, "crf");
            job.settings.insert(key.to_owned(), "bilou".into());
            let refused = fine_tune(&job, &mut NoObserver).unwrap_err();
            assert!(
                refused.is_usage() && refused.to_string().contains(told),
                "{refused}"
            );
        }
        let missing = fine_tune(&tuned(folder.path(), &documents, &new, "crf"), &mut NoObserver);
        assert!(missing.unwrap_err().to_string().contains("member.toml"));
        assert!(!new.exists());
    }
}
