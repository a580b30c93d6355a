//! HL7 v2 messages made of segments: names of segments, fields, components and repetitions in any order, so
//! that the reader gets past its first checks. No panic; extracted parts lie in its text, and a message that
//! is returned with its original content can be read.
#![no_main]

use lethe_fuzz::hl7v2::Read;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

const SEGMENTS: [&str; 16] = [
    "PID", "PV1", "OBR", "OBX", "TXA", "NK1", "NTE", "EVN", "ORC", "PD1", "IN1", "GT1", "DG1", "AL1", "ZZZ",
    "MSH",
];
/// The content of fields.
const VALUES: [&str; 16] = [
    "",
    "1",
    "Quillfeather",
    "10000001",
    "20240502083000",
    "TX",
    "ED",
    "FT",
    "11488-4",
    "LN",
    "MR",
    "Seen with her sister.\\.br\\Plan: none.",
    "F",
    "text",
    "Base64",
    "U2Vlbi4=",
];

#[derive(Arbitrary, Debug)]
struct Case<'a> {
    segments: Vec<Segment<'a>>,
}

#[derive(Arbitrary, Debug)]
struct Segment<'a> {
    name: u8,
    /// The separator before a value, and the value's index.
    fields: Vec<(u8, u8)>,
    /// Any text for the last field.
    rest: &'a str,
}

fn message(case: &Case<'_>) -> String {
    let mut out = "MSH|^~\\&|ADT1|MERCY|LAB|MERCY|20240502083000||ORU^R01|1|P|2.5.1\r".to_owned();
    for segment in case.segments.iter().take(32) {
        out.push_str(SEGMENTS[usize::from(segment.name) % SEGMENTS.len()]);
        out.push('|');
        for &(before, value) in segment.fields.iter().take(32) {
            // Mostly fields.
            out.push(['|', '|', '|', '^', '&', '~'][usize::from(before) % 6]);
            out.push_str(VALUES[usize::from(value) % VALUES.len()]);
        }
        out.push_str(segment.rest);
        out.push('\r');
    }
    out
}

fuzz_target!(|case: Case<'_>| {
    let Some(read) = Read::of(message(&case).as_bytes()) else {
        return;
    };
    let closed = read.closed();
    if read.event().text.expose().chars().any(char::is_alphanumeric) {
        read.again(&closed);
    }
});
