//! Extracts text from PDF (ISO 32000-2) with a text layer.
//!
//! Two libraries share the work. lopdf reads the file within limits and decodes its streams (`open.rs`);
//! hayro interprets the content that lopdf wrote and returns each glyph with its position and its Unicode
//! (`glyphs.rs`); this module builds words, lines and paragraphs from them (`lines.rs`). Form fields and
//! comments are part of the text (`notes.rs`). The document's properties, bookmarks, scripts and embedded
//! files are left out, and so is hidden content.
//!
//! A document is read completely or refused: a page that is only a picture, a font whose codes have no
//! Unicode, a truncated stream, or a password refuses the whole document.

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

/// Maximum number of pages.
const MAX_PAGES: usize = 10_000;
/// Documents with more decoded bytes than this are read one at a time over all threads: the contents of a
/// page take several times their size during interpretation, and a few kilobytes can decode to 64 MiB of
/// them.
const LARGE: usize = 4 << 20;
static LARGE_TURN: Mutex<()> = Mutex::new(());
/// Stack size of the reader. Nested forms are followed 50 deep, each over several large frames.
const STACK_BYTES: usize = 64 << 20;

/// A limit on work. Streams compress up to a thousand times, so a small document could require as much work
/// as the largest; the limit grows with the document's size.
struct Limit {
    /// Limit of the smallest document.
    least: usize,
    /// Additional limit per byte.
    each: usize,
    /// Limit of any document.
    most: usize,
}

impl Limit {
    /// Returns the limit of a document of this size.
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
    /// Glyphs without a known character.
    #[error("has a font whose characters are not known")]
    Unmapped,
    /// The note is in embedded files or in a form that a program lays out (a portfolio, XFA).
    #[error("is a container for other documents")]
    Container,
    /// More text or decoded bytes than the limit.
    #[error("is too large")]
    TooLarge,
    /// More pages, objects or drawing than any note has.
    #[error("is too complex")]
    TooComplex,
}

/// Returns the visible text of the document, of at most `max_bytes`, with an empty line between pages.
///
/// # Errors
/// [`PdfError`].
pub fn pdf_to_text(pdf: &[u8], max_bytes: usize) -> Result<String, PdfError> {
    let head = pdf.get(..1024).unwrap_or(pdf);
    if memchr::memmem::find(head, b"%PDF-").is_none() {
        return Err(PdfError::NotPdf);
    }
    // The thread provides the stack. It also contains panics of the libraries, which then cost only this
    // document.
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new()
            .name("pdf".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || read(pdf, max_bytes));
        match reader {
            Ok(reader) => reader.join().unwrap_or_else(|why| {
                // Keeps the reason if a limit stopped the reader.
                Err(*why.downcast_ref().unwrap_or(&PdfError::Damaged))
            }),
            Err(_) => Err(PdfError::TooComplex),
        }
    })
}

fn read(pdf: &[u8], max_bytes: usize) -> Result<String, PdfError> {
    let opened = open::open(pdf)?;
    let Opened { bytes, notes, forms } = opened;
    // A panicking reader held no shared state.
    let turn = || LARGE_TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let _turn = (bytes.len() > LARGE).then(turn);
    let mut work = glyphs::Work::new(pdf.len(), forms);
    let pdf = Pdf::new(bytes).map_err(|_| PdfError::Damaged)?;
    // If the libraries see different numbers of pages, one of them misses some.
    if pdf.pages().len() != notes.len() {
        return Err(PdfError::Damaged);
    }
    // Fonts are read once instead of once per page.
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
