//! Properties of every learner, from documents to a member.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use lethe_core::{LabelSet, NoteBatch, Span, Tagger as _};
use lethe_corpus::{Document, Mark};
use lethe_dictionaries::Dictionary;
use lethe_learn::{Epoch, Marginals as _, NoObserver, Observer, Scheme, TagSet};
use lethe_linear::{
    Bayes, FeatureConfig, Learner, LinearMember, MemberError, Task, TrainError, WarmStartTask, train,
    warm_start,
};
use lethe_taggers::conformance;
use rand::{Rng as _, SeedableRng as _};

/// Returns invented notes with names and dates; in some the gold is wrong, so that no learner converges at
/// once.
fn notes(count: usize, seed: u64) -> Vec<Document> {
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let mut pick = |words: &[&'static str]| words[random.random_range(0..words.len())];
    let first = ["TESSA", "Owen", "Ruben", "Lucía", "Ada", "Marta", "Igor"];
    let last = [
        "HARGROVE",
        "Pellworth",
        "Moreno",
        "Okafor",
        "Quiroga",
        "Lindqvist",
    ];
    (0..count)
        .map(|i| {
            let (mut text, mut marks) = (String::new(), Vec::new());
            let mut add = |words: &str, label: Option<&str>| {
                let start = text.len() as u32;
                text.push_str(words);
                if let Some(label) = label {
                    marks.push(Mark::gold(Span::between(start, text.len() as u32), label));
                }
            };
            add("PATIENT: ", None);
            add(&format!("{}, {}", pick(&last), pick(&first)), Some("PATIENT"));
            add(pick(&["   MRN: 48-22-917", "  seen today", "\nStable."]), None);
            add("\nDOB: ", None);
            let date = format!(
                "{}/{}/19{}",
                pick(&["04", "11", "7"]),
                pick(&["11", "02", "30"]),
                pick(&["61", "84"])
            );
            add(&date, (i % 9 > 0).then_some("DATE"));
            add("\nDiscussed with Dr. ", None);
            add(pick(&last), Some(if i % 7 == 0 { "PATIENT" } else { "DOCTOR" }));
            add(pick(&[" on ", " and seen "]), None);
            add(&format!("March {}, 2022", pick(&["3", "14", "22"])), Some("DATE"));
            add(".\nNombre: ", None);
            add(pick(&first), Some("PATIENT"));
            add(". Apellidos: Moreno Gallardo.\n", None);
            Document {
                id: i.to_string(),
                patient: None,
                text,
                marks,
            }
        })
        .collect()
}

/// Returns learners small enough for a test that still have something to learn after several passes.
fn learners() -> Vec<Learner> {
    let settings = |kind: &str| match kind {
        "crf" | "memm" => "least_gain = 0.0\niterations = 30",
        "svm" => "least_gain = 0.0\niterations = 30\ncut_off = 1",
        "naive-bayes" => "",
        _ => "epochs = 6\ncut_off = 1",
    };
    let learner = |kind: &&str| toml::from_str(&format!("kind = \"{kind}\"\n{}", settings(kind))).unwrap();
    Learner::KINDS.iter().map(learner).collect()
}

struct Setting {
    documents: Vec<Document>,
    features: FeatureConfig,
    dictionary: Arc<Dictionary>,
}

impl Setting {
    fn new() -> Self {
        Self {
            documents: notes(40, 1),
            features: FeatureConfig::default(),
            dictionary: Dictionary::builtin(),
        }
    }

    fn task<'a>(&'a self, learner: &'a Learner, state: Option<&'a Path>) -> Task<'a> {
        Task {
            learner,
            documents: &self.documents,
            held_out: None,
            features: &self.features,
            dictionary: &self.dictionary,
            seed: 11,
            state,
        }
    }
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect()
}

fn written(task: &Task<'_>, observer: &mut dyn Observer) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    train(task, observer).unwrap().write(folder.path()).unwrap();
    files(folder.path())
}

/// Records the passes that it observes; stops after one of them.
#[derive(Default)]
struct Passes {
    seen: Vec<u32>,
    stop: Option<u32>,
}

