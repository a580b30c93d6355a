//! Returned messages.

use lethe_core::EnvelopeError;

use super::{close, envelope, format, message, observation, read, segment, tagged, text, unchanged, with};

#[test]
fn narrative_comes_back_escaped_where_it_was() {
    let note = message(
        "ORU^R01",
        &[
            "OBX|1|TX|N|1|One~Two||||||F",
            "OBX|2|FT|N|2|Three\\.br\\\\H\\loud\\N\\||||||F",
            "NTE|1|L|Four",
        ],
    );
    let closed = close(
        &read(note),
        |part| format!("<{part}|^&~\\>\n"),
        |_, _| String::new(),
    );
    let closed = String::from_utf8(closed).unwrap();
    assert_eq!(
        closed,
        "MSH|^~\\&|||||||ORU^R01||P|2.5.1\r\
         OBX|1|TX|L1|1|<One\\F\\\\S\\\\T\\\\R\\\\E\\>\\.br\\~<Two\\F\\\\S\\\\T\\\\R\\\\E\\>\\.br\\||||||F\r\
         OBX|2|FT|L1|2|<Three\\.br\\loud\\F\\\\S\\\\T\\\\R\\\\E\\>\\.br\\||||||F\r\
         NTE|1|L|<Four\\F\\\\S\\\\T\\\\R\\\\E\\>\\.br\\\r"
    );
}

#[test]
fn names_go_back_component_by_component_if_they_can() {
    let note = message(
        "ORU^R01",
        &[
            "PID|1||||Okafor^Ada^N.^Jr^Dr^PhD^L~Obi^Ada",
            "PV1|1||||||77^Weber^Karl^^^Dr^^^AUTH",
            "NTE|1||Seen.",
        ],
    );
    let event = read(note);
    let closed = close(&event, str::to_owned, |label, value| match (label, value) {
        ("PATIENT", "Ada Obi") => "Mrs Eva Marie Lang".into(),
        ("PATIENT", _) => "Eva M. Lang III".into(),
        ("DOCTOR", _) => "Jan Maas".into(),
        _ => format!("[{label}]"),
    });
    let closed = String::from_utf8(closed).unwrap();
    assert_eq!(
        segment(&closed, "PID"),
        "PID|1||||Lang^Eva^M.^III^^^L~Mrs Eva Marie Lang^^^"
    );
    assert_eq!(segment(&closed, "PV1"), "PV1|1||||||[IDNUM]^Maas^Jan^^");
    assert_eq!(
        segment(&tagged(&event), "PID"),
        "PID|1||||[PATIENT]^^^^^^L~[PATIENT]^^^"
    );
}

#[test]
fn interpreters_are_sub_components() {
    let order = with("OBR", &[(1, "1"), (32, "88&Weber&Karl^20240501^^4W")]);
    let closed = tagged(&read(message("ORU^R01", &[&order, "NTE|1||Seen."])));
    assert!(
        segment(&closed, "OBR").ends_with("|[IDNUM]&[DOCTOR]&&&"),
        "{closed}"
    );
}

#[test]
fn dates_go_back_as_dates_or_not_at_all() {
    let note = message(
        "ORU^R01",
        &[
            "PID|1||||||19310507",
            "OBR|1||||||202405010830+0200|202405|not a date",
            "NTE|1||Seen.",
        ],
    );
    let event = read(note);
    let after = |replacement: &str| {
        let closed = close(&event, str::to_owned, |label, _| {
            if label == "DATE" {
                replacement.into()
            } else {
                String::new()
            }
        });
        let closed = String::from_utf8(closed).unwrap();
        [
            segment(&closed, "PID").to_owned(),
            segment(&closed, "OBR").to_owned(),
        ]
    };
    assert_eq!(
        after("2031-12-24"),
        ["PID|1||||||20311224", "OBR|1||||||203112240830+0200|20311224"]
    );
    assert_eq!(after("2031"), ["PID|1||||||2031", "OBR|1||||||2031|2031"]);
    assert_eq!(after("[DATE]"), ["PID|1", "OBR|1"]);
    assert_eq!(after("90 or older"), ["PID|1", "OBR|1"]);
}

#[test]
fn of_addresses_telephones_and_numbers_only_the_types_stay() {
    let note = message(
        "ORU^R01",
        &[
            "PID|1||4412^7^M10^NORTH&1.2&ISO^MR^NORTH^20200101||||||||12 Elm&Elm&12^Apt 4^Dayton^OH^45402^USA^H^x^Mont^tract^y\
             ||(937)555-0142^PRN^PH^ada@example.org^1^937^5550142^^ring twice^^^9375550142~^WPN^FX^^^937^5550143",
            "NTE|1||Seen.",
        ],
    );
    assert_eq!(
        segment(&tagged(&read(note)), "PID"),
        "PID|1||[MEDICALRECORD]^^^^MR||||||||[STREET]^[STREET]^[CITY]^[STATE]^[ZIP]^[COUNTRY]^H^[LOCATION-OTHER]\
         ^[LOCATION-OTHER]^[LOCATION-OTHER]||[PHONE]^PRN^PH^[EMAIL]~[FAX]^WPN^FX"
    );
}

