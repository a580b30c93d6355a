//! Properties of the columns, whatever the templates.

use lethe_core::{Coordinates, NoteEvent, QuarantineCode, Record};
use lethe_taggers::conformance::{AWKWARD, SAMPLE};
use proptest::prelude::*;

use super::*;
use crate::pos::{PosTagger, Sentence, train};

pub(super) fn extractor() -> Extractor {
    FeatureConfig::default().build(&Dictionary::builtin()).unwrap()
}

fn tagger() -> PosTagger {
    let sentence = Sentence {
        words: ["Ana", "vino", "hoy"].map(str::to_owned).to_vec(),
        tags: vec![11, 15, 2],
    };
    train(&[sentence], 3, 1)
}

pub(super) fn with_tagger() -> Extractor {
    let config = FeatureConfig::default().with_tagger(Arc::new(tagger()));
    config.build(&Dictionary::builtin()).unwrap()
}

/// Returns each token's features by view, in the order of the note.
pub(super) fn flat(columns: &Columns, row: usize) -> Vec<Vec<Vec<u64>>> {
    let note = &columns.notes[row];
    let of = |i| {
        let views = columns.views.iter();
        views
            .map(|&view| {
                let table = &columns.tables[view.table];
                table.of(columns.id(view, note, i), view.part).to_vec()
            })
            .collect()
    };
    (0..note.len()).map(of).collect()
}

fn check_shape(columns: &Columns, batch: &NoteBatch) {
    assert_eq!(columns.notes.len(), batch.len());
    for (row, note) in columns.notes.iter().enumerate() {
        assert_eq!(note.len(), batch.note(row).tokens.len());
    }
    for table in &columns.tables {
        assert_eq!(table.ids.len(), columns.tokens());
        assert!(
            table
                .ids
                .iter()
                .all(|&id| id > 0 && (id as usize) < table.types())
        );
        assert!(table.ends.is_sorted());
        assert_eq!(table.ends.last().copied(), Some(table.features.len() as u32));
    }
    assert!(columns.views.iter().all(|view| view.table < columns.tables.len()));
}

/// Checks that a batch has the layout that members rely on, and that each note has the same features as
/// alone.
fn check(extractor: &Extractor, texts: &[String]) {
    let batch = NoteBatch::from_texts(texts.iter().map(String::as_str)).unwrap();
    let columns = extractor.columns(&batch);
    check_shape(&columns, &batch);
    for row in 0..batch.len() {
        let alone = extractor.columns(&batch.slice(row, 1));
        assert!(
            flat(&columns, row) == flat(&alone, 0),
            "row {row}: alone as in a batch"
        );
    }
}

