//! Hostile payloads, one function per format. The first of each list is an ordinary one.

mod binary;
mod pdf;
mod structured;
mod tables;

pub(crate) use binary::{AVRO_SCHEMA, PROTO_SCHEMA, avro, protobuf};
pub(crate) use pdf::pdf;
pub(crate) use structured::{cda, fhir, hl7v2};
pub(crate) use tables::{csv, jsonl, parquet};

use crate::texts;

/// Creates a payload of about this many bytes.
pub(crate) type Payload = Box<dyn Fn(usize) -> Vec<u8>>;

/// Repeats one unit between a head and a tail.
fn repeated(head: &'static str, unit: &'static str, tail: &'static str) -> Payload {
    numbered(head, move |_| unit.to_owned(), tail)
}

/// Repeats units that differ by their number.
fn numbered(head: &'static str, unit: impl Fn(usize) -> String + 'static, tail: &'static str) -> Payload {
    Box::new(move |size| {
        let mut out = String::with_capacity(size + 1024);
        out.push_str(head);
        let mut i = 0;
        while out.len() < size {
            out.push_str(&unit(i));
            i += 1;
        }
        out.push_str(tail);
        out.into_bytes()
    })
}

/// Opens an element repeatedly, with `middle` inside, and closes it as often.
fn nested(
    head: &'static str,
    open: &'static str,
    middle: &'static str,
    close: &'static str,
    tail: &'static str,
) -> Payload {
    Box::new(move |size| {
        let times = size / (open.len() + close.len()) + 1;
        format!(
            "{head}{}{middle}{}{tail}",
            open.repeat(times),
            close.repeat(times)
        )
        .into_bytes()
    })
}

/// Returns notes as one text.
fn text(size: usize) -> String {
    texts::plain(size).join("\n")
}