#[test]
fn null_stays_null() {
    let note = message(
        "ORU^R01",
        &["PID|1||\"\"||\"\"^Ada", "OBX|1|TX|N||\"\"", "NTE|1||Seen."],
    );
    let closed = tagged(&read(note));
    assert_eq!(segment(&closed, "PID"), "PID|1||\"\"||^[PATIENT]^^");
    assert_eq!(segment(&closed, "OBX"), "OBX|1|TX|L1||\"\"");
}

#[test]
fn what_is_not_text_comes_back_empty() {
    let note = message(
        "MDM^T02",
        &[
            &with(
                "TXA",
                &[
                    (1, "1"),
                    (2, "DS"),
                    (3, "TX"),
                    (16, "Okafor.pdf"),
                    (17, "AU"),
                    (21, "Okafor asked"),
                ],
            ),
            "OBX|1|TX|N||Seen.||||||F",
            "OBX|2|ED|PDF^Scan^L||^IM^TIFF^Base64^SUkq||||||F",
            "OBX|3|RP|IMG||https://images.example/okafor^^IM^JPEG||||||F",
            "OBX|4|NM|A^Age^L||93|a^years|||||F",
            "OBX|5|SN|B||>^90",
            "ZPI|Okafor",
        ],
    );
    let closed = tagged(&read(&note));
    assert_eq!(
        closed.split('\r').skip(1).collect::<Vec<_>>(),
        [
            &with("TXA", &[(1, "1"), (2, "DS"), (3, "TX"), (17, "AU")]),
            "OBX|1|TX|L1||Seen.||||||F",
            "OBX|2|ED|L2||||||||F",
            "OBX|3|RP|L3||||||||F",
            "OBX|4|NM|L4|||a|||||F",
            "OBX|5|SN|L5",
            "",
        ]
    );
    let event = format("keep_numbers = true").read(note.as_bytes()).unwrap();
    let closed = tagged(&event);
    assert!(
        closed.contains("|93|a|") && closed.contains("OBX|5|SN|L5||>^90\r"),
        "{closed}"
    );
}

#[test]
fn attachments_come_back_in_their_encoding() {
    for (value, expected) in [
        ("app^TEXT^plain^Base64^U2Vlbi4=", "^TEXT^plain^Base64^U2VlbiE="),
        ("^TEXT^^Hex^5365656E2E", "^TEXT^^Hex^5365656E21"),
        ("^TEXT^^A^Seen.", "^TEXT^^A^Seen!"),
    ] {
        let closed = close(
            &read(observation("ED", value)),
            |part| part.replace('.', "!"),
            |_, _| String::new(),
        );
        let closed = String::from_utf8(closed).unwrap();
        assert!(
            segment(&closed, "OBX").contains(&format!("|{expected}|")),
            "{closed}"
        );
    }
}

#[test]
fn markup_comes_back_as_plain_text() {
    // <p>Okafor</p><script>Okafor</script>
    let html = "PHA+T2thZm9yPC9wPjxzY3JpcHQ+T2thZm9yPC9zY3JpcHQ+";
    let closed = close(
        &read(observation("ED", &format!("^TEXT^HTML^Base64^{html}"))),
        |part| part.replace("Okafor", "Né"),
        |_, value| value.to_owned(),
    );
    let closed = String::from_utf8(closed).unwrap();
    assert!(
        segment(&closed, "OBX").contains("|^TEXT^plain^Base64^TsOp|"),
        "{closed}"
    );
    assert_eq!(text(&closed), "Né");
}

#[test]
fn typed_observations_are_identifiers() {
    let note = message(
        "ORU^R01",
        &[
            "OBX|1|XPN|N||Okafor^Ada",
            "OBX|2|TS|N||20240501",
            "OBX|3|CX|N||4412^^^N^MR",
            "NTE|1||Seen.",
        ],
    );
    let closed = tagged(&read(note));
    assert!(
        closed.contains("OBX|1|XPN|L1||[PATIENT]^^^\rOBX|2|TS|L1\rOBX|3|CX|L1||[MEDICALRECORD]^^^^MR\r"),
        "{closed}"
    );
}

