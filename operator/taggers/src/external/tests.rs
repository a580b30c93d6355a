//! Files of predictions and their effect.

use lethe_core::{Coordinates, NoteBatch, NoteEvent, QuarantineCode, Record, Span};
use lethe_corpus::{Document, Mark, write_jsonl};

use super::*;
use crate::conformance::{AWKWARD, SAMPLE};

fn config(path: PathBuf) -> ExternalConfig {
    ExternalConfig {
        name: "mist".to_owned(),
        path: Some(path),
        process: None,
        service: None,
        version: None,
        offsets: None,
        format: None,
        labels: BTreeMap::from([("PERSON".to_owned(), "PATIENT".to_owned())]),
        missing: Missing::Fail,
    }
}

fn document(id: &str, text: &str, marks: &[(u32, u32, &str)]) -> Document {
    let mark = |&(start, end, label): &(u32, u32, &str)| Mark::gold(Span::between(start, end), label);
    let marks = marks.iter().map(mark).collect();
    Document {
        id: id.to_owned(),
        patient: None,
        text: text.to_owned(),
        marks,
    }
}

fn built(documents: &[Document], change: impl FnOnce(&mut ExternalConfig)) -> Result<External, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mist.jsonl");
    write_jsonl(&path, documents).unwrap();
    let mut config = config(path);
    change(&mut config);
    config
        .build(&LabelSet::i2b2_2014())
        .map_err(|error| error.to_string())
}

fn note(id: &str, text: &str) -> Record {
    Record::Note(NoteEvent {
        note_id: id.into(),
        text: text.into(),
        ..NoteEvent::default()
    })
}

#[test]
fn a_note_gets_what_was_predicted_under_its_id_with_the_engines_labels() {
    let texts = ["Seen by Ruiz ", "Ana, Leon"];
    let documents = [
        document("a", texts[0], &[(7, 13, "PERSON")]),
        document("b", texts[1], &[(5, 9, "CITY"), (0, 3, "PATIENT")]),
    ];
    let member = built(&documents, |_| {}).unwrap();
    assert_eq!(
        (member.name(), member.len(), member.is_empty()),
        ("mist", 2, false)
    );
    let batch = NoteBatch::from_records([note("b", texts[1]), note("a", texts[0])]).unwrap();
    let labels = LabelSet::i2b2_2014();
    let answers = member.tag(&batch);
    let found = |row: usize| -> Vec<(&str, &str)> {
        let text = batch.note(row).text;
        let found = answers[row].as_ref().unwrap().iter();
        found
            .map(|a| (a.span.of(text), labels.label(a.label).name.as_str()))
            .collect()
    };
    assert_eq!(found(0), [("Ana", "PATIENT"), ("Leon", "CITY")]);
    assert_eq!(found(1), [("Ruiz", "PATIENT")]);
}

#[test]
fn a_tool_is_trained_on_the_labels_that_it_predicts_or_that_the_configuration_names() {
    let member = built(&[document("a", "Leon", &[(0, 4, "CITY")])], |_| {}).unwrap();
    let labels = LabelSet::i2b2_2014();
    let trained = |name: &str| member.is_trained_on(labels.by_name(name).unwrap());
    assert!(trained("CITY") && trained("PATIENT"));
    assert!(!trained("DATE"));
}

#[test]
fn a_note_of_another_text_fails_and_one_without_prediction_fails_unless_told_otherwise() {
    let documents = [document("a", "Ana", &[(0, 3, "PERSON")])];
    let batch = NoteBatch::from_records([
        note("a", "Ana "),
        note("b", "Ana"),
        note("", "Ana"),
        note("a", "Ana"),
    ])
    .unwrap();
    let fails = |missing| {
        let member = built(&documents, |config| config.missing = missing).unwrap();
        let answers = member.tag(&batch);
        assert_eq!(answers[3].as_ref().unwrap().len(), 1);
        answers.iter().map(|answer| answer.is_err()).collect::<Vec<_>>()
    };
    assert_eq!(fails(Missing::Fail), [true, true, true, false]);
    assert_eq!(fails(Missing::Nothing), [true, false, false, false]);
}

