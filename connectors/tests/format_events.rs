//! What becomes of payloads: good ones whole, bad ones quarantined, none lost, none shown.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use lethe_connectors::format::{Diagnosis, Format, FormatConfig, FormatError, JsonConfig, Problem};
use lethe_core::{Coordinates, EventKind, KnownKind, NoteEvent, QuarantineCode, Record};
use proptest::prelude::*;

fn json(config: &str) -> Box<dyn Format> {
    let config: FormatConfig = toml::from_str(&format!("kind = \"json\"\n{config}")).unwrap();
    config.build().unwrap()
}

fn read(payload: impl AsRef<[u8]>) -> Result<NoteEvent, Diagnosis> {
    json("").read(payload.as_ref())
}

fn problem(payload: impl AsRef<[u8]>) -> (Option<&'static str>, Problem) {
    let diagnosis = read(payload).unwrap_err();
    (diagnosis.field, diagnosis.problem)
}

/// An event with this text, as any JSON writer would write it.
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
        r#"{"note_id":"n","text":"t","known":{"patient":["Ola Berg","O. Berg"],"mrn":5512,"phone":null,"badge":"B7","email":" "}}"#,
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
        (Some("text"), Problem::Missing)
    );
}

#[test]
fn a_date_may_be_milliseconds_or_rfc_3339_and_nothing_else() {
    for (written, expected) in [
        ("1709269199250", Ok(1_709_269_199_250)),
        ("-1", Ok(-1)),
        ("\"2024-03-01T04:59:59.250Z\"", Ok(1_709_269_199_250)),
        ("\"2024-03-01T04:59:59\"", Err(Problem::NotADate)),
        ("\"yesterday\"", Err(Problem::NotADate)),
        ("1.5", Err(Problem::WrongType)),
        ("18446744073709551615", Err(Problem::WrongType)),
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
    assert_eq!(problem(r#"{"note_id":"n"}"#), (Some("text"), Problem::Missing));
    assert_eq!(problem(r#"{"text":"t"}"#), (Some("note_id"), Problem::Missing));
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
            (Some(field), Problem::WrongType),
            "{field} {value}"
        );
    }
    assert_eq!(problem(r#"{"text":["t"]}"#), (Some("text"), Problem::WrongType));
    assert_eq!(
        problem(r#"{"text":18446744073709551615}"#),
        (Some("text"), Problem::WrongType)
    );
    assert_eq!(
        problem(r#"{"event":"removed"}"#),
        (Some("event"), Problem::UnknownEvent)
    );
}

#[test]
fn a_key_that_is_read_may_not_be_there_twice() {
    assert_eq!(
        problem(r#"{"note_id":"n","text":"first","text":"second"}"#),
        (Some("text"), Problem::Duplicate)
    );
    assert_eq!(
        problem(r#"{"note_id":"n","text":"t","known":{"mrn":"1","mrn":"2"}}"#),
        (Some("known"), Problem::WrongType)
    );
    let nested = json("fields = { text = \"body.note\" }");
    let twice = br#"{"note_id":"n","body":{"note":"a"},"body":{"note":"b"}}"#;
    assert_eq!(nested.read(twice).unwrap_err().problem, Problem::Duplicate);
    assert!(read(r#"{"note_id":"n","text":"t","ward":1,"ward":2}"#).is_ok());
}

#[test]
fn what_is_no_json_object_is_told_from_what_is_no_json() {
    for (payload, expected) in [
        ("", Problem::Truncated),
        ("   ", Problem::Truncated),
        ("{\"text\":\"cut", Problem::Truncated),
        ("[]", Problem::NotAnObject),
        ("null", Problem::NotAnObject),
        ("\"text\"", Problem::NotAnObject),
        ("12", Problem::NotAnObject),
        ("text", Problem::NotJson),
        ("{'text':'t'}", Problem::NotJson),
        ("{\"note_id\":\"n\",\"text\":\"t\"} {}", Problem::NotJson),
        (
            "{\"note_id\":\"n\",\"text\":\"a raw \u{1} control\"}",
            Problem::NotJson,
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
    assert_eq!((diagnosis.problem, diagnosis.byte), (Problem::NotUtf8, 12));
    assert_eq!(diagnosis.problem.code(), QuarantineCode::InvalidUtf8);
}

#[test]
fn half_a_surrogate_pair_is_refused() {
    assert_eq!(
        problem(r#"{"note_id":"n","text":"\ud83d"}"#),
        (Some("text"), Problem::NotJson)
    );
    assert_eq!(
        problem(r#"{"note_id":"n","text":"\ude00\ud83d"}"#),
        (Some("text"), Problem::NotJson)
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
    assert_eq!(problem("\u{feff}\u{feff}{}").1, Problem::NotJson);
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
    assert_eq!((over.field, over.problem), (Some("text"), Problem::TooLarge));
    assert_eq!(over.problem.code(), QuarantineCode::TooLarge);
}

#[test]
fn nesting_without_end_is_refused_or_skipped_but_never_overflows() {
    let deep = "[".repeat(1_000_000);
    assert_eq!(problem(format!(r#"{{"ward":{deep}"#)).1, Problem::Truncated);
    assert_eq!(problem(format!(r#"{{"known":{deep}"#)).0, Some("known"));
    assert_eq!(
        problem(format!(r#"{{"known":{{"mrn":{deep}"#)),
        (Some("known"), Problem::NotJson)
    );
    let closed = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(format!(r#"{{"note_id":"n","text":"t","ward":{closed}}}"#)).is_ok());
}

#[test]
fn fields_may_stand_elsewhere() {
    let format = json(
        "fields = { text = \"body.note\", note_id = \"/meta/id.v1\", patient_id = \"body.subject.id\", event = \"/a~1b/~0\" }",
    );
    let event = format
        .read(
            br#"{"meta":{"id.v1":"m1"},"body":{"note":"Seen.","subject":{"id":"p7"},"text":"no"},"a/b":{"~":"amend"},"text":"no"}"#,
        )
        .unwrap();
    assert_eq!(event.note_id.expose(), "m1");
    assert_eq!(event.text.expose(), "Seen.");
    assert_eq!(event.patient_id.unwrap().expose(), "p7");
    assert_eq!(event.kind, EventKind::Amend);
    let inner = format
        .read(br#"{"meta":{"id.v1":"m1"},"body":"Seen."}"#)
        .unwrap_err();
    assert_eq!(inner.problem, Problem::NotAnObject);
    let none = format
        .read(br#"{"meta":{"id.v1":"m1"},"body":null}"#)
        .unwrap_err();
    assert_eq!((none.field, none.problem), (Some("text"), Problem::Missing));
}

#[test]
fn a_mapping_that_cannot_be_is_refused_by_its_key() {
    let build = |text: &str| toml::from_str::<JsonConfig>(text).unwrap().build().unwrap_err();
    for path in ["", ".", "a..b", "/", "/a//b"] {
        let error = build(&format!("fields = {{ text = \"{path}\" }}"));
        assert!(
            matches!(error, FormatError::Path { field: "text", .. }),
            "{path}: {error}"
        );
    }
    for (text, other) in [("note_id", "note_id"), ("note_id.inner", "note_id")] {
        let error = build(&format!("fields = {{ text = \"{text}\" }}"));
        assert!(
            matches!(&error, FormatError::Clash { field: "text", other: found, .. } if *found == other),
            "{error}"
        );
    }
    let outer = build("fields = { note_id = \"body.id\", text = \"body\" }");
    assert!(
        matches!(
            outer,
            FormatError::Clash {
                field: "text",
                other: "note_id",
                ..
            }
        ),
        "{outer}"
    );
    let error = build("required = [\"txt\"]");
    assert!(error.to_string().contains("\"txt\"") && error.to_string().contains("note_id, version"));
}

#[test]
fn settings_that_do_not_exist_are_refused() {
    for text in [
        "kind = \"json\"\nmax_bytes = 1",
        "kind = \"text\"\nfields = {}",
        "kind = \"json\"\nfields = { txt = \"a\" }",
        "kind = \"xml\"",
    ] {
        assert!(toml::from_str::<FormatConfig>(text).is_err(), "{text}");
    }
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
    assert_eq!(format.read(b"n\xe9").unwrap_err().problem, Problem::NotUtf8);
    assert_eq!(format.read(b"ten bytes!").unwrap_err().problem, Problem::TooLarge);
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
        let said = match read(&payload) {
            Ok(event) => format!("{event:?}"),
            Err(diagnosis) => format!("{diagnosis} {diagnosis:?}"),
        };
        assert!(!said.contains(secret), "{said}");
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

fn at() -> Coordinates {
    Coordinates {
        topic: "notes".into(),
        partition: 2,
        offset: 40,
    }
}

fn one_record(format: &dyn Format, payload: &[u8]) {
    let record = format.decode(at(), payload);
    assert_eq!(record.at(), &at());
    assert!(!matches!(record, Record::Tombstone(_)));
}

proptest! {
    #[test]
    fn any_bytes_are_one_record(payload in proptest::collection::vec(any::<u8>(), 0..300)) {
        one_record(&*json(""), &payload);
        one_record(&*json("fields = { text = \"a.b\", known = \"a.c\" }"), &payload);
        one_record(&*FormatConfig::Text(toml::from_str("").unwrap()).build().unwrap(), &payload);
    }

    #[test]
    fn any_damage_to_an_event_leaves_one_record(
        place in 0_usize..140,
        byte in any::<u8>(),
        cut in 0_usize..140,
    ) {
        let mut payload = br#"{"note_id":7,"version":1,"authored_at":"2024-05-01T08:30:00Z","event":"amend","text":"\u00e9 \ud83d\ude00","known":{"mrn":[1,"2"]}}"#.to_vec();
        let place = place.min(payload.len() - 1);
        payload[place] = byte;
        one_record(&*json(""), &payload);
        payload.truncate(cut);
        one_record(&*json(""), &payload);
    }

    #[test]
    fn any_text_arrives_as_it_was_sent(text in any::<String>()) {
        let arrived = read(event(&text)).unwrap();
        prop_assert_eq!(arrived.text.expose(), text);
    }

    #[test]
    fn any_json_value_in_any_field_is_one_record(
        field in prop::sample::select(vec!["note_id", "version", "known", "authored_at", "event", "text", "author_id"]),
        value in json_value(),
    ) {
        let payload = serde_json::json!({"note_id": "n", "text": "t", field: value}).to_string();
        one_record(&*json(""), payload.as_bytes());
    }
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::btree_map(
                prop::sample::select(vec!["kind", "value", "mrn", "x"]),
                inner,
                0..4
            )
            .prop_map(|map| serde_json::Value::Object(
                map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
            )),
        ]
    })
}
