//! A convolutional member from documents to annotations: trained, killed and resumed, saved, damaged, loaded, run.
#![allow(clippy::unwrap_used, reason = "a step that fails fails the test")]

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use lethe_core::{LabelSet, NoteBatch, Span, Tagger};
use lethe_corpus::{Counts, Document, Mark};
use lethe_learn::{Epoch, Marginals as _, NoObserver, Observer};
use lethe_neural::Precision;
use lethe_neural::convolution::{ConvolutionMember, ConvolutionNetwork, Convolutional};

const NAMES: [&str; 6] = ["Ana", "Berta", "Dario", "Elena", "Gloria", "Hugo"];
const SURNAMES: [&str; 7] = [
    "Quiroga", "Salvat", "Moreno", "Gallardo", "Peralta", "Rojo", "Vidal",
];

/// Returns invented notes with a name and a date in each, `n` of them from number `first` on.
fn documents(first: usize, n: usize) -> Vec<Document> {
    let one = |i: usize| {
        let name = format!("{} {}", NAMES[i % 6], SURNAMES[i / 3 % 7]);
        let date = format!("{}/{}/{}", 1 + i % 28, 1 + i % 12, 1990 + i % 30);
        let text = format!(
            "Discharge summary.\nPatient: {name}.\nDate: {date}.\nPain for {} hours.\n",
            2 + i % 9
        );
        let mark = |part: &str, label: &str| {
            let start = text.find(part).unwrap();
            Mark::gold(Span::new(start, start + part.len()).unwrap(), label)
        };
        Document {
            id: i.to_string(),
            patient: None,
            marks: vec![mark(&name, "PATIENT"), mark(&date, "DATE")],
            text: text.clone(),
        }
    };
    (first..first + n).map(one).collect()
}

fn settings(epochs: u32) -> Convolutional {
    let toml = format!(
        "[architecture]\nbuckets = 1024\npiece = 12\nshape = 6\nchannels = 16\ndilations = [1, 2, 4]\n\
         [schedule]\nepochs = {epochs}\nbatch = 128\nrate = 0.02\ndropout = 0.1"
    );
    Convolutional::new(toml.parse().unwrap()).unwrap()
}

fn train(epochs: u32, state: Option<&Path>, observer: &mut dyn Observer) -> ConvolutionNetwork {
    settings(epochs)
        .train(&documents(0, 40), &documents(500, 6), state, observer)
        .unwrap()
}

/// Returns the member of a network's folder, as a bundle opens it.
fn opened(folder: &Path) -> ConvolutionMember {
    ConvolutionNetwork::open(folder, "cnn", &LabelSet::i2b2_2014()).unwrap()
}

fn member(network: &ConvolutionNetwork) -> ConvolutionMember {
    let folder = tempfile::tempdir().unwrap();
    network.save(folder.path()).unwrap();
    opened(folder.path())
}

/// Returns every file of a saved network.
fn bytes(network: &ConvolutionNetwork) -> [Vec<u8>; 2] {
    let folder = tempfile::tempdir().unwrap();
    network.save(folder.path()).unwrap();
    ["member.toml", "weights.safetensors"].map(|file| std::fs::read(folder.path().join(file)).unwrap())
}

fn batch<'a>(texts: impl IntoIterator<Item = &'a str>) -> NoteBatch {
    NoteBatch::from_texts(texts).unwrap()
}

/// Panics after the pass with this number, before its state is saved.
struct Killed(u32);

impl Observer for Killed {
    fn epoch(&mut self, epoch: Epoch) -> ControlFlow<()> {
        assert!(epoch.done != self.0, "killed on purpose");
        ControlFlow::Continue(())
    }
}

/// Returns what a network finds in notes that it was not trained on, against their gold.
fn counts(network: &ConvolutionNetwork) -> Counts {
    let (labels, unseen) = (LabelSet::i2b2_2014(), documents(1000, 30));
    let found = member(network).tag(&batch(unseen.iter().map(|d| d.text.as_str())));
    let mut counts = Counts::default();
    for (document, found) in unseen.iter().zip(found) {
        let mark = |a: &lethe_core::Annotation| Mark::gold(a.span, labels.label(a.label).name.clone());
        let marks: Vec<Mark> = found.unwrap().iter().map(mark).collect();
        counts += Counts::strict(&document.marks, &marks);
    }
    counts
}

