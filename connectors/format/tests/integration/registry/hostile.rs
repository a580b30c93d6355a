//! Payloads that claim more than they contain.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lethe_format::registry::Language;
use lethe_format::{Format, PayloadError};

use super::{NOTE_PROTO, PEOPLE_PROTO, Shelf};

fn avro(schema: &str) -> Box<dyn Format> {
    let shelf = Arc::new(Shelf::default());
    shelf.put(1, Language::Avro, schema, &[]);
    shelf.format("avro", "")
}

/// The problem with a payload, and that it was found at once: counted out, what these claim would take years.
fn problem(format: &dyn Format, payload: &[u8]) -> PayloadError {
    format.prepare(payload).unwrap();
    let began = Instant::now();
    let problem = format.read(payload).unwrap_err().problem;
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{problem:?} after {:?}",
        began.elapsed()
    );
    problem
}

/// The largest number in Avro.
const MOST: [u8; 10] = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
/// The smallest.
const LEAST: [u8; 10] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];

fn framed(parts: &[&[u8]]) -> Vec<u8> {
    [&[&[0, 0, 0, 0, 1][..]], parts].concat().concat()
}

#[test]
fn a_length_that_is_not_there_is_cut_short() {
    for kind in [r#""string""#, r#""bytes""#] {
        for field in ["text", "other"] {
            let schema =
                format!(r#"{{"type":"record","name":"N","fields":[{{"name":"{field}","type":{kind}}}]}}"#);
            let format = avro(&schema);
            let expected = if field == "text" && kind.contains("bytes") {
                PayloadError::WrongType
            } else {
                PayloadError::Truncated
            };
            assert_eq!(problem(&*format, &framed(&[&MOST, b"abc"])), expected);
            if expected == PayloadError::Truncated {
                assert_eq!(problem(&*format, &framed(&[&LEAST])), PayloadError::NotOfSchema);
            }
        }
    }
}

#[test]
fn a_list_of_more_items_than_there_can_be_is_not_counted_out() {
    let empty = r#"{"type":"record","name":"E","fields":[{"name":"a","type":"null"}]}"#;
    for items in [r#""null""#, empty, r#"{"type":"fixed","name":"F","size":0}"#] {
        let schema = format!(
            r#"{{"type":"record","name":"N","fields":[{{"name":"other","type":{{"type":"array","items":{items}}}}}]}}"#
        );
        // Without end: each block claims the maximum.
        let payload = framed(&[&MOST.repeat(1000), &[0]]);
        assert_eq!(problem(&*avro(&schema), &payload), PayloadError::NotInSchema);
    }
    for (kind, value) in [("array", "items"), ("map", "values")] {
        let schema = format!(
            r#"{{"type":"record","name":"N","fields":[{{"name":"other","type":{{"type":"{kind}","{value}":"int"}}}}]}}"#
        );
        let format = avro(&schema);
        assert_eq!(
            problem(&*format, &framed(&[&MOST, &[0; 100]])),
            PayloadError::Truncated
        );
        // A block of the least count, which has no opposite, and of a length that is not there.
        assert_eq!(
            problem(&*format, &framed(&[&LEAST, &MOST])),
            PayloadError::Truncated
        );
        assert_eq!(
            problem(&*format, &framed(&[&LEAST, &LEAST])),
            PayloadError::NotOfSchema
        );
    }
}

#[test]
fn identifiers_that_take_no_byte_are_not_counted_out() {
    let known = |items: &str| {
        avro(&format!(
            r#"{{"type":"record","name":"N","fields":[{{"name":"known","type":{{"type":"array","items":{items}}}}}]}}"#
        ))
    };
    assert_eq!(
        problem(&*known(r#""null""#), &framed(&[&MOST, &[0]])),
        PayloadError::WrongType
    );
    let entry = r#"{"type":"record","name":"E","fields":[{"name":"kind","type":"string"},{"name":"value","type":{"type":"array","items":"null"}}]}"#;
    let payload = framed(&[&[2, 0], &MOST, &[0, 0]]);
    assert_eq!(problem(&*known(entry), &payload), PayloadError::NotInSchema);
}

#[test]
fn a_list_within_itself_is_followed_so_far_and_no_further() {
    let linked = r#"{"type":"record","name":"N","fields":[{"name":"other","type":["null","N"]}]}"#;
    assert_eq!(
        problem(&*avro(linked), &framed(&[&[2; 100_000]])),
        PayloadError::TooDeep
    );
    let tree = r#"{"type":"record","name":"N","fields":[{"name":"known","type":["null",{"type":"array","items":"N"}]}]}"#;
    assert_eq!(
        problem(&*avro(tree), &framed(&[&[2; 100_000]])),
        PayloadError::TooDeep
    );
    // A record that is inside itself always: no payload can be of it.
    let endless = r#"{"type":"record","name":"N","fields":[{"name":"other","type":"N"}]}"#;
    assert_eq!(problem(&*avro(endless), &framed(&[])), PayloadError::TooDeep);
}

#[test]
fn records_that_multiply_take_no_longer_than_their_bytes() {
    // Thirty records, each twice in the next: a thousand million of the innermost, with zero bytes or one.
    for innermost in [r#""null""#, r#""int""#] {
        let mut kind = innermost.to_owned();
        for i in 0..30 {
            kind = format!(
                r#"{{"type":"record","name":"R{i}","fields":[{{"name":"a","type":{kind}}},{{"name":"b","type":"{}"}}]}}"#,
                if i == 0 {
                    innermost.trim_matches('"').to_owned()
                } else {
                    format!("R{}", i - 1)
                }
            );
        }
        let schema = format!(r#"{{"type":"record","name":"N","fields":[{{"name":"other","type":{kind}}}]}}"#);
        let expected = if innermost.contains("null") {
            PayloadError::NotInSchema
        } else {
            PayloadError::Truncated
        };
        let bytes = if innermost.contains("null") { 0 } else { 100_000 };
        assert_eq!(problem(&*avro(&schema), &framed(&[&vec![0; bytes]])), expected);
    }
}

#[test]
fn a_schema_without_end_is_no_schema() {
    let deep = format!(
        "{}\"int\"{}",
        r#"{"type":"array","items":"#.repeat(5_000),
        "}".repeat(5_000)
    );
    assert_eq!(problem(&*avro(&deep), &framed(&[])), PayloadError::UnusableSchema);
    let shelf = Arc::new(Shelf::default());
    let messages = format!(
        "syntax = \"proto3\"; {}{}",
        "message M { ".repeat(5_000),
        "}".repeat(5_000)
    );
    shelf.put(1, Language::Protobuf, &messages, &[]);
    let options = format!(
        "syntax = \"proto3\"; option (x) = {}{};",
        "{ a: ".repeat(5_000),
        "}".repeat(5_000)
    );
    shelf.put(2, Language::Protobuf, &options, &[]);
    let format = shelf.format("protobuf", "");
    for id in [1, 2] {
        assert_eq!(
            problem(&*format, &[0, 0, 0, 0, id, 0]),
            PayloadError::UnusableSchema
        );
    }
}

#[test]
fn a_message_that_claims_more_than_it_has_is_cut_short() {
    let shelf = Arc::new(Shelf::default());
    shelf.put(
        1,
        Language::Protobuf,
        NOTE_PROTO,
        &[("people.proto", PEOPLE_PROTO)],
    );
    let format = shelf.format("protobuf", "");
    let small = |bytes: &[u8]| framed(&[&[2, 2], bytes]);
    for bytes in [
        &b"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"[..],
        b"\x7a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x1a",
        b"\x12\x02\x0a\x09",
        b"\x09\0",
    ] {
        assert_eq!(
            problem(&*format, &small(bytes)),
            PayloadError::Truncated,
            "{bytes:?}"
        );
    }
    // Groups in groups, which nothing here has a name for.
    assert_eq!(problem(&*format, &small(&[0x7b; 100_000])), PayloadError::TooDeep);
    // Identifiers that are empty, and fields that are skipped.
    let many = b"\x12\x00".repeat(100_000);
    assert_eq!(problem(&*format, &small(&many)), PayloadError::Missing);
    assert_eq!(
        problem(&*format, &small(&b"\x78\x00".repeat(100_000))),
        PayloadError::Missing
    );
}

#[test]
fn no_diagnosis_shows_the_payload() {
    let secret = "Okonkwo";
    let shelf = Arc::new(Shelf::default());
    shelf.put(
        1,
        Language::Protobuf,
        NOTE_PROTO,
        &[("people.proto", PEOPLE_PROTO)],
    );
    let format = shelf.format("protobuf", "");
    let record = r#"{"type":"record","name":"N","fields":[{"name":"event","type":"string"},{"name":"authored_at","type":"string"}]}"#;
    let read = [
        format.read(&framed(&[&[2, 2, 0x1a, 7], secret.as_bytes(), &[0xff]])),
        avro(record).read(&framed(&[&[14], secret.as_bytes()])),
        avro(&record.replace("event", "note_id")).read(&framed(&[
            &[14],
            secret.as_bytes(),
            &[14],
            secret.as_bytes(),
        ])),
        avro(&record.replace("authored_at", "text").replace("event", "note_id")).read(&framed(&[
            &[14],
            secret.as_bytes(),
            &[14],
            secret.as_bytes(),
            &[1],
        ])),
    ];
    for read in read {
        let diagnosis = read.unwrap_err();
        let message = format!("{diagnosis} {diagnosis:?}");
        assert!(!message.contains(secret), "{message}");
    }
}
