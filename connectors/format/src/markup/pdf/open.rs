//! Opens a PDF within limits, and writes it again without anything that has to be decoded.
//!
//! Objects that are damaged are left out by lenient readers, and the text on them with it. So a file whose
//! cross-reference table had to be mended, an object that is referred to and cannot be read, and a stream that does not
//! decode to its end each refuse the document.

use std::cell::Cell;
use std::io::Read;

use flate2::read::ZlibDecoder;
use lopdf::xref::{XrefEntry, XrefRecovery};
use lopdf::{DecompressError, Dictionary, Document, Error, LoadOptions, Object, ObjectId, Stream};

use super::cost::Forms;
use super::{Limit, MAX_PAGES, PdfError, cost, notes, strings};

/// The bytes that one stream of objects may decode to. Writers put some hundred objects into each.
const MAX_OBJECT_STREAM: usize = 8 << 20;
/// The bytes that all streams may decode to that are read: content, forms, fonts. What writers deflate is five to twenty times
/// as long when it is decoded.
const MAX_DECODED: Limit = Limit {
    least: 8 << 20,
    each: 64,
    most: 64 << 20,
};
/// Bytes that are run in addition to contents: forms, each counted every time that it is drawn, and resources, each every time that
/// it is named. They could multiply without end.
const MAX_RUN: Limit = Limit {
    least: 4 << 20,
    each: 640,
    most: 1 << 30,
};
/// Objects of a document, those within others included. Each takes some hundred bytes of memory.
const MAX_OBJECTS: usize = 2_000_000;

/// A document that is ready to be read.
pub(super) struct Opened {
    /// The document, its streams as they are.
    pub(super) bytes: Vec<u8>,
    /// For each page, the text of form fields and comments.
    pub(super) notes: Vec<Vec<String>>,
    /// What pages may draw of forms.
    pub(super) forms: Forms,
}

/// # Errors
/// [`PdfError`].
pub(super) fn open(pdf: &[u8]) -> Result<Opened, PdfError> {
    // Of an encrypted file nothing is checked before all of it is decoded.
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
    // A table of objects that was found by looking for them may lack some.
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
    /// How many more objects may be loaded; none once there were too many. lopdf calls a function without any state.
    static OBJECTS_LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Counts an object that was loaded, and drops the data of pictures, which nothing here reads.
fn admit(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    let left = OBJECTS_LEFT.get()?.checked_sub(count(object));
    OBJECTS_LEFT.set(left);
    left?;
    if let Object::Stream(stream) = object
        && is_picture(&stream.dict)
    {
        stream.set_plain_content(Vec::new());
    }
    // Of objects of the file the one that was changed counts, of those in object streams, which are never streams, the copy.
    let copy = match object {
        Object::Stream(_) => Object::Null,
        other => other.clone(),
    };
    Some((id, copy))
}

/// An object and those within it. lopdf limits how deep they nest.
fn count(object: &Object) -> usize {
    1 + match object {
        Object::Array(items) => items.iter().map(count).sum(),
        Object::Dictionary(dict) => dict.iter().map(|(_, value)| count(value)).sum(),
        Object::Stream(stream) => stream.dict.iter().map(|(_, value)| count(value)).sum(),
        _ => 0,
    }
}

/// Whether a name in the file is `Encrypt`, however it is written. It stands in the trailer, which is never compressed.
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

/// Refuses portfolios, whose pages say that the documents are elsewhere, and forms that a program lays out.
fn refuse_containers(document: &Document) -> Result<(), PdfError> {
    let catalog = document.catalog().map_err(|_| PdfError::Damaged)?;
    let builds = catalog.get_deref(b"NeedsRendering", document);
    if catalog.has(b"Collection") || builds.and_then(Object::as_bool).unwrap_or(false) {
        return Err(PdfError::Container);
    }
    Ok(())
}

/// Decodes each stream that is read, to `max_bytes` in all, and empties the others.
fn decode(document: &mut Document, max_bytes: usize) -> Result<(), PdfError> {
    let ids: Vec<ObjectId> = document.objects.keys().copied().collect();
    let mut left = max_bytes;
    for id in ids {
        let Some(Object::Stream(stream)) = document.objects.get(&id) else {
            continue;
        };
        // A filter may be an object of its own.
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

/// The object itself, its items too, where references stand for them.
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

/// A stream that no text comes from: pictures, properties, embedded files, and what the file refers to elsewhere.
fn is_unread(stream: &Stream) -> bool {
    let dict = &stream.dict;
    is_picture(dict)
        || dict.has(b"F")
        || ["Metadata", "EmbeddedFile", "XRef", "ObjStm"]
            .iter()
            .any(|name| dict.has_type(name.as_bytes()))
        // Filters of pictures, where nothing else says that it is one.
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

/// The stream's content, decoded.
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

/// Whether deflated bytes go to their end. lopdf gives what it could read of those that do not.
fn is_whole(deflated: &[u8], max_bytes: usize) -> bool {
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    let mut inflated = ZlibDecoder::new(deflated).take(limit.saturating_add(1));
    std::io::copy(&mut inflated, &mut std::io::sink()).is_ok()
}

/// Refuses a document in which an object is referred to that is in the file and was not read.
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
            // What no table lists is null (ISO 32000-2, section 7.3.10).
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
