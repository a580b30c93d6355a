//! The text of notes, and messages without one.

use lethe_core::EventKind;
use lethe_format::PayloadError;

use super::{format, message, observation, parts, read, refused, tagged, text, unchanged};

#[test]
fn observations_of_one_kind_are_lines_and_others_are_paragraphs() {
    let note = message(
        "ORU^R01",
        &[
            "OBX|1|TX|H^History|1|Seen today.",
            "OBX|2|TX|H^History|1|",
            "OBX|3|TX|H^History|1|No fever.~No cough.",
            "OBX|4|TX|P^Plan|1|Rest.",
            "OBX|5|TX|P^Plan|2|Fluids.",
            "NTE|1|L|Called the ward.",
            "NTE|2|L|Nobody there.",
        ],
    );
    assert_eq!(
        text(&note),
        "Seen today.\n\nNo fever.\nNo cough.\n\nRest.\n\nFluids.\n\nCalled the ward.\nNobody there."
    );
    assert_eq!(parts(&read(&note)).len(), 8);
}

#[test]
fn escapes_are_undone_and_what_is_none_is_text() {
    assert_eq!(
        text(observation(
            "FT",
            r"\H\Impression\N\:\.br\BP 120\F\80 \T\ 5\S\3, mind/body and\or \Zx\x"
        )),
        "Impression:\nBP 120|80 & 5^3, mind/body and\\or x"
    );
    // Separators that the sender did not escape.
    assert_eq!(text(observation("TX", "10^3 & more")), "10^3 & more");
}

#[test]
fn any_separators_will_do() {
    let note = "MSH$%*?!$a$b$c$d$20240501$$ORU%R01$C-2$P$2.3\rOBX$1$TX$N$$one*two?F?three?E? ^|\\";
    assert_eq!(text(note), "one\ntwo$three? ^|\\");
    // No escape character, no sub-components.
    assert_eq!(
        text("MSH|^~|a|b|c|d|2024||ORU^R01|C-2|P|2.3\nOBX|1|TX|N||one~C:\\F\\two"),
        "one\nC:\\F\\two"
    );
}

#[test]
fn segments_may_end_in_any_way_and_stand_in_a_frame() {
    let note = observation("TX", "Seen.");
    let expected = text(&note);
    for end in ["\n", "\r\n"] {
        assert_eq!(text(note.replace('\r', end)), expected);
    }
    assert_eq!(text(format!("\u{b}{note}\u{1c}\r")), expected);
    assert_eq!(text(note.trim_end()), expected);
    assert_eq!(text(format!("\u{feff}{note}")), expected);
}

#[test]
fn a_line_feed_in_a_text_is_a_line_of_it() {
    let note = message(
        "ORU^R01",
        &["OBX|1|TX|N||first\nsecond|||", "NTE|1||third\nNTE|2||fourth"],
    );
    assert_eq!(text(note), "first\nsecond\n\nthird\nfourth");
}

#[test]
fn texts_of_coded_values_are_narrative() {
    let note = message(
        "ORU^R01",
        &["OBX|1|CWE|D||38341003^Hypertension^SCT^401.9^High pressure^I9^^^as Mrs Prado says~^Cough"],
    );
    assert_eq!(
        text(note),
        "Hypertension\nHigh pressure\nas Mrs Prado says\nCough"
    );
}

#[test]
fn text_attachments_are_decoded() {
    // "Seen by Dr Okafor.\r\nCafé." in UTF-8, without padding.
    let utf8 = "U2VlbiBieSBEciBPa2Fmb3IuDQpDYWbDqS4";
    let expected = "Seen by Dr Okafor.\r\nCafé.";
    for kind in ["^TEXT^^Base64^", "app^text^plain^base64^", "^TX^^Base64^"] {
        assert_eq!(
            text(observation("ED", &format!("{kind}{utf8}"))),
            expected,
            "{kind}"
        );
    }
    assert_eq!(
        text(observation(
            "ED",
            &format!("^TEXT^^Base64^{}", r"U2VlbiBieSBEciBPa2Fm\X0D0A\b3IuDQpDYWbDqS4=")
        )),
        expected
    );
    assert_eq!(text(observation("ED", "^TEXT^^Hex^5365 656e2E")), "Seen.");
    assert_eq!(text(observation("ED", r"^TEXT^PLAIN^A^a\.br\b^c")), "a\nb^c");
}