#[test]
fn awkward_texts_have_features_alone_as_in_a_batch() {
    let mut texts: Vec<String> = AWKWARD.iter().map(|&text| text.to_owned()).collect();
    texts.extend([
        SAMPLE.to_owned(),
        SAMPLE.to_uppercase(),
        SAMPLE.replace('\n', "\r\n"),
        "a: b:c :: d : ".repeat(60),
        "x@y.".repeat(80),
        "electroencefalografista ".repeat(3),
    ]);
    for extractor in [extractor(), with_tagger()] {
        check(&extractor, &texts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_notes_have_the_features_that_they_have_alone(
        texts in proptest::collection::vec(
            prop_oneof![
                any::<String>(),
                "([A-Z][a-z]{1,4}|[0-9]{1,5}|Dr|Madrid|Ana|años|[.:,@/-]|hospital|calle|\\n){0,30}",
                "(Nombre: |Edad: |Lucía |Ruiz |28013|\\. |\\n|  |\\PC){0,24}",
            ],
            1..5,
        )
    ) {
        check(&with_tagger(), &texts);
    }
}

#[test]
fn rows_that_are_no_notes_have_no_tokens() {
    let records = vec![
        Record::Tombstone(Coordinates::default()),
        Record::Note(NoteEvent {
            text: "Ana Ruiz".into(),
            ..NoteEvent::default()
        }),
        Record::Quarantined(Coordinates::default(), QuarantineCode::InvalidUtf8.into()),
    ];
    let columns = extractor().columns(&NoteBatch::from_records(records).unwrap());
    assert_eq!(columns.notes, [0..0, 0..2, 2..2]);
}

#[test]
fn members_of_the_same_settings_share_a_batchs_columns() {
    let batch = NoteBatch::from_texts([SAMPLE]).unwrap();
    let (one, other) = (extractor(), extractor());
    assert!(Arc::ptr_eq(&one.shared(&batch), &other.shared(&batch)));
    let bare = FeatureConfig {
        rules: false,
        ..FeatureConfig::default()
    };
    let bare = bare.build(&Dictionary::builtin()).unwrap();
    assert!(!Arc::ptr_eq(&one.shared(&batch), &bare.shared(&batch)));
}

#[test]
fn settings_read_back_as_they_were_written_and_another_version_is_refused() {
    let config = FeatureConfig {
        pos: Some("pos.bin".to_owned()),
        ..FeatureConfig::default()
    };
    let text = toml::to_string(&config).unwrap();
    assert_eq!(toml::from_str::<FeatureConfig>(&text).unwrap(), config);
    assert!(toml::from_str::<FeatureConfig>("colour = true").is_err());
    let old = FeatureConfig {
        version: 0,
        ..FeatureConfig::default()
    };
    assert_eq!(
        old.build(&Dictionary::builtin()).unwrap_err(),
        FeatureError::Version { found: 0 }
    );
    assert_eq!(
        config.build(&Dictionary::builtin()).unwrap_err(),
        FeatureError::Tagger
    );
}

#[test]
fn a_long_run_of_marks_costs_no_more_than_its_length_says() {
    let extractor = extractor();
    let note = |n: usize| NoteBatch::from_texts(["-.".repeat(n).as_str()]).unwrap();
    // In quadratic time this would take minutes.
    let columns = extractor.columns(&note(50_000));
    assert_eq!(columns.tokens(), 100_000);
    let (long, short) = (flat(&columns, 0), flat(&extractor.columns(&note(2_000)), 0));
    assert!(long[1_000][5] == short[1_000][5], "each mark is a separate run");
}

#[test]
fn what_the_settings_leave_out_is_no_column() {
    let batch = NoteBatch::from_texts([SAMPLE]).unwrap();
    let views = |config: FeatureConfig| {
        config
            .build(&Dictionary::builtin())
            .unwrap()
            .columns(&batch)
            .views
    };
    let whole = views(FeatureConfig::default());
    let none = FeatureConfig {
        lists: false,
        rules: false,
        document: false,
        ..FeatureConfig::default()
    };
    let none = views(none);
    assert_eq!(whole[..none.len()], none);
    assert!(none.len() < whole.len());
}

#[test]
fn words_that_stay_are_remembered_and_the_store_of_them_is_bounded() {
    let extractor = extractor();
    let many: Vec<String> = (0..70_000).map(|i| format!("w{}", base26(i))).collect();
    let batch = NoteBatch::from_texts([many.join(" ").as_str()]).unwrap();
    let first = extractor.columns(&batch);
    let small = NoteBatch::from_texts(["Ana Ruiz"]).unwrap();
    let before = extractor.columns(&small);
    let again = extractor.columns(&batch);
    assert!(flat(&first, 0) == flat(&again, 0));
    assert!(flat(&before, 0) == flat(&extractor.columns(&small), 0));
    let kept = extractor.caches.take().words.len();
    assert!(kept <= 10, "{kept} words are kept after the store was reset");
}

fn base26(mut n: usize) -> String {
    let mut out = String::new();
    loop {
        out.push(char::from(b'a' + (n % 26) as u8));
        n /= 26;
        if n == 0 {
            return out;
        }
    }
}

#[test]
fn settings_that_name_a_tagger_make_no_features_without_it() {
    let config: FeatureConfig = toml::from_str("pos = \"pos.bin\"").unwrap();
    assert_eq!(
        config.build(&Dictionary::builtin()).err(),
        Some(FeatureError::Tagger)
    );
}
