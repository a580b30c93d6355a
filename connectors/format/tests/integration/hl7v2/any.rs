//! Any bytes, and any message.

use lethe_core::{EventKind, Record};
use proptest::prelude::*;

use super::{format, identifiers, parts, read, unchanged};

/// A leaf as a sender might write it.
fn leaf() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z0-9 .,:'()+-]{0,16}",
        "(\\\\[FSTREHN]\\\\|\\\\\\.br\\\\|\\\\X0[AD9]\\\\|[a-zéß€\\\\]){0,8}",
        Just("\"\"".to_owned()),
        Just("20240501083000.1+0200".to_owned()),
        Just("19310507".to_owned()),
    ]
}

/// A field of repetitions of components of sub-components.
fn field() -> impl Strategy<Value = String> {
    let component = prop::collection::vec(leaf(), 1..3).prop_map(|subs| subs.join("&"));
    let repetition = prop::collection::vec(component, 0..8).prop_map(|components| components.join("^"));
    prop::collection::vec(repetition, 0..3).prop_map(|repetitions| repetitions.join("~"))
}

fn segment() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "EVN", "PID", "NK1", "PV1", "ORC", "OBR", "NTE", "TXA", "IN1", "ZZZ",
    ]);
    let other = (name, prop::collection::vec(field(), 0..25))
        .prop_map(|(name, fields)| format!("{name}|{}", fields.join("|")));
    let kind = prop::sample::select(vec!["TX", "FT", "ST", "CE", "CWE", "NM", "TS", "XPN", "CX", ""]);
    let observation =
        (kind, "[A-C]", "[12]?", field(), "[FCDX]?").prop_map(|(kind, code, sub, value, status)| {
            format!("OBX|1|{kind}|{code}|{sub}|{value}||||||{status}")
        });
    let attachment = leaf().prop_map(|text| {
        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        format!("OBX|1|ED|A||^TEXT^^Hex^{hex}")
    });
    prop_oneof![other, observation, attachment]
}

const CHARSETS: [&str; 22] = [
    "UNICODE UTF-8",
    "UNICODE UTF-16",
    "UNICODE",
    "ASCII",
    "8859/1",
    "8859/2",
    "8859/3",
    "8859/4",
    "8859/5",
    "8859/6",
    "8859/7",
    "8859/8",
    "8859/9",
    "8859/15",
    "GB 18030-2000",
    "BIG-5",
    "KS X 1001",
    "ISO IR87",
    "~ISO IR87",
    "ISO IR159",
    "8859/1~8859/5",
    "CNS 11643-1992",
];

proptest! {
    #[test]
    fn any_bytes_become_one_record(payload in prop::collection::vec(any::<u8>(), 0..200)) {
        format("").decode(Default::default(), &payload);
    }

    #[test]
    fn any_bytes_in_any_character_set_become_one_record(
        charset in prop_oneof![
            prop::sample::select(CHARSETS.to_vec()).prop_map(str::to_owned),
            "[A-Z0-9/ ~-]{0,20}",
        ],
        text in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let head = format!("MSH|^~\\&|a|b|c|d|2024||ORU^R01|C-1|P|2.5||||||{charset}\rOBX|1|TX|N||");
        let payload = [head.as_bytes(), &text].concat();
        if let Record::Note(event) = format("").decode(Default::default(), &payload) {
            // The returned message reads as the same text, in its own character set or in UTF-8.
            let again = read(unchanged(&event));
            prop_assert_eq!(again.text.expose(), event.text.expose());
        }
    }

    #[test]
    fn any_text_after_a_head_becomes_one_record(text in "[|^~\\\\&\r\n\"A-Z0-9.\\PC]{0,120}") {
        let payload = format!("MSH|^~\\&|a|b|c|d|2024||ORU^R01|C-1|P|2.5\rOBX|1|{text}");
        if let Record::Note(event) = format("").decode(Default::default(), payload.as_bytes()) {
            let closed = unchanged(&event);
            prop_assert!(format("").read(&closed).is_ok());
        }
    }

    #[test]
    fn a_message_closed_with_what_it_was_has_the_same_note(
        segments in prop::collection::vec(segment(), 1..8),
        end in prop::sample::select(vec!["\r", "\n", "\r\n"]),
    ) {
        let head = "MSH|^~\\&|a|b|c|d|2024||ORU^R01|C-1|P|2.5".to_owned();
        let message = std::iter::once(head).chain(segments).collect::<Vec<_>>().join(end);
        let Ok(event) = format("").read(message.as_bytes()) else {
            return Ok(());
        };
        prop_assert!(event.structured || parts(&event).is_empty() == (event.kind == EventKind::Delete));
        let closed = unchanged(&event);
        prop_assert!(!closed.contains(&b'\n'));
        let again = read(&closed);
        prop_assert_eq!(again.text.expose(), event.text.expose());
        prop_assert_eq!(again.kind, event.kind);
        prop_assert_eq!(again.note_id.expose(), event.note_id.expose());
        // An invalid date is dropped; everything else is returned, and a second round trip changes nothing.
        let dates = |event: &lethe_core::NoteEvent| {
            identifiers(event).iter().filter(|(label, _)| *label == "DATE").count()
        };
        let others = |event: &lethe_core::NoteEvent| {
            let all = identifiers(event).into_iter().filter(|(label, _)| *label != "DATE");
            all.map(|(label, value)| format!("{label} {value}")).collect::<Vec<_>>()
        };
        prop_assert!(dates(&again) <= dates(&event));
        prop_assert_eq!(others(&again), others(&event));
        prop_assert_eq!(unchanged(&again), closed);
    }
}
