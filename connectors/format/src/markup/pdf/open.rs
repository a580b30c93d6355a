//! Opens a PDF within limits, and rewrites it without encoded streams.
//!
//! Lenient readers leave out damaged objects with the text on them. So a repaired cross-reference table, a
//! referenced object that cannot be read, and a stream that does not decode to its end each refuse the
//! document.

use std::cell::Cell;
use std::io::Read;

use flate2::read::ZlibDecoder;
use lopdf::xref::{XrefEntry, XrefRecovery};
use lopdf::{DecompressError, Dictionary, Document, Error, LoadOptions, Object, ObjectId, Stream};

use super::cost::Forms;
use super::{Limit, MAX_PAGES, PdfError, cost, notes, strings};

/// Maximum decoded bytes of one object stream. Writers put some hundred objects into each.
const MAX_OBJECT_STREAM: usize = 8 << 20;
/// Maximum decoded bytes of all streams that are read: content, forms, fonts. Deflated streams of writers
/// expand five to twenty times.
const MAX_DECODED: Limit = Limit {
    least: 8 << 20,
    each: 64,
    most: 64 << 20,
};
/// Maximum bytes interpreted in addition to contents: forms once per drawing, and resources once per use.
/// They could multiply without end.
const MAX_RUN: Limit = Limit {
    least: 4 << 20,
    each: 512,
    most: 1 << 30,
};
/// Maximum number of objects of a document, including nested ones. Each takes some hundred bytes of memory.
const MAX_OBJECTS: usize = 2_000_000;

/// A document that is ready to be read.
pub(super) struct Opened {
    /// The document with decoded streams.
    pub(super) bytes: Vec<u8>,
    /// The text of form fields and comments of each page.
    pub(super) notes: Vec<Vec<String>>,
    /// The budget of pages for forms.
    pub(super) forms: Forms,
}

/// # Errors
/// [`PdfError`].
pub(super) fn open(pdf: &[u8]) -> Result<Opened, PdfError> {
    // An encrypted file must be refused before it is decoded completely.
    if names_encryption(pdf) {
        return Err(PdfError::Encrypted);
    }
    let options = LoadOptions {
        filter: Some(admit),
        max_decompressed_size: Some(MAX_OBJECT_STREAM),
        ..LoadOptions::default()
    };
    OBJECTS_LEFT.set(Some(MAX_OBJECTS));
    let loaded = Document::load_mem_with_options(pdf, options);
    let within = OBJECTS_LEFT.take().is_some();
    if !within {
        return Err(PdfError::TooComplex);
    }
    let mut document = loaded.map_err(|error| refused(&error))?;
    if document.is_encrypted() || document.was_encrypted() {
        return Err(PdfError::Encrypted);
    }
    // A reconstructed object table may lack objects.
    if document.xref_recovery == Some(XrefRecovery::Reconstructed) {
        return Err(PdfError::Damaged);
    }
    refuse_containers(&document)?;
    let most_decoded = MAX_DECODED.of(pdf.len());
    decode(&mut document, most_decoded)?;
    refuse_missing(&document)?;
    let pages: Vec<ObjectId> = document.page_iter().take(MAX_PAGES + 1).collect();
    if pages.len() > MAX_PAGES {
        return Err(PdfError::TooComplex);
    }
    strings::refuse_long(&document, &pages)?;
    let forms = cost::count(&document, &pages, MAX_RUN.of(pdf.len()))?;
    let mut notes = Vec::with_capacity(pages.len());
    let mut left = most_decoded;
    for &page in &pages {
        notes.push(notes::of_page(&document, page, &mut left)?);
    }
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).map_err(|_| PdfError::Damaged)?;
    Ok(Opened { bytes, notes, forms })
}

