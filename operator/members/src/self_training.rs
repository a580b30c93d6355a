//! Self-training (Liao 2021): continues training a model on documents with gold and on documents without, and
//! writes a new model unless it lost more than a bound on the held-out documents.

use std::path::Path;
use std::sync::Arc;

use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_learn::{Manifest, Marginals, Observer, Speech};
use lethe_linear::WarmStartError;
use lethe_neural::Recurrent;

use crate::speech::speech_in;
use crate::training::{TrainError, within};

/// A self-training job.
pub struct SelfTrainJob<'a> {
    /// The folder of the model to continue from.
    pub model: &'a Path,
    /// Documents with gold: those of the source, and any of the target.
    pub labelled: &'a [Document],
    /// Documents of the target. Their annotations, if they have any, are ignored.
    pub unlabelled: &'a [Document],
    /// Documents of the source for evaluation only. They select the best pass, and decide whether the model
    /// is kept.
    pub held_out: &'a [Document],
    /// The member that gives the pseudo-labels, with the model's own tags; by default the model itself.
    pub teacher: Option<&'a (dyn Marginals + Sync)>,
    /// The member's settings. Linear members have the keys of [`lethe_linear::SelfTraining`], recurrent ones
    /// those of [`lethe_neural::SelfTraining`]; other keys have their defaults.
    pub settings: toml::Table,
    /// The most strict micro-F1 (0 to 1) that it may lose on the held-out set.
    pub bound: f64,
    /// The dictionary that the model was trained with.
    pub dictionary: &'a Arc<Dictionary>,
    /// The same seed gives the same model, byte for byte.
    pub seed: u64,
    /// The folder that becomes the model.
    pub folder: &'a Path,
    /// Whether to start again if the folder holds a model or a stopped training.
    pub restart: bool,
}

/// A self-trained model, with its strict micro-F1 on the held-out set.
#[derive(Clone, Debug)]
pub struct SelfTrained {
    /// Its manifest.
    pub manifest: Manifest,
    /// The score of the original model.
    pub before: f64,
    /// The score of the new model.
    pub after: f64,
}

/// Returns all kinds that support self-training.
pub(crate) fn soft() -> Vec<&'static str> {
    [&lethe_linear::SOFT[..], &Recurrent::KINDS].concat()
}

/// Continues training a model with labels that it, or a teacher, predicts. A network's training that was
/// killed resumes when the same job is run again. The new manifest names the digest of the old one.
///
/// # Errors
/// [`TrainError`]; [`TrainError::Worse`] if the model lost more than the bound on the held-out documents:
/// then nothing is written.
pub fn self_train(job: &SelfTrainJob<'_>, observer: &mut dyn Observer) -> Result<SelfTrained, TrainError> {
    let manifest = Manifest::read(job.model)?;
    let kind = manifest.kind.as_str();
    if !soft().contains(&kind) {
        return Err(TrainError::NotSoft {
            kind: kind.to_owned(),
        });
    }
    let all = || job.labelled.iter().chain(job.held_out);
    let mut marks = all().flat_map(|document| &document.marks);
    if let Some(mark) = marks.find(|mark| !manifest.tags.labels().contains(&mark.label)) {
        return Err(TrainError::Label {
            label: mark.label.clone(),
        });
    }
    let own_tags = job.teacher.is_none_or(|teacher| *teacher.tags() == manifest.tags);
    for (missing, what) in [
        (
            all().all(|document| document.marks.is_empty()),
            "no document has a marked span",
        ),
        (job.held_out.is_empty(), "there is no held-out document"),
        (job.unlabelled.is_empty(), "there is no document without gold"),
        (!own_tags, "the teacher's tags differ from the model's"),
    ] {
        if missing {
            return Err(TrainError::Nothing { what });
        }
    }
    let settings = |message: String| TrainError::Settings {
        kind: kind.to_owned(),
        message,
    };
    let mut told = None;
    let trained = if lethe_linear::SOFT.contains(&kind) {
        let own = lethe_linear::SelfTraining::new(job.settings.clone()).map_err(settings)?;
        linear(job, &own, kind, &mut told, observer)
    } else {
        let mut own = lethe_neural::SelfTraining::new(job.settings.clone())
            .map_err(|error| settings(error.to_string()))?;
        own.schedule.seed = job.seed;
        let speech = speech_in(job.model, &manifest)?;
        recurrent(job, &own, speech.as_ref(), &mut told, observer)
    };
    let worse = matches!(&trained, Err(TrainError::Worse { .. }));
    if worse {
        // The remaining state is useless; the folder is removed too if it is empty.
        let state = job.folder.join(crate::training::STATE);
        let io = |source| TrainError::Io {
            path: state.clone(),
            source,
        };
        std::fs::remove_dir_all(&state).map_err(io)?;
        // A folder that held other files stays.
        let emptied = std::fs::remove_dir(job.folder);
        drop(emptied);
    }
    let manifest = trained?;
    let (before, after) = told.unwrap_or_default();
    Ok(SelfTrained {
        manifest,
        before,
        after,
    })
}

