//! Extracts the reason of a failed request in words that may be logged.

/// The loggable parts of the client library's error. A store's response can quote keys and whole requests, so
/// only its status and its error code are used.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) status: Option<u16>,
    pub(super) code: String,
    pub(super) detail: String,
    /// Whether the server's certificate is not trusted.
    pub(super) untrusted: bool,
}

impl Cause {
    pub(super) fn of(error: &object_store::Error) -> Self {
        let mut innermost: &dyn std::error::Error = error;
        let mut http = None;
        let mut untrusted = false;
        while let Some(source) = innermost.source() {
            innermost = source;
            if let Some(error) = innermost.downcast_ref::<object_store::client::HttpError>() {
                http = Some(format!("{:?} error of the connection", error.kind()).to_lowercase());
            }
        }
        // The TLS library's message quotes nothing from the store.
        if innermost.to_string().contains("invalid peer certificate") {
            untrusted = true;
            http = Some(
                "the server's certificate is not from a trusted authority, or not for this name".to_owned(),
            );
        }
        if let Some(http) = http {
            return Self {
                status: None,
                code: String::new(),
                detail: http,
                untrusted,
            };
        }
        Self::of_text(&error.to_string())
    }

    /// Parses the status after `status code:` and the code in `<Code>`.
    fn of_text(text: &str) -> Self {
        let after = |mark: &str| text.split_once(mark).map(|(_, rest)| rest);
        let number = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
        let status = after("status code: ").and_then(number).or_else(|| {
            // Azure deletes in batches, whose parts have a status of their own.
            let (before, rest) = text.rsplit_once("(code: ")?;
            before
                .contains("Bulk delete request failed")
                .then(|| number(rest))?
        });
        let code = after("<Code>").and_then(|rest| rest.split_once("</Code>"));
        let code = code.map_or("", |(code, _)| code);
        let sound = code.len() <= 64 && code.chars().all(|c| c.is_ascii_alphanumeric());
        let code = if sound { code.to_owned() } else { String::new() };
        let detail = match (status, code.as_str()) {
            (Some(status), "") => format!("HTTP {status}"),
            (Some(status), code) => format!("HTTP {status}, {code}"),
            (None, _) if text.contains("redirect without LOCATION") => {
                return Self {
                    status: Some(301),
                    code,
                    detail: "HTTP 301".into(),
                    untrusted: false,
                };
            }
            // A URL can hold a signature.
            (None, _) if text.contains("sig=") => "the store's client failed".to_owned(),
            // Without a response, the text is the library's own.
            (None, _) => text.to_owned(),
        };
        Self {
            status,
            code,
            detail,
            untrusted: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_stores_answer_only_status_and_code_are_kept() {
        let cause = Cause::of_text(
            "Error performing PUT http://x in 1ms - Server returned non-2xx status code: 403 Forbidden: \
             <Error><Code>SignatureDoesNotMatch</Code><StringToSign>hush</StringToSign></Error>",
        );
        assert_eq!(cause.status, Some(403));
        assert_eq!(cause.detail, "HTTP 403, SignatureDoesNotMatch");
    }

    #[test]
    fn a_part_of_a_batch_has_its_own_status() {
        let cause = Cause::of_text(
            "Generic error: Bulk delete request failed for key a/(code: 1): Forbidden (code: 403)",
        );
        assert_eq!((cause.status, cause.detail.as_str()), (Some(403), "HTTP 403"));
    }

    #[test]
    fn a_signature_in_a_url_is_not_kept() {
        let cause = Cause::of_text("Error performing GET https://a/c?sv=1&sig=hush - damaged");
        assert!(!cause.detail.contains("hush"), "{}", cause.detail);
    }
}
