//! Recurrent members from documents to annotations: trained, killed and resumed, saved, damaged, loaded, run.
#![allow(clippy::unwrap_used, reason = "a step that fails fails the test")]

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use lethe_core::{LabelSet, NoteBatch, Span, Tagger};
use lethe_corpus::{Counts, Document, Mark};
use lethe_dictionaries::Dictionary;
use lethe_kernel::Isa;
use lethe_learn::{Epoch, Marginals as _, NoObserver, Observer};
use lethe_neural::{Network, Recurrent};

const NAMES: [&str; 8] = [
    "Ana", "Berta", "Carlos", "Dario", "Elena", "Fermin", "Gloria", "Hugo",
];
const SURNAMES: [&str; 8] = [
    "Quiroga", "Salvat", "Moreno", "Gallardo", "Peralta", "Rojo", "Vidal", "Zamora",
];

/// Returns invented notes with a name and a date in each, `n` of them from number `first` on.
fn documents(first: usize, n: usize) -> Vec<Document> {
    let one = |i: usize| {
        let name = format!("{} {}", NAMES[i % 8], SURNAMES[(i / 3) % 8]);
        let date = format!("{}/{}/{}", 1 + i % 28, 1 + i % 12, 1990 + i % 30);
        let mut text = String::from("Informe de alta.\nPaciente: ");
        let mut marks = Vec::new();
        let mut mark = |text: &mut String, part: &str, label: &str| {
            let start = text.len();
            text.push_str(part);
            marks.push(Mark::gold(Span::between(start as u32, text.len() as u32), label));
        };
        mark(&mut text, &name, "NOMBRE_SUJETO_ASISTENCIA");
        text.push_str(".\nFecha: ");
        mark(&mut text, &date, "FECHAS");
        text.push_str(&format!(
            ".\nIngresa por dolor de {} horas. Se da el alta.\n",
            2 + i % 9
        ));
        Document {
            id: i.to_string(),
            patient: None,
            text,
            marks,
        }
    };
    (first..first + n).map(one).collect()
}

/// Returns a small network of each kind that trains quickly.
fn settings(kind: &str, epochs: u32) -> Recurrent {
    let toml = format!(
        "[architecture]\nword = 12\nchar = 6\nchar_hidden = 5\nlexical = 4\nknowledge = 4\nfield = 3\nhidden = 10\n\
         layer = 9\nwindow = 20\n[schedule]\nepochs = {epochs}\nbatch = 4\nrate = 0.02\ndropout = 0.2\n\
         [vectors.skip_gram]\nleast = 2\nepochs = 1"
    );
    Recurrent::new(kind, toml.parse().unwrap()).unwrap()
}

fn train(kind: &str, epochs: u32, state: Option<&Path>, observer: &mut dyn Observer) -> Network {
    let dictionary = Dictionary::builtin();
    settings(kind, epochs)
        .train(
            &documents(0, 40),
            &documents(500, 6),
            &dictionary,
            state,
            observer,
        )
        .unwrap()
}

fn member(network: &Network) -> lethe_neural::NeuralMember {
    network
        .member(network.kind(), &LabelSet::meddocan(), &Dictionary::builtin())
        .unwrap()
}

/// Returns the member of a network's folder, as a bundle opens it.
fn opened(folder: &Path) -> lethe_neural::NeuralMember {
    Network::open(folder, "m", &LabelSet::meddocan(), &Dictionary::builtin(), None).unwrap()
}

/// Returns every file of a saved network.
fn bytes(network: &Network) -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    network.save(folder.path()).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read(&path).unwrap(),
            )
        })
        .collect();
    files.sort();
    files
}

/// Returns what a network finds in notes that it was not trained on, against their gold.
fn counts(network: &Network) -> Counts {
    let (labels, unseen) = (LabelSet::meddocan(), documents(1000, 30));
    let batch = NoteBatch::from_texts(unseen.iter().map(|d| d.text.as_str())).unwrap();
    let mut counts = Counts::default();
    for (document, found) in unseen.iter().zip(member(network).tag(&batch)) {
        let mark = |a: &lethe_core::Annotation| Mark::gold(a.span, labels.label(a.label).name.clone());
        let marks: Vec<Mark> = found.unwrap().iter().map(mark).collect();
        counts += Counts::strict(&document.marks, &marks);
    }
    counts
}