impl Observer for Passes {
    fn epoch(&mut self, epoch: Epoch) -> ControlFlow<()> {
        self.seen.push(epoch.done);
        if self.stop == Some(epoch.done) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn every_learner_makes_a_member_that_conforms_and_finds_names_in_notes_it_has_not_seen() {
    let setting = Setting::new();
    let unseen = notes(12, 2);
    for learner in learners() {
        let trained = train(&setting.task(&learner, None), &mut NoObserver).unwrap();
        for labels in [LabelSet::i2b2_2014(), LabelSet::meddocan()] {
            let member = LinearMember::new(trained.clone(), &labels, &setting.dictionary).unwrap();
            assert_eq!(member.name(), learner.kind());
            conformance::check(&member, &labels);
        }
        let labels = LabelSet::i2b2_2014();
        let member = LinearMember::new(trained, &labels, &setting.dictionary).unwrap();
        let batch = NoteBatch::from_texts(unseen.iter().map(|d| d.text.as_str())).unwrap();
        let (mut hits, mut gold) = (0, 0);
        for (document, found) in unseen.iter().zip(member.tag(&batch)) {
            let found = found.unwrap();
            let patients = document.marks.iter().filter(|mark| mark.label == "PATIENT");
            for mark in patients.filter(|mark| mark.span.start() < 40) {
                gold += 1;
                hits += usize::from(
                    found
                        .iter()
                        .any(|a| a.span == mark.span && labels.label(a.label).name == "PATIENT"),
                );
            }
        }
        assert!(hits * 10 >= gold * 9, "{}: {hits} of {gold}", learner.kind());
    }
}

#[test]
fn marginals_of_every_token_sum_to_one_and_agree_with_the_spans() {
    let setting = Setting::new();
    let labels = LabelSet::i2b2_2014();
    for learner in learners() {
        let trained = train(&setting.task(&learner, None), &mut NoObserver).unwrap();
        let member = LinearMember::new(trained, &labels, &setting.dictionary).unwrap();
        let batch = NoteBatch::from_texts([setting.documents[3].text.as_str(), "", "Stable."]).unwrap();
        let marginals = member.marginals(&batch);
        assert_eq!(marginals.len(), 3);
        for (note, marginals) in batch.notes().zip(&marginals) {
            assert_eq!(marginals.len(), note.tokens.len() * member.tags().len());
            for token in marginals.chunks(member.tags().len()) {
                let sum: f32 = token.iter().sum();
                assert!((sum - 1.0).abs() < 1e-3, "{}: {sum}", learner.kind());
                assert!(token.iter().all(|p| (0.0..=1.001).contains(p)));
            }
        }
        assert!(marginals[1].is_empty());
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let setting = Setting::new();
    for learner in learners() {
        let task = setting.task(&learner, None);
        assert!(
            written(&task, &mut NoObserver) == written(&task, &mut NoObserver),
            "{}",
            learner.kind()
        );
    }
}

#[test]
fn a_killed_training_goes_on_to_the_same_bytes() {
    let setting = Setting::new();
    for learner in learners() {
        if learner.kind() == "naive-bayes" {
            continue; // It makes no passes; a test of the whole program kills it between two parts of its text.
        }
        let batch = ["crf", "memm", "svm"].contains(&learner.kind());
        let (stop, first_again) = if batch { (14, 11) } else { (3, 3) };
        let state = tempfile::tempdir().unwrap();
        let mut killed = Passes {
            stop: Some(stop),
            ..Passes::default()
        };
        train(&setting.task(&learner, Some(state.path())), &mut killed).unwrap();
        assert_eq!(killed.seen.last(), Some(&stop), "{}", learner.kind());
        let mut resumed = Passes::default();
        let after_kill = written(&setting.task(&learner, Some(state.path())), &mut resumed);
        assert_eq!(resumed.seen.first(), Some(&first_again), "{}", learner.kind());
        assert!(
            after_kill == written(&setting.task(&learner, None), &mut NoObserver),
            "{}",
            learner.kind()
        );
    }
}

#[test]
fn the_state_of_another_training_or_a_damaged_one_is_refused() {
    let setting = Setting::new();
    let learner = Learner::of_kind("mira").unwrap();
    let state = tempfile::tempdir().unwrap();
    let task = setting.task(&learner, Some(state.path()));
    let mut killed = Passes {
        stop: Some(3),
        ..Passes::default()
    };
    train(&task, &mut killed).unwrap();
    let other = Task { seed: 12, ..task };
    let refused = train(&other, &mut NoObserver).unwrap_err();
    assert!(refused.to_string().contains("another training"), "{refused}");
    let path = state.path().join("training.state");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let refused = train(&task, &mut NoObserver).unwrap_err();
    assert!(matches!(refused, TrainError::State { .. }), "{refused}");
}

#[test]
fn a_model_that_was_written_answers_as_before_and_a_damaged_one_is_refused() {
    let setting = Setting::new();
    let labels = LabelSet::i2b2_2014();
    for learner in learners() {
        let folder = tempfile::tempdir().unwrap();
        let mut trained = train(&setting.task(&learner, None), &mut NoObserver).unwrap();
        trained.write(folder.path()).unwrap();
        let before = LinearMember::new(trained, &labels, &setting.dictionary).unwrap();
        let open = || LinearMember::open(folder.path(), &labels, &setting.dictionary);
        let batch = NoteBatch::from_texts(notes(5, 3).iter().map(|d| d.text.as_str())).unwrap();
        assert_eq!(
            open().unwrap().tag(&batch),
            before.tag(&batch),
            "{}",
            learner.kind()
        );
        let path = folder.path().join("weights.bin");
        let good = std::fs::read(&path).unwrap();
        let mut altered = good.clone();
        altered[good.len() / 2] ^= 1;
        for bad in [&good[..good.len() - 1], &altered] {
            std::fs::write(&path, bad).unwrap();
            let refused = open().err().unwrap();
            assert!(matches!(refused, MemberError::Manifest(_)), "{refused}");
            assert!(refused.to_string().contains("weights.bin"), "{refused}");
        }
    }
}

#[test]
fn nothing_marked_is_nothing_to_learn() {
    let mut setting = Setting::new();
    for document in &mut setting.documents {
        document.marks.clear();
    }
    for learner in learners() {
        let refused = train(&setting.task(&learner, None), &mut NoObserver).unwrap_err();
        assert!(matches!(refused, TrainError::NothingMarked));
    }
}

#[test]
fn held_out_documents_are_scored_and_set_the_confidence_but_change_no_span() {
    let setting = Setting::new();
    let held_out = notes(10, 5);
    let labels = LabelSet::i2b2_2014();
    for learner in learners() {
        let plain = train(&setting.task(&learner, None), &mut NoObserver).unwrap();
        let task = Task {
            held_out: Some(&held_out),
            ..setting.task(&learner, None)
        };
        let evaluated = train(&task, &mut NoObserver).unwrap();
        let f1 = evaluated.manifest.training.held_out_f1.unwrap();
        assert!((0.5..=1.0).contains(&f1), "{}: {f1}", learner.kind());
        let batch = NoteBatch::from_texts(held_out.iter().map(|d| d.text.as_str())).unwrap();
        let spans = |trained| {
            let member = LinearMember::new(trained, &labels, &setting.dictionary).unwrap();
            let found = member.tag(&batch);
            let spans = found.iter().map(|found| {
                let found = found.as_ref().unwrap().iter();
                found.map(|a| (a.span, a.label)).collect::<Vec<_>>()
            });
            spans.collect::<Vec<_>>()
        };
        assert_eq!(spans(plain), spans(evaluated), "{}", learner.kind());
    }
}

#[test]
fn naive_bayes_learns_the_same_in_whatever_increments() {
    let setting = Setting::new();
    let Learner::NaiveBayes(config) = Learner::of_kind("naive-bayes").unwrap() else {
        unreachable!("the kind names its learner");
    };
    let learner = Learner::NaiveBayes(config.clone());
    let whole = tempfile::tempdir().unwrap();
    train(&setting.task(&learner, None), &mut NoObserver)
        .unwrap()
        .write(whole.path())
        .unwrap();
    let parts = tempfile::tempdir().unwrap();
    let first = Task {
        documents: &setting.documents[..15],
        ..setting.task(&learner, None)
    };
    let bayes = Bayes::begin(&config, &first, &mut NoObserver).unwrap();
    bayes
        .trained(None, &setting.dictionary)
        .unwrap()
        .write(parts.path())
        .unwrap();
    // It is written and opened in between, as if months passed.
    let mut bayes = Bayes::open(parts.path()).unwrap();
    bayes
        .update(&setting.documents[15..22], &setting.dictionary)
        .unwrap();
    bayes
        .update(&setting.documents[22..], &setting.dictionary)
        .unwrap();
    bayes
        .trained(None, &setting.dictionary)
        .unwrap()
        .write(parts.path())
        .unwrap();
    let (whole, parts) = (files(whole.path()), files(parts.path()));
    for name in ["weights.bin", "counts.bin"] {
        assert!(whole[name] == parts[name], "{name}");
    }
    let page = String::from_utf8(parts["member.toml"].clone()).unwrap();
    assert!(page.contains("documents = 40"), "{page}");

    // It starts with only the labels, and every document is an increment.
    let marks = setting.documents.iter().flat_map(|document| &document.marks);
    let labels = TagSet::of(Scheme::Bilou, marks).labels().to_vec();
    let mut empty = Bayes::empty(&setting.features, labels, 1).unwrap();
    empty.update(&setting.documents, &setting.dictionary).unwrap();
    let from_nothing = tempfile::tempdir().unwrap();
    empty
        .trained(None, &setting.dictionary)
        .unwrap()
        .write(from_nothing.path())
        .unwrap();
    let from_nothing = files(from_nothing.path());
    for name in ["weights.bin", "counts.bin"] {
        assert!(whole[name] == from_nothing[name], "{name}");
    }
}

#[test]
fn a_learner_goes_on_to_the_same_bytes_killed_or_not_and_holds_to_its_old_weights() {
    let setting = Setting::new();
    let other = notes(12, 77);
    for learner in learners()
        .iter()
        .filter(|learner| learner.kind() != "naive-bayes")
    {
        let (old, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut trained = train(&setting.task(learner, None), &mut NoObserver).unwrap();
        trained.write(old.path()).unwrap();
        let settings = toml::Table::new();
        let task = |state| WarmStartTask {
            model: old.path(),
            settings: &settings,
            documents: &other,
            held_out: None,
            dictionary: &setting.dictionary,
            seed: 5,
            state,
        };
        let on = |state, observer: &mut dyn Observer| {
            let folder = tempfile::tempdir().unwrap();
            warm_start(&task(state), observer)
                .unwrap()
                .write(folder.path())
                .unwrap();
            files(folder.path())
        };
        let mut whole = Passes::default();
        let bytes = on(None, &mut whole);
        assert_ne!(
            bytes["weights.bin"],
            files(old.path())["weights.bin"],
            "{}",
            learner.kind()
        );
        // Panics, like a kill, after the last saved state.
        struct Killed(u32);
        impl Observer for Killed {
            fn epoch(&mut self, epoch: Epoch) -> ControlFlow<()> {
                assert!(epoch.done != self.0, "killed on purpose");
                ControlFlow::Continue(())
            }
        }
        let last = whole.seen.len() as u32;
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            on(Some(state.path()), &mut Killed(last.max(2) - 1))
        }));
        assert!(last < 3 || killed.is_err());
        assert_eq!(
            on(Some(state.path()), &mut NoObserver),
            bytes,
            "{}",
            learner.kind()
        );
    }
}

#[test]
fn a_prior_that_is_firm_enough_keeps_a_random_field_as_it_was() {
    let setting = Setting::new();
    let other = notes(12, 77);
    let old = tempfile::tempdir().unwrap();
    let learner = &learners()[0];
    let mut trained = train(&setting.task(learner, None), &mut NoObserver).unwrap();
    trained.write(old.path()).unwrap();
    let batch = NoteBatch::from_texts(other.iter().map(|d| d.text.as_str())).unwrap();
    let labels = LabelSet::i2b2_2014();
    let before = LinearMember::open(old.path(), &labels, &setting.dictionary).unwrap();
    let with_strength = |strength: f64| {
        let settings =
            toml::Table::from_iter([("l2".to_owned(), strength.into()), ("l1".to_owned(), 0.0.into())]);
        let task = WarmStartTask {
            model: old.path(),
            settings: &settings,
            documents: &other,
            held_out: None,
            dictionary: &setting.dictionary,
            seed: 5,
            state: None,
        };
        let member = LinearMember::new(
            warm_start(&task, &mut NoObserver).unwrap(),
            &labels,
            &setting.dictionary,
        );
        member.unwrap().marginals(&batch)
    };
    let far = |a: &[Vec<f32>], b: &[Vec<f32>]| -> f32 {
        let pairs = a.iter().flatten().zip(b.iter().flatten());
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    };
    let (was, firm, loose) = (before.marginals(&batch), with_strength(1e7), with_strength(0.01));
    assert!(far(&was, &firm) < 0.02, "{}", far(&was, &firm));
    assert!(far(&was, &loose) > 0.2, "{}", far(&was, &loose));
}
