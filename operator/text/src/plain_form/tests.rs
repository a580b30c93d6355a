use proptest::prelude::*;

use super::*;

/// Returns the plain form of a text, or the text itself.
fn plain(text: &str) -> String {
    PlainForm::of(text).map_or_else(|| text.to_owned(), |plain| plain.text().to_owned())
}

/// Returns what of the original a word of the plain form stands for.
fn original<'a>(text: &'a str, word: &str) -> &'a str {
    let plain = PlainForm::of(text).unwrap();
    let start = plain.text().find(word).unwrap();
    text.get(plain.original(start..start + word.len())).unwrap()
}

#[test]
fn zero_width_characters_and_soft_hyphens_are_left_out() {
    for c in ['\u{200b}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{ad}'] {
        let text = format!("saw Jo{c}hn Ha{c}le");
        assert_eq!(plain(&text), "saw John Hale");
        assert_eq!(original(&text, "John Hale"), format!("Jo{c}hn Ha{c}le"));
    }
}

#[test]
fn an_invisible_character_between_words_does_not_disguise_a_text() {
    assert!(PlainForm::of("\u{feff}Seen by Dr.\u{200b} Hale").is_none());
}

#[test]
fn letters_of_another_script_in_a_word_read_as_latin() {
    assert_eq!(plain("saw Jоhn Наle"), "saw John Hale");
    assert_eq!(original("saw Jоhn today", "John"), "Jоhn");
    assert_eq!(plain("call 555-О142"), "call 555-О142");
    assert_eq!(plain("call 555-1О42"), "call 555-1042");
}

#[test]
fn a_word_of_lookalikes_alone_reads_as_latin_unless_the_text_has_that_script() {
    assert_eq!(plain("a visit of Сара in May"), "a visit of Capa in May");
    assert!(PlainForm::of("a visit of Сара Жданова in May").is_none());
}

#[test]
fn names_of_substances_with_greek_letters_stay() {
    for text in ["TNFα and NF-κB", "IFNγ, 5 μg of ρ", "α-fetoprotein", "χ2 test"] {
        assert!(PlainForm::of(text).is_none(), "{text}");
    }
}

#[test]
fn other_forms_of_letters_and_digits_read_as_usual() {
    assert_eq!(plain("ＭＲＮ：００４５１"), "MRN:00451");
    assert_eq!(plain("Dr. Griﬃn, 𝐉𝐨𝐡𝐧, ⒿⓄⓗⓝ"), "Dr. Griffin, John, JOhn");
    assert_eq!(original("ask Griﬃn now", "Griffin"), "Griﬃn");
}

#[test]
fn entities_are_decoded_and_what_they_stand_for_is_read_again() {
    let text = "J&#111;s&eacute; &amp; Ana&#x200b;bel";
    assert_eq!(plain(text), "José & Anabel");
    assert_eq!(original(text, "José"), "J&#111;s&eacute;");
    assert_eq!(original(text, "Anabel"), "Ana&#x200b;bel");
    assert!(PlainForm::of("R&D; A&E, Q&amp; &#xd800; &nothing;").is_some());
    assert!(PlainForm::of("R&D; A&E; &#xd800; &nothing;").is_none());
}

#[test]
fn spaced_letters_are_words() {
    for (text, expected) in [
        ("seen by J o h n  H a l e today", "seen by John  Hale today"),
        ("seen by J o h n H a l e, RN", "seen by John Hale, RN"),
        ("J.o.h.n.H.a.l.e", "John Hale"),
        ("name: H A L E", "name: HALE"),
        ("J-o-h-n", "John"),
    ] {
        assert_eq!(plain(text), expected);
    }
    assert_eq!(original("by J o h n H a l e, RN", "John Hale"), "J o h n H a l e");
}

#[test]
fn abbreviations_lists_and_initials_are_not_words() {
    for text in [
        "take q.i.d. or b.i.d. p.o.",
        "A. B. C.",
        "hepatitis A B C panel",
        "J. R. Hale",
        "U.S.A. p r n",
        "a b cd",
        "......",
        "- - - -",
    ] {
        assert!(PlainForm::of(text).is_none(), "{text}");
    }
}

#[test]
fn spaced_digits_are_a_number_unless_they_are_scores() {
    assert_eq!(plain("call 5 5 5 - 0 1 4 2 now"), "call 555-0142 now");
    assert_eq!(plain("MRN 8 3 0 4 4 1"), "MRN 830441");
    for text in ["strength 5 5 5 5 4 5 5", "pain 1 2 3 4 5 6 7 8", "5 4 3 2"] {
        assert!(PlainForm::of(text).is_none(), "{text}");
    }
}

#[test]
fn a_number_that_a_line_end_breaks_is_joined() {
    for (text, expected) in [
        ("call 555-01\n42 now", "call 555-0142 now"),
        ("call 555-\r\n  0142.", "call 555-0142."),
        ("born 03/1\n4/1972", "born 03/14/1972"),
        ("SSN 123-45-67\n89", "SSN 123-45-6789"),
        ("MRN: 00451\n2233", "MRN: 004512233"),
        ("chart #00451\n2233", "chart #004512233"),
        ("Lic 40-884-26\n75", "Lic 40-884-2675"),
        ("ask 968-643-600\n2. Then", "ask 968-643-6002. Then"),
        ("on 0\n5-29-1999", "on 05-29-1999"),
        ("Copley, TN 41575-53\n73", "Copley, TN 41575-5373"),
    ] {
        assert_eq!(plain(text), expected);
    }
    assert_eq!(original("call 555-01\n42 now", "555-0142"), "555-01\n42");
}

#[test]
fn columns_of_results_are_not_joined() {
    for text in [
        "Na 140\n4.2",
        "120/80\n72",
        "01/02/2020\n98.6",
        "1.\n2.",
        "140\n135\n128",
        "5-10\n3-4",
        "555-123-4567\n555-987-6543",
        "on 3/4\n5/6",
        "2020\n2021\n2022",
        "72\n5/30/1999",
        "7\n5/30/1999",
        "10-20\n30-40",
        "on 5/30/1999\n5/31/1999",
        "NPI 1425424458\n399 - 166",
        "fax 91775334781\n4) gas cards",
    ] {
        assert!(PlainForm::of(text).is_none(), "{text}");
    }
}

proptest! {
    #[test]
    fn ranges_of_the_plain_form_are_ranges_of_the_original_in_order(
        text in "([a-zA-Z0-9 .\n&;#-]|&#65;|&eacute;|\u{200b}|\u{ad}|о|α|ﬃ|５|é|🙂){0,60}",
    ) {
        if let Some(plain) = PlainForm::of(&text) {
            let ends: Vec<usize> = plain.text().char_indices().map(|(at, _)| at).chain([plain.text().len()]).collect();
            let mut last = 0..0;
            for pair in ends.windows(2) {
                let range = plain.original(pair[0]..pair[1]);
                prop_assert!(text.get(range.clone()).is_some_and(|part| !part.is_empty()), "{range:?}");
                prop_assert!(range.start >= last.start && range.end >= last.end);
                last = range;
            }
            let whole = plain.original(0..plain.text().len());
            prop_assert!(whole.end <= text.len());
        }
    }

    #[test]
    fn ordinary_text_only_gets_shorter_where_something_is_joined(text in "[a-zA-Z0-9,é \n]{0,80}") {
        let plain = PlainForm::of(&text);
        if let Some(plain) = plain {
            prop_assert!(plain.text().len() < text.len());
        }
    }
}
