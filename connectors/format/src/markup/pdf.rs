//! Text from PDF (ISO 32000-2) that has a text layer.
//!
//! Two libraries share the work. lopdf reads the file within limits and decodes its streams (`open.rs`); hayro runs the
//! content of what lopdf wrote and gives each glyph with its place and its Unicode (`glyphs.rs`); words, lines and
//! paragraphs are made of these here (`lines.rs`). Form fields and comments belong to the text (`notes.rs`). The document's
//! properties, bookmarks, scripts and embedded files are left out, as is what is hidden.
//!
//! A document is read whole or refused: a page that is only a picture, a font whose codes have no Unicode, a stream that
//! is cut short, or a password each refuse all of it.

mod cost;
mod glyphs;
mod lines;
mod notes;
mod open;
mod strings;

use std::sync::{Mutex, PoisonError};

use hayro_interpret::InterpreterCache;
use hayro_interpret::hayro_syntax::Pdf;

use glyphs::Page;
use lines::Lines;
use open::Opened;

/// Pages of a document that is read.
const MAX_PAGES: usize = 10_000;
/// Documents of more decoded bytes are read one at a time, whatever threads read them: the contents of a page take several times
/// their size while they are run, and a few kilobytes that arrive can be 64 MiB of them.
const LARGE: usize = 4 << 20;
static LARGE_TURN: Mutex<()> = Mutex::new(());
/// The stack that reading has. Forms within forms are followed 50 deep, each of them over several large frames.
const STACK_BYTES: usize = 64 << 20;

/// A limit on work. Streams are compressed up to a thousand times, so that a small document could ask for as much work as the
/// largest that is read; what a document may ask for grows with its own bytes.
struct Limit {
    /// What any document may ask for.
    least: usize,
    /// How much more for each of its bytes.
    each: usize,
    /// What none may ask for more of.
    most: usize,
}

impl Limit {
    /// The limit of a document of so many bytes.
    fn of(&self, bytes: usize) -> usize {
        let own = self.least.saturating_add(self.each.saturating_mul(bytes));
        own.min(self.most)
    }
}

/// Why there is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PdfError {
    /// It does not start with `%PDF-`.
    #[error("is not PDF")]
    NotPdf,
    /// An object, a stream or the cross-reference table is damaged or missing.
    #[error("is damaged")]
    Damaged,
    /// It is encrypted, with a password or without one.
    #[error("is encrypted")]
    Encrypted,
    /// A page, or the whole document, is a picture.
    #[error("has a page without a text layer")]
    Scanned,
    /// Glyphs that no character is known for.
    #[error("has a font whose characters are not known")]
    Unmapped,
    /// The note is in embedded files or in a form that a program builds (a portfolio, XFA).
    #[error("is a container for other documents")]
    Container,
    /// More text or more decoded bytes than the limit.
    #[error("is too large")]
    TooLarge,
    /// More pages, objects or drawing than any note has.
    #[error("is too complex")]
    TooComplex,
}

/// The text that a reader of the document sees, of at most `max_bytes`, with an empty line between pages.
///
/// # Errors
/// [`PdfError`].
pub fn pdf_to_text(pdf: &[u8], max_bytes: usize) -> Result<String, PdfError> {
    let head = pdf.get(..1024).unwrap_or(pdf);
    if memchr::memmem::find(head, b"%PDF-").is_none() {
        return Err(PdfError::NotPdf);
    }
    // The thread is for its stack. What panics in the libraries ends here too: it costs this document alone.
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new()
            .name("pdf".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || read(pdf, max_bytes));
        match reader {
            Ok(reader) => reader.join().unwrap_or_else(|why| {
                // What was stopped at a limit says so.
                Err(*why.downcast_ref().unwrap_or(&PdfError::Damaged))
            }),
            Err(_) => Err(PdfError::TooComplex),
        }
    })
}

fn read(pdf: &[u8], max_bytes: usize) -> Result<String, PdfError> {
    let opened = open::open(pdf)?;
    let Opened { bytes, notes, forms } = opened;
    // A reader that panicked held nothing that others read.
    let turn = || LARGE_TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let _turn = (bytes.len() > LARGE).then(turn);
    let mut work = glyphs::Work::new(pdf.len(), forms);
    let pdf = Pdf::new(bytes).map_err(|_| PdfError::Damaged)?;
    // The two libraries see the same pages, or one of them misses some.
    if pdf.pages().len() != notes.len() {
        return Err(PdfError::Damaged);
    }
    // Fonts are read once and not once a page.
    let cache = InterpreterCache::new();
    let mut text = String::new();
    for (page, notes) in pdf.pages().iter().zip(&notes) {
        let page = Page::read(page, &cache, &mut work)?;
        let mut lines = Lines::new(page)?;
        lines.add_notes(notes);
        let page = lines.finish();
        if page.is_empty() {
            continue;
        }
        if text.len() + page.len() > max_bytes {
            return Err(PdfError::TooLarge);
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&page);
    }
    if text.is_empty() {
        return Err(PdfError::Scanned);
    }
    Ok(text)
}
