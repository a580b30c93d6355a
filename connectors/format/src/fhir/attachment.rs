//! Reads documents in attachments.

use lethe_core::Known;

use super::table::Paths;
use super::value::{Object, str_of};
use crate::PayloadError;
use crate::markup::{Unread, document_text, essence, from_base64, is_read};

/// The problem, and the element that has it.
pub(super) type FieldError = (&'static str, PayloadError);

/// The content of an attachment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) text: String,
    /// The persons in its header.
    pub(super) known: Vec<Known>,
}

/// Returns the attachment's document; `None` if it is empty and has no URL.
///
/// # Errors
/// A [`FieldError`] if it cannot be read.
pub(super) fn read(
    attachment: &Object<'_>,
    paths: &Paths,
    max_bytes: usize,
) -> Result<Option<Document>, FieldError> {
    let fault = |why| match why {
        Unread::Data(problem) => (paths.data, problem),
        Unread::ContentType(problem) => (paths.content_type, problem),
    };
    let Some(data) = str_of(attachment, "data") else {
        return match attachment.get("url") {
            Some(_) => Err((paths.data, PayloadError::Missing)),
            None => Ok(None),
        };
    };
    let content_type =
        str_of(attachment, "contentType").ok_or((paths.content_type, PayloadError::Missing))?;
    let xml = matches!(
        essence(content_type).as_str(),
        "text/xml" | "application/xml" | "application/hl7-cda+xml" | "application/cda+xml"
    );
    // Checked before decoding, since unsupported content may be large.
    if !xml && !is_read(content_type) {
        return Err((paths.content_type, PayloadError::Unsupported));
    }
    // The markup of a document counts too, up to a limit.
    let limit = if xml {
        max_bytes.saturating_mul(2)
    } else {
        max_bytes
    };
    let bytes = from_base64(data, limit).map_err(fault)?;
    if xml {
        let header = crate::cda::document(&bytes, max_bytes).map_err(|wrong| (paths.data, wrong.problem))?;
        return Ok(Some(Document {
            text: header.text,
            known: header.known,
        }));
    }
    let text = document_text(content_type, &bytes).map_err(fault)?;
    Ok(Some(Document {
        text,
        known: Vec::new(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_there_is_told_from_what_is_elsewhere() {
        const PATHS: Paths = Paths {
            data: "data",
            content_type: "contentType",
        };
        let told = |value: serde_json::Value| {
            let json = value.to_string();
            let attachment = crate::fhir::tree::parse(json.as_bytes()).unwrap();
            let document = read(&attachment, &PATHS, 1000)?;
            Ok::<_, FieldError>(document.map(|document| document.text))
        };
        assert_eq!(
            told(json!({"url": "Binary/1", "contentType": "text/plain"})),
            Err(("data", PayloadError::Missing))
        );
        assert_eq!(told(json!({"title": "x"})), Ok(None));
        assert_eq!(
            told(json!({"data": "YQ=="})),
            Err(("contentType", PayloadError::Missing))
        );
        assert_eq!(
            told(json!({"data": "YQ==", "contentType": "text/xml"})),
            Err(("data", PayloadError::Truncated))
        );
        assert_eq!(
            told(json!({"data": "YQ", "contentType": "text/plain"})),
            Ok(Some("a".to_owned()))
        );
    }
}
