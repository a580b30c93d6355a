//! Walks over a message by the table and collects its narrative, its identifiers, and the message to return.

mod binary;
mod changes;
mod identifiers;
mod people;
pub(super) mod security;

pub(super) use people::{authority, identifier_kind};

use std::collections::HashSet;

use jiff::ToSpan;
use jiff::civil::Date;
use lethe_core::{Change, Identifier, Known, KnownKind, Span, StructuralText};

use super::attachment::{self, FieldError};
use super::codes::LocalSystems;
use super::ids::{self, Target};
use super::index::Index;
use super::node::{Field, Kept, Node};
use super::table::{BUNDLE, Element, Form, NARRATIVE_STATUS, Need, QUANTITY, Rule, Who};
use super::value::{Object, Value, str_of};
use super::{dates, index, structure, table};
use crate::PayloadError;
use crate::distinct::Distinct;

/// Separates two parts of the narrative.
const BETWEEN: &str = "\n\n";

/// The state of the walk.
pub(super) struct Builder<'v> {
    index: &'v Index<'v>,
    max_note_bytes: usize,
    /// Whether narrative is read; that of a withdrawn note is not.
    narrative: bool,
    /// When the note was written; ages are computed relative to it.
    authored: Option<Date>,
    local: &'v LocalSystems,
    /// The current path of element names, and the rule.
    path: Vec<&'static str>,
    rule: &'static str,
    pub(super) changes: Vec<Change>,
    /// The current resource, and whether it is within another.
    within: (Option<&'static str>, bool),
    pub(super) text: String,
    pub(super) parts: Vec<Span>,
    pub(super) identifiers: Vec<Identifier>,
    identifiers_seen: Distinct,
    /// The identifiers that are logical ids.
    pub(super) ids: Vec<usize>,
    ids_seen: Distinct,
    /// Whether some of the narrative is generated from the structure.
    generated: bool,
    /// The displays of the message's codes, in that case.
    displays: HashSet<String>,
    pub(super) structural_text: Vec<StructuralText>,
    pub(super) known: Vec<Known>,
    known_seen: Distinct,
    /// Whether there is a text that the note is about.
    pub(super) has_body: bool,
    /// The first document that could not be read.
    pub(super) unread: Option<FieldError>,
}

impl<'v> Builder<'v> {
    pub(super) fn new(
        index: &'v Index<'v>,
        max_note_bytes: usize,
        narrative: bool,
        authored: Option<Date>,
        local: &'v LocalSystems,
    ) -> Self {
        Self {
            index,
            max_note_bytes,
            narrative,
            authored,
            local,
            path: vec!["Bundle"],
            rule: "message",
            changes: Vec::new(),
            within: (None, false),
            text: String::new(),
            parts: Vec::new(),
            identifiers: Vec::new(),
            identifiers_seen: Distinct::default(),
            ids: Vec::new(),
            ids_seen: Distinct::default(),
            generated: false,
            displays: HashSet::new(),
            structural_text: Vec::new(),
            known: Vec::new(),
            known_seen: Distinct::default(),
            has_body: false,
            unread: None,
        }
    }

    /// Handles the whole message.
    ///
    /// # Errors
    /// An error if the narrative is too long.
    pub(super) fn message(&mut self, root: &Object<'_>) -> Result<Option<Node>, FieldError> {
        if self.narrative && structure::has_generated(root) {
            self.generated = true;
            self.displays = structure::displays(root);
        }
        if str_of(root, "resourceType") == Some("Bundle") {
            self.within = (Some("Bundle"), false);
            let kind = Field::kept("resourceType", Kept::Name("Bundle"));
            let mut bundle = self.object(BUNDLE, root, vec![kind])?;
            if let Some(Node::Object(fields)) = &mut bundle {
                security::label(fields);
            }
            return Ok(bundle);
        }
        if str_of(root, "resourceType") == Some("Binary") {
            return self.binary(root);
        }
        self.resource(root, false)
    }

    fn resource(&mut self, resource: &Object<'_>, contained: bool) -> Result<Option<Node>, FieldError> {
        let Some(kind) = index::kind_of(resource).filter(|&kind| kind != "Bundle") else {
            return Ok(None);
        };
        let Some(elements) = table::elements(kind) else {
            return Ok(None);
        };
        let outer = std::mem::replace(&mut self.within, (Some(kind), contained));
        let path = std::mem::replace(&mut self.path, vec![kind]);
        let mut node = self.object(
            elements,
            resource,
            vec![Field::kept("resourceType", Kept::Name(kind))],
        );
        if let Ok(Some(Node::Object(fields))) = &mut node {
            if !contained {
                security::label(fields);
            } else if security::unlabel(fields) {
                self.removed_at("meta", "security label");
            }
        }
        self.path = path;
        self.within = outer;
        node
    }

