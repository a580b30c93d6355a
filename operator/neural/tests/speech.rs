//! Recurrent members that read parts of speech: trained, saved, refused, loaded, run.
#![allow(clippy::unwrap_used, reason = "a step that fails fails the test")]

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

use lethe_core::{LabelSet, NoteBatch, NoteView, Tagger as _};
use lethe_corpus::{Counts, Document, Mark};
use lethe_dictionaries::Dictionary;
use lethe_learn::{Epoch, Manifest, Marginals as _, NoObserver, Observer, Speech, SpeechReader, SpeechTags};
use lethe_neural::{Network, NeuralMember, Recurrent, SelfTask, SelfTraining, Tuning};

const NOUN: u8 = 7;
const PROPER_NOUN: u8 = 11;

/// A tagger that draws the part of speech of each token from the length of the note and the token's index, which
/// a network does not read.
#[derive(Clone, Copy)]
struct Drawn(u8);

struct Reader {
    seed: u8,
    next: usize,
}

impl SpeechTags for Drawn {
    fn to_bytes(&self) -> Vec<u8> {
        vec![self.0]
    }

    fn reader(&self) -> Box<dyn SpeechReader + '_> {
        Box::new(Reader {
            seed: self.0,
            next: 0,
        })
    }
}

impl SpeechReader for Reader {
    fn read(&mut self, note: &NoteView<'_>, tokens: Range<usize>, out: &mut Vec<u8>) {
        assert!(
            [0, self.next].contains(&tokens.start),
            "a note is read from its first token to its last"
        );
        self.next = tokens.end;
        out.extend(tokens.map(|i| {
            let mixed =
                (note.text.len() * 1009 + i * 9176 + usize::from(self.seed)).wrapping_mul(0x9e37_79b9);
            if mixed >> 16 & 3 == 0 { PROPER_NOUN } else { NOUN }
        }));
    }
}

fn speech(seed: u8) -> Speech {
    Speech::new(Arc::new(Drawn(seed)), &[seed])
}

/// Returns invented notes in which each proper noun is a name, `n` of them from number `first` on.
fn documents(first: usize, n: usize) -> Vec<Document> {
    let words = ["alba", "bruma", "cielo", "duna", "esfera"];
    let text = |i: usize| {
        let sentence = |s: usize| {
            let words: Vec<&str> = (0..5 + (i + s) % 4)
                .map(|w| words[(i * 7 + s * 3 + w * w) % 5])
                .collect();
            format!("{}.\n", words.join(" "))
        };
        (0..2 + i % 3).map(sentence).collect::<String>() + &"ola ".repeat(i % 6)
    };
    let texts: Vec<String> = (first..first + n).map(text).collect();
    let batch = NoteBatch::from_texts(texts.iter().map(String::as_str)).unwrap();
    let mut tags = Vec::new();
    let one = |note: NoteView<'_>| {
        tags.clear();
        Drawn(1).reader().read(&note, 0..note.tokens.len(), &mut tags);
        let named = tags.iter().enumerate().filter(|(_, tag)| **tag == PROPER_NOUN);
        let marks = named.map(|(i, _)| Mark::gold(note.tokens_span(i, i), "NOMBRE_SUJETO_ASISTENCIA"));
        Document {
            id: note.row.to_string(),
            patient: None,
            text: note.text.to_owned(),
            marks: marks.collect(),
        }
    };
    batch.notes().map(one).collect()
}

/// Returns a small network that trains quickly.
fn settings(kind: &str, size: usize, epochs: u32) -> Recurrent {
    let toml = format!(
        "[architecture]\nword = 6\nchar = 4\nchar_hidden = 3\nlexical = 0\nknowledge = 4\nfield = 3\nspeech = {size}\n\
         hidden = 8\nlayer = 8\nwindow = 20\n[schedule]\nepochs = {epochs}\nbatch = 4\nrate = 0.02\ndropout = 0.0\n\
         [vectors]\nnone = true"
    );
    Recurrent {
        speech: (size > 0).then(|| speech(1)),
        ..Recurrent::new(kind, toml.parse().unwrap()).unwrap()
    }
}

