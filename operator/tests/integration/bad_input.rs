//! Any record becomes exactly one row of the right kind, and its partition continues.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test helpers may panic, as tests may"
)]

use crate::common;

use common::dataset::Dataset;
use common::kafka::Topic;
use common::process::Lethe;
use common::{Place, folder_sink, quoted};
use lethe_core::Quarantine;
use serde_json::json;

/// The expected row of a record.
enum Becomes {
    /// A note; text without PHI is unchanged.
    Note(String),
    /// A withdrawn note, without text.
    Withdrawn,
    Tombstone,
    /// Quarantined with this code.
    Quarantined(&'static str),
}

use Becomes::{Note, Quarantined, Tombstone, Withdrawn};

fn note(text: &str) -> Vec<u8> {
    json!({"note_id": "n", "text": text}).to_string().into_bytes()
}

/// Returns a note with this text, which must stay unchanged.
fn kept(text: &str) -> Case {
    (Some(note(text)), Note(text.to_owned()))
}

fn payload(payload: &[u8], becomes: Becomes) -> Case {
    (Some(payload.to_vec()), becomes)
}

/// A payload (`None` for a tombstone), and its expected row.
type Case = (Option<Vec<u8>>, Becomes);

fn cases() -> Vec<(&'static str, Case)> {
    const INVALID: &str = "invalid_payload";
    const DAMAGED: &str = "damaged";
    vec![
        (
            "invalid UTF-8",
            payload(
                b"{\"note_id\": \"n\", \"text\": \"caf\xe9\"}",
                Quarantined("invalid_utf8"),
            ),
        ),
        (
            "bytes only",
            payload(&[0xff, 0xfe, 0x00, 0x80], Quarantined("invalid_utf8")),
        ),
        (
            "no JSON",
            payload(b"the patient feels well", Quarantined(DAMAGED)),
        ),
        (
            "cut short",
            payload(b"{\"note_id\": \"n\", \"text\": \"feels w", Quarantined(DAMAGED)),
        ),
        (
            "something after the object",
            payload(
                b"{\"note_id\": \"n\", \"text\": \"well\"} {}",
                Quarantined(DAMAGED),
            ),
        ),
        ("a list", payload(b"[\"n\", \"well\"]", Quarantined(DAMAGED))),
        ("a number", payload(b"17", Quarantined(DAMAGED))),
        ("null", payload(b"null", Quarantined(DAMAGED))),
        ("an empty payload", payload(b"", Quarantined(DAMAGED))),
        (
            "half a surrogate pair",
            payload(
                b"{\"note_id\": \"n\", \"text\": \"\\ud83d\"}",
                Quarantined(DAMAGED),
            ),
        ),
        (
            "deeply nested",
            payload(
                ["[".repeat(100_000), "]".repeat(100_000)].concat().as_bytes(),
                Quarantined(DAMAGED),
            ),
        ),
        (
            "no id",
            payload(b"{\"text\": \"feels well\"}", Quarantined(INVALID)),
        ),
        ("no text", payload(b"{\"note_id\": \"n\"}", Quarantined(INVALID))),
        (
            "text is a number",
            payload(b"{\"note_id\": \"n\", \"text\": 5}", Quarantined(INVALID)),
        ),
        (
            "text is null",
            payload(b"{\"note_id\": \"n\", \"text\": null}", Quarantined(INVALID)),
        ),
        (
            "id is an object",
            payload(b"{\"note_id\": {}, \"text\": \"well\"}", Quarantined(INVALID)),
        ),
        (
            "version is a word",
            payload(
                b"{\"note_id\": \"n\", \"version\": \"one\", \"text\": \"well\"}",
                Quarantined(INVALID),
            ),
        ),
        (
            "an event of no kind",
            payload(
                b"{\"note_id\": \"n\", \"event\": \"burn\", \"text\": \"well\"}",
                Quarantined(INVALID),
            ),
        ),
        (
            "known is a number",
            payload(
                b"{\"note_id\": \"n\", \"known\": 4, \"text\": \"well\"}",
                Quarantined(INVALID),
            ),
        ),
        (
            "an invalid date",
            payload(
                b"{\"note_id\": \"n\", \"authored_at\": \"soon\", \"text\": \"well\"}",
                Quarantined(INVALID),
            ),
        ),
        (
            "duplicate keys",
            payload(
                b"{\"note_id\": \"n\", \"text\": \"well\", \"text\": \"unwell\"}",
                Quarantined(INVALID),
            ),
        ),
        (
            "a raw NUL in a string",
            payload(b"{\"note_id\": \"n\", \"text\": \"a\0b\"}", Quarantined(DAMAGED)),
        ),
        ("a tombstone", (None, Tombstone)),
        (
            "a note withdrawn",
            payload(b"{\"note_id\": \"n\", \"event\": \"delete\"}", Withdrawn),
        ),
        (
            "an id that is a number",
            payload(
                b"{\"note_id\": 12, \"text\": \"feels well\"}",
                Note("feels well".into()),
            ),
        ),
        (
            "fields that nobody knows",
            payload(
                b"{\"note_id\": \"n\", \"ward\": [1, {\"a\": 2}], \"text\": \"feels well\"}",
                Note("feels well".into()),
            ),
        ),
        (
            "a byte order mark before the object",
            payload(
                b"\xef\xbb\xbf{\"note_id\": \"n\", \"text\": \"feels well\"}",
                Note("feels well".into()),
            ),
        ),
        ("empty text", kept("")),
        ("white space only", kept(" \t\n\r\n \u{a0}\u{2003}")),
        ("NULs in the text", kept("feels\0well\0\0")),
        ("control characters", kept("feels\u{1}\u{1b}[31mwell\u{7f}\u{85}")),
        ("a byte order mark in the text", kept("\u{feff}feels well")),
        ("CRLF", kept("no cough\r\nno fever\r\n\r\nfeels well\r\n")),
        (
            "emoji of several code points",
            kept("feels well 👩🏽\u{200d}⚕\u{fe0f} 🏳\u{fe0f}\u{200d}🌈 🇪🇸"),
        ),
        (
            "combining marks",
            kept("no a\u{301}\u{302}\u{303}\u{304}, e\u{308}\u{323} or z\u{335}\u{321} either"),
        ),
        (
            "right to left",
            kept("המטופל מרגיש טוב \u{202e}no cough\u{202c} لا يوجد سعال"),
        ),
        (
            "no character assigned",
            kept("feels \u{10ffff}\u{e000} well \u{fffd}"),
        ),
        ("a line without any space", kept(&"x".repeat(200_000))),
        ("white space without end", kept(&" ".repeat(200_000))),
        ("digits without end", kept(&"7".repeat(200_000))),
        ("brackets without end", kept(&"([{".repeat(50_000))),
        (
            "a million tokens in one line",
            kept(&"no cough, ".repeat(334_000)),
        ),
        (
            "a note of 20 MB",
            kept(&"The lungs are clear and the abdomen is soft. ".repeat(445_000)),
        ),
        (
            "a note over the limit",
            (
                Some(note(&"no cough ".repeat(2_400_000))),
                Quarantined("too_large"),
            ),
        ),
    ]
}

#[test]
fn every_bad_record_becomes_one_row_of_the_right_kind_and_its_partition_goes_on() {
    let topic = Topic::new("bad", 1);
    let producer = topic.producer();
    let cases = cases();
    for (_, (payload, _)) in &cases {
        producer.send(Some(0), None, payload.as_deref()).unwrap();
        producer.send(Some(0), None, Some(&note("feels well"))).unwrap();
    }
    producer.finish().unwrap();
    let place = Place::new();
    let out = place.at("out");
    // With the default, 512 MiB, the limit of a record is below what the note of 20 MB takes.
    let limit =
        "[format]\nkind = \"json\"\nmax_note_bytes = 21000000\n[resources]\nmemory_bytes = 1073741824\n";
    // Networks in test builds take minutes for 20 MB.
    let rules = "[engine]\nmembers = [{ kind = \"known\" }, { kind = \"pattern\" }, { kind = \"gazetteer\" }, { kind = \"context\" }]\n";
    let config = place.write(
        "lethe.toml",
        format!("{rules}{limit}{}{}", topic.source(), folder_sink(&out)),
    );
    Lethe::through(&config).end().expect(0);

    let data = Dataset::read(&out);
    data.assert_exactly(&out, &topic.offsets());
    for ((what, (_, becomes)), rows) in cases.iter().zip(data.partition(0).chunks(2)) {
        let (row, after) = (rows[0], rows[1]);
        let found = (row.kind.as_str(), row.error.as_deref().map(Quarantine::code_of));
        match becomes {
            Quarantined(code) => {
                assert_eq!(found, ("quarantined", Some(*code)), "{what}");
                assert!(
                    row.note_id.is_none() && row.text.is_none(),
                    "{what}: a quarantined row tells something"
                );
            }
            Tombstone => assert_eq!(found, ("tombstone", None), "{what}"),
            Withdrawn => {
                assert_eq!(found, ("tombstone", None), "{what}");
                assert_eq!(
                    (row.event.as_str(), row.note_id.as_deref()),
                    ("delete", Some("n")),
                    "{what}"
                );
                assert!(row.text.as_deref().unwrap_or_default().is_empty(), "{what}");
            }
            Note(text) => {
                assert_eq!(found, ("note", None), "{what}");
                let same = row.text.as_deref() == Some(text.as_str());
                assert!(same, "{what}: not as it went in, {} redactions", row.redactions);
            }
        }
        assert_eq!(after.text.as_deref(), Some("feels well"), "after {what}");
    }
}

#[test]
fn the_text_format_takes_any_utf8_as_a_note() {
    let topic = Topic::new("bare", 1);
    let texts = ["", "\u{feff}feels well\r\n", "{\"note_id\": 1}", "\0"];
    topic.fill(texts);
    topic.fill([[0xc3_u8, 0x28].as_slice()]);
    let place = Place::new();
    let out = place.at("out");
    let config = place.write(
        "lethe.toml",
        format!(
            "format = {{ kind = \"text\" }}\n{}{}",
            topic.source(),
            folder_sink(&out)
        ),
    );
    Lethe::through(&config).end().expect(0);
    let data = Dataset::read(&out);
    data.assert_exactly(&out, &topic.offsets());
    let rows = data.partition(0);
    for (row, text) in rows.iter().zip(texts) {
        assert_eq!(row.text.as_deref(), Some(text));
    }
    assert_eq!(rows[4].error.as_deref(), Some("invalid_utf8:text"));
}

#[test]
fn bad_lines_of_a_file_are_quarantined_each_in_its_place() {
    let place = Place::new();
    let lines: &[&[u8]] = &[
        b"\xef\xbb\xbf{\"note_id\": \"1\", \"text\": \"feels well\"}\r\n",
        b"\r\n",
        b"Zorvane is no JSON\n",
        b"{\"note_id\": \"2\", \"text\": \"caf\xe9\"}\n",
        b"{\"note_id\": \"3\", \"text\": \"\"}\n",
        b"{\"note_id\": \"4\", \"text\": \"no line break\"}",
    ];
    let input = place.write("in/a.jsonl", lines.concat());
    let out = place.at("out");
    let source = format!("[source]\nkind = \"jsonl\"\ninput = {}\n", quoted(&input));
    let config = place.write("lethe.toml", source.clone() + &folder_sink(&out));
    Lethe::through(&config).end().expect(0);
    let data = Dataset::read(&out);
    let rows: Vec<_> = data
        .rows()
        .into_iter()
        .map(|row| (row.offset, row.kind.as_str(), row.error.as_deref()))
        .collect();
    let expected = [
        (0, "note", None),
        (2, "quarantined", Some("damaged:json")),
        (3, "quarantined", Some("invalid_utf8")),
        (4, "note", None),
        (5, "note", None),
    ];
    assert_eq!(rows, expected);
    assert_eq!(data.faults(&out), Vec::<String>::new());

    // Configured to fail on a bad line, it names the line and none of its text.
    let config = place.write(
        "fail.toml",
        format!("{source}on_bad = \"fail\"\n{}", folder_sink(&place.at("other"))),
    );
    let ended = Lethe::through(&config).end().expect(1).says("a.jsonl: line 3");
    assert!(!ended.err.contains("Zorvane"), "{}", ended.err);
}
