//! Text from documents: what of an HTML, RTF or PDF narrative is read as the note.
//!
//! The readers of HTML and RTF are loops over bytes that keep a few words of state: no tree, no recursion, time and memory linear in the
//! input whatever is in it. That rules out parsers that build documents. html5ever's tokenizer compares each attribute of
//! a tag with all those before it, so that one tag of some megabytes takes hours; rtf-parser recurses once for each
//! control word and takes `\'hh` for a code point whatever the code page. Entity names come from quick-xml's table and
//! code pages from encoding_rs, which are good at just that. PDF is read by libraries, within limits (`pdf.rs`).

mod document;
mod html;
mod lines;
mod pdf;
mod rtf;

pub(crate) use document::{Unread, document_text, essence, from_base64, is_read};
pub use html::html_to_text;
pub(crate) use lines::Lines;
pub use pdf::{PdfError, pdf_to_text};
pub use rtf::{RtfError, rtf_to_text};
