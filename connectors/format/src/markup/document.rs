//! Documents within messages: bytes, a content type, a character set.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use encoding_rs::Encoding;

use super::{PdfError, html_to_text, pdf_to_text, rtf_to_text};
use crate::{MAX_NOTE_BYTES, PayloadError};

/// Padding is often omitted and has no meaning.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Why a document cannot be read, and whether its content type is the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    ContentType(PayloadError),
    Data(PayloadError),
}

/// Decodes base64 with white space between.
pub(crate) fn from_base64(data: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
    let encoded: Vec<u8> = data.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if encoded.len() / 4 > max_bytes / 3 + 1 {
        return Err(Unread::Data(PayloadError::TooLarge));
    }
    BASE64
        .decode(encoded)
        .map_err(|_| Unread::Data(PayloadError::NotBase64))
}

/// Returns the document's text.
pub(crate) fn document_text(content_type: &str, bytes: &[u8]) -> Result<String, Unread> {
    let decoded = |fallback: Option<&'static Encoding>| {
        decode(bytes, charset(content_type)?.or(fallback)).ok_or(Unread::Data(PayloadError::NotUtf8))
    };
    Ok(
        match Kind::of(content_type).ok_or(Unread::ContentType(PayloadError::Unsupported))? {
            Kind::Plain => decoded(None)?,
            Kind::Html => html_to_text(&decoded(declared(bytes))?),
            Kind::Rtf => rtf_to_text(bytes).map_err(|_| Unread::Data(PayloadError::WrongType))?,
            Kind::Pdf => pdf_to_text(bytes, MAX_NOTE_BYTES).map_err(|why| Unread::Data(why.into()))?,
        },
    )
}

/// Returns whether documents of this type are read.
pub(crate) fn is_read(content_type: &str) -> bool {
    Kind::of(content_type).is_some()
}

/// The format of a document.
enum Kind {
    Plain,
    Html,
    Rtf,
    Pdf,
}

impl Kind {
    fn of(content_type: &str) -> Option<Self> {
        Some(match essence(content_type).as_str() {
            "text/plain" | "text/markdown" => Self::Plain,
            "text/html" | "application/xhtml+xml" => Self::Html,
            "text/rtf" | "application/rtf" | "text/richtext" => Self::Rtf,
            "application/pdf" | "application/x-pdf" => Self::Pdf,
            _ => return None,
        })
    }
}

impl From<PdfError> for PayloadError {
    fn from(why: PdfError) -> Self {
        match why {
            PdfError::NotPdf | PdfError::Damaged => Self::NotPdf,
            PdfError::Encrypted => Self::Encrypted,
            PdfError::Scanned => Self::Scanned,
            PdfError::Unmapped => Self::Unmapped,
            PdfError::Container => Self::Container,
            PdfError::TooLarge => Self::TooLarge,
            PdfError::TooComplex => Self::TooComplex,
        }
    }
}

/// Returns the content type without its parameters.
pub(crate) fn essence(content_type: &str) -> String {
    let name = content_type.split(';').next().unwrap_or_default();
    name.trim().to_ascii_lowercase()
}

/// Returns the character set in the content type.
fn charset(content_type: &str) -> Result<Option<&'static Encoding>, Unread> {
    let mut parameters = content_type
        .split(';')
        .skip(1)
        .filter_map(|one| one.split_once('='));
    let named = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    let Some((_, label)) = named else {
        return Ok(None);
    };
    let label = label.trim().trim_matches('"');
    let known = Encoding::for_label(label.as_bytes()).filter(|&known| known != encoding_rs::REPLACEMENT);
    known
        .map(Some)
        .ok_or(Unread::ContentType(PayloadError::Unsupported))
}

/// Returns the character set that an HTML document declares near its beginning.
fn declared(html: &[u8]) -> Option<&'static Encoding> {
    let head = html.get(..1024).unwrap_or(html);
    let at = head
        .windows(8)
        .position(|window| window.eq_ignore_ascii_case(b"charset="))?
        + 8;
    let value = head.get(at..)?;
    let value = value
        .strip_prefix(b"\"")
        .or_else(|| value.strip_prefix(b"'"))
        .unwrap_or(value);
    let ends = |byte: &u8| !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.'));
    let label = value.split(ends).next()?;
    // A document that declares UTF-16 in ASCII is not UTF-16 (HTML standard, section 13.2.3.2).
    Encoding::for_label(label).filter(|known| known.is_ascii_compatible())
}

/// Decodes the text; as UTF-8 without a character set. `None` if the bytes are invalid in the character set.
fn decode(bytes: &[u8], encoding: Option<&'static Encoding>) -> Option<String> {
    let text = match encoding {
        None => std::str::from_utf8(bytes).ok()?.to_owned(),
        Some(encoding) => encoding
            .decode_without_bom_handling_and_without_replacement(bytes)?
            .into_owned(),
    };
    Some(text.trim_start_matches('\u{feff}').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn character_sets_are_those_that_are_named() {
        for (content_type, bytes) in [
            ("text/plain; charset=ISO-8859-1", b"Jos\xe9".as_slice()),
            ("text/plain;format=flowed;charset=\"windows-1252\"", b"Jos\xe9"),
            ("text/plain", "\u{feff}José".as_bytes()),
            ("TEXT/Plain ; Charset=UTF-8", "José".as_bytes()),
            ("text/plain;charset=utf-16le", b"J\0o\0s\0\xe9\0"),
            ("text/html", b"<meta charset='latin1'><p>Jos\xe9</p>"),
            ("text/html; charset=utf-8", "<meta charset=latin1>José".as_bytes()),
            ("application/rtf", b"{\\rtf1 Jos\\'e9}"),
        ] {
            assert_eq!(
                document_text(content_type, bytes).as_deref(),
                Ok("José"),
                "{content_type}"
            );
        }
        for (content_type, bytes, why) in [
            (
                "text/plain",
                b"Jos\xe9".as_slice(),
                Unread::Data(PayloadError::NotUtf8),
            ),
            (
                "text/plain;charset=klingon",
                b"a",
                Unread::ContentType(PayloadError::Unsupported),
            ),
            (
                "image/tiff",
                b"II*",
                Unread::ContentType(PayloadError::Unsupported),
            ),
            ("application/pdf", b"%PDF-1.7", Unread::Data(PayloadError::NotPdf)),
            ("text/rtf", b"Dear", Unread::Data(PayloadError::WrongType)),
        ] {
            assert_eq!(document_text(content_type, bytes), Err(why), "{content_type}");
        }
    }

    #[test]
    fn base64_is_read_with_line_ends_and_without_padding() {
        assert_eq!(from_base64("YW\r\nI", 10), Ok(b"ab".to_vec()));
        assert_eq!(from_base64("Y!Q", 10), Err(Unread::Data(PayloadError::NotBase64)));
        assert_eq!(
            from_base64(&"YWFh".repeat(20), 10),
            Err(Unread::Data(PayloadError::TooLarge))
        );
    }
}