#[test]
fn rich_text_and_html_are_read_as_what_a_reader_sees() {
    let rtf = r"{\E\rtf1\E\ansi Seen by \E\b Dr Okafor\E\b0 .\E\par Caf\E\'e9.}";
    for value in [format!("^AP^RTF^A^{rtf}"), format!("^TEXT^rtf^^{rtf}")] {
        assert_eq!(text(observation("ED", &value)), "Seen by Dr Okafor.\nCafé.");
    }
    // <p>Seen by <b>Dr Okafor</b>.</p><p>Caf&eacute;.</p>
    let html = "PHA+U2VlbiBieSA8Yj5EciBPa2Fmb3I8L2I+LjwvcD48cD5DYWYmZWFjdXRlOy48L3A+";
    for kind in ["^TEXT^HTML", "^text^html", "^AP^text/html"] {
        let read = text(observation("ED", &format!("{kind}^Base64^{html}")));
        assert_eq!(
            read.split_whitespace().collect::<Vec<_>>(),
            ["Seen", "by", "Dr", "Okafor.", "Café."]
        );
    }
}

#[test]
fn an_attachment_in_the_messages_own_character_set_is_read_in_it() {
    let note = observation("ED", "^TEXT^^Base64^Q2Fm6Q==").replace("|2.5.1", "|2.5.1||||||8859/1");
    assert_eq!(text(note), "Café");
    assert_eq!(
        refused(observation("ED", "^TEXT^^Base64^Q2Fm6Q==")),
        (Some("OBX-5"), PayloadError::NotUtf8)
    );
}

#[test]
fn what_is_not_text_is_left_out_and_never_the_whole_of_a_note() {
    let scan = "OBX|2|ED|SCAN||^IM^TIFF^Base64^SUkq";
    let image = "OBX|3|RP|IMG||https://images.example/okafor^^IM^JPEG";
    let note = message("MDM^T02", &["OBX|1|TX|N||Seen.", scan, image]);
    assert_eq!(text(note), "Seen.");
    assert_eq!(
        refused(message("MDM^T02", &[scan])),
        (Some("OBX-5"), PayloadError::NotText)
    );
    // A document of a supported kind is a note: it is not left out if it is damaged.
    let pdf = "OBX|2|ED|PDF||^AP^PDF^Base64^JVBERi0xLjQ=";
    assert_eq!(
        refused(message("MDM^T02", &["OBX|1|TX|N||Seen.", pdf])),
        (Some("OBX-5"), PayloadError::NotPdf)
    );
}

#[test]
fn a_message_without_narrative_is_structured() {
    for (kind, segment) in [
        ("MDM^T02", "OBX|1|NM|N||5"),
        ("ORU^R01", "OBX|1|CE|N||168537006^^SCT"),
        ("ADT^A08", "PID|1||7"),
        ("SIU^S12", "SCH|A-1"),
        ("VXU^V04", "RXA|0|1|20240501||08^^CVX"),
        ("DFT^P03", "FT1|1"),
        ("ORM^O01", "ORC|NW"),
    ] {
        let event = read(message(kind, &[segment]));
        assert!(event.structured && event.text.is_empty(), "{kind}");
    }
    assert!(!read(message("ADT^A08", &["PID|1||7", "NTE|1||Seen."])).structured);
    let blank = read(message("RGV^O15", &["NTE|1||", "NTE|2||  "]));
    assert!(blank.structured && blank.text.is_empty());
    assert_eq!(parts(&blank), ["", ""]);
}

