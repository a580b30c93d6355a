//! Valid payloads are kept completely, bad ones are quarantined, none is lost, none is shown.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

mod any;
mod settings;

use lethe_core::{Coordinates, EventKind, KnownKind, NoteEvent, QuarantineCode, Record};
use lethe_format::{Diagnosis, Format, FormatConfig, JsonConfig, MAX_KNOWN, PayloadError};

fn json(config: &str) -> Box<dyn Format> {
    let config: FormatConfig = toml::from_str(&format!("kind = \"json\"\n{config}")).unwrap();
    config.build().unwrap()
}

fn read(payload: impl AsRef<[u8]>) -> Result<NoteEvent, Diagnosis> {
    json("").read(payload.as_ref())
}

fn problem(payload: impl AsRef<[u8]>) -> (Option<&'static str>, PayloadError) {
    let diagnosis = read(payload).unwrap_err();
    (diagnosis.field, diagnosis.problem)
}

/// Returns an event with this text, as any JSON writer would write it.
fn event(text: &str) -> Vec<u8> {
    serde_json::json!({"note_id": "n1", "text": text})
        .to_string()
        .into_bytes()
}

#[test]
fn an_event_with_every_field_is_read_whole() {
    let event = read(
        r#"{"note_id":"n-9","version":3,"patient_id":771,"encounter_id":"e-2","note_type":"Progress note",
            "author_id":"a-4","authored_at":"2024-02-29T23:59:59.25-05:00","event":"amend","text":"Seen today.\n",
            "known":[{"kind":"patient","value":"Ines Prado"},{"value":"MR-551","kind":"mrn"}],"ward":{"bed":[1,2]}}"#,
    )
    .unwrap();
    assert_eq!(event.note_id.expose(), "n-9");
    assert_eq!(event.version, Some(3));
    assert_eq!(event.patient_id.unwrap().expose(), "771");
    assert_eq!(event.encounter_id.unwrap().expose(), "e-2");
    assert_eq!(event.note_type.as_deref(), Some("Progress note"));
    assert_eq!(event.author_id.unwrap().expose(), "a-4");
    assert_eq!(event.authored_at, Some(1_709_269_199_250));
    assert_eq!(event.kind, EventKind::Amend);
    assert_eq!(event.text.expose(), "Seen today.\n");
    let known: Vec<_> = event.known.iter().map(|k| (k.kind, k.value.expose())).collect();
    assert_eq!(
        known,
        [
            (KnownKind::Patient, "Ines Prado"),
            (KnownKind::MedicalRecord, "MR-551")
        ]
    );
}

#[test]
fn known_identifiers_may_be_an_object_of_kind_to_values() {
    let event = read(
        r#"{"note_id":"n","text":"t","known":{"patient":["Ola Berg","O. Berg"],"mrn":5512,"phone":null,"Other-ID":"B7","email":" "}}"#,
    )
    .unwrap();
    let known: Vec<_> = event.known.iter().map(|k| (k.kind, k.value.expose())).collect();
    assert_eq!(
        known,
        [
            (KnownKind::Patient, "Ola Berg"),
            (KnownKind::Patient, "O. Berg"),
            (KnownKind::MedicalRecord, "5512"),
            (KnownKind::Other, "B7"),
        ]
    );
}