    /// Handles the object's elements by their rules, after `fields`.
    fn object(
        &mut self,
        elements: &'static [Element],
        object: &Object<'_>,
        fields: Vec<Field>,
    ) -> Result<Option<Node>, FieldError> {
        self.note_unlisted(elements, object, &fields);
        self.fields(elements, object, fields)
    }

    /// Does the same as [`Self::object`] for an object whose other members are handled elsewhere.
    fn fields(
        &mut self,
        elements: &'static [Element],
        object: &Object<'_>,
        mut fields: Vec<Field>,
    ) -> Result<Option<Node>, FieldError> {
        for element in elements {
            let Some(value) = object.get(element.name).filter(|value| !value.is_null()) else {
                continue;
            };
            self.path.push(element.name);
            let node = self.value(element.rule, value);
            self.path.pop();
            let node = node?;
            match (&node, element.need) {
                (None, Need::Optional) => continue,
                (None, Need::Pivot) => return Ok(None),
                _ => {}
            }
            fields.push(Field {
                name: element.name,
                node,
                need: element.need,
                primitive: element.rule.is_primitive(),
                list: value.is_array(),
            });
        }
        fields.shrink_to_fit();
        Ok((!fields.is_empty()).then_some(Node::Object(fields)))
    }

    fn value(&mut self, rule: Rule, value: &Value<'_>) -> Result<Option<Node>, FieldError> {
        let Value::Array(values) = value else {
            return self.one(rule, value);
        };
        let mut nodes = Vec::new();
        for value in values {
            // No element of FHIR is an array of arrays.
            if !value.is_array() {
                nodes.extend(self.one(rule, value)?);
            }
        }
        nodes.shrink_to_fit();
        Ok((!nodes.is_empty()).then_some(Node::List(nodes)))
    }

    fn one(&mut self, rule: Rule, value: &Value<'_>) -> Result<Option<Node>, FieldError> {
        let outer = std::mem::replace(&mut self.rule, rule.word());
        let before = self.changes.len();
        let node = self.by_rule(rule, value);
        if matches!(node, Ok(None)) && self.changes.len() == before {
            self.removed(self.rule);
        }
        self.rule = outer;
        node
    }

    fn by_rule(&mut self, rule: Rule, value: &Value<'_>) -> Result<Option<Node>, FieldError> {
        Ok(match (rule, value) {
            (Rule::Keep(form), value) => Some(value)
                .filter(|value| form.fits(value))
                .and_then(Kept::of)
                .map(Node::Kept),
            (Rule::Object(elements), Value::Object(object)) => self.object(elements, object, Vec::new())?,
            (Rule::Standard(name), Value::Object(object)) => match table::elements(name) {
                Some(elements) => self.object(elements, object, Vec::new())?,
                None => None,
            },
            (Rule::Resource, Value::Object(object)) => self.resource(object, false)?,
            (Rule::Contained, Value::Object(object)) => self.resource(object, true)?,
            (Rule::Text, Value::String(text)) => self.part(text, false)?.map(Node::Part),
            (Rule::Body, Value::String(text)) => self.part(text, true)?.map(Node::Part),
            (Rule::Narrative, Value::Object(object)) => self.narrative(object)?,
            (Rule::Attachment(_), Value::Object(object)) => self.attachment(rule, object)?,
            (Rule::Id, Value::String(id)) if !id.trim().is_empty() => {
                let (kind, contained) = self.within;
                Some(Node::Id(self.id(kind.filter(|_| !contained), id)))
            }
            (Rule::FullUrl, Value::String(url)) => match ids::target(url) {
                Some(Target::Typed(kind, id)) => Some(Node::Address(kind, self.id(Some(kind), id))),
                _ => self.target(url),
            },
            (Rule::RequestUrl, Value::String(url)) => self.target(url).or_else(|| {
                let kind = url.split('?').next().and_then(ids::kind);
                kind.map(|kind| Node::Kept(Kept::Name(kind)))
            }),
            (Rule::Coding, Value::Object(object)) => self.coding(object),
            (Rule::Reference(who), Value::Object(object)) => self.reference(who, object)?,
            (Rule::Identifier(label, kind), Value::Object(object)) => self.identifier(label, kind, object)?,
            (Rule::Name(who), Value::Object(object)) => self.name(who, object),
            (Rule::Telecom, Value::Object(object)) => self.telecom(object)?,
            (Rule::Address, Value::Object(object)) => self.address(object)?,
            (Rule::Quantity, Value::Object(object)) if !is_great_age(object) => {
                self.object(QUANTITY, object, Vec::new())?
            }
            (Rule::Date, Value::String(date)) => self.date(date, false),
            (Rule::Instant, Value::String(date)) => self.date(date, true),
            (Rule::BirthDate(who), Value::String(date)) => self.birth_date(who, date),
            (Rule::Label(label, who), Value::String(value)) if !value.trim().is_empty() => {
                if let Some(kind) = who.known() {
                    self.know(kind, value);
                }
                Some(Node::Label(self.number(label, value)))
            }
            _ => None,
        })
    }