#[test]
fn attachments_that_cannot_be_read_are_refused() {
    let ed = |value: &str| refused(observation("ED", value));
    assert_eq!(ed("^TEXT^^Base64^U2V*"), (Some("OBX-5"), PayloadError::NotBase64));
    assert_eq!(ed("^TEXT^^Hex^536"), (Some("OBX-5"), PayloadError::NotBase64));
    assert_eq!(
        ed("^TEXT^^uuencode^5365"),
        (Some("OBX-5"), PayloadError::Unsupported)
    );
    assert_eq!(
        ed("^AP^RTF^A^no rich text"),
        (Some("OBX-5"), PayloadError::Unsupported)
    );
}

#[test]
fn other_sets_of_msh_18_count_only_where_an_escape_switches_to_them() {
    let declared = |charsets: &str, value: &str| {
        format!("MSH|^~\\&|a|b|c|d|2024||ORU^R01|C|P|2.5||||||{charsets}\rOBX|1|TX|N||{value}")
    };
    assert_eq!(text(declared("UNICODE UTF-8~8859/1", "José")), "José");
    for switch in [r"\C2842\x", r"\M2442\x", "\u{1b}$B;3"] {
        let why = refused(declared("UNICODE UTF-8~ISO IR87", switch));
        assert_eq!(why.1, PayloadError::UnsupportedEscape, "{switch}");
    }
    let closed = unchanged(&read(declared("8859/1~KLINGON~8859/2", "x")));
    let closed = String::from_utf8(closed).unwrap();
    assert!(closed.contains("||8859/1~~8859/2\r"), "{closed}");
}

#[test]
fn a_message_in_utf_16_comes_back_in_it() {
    let message = |charset: &str| {
        format!("MSH|^~\\&|||||||ORU^R01|C-1|P|2.5||||||{charset}\rPID|1||7\rOBX|1|TX|L1||Łukasz 😀 \\T\\\r")
    };
    let bytes = |text: &str, mark: bool, big: bool| -> Vec<u8> {
        let text = format!("{}{text}", if mark { "\u{feff}" } else { "" });
        let units = text.encode_utf16();
        units
            .flat_map(|unit| {
                if big {
                    unit.to_be_bytes()
                } else {
                    unit.to_le_bytes()
                }
            })
            .collect()
    };
    for charset in ["UNICODE UTF-16", "UNICODE", ""] {
        for (mark, big) in [(true, true), (true, false), (false, true), (false, false)] {
            let payload = bytes(&message(charset), mark, big);
            let event = read(payload.clone());
            assert_eq!(event.text.expose(), "Łukasz 😀 &");
            assert_eq!(unchanged(&event).get(..4), payload.get(..4));
            assert_eq!(read(unchanged(&event)).text.expose(), event.text.expose());
        }
    }
    let other = bytes(&message("8859/1"), true, false);
    assert_eq!(refused(other), (Some("MSH-18"), PayloadError::NotInCharset));
    let mut cut = bytes(&message(""), true, false);
    cut.pop();
    assert_eq!(refused(cut), (None, PayloadError::NotInCharset));
}