#[test]
fn a_message_is_written_in_its_character_set_or_in_utf_8() {
    let mut note =
        b"MSH|^~\\&|a|b|c|d|2024||ORU^R01|C|P|2.5||||||8859/1\rPID|1||||Mu\xf1oz\rNTE|1||Se\xf1or.".to_vec();
    let event = read(&note);
    let closed = close(&event, str::to_owned, |_, value| value.to_owned());
    assert!(closed.windows(5).any(|bytes| bytes == b"Mu\xf1oz"));
    assert!(closed.windows(7).any(|bytes| bytes == b"|8859/1"));
    let closed = close(&event, str::to_owned, |_, _| "Šimić".into());
    let closed = String::from_utf8(closed).unwrap();
    assert!(closed.contains("|UNICODE UTF-8\r") && closed.contains("Šimić") && closed.contains("Señor"));
    // If MSH-18 is left to the configuration, the character set is written where the default no longer
    // applies.
    let at = note.windows(7).position(|bytes| bytes == b"|8859/1").unwrap();
    note.splice(at..at + 7, *b"|");
    let event = format("charset = \"8859/1\"").read(&note).unwrap();
    assert_eq!(event.text.expose(), "Señor.");
    assert!(
        close(&event, |_| "€".into(), |_, _| String::new())
            .windows(13)
            .any(|b| b == b"UNICODE UTF-8")
    );
}

#[test]
fn other_separators_and_missing_ones_come_back() {
    let note = "MSH$%*?!$a$b$c$d$20240501$$ORU%R01$C-2$P$2.3\rPID$1$$$$Okafor%Ada\rOBX$1$TX$N$$one*two";
    let closed = close(
        &read(note),
        |part| format!("{part}$|"),
        |label, _| format!("[{label}]"),
    );
    assert_eq!(
        String::from_utf8(closed).unwrap(),
        "MSH$%*?!$$[HOSPITAL]$$[HOSPITAL]$$$ORU%R01$[IDNUM]$P$2.3\rPID$1$$$$[PATIENT]%%%\rOBX$1$TX$L1$$one?F?|*two?F?|\r"
    );
    let bare = "MSH|^|a|b|c|d|||ORU^R01|C-2|P|2.3\rOBX|1|TX|N||one~two";
    let closed = close(&read(bare), |part| format!("{part}|\n."), |_, _| String::new());
    assert!(
        String::from_utf8(closed)
            .unwrap()
            .ends_with("OBX|1|TX|L1||one~two  .\r")
    );
}

#[test]
fn a_withdrawn_note_comes_back_without_its_text() {
    let note = message("MDM^T11", &["PID|1||||Okafor^Ada", "OBX|1|TX|N||Seen by Okafor."]);
    let event = read(note);
    assert!(envelope(&event).parts().is_empty());
    let closed = tagged(&event);
    assert!(
        !closed.contains("Okafor") && closed.ends_with("OBX|1|TX|L1\r"),
        "{closed}"
    );
}

#[test]
fn a_message_is_closed_with_exactly_what_it_was_opened_with() {
    let event = read(observation("TX", "a~b"));
    let envelope = envelope(&event);
    let identifiers: Vec<&str> = envelope.identifiers().iter().map(|_| "x").collect();
    assert_eq!(envelope.close(&["a"], &identifiers), Err(EnvelopeError));
    assert_eq!(envelope.close(&["a", "b", "c"], &identifiers), Err(EnvelopeError));
    assert_eq!(envelope.close(&["a", "b"], &identifiers[1..]), Err(EnvelopeError));
    assert!(envelope.close(&["a", "b"], &identifiers).is_ok());
}

#[test]
fn a_message_closed_with_what_it_was_reads_the_same() {
    let note = message(
        "MDM^T02",
        &[
            "PID|1||4412^^^N^MR||de Cruz^Ana \\T\\ Eva^^III||19310507|F|||12 Elm^^Dayton^OH^45402||^PRN^PH^^1^937^5550142",
            "TXA|1|DS|TX|202405010815+0200|1^Weber^Karl|||||||DOC-9",
            "OBX|1|TX|N||one~two\\.br\\three\\X09\\four|||||",
            "OBX|2|CE|M||1^five^L^2^six^L",
            "OBX|3|ED|K||^TEXT^plain^Base64^U2Vlbi4NCg==",
        ],
    );
    let (event, again) = (read(&note), read(unchanged(&read(&note))));
    assert_eq!(event.text, again.text);
    assert_eq!(super::identifiers(&event), super::identifiers(&again));
    assert_eq!(
        (event.note_id, event.patient_id),
        (again.note_id, again.patient_id)
    );
    assert_eq!(event.known, again.known);
    assert_eq!(text(&note), "one\ntwo\nthree\tfour\n\nfive\nsix\n\nSeen.\r\n");
}
