//! PDF files. Contents are written as they are, or deflated, as writers of PDF do.

use std::io::Write as _;

use super::{Payload, text};

/// A PDF with these objects, the first of them the catalog, numbered from 1.
fn file(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.extend(format!("{} 0 obj\n", i + 1).bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let start = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for place in places {
        out.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let size = objects.len() + 1;
    out.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").bytes());
    out
}

/// Pages in Helvetica with these contents.
fn pages(contents: &[String]) -> Vec<u8> {
    document(contents, "", Vec::new(), |content| stream("", content.as_bytes()))
}

/// The same, their contents deflated.
fn deflated_pages(contents: &[String]) -> Vec<u8> {
    document(contents, "", Vec::new(), |content| {
        deflated("", content.as_bytes())
    })
}

fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< {entries} /Length {} >>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

fn deflated(entries: &str, content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).expect("memory takes every byte");
    let content = encoder.finish().expect("memory takes every byte");
    stream(&format!("/Filter /FlateDecode {entries}"), &content)
}

/// Pages in Helvetica with these contents, `write` making a stream of each. `entries` are of every page; `more` objects follow
/// the font, from number 4 on.
fn document(
    contents: &[String],
    entries: &str,
    more: Vec<Vec<u8>>,
    write: impl Fn(&str) -> Vec<u8>,
) -> Vec<u8> {
    let first = 4 + more.len();
    let form = if more.is_empty() {
        ""
    } else {
        "/XObject << /X 4 0 R >>"
    };
    let kids: Vec<String> = (0..contents.len())
        .map(|i| format!("{} 0 R", first + 2 * i))
        .collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!(
            "<< /Type /Pages /Kids [{}] /Count {} >>",
            kids.join(" "),
            contents.len()
        )
        .into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_vec(),
    ];
    objects.extend(more);
    for (i, content) in contents.iter().enumerate() {
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] {entries} /Contents {} 0 R /Resources << /Font << /F 3 0 R >> {form} >> >>",
            first + 1 + 2 * i
        );
        objects.push(page.into_bytes());
        objects.push(write(content));
    }
    file(&objects)
}

/// Lines of a page, fifty at most.
fn page(lines: &[&str]) -> String {
    let shown = lines.iter().enumerate().map(|(i, line)| {
        let line = line.replace(['\\', '(', ')'], " ");
        format!("1 0 0 1 50 {} Tm ({line}) Tj\n", 780 - 15 * i)
    });
    format!("BT /F 10 Tf\n{}ET", shown.collect::<String>())
}

/// One page of one unit over and over.
fn repeated(head: &'static str, unit: &'static str, tail: &'static str) -> Payload {
    Box::new(move |size| pages(&[format!("{head}{}{tail}", unit.repeat(size / unit.len() + 1))]))
}

/// A content of so many bytes that is one word.
fn letters(bytes: usize) -> String {
    format!("BT /F 10 Tf 50 700 Td ({}) Tj ET", "a".repeat(bytes))
}