#[test]
fn it_learns_what_the_notes_show() {
    let network = train(25, None, &mut NoObserver);
    assert!(network.training().held_out_f1 > Some(0.95));
    let counts = counts(&network);
    assert!(counts.f1() > 0.95, "{counts:?}");
}

#[test]
fn a_network_of_bytes_finds_as_much_whether_it_is_trained_or_rounded_as_such() {
    let mut settings = settings(25);
    settings.architecture.precision = Precision::Int8;
    let (train, held_out) = (documents(0, 40), documents(500, 6));
    let trained = settings.train(&train, &held_out, None, &mut NoObserver).unwrap();
    let notes = batch(train.iter().map(|document| document.text.as_str()));
    let single = self::train(25, None, &mut NoObserver);
    let rounded = single.clone().rounded(&notes).unwrap();
    for network in [&trained, &rounded] {
        let counts = counts(network);
        assert!(counts.f1() > 0.95, "{counts:?}");
        let folder = tempfile::tempdir().unwrap();
        network.save(folder.path()).unwrap();
        let manifest = std::fs::read_to_string(folder.path().join("member.toml")).unwrap();
        assert!(manifest.contains("precision = \"int8\""), "{manifest}");
        let read = ConvolutionNetwork::load(folder.path()).unwrap();
        assert_eq!(bytes(&read), bytes(network));
    }
    assert_eq!(bytes(&trained)[1], bytes(&rounded)[1]);
    assert_ne!(bytes(&single)[1], bytes(&rounded)[1]);
    let none = single.clone().rounded(&batch([""])).unwrap_err().to_string();
    assert!(none.contains("no words"), "{none}");
    // A manifest that names bytes for a network without ranges.
    let folder = tempfile::tempdir().unwrap();
    single.save(folder.path()).unwrap();
    let page = folder.path().join("member.toml");
    let manifest = std::fs::read_to_string(&page).unwrap();
    let named = manifest.replace("channels = 16", "channels = 16\nprecision = \"int8\"");
    std::fs::write(&page, named).unwrap();
    let missing = ConvolutionNetwork::load(folder.path()).unwrap_err().to_string();
    assert!(missing.contains("a tensor is missing"), "{missing}");
}

#[test]
fn a_seed_gives_the_same_bytes_and_so_does_a_training_that_was_killed_twice() {
    let whole = bytes(&train(5, None, &mut NoObserver));
    assert_eq!(bytes(&train(5, None, &mut NoObserver)), whole);
    let state = tempfile::tempdir().unwrap();
    for pass in [2, 4] {
        let killed = catch_unwind(AssertUnwindSafe(|| {
            train(5, Some(state.path()), &mut Killed(pass));
        }));
        assert!(killed.is_err() && state.path().join("checkpoint.bin").exists());
    }
    assert_eq!(bytes(&train(5, Some(state.path()), &mut NoObserver)), whole);
    let other = settings(6).train(
        &documents(0, 40),
        &documents(500, 6),
        Some(state.path()),
        &mut NoObserver,
    );
    let message = other.unwrap_err().to_string();
    assert!(message.contains("other settings or data"), "{message}");
}

