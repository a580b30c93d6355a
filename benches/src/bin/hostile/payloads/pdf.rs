//! PDF files. Contents are plain or deflated, as in PDF writers.

mod write;

use super::{Payload, text};
use write::{deflated, deflated_pages, document, font, large, pages, runs, stream, to_unicode};

/// Lines of a page, at most fifty.
fn page(lines: &[&str]) -> String {
    let shown = lines.iter().enumerate().map(|(i, line)| {
        let line = line.replace(['\\', '(', ')'], " ");
        format!("1 0 0 1 50 {} Tm ({line}) Tj\n", 780 - 15 * i)
    });
    format!("BT /F 10 Tf\n{}ET", shown.collect::<String>())
}

/// Returns one page with one repeated unit.
fn repeated(head: &'static str, unit: &'static str, tail: &'static str) -> Payload {
    Box::new(move |size| pages(&[format!("{head}{}{tail}", unit.repeat(size / unit.len() + 1))]))
}

/// Returns a content of this many bytes that is one word.
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
            "empty forms drawn again and again",
            Box::new(|size| {
                let form = stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9]", b"");
                let page = "/X Do ".repeat(runs(size, 400));
                large(size, &page, "/XObject << /X 3 0 R >>", "", vec![form])
            }),
        ),
        (
            "forms that save and restore states",
            Box::new(|size| {
                let form = "/Type /XObject /Subtype /Form /BBox [0 0 9 9]";
                let form = deflated(form, "q Q ".repeat(10_000).as_bytes());
                let page = "/X Do ".repeat(runs(size, 41_000));
                large(size, &page, "/XObject << /X 3 0 R >>", "", vec![form])
            }),
        ),
        (
            "forms that choose fonts",
            Box::new(|size| {
                let form =
                    "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /Font << /F 4 0 R >> >>";
                let form = deflated(form, "/F 9 Tf ".repeat(5_000).as_bytes());
                let helvetica =
                    b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";
                let page = "/X Do ".repeat(runs(size, 60_500));
                large(
                    size,
                    &page,
                    "/XObject << /X 3 0 R >>",
                    "",
                    vec![form, helvetica.to_vec()],
                )
            }),
        ),
        (
            "a graphics state set again and again",
            Box::new(|size| {
                let state = b"<< /Type /ExtGState /CA 1 >>".to_vec();
                let page = "/G gs ".repeat(runs(size, 60).min(((8 << 20) + 64 * size) / 7));
                large(size, &page, "/ExtGState << /G 3 0 R >>", "", vec![state])
            }),
        ),
        (
            "many fonts of one map",
            Box::new(|size| {
                let map = format!("1 beginbfchar {} endbfchar", "<61> <0061>\n".repeat(2_000));
                let fonts = runs(size, map.len());
                let names: String = (0..fonts).map(|i| format!("/F{i} {} 0 R ", 5 + i)).collect();
                let page: String = (0..fonts)
                    .map(|i| format!("BT /F{i} 9 Tf 50 {} Td (a) Tj ET ", i % 700))
                    .collect();
                let mut more = vec![font(""), to_unicode(&map)];
                more.extend((0..fonts).map(|i| font(&format!("/FirstChar {i}"))));
                large(size, &page, &format!("/Font << {names} >>"), "", more)
            }),
        ),
        (
            "letters that stand for long texts",
            Box::new(|size| {
                let map = format!("1 beginbfchar <61> <{}> endbfchar", "0041".repeat(250));
                let line = "(aaaaaaaa) Tj ".repeat((200_000 + 16 * size).min(500_000) / 250 / 8 * 9 / 10);
                let page = |line: &str| format!("BT /F 9 Tf 50 700 Td {line} ET");
                let more = vec![font(""), to_unicode(&map)];
                large(size, &page(&line), "/Font << /F 3 0 R >>", "", more)
            }),
        ),
        (
            "a large font chosen again and again",
            Box::new(|size| {
                let widths = format!("/FirstChar 0 /Widths [{}]", "1 ".repeat(2_000));
                let page = "/F 9 Tf ".repeat(runs(size, 2_000 * 8 / 16));
                let more = vec![font(&widths), to_unicode("")];
                large(
                    size,
                    &format!("BT {page} 50 700 Td (a) Tj ET"),
                    "/Font << /F 3 0 R >>",
                    "",
                    more,
                )
            }),
        ),
        (
            "a large graphics state set again and again",
            Box::new(|size| {
                let entries: String = (0..1000).map(|i| format!("/A{i} 1 ")).collect();
                let state = format!("<< /Type /ExtGState {entries} >>").into_bytes();
                let page = "/G gs ".repeat(runs(size, 12_000));
                large(size, &page, "/ExtGState << /G 3 0 R >>", "", vec![state])
            }),
        ),
        (
            "a mesh painted again and again",
            Box::new(|size| {
                let mesh = "/ShadingType 4 /ColorSpace /DeviceGray /BitsPerCoordinate 8 /BitsPerComponent 8 /BitsPerFlag 8 /Decode [0 9 0 9 0 1]";
                let mesh = deflated(mesh, &[0, 1, 2, 3].repeat(2_000));
                let page = "/S sh ".repeat(runs(size, 16_500));
                large(size, &page, "/Shading << /S 3 0 R >>", "", vec![mesh])
            }),
        ),
        (
            "a content listed again and again",
            Box::new(|size| {
                let content = deflated("", "1 0 0 1 0 0 cm ".repeat(10_000).as_bytes());
                let contents = "3 0 R ".repeat(runs(size, 150_000) + 1);
                large(size, "", "", &format!("/Contents [{contents}]"), vec![content])
            }),
        ),
        (
            "a comment listed again and again",
            Box::new(|size| {
                let text = "a".repeat(1_000);
                let comment = format!("<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents ({text}) >>");
                let comments = "3 0 R ".repeat(runs(size, 1_100).min(20_000));
                large(
                    size,
                    "",
                    "",
                    &format!("/Annots [{comments}]"),
                    vec![comment.into_bytes()],
                )
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
