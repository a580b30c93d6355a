//! Writes PDF files.

use std::io::Write as _;

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

/// Returns pages in Helvetica with these contents.
pub(super) fn pages(contents: &[String]) -> Vec<u8> {
    document(contents, "", Vec::new(), |content| stream("", content.as_bytes()))
}

/// Does the same with deflated contents.
pub(super) fn deflated_pages(contents: &[String]) -> Vec<u8> {
    document(contents, "", Vec::new(), |content| {
        deflated("", content.as_bytes())
    })
}

pub(super) fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< {entries} /Length {} >>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

pub(super) fn deflated(entries: &str, content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).expect("memory takes every byte");
    let content = encoder.finish().expect("memory takes every byte");
    stream(&format!("/Filter /FlateDecode {entries}"), &content)
}

/// Returns pages in Helvetica with these contents, which `write` makes streams of. `entries` belong to every
/// page; `more` objects follow the font, from number 4 on.
pub(super) fn document(
    contents: &[String],
    entries: &str,
    more: Vec<Vec<u8>>,
    write: impl Fn(&str) -> Vec<u8>,
) -> Vec<u8> {
    let form = if more.is_empty() {
        ""
    } else {
        "/XObject << /X 4 0 R >>"
    };
    let resources = format!("/Font << /F 3 0 R >> {form}");
    let font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";
    let objects = [vec![font.into()], more].concat();
    with_resources(contents, entries, &resources, objects, write)
}

/// Returns pages with these contents, which `write` makes streams of. `entries` and `resources` belong to
/// every page; `more` objects have numbers from 3 on.
pub(super) fn with_resources(
    contents: &[String],
    entries: &str,
    resources: &str,
    more: Vec<Vec<u8>>,
    write: impl Fn(&str) -> Vec<u8>,
) -> Vec<u8> {
    let first = 3 + more.len();
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
    ];
    objects.extend(more);
    for (i, content) in contents.iter().enumerate() {
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {} 0 R /Resources << {resources} >> {entries} >>",
            first + 1 + 2 * i
        );
        objects.push(page.into_bytes());
        objects.push(write(content));
    }
    file(&objects)
}

/// Returns a file of about this many bytes, most of them in an unread stream: one page with this content and
/// these resources, with `more` objects from number 3 on.
pub(super) fn large(
    size: usize,
    content: &str,
    resources: &str,
    entries: &str,
    mut more: Vec<Vec<u8>>,
) -> Vec<u8> {
    let content = deflated("", content.as_bytes());
    let used = content.len() + more.iter().map(Vec::len).sum::<usize>();
    more.push(stream("/Type /Metadata", &vec![b' '; size.saturating_sub(used)]));
    with_resources(&[String::new()], entries, resources, more, |_| content.clone())
}

/// Returns how often an item that the reader counts as `bytes` can be run in a file of `size` bytes, close to
/// its limit.
pub(super) const fn runs(size: usize, bytes: usize) -> usize {
    ((4 << 20) + 512 * size) / bytes * 9 / 10
}

/// Returns a map of codes to Unicode with these lines between its head and its end.
pub(super) fn to_unicode(lines: &str) -> Vec<u8> {
    let map = format!(
        "/CMapType 2 def 1 begincodespacerange <00> <ff> endcodespacerange\n{lines}\nendcmap end end"
    );
    deflated("", map.as_bytes())
}

/// Returns Helvetica with more entries; object 4 maps its codes to Unicode.
pub(super) fn font(entries: &str) -> Vec<u8> {
    let font = "/Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding";
    format!("<< {font} /ToUnicode 4 0 R {entries} >>").into_bytes()
}