fn train(settings: &Recurrent) -> Network {
    settings
        .train(
            &documents(0, 60),
            &[],
            &Dictionary::builtin(),
            None,
            &mut NoObserver,
        )
        .unwrap()
}

fn member(network: &Network) -> NeuralMember {
    network
        .member(network.kind(), &LabelSet::meddocan(), &Dictionary::builtin())
        .unwrap()
}

fn f1(member: &NeuralMember, documents: &[Document]) -> f64 {
    let (labels, mut counts) = (LabelSet::meddocan(), Counts::default());
    let batch = NoteBatch::from_texts(documents.iter().map(|d| d.text.as_str())).unwrap();
    for (document, found) in documents.iter().zip(member.tag(&batch)) {
        let mark = |a: &lethe_core::Annotation| Mark::gold(a.span, labels.label(a.label).name.clone());
        let marks: Vec<Mark> = found.unwrap().iter().map(mark).collect();
        counts += Counts::strict(&document.marks, &marks);
    }
    counts.f1()
}

/// Returns the message of a folder that is refused with this tagger.
fn refused(folder: &Path, speech: Option<Speech>) -> String {
    Network::load(folder, speech).unwrap_err().to_string()
}

#[test]
fn a_network_learns_what_only_the_part_of_speech_shows_and_reads_back_the_same() {
    let unseen = documents(1000, 40);
    let batch = NoteBatch::from_texts(unseen.iter().map(|d| d.text.as_str())).unwrap();
    for kind in Recurrent::KINDS {
        let network = train(&settings(kind, 4, 12));
        let own = member(&network);
        assert!(f1(&own, &unseen) > 0.95, "{kind}: {}", f1(&own, &unseen));
        let folder = tempfile::tempdir().unwrap();
        network.save(folder.path()).unwrap();
        assert_eq!(std::fs::read(folder.path().join("pos.bin")).unwrap(), [1]);
        let loaded = Network::load(folder.path(), Some(speech(1))).unwrap();
        assert_eq!(member(&loaded).tag(&batch), own.tag(&batch));
        let (labels, dictionary) = (LabelSet::meddocan(), Dictionary::builtin());
        let opened = Network::open(folder.path(), kind, &labels, &dictionary, Some(speech(1)));
        let opened = opened.unwrap();
        assert_eq!(opened.tag(&batch), own.tag(&batch));
        assert_eq!(opened.marginals(&batch), own.marginals(&batch));
        // Without parts of speech, the notes do not show the names, and the folder is as before.
        let without = train(&settings(kind, 0, 12));
        assert!(f1(&member(&without), &unseen) < 0.6, "{kind}");
        without.save(folder.path()).unwrap();
        let manifest = std::fs::read_to_string(folder.path().join("member.toml")).unwrap();
        assert!(
            !manifest.contains("pos") && !manifest.contains("speech"),
            "{manifest}"
        );
    }
}

#[test]
fn a_missing_or_different_tagger_is_refused_with_both_digests() {
    let folder = tempfile::tempdir().unwrap();
    train(&settings("lstm-l", 3, 1)).save(folder.path()).unwrap();
    let [own, other] = [1, 2].map(|seed| speech(seed).digest());
    let message = refused(folder.path(), None);
    assert!(
        message.contains(&own) && message.contains("is missing"),
        "{message}"
    );
    let message = refused(folder.path(), Some(speech(2)));
    assert!(message.contains(&own) && message.contains(&other), "{message}");
    // Parts of the manifest that contradict each other.
    let path = folder.path().join("member.toml");
    let good = std::fs::read_to_string(&path).unwrap();
    for (from, to, problem) in [
        ("pos = \"pos.bin\"\n", "", "disagree"),
        ("speech = 3\n", "", "disagree"),
        ("\"pos.bin\" = ", "\"else.bin\" = ", "not listed"),
    ] {
        assert!(good.contains(from), "{good}");
        std::fs::write(&path, good.replace(from, to)).unwrap();
        let message = refused(folder.path(), Some(speech(1)));
        assert!(message.contains(problem), "{message}");
    }
    // A network that does not read parts of speech takes no tagger.
    train(&settings("lstm-l", 0, 1)).save(folder.path()).unwrap();
    let message = refused(folder.path(), Some(speech(2)));
    assert!(
        message.contains("(none)") && message.contains(&other),
        "{message}"
    );
    for (size, tagger) in [(3, None), (0, Some(speech(1)))] {
        let settings = Recurrent {
            speech: tagger,
            ..settings("lstm-l", size, 1)
        };
        let trained = settings.train(
            &documents(0, 4),
            &[],
            &Dictionary::builtin(),
            None,
            &mut NoObserver,
        );
        let message = trained.unwrap_err().to_string();
        assert!(message.contains("need each other"), "{message}");
    }
}