#[test]
fn other_predictions_under_the_same_path_have_another_fingerprint() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path().join("a.jsonl"));
    let mut seen = std::collections::BTreeSet::new();
    let mut documents = [document("a", "Ana", &[(0, 3, "PERSON")])];
    for score in [None, Some(0.5), Some(0.25)] {
        documents[0].marks[0].score = score;
        write_jsonl(config.path.as_deref().unwrap(), &documents).unwrap();
        assert_eq!(config.fingerprint().unwrap(), config.fingerprint().unwrap());
        assert_eq!(config.fingerprint().unwrap().len(), 64);
        seen.insert(config.fingerprint().unwrap());
    }
    assert_eq!(seen.len(), 3);
}

#[test]
fn it_keeps_the_promises_of_a_member_on_awkward_texts() {
    let texts: Vec<&str> = AWKWARD.iter().copied().chain([SAMPLE]).collect();
    // A tool may mark anything: the whole text, twice, and every word.
    let documents: Vec<Document> = (texts.iter().enumerate())
        .map(|(i, text)| {
            let mut marks = vec![(0, text.len() as u32, "PERSON"); 2 * usize::from(!text.is_empty())];
            lethe_core::tokenize(text, |token| {
                marks.push((token.span.start() as u32, token.span.end() as u32, "DATE"));
            });
            document(&i.to_string(), text, &marks)
        })
        .collect();
    let member = built(&documents, |_| {}).unwrap();
    let mut records: Vec<Record> = texts
        .iter()
        .enumerate()
        .map(|(i, text)| note(&i.to_string(), text))
        .collect();
    let notes = records.len();
    records.push(Record::Tombstone(Coordinates::default()));
    records.push(Record::Quarantined(
        Coordinates::default(),
        QuarantineCode::InvalidUtf8.into(),
    ));
    let batch = NoteBatch::from_records(records).unwrap();
    let together = member.tag(&batch);
    assert!(together == member.tag(&batch));
    assert_eq!(together.len(), batch.len());
    for (row, answer) in together.iter().enumerate() {
        assert_eq!(member.tag(&batch.slice(row, 1)), std::slice::from_ref(answer));
        let found = answer.as_ref().unwrap();
        let text = batch.note(row).text;
        assert!(
            found
                .iter()
                .all(|a| a.span.trimmed(text) == a.span && !a.span.is_empty())
        );
        assert_eq!(found.is_empty(), row >= notes || text.trim().is_empty());
    }
}

#[test]
fn labels_without_a_place_odd_scores_and_files_that_are_not_there_are_refused_by_name() {
    let documents = [document("a", "Ana", &[(0, 3, "PERSON")])];
    let refused = |documents: &[Document], change: &dyn Fn(&mut ExternalConfig)| {
        built(documents, |config| change(config))
            .err()
            .unwrap_or_default()
    };
    let target = refused(&documents, &|config| {
        config.labels.insert("PERSON".to_owned(), "HUMAN".to_owned());
    });
    assert_eq!(
        target,
        "member `mist`: key `labels.PERSON`: label set `i2b2-2014` has no label `HUMAN`"
    );
    let mut odd = documents.clone();
    odd[0].marks[0].score = Some(1.5);
    assert!(refused(&odd, &|_| {}).contains("document 1 (counted from 1), span 0..3: a score"));
    let gone = refused(&documents, &|config| {
        config.path = Some(PathBuf::from("nowhere.jsonl"))
    });
    assert!(gone.starts_with("member `mist`: nowhere.jsonl: "), "{gone}");
    let none = LabelSet::parse(
        "id = \"x\"\nversion = 1\n[[label]]\nname = \"PATIENT\"\ncategory = \"NAME\"\nhipaa = \"A\"\n",
        "x.toml",
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    write_jsonl(&path, &[document("a", "Ana", &[(0, 3, "CITY")])]).unwrap();
    let message = config(path)
        .build(&none)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(
        message.contains("member `mist`: key `labels.CITY`: label set `x` has no label"),
        "{message}"
    );
}
