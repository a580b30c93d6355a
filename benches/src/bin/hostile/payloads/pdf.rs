//! PDF files.

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
    let kids: Vec<String> = (0..contents.len())
        .map(|i| format!("{} 0 R", 4 + 2 * i))
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
    for (i, content) in contents.iter().enumerate() {
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {} 0 R /Resources << /Font << /F 3 0 R >> >> >>",
            5 + 2 * i
        );
        objects.push(page.into_bytes());
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()).into_bytes());
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
        let contents: Vec<String> = lines.chunks(50).map(page).collect();
        pages(&contents)
    };
    vec![
        ("plain", Box::new(plain)),
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