#[test]
fn an_unknown_kind_of_identifier_is_refused_and_the_row_says_so() {
    for known in [r#"{"badge":"B7"}"#, r#"[{"kind":"badge","value":"B7"}]"#] {
        let payload = format!(r#"{{"note_id":"n","text":"t","known":{known}}}"#);
        let diagnosis = json("").read(payload.as_bytes()).unwrap_err();
        assert_eq!(diagnosis.quarantine().to_string(), "invalid_payload:known:kind");
    }
    let refused = json("").read(br#"{"note_id":"n","text":"t","authored_at":"2024-03-01"}"#);
    assert_eq!(
        refused.unwrap_err().quarantine().to_string(),
        "invalid_payload:authored_at:zone"
    );
}

#[test]
fn a_misspelt_key_that_would_protect_the_note_is_refused() {
    for key in ["knowm", "konwn", "Known", "patientid", "patient_ids"] {
        let payload = format!(r#"{{"note_id":"n","{key}":"B7","text":"t"}}"#);
        let refused = json("").read(payload.as_bytes()).unwrap_err();
        assert_eq!(refused.problem, PayloadError::UnknownKey, "{key}");
    }
    for payload in [
        r#"{"note_id":"n","unknowns":1,"text":"t"}"#,
        r#"{"note_id":"n","knowm":1,"known":[],"text":"t"}"#,
        r#"{"note_id":"n","texts":1,"text":"t"}"#,
    ] {
        assert!(json("").read(payload.as_bytes()).is_ok(), "{payload}");
    }
    let mapped = json("fields = { known = \"ids\" }");
    assert!(mapped.read(br#"{"note_id":"n","known":[],"text":"t"}"#).is_ok());
}

#[test]
fn every_known_kind_has_a_name() {
    let names = [
        "patient",
        "relative",
        "clinician",
        "medical_record",
        "birth_date",
        "phone",
        "address",
        "email",
        "social_security",
        "health_plan",
        "account",
        "organization",
        "other",
    ];
    for (name, kind) in names.into_iter().zip(KnownKind::ALL) {
        let payload = format!(r#"{{"note_id":"n","text":"t","known":{{"{name}":"x"}}}}"#);
        assert_eq!(read(payload).unwrap().known[0].kind, kind, "{name}");
    }
}

#[test]
fn null_fields_count_as_absent() {
    let event =
        read(r#"{"note_id":"n","text":"t","version":null,"known":null,"authored_at":null,"event":null}"#)
            .unwrap();
    assert_eq!(
        (event.version, event.authored_at, event.kind),
        (None, None, EventKind::Create)
    );
    assert_eq!(
        problem(r#"{"note_id":"n","text":null}"#),
        (Some("text"), PayloadError::Missing)
    );
}

#[test]
fn a_date_may_be_milliseconds_or_rfc_3339_and_nothing_else() {
    for (written, expected) in [
        ("1709269199250", Ok(1_709_269_199_250)),
        ("-1", Ok(-1)),
        ("\"2024-03-01T04:59:59.250Z\"", Ok(1_709_269_199_250)),
        ("\"2024-03-01T04:59:59\"", Err(PayloadError::NoZone)),
        ("\"2024-03-01\"", Err(PayloadError::NoZone)),
        ("\"yesterday\"", Err(PayloadError::NotADate)),
        ("1.5", Err(PayloadError::WrongType)),
        ("18446744073709551615", Err(PayloadError::WrongType)),
    ] {
        let payload = format!(r#"{{"note_id":"n","text":"t","authored_at":{written}}}"#);
        let found = read(payload)
            .map(|event| event.authored_at.unwrap())
            .map_err(|d| d.problem);
        assert_eq!(found, expected, "{written}");
    }
}

#[test]
fn a_delete_needs_no_text() {
    let event = read(r#"{"note_id":"n","event":"delete"}"#).unwrap();
    assert_eq!((event.kind, event.text.len()), (EventKind::Delete, 0));
}

#[test]
fn missing_fields_are_named() {
    assert_eq!(
        problem(r#"{"note_id":"n"}"#),
        (Some("text"), PayloadError::Missing)
    );
    assert_eq!(
        problem(r#"{"text":"t"}"#),
        (Some("note_id"), PayloadError::Missing)
    );
    assert!(json("required = []").read(br#"{"text":"t"}"#).is_ok());
    let strict = json("required = [\"patient_id\"]");
    assert_eq!(
        strict.read(br#"{"text":"t"}"#).unwrap_err().field,
        Some("patient_id")
    );
}

#[test]
fn mistyped_fields_are_named() {
    for (field, value) in [
        ("note_id", "true"),
        ("note_id", "1.5"),
        ("note_id", "[]"),
        ("version", "\"3\""),
        ("version", "18446744073709551615"),
        ("patient_id", "{}"),
        ("note_type", "7"),
        ("event", "1"),
        ("known", "\"Ada\""),
        ("known", "[\"Ada\"]"),
        ("known", "[{\"kind\":\"patient\"}]"),
        ("known", "{\"patient\":true}"),
    ] {
        let payload = format!(r#"{{"text":"t","{field}":{value}}}"#);
        assert_eq!(
            problem(payload),
            (Some(field), PayloadError::WrongType),
            "{field} {value}"
        );
    }
    assert_eq!(
        problem(r#"{"text":["t"]}"#),
        (Some("text"), PayloadError::WrongType)
    );
    assert_eq!(
        problem(r#"{"text":18446744073709551615}"#),
        (Some("text"), PayloadError::WrongType)
    );
    assert_eq!(
        problem(r#"{"event":"removed"}"#),
        (Some("event"), PayloadError::UnknownEvent)
    );
}

#[test]
fn a_key_that_is_read_may_not_be_there_twice() {
    assert_eq!(
        problem(r#"{"note_id":"n","text":"first","text":"second"}"#),
        (Some("text"), PayloadError::Duplicate)
    );
    assert_eq!(
        problem(r#"{"note_id":"n","text":"t","known":{"mrn":"1","mrn":"2"}}"#),
        (Some("known"), PayloadError::WrongType)
    );
    let nested = json("fields = { text = \"body.note\" }");
    let twice = br#"{"note_id":"n","body":{"note":"a"},"body":{"note":"b"}}"#;
    assert_eq!(nested.read(twice).unwrap_err().problem, PayloadError::Duplicate);
    assert!(read(r#"{"note_id":"n","text":"t","ward":1,"ward":2}"#).is_ok());
}

#[test]
fn what_is_no_json_object_is_told_from_what_is_no_json() {
    for (payload, expected) in [
        ("", PayloadError::Truncated),
        ("   ", PayloadError::Truncated),
        ("{\"text\":\"cut", PayloadError::Truncated),
        ("[]", PayloadError::NotAnObject),
        ("null", PayloadError::NotAnObject),
        ("\"text\"", PayloadError::NotAnObject),
        ("12", PayloadError::NotAnObject),
        ("text", PayloadError::NotJson),
        ("{'text':'t'}", PayloadError::NotJson),
        ("{\"note_id\":\"n\",\"text\":\"t\"} {}", PayloadError::NotJson),
        (
            "{\"note_id\":\"n\",\"text\":\"a raw \u{1} control\"}",
            PayloadError::NotJson,
        ),
    ] {
        assert_eq!(problem(payload).1, expected, "{payload}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_told_by_their_place() {
    let mut payload = event("caf");
    payload.insert(12, 0xE9);
    let diagnosis = read(&payload).unwrap_err();
    assert_eq!((diagnosis.problem, diagnosis.byte), (PayloadError::NotUtf8, 12));
    assert_eq!(diagnosis.problem.code(), QuarantineCode::InvalidUtf8);
}

#[test]
fn half_a_surrogate_pair_is_refused() {
    assert_eq!(
        problem(r#"{"note_id":"n","text":"\ud83d"}"#),
        (Some("text"), PayloadError::NotJson)
    );
    assert_eq!(
        problem(r#"{"note_id":"n","text":"\ude00\ud83d"}"#),
        (Some("text"), PayloadError::NotJson)
    );
    let whole = read(r#"{"note_id":"n","text":"\ud83d\ude00"}"#).unwrap();
    assert_eq!(whole.text.expose(), "😀");
}

#[test]
fn unusual_text_arrives_untouched() {
    for text in [
        "",
        "\0 nul \0",
        "line\r\nline\rline\n",
        "\u{feff}mark inside",
        "Zoe\u{308} n\u{303}o",
        "👩‍⚕️ 🇪🇸",
        "שלום מר כהן — مرحبا",
        "\u{202e}txet",
        "quote \" slash \\ / tab \t",
    ] {
        assert_eq!(read(event(text)).unwrap().text.expose(), text);
    }
}

#[test]
fn a_byte_order_mark_before_the_object_is_passed_over() {
    let payload = [b"\xef\xbb\xbf".as_slice(), &event("t")].concat();
    assert_eq!(read(payload).unwrap().text.expose(), "t");
    assert_eq!(problem("\u{feff}\u{feff}{}").1, PayloadError::NotJson);
}

#[test]
fn a_note_of_20_megabytes_is_read() {
    let text = "Stable overnight. ".repeat(20_000_000 / 18);
    assert_eq!(read(event(&text)).unwrap().text.len(), text.len());
}

#[test]
fn a_line_of_a_million_words_is_read() {
    let text = "word ".repeat(1_000_000);
    assert_eq!(read(event(&text)).unwrap().text.expose(), text);
}

#[test]
fn a_text_over_the_limit_is_too_large_and_one_at_the_limit_is_not() {
    let format = json("max_note_bytes = 6");
    // Six bytes of UTF-8, twelve of JSON.
    assert!(
        format
            .read(br#"{"note_id":"n","text":"\u00e9\u00e9\u00e9"}"#)
            .is_ok()
    );
    let over = format.read(&event("sevenly")).unwrap_err();
    assert_eq!((over.field, over.problem), (Some("text"), PayloadError::TooLarge));
    assert_eq!(over.problem.code(), QuarantineCode::TooLarge);
}

#[test]
fn nesting_without_end_is_refused_or_skipped_but_never_overflows() {
    let deep = "[".repeat(1_000_000);
    assert_eq!(problem(format!(r#"{{"ward":{deep}"#)).1, PayloadError::Truncated);
    assert_eq!(problem(format!(r#"{{"known":{deep}"#)).0, Some("known"));
    assert_eq!(
        problem(format!(r#"{{"known":{{"mrn":{deep}"#)),
        (Some("known"), PayloadError::NotJson)
    );
    let closed = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(format!(r#"{{"note_id":"n","text":"t","ward":{closed}}}"#)).is_ok());
}

#[test]
fn bare_text_is_the_note() {
    let config: FormatConfig = toml::from_str("kind = \"text\"\nmax_note_bytes = 9").unwrap();
    let format = config.build().unwrap();
    assert_eq!(
        format.read("\u{feff}né\r\n".as_bytes()).unwrap().text.expose(),
        "\u{feff}né\r\n"
    );
    assert_eq!(format.read(b"").unwrap().text.len(), 0);
    assert_eq!(format.read(b"n\xe9").unwrap_err().problem, PayloadError::NotUtf8);
    assert_eq!(
        format.read(b"ten bytes!").unwrap_err().problem,
        PayloadError::TooLarge
    );
}

#[test]
fn no_diagnosis_and_no_record_shows_the_payload() {
    let secret = "Okonkwo";
    for payload in [
        format!(r#"{{"note_id":["{secret}"]}}"#),
        format!(r#"{{"text":"{secret}","text":"{secret}"}}"#),
        format!(r#"{{"text":"{secret}","event":"{secret}"}}"#),
        format!(r#"{{"text":"{secret}","authored_at":"{secret}"}}"#),
        format!(r#"{{"text":"{secret}","version":"{secret}"}}"#),
        format!(r#"{{"text":"{secret}","known":"{secret}"}}"#),
        format!(r#"{{"{secret}":"{secret}"#),
        format!(r#"{{"note_id":"{secret}","text":"{secret}"}}"#),
    ] {
        let message = match read(&payload) {
            Ok(event) => format!("{event:?}"),
            Err(diagnosis) => format!("{diagnosis} {diagnosis:?}"),
        };
        assert!(!message.contains(secret), "{message}");
    }
}

#[test]
fn the_byte_of_a_problem_lies_where_the_reader_stopped() {
    let payload = "{\"note_id\": \"n\",\n \"version\": \"two\",\n \"text\": \"t\"}";
    let diagnosis = read(payload).unwrap_err();
    assert_eq!(diagnosis.field, Some("version"));
    let value = payload.find("\"two\"").unwrap();
    assert!((value..=value + 6).contains(&diagnosis.byte), "{diagnosis}");
}

#[test]
fn an_event_may_carry_a_hundred_thousand_identifiers_and_no_more() {
    let event = |count: usize| {
        let known: Vec<String> = (0..count).map(|i| i.to_string()).collect();
        format!(
            r#"{{"note_id": "n1", "text": "Seen.", "known": {{"mrn": [{}]}}}}"#,
            known.join(",")
        )
    };
    let format = JsonConfig::default().build().unwrap();
    let decode = |count| format.decode(Coordinates::default(), event(count).as_bytes());
    let Record::Note(read) = decode(MAX_KNOWN) else {
        panic!("an event at the limit is a note")
    };
    assert_eq!(read.known.len(), 100_000);
    let Record::Quarantined(_, why) = decode(MAX_KNOWN + 1) else {
        panic!("an event over the limit is quarantined")
    };
    assert_eq!(why.to_string(), "too_large:known:fewer");
}
