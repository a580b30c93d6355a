//! Documents within messages: PDF files from common writers and from attackers, and what is returned.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

mod hostile;
mod messages;
mod pdf;

/// Returns a PDF with these objects, numbered from 1; the first is the catalog.
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

/// Returns a stream with these dictionary entries.
fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let mut out = format!("<< {entries} /Length {} >>\nstream\n", content.len()).into_bytes();
    out.extend(content);
    out.extend(b"\nendstream");
    out
}

/// Returns a document of one page in Helvetica with this content, further entries of the page, and further
/// objects from 6 on.
fn page(content: &str, entries: &str, more: &[Vec<u8>]) -> Vec<u8> {
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R {} {entries} >>",
            "/Resources << /Font << /F 5 0 R >> /XObject << /X 6 0 R >> >>"
        )
        .into_bytes(),
        stream("", content.as_bytes()),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_vec(),
    ];
    objects.extend_from_slice(more);
    file(&objects)
}

/// Returns a page with one line of text.
fn line(text: &str) -> Vec<u8> {
    page(&format!("BT /F 12 Tf 72 700 Td ({text}) Tj ET"), "", &[])
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
