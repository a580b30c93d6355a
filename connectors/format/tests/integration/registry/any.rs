//! Any payload becomes one record, and a note only with the text that another reader finds in it.

use std::sync::{Arc, LazyLock};

use apache_avro::types::Value as Avro;
use lethe_core::{Coordinates, Record};
use lethe_format::Format;
use lethe_format::registry::Language;
use proptest::prelude::*;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, Value};

use super::{NOTE_AVSC, NOTE_FIELDS, NOTE_PROTO, PEOPLE_PROTO, Shelf};

static AVRO: LazyLock<Box<dyn Format>> = LazyLock::new(|| {
    let shelf = Arc::new(Shelf::default());
    shelf.put(7, Language::Avro, NOTE_AVSC, &[]);
    shelf.format("avro", NOTE_FIELDS)
});

static PROTOBUF: LazyLock<Box<dyn Format>> = LazyLock::new(|| {
    let shelf = Arc::new(Shelf::default());
    shelf.put(
        2,
        Language::Protobuf,
        NOTE_PROTO,
        &[("people.proto", PEOPLE_PROTO)],
    );
    shelf.format("protobuf", NOTE_FIELDS)
});

static SCHEMA: LazyLock<apache_avro::Schema> =
    LazyLock::new(|| apache_avro::Schema::parse_str(NOTE_AVSC).unwrap());

static MESSAGE: LazyLock<MessageDescriptor> = LazyLock::new(|| {
    let pool = DescriptorPool::decode(&include_bytes!("golden/note.desc")[..]).unwrap();
    pool.get_message_by_name("org.example.ehr.Envelope.Note").unwrap()
});

const AVRO_NOTE: &[u8] = include_bytes!("golden/note.avro.bin");
const PROTOBUF_NOTE: &[u8] = include_bytes!("golden/note.proto.bin");

fn one_record(format: &dyn Format, payload: &[u8]) -> Option<String> {
    match format.decode(Coordinates::default(), payload) {
        Record::Note(event) => Some(event.text.expose().to_owned()),
        Record::Quarantined(..) => None,
        Record::Tombstone(_) => panic!("a tombstone has no payload"),
    }
}

/// Returns what apache-avro reads from a payload without its frame.
fn avro_value(mut payload: &[u8]) -> Option<Avro> {
    let reader = apache_avro::reader::datum::GenericDatumReader::builder(&SCHEMA)
        .build()
        .unwrap();
    reader.read_value(&mut payload).ok()
}

/// Returns what apache-avro finds at `body`, if it can read the payload.
fn avro_text(payload: &[u8]) -> Option<String> {
    let value = avro_value(payload)?;
    let Avro::Record(fields) = value else { return None };
    match fields.into_iter().find(|(name, _)| name == "body")?.1 {
        Avro::Union(_, text) => match *text {
            Avro::String(text) => Some(text),
            _ => Some(String::new()),
        },
        _ => None,
    }
}

/// Returns what prost-reflect finds at `body`, if it can read the payload.
fn protobuf_text(payload: &[u8]) -> Option<String> {
    let message = DynamicMessage::decode(MESSAGE.clone(), payload).ok()?;
    match message.get_field_by_name("body")?.as_ref() {
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn check(payload: &[u8]) {
    if let (Some(ours), Some(theirs)) = (one_record(&**AVRO, payload), payload.get(5..).and_then(avro_text)) {
        assert_eq!(ours, theirs);
    }
    if let (Some(ours), Some(theirs)) = (
        one_record(&**PROTOBUF, payload),
        payload.get(8..).and_then(protobuf_text),
    ) {
        assert_eq!(ours, theirs);
    }
}

fn damage(payload: &[u8], places: &[(usize, u8)], cut: usize) -> Vec<u8> {
    let mut payload = payload.to_vec();
    for &(place, byte) in places {
        let place = place % payload.len();
        payload[place] = byte;
    }
    payload.truncate(cut.max(1));
    payload
}

proptest! {
    #[test]
    fn any_bytes_are_one_record(body in proptest::collection::vec(any::<u8>(), 0..300)) {
        check(&body);
        check(&[&AVRO_NOTE[..5], &body].concat());
        check(&[&PROTOBUF_NOTE[..8], &body].concat());
    }

    #[test]
    fn any_damage_to_an_event_leaves_one_record(
        places in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..4),
        cut in 0_usize..700,
    ) {
        check(&damage(AVRO_NOTE, &places, cut));
        check(&damage(PROTOBUF_NOTE, &places, cut));
    }

    #[test]
    fn any_text_arrives_as_it_was_sent(text in any::<String>(), id in any::<i64>()) {
        let mut message = DynamicMessage::new(MESSAGE.clone());
        message.set_field_by_name("body", Value::String(text.clone()));
        let mut meta = message.get_field_by_name("meta").unwrap().as_message().unwrap().clone();
        // Zero is not written, and is not an id.
        meta.set_field_by_name("id", Value::I64(id | 1));
        message.set_field_by_name("meta", Value::Message(meta));
        let mut payload = PROTOBUF_NOTE[..8].to_vec();
        payload.extend(prost_reflect::prost::Message::encode_to_vec(&message));
        let event = PROTOBUF.read(&payload).unwrap();
        prop_assert_eq!(event.text.expose(), &text);
        prop_assert_eq!(event.note_id.expose(), (id | 1).to_string());

        let Avro::Record(mut fields) = avro_value(&AVRO_NOTE[5..]).unwrap() else { unreachable!() };
        fields.last_mut().unwrap().1 = Avro::Union(1, Box::new(Avro::String(text.clone())));
        let mut payload = AVRO_NOTE[..5].to_vec();
        payload.extend(super::avro::written(&SCHEMA, Avro::Record(fields)));
        let event = AVRO.read(&payload).unwrap();
        prop_assert_eq!(event.text.expose(), &text);
    }
}
