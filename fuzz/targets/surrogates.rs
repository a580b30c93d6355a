//! Surrogates for any text of any kind: a value or `None`, never the text itself.
#![no_main]

use std::sync::LazyLock;

use lethe_core::LabelSet;
use lethe_dictionaries::Dictionary;
use lethe_secrets::{Keyring, Prf};
use lethe_surrogates::{About, Draw, Kind, KnownNames, Language, Surrogates};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

static SURROGATES: LazyLock<Surrogates> =
    LazyLock::new(|| Surrogates::new(Dictionary::builtin()).expect("the shipped lists are there"));
static LABELS: LazyLock<LabelSet> = LazyLock::new(LabelSet::i2b2_2014);

struct Keyed(Prf);

impl Draw for Keyed {
    fn draw(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.0.code_of_bytes(parts)
    }
}

#[derive(Arbitrary, Debug)]
struct Case<'a> {
    label: u8,
    spanish: bool,
    days: i16,
    text: &'a str,
    known: &'a str,
}

fuzz_target!(init: {
    // Takes seconds under coverage, which must not count for the first input.
    LazyLock::force(&SURROGATES);
}, |case: Case<'_>| {
    let key = "k1:202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f";
    let keyring = Keyring::parse_short(key).expect("a key");
    let labels = LABELS.labels();
    let label = &labels[usize::from(case.label) % labels.len()];
    let kind = Kind::of_label(&label.name).expect("every label has a kind");
    let known = KnownNames::new([case.known]);
    let about = About {
        language: Some(if case.spanish {
            Language::Spanish
        } else {
            Language::English
        }),
        order: None,
        year: Some(2024),
        days: Some(i32::from(case.days)),
        known: &known,
    };
    let draw = Keyed(keyring.current().prf("patient"));
    let once = SURROGATES.surrogate(kind, case.text, &about, &draw);
    assert_eq!(once, SURROGATES.surrogate(kind, case.text, &about, &draw));
});
