//! Records every changed field of a message for the audit.

use lethe_core::{Change, Changed};

use super::Builder;
use crate::fhir::codes;
use crate::fhir::node::{Field, Kept, Node};
use crate::fhir::table::{Element, Rule};
use crate::fhir::value::{Object, Value, str_of};

/// HL7 table 0203.
const IDENTIFIER_TYPE: &str = "http://terminology.hl7.org/CodeSystem/v2-0203";

impl Rule {
    /// Returns the rule's name in the audit.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Keep(_) => "not of its shape",
            Self::Object(_) | Self::Standard(_) | Self::Resource | Self::Contained => "not in the table",
            Self::Text | Self::Body | Self::Narrative => "narrative",
            Self::Attachment(_) => "attachment",
            Self::Id | Self::FullUrl | Self::RequestUrl => "id",
            Self::Reference(_) => "reference",
            Self::Identifier(..) => "identifier",
            Self::Name(_) => "name",
            Self::Coding => "not a code of the system",
            Self::Quantity => "quantity",
            Self::Telecom => "telecom",
            Self::Address => "address",
            Self::Date | Self::BirthDate(_) | Self::Instant => "date",
            Self::Label(..) => "label",
            Self::Never | Self::NeverObject => "never",
        }
    }
}

impl Builder<'_> {
    /// Handles a code with its system. The display is the sender's wording and is dropped.
    pub(super) fn coding(&mut self, coding: &Object<'_>) -> Option<Node> {
        let named = str_of(coding, "system");
        // Types of identifiers are often sent without their system.
        let of_identifier = || {
            self.path
                .ends_with(&["identifier", "type", "coding"])
                .then_some(IDENTIFIER_TYPE)
        };
        let system = named.or_else(of_identifier)?;
        let code = str_of(coding, "code").filter(|code| codes::fits(system, code, self.local))?;
        for name in ["display", "version", "extension"] {
            if coding.contains_key(name) {
                self.removed_at(name, name);
            }
        }
        let mut fields: Vec<Field> = named
            .map(|system| Field::kept("system", Kept::Text(system.into())))
            .into_iter()
            .collect();
        fields.push(Field::kept("code", Kept::Text(code.into())));
        if let Some(Value::Bool(chosen)) = coding.get("userSelected") {
            fields.push(Field::kept("userSelected", Kept::Bool(*chosen)));
        }
        fields.shrink_to_fit();
        Some(Node::Object(fields))
    }

    /// Records the members without a rule. Their names are the sender's, so the path omits them.
    pub(super) fn note_unlisted(&mut self, elements: &[Element], object: &Object<'_>, fields: &[Field]) {
        for name in object.keys() {
            let listed = elements.iter().any(|element| element.name == name)
                || fields.iter().any(|field| field.name == name);
            if !listed {
                let name = match name {
                    "extension" => "extension",
                    "modifierExtension" => "modifierExtension",
                    _ => "*",
                };
                self.removed_at(name, "not in the table");
            }
        }
    }

    pub(super) fn changed(&mut self, identifier: usize) {
        self.change(self.rule, Changed::Replaced(identifier));
    }

    pub(super) fn removed(&mut self, rule: &'static str) {
        self.change(rule, Changed::Removed);
    }

    pub(super) fn removed_at(&mut self, name: &'static str, rule: &'static str) {
        self.path.push(name);
        self.removed(rule);
        self.path.pop();
    }

    fn change(&mut self, rule: &'static str, what: Changed) {
        let path = self.path.join(".").into();
        self.changes.push(Change { path, rule, what });
    }
}
