//! Extracts the text of a note from HTML, RTF, PDF and DOCX documents, and from e-mails.
//!
//! The readers of HTML and RTF are loops over bytes with a few words of state: no tree, no recursion, and
//! time and memory linear in any input. That rules out parsers that build documents. html5ever's tokenizer
//! compares each attribute of a tag with all earlier ones, so that one tag of some megabytes takes hours;
//! rtf-parser recurses for each control word and takes `\'hh` for a code point whatever the code page. Entity
//! names come from quick-xml's table and code pages from encoding_rs. Libraries read PDF, within limits
//! (`pdf.rs`).

mod document;
mod docx;
mod file;
mod html;
mod lines;
mod pdf;
mod rtf;

pub(crate) use document::{Unread, document_text, essence, from_base64, is_read};
pub use docx::wordprocessing_to_text;
pub use file::DocumentFile;
pub use html::html_to_text;
pub(crate) use lines::Lines;
pub use pdf::{PdfError, pdf_to_text};
pub use rtf::{RtfError, rtf_to_text};