/// PDF files.
pub(crate) fn pdf() -> Vec<(&'static str, Payload)> {
    let plain = |size| {
        let text: String = text(size)
            .chars()
            .map(|c| if c.is_ascii() { c } else { '?' })
            .collect();
        let words: Vec<&str> = text.split_whitespace().collect();
        let lines: Vec<String> = words.chunks(12).map(|words| words.join(" ")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        lines.chunks(50).map(page).collect::<Vec<String>>()
    };
    vec![
        ("plain", Box::new(move |size| deflated_pages(&plain(size)))),
        ("plain, not deflated", Box::new(move |size| pages(&plain(size)))),
        (
            "letters that are deflated",
            Box::new(|size| deflated_pages(&[letters(size * 600)])),
        ),
        (
            "pages of letters that are deflated",
            Box::new(|size| deflated_pages(&vec![letters(1 << 20); size / 1700 + 1])),
        ),
        (
            "blanks that are deflated",
            Box::new(|size| deflated_pages(&[" ".repeat(size * 900)])),
        ),
        (
            "paths that are deflated",
            Box::new(|size| deflated_pages(&["0 0 m 1 1 l S ".repeat(size * 40)])),
        ),
        (
            "forms drawn again and again",
            Box::new(|size| {
                let form = "/Type /XObject /Subtype /Form /BBox [0 0 9 9]";
                let form = deflated(form, "0 0 m ".repeat(10_000).as_bytes());
                document(&["/X Do ".repeat(size / 6)], "", vec![form], |content| {
                    stream("", content.as_bytes())
                })
            }),
        ),
        (
            "annotations in one place",
            Box::new(|size| {
                let form =
                    "/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /Font << /F 3 0 R >> >>";
                let lines: String = (0..size / 40)
                    .map(|i| format!("BT /F 9 Tf 50 {}.5 Td (a b) Tj ET ", i % 700))
                    .collect();
                let more = vec![
                    stream(form, lines.as_bytes()),
                    b"<< /Type /Annot /Subtype /FreeText /Rect [0 0 600 800] /AP << /N 4 0 R >> >>".to_vec(),
                ];
                document(&[page(&["a"])], "/Annots [5 0 R]", more, |content| {
                    stream("", content.as_bytes())
                })
            }),
        ),
        (
            "comments that the page does not show",
            Box::new(|size| {
                let lines: String = (0..size / 50)
                    .map(|i| format!("(line {i}) Tj 0 -9 Td "))
                    .collect();
                let comments = (0..(size / 200).min(20_000)).map(|i| {
                    format!("<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (no such line {i}) >>")
                });
                let annotations = format!("/Annots [{}]", comments.collect::<String>());
                let content = format!("BT /F 9 Tf 50 700 Td {lines} ET");
                document(&[content], &annotations, Vec::new(), |content| {
                    stream("", content.as_bytes())
                })
            }),
        ),
        (
            "columns drawn backwards",
            repeated("BT /F 1 Tf 99999 700 Td ", "-9 0 Td (a) Tj ", "ET"),
        ),
        (
            "one long line",
            repeated("BT /F 10 Tf 50 700 Td (", "a ", ") Tj ET"),
        ),
        (
            "one long word",
            repeated("BT /F 10 Tf 50 700 Td (", "a", ") Tj ET"),
        ),
        (
            "letters in one place",
            repeated("BT /F 10 Tf 50 700 Td ", "1 0 0 1 50 700 Tm (a) Tj ", "ET"),
        ),
        (
            "lines of one letter",
            repeated("BT /F 1 Tf 50 700 Td ", "0 -1 Td (a) Tj ", "ET"),
        ),
        (
            "columns",
            repeated("BT /F 1 Tf 50 700 Td ", "9 0 Td (a) Tj ", "ET"),
        ),
        (
            "back and forth",
            repeated("BT /F 1 Tf 50 700 Td ", "9 -9 Td (a) Tj -9 9 Td (b) Tj ", "ET"),
        ),
        ("saved states", repeated("", "q ", "")),
        ("saved and restored states", repeated("", "q Q ", "")),
        ("paths", repeated("0 0 m ", "1 1 l ", "S")),
        ("unknown operators", repeated("", "xx ", "")),
        ("nested arrays", repeated("", "[", "")),
        ("numbers", repeated("", "1 ", "")),
        ("empty strings", repeated("BT /F 1 Tf 50 700 Td ", "() Tj ", "ET")),
        ("fonts chosen", repeated("BT ", "/F 1 Tf ", "ET")),
        (
            "empty pages",
            Box::new(|size| pages(&vec![String::new(); size / 250 + 1])),
        ),
        (
            "pages of a letter",
            Box::new(|size| pages(&vec![page(&["a"]); size / 300 + 1])),
        ),
        ("comments", repeated("", "%\n", "")),
    ]
}