#[test]
fn every_kind_learns_what_the_notes_show_and_finds_as_much_with_bytes() {
    for kind in Recurrent::KINDS {
        let network = train(kind, 12, None, &mut NoObserver);
        assert_eq!((network.kind(), network.training().documents), (kind, 40));
        let single = counts(&network);
        assert!(single.f1() > 0.95, "{kind}: {single:?}");
        let folder = tempfile::tempdir().unwrap();
        network.rounded().save(folder.path()).unwrap();
        let manifest = std::fs::read_to_string(folder.path().join("member.toml")).unwrap();
        assert!(manifest.contains("precision = \"int8\""), "{manifest}");
        let rounded = counts(&Network::load(folder.path(), None).unwrap());
        assert!(rounded.f1() > 0.95, "{kind}: {rounded:?}");
    }
}

/// Panics after the pass with this number, before its state is saved.
struct Killed(u32);

impl Observer for Killed {
    fn epoch(&mut self, epoch: Epoch) -> ControlFlow<()> {
        assert!(epoch.done != self.0, "killed on purpose");
        ControlFlow::Continue(())
    }
}

#[test]
fn a_seed_gives_the_same_bytes_and_so_does_a_training_that_was_killed_twice() {
    let whole = bytes(&train("lstm-crf-l", 5, None, &mut NoObserver));
    assert_eq!(bytes(&train("lstm-crf-l", 5, None, &mut NoObserver)), whole);
    let state = tempfile::tempdir().unwrap();
    for pass in [2, 4] {
        let killed = catch_unwind(AssertUnwindSafe(|| {
            train("lstm-crf-l", 5, Some(state.path()), &mut Killed(pass));
        }));
        assert!(killed.is_err() && state.path().join("checkpoint.bin").exists());
    }
    struct Count(u32);
    impl Observer for Count {
        fn epoch(&mut self, _: Epoch) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }
    }
    let mut count = Count(0);
    assert_eq!(
        bytes(&train("lstm-crf-l", 5, Some(state.path()), &mut count)),
        whole
    );
    assert_eq!(count.0, 2, "only the missing passes were run");
}

#[test]
fn a_checkpoint_of_another_training_or_cut_short_is_refused_by_name() {
    let state = tempfile::tempdir().unwrap();
    let path = state.path().join("checkpoint.bin");
    assert!(
        catch_unwind(AssertUnwindSafe(|| train(
            "lstm-l",
            3,
            Some(state.path()),
            &mut Killed(2)
        )))
        .is_err()
    );
    let good = std::fs::read(&path).unwrap();
    let again = |kind: &str| {
        let dictionary = Dictionary::builtin();
        let settings = settings(kind, 3);
        settings.train(
            &documents(0, 40),
            &documents(500, 6),
            &dictionary,
            Some(state.path()),
            &mut NoObserver,
        )
    };
    let message = again("lstm-crf-l").unwrap_err().to_string();
    assert!(
        message.contains("checkpoint.bin") && message.contains("other settings or data"),
        "{message}"
    );
    let mut altered = good.clone();
    altered[good.len() / 2] ^= 1;
    for bad in [&good[..good.len() - 1], &altered] {
        std::fs::write(&path, bad).unwrap();
        let message = again("lstm-l").unwrap_err().to_string();
        assert!(message.contains("cut short or altered"), "{message}");
    }
}

#[test]
fn a_network_reads_back_the_same_and_a_damaged_one_is_refused() {
    let network = train("lstm-crf-n", 2, None, &mut NoObserver);
    let folder = tempfile::tempdir().unwrap();
    network.save(folder.path()).unwrap();
    let loaded = Network::load(folder.path(), None).unwrap();
    assert!(!format!("{loaded:?} {:?}", member(&loaded)).contains("dolor"));
    assert_eq!(bytes(&loaded), bytes(&network));
    let batch = NoteBatch::from_texts(documents(7, 5).iter().map(|d| d.text.as_str())).unwrap();
    assert_eq!(member(&loaded).tag(&batch), member(&network).tag(&batch));
    assert_eq!(opened(folder.path()).tag(&batch), member(&network).tag(&batch));
    for file in ["weights.safetensors", "words.txt"] {
        let path = folder.path().join(file);
        let good = std::fs::read(&path).unwrap();
        let mut altered = good.clone();
        altered[good.len() / 2] ^= 1;
        for bad in [&good[..good.len() - 1], &altered] {
            std::fs::write(&path, bad).unwrap();
            let message = Network::load(folder.path(), None).unwrap_err().to_string();
            assert!(message.contains(file) && message.contains("digest"), "{message}");
        }
        std::fs::write(&path, good).unwrap();
    }
    let page = folder.path().join("member.toml");
    let good = std::fs::read_to_string(&page).unwrap();
    for (from, to, problem) in [
        ("hidden = 10", "hidden = 11", "shape or type"),
        ("char = 6", "char = 0", "at least 1"),
        ("layer = 9", "layer = 99999999", "at most 65536"),
        ("format = 1", "format = 99", "model format 99"),
        ("window = 20", "window = 20\ndepth = 2", "depth"),
    ] {
        assert!(good.contains(from), "{good}");
        std::fs::write(&page, good.replace(from, to)).unwrap();
        let message = Network::load(folder.path(), None).unwrap_err().to_string();
        assert!(message.contains(problem), "{message}");
    }
}