#[test]
fn character_sets_are_those_of_msh_18() {
    let latin = |charset: &str, value: &[u8]| {
        let head = format!("MSH|^~\\&|a|b|c|d|2024||ORU^R01|C|P|2.5||||||{charset}\rOBX|1|TX|N||");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(value);
        bytes
    };
    assert_eq!(text(latin("8859/1", b"Jos\xe9 \xa4")), "José ¤");
    assert_eq!(text(latin("8859/15", b"Jos\xe9 \xa4")), "José €");
    assert_eq!(text(latin("UNICODE UTF-8", "José €".as_bytes())), "José €");
    assert_eq!(text(latin("", "José €".as_bytes())), "José €");
    assert_eq!(text(latin("8859/1", br"Jos\XE9\")), "José");
    let ascii = latin("ASCII", b"Jos\xe9");
    let diagnosis = format("").read(&ascii).unwrap_err();
    assert_eq!(
        (diagnosis.problem, diagnosis.byte),
        (PayloadError::NotInCharset, ascii.len() - 1)
    );
    assert_eq!(refused(latin("", b"Jos\xe9")), (None, PayloadError::NotUtf8));
    assert_eq!(text(latin("8859/2", b"\xa3ukasz")), "Łukasz");
    assert_eq!(text(latin("8859/2", br"\XA3\ukasz")), "Łukasz");
    assert_eq!(text(latin("BIG-5", b"\xb3\x7c~\xa7\xf5")), "逖\n李");
    assert_eq!(text(latin("GB 18030-2000", b"\xc0\xee")), "李");
    assert_eq!(text(latin("KS X 1001", b"\xb1\xe8")), "김");
    assert_eq!(text(latin("~ISO IR87", b"\x1b$B;3ED\x1b(B.")), "山田.");
    assert_eq!(text(latin("UNICODE", "José".as_bytes())), "José");
    assert_eq!(
        refused(latin("8859/7", b"a\xff")),
        (None, PayloadError::NotInCharset)
    );
    assert_eq!(
        refused(latin("UNICODE UTF-16", b"Jos")),
        (Some("MSH-18"), PayloadError::NotInCharset)
    );
    for charset in [
        "8859/10",
        "UNICODE UTF-32",
        "CNS 11643-1992",
        "ISO IR159",
        "ISO IR87~8859/1",
    ] {
        assert_eq!(
            refused(latin(charset, b"Jos")),
            (Some("MSH-18"), PayloadError::UnsupportedCharset),
            "{charset}"
        );
    }
    let event = format("charset = \"8859/1\"")
        .read(&latin("", b"Jos\xe9"))
        .unwrap();
    assert_eq!(event.text.expose(), "José");
}

#[test]
fn a_switch_of_the_character_set_is_refused_where_it_is_read() {
    assert_eq!(
        refused(observation("TX", r"\C2842\Okafor")),
        (Some("OBX-5"), PayloadError::UnsupportedEscape)
    );
    assert_eq!(
        refused(message(
            "ORU^R01",
            &[r"PID|1||7||\M244242\^Ada", "OBX|1|TX|N||Seen."]
        )),
        (Some("PID-5"), PayloadError::UnsupportedEscape)
    );
    assert_eq!(
        text(message("ORU^R01", &[r"ZZZ|\C2842\", "OBX|1|TX|N||Seen."])),
        "Seen."
    );
}

#[test]
fn withdrawn_observations_are_no_part_of_the_text() {
    let note = message(
        "ORU^R01",
        &[
            "OBR|1||A|N|||||||||||||||||||||F",
            "OBX|1|TX|N||Stands.||||||F",
            "OBX|2|TX|N||Was another patient's.||||||W",
            "NTE|1||On what was another patient's.",
            "OBR|2||B|N|||||||||||||||||||||X",
            "OBX|1|TX|N||Void.||||||F",
        ],
    );
    let event = read(note);
    assert_eq!(event.text.expose(), "Stands.");
    assert_eq!(event.kind, EventKind::Create);
}

#[test]
fn what_is_no_message_is_refused() {
    for other in [
        "",
        "Dear colleague,",
        "{\"text\": \"MSH\"}",
        "MSH",
        "PID|1\rMSH|^~\\&|",
    ] {
        assert_eq!(refused(other).1, PayloadError::NotHl7, "{other}");
    }
    assert_eq!(refused("MSH|^~^&|a"), (Some("MSH-2"), PayloadError::NotHl7));
    assert_eq!(
        refused(observation("TX", "Seen.") + "and a line\r").1,
        PayloadError::NotHl7
    );
    let two = observation("TX", "Seen.").repeat(2);
    assert_eq!(refused(two), (Some("MSH"), PayloadError::Duplicate));
    assert_eq!(
        refused(message("ZPT^Z01", &["NTE|1||Seen."])),
        (Some("MSH-9"), PayloadError::Unsupported)
    );
}

#[test]
fn every_message_type_of_the_standard_is_read() {
    for kind in ["ACK^A01", "MFN^M02", "QBP^Q22", "RSP^K22", "RRE^O12", "PMU^B01"] {
        assert!(read(message(kind, &["MSA|AA|C-9"])).structured, "{kind}");
    }
    let closed = tagged(&read(message("ACK^A01^ACK", &["MSA|AA|C-9"])));
    assert!(
        closed.contains("|ACK^A01^ACK|") && closed.contains("MSA|AA|"),
        "{closed}"
    );
}

#[test]
fn messages_in_pieces_are_refused() {
    let note = observation("TX", "The first half");
    assert_eq!(
        refused(note.clone() + "DSC|X-1"),
        (Some("DSC-1"), PayloadError::Fragmented)
    );
    assert_eq!(text(note.clone() + "DSC|"), "The first half");
    for blank in ["   ", "\"\""] {
        let whole = note.replace("|2.5.1", &format!("|2.5.1||{blank}"));
        assert_eq!(text(whole), "The first half");
    }
    let continued = note.replace("|2.5.1", "|2.5.1||X-1");
    assert_eq!(refused(continued), (Some("MSH-14"), PayloadError::Fragmented));
}

#[test]
fn an_addendum_of_a_segment_is_joined_to_it() {
    let note = message(
        "ORU^R01",
        &[
            "OBX|1|TX|N||The first half",
            "ADD| and the second~and more",
            "NTE|1||Seen.",
        ],
    );
    assert_eq!(text(note), "The first half and the second\nand more\n\nSeen.");
    let alone = message("ORU^R01", &["ADD|the second half"]);
    assert_eq!(refused(alone), (Some("ADD"), PayloadError::Fragmented));
}

#[test]
fn pieces_in_one_payload_are_joined() {
    let piece = |number: usize, pointer: &str, segments: &[&str]| {
        let id = format!("C-{number}|P|2.5.1||{pointer}");
        message("ORU^R01", segments).replace("C-1|P|2.5.1", &id)
    };
    let first = piece(1, "", &["PID|1||7", "OBX|1|TX|N||one", "DSC|P-1|F"]);
    let second = piece(2, "P-1", &["ADD| and two", "NTE|1||Seen.", "DSC|P-2"]);
    let third = piece(3, "P-2", &["NTE|2||Called."]);
    let event = read(format!(
        "\u{b}{first}\u{1c}\r\u{b}{second}\u{1c}\r\u{b}{third}\u{1c}\r"
    ));
    assert_eq!(event.text.expose(), "one and two\n\nSeen.\nCalled.");
    assert_eq!(event.note_id.expose(), "C-1");
    for other in [
        format!("{first}{third}"),
        format!("{second}{third}"),
        format!("{first}{second}"),
    ] {
        let (_, problem) = refused(other);
        assert_eq!(problem, PayloadError::Fragmented);
    }
}

#[test]
fn a_batch_of_one_message_is_that_message() {
    let note = observation("TX", "Seen.");
    let batch = format!("FHS|^~\\&|Okafor\rBHS|^~\\&\r{note}BTS|1\rFTS|1\r");
    let event = read(&batch);
    assert_eq!(event.text.expose(), "Seen.");
    let closed = super::tagged(&event);
    assert_eq!(closed, super::tagged(&read(&note)));
    let changes = super::envelope(&event).changes();
    assert!(changes.iter().any(|change| change.path == "FHS"));
    let two = format!("FHS|^~\\&\r{note}{note}FTS|1\r");
    assert_eq!(refused(two), (Some("MSH"), PayloadError::Duplicate));
    assert_eq!(refused("FHS|^~\\&\rFTS|0").1, PayloadError::NotHl7);
}

#[test]
fn limits_hold() {
    let small = format("max_note_bytes = 9");
    assert!(small.read(observation("TX", "Nine then").as_bytes()).is_ok());
    let over = small
        .read(observation("TX", "Ten of it.").as_bytes())
        .unwrap_err();
    assert_eq!(
        (over.field, over.problem),
        (Some("OBX-5"), PayloadError::TooLarge)
    );
    let lines = "~".repeat(1 << 18);
    assert_eq!(
        refused(observation("TX", &lines)),
        (Some("OBX-5"), PayloadError::TooComplex)
    );
    let names = message("ORU^R01", &[&format!("PID|1||7||{}", "A~".repeat(1 << 16))]);
    assert_eq!(refused(names), (Some("PID-5"), PayloadError::TooComplex));
}
