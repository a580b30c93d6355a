//! Document files: the text of an HTML, RTF or PDF file, and of an e-mail.

use mail_parser::{Message, MessageParser, MimeHeaders as _, PartType};

use super::{Unread, document_text};
use crate::PayloadError;

/// A kind of file that Lethe reads as one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFile {
    /// HTML or XHTML.
    Html,
    /// Rich Text Format 1.9.
    Rtf,
    /// PDF with a text layer.
    Pdf,
    /// An e-mail (RFC 5322, MIME).
    Email,
}

impl DocumentFile {
    /// Returns the text of a file of this kind. Of an e-mail: its sender, recipients, subject and date, its
    /// text, and its attachments of text, HTML, RTF and PDF. Another attachment is one line that says so.
    ///
    /// # Errors
    /// Why the file, or an attachment that Lethe should be able to read, cannot be read.
    ///
    /// ```
    /// use lethe_format::DocumentFile;
    ///
    /// assert_eq!(DocumentFile::Html.text(b"<p>Seen&nbsp;today.</p>").unwrap(), "Seen today.");
    /// ```
    pub fn text(self, bytes: &[u8]) -> Result<String, PayloadError> {
        let content_type = match self {
            Self::Html => "text/html",
            Self::Rtf => "text/rtf",
            Self::Pdf => "application/pdf",
            Self::Email => return email(bytes),
        };
        document_text(content_type, bytes).map_err(reason)
    }
}

fn reason(why: Unread) -> PayloadError {
    match why {
        Unread::ContentType(why) | Unread::Data(why) => why,
    }
}

/// The headers that readers of an e-mail see.
const SHOWN: [&str; 8] = ["From", "Sender", "Reply-To", "To", "Cc", "Bcc", "Subject", "Date"];

/// E-mails in each other that are read: each has a place on the stack.
const FORWARDED: usize = 16;

fn email(bytes: &[u8]) -> Result<String, PayloadError> {
    let parsed = MessageParser::default().parse(bytes).map(Parsed);
    let message = parsed.as_ref().map(|parsed| &parsed.0);
    let message = message.filter(|message| !message.headers().is_empty());
    message_text(message.ok_or(PayloadError::Truncated)?, FORWARDED)
}

/// A parsed message. Dropping it needs the same small stack for any number of messages in each other, where
/// dropping a [`Message`] overflows it.
struct Parsed<'x>(Message<'x>);

impl Drop for Parsed<'_> {
    fn drop(&mut self) {
        let mut left = vec![std::mem::take(&mut self.0)];
        while let Some(message) = left.pop() {
            left.extend(message.parts.into_iter().filter_map(|part| match part.body {
                PartType::Message(inner) => Some(inner),
                _ => None,
            }));
        }
    }
}

/// Returns the text of a message that contains at most `depth` others in each other.
fn message_text(message: &Message<'_>, depth: usize) -> Result<String, PayloadError> {
    let mut text = String::new();
    for (name, value) in message.headers_raw() {
        if SHOWN.iter().any(|shown| shown.eq_ignore_ascii_case(name)) {
            text.push_str(name);
            text.push_str(": ");
            text.push_str(&header(value));
            text.push('\n');
        }
    }
    let mut attachments = 0;
    for part in &message.parts {
        let attached = part.content_disposition().is_some_and(|one| one.is_attachment());
        let content = match &part.body {
            PartType::Multipart(_) => continue,
            PartType::Text(body) => {
                let subtype = part.content_type().and_then(|one| one.subtype());
                let rtf = subtype.is_some_and(|one| matches!(one, "rtf" | "richtext"));
                match rtf {
                    true => document_text("text/rtf", body.as_bytes()).map_err(reason)?,
                    false => body.trim().to_owned(),
                }
            }
            // A message has its text twice, as plain text and as HTML; only an HTML part that stands alone or
            // says something else adds to it.
            PartType::Html(body) => {
                let body = super::html_to_text(body);
                if same_words(&text, &body) {
                    continue;
                }
                body
            }
            PartType::Binary(body) | PartType::InlineBinary(body) => {
                let kind = part.content_type().map_or_else(String::new, |one| {
                    format!("{}/{}", one.ctype(), one.subtype().unwrap_or_default())
                });
                match document_text(&kind, body) {
                    Ok(body) => body,
                    Err(Unread::ContentType(_)) => {
                        attachments += 1;
                        format!("[attachment {attachments} left out: not a text]")
                    }
                    Err(Unread::Data(why)) => return Err(why),
                }
            }
            PartType::Message(inner) => {
                let depth = depth.checked_sub(1).ok_or(PayloadError::TooDeep)?;
                message_text(inner, depth)?
            }
        };
        if !content.is_empty() {
            text.push_str(if attached { "\n---\n" } else { "\n" });
            text.push_str(&content);
            text.push('\n');
        }
    }
    Ok(text)
}