#[test]
fn words_of_half_precision_take_half_the_room_and_read_back_the_same() {
    let whole = train("lstm-l", 2, None, &mut NoObserver);
    let half = Recurrent {
        half: true,
        ..settings("lstm-l", 2)
    };
    let half = half
        .train(
            &documents(0, 40),
            &documents(500, 6),
            &Dictionary::builtin(),
            None,
            &mut NoObserver,
        )
        .unwrap();
    let size = |network: &Network| -> usize {
        let files = bytes(network);
        let weights = files.iter().find(|(name, _)| name == "weights.safetensors");
        weights.unwrap().1.len()
    };
    let words = bytes(&half)
        .iter()
        .find(|(name, _)| name == "words.txt")
        .map_or(0, |(_, words)| words.split(|&byte| byte == b'\n').count());
    // One row per word and one for others, with twelve numbers each, of two bytes less per number; the header
    // names the type.
    let saved = (words + 1) * 12 * 2;
    assert!(size(&whole).abs_diff(size(&half) + saved) < 16);
    let folder = tempfile::tempdir().unwrap();
    half.save(folder.path()).unwrap();
    let loaded = Network::load(folder.path(), None).unwrap();
    assert_eq!(bytes(&loaded), bytes(&half));
    let batch = NoteBatch::from_texts(documents(7, 5).iter().map(|d| d.text.as_str())).unwrap();
    assert_eq!(member(&loaded).tag(&batch), member(&half).tag(&batch));
    assert_eq!(opened(folder.path()).tag(&batch), member(&half).tag(&batch));
}

#[test]
fn every_kind_conforms_on_every_instruction_set() {
    let labels = LabelSet::meddocan();
    for kind in Recurrent::KINDS {
        let network = train(kind, 3, None, &mut NoObserver);
        for isa in Isa::all() {
            for network in [network.clone(), network.clone().rounded()] {
                let member = network
                    .member_on(isa, kind, &labels, &Dictionary::builtin())
                    .unwrap();
                lethe_taggers::conformance::check(&member, &labels);
            }
        }
    }
}

#[test]
fn marginals_are_probabilities_and_the_same_in_every_batch() {
    let texts: Vec<String> = documents(20, 6).into_iter().map(|d| d.text).collect();
    let batch = NoteBatch::from_texts(texts.iter().map(String::as_str)).unwrap();
    for kind in Recurrent::KINDS {
        let member = member(&train(kind, 3, None, &mut NoObserver));
        let tags = lethe_learn::Marginals::tags(&member).len();
        let all = member.marginals(&batch);
        for (row, found) in all.iter().enumerate() {
            assert_eq!(found.len(), batch.note(row).tokens.len() * tags);
            for token in found.chunks_exact(tags) {
                assert!((token.iter().sum::<f32>() - 1.0).abs() < 1e-4);
                assert!(token.iter().all(|&p| (-1e-6..=1.0 + 1e-5).contains(&p)));
            }
            assert_eq!(member.marginals(&batch.slice(row, 1))[0], *found);
        }
    }
}

#[test]
fn notes_of_more_words_than_are_kept_are_read_in_parts_and_tagged_as_alone() {
    let word = |i: usize| {
        let letter = |place: u32| char::from(b'a' + (i / 26_usize.pow(place) % 26) as u8);
        (0..4).map(letter).collect::<String>()
    };
    let with_words = |(i, document): (usize, Document)| {
        let words: Vec<String> = (20 * i..20 * (i + 1)).map(word).collect();
        format!("{}{}.\n", document.text, words.join(" "))
    };
    let texts: Vec<String> = documents(0, 1000)
        .into_iter()
        .enumerate()
        .map(with_words)
        .collect();
    let batch = NoteBatch::from_texts(texts.iter().map(String::as_str)).unwrap();
    let member = member(&train("lstm-l", 3, None, &mut NoObserver));
    let all = member.tag(&batch);
    assert!(all.iter().flatten().any(|found| !found.is_empty()));
    for row in (0..1000).step_by(37) {
        assert_eq!(member.tag(&batch.slice(row, 1))[0], all[row]);
    }
}