/// Returns an event in Lethe's own JSON.
pub(crate) fn json() -> Vec<(&'static str, Payload)> {
    let plain = |size| {
        serde_json::json!({"note_id": "n1", "text": text(size)})
            .to_string()
            .into_bytes()
    };
    vec![
        ("plain", Box::new(plain)),
        ("escapes", repeated(r#"{"note_id":"n1","text":""#, r"\n", r#""}"#)),
        (
            "escapes of code units",
            repeated(r#"{"note_id":"n1","text":""#, r"\u00e9", r#""}"#),
        ),
        (
            "surrogate pairs",
            repeated(r#"{"note_id":"n1","text":""#, r"\ud83d\ude00", r#""}"#),
        ),
        (
            "unknown keys",
            numbered(r#"{"note_id":"n1","text":"a""#, |i| format!(r#","k{i}":0"#), "}"),
        ),
        (
            "near keys",
            numbered(
                r#"{"note_id":"n1","text":"a""#,
                |i| format!(r#","knowm{i}":0"#),
                "}",
            ),
        ),
        (
            "nested arrays",
            nested(r#"{"note_id":"n1","text":"a","x":"#, "[", "", "]", "}"),
        ),
        (
            "nested objects",
            nested(r#"{"note_id":"n1","text":"a","x":"#, r#"{"a":"#, "0", "}", "}"),
        ),
        ("blanks", repeated(r#"{"note_id":"n1","text":"a""#, " ", "}")),
        (
            "a long number",
            repeated(r#"{"note_id":"n1","text":"a","x":"#, "1", "}"),
        ),
        (
            "identifiers by kind",
            numbered(
                r#"{"note_id":"n1","text":"a","known":[{"kind":"mrn","value":"1"}"#,
                |i| format!(r#",{{"kind":"dob","value":"{i}"}}"#),
                "]}",
            ),
        ),
        (
            "identifiers in a list",
            numbered(
                r#"{"note_id":"n1","text":"a","known":{"mrn":[0"#,
                |i| format!(",{i}"),
                "]}}",
            ),
        ),
        (
            "unknown kinds",
            numbered(
                r#"{"note_id":"n1","text":"a","known":{"mrn":"1""#,
                |i| format!(r#","badge {i}":null"#),
                "}}",
            ),
        ),
    ]
}

/// Returns HTML documents.
pub(crate) fn html() -> Vec<(&'static str, Payload)> {
    let plain = |size| {
        format!(
            "<html><body><p>{}</p></body></html>",
            text(size).replace('\n', "<br/>")
        )
        .into_bytes()
    };
    vec![
        ("plain", Box::new(plain)),
        ("tags", repeated("", "<b>", "")),
        ("closing tags", repeated("", "</b>", "")),
        ("less-than signs", repeated("", "<", "")),
        ("open tags without an end", repeated("", "<a ", "")),
        ("open attributes", repeated("<p ", "a=\"", "")),
        ("attributes", repeated("<p ", "a=b ", ">")),
        ("ampersands", repeated("", "&", "")),
        ("entities", repeated("", "&amp;", "")),
        ("unknown entities", repeated("", "&nosuch;", "")),
        ("numeric entities", repeated("", "&#65;", "")),
        ("comments", repeated("", "<!-- -->", "")),
        ("open comments", repeated("", "<!--", "")),
        ("open comments that nearly end", repeated("", "<!-- --", "")),
        ("open scripts", repeated("", "<script>", "")),
        ("open styles and closes", repeated("", "<style></styl>", "")),
        ("open declarations", repeated("", "<!D", "")),
        ("open CDATA", repeated("", "<![CDATA[", "")),
        ("preformatted", nested("", "<pre>", "a", "</pre>", "")),
        ("nested lists", nested("", "<ul><li>", "a", "</li></ul>", "")),
        (
            "nested tables",
            nested("", "<table><tr><td>", "a", "</td></tr></table>", ""),
        ),
        ("cells", repeated("<table><tr>", "<td>", "</table>")),
        ("breaks", repeated("", "<br>", "")),
        ("newlines", repeated("", "\n", "")),
        ("blanks", repeated("", " ", "")),
        ("blank paragraphs", repeated("", "<p> </p>", "")),
    ]
}

/// Returns RTF documents.
pub(crate) fn rtf() -> Vec<(&'static str, Payload)> {
    let plain = |size| format!("{{\\rtf1\\ansi {}}}", text(size).replace('\n', "\\par\n")).into_bytes();
    let head = "{\\rtf1\\ansi ";
    vec![
        ("plain", Box::new(plain)),
        ("nested groups", nested(head, "{", "a", "}", "}")),
        ("open groups", repeated(head, "{", "")),
        ("groups", repeated(head, "{}", "}")),
        ("ignored groups", repeated(head, "{\\*\\x}", "}")),
        ("control words", repeated(head, "\\b ", "}")),
        ("paragraphs", repeated(head, "\\par ", "}")),
        ("bytes in hexadecimal", repeated(head, "\\'e9", "}")),
        ("Unicode", repeated(head, "\\u233?", "}")),
        ("skips", repeated(head, "\\uc9\\u233?", "}")),
        ("binary", repeated(head, "\\bin1 a", "}")),
        (
            "fonts",
            numbered(
                "{\\rtf1\\ansi{\\fonttbl",
                |i| format!("{{\\f{i}\\fcharset0 A;}}"),
                "}a}",
            ),
        ),
        (
            "switches among fonts",
            Box::new(|size| {
                let fonts: String = (0..size / 40)
                    .map(|i| format!("{{\\f{i}\\fcharset0 A;}}"))
                    .collect();
                let uses: String = (0..size / 20).map(|i| format!("\\f{i} a")).collect();
                format!("{{\\rtf1\\ansi{{\\fonttbl{fonts}}}{uses}}}").into_bytes()
            }),
        ),
        ("a long word", repeated(head, "\\aaaaaaaa", "}")),
        ("backslashes", repeated(head, "\\\\", "}")),
        ("cells", repeated(head, "\\cell\\row", "}")),
    ]
}
