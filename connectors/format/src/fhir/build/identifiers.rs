//! Collects structured identifiers, each once, and the known persons.

use std::sync::Arc;

use lethe_core::{Identifier, Known, KnownKind};

use super::Builder;
use crate::fhir::ids::{self, Target};
use crate::fhir::node::Node;

/// Minimum length of an id to search in narrative; shorter ones occur there with other meanings.
const MIN_ID: usize = 6;

impl Builder<'_> {
    /// Returns the number of an identifier without an authority.
    pub(super) fn number(&mut self, label: &'static str, value: &str) -> usize {
        self.number_of(label, value, None)
    }

    /// Returns the number of an identifier. Equal values with equal label and authority are one identifier.
    pub(super) fn number_of(
        &mut self,
        label: &'static str,
        value: &str,
        authority: Option<Arc<str>>,
    ) -> usize {
        let identifiers = &mut self.identifiers;
        let is_at = |at: usize| {
            identifiers.get(at).is_some_and(|one| {
                one.label == label && one.value.expose() == value && one.authority == authority
            })
        };
        let known = self.identifiers_seen.place(&(label, value, &authority), is_at);
        let number = known.unwrap_or_else(|| {
            identifiers.push(Identifier {
                label,
                value: value.into(),
                authority,
            });
            identifiers.len() - 1
        });
        self.changed(number);
        number
    }

    /// Returns the number of the id of a resource of that type.
    pub(super) fn id(&mut self, kind: Option<&str>, id: &str) -> usize {
        let label = if kind == Some("Patient") {
            self.know(KnownKind::MedicalRecord, id);
            "MEDICALRECORD"
        } else {
            // Generated narrative contains references unchanged.
            if self.generated && id.len() >= MIN_ID && id.bytes().any(|byte| byte.is_ascii_digit()) {
                self.know(KnownKind::Other, id);
            }
            "IDNUM"
        };
        let number = self.number(label, id);
        let ids = &mut self.ids;
        let known = self.ids_seen.place(&number, |at| ids.get(at) == Some(&number));
        known.unwrap_or_else(|| {
            ids.push(number);
            ids.len() - 1
        })
    }

    /// Returns the replacement for a reference to one resource.
    pub(super) fn target(&mut self, reference: &str) -> Option<Node> {
        Some(match ids::target(reference)? {
            Target::Typed(kind, id) => Node::Typed(kind, self.id(Some(kind), id)),
            Target::Contained(id) => Node::Contained(self.id(None, id)),
            Target::Urn(id) => Node::Urn(self.id(self.index.kind_of_urn(id), id)),
        })
    }

    pub(super) fn know(&mut self, kind: KnownKind, value: &str) {
        let value = value.trim();
        if value.is_empty() {
            return;
        }
        let known = &self.known;
        let is_at = |at: usize| {
            known
                .get(at)
                .is_some_and(|one| one.kind == kind && one.value.expose() == value)
        };
        if self.known_seen.place(&(kind, value), is_at).is_none() {
            self.known.push(Known {
                kind,
                value: value.into(),
            });
        }
    }
}
