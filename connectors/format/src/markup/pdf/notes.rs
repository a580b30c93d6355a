//! Reads text of a page outside of its content: values of form fields (ISO 32000-2, section 12.7.4) and
//! comments (section 12.5.6).

use lopdf::{Dictionary, Document, Object, ObjectId, decode_text_string};

use super::PdfError;

/// Maximum annotations of a page.
const MAX_ANNOTATIONS: usize = 20_000;
/// Maximum ancestors of a field.
const MAX_PARENTS: usize = 32;
/// Flag of a hidden annotation.
const HIDDEN: i64 = 1 << 1;

/// Returns the texts of a page's annotations in order, which may also be in the page's content. Deducts their
/// bytes from `left`, since an annotation may be listed repeatedly.
///
/// # Errors
/// [`PdfError::Damaged`] for text that does not decode, [`PdfError::TooLarge`] for more than is left,
/// [`PdfError::TooComplex`] over the other limits.
pub(super) fn of_page(
    document: &Document,
    page: ObjectId,
    left: &mut usize,
) -> Result<Vec<String>, PdfError> {
    let page = document.get_dictionary(page).map_err(|_| PdfError::Damaged)?;
    let Some(annotations) = get(document, page, b"Annots") else {
        return Ok(Vec::new());
    };
    let annotations = annotations.as_array().map_err(|_| PdfError::Damaged)?;
    if annotations.len() > MAX_ANNOTATIONS {
        return Err(PdfError::TooComplex);
    }
    let mut texts = Vec::new();
    for annotation in annotations {
        let Ok((_, Object::Dictionary(annotation))) = document.dereference(annotation) else {
            continue;
        };
        let flags = get(document, annotation, b"F").and_then(|flags| flags.as_i64().ok());
        if flags.unwrap_or(0) & HIDDEN != 0 {
            continue;
        }
        let subtype = get(document, annotation, b"Subtype").and_then(|name| name.as_name().ok());
        match subtype {
            Some(b"Widget") => value(document, annotation, &mut texts, left)?,
            // A pop-up shows its annotation's content; the text of a link is its description for a screen
            // reader.
            Some(b"Popup" | b"Link") => {}
            _ => {
                if let Some(contents) = get(document, annotation, b"Contents") {
                    texts.push(text(contents, left)?);
                }
            }
        }
    }
    texts.retain(|text| !text.trim().is_empty());
    Ok(texts)
}

/// Returns the value of a text or choice field.
fn value(
    document: &Document,
    widget: &Dictionary,
    texts: &mut Vec<String>,
    left: &mut usize,
) -> Result<(), PdfError> {
    let kind = inherited(document, widget, b"FT").and_then(|kind| kind.as_name().ok());
    if !matches!(kind, Some(b"Tx" | b"Ch")) {
        return Ok(());
    }
    match inherited(document, widget, b"V") {
        None | Some(Object::Null) => {}
        Some(Object::Array(chosen)) => {
            for one in chosen {
                let (_, one) = document.dereference(one).map_err(|_| PdfError::Damaged)?;
                texts.push(text(one, left)?);
            }
        }
        Some(Object::Stream(stream)) => {
            let string = Object::String(stream.content.clone(), lopdf::StringFormat::Literal);
            texts.push(text(&string, left)?);
        }
        Some(one) => texts.push(text(one, left)?),
    }
    Ok(())
}

fn text(object: &Object, left: &mut usize) -> Result<String, PdfError> {
    let bytes = object.as_str().map_or(0, <[u8]>::len);
    *left = left.checked_sub(bytes).ok_or(PdfError::TooLarge)?;
    decode_text_string(object).map_err(|_| PdfError::Damaged)
}

/// Returns a key of a field, or of its nearest ancestor that has it.
fn inherited<'a>(document: &'a Document, field: &'a Dictionary, key: &[u8]) -> Option<&'a Object> {
    let mut field = field;
    for _ in 0..MAX_PARENTS {
        if let Some(value) = get(document, field, key) {
            return Some(value);
        }
        field = get(document, field, b"Parent")?.as_dict().ok()?;
    }
    None
}

fn get<'a>(document: &'a Document, dict: &'a Dictionary, key: &[u8]) -> Option<&'a Object> {
    let (_, value) = document.dereference(dict.get(key).ok()?).ok()?;
    Some(value)
}
