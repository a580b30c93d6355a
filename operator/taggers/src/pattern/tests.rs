//! Properties of every text: no panic, spans on tokens, a batch equals its notes, and work linear in the
//! length.

use super::*;
use proptest::prelude::*;

fn pattern() -> Pattern {
    Config::default().build(&LabelSet::i2b2_2014()).unwrap()
}

fn tagged(pattern: &Pattern, texts: &[&str]) -> Vec<Annotations> {
    let batch = NoteBatch::from_texts(texts.iter().copied()).unwrap();
    pattern.tag(&batch).into_iter().map(Result::unwrap).collect()
}

#[test]
fn an_unknown_key_or_language_is_refused() {
    let parse = |text: &str| {
        Config::deserialize(
            serde::de::value::MapDeserializer::<_, serde::de::value::Error>::new(std::iter::once((
                text.to_owned(),
                true,
            ))),
        )
    };
    assert!(parse("dates").is_ok());
    assert!(parse("date").is_err());
}

#[test]
fn a_family_that_is_off_finds_nothing() {
    let off = Config {
        dates: false,
        ..Config::default()
    };
    let off = off.build(&LabelSet::i2b2_2014()).unwrap();
    assert!(tagged(&off, &["Seen on 03/18/2022."])[0].is_empty());
    assert_eq!(tagged(&pattern(), &["Seen on 03/18/2022."])[0].len(), 1);
}

#[test]
fn without_spanish_no_spanish_word_is_known() {
    let english = Config {
        languages: vec![Language::En],
        ..Config::default()
    };
    let english = english.build(&LabelSet::i2b2_2014()).unwrap();
    assert!(
        tagged(&english, &["Ingresa el 12 de marzo de 2012"])[0]
            .iter()
            .all(|a| a.span.len() < 18)
    );
}

#[test]
fn every_label_resolves_in_the_spanish_set_too() {
    assert!(Config::default().build(&LabelSet::meddocan()).is_ok());
}

/// Returns texts that would be slow for a pattern that looks too far or rereads text.
fn hostile() -> Vec<&'static str> {
    vec![
        "1",
        "1-",
        "1/",
        "1.",
        "1 ",
        "a1",
        "a-1-",
        "@",
        "a@",
        "a@a.",
        "http://",
        "www.",
        ":",
        "a:",
        "::",
        "(",
        "+1",
        "#1 ",
        "mrn ",
        "mrn: ",
        "calle A ",
        "calle de la ",
        "1 A ",
        "March ",
        "1 de marzo ",
        "'09",
        "fifty-",
        "tel ",
        "tel: (",
        "Dr. A ",
        "\u{301}",
        "Domicilio: a ",
        "93 ",
        "12 34 ",
        "123-45-",
        "a.com/",
        "1:2:",
        "ñ",
        "P.O. ",
        "1998, ",
    ]
}

#[test]
fn the_work_grows_with_the_length_and_not_faster() {
    let pattern = pattern();
    for unit in hostile() {
        let steps = |times: usize| {
            let text = unit.repeat(times);
            let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
            let (mut toks, mut hits) = (Vec::new(), Hits::default());
            let mut s = Scan::new(batch.note(0), &pattern.lexicon, &mut toks);
            s.spanish = true;
            pattern.find(&s, &mut hits);
            s.steps.get() as f64 / s.positions().len().max(1) as f64
        };
        let (few, many) = (steps(500), steps(8_000));
        assert!(
            many < few * 1.1 + 8.0,
            "{unit:?}: {few:.1} steps per token in a short text, {many:.1} in a long one"
        );
        assert!(many < 2_000.0, "{unit:?}: {many:.1} steps per token");
    }
}

fn noteish() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(hostile()).prop_map(str::to_owned),
        "[0-9]{1,10}",
        "[-/.:,;#@()+'’º° \n]{1,2}",
        "(MRN|Tel|fax|Dr\\.|may|March|de|calle|C/|edad|años|year-old|x|Room|St|CA|SSN|NHC|signed:)",
        "\\PC{0,3}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_and_spans_lie_on_tokens(text in prop_oneof![noteish(), any::<String>()]) {
        let pattern = pattern();
        let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
        let found = pattern.tag(&batch).pop().unwrap().unwrap();
        let tokens = batch.note(0).tokens;
        let mut end = 0;
        for a in &found {
            prop_assert!(tokens.iter().any(|t| t.span.start() == a.span.start()));
            prop_assert!(tokens.iter().any(|t| t.span.end() == a.span.end()));
            prop_assert!(a.span.start() >= end && a.score > 0.0 && a.score <= 1.0 && !a.rule.is_empty());
            end = a.span.end();
        }
    }

    #[test]
    fn a_batch_gives_what_its_notes_give_one_by_one(texts in prop::collection::vec(noteish(), 0..6)) {
        let pattern = pattern();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let together = tagged(&pattern, &texts);
        for (text, all) in texts.iter().zip(together) {
            prop_assert_eq!(&tagged(&pattern, &[text])[0], &all);
        }
    }
}