impl SelfTrainJob<'_> {
    /// Returns whether the loss is within the bound, so that the model may be written.
    fn holds(&self, before: f64, after: f64) -> Result<(), TrainError> {
        if after < before - self.bound {
            return Err(TrainError::Worse {
                before,
                after,
                bound: self.bound,
            });
        }
        Ok(())
    }
}

fn linear(
    job: &SelfTrainJob<'_>,
    settings: &lethe_linear::SelfTraining,
    kind: &str,
    told: &mut Option<(f64, f64)>,
    observer: &mut dyn Observer,
) -> Result<Manifest, TrainError> {
    let task = lethe_linear::SelfTask {
        model: job.model,
        settings,
        labelled: job.labelled,
        unlabelled: job.unlabelled,
        held_out: job.held_out,
        teacher: job.teacher,
        dictionary: job.dictionary,
        seed: job.seed,
    };
    task.check().map_err(|error| match error {
        WarmStartError::Setting(message) => TrainError::Settings {
            kind: kind.to_owned(),
            message,
        },
        error => error.into(),
    })?;
    within(job.folder, job.restart, |_| {
        let mut done = lethe_linear::self_train(&task, observer)?;
        job.holds(done.before, done.after)?;
        done.trained
            .write(job.folder)
            .map_err(lethe_linear::TrainError::from)?;
        *told = Some((done.before, done.after));
        Ok(done.trained.manifest)
    })
}

fn recurrent(
    job: &SelfTrainJob<'_>,
    settings: &lethe_neural::SelfTraining,
    speech: Option<&Speech>,
    told: &mut Option<(f64, f64)>,
    observer: &mut dyn Observer,
) -> Result<Manifest, TrainError> {
    let task = lethe_neural::SelfTask {
        model: job.model,
        labelled: job.labelled,
        unlabelled: job.unlabelled,
        held_out: job.held_out,
        teacher: job.teacher,
        dictionary: job.dictionary,
        speech,
    };
    within(job.folder, job.restart, |state| {
        let done = settings.train(&task, Some(state), observer)?;
        job.holds(done.before, done.after)?;
        done.network.save(job.folder)?;
        *told = Some((done.before, done.after));
        Ok(Manifest::read(job.folder)?)
    })
}

#[cfg(test)]
mod tests {
    use lethe_corpus::Mark;
    use lethe_learn::{NoObserver, TagSet};

    use super::*;
    use crate::training::tests::{builtin, documents, job};
    use crate::{probabilistic, train};

    /// Notes of another institution, with names in other contexts; without annotations.
    fn elsewhere() -> Vec<Document> {
        let names = ["Ines", "Oscar", "Nuria", "Ivan"];
        let each = |i: usize| Document {
            id: format!("e{i}"),
            patient: None,
            marks: Vec::new(),
            text: format!(
                "Dear Dr {}, the patient was born in 19{}.\n",
                names[i % 4],
                40 + i
            ),
        };
        (0..16).map(each).collect()
    }

    fn small(kind: &str) -> toml::Table {
        let settings = if Recurrent::KINDS.contains(&kind) {
            "refresh = 2\nschedule = { epochs = 5, rate = 0.01, batch = 8 }"
        } else {
            "rounds = 2"
        };
        settings.parse().unwrap()
    }

