//! Any payload becomes one record.

use lethe_core::{Coordinates, Record};
use lethe_format::{Format, FormatConfig};
use proptest::prelude::*;

use super::{event, json, read};

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
