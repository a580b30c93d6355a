//! A window has the columns of the whole note.

use lethe_core::NoteBatch;
use lethe_dictionaries::Dictionary;
use lethe_taggers::conformance::{AWKWARD, SAMPLE};
use proptest::prelude::*;

use crate::features::tests::{extractor, flat, with_tagger};
use crate::{Columns, Extractor, FeatureConfig};

/// Returns each token's features by view, in windows of this size.
fn in_windows(extractor: &Extractor, text: &str, size: usize) -> Vec<Vec<Vec<u64>>> {
    let batch = NoteBatch::from_texts(["before", text]).unwrap();
    let windows = extractor.windows(&batch, 1, size, true).unwrap();
    let mut all = Vec::new();
    for window in windows {
        let columns: &Columns = &window.columns;
        assert_eq!(window.words.len(), window.inner.len());
        assert!(columns.tokens() <= size + 6);
        all.extend(flat(columns, 0).drain(window.inner.clone()));
        assert_eq!(window.last, all.len() == batch.note(1).tokens.len());
    }
    all
}

fn check(extractor: &Extractor, text: &str, sizes: &[usize]) {
    let batch = NoteBatch::from_texts([text]).unwrap();
    let whole = flat(&extractor.columns(&batch), 0);
    for &size in sizes {
        let parts = in_windows(extractor, text, size);
        assert_eq!(parts.len(), whole.len());
        for (token, (part, whole)) in parts.iter().zip(&whole).enumerate() {
            assert!(part == whole, "windows of {size}: token {token}");
        }
    }
}

#[test]
fn awkward_texts_have_the_features_of_the_whole_in_windows_of_any_size() {
    let mut texts: Vec<String> = AWKWARD.iter().map(|&text| text.to_owned()).collect();
    texts.extend([
        SAMPLE.repeat(3),
        SAMPLE.replace('\n', "\r\n"),
        "a: b:c :: d : ".repeat(60),
        "x@y.".repeat(80),
        "Heading line\n12:30 Ana Ruiz\n\nPlan: 2 mg\n".repeat(20),
        "vive en Las Palmas de Gran Canaria con Ana de la Cruz ".repeat(8),
    ]);
    for extractor in [extractor(), with_tagger()] {
        for text in &texts {
            check(&extractor, text, &[1, 2, 7, 50]);
        }
    }
}

#[test]
fn words_have_one_number_in_all_windows() {
    let text = "Voss saw Ada. Ada saw Voss. ".repeat(9);
    let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
    let extractor = extractor();
    let windows = extractor.windows(&batch, 0, 5, true).unwrap();
    let (note, mut numbers) = (batch.note(0), Vec::new());
    for window in windows {
        numbers.extend(window.words);
    }
    for i in 0..note.tokens.len() {
        let first = (0..i).find(|&j| note.word(j) == note.word(i)).unwrap_or(i);
        assert_eq!(numbers[i], numbers[first]);
        assert!(first != i || !numbers[..i].contains(&numbers[i]));
    }
}

#[test]
fn what_the_settings_leave_out_is_in_no_window() {
    let bare = FeatureConfig {
        lists: false,
        rules: false,
        document: false,
        ..FeatureConfig::default()
    };
    check(&bare.build(&Dictionary::builtin()).unwrap(), SAMPLE, &[3, 40]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_note_has_the_same_features_in_windows(
        text in prop_oneof![
            any::<String>(),
            "([A-Z][a-z]{1,4}|[0-9]{1,5}|Dr|Madrid|Ana|años|[.:,@/-]|hospital|calle|\\n| ){0,90}",
            "(Nombre: |Edad: |Lucía |Ruiz |28013|\\. |\\n|  |\\PC){0,80}",
        ],
        size in 1_usize..60,
    ) {
        check(&with_tagger(), &text, &[size]);
    }
}
