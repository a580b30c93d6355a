//! Avro and Protobuf payloads with a schema for this benchmark.

use super::{Payload, text};

/// The schema of Avro payloads.
pub(crate) const AVRO_SCHEMA: &str = r#"{"type": "record", "name": "Note", "fields": [
    {"name": "note_id", "type": "string"},
    {"name": "more", "type": {"type": "array", "items": ["null", "string", {"type": "map", "values": "long"}]}},
    {"name": "known", "type": {"type": "array", "items": {"type": "record", "name": "Identifier", "fields": [
        {"name": "kind", "type": "string"}, {"name": "value", "type": "string"}]}}},
    {"name": "text", "type": "string"}]}"#;

/// The schema of Protobuf payloads.
pub(crate) const PROTO_SCHEMA: &str = r#"syntax = "proto3";
message Note {
  message Inner { Inner inner = 1; string value = 2; }
  string note_id = 1;
  map<string, string> known = 2;
  string text = 3;
  Inner inner = 4;
  repeated int64 numbers = 5;
}
"#;

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Encodes a number as in Avro.
fn long(value: usize, out: &mut Vec<u8>) {
    varint((value as u64) << 1, out);
}

fn string(value: &str, out: &mut Vec<u8>) {
    long(value.len(), out);
    out.extend_from_slice(value.as_bytes());
}

/// Encodes items in one block, or in one block each.
fn array(items: &[Vec<u8>], blocks: bool, out: &mut Vec<u8>) {
    if !blocks && !items.is_empty() {
        long(items.len(), out);
    }
    for item in items {
        if blocks {
            long(1, out);
        }
        out.extend_from_slice(item);
    }
    long(0, out);
}

fn items(size: usize, item: impl Fn(usize) -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut bytes = 0;
    let next = (0..).map(item).take_while(|item| {
        bytes += item.len();
        bytes <= size
    });
    next.collect()
}

/// Avro records.
pub(crate) fn avro() -> Vec<(&'static str, Payload)> {
    let record = |more: &[Vec<u8>], known: &[Vec<u8>], blocks: bool, text: &str| {
        let mut out = Vec::new();
        string("n1", &mut out);
        array(more, blocks, &mut out);
        array(known, blocks, &mut out);
        string(text, &mut out);
        out
    };
    let known = |i: usize| {
        let mut out = Vec::new();
        string("mrn", &mut out);
        string(&i.to_string(), &mut out);
        out
    };
    let map = |i: usize| {
        let mut out = vec![4];
        let entry = |n: usize| {
            let mut out = Vec::new();
            string(&format!("k{i}{n}"), &mut out);
            out.push(0);
            out
        };
        array(&[entry(0), entry(1)], false, &mut out);
        out
    };
    vec![
        (
            "plain",
            Box::new(move |size| record(&[], &[], false, &text(size))),
        ),
        (
            "identifiers",
            Box::new(move |size| record(&[], &items(size, known), false, "a")),
        ),
        (
            "identifiers, a block each",
            Box::new(move |size| record(&[], &items(size, known), true, "a")),
        ),
        (
            "nulls",
            Box::new(move |size| record(&items(size, |_| vec![0]), &[], false, "a")),
        ),
        (
            "nulls, a block each",
            Box::new(move |size| record(&items(size / 2, |_| vec![0]), &[], true, "a")),
        ),
        (
            "empty strings",
            Box::new(move |size| record(&items(size, |_| vec![2, 0]), &[], false, "a")),
        ),
        (
            "maps",
            Box::new(move |size| record(&items(size, map), &[], false, "a")),
        ),
    ]
}

/// A field of bytes.
fn field(number: u64, value: &[u8], out: &mut Vec<u8>) {
    varint(number << 3 | 2, out);
    varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

/// Protobuf messages.
pub(crate) fn protobuf() -> Vec<(&'static str, Payload)> {
    let message = |more: Vec<Vec<u8>>, text: &str| {
        let mut out = Vec::new();
        field(1, b"n1", &mut out);
        out.extend(more.concat());
        field(3, text.as_bytes(), &mut out);
        out
    };
    let known = |i: usize| {
        let (mut entry, mut out) = (Vec::new(), Vec::new());
        field(1, b"mrn", &mut entry);
        field(2, i.to_string().as_bytes(), &mut entry);
        field(2, &entry, &mut out);
        out
    };
    vec![
        ("plain", Box::new(move |size| message(Vec::new(), &text(size)))),
        (
            "identifiers",
            Box::new(move |size| message(items(size, known), "a")),
        ),
        (
            "unknown fields",
            Box::new(move |size| message(items(size, |_| vec![0x78, 0]), "a")),
        ),
        (
            "empty messages",
            Box::new(move |size| message(items(size, |_| vec![0x22, 0]), "a")),
        ),
        (
            "numbers",
            Box::new(move |size| message(items(size, |_| vec![0x28, 0]), "a")),
        ),
        (
            "text again and again",
            Box::new(move |size| message(items(size, |_| vec![0x1a, 2, b'a', b'b']), "a")),
        ),
        (
            "nested messages",
            Box::new(move |size| {
                let mut inner = Vec::new();
                // Each level writes its length; deeper ones are refused anyway.
                for _ in 0..(size / 8).min(2000) {
                    let mut out = Vec::new();
                    field(1, &inner, &mut out);
                    inner = out;
                }
                let mut out = Vec::new();
                field(4, &inner, &mut out);
                let times = size / out.len().max(1) + 1;
                message(vec![out.repeat(times)], "a")
            }),
        ),
    ]
}