thread_local! {
    /// Remaining objects that may be loaded; `None` once there were too many. lopdf calls a function without
    /// state.
    static OBJECTS_LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Counts a loaded object, and drops the data of pictures, which is not read.
fn admit(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    let left = OBJECTS_LEFT.get()?.checked_sub(count(object));
    OBJECTS_LEFT.set(left);
    left?;
    if let Object::Stream(stream) = object
        && is_picture(&stream.dict)
    {
        stream.set_plain_content(Vec::new());
    }
    // Of objects in the file the changed one counts; of those in object streams, which are never streams, the
    // copy.
    let copy = match object {
        Object::Stream(_) => Object::Null,
        other => other.clone(),
    };
    Some((id, copy))
}

/// Returns the number of objects within an object. lopdf limits their nesting.
fn count(object: &Object) -> usize {
    1 + match object {
        Object::Array(items) => items.iter().map(count).sum(),
        Object::Dictionary(dict) => dict.iter().map(|(_, value)| count(value)).sum(),
        Object::Stream(stream) => stream.dict.iter().map(|(_, value)| count(value)).sum(),
        _ => 0,
    }
}

/// Returns whether a name in the file is `Encrypt`, in any spelling. It is in the trailer, which is never
/// compressed.
fn names_encryption(pdf: &[u8]) -> bool {
    memchr::memchr_iter(b'/', pdf).any(|at| {
        let mut rest = pdf.get(at + 1..).unwrap_or_default();
        b"Encrypt".iter().all(|&wanted| {
            let (byte, after) = match rest {
                [b'#', high, low, after @ ..] => {
                    let digit = |byte: u8| char::from(byte).to_digit(16);
                    let value = digit(*high).zip(digit(*low)).map(|(high, low)| high * 16 + low);
                    (value.and_then(|value| u8::try_from(value).ok()), after)
                }
                [byte, after @ ..] => (Some(*byte), after),
                [] => (None, rest),
            };
            rest = after;
            byte == Some(wanted)
        }) && !matches!(rest, [byte, ..] if byte.is_ascii_alphanumeric())
    })
}

fn refused(error: &Error) -> PdfError {
    match error {
        Error::Decompress(
            DecompressError::MemoryLimitExceeded { .. } | DecompressError::TooManyFilters { .. },
        ) => PdfError::TooLarge,
        Error::Decryption(_) | Error::InvalidPassword | Error::UnsupportedSecurityHandler(_) => {
            PdfError::Encrypted
        }
        Error::RecursionLimit | Error::ReferenceLimit => PdfError::TooComplex,
        _ => PdfError::Damaged,
    }
}

/// Refuses portfolios, whose pages refer to embedded documents, and forms that a program lays out.
fn refuse_containers(document: &Document) -> Result<(), PdfError> {
    let catalog = document.catalog().map_err(|_| PdfError::Damaged)?;
    let builds = catalog.get_deref(b"NeedsRendering", document);
    if catalog.has(b"Collection") || builds.and_then(Object::as_bool).unwrap_or(false) {
        return Err(PdfError::Container);
    }
    Ok(())
}

/// Decodes each stream that is read, up to `max_bytes` in all, and empties the others.
fn decode(document: &mut Document, max_bytes: usize) -> Result<(), PdfError> {
    let ids: Vec<ObjectId> = document.objects.keys().copied().collect();
    let mut left = max_bytes;
    for id in ids {
        let Some(Object::Stream(stream)) = document.objects.get(&id) else {
            continue;
        };
        // A filter may be a separate object.
        let resolved = |key: &[u8]| resolve(document, stream.dict.get(key).ok()?);
        let filter = resolved(b"Filter");
        let parameters = resolved(b"DecodeParms");
        let Some(Object::Stream(stream)) = document.objects.get_mut(&id) else {
            continue;
        };
        for (key, value) in [("Filter", filter), ("DecodeParms", parameters)] {
            match value {
                Some(value) if !value.is_null() => stream.dict.set(key, value),
                _ => {
                    stream.dict.remove(key.as_bytes());
                }
            }
        }
        if is_unread(stream) {
            stream.set_plain_content(Vec::new());
            continue;
        }
        let content = plain(stream, left)?;
        left = left.checked_sub(content.len()).ok_or(PdfError::TooLarge)?;
        stream.set_plain_content(content);
    }
    Ok(())
}

/// Resolves references to the object and its items.
fn resolve(document: &Document, object: &Object) -> Option<Object> {
    let (_, object) = document.dereference(object).ok()?;
    Some(match object {
        Object::Array(items) => Object::Array(
            items
                .iter()
                .map(|item| document.dereference(item).map(|(_, item)| item.clone()))
                .collect::<Result<_, _>>()
                .ok()?,
        ),
        other => other.clone(),
    })
}

/// Returns whether no text comes from the stream: pictures, properties, embedded files, and external data.
fn is_unread(stream: &Stream) -> bool {
    let dict = &stream.dict;
    is_picture(dict)
        || dict.has(b"F")
        || ["Metadata", "EmbeddedFile", "XRef", "ObjStm"]
            .iter()
            .any(|name| dict.has_type(name.as_bytes()))
        // Filters of pictures, if nothing else identifies one.
        || stream.filters().is_ok_and(|filters| {
            filters.iter().any(|filter| {
                matches!(*filter, b"DCTDecode" | b"JPXDecode" | b"CCITTFaxDecode" | b"JBIG2Decode")
            })
        })
}

fn is_picture(dict: &Dictionary) -> bool {
    has_name(dict, b"Subtype", b"Image")
}

pub(super) fn has_name(dict: &Dictionary, key: &[u8], name: &[u8]) -> bool {
    dict.get(key).and_then(Object::as_name).is_ok_and(|is| is == name)
}

/// Returns the stream's decoded content.
fn plain(stream: &Stream, max_bytes: usize) -> Result<Vec<u8>, PdfError> {
    let Ok(filters) = stream.filters() else {
        return match stream.dict.has(b"Filter") {
            true => Err(PdfError::Damaged),
            false if stream.content.len() > max_bytes => Err(PdfError::TooLarge),
            false => Ok(stream.content.clone()),
        };
    };
    let deflated = filters.first() == Some(&b"FlateDecode".as_slice());
    let content = stream
        .decompressed_content_with_limit(max_bytes)
        .map_err(|error| refused(&error))?;
    if deflated && !is_whole(&stream.content, max_bytes) {
        return Err(PdfError::Damaged);
    }
    Ok(content)
}

/// Returns whether the deflated bytes are complete. lopdf returns the readable part of incomplete ones.
fn is_whole(deflated: &[u8], max_bytes: usize) -> bool {
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    let mut inflated = ZlibDecoder::new(deflated).take(limit.saturating_add(1));
    std::io::copy(&mut inflated, &mut std::io::sink()).is_ok()
}

/// Refuses a document with a reference to an object in the file that was not read.
fn refuse_missing(document: &Document) -> Result<(), PdfError> {
    let missing = |object: &Object| is_missing(document, object);
    match document.objects.values().any(missing) {
        true => Err(PdfError::Damaged),
        false => Ok(()),
    }
}

fn is_missing(document: &Document, object: &Object) -> bool {
    let within = |dict: &Dictionary| dict.iter().any(|(_, value)| is_missing(document, value));
    match object {
        Object::Array(items) => items.iter().any(|item| is_missing(document, item)),
        Object::Dictionary(dict) => within(dict),
        Object::Stream(stream) => within(&stream.dict),
        Object::Reference(id) => {
            // Unlisted objects are null (ISO 32000-2, section 7.3.10).
            let listed = document.reference_table.entries.get(&id.0);
            let in_use = listed.is_some_and(|entry| {
                matches!(entry, XrefEntry::Normal { .. } | XrefEntry::Compressed { .. })
            });
            in_use && !document.objects.contains_key(id)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encryption_is_found_however_its_name_is_written() {
        assert!(names_encryption(b"<</Root 1 0 R/Encrypt 2 0 R>>"));
        assert!(names_encryption(b"<< /#45ncryp#74 2 0 R >>"));
        assert!(!names_encryption(b"<< /Encrypted 2 0 R /Encryp"));
        assert!(!names_encryption(b"/Encry#zzt /Encry#"));
    }
}