#[test]
fn documents_without_marks_and_vectors_of_another_size_are_refused() {
    let dictionary = Dictionary::builtin();
    let mut bare = documents(0, 3);
    bare.iter_mut().for_each(|document| document.marks.clear());
    let settings = settings("lstm-l", 1);
    let message = settings
        .train(&bare, &[], &dictionary, None, &mut NoObserver)
        .unwrap_err()
        .to_string();
    assert!(message.contains("no annotations"), "{message}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.vec");
    std::fs::write(&path, "1 3\ndolor 1 2 3\n").unwrap();
    let mut settings = settings;
    settings.vectors.file = Some(path);
    let message = settings
        .train(&documents(0, 3), &[], &dictionary, None, &mut NoObserver)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("3 numbers") && message.contains("12"),
        "{message}"
    );
}

/// Returns notes of another institution: a ward in each, which the first institution does not annotate, and
/// words that it does not have.
fn local(n: usize) -> Vec<Document> {
    let mut documents = documents(2000, n);
    for (i, document) in documents.iter_mut().enumerate() {
        let start = document.text.len() as u32 + 9;
        let ward = ["Tramontana", "Levante", "Poniente"][i % 3];
        document.text.push_str(&format!("Pabellon {ward}.\n"));
        let span = Span::between(start, start + ward.len() as u32);
        document.marks.push(Mark::gold(span, "HOSPITAL"));
    }
    documents
}

fn tune(from: &Path, state: Option<&Path>, observer: &mut dyn Observer) -> Network {
    let tuning = lethe_neural::Tuning::new(
        "[schedule]\nepochs = 6\nbatch = 4\nrate = 0.02\ndropout = 0.2"
            .parse()
            .unwrap(),
    );
    tuning
        .unwrap()
        .warm_start(
            from,
            &local(30),
            &local(6),
            &Dictionary::builtin(),
            state,
            observer,
        )
        .unwrap()
}

#[test]
fn a_network_goes_on_to_the_same_bytes_killed_or_not_and_says_from_which_model() {
    let (old, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let half = Recurrent {
        half: true,
        ..settings("lstm-crf-l", 4)
    };
    half.train(
        &documents(0, 40),
        &[],
        &Dictionary::builtin(),
        None,
        &mut NoObserver,
    )
    .unwrap()
    .save(old.path())
    .unwrap();
    let whole = tune(old.path(), None, &mut NoObserver);
    let killed = catch_unwind(AssertUnwindSafe(|| {
        tune(old.path(), Some(state.path()), &mut Killed(4));
    }));
    assert!(killed.is_err() && state.path().join("checkpoint.bin").exists());
    assert_eq!(
        bytes(&tune(old.path(), Some(state.path()), &mut NoObserver)),
        bytes(&whole)
    );
    let from = lethe_learn::Manifest::read(old.path()).unwrap().digest();
    assert_eq!(whole.training().goes_on_from, Some(from));
    assert_eq!(
        whole.tags().labels(),
        ["FECHAS", "NOMBRE_SUJETO_ASISTENCIA", "HOSPITAL"]
    );
    assert!(whole.training().held_out_f1.unwrap() > 0.9);
    // Half precision stays: rounding again changes nothing.
    let new = tempfile::tempdir().unwrap();
    whole.save(new.path()).unwrap();
    let weights = std::fs::read(new.path().join("weights.safetensors")).unwrap();
    let head = String::from_utf8_lossy(&weights[..4096]).into_owned();
    assert!(
        head.contains("\"word\":{\"dtype\":\"F16\""),
        "the table of words stays in half precision"
    );
    // The checkpoint belongs to a training that continues from another model.
    let another = tempfile::tempdir().unwrap();
    train("lstm-crf-l", 2, None, &mut NoObserver)
        .save(another.path())
        .unwrap();
    let refused = lethe_neural::Tuning::default().warm_start(
        another.path(),
        &local(30),
        &local(6),
        &Dictionary::builtin(),
        Some(state.path()),
        &mut NoObserver,
    );
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("other settings or data"), "{message}");
}

#[test]
fn a_long_note_has_the_spans_and_scores_of_the_whole_when_it_is_read_in_parts() {
    let text: String = documents(50, 420)
        .into_iter()
        .map(|document| document.text)
        .collect();
    let texts = ["Paciente: Ana Rojo.", text.as_str(), "", "Fecha: 3/4/1999"];
    let batch = NoteBatch::from_texts(texts).unwrap();
    assert!(batch.note(1).tokens.len() > 8192, "the note has several parts");
    for kind in Recurrent::KINDS {
        let network = train(kind, 12, None, &mut NoObserver);
        let whole = member(&network).with_window(usize::MAX).tag(&batch);
        assert!(whole[1].as_ref().unwrap().len() > 100, "{kind}");
        assert_eq!(member(&network).with_window(1000).tag(&batch), whole, "{kind}");
    }
}