    fn asked<'a>(
        model: &'a Path,
        all: &'a [Document],
        unlabelled: &'a [Document],
        folder: &'a Path,
        kind: &str,
    ) -> SelfTrainJob<'a> {
        SelfTrainJob {
            model,
            labelled: &all[..24],
            unlabelled,
            held_out: &all[24..],
            teacher: None,
            settings: small(kind),
            dictionary: builtin(),
            bound: 0.05,
            seed: 5,
            folder,
            restart: false,
        }
    }

    #[test]
    fn every_soft_kind_trains_itself_to_the_same_bytes_and_says_from_what() {
        let (all, unlabelled) = (documents(), elsewhere());
        for kind in soft() {
            let place = tempfile::tempdir().unwrap();
            let [old, new, again] = ["old", "new", "again"].map(|name| place.path().join(name));
            let before = train(&job(kind, &all[..24], &old), &mut NoObserver).unwrap();
            let done = self_train(&asked(&old, &all, &unlabelled, &new, kind), &mut NoObserver).unwrap();
            assert_eq!(done.manifest.training.goes_on_from, Some(before.digest()));
            assert_eq!(done.manifest.tags, before.tags);
            assert!(done.after > 0.9, "{kind}: {done:?}");
            let same = self_train(&asked(&old, &all, &unlabelled, &again, kind), &mut NoObserver).unwrap();
            assert_eq!(same.manifest, done.manifest, "{kind}: the same bytes every time");
            assert_ne!(
                done.manifest.digest(),
                before.digest(),
                "{kind}: and others than before"
            );
            let told = probabilistic(&new, None, builtin()).unwrap();
            assert_eq!(told.tags(), &before.tags);
        }
    }

    /// Predicts the beginning of the first label for every token.
    struct Wrong(TagSet);

    impl Marginals for Wrong {
        fn tags(&self) -> &TagSet {
            &self.0
        }

        fn marginals(&self, batch: &lethe_core::NoteBatch) -> Vec<Vec<f32>> {
            let row = |tokens: usize| {
                let mut all = vec![0.0; tokens * self.0.len()];
                all.chunks_exact_mut(self.0.len())
                    .for_each(|token| token[1] = 1.0);
                all
            };
            batch.notes().map(|note| row(note.tokens.len())).collect()
        }
    }

    #[test]
    fn a_model_that_its_teacher_spoils_is_not_written_and_the_scores_are_reported() {
        let all = documents();
        // The documents are of the same institution, so the teacher's labels are wrong on the held-out
        // documents.
        let unlabelled: Vec<Document> = all[..24].iter().flat_map(|one| vec![one.clone(); 3]).collect();
        for kind in ["crf", "lstm-l", "lstm-crf-l"] {
            let place = tempfile::tempdir().unwrap();
            let [old, new] = ["old", "new"].map(|name| place.path().join(name));
            let before = train(&job(kind, &all[..24], &old), &mut NoObserver).unwrap();
            let teacher = Wrong(before.tags.clone());
            let mut job = asked(&old, &all, &unlabelled, &new, kind);
            job.teacher = Some(&teacher);
            job.bound = 0.005;
            if kind == "crf" {
                job.settings = "weight = 50.0\nrounds = 1\nlearner = { l1 = 0.0, l2 = 0.001 }"
                    .parse()
                    .unwrap();
            } else {
                // A network this small does not degrade quickly: with this bound no model is good enough.
                job.bound = -1.0;
            }
            let refused = self_train(&job, &mut NoObserver).unwrap_err();
            assert!(matches!(refused, TrainError::Worse { .. }), "{kind}: {refused}");
            let told = refused.to_string();
            assert!(
                told.contains("fell from") && told.contains("nothing was written"),
                "{told}"
            );
            assert!(!new.exists(), "{kind}");
        }
    }

    #[test]
    fn other_kinds_other_labels_and_nothing_to_learn_from_are_refused() {
        let (all, unlabelled) = (documents(), elsewhere());
        let place = tempfile::tempdir().unwrap();
        let [svm, crf, new] = ["svm", "crf", "new"].map(|name| place.path().join(name));
        train(&job("svm", &all, &svm), &mut NoObserver).unwrap();
        train(&job("crf", &all, &crf), &mut NoObserver).unwrap();
        let refused = self_train(&asked(&svm, &all, &unlabelled, &new, "svm"), &mut NoObserver).unwrap_err();
        assert!(
            refused.is_usage() && refused.to_string().contains("crf, lstm-crf-n"),
            "{refused}"
        );
        let mut strange = all.clone();
        strange[0].marks[0] = Mark::gold(strange[0].marks[0].span, "WARD");
        let says = |job: &SelfTrainJob<'_>, part: &str| {
            let refused = self_train(job, &mut NoObserver).unwrap_err();
            assert!(
                refused.is_usage() && refused.to_string().contains(part),
                "{refused}"
            );
        };
        says(&asked(&crf, &strange, &unlabelled, &new, "crf"), "WARD");
        says(&asked(&crf, &all, &[], &new, "crf"), "without gold");
        let mut job = asked(&crf, &all, &unlabelled, &new, "crf");
        job.settings.insert("colour".to_owned(), 1.into());
        says(&job, "colour");
        assert!(!new.exists());
    }
}