    /// Returns the number of a part of the narrative; `None` if it is empty.
    fn part(&mut self, text: &str, body: bool) -> Result<Option<usize>, FieldError> {
        if !self.narrative || text.trim().is_empty() {
            return Ok(None);
        }
        if !self.text.is_empty() {
            self.text.push_str(BETWEEN);
        }
        let start = self.text.len();
        self.text.push_str(text);
        let too_large = ("text", PayloadError::TooLarge);
        if self.text.len() > self.max_note_bytes {
            return Err(too_large);
        }
        // Spans are limited to 4 GiB, which the size limit may exceed.
        self.parts
            .push(Span::new(start, self.text.len()).map_err(|_| too_large)?);
        self.has_body |= body;
        Ok(Some(self.parts.len() - 1))
    }

    fn narrative(&mut self, object: &Object<'_>) -> Result<Option<Node>, FieldError> {
        let Some(div) = str_of(object, "div").filter(|_| self.narrative) else {
            return Ok(None);
        };
        // The description in a document reference is not the document.
        let body = self.within.0 != Some("DocumentReference");
        let text = crate::html_to_text(div);
        let part = self.part(&text, body)?;
        if part.is_some() && structure::is_generated(object) {
            let start = self.text.len() - text.len();
            structure::mark(&text, start, &self.displays, &mut self.structural_text);
        }
        let status = object
            .get("status")
            .filter(|status| NARRATIVE_STATUS.fits(status))
            .and_then(Value::as_str)
            .map(Box::from);
        Ok(part.map(|part| Node::Narrative { status, part }))
    }

    fn attachment(&mut self, rule: Rule, object: &Object<'_>) -> Result<Option<Node>, FieldError> {
        static SIBLINGS: &[Element] = &[
            Element {
                name: "language",
                rule: Rule::Keep(Form::Language),
                need: Need::Optional,
            },
            Element {
                name: "creation",
                rule: Rule::Date,
                need: Need::Optional,
            },
        ];
        let Rule::Attachment(paths) = rule else {
            return Ok(None);
        };
        if !self.narrative {
            return Ok(None);
        }
        let left = self.max_note_bytes.saturating_sub(self.text.len());
        // Content that the message includes need not be fetched.
        let elsewhere = || self.index.binary(str_of(object, "url")?);
        let inline = str_of(object, "data").map(|_| object);
        let document = inline.or_else(elsewhere).unwrap_or(object);
        match attachment::read(document, paths, left) {
            Ok(document) => {
                let document = document.unwrap_or_default();
                for known in &document.known {
                    self.know(known.kind, known.value.expose());
                }
                let Some(part) = self.part(&document.text, true)? else {
                    return Ok(None);
                };
                let siblings = match self.fields(SIBLINGS, object, Vec::new())? {
                    Some(Node::Object(fields)) => fields,
                    _ => Vec::new(),
                };
                let siblings = siblings.into();
                Ok(Some(Node::Data { part, siblings }))
            }
            Err(fault @ (_, PayloadError::TooLarge)) => Err(fault),
            Err(fault) => {
                self.unread.get_or_insert(fault);
                Ok(None)
            }
        }
    }

    fn date(&mut self, date: &str, instant: bool) -> Option<Node> {
        let (date, time) = dates::split(date)?;
        Some(Node::Date {
            at: self.number("DATE", date),
            time: time.into(),
            instant,
        })
    }

    /// Handles a birth date. It is dropped, even its year, if the person may be over 89: 45 CFR
    /// 164.514(b)(2)(i)(C).
    fn birth_date(&mut self, who: Who, date: &str) -> Option<Node> {
        let (day, _) = dates::split(date)?;
        if who == Who::Patient && dates::is_date(day) == Some(true) {
            self.know(KnownKind::BirthDate, day);
        }
        let ninety = dates::first_day(day)?.checked_add(90.years()).ok()?;
        (self.authored? < ninety).then(|| self.date(day, false)).flatten()
    }
}

/// Returns whether the quantity is an age over 89 years.
fn is_great_age(quantity: &Object<'_>) -> bool {
    const YEARS: [&str; 8] = ["a", "a_j", "a_g", "y", "yr", "yrs", "year", "years"];
    let units = ["unit", "code"]
        .into_iter()
        .filter_map(|name| str_of(quantity, name));
    let years = units
        .map(|unit| unit.trim().to_lowercase())
        .any(|unit| YEARS.contains(&unit.as_str()));
    years
        && quantity
            .get("value")
            .and_then(Value::as_f64)
            .is_some_and(|value| value >= 90.0)
}