#[test]
fn it_reads_back_the_same_and_a_damaged_one_is_refused() {
    let network = train(2, None, &mut NoObserver);
    let folder = tempfile::tempdir().unwrap();
    network.save(folder.path()).unwrap();
    assert_eq!(
        bytes(&ConvolutionNetwork::load(folder.path()).unwrap()),
        bytes(&network)
    );
    let weights = folder.path().join("weights.safetensors");
    let good = std::fs::read(&weights).unwrap();
    let mut altered = good.clone();
    altered[good.len() / 2] ^= 1;
    for bad in [&good[..good.len() - 1], &altered] {
        std::fs::write(&weights, bad).unwrap();
        let message = ConvolutionNetwork::load(folder.path()).unwrap_err().to_string();
        assert!(
            message.contains("weights.safetensors") && message.contains("digest"),
            "{message}"
        );
    }
    std::fs::write(&weights, good).unwrap();
    let page = folder.path().join("member.toml");
    let good = std::fs::read_to_string(&page).unwrap();
    for (from, to, problem) in [
        ("channels = 16", "channels = 17", "shape or type"),
        ("piece = 12", "piece = 0", "at least 1"),
        ("buckets = 1024", "buckets = 99999999", "buckets at most"),
        ("dilations = [1, 2, 4]", "dilations = [1, 2]", "shape or type"),
        ("channels = 16", "channels = 16\ndepth = 2", "depth"),
    ] {
        assert!(good.contains(from), "{good}");
        std::fs::write(&page, good.replace(from, to)).unwrap();
        let message = ConvolutionNetwork::load(folder.path()).unwrap_err().to_string();
        assert!(message.contains(problem), "{message}");
    }
}

#[test]
fn the_folder_holds_no_word_of_the_notes() {
    let [manifest, weights] = bytes(&train(2, None, &mut NoObserver));
    for word in NAMES.iter().chain(&SURNAMES) {
        for file in [&manifest, &weights] {
            assert!(!file.windows(word.len()).any(|part| part == word.as_bytes()));
        }
    }
}

#[test]
fn a_note_gets_the_same_spans_and_probabilities_in_every_batch() {
    let mut texts: Vec<String> = documents(20, 6).into_iter().map(|d| d.text).collect();
    texts.extend([String::new(), "Ana".to_owned(), "\u{1f469} 日本 12".to_owned()]);
    let batch = batch(texts.iter().map(String::as_str));
    let member = member(&train(4, None, &mut NoObserver));
    let tags = lethe_learn::Marginals::tags(&member).len();
    let (spans, probabilities) = (member.tag(&batch), member.marginals(&batch));
    assert!(spans.iter().flatten().any(|found| !found.is_empty()));
    for (row, found) in probabilities.iter().enumerate() {
        assert_eq!(found.len(), batch.note(row).tokens.len() * tags);
        for token in found.chunks_exact(tags) {
            assert!((token.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        }
        let alone = batch.slice(row, 1);
        assert_eq!(member.marginals(&alone)[0], *found);
        assert_eq!(member.tag(&alone)[0], spans[row]);
    }
}

#[test]
fn a_note_of_several_windows_has_the_spans_of_its_parts() {
    let parts = documents(100, 400);
    let text: String = parts.iter().map(|d| d.text.as_str()).collect();
    let member = member(&train(25, None, &mut NoObserver));
    let found = member.tag(&batch([text.as_str()])).remove(0).unwrap();
    let (mut at, mut missing) = (0, 0);
    for part in &parts {
        for mark in &part.marks {
            let (start, end) = (at + mark.span.start(), at + mark.span.end());
            let is_it = |a: &lethe_core::Annotation| (a.span.start(), a.span.end()) == (start, end);
            missing += usize::from(!found.iter().any(is_it));
        }
        at += part.text.len();
    }
    assert!(missing < 40, "{missing} of 800");
}

#[test]
fn it_has_the_properties_of_every_member() {
    let network = train(3, None, &mut NoObserver);
    let notes = documents(0, 5);
    let notes = batch(notes.iter().map(|document| document.text.as_str()));
    for network in [network.clone(), network.rounded(&notes).unwrap()] {
        lethe_taggers::conformance::check(&member(&network), &LabelSet::i2b2_2014());
    }
}

#[test]
fn documents_without_marks_are_refused() {
    let mut documents = documents(0, 3);
    documents.iter_mut().for_each(|document| document.marks.clear());
    let refused = settings(1).train(&documents, &[], None, &mut NoObserver);
    assert!(refused.unwrap_err().to_string().contains("no annotations"));
}
