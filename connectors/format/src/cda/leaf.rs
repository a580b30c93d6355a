//! Elements whose content is read as a whole.

use super::draft::{Attributes, Draft};
use super::envelope::Hole;
use super::narrative::{Narrative, layout};
use super::people::Parts;
use super::table;
use crate::PayloadError;
use crate::markup::{Lines, Unread, document_text, from_base64};

/// An element whose text is read as a whole.
#[derive(Debug)]
pub(super) struct Leaf {
    /// Number of open elements while it is the innermost.
    pub(super) depth: usize,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// A section's narrative.
    Narrative(Narrative),
    /// Any other text.
    Free(Free),
    Name(Parts),
    Address(Parts),
    /// An identifier that is the element's text.
    Label(&'static str, String),
    /// A body that is not XML.
    Document(Encoded),
}

/// Free text outside of narratives: a title, the text of an entry, the wording of a code.
#[derive(Debug, Default)]
pub(super) struct Free {
    lines: Lines,
    encoded: Option<Encoded>,
    /// The sender's reason for missing text.
    null: Option<String>,
    /// Whether its start tag has ended.
    opened: bool,
    /// Number of open elements within one whose text is skipped.
    skipped: usize,
}

/// An embedded document: its media type, and whether it is base64.
#[derive(Debug)]
pub(super) struct Encoded {
    media: String,
    base64: bool,
    raw: String,
}

impl Encoded {
    pub(super) fn of(attributes: &mut Attributes) -> Self {
        let media = attributes.take("@mediaType");
        Self {
            media: media.unwrap_or_else(|| "text/plain".to_owned()),
            base64: attributes.take("@representation").as_deref() == Some("B64"),
            raw: String::new(),
        }
    }

    /// Returns the text of the document.
    ///
    /// # Errors
    /// An error if it cannot be read.
    pub(super) fn text(&self, max_bytes: usize) -> Result<String, Unread> {
        if self.base64 {
            from_base64(&self.raw, max_bytes).and_then(|bytes| document_text(&self.media, &bytes))
        } else {
            document_text("text/plain", self.raw.as_bytes())
        }
    }
}

impl Free {
    /// Starts free text with its attributes. Its start tag stays open.
    pub(super) fn new(draft: &mut Draft<'_>, mut attributes: Attributes) -> Self {
        let null = attributes.take("@nullFlavor");
        let encoded = match attributes.get("@representation") {
            Some("B64") => Some(Encoded::of(&mut attributes)),
            _ => None,
        };
        if !draft.gone() {
            if encoded.is_some() {
                draft.attribute("@mediaType", "text/plain");
            }
            draft.attributes(attributes);
        }
        Self {
            null: null.and_then(|null| table::accepted("@nullFlavor", &null)),
            encoded,
            ..Self::default()
        }
    }

    fn start(&mut self, draft: &mut Draft<'_>, local: &[u8], attributes: &Attributes) {
        if self.skipped > 0 || local == b"thumbnail" {
            self.skipped += 1;
        }
        layout(&mut self.lines, local, true);
        if local != b"reference" || draft.gone() {
            return;
        }
        let name = attributes.get("@value").and_then(|value| value.strip_prefix('#'));
        let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
            if attributes.get("@value").is_some() {
                draft.removed_at("reference", "reference");
            }
            return;
        };
        if !std::mem::replace(&mut self.opened, true) {
            draft.opened();
        }
        let number = draft.anchor(name);
        draft.out.push_str("<reference");
        draft.attribute("@value", &format!("#i{number}"));
        draft.out.push_str("/>");
    }

    fn end(&mut self, local: &[u8]) {
        self.skipped = self.skipped.saturating_sub(1);
        layout(&mut self.lines, local, false);
    }

    fn text(&mut self, text: &str) {
        match &mut self.encoded {
            _ if self.skipped > 0 => {}
            Some(encoded) => encoded.raw.push_str(text),
            None => text.chars().for_each(|c| self.lines.flow(c)),
        }
    }

    /// Ends the text and returns it.
    ///
    /// # Errors
    /// An error if the note is too long.
    pub(super) fn finish(self, draft: &mut Draft<'_>) -> Result<String, PayloadError> {
        // Images and the like are dropped.
        let text = match &self.encoded {
            Some(encoded) => encoded.text(draft.max_note_bytes).unwrap_or_default(),
            None => self.lines.finish(),
        };
        let part = draft.part(&text)?;
        if draft.gone() {
            draft.close();
            return Ok(text);
        }
        if !self.opened {
            let lost = self.encoded.is_some().then_some("MSK");
            if let (None, Some(null)) = (part, lost.or(self.null.as_deref())) {
                draft.attribute("@nullFlavor", null);
            }
            draft.opened();
        }
        match part {
            Some(part) => draft.hole(Hole::Part(part, false)),
            None if self.encoded.is_some() => draft.removed("text"),
            None => {}
        }
        draft.close();
        Ok(text)
    }
}

impl Leaf {
    /// Starts an element within the text.
    ///
    /// # Errors
    /// An error if there are too many parts.
    pub(super) fn start(
        &mut self,
        draft: &mut Draft<'_>,
        local: &[u8],
        attributes: Attributes,
    ) -> Result<(), PayloadError> {
        match &mut self.what {
            What::Narrative(narrative) => narrative.start(draft, local, attributes)?,
            What::Free(free) => free.start(draft, local, &attributes),
            What::Name(parts) | What::Address(parts) => parts.start(local),
            What::Label(..) | What::Document(_) => {}
        }
        Ok(())
    }

    /// Ends an element within the text.
    ///
    /// # Errors
    /// An error if there are too many parts.
    pub(super) fn end(&mut self, draft: &mut Draft<'_>, local: &[u8]) -> Result<(), PayloadError> {
        match &mut self.what {
            What::Narrative(narrative) => narrative.end(draft, local)?,
            What::Free(free) => free.end(local),
            What::Name(parts) | What::Address(parts) => parts.end(),
            What::Label(..) | What::Document(_) => {}
        }
        Ok(())
    }

    pub(super) fn text(&mut self, text: &str) {
        match &mut self.what {
            What::Narrative(narrative) => narrative.text(text),
            What::Free(free) => free.text(text),
            What::Name(parts) | What::Address(parts) => parts.text(text),
            What::Label(_, label) => label.push_str(text),
            What::Document(document) => document.raw.push_str(text),
        }
    }
}