#[test]
fn a_checkpoint_belongs_to_its_tagger() {
    struct Ended;
    impl Observer for Ended {
        fn epoch(&mut self, _: Epoch) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    let state = tempfile::tempdir().unwrap();
    let with = |seed: u8| {
        let settings = Recurrent {
            speech: Some(speech(seed)),
            ..settings("lstm-l", 3, 2)
        };
        let (documents, dictionary) = (documents(0, 8), Dictionary::builtin());
        settings.train(&documents, &[], &dictionary, Some(state.path()), &mut Ended)
    };
    with(1).unwrap();
    with(1).unwrap();
    let message = with(2).unwrap_err().to_string();
    assert!(message.contains("other settings or data"), "{message}");
}

#[test]
fn a_long_note_in_parts_and_any_batch_give_the_same_spans() {
    let text: String = documents(50, 500).into_iter().map(|d| d.text).collect();
    let run_on = "alba bruma ".repeat(900);
    let texts = ["alba ola", text.as_str(), "", run_on.as_str(), "duna"];
    let batch = NoteBatch::from_texts(texts).unwrap();
    assert!(batch.note(1).tokens.len() > 8192, "the note has several parts");
    let labels = LabelSet::meddocan();
    for kind in Recurrent::KINDS {
        let network = train(&settings(kind, 4, 6));
        let whole = member(&network).with_window(usize::MAX).tag(&batch);
        assert!(whole[1].as_ref().unwrap().len() > 1000, "{kind}");
        assert_eq!(member(&network).with_window(1000).tag(&batch), whole, "{kind}");
        lethe_taggers::conformance::check(&member(&network), &labels);
    }
}

#[test]
fn training_goes_on_with_the_tagger_of_the_model() {
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    train(&settings("lstm-crf-l", 4, 12)).save(old.path()).unwrap();
    let (more, held_out, dictionary) = (documents(200, 20), documents(300, 20), Dictionary::builtin());
    let tuning = Tuning {
        speech: Some(speech(1)),
        ..Tuning::new("[schedule]\nepochs = 2".parse().unwrap()).unwrap()
    };
    let tuned = tuning
        .warm_start(old.path(), &more, &held_out, &dictionary, None, &mut NoObserver)
        .unwrap();
    let task = SelfTask {
        model: old.path(),
        labelled: &more,
        unlabelled: &documents(400, 20),
        held_out: &held_out,
        teacher: None,
        dictionary: &dictionary,
        speech: Some(&speech(1)),
    };
    let again = SelfTraining::new("schedule = { epochs = 1 }".parse().unwrap()).unwrap();
    let again = again.train(&task, None, &mut NoObserver).unwrap();
    assert!(again.before > 0.9 && again.after > 0.9, "{}", again.before);
    for network in [&tuned, &again.network] {
        network.save(new.path()).unwrap();
        let digest = speech(1).digest();
        assert_eq!(Manifest::read(new.path()).unwrap().files["pos.bin"], digest);
        assert!(f1(&member(network), &held_out) > 0.9);
    }
    let untagged = Tuning::new(toml::Table::new()).unwrap();
    let refused = untagged.warm_start(old.path(), &more, &[], &dictionary, None, &mut NoObserver);
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("is missing"), "{message}");
}
