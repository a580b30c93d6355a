//! Handles a `Binary` as a message: a document without a surrounding resource.

use super::{Builder, FieldError, security};
use crate::PayloadError;
use crate::fhir::attachment;
use crate::fhir::node::{Field, Kept, Node};
use crate::fhir::table::{BINARY, BINARY_PATHS};
use crate::fhir::value::Object;

impl Builder<'_> {
    /// Reads the document and writes it as plain text.
    ///
    /// # Errors
    /// A [`FieldError`] if a document cannot be read or is missing.
    pub(super) fn binary(&mut self, root: &Object<'_>) -> Result<Option<Node>, FieldError> {
        self.within = (Some("Binary"), false);
        self.path = vec!["Binary"];
        for name in root.keys() {
            let known = ["resourceType", "contentType", "data"].contains(&name)
                || BINARY.iter().any(|element| element.name == name);
            if !known {
                self.removed_at("*", "not in the table");
            }
        }
        let kind = Field::kept("resourceType", Kept::Name("Binary"));
        let Some(Node::Object(mut siblings)) = self.fields(BINARY, root, vec![kind])? else {
            return Ok(None);
        };
        security::label(&mut siblings);
        let document = attachment::read(root, &BINARY_PATHS, self.max_note_bytes)?;
        let document = document.ok_or((BINARY_PATHS.data, PayloadError::Missing))?;
        for known in &document.known {
            self.know(known.kind, known.value.expose());
        }
        let part = self.part(&document.text, true)?;
        Ok(Some(match part {
            Some(part) => Node::Data {
                part,
                siblings: siblings.into(),
            },
            None => Node::Object(siblings),
        }))
    }
}