/// Returns a header's value with its encoded words (RFC 2047) decoded, in one line.
fn header(raw: &str) -> String {
    let line = format!(
        "Subject: {}\r\n\r\n",
        raw.split_whitespace().collect::<Vec<_>>().join(" ")
    );
    let parsed = MessageParser::default().parse(line.as_bytes());
    let decoded = parsed.as_ref().and_then(|message| message.subject());
    decoded.unwrap_or(raw.trim()).to_owned()
}

/// Returns whether the words of `part` already occur in `whole`, one after another.
fn same_words(whole: &str, part: &str) -> bool {
    let mut words = whole.split_whitespace();
    part.split_whitespace()
        .all(|word| words.any(|other| other == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_e_mail_has_its_headers_text_and_readable_attachments() {
        let mail = "From: =?utf-8?q?Ren=C3=A9?= Okafor <rene@mercy.example>\r\nTo: ward3@mercy.example\r\n\
            Subject: Transfer of\r\n Ada Roth\r\nX-Mailer: x\r\nMIME-Version: 1.0\r\n\
            Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: multipart/alternative; boundary=c\r\n\r\n\
            --c\r\nContent-Type: text/plain\r\n\r\nShe comes today.\r\n--c\r\nContent-Type: text/html\r\n\r\n<p>She comes <b>today.</b></p>\r\n--c--\r\n\
            --b\r\nContent-Type: text/rtf\r\nContent-Disposition: attachment; filename=ada.rtf\r\n\r\n{\\rtf1 Sodium 140}\r\n\
            --b\r\nContent-Type: image/png\r\nContent-Disposition: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n--b--\r\n";
        let text = DocumentFile::Email.text(mail.as_bytes()).unwrap();
        assert_eq!(
            text,
            "From: René Okafor <rene@mercy.example>\nTo: ward3@mercy.example\nSubject: Transfer of Ada Roth\n\n\
             She comes today.\n\n---\nSodium 140\n\n---\n[attachment 1 left out: not a text]\n"
        );
    }

    #[test]
    fn a_forwarded_message_is_read_and_endless_forwarding_is_refused() {
        let forwarded = |times: usize| {
            let outer = "From: a@b.example\r\nContent-Type: message/rfc822\r\n\r\n".repeat(times);
            DocumentFile::Email.text(format!("{outer}From: c@d.example\r\n\r\nSodium 140\r\n").as_bytes())
        };
        let once = "From: a@b.example\n\nFrom: c@d.example\n\nSodium 140\n\n";
        assert_eq!(forwarded(1).as_deref(), Ok(once));
        assert!(forwarded(FORWARDED).unwrap().contains("Sodium 140\n"));
        assert_eq!(forwarded(FORWARDED + 1), Err(PayloadError::TooDeep));
        assert_eq!(forwarded(20_000), Err(PayloadError::TooDeep));
    }

    #[test]
    fn an_attachment_that_cannot_be_read_refuses_the_whole() {
        let mail = "From: a@b.example\r\nContent-Type: application/pdf\r\n\r\nnot a PDF\r\n";
        assert_eq!(
            DocumentFile::Email.text(mail.as_bytes()),
            Err(PayloadError::NotPdf)
        );
        assert_eq!(DocumentFile::Email.text(b""), Err(PayloadError::Truncated));
    }

    #[test]
    fn a_message_of_html_alone_is_read() {
        let mail =
            "From: a@b.example\r\nContent-Type: text/html; charset=iso-8859-1\r\n\r\n<p>Jos\u{e9}</p>\r\n";
        let bytes: Vec<u8> = mail.chars().map(|c| c as u8).collect();
        assert_eq!(
            DocumentFile::Email.text(&bytes).unwrap(),
            "From: a@b.example\n\nJosé\n"
        );
    }
}
