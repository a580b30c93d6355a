//! Counts the text in the strings of a content stream before it is interpreted.
//!
//! The library creates all glyphs of an operator, some 180 bytes each, before it passes on the first. So a
//! string of a few deflated kilobytes could take gigabytes.

use std::collections::{HashMap, HashSet};

use lopdf::{Document, Object, ObjectId};

use super::PdfError;
use super::glyphs::MAX_TEXT;

/// Refuses a document with a page, a form or an appearance that has more bytes in strings than the text of a
/// page may have, since a byte may become a glyph. Its streams are decoded.
///
/// # Errors
/// [`PdfError::TooComplex`].
pub(super) fn refuse_long(document: &Document, pages: &[ObjectId]) -> Result<(), PdfError> {
    let content = |id: &ObjectId| document.objects.get(id)?.as_stream().ok();
    let is_form = |object: &Object| {
        let kind = object.as_stream().and_then(|stream| stream.dict.get(b"Subtype"));
        kind.and_then(Object::as_name).is_ok_and(|kind| kind == b"Form")
    };
    let forms = document.objects.iter().filter(|(_, object)| is_form(object));
    let mut drawn: HashSet<ObjectId> = forms.map(|(&id, _)| id).collect();
    appearances(document, &mut drawn);
    for stream in drawn.iter().filter_map(content) {
        fits(in_strings(&stream.content).0)?;
    }
    // Pages may share contents.
    let mut counted: HashMap<ObjectId, (usize, bool)> = HashMap::new();
    for &page in pages {
        let (mut sum, mut open) = (0_usize, false);
        for id in document.get_page_contents(page) {
            let Some(stream) = content(&id) else { continue };
            let count = *counted.entry(id).or_insert_with(|| in_strings(&stream.content));
            // A string may continue in the following streams.
            let (bytes, left_open) = match open {
                true => (stream.content.len(), true),
                false => count,
            };
            sum = sum.saturating_add(bytes);
            open = left_open;
            fits(sum)?;
        }
    }
    Ok(())
}

fn fits(bytes: usize) -> Result<(), PdfError> {
    if bytes > MAX_TEXT {
        return Err(PdfError::TooComplex);
    }
    Ok(())
}

/// Adds the streams that draw annotations, whatever their declared type.
fn appearances(document: &Document, found: &mut HashSet<ObjectId>) {
    let mut seen = HashSet::new();
    let mut rest: Vec<(&Object, bool)> = document.objects.values().map(|object| (object, false)).collect();
    while let Some((object, inner)) = rest.pop() {
        match object {
            Object::Array(items) => rest.extend(items.iter().map(|item| (item, inner))),
            Object::Dictionary(dict) => {
                let values = dict.iter();
                rest.extend(values.map(|(key, value)| (value, inner || key == b"AP")));
            }
            Object::Reference(id) if inner && seen.insert(*id) => match document.objects.get(id) {
                Some(Object::Stream(_)) => {
                    found.insert(*id);
                }
                Some(other) => rest.push((other, true)),
                None => {}
            },
            _ => {}
        }
    }
}

/// Returns the number of bytes in the strings of a content stream, and whether the last one is unclosed. An
/// escape counts with its written length, two hexadecimal digits as one byte.
fn in_strings(content: &[u8]) -> (usize, bool) {
    let (mut bytes, mut at) = (0, 0);
    while let Some(found) = content
        .get(at..)
        .and_then(|rest| memchr::memchr3(b'(', b'<', b'%', rest))
    {
        let start = at + found;
        let rest = content.get(start + 1..).unwrap_or_default();
        let (counted, length) = match content.get(start) {
            Some(b'(') => match literal(rest) {
                Some(length) => (length, length),
                None => return (bytes + rest.len(), true),
            },
            // A dictionary.
            Some(b'<') if rest.first() == Some(&b'<') => (0, 1),
            Some(b'<') => match memchr::memchr(b'>', rest) {
                Some(length) => (length / 2, length),
                None => return (bytes + rest.len() / 2, true),
            },
            _ => (0, memchr::memchr2(b'\r', b'\n', rest).unwrap_or(rest.len())),
        };
        bytes += counted;
        at = start + 1 + length;
    }
    (bytes, false)
}

/// Returns the distance to the bracket that closes a string; `None` if the string is never closed.
fn literal(rest: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (1, 0);
    while let Some(found) = rest
        .get(at..)
        .and_then(|rest| memchr::memchr3(b'(', b')', b'\\', rest))
    {
        at += found;
        match rest.get(at) {
            Some(b'(') => depth += 1,
            Some(b')') => depth -= 1,
            // An escaped bracket closes nothing.
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_counted_and_what_is_around_them_is_not() {
        let count = |content: &str| in_strings(content.as_bytes());
        assert_eq!(count("BT /F 1 Tf (ab) Tj [(c) -9 (d)] TJ"), (4, false));
        assert_eq!(count(r"(a\)b(c)) Tj (d)"), (8, false));
        assert_eq!(count("<0102> Tj /P <</A (x)>> BDC"), (3, false));
        assert_eq!(count("% (not one\n(ab) Tj"), (2, false));
        assert_eq!(count("(ab"), (2, true));
        assert_eq!(count("<01"), (1, true));
        assert_eq!(count(r"(a\"), (2, true));
    }
}
