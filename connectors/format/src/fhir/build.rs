//! One walk over a message, by the table: its narrative, its identifiers, and what of it comes back.

mod binary;
mod changes;
mod people;
mod security;

pub(super) use people::{authority, identifier_kind};

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::ToSpan;
use jiff::civil::Date;
use lethe_core::{Change, Identifier, Known, KnownKind, Span, StructuralText};
use serde_json::Value;

use super::attachment::{self, Fault};
use super::codes::LocalSystems;
use super::ids::{self, Target};
use super::index::Index;
use super::node::{Field, Node};
use super::table::{BUNDLE, Element, Form, NARRATIVE_STATUS, Need, QUANTITY, Rule, Who};
use super::value::{Object, str_of};
use super::{dates, index, structure, table};
use crate::Problem;

/// Between two parts of the narrative.
const BETWEEN: &str = "\n\n";

/// Ids of fewer bytes are found in narrative where they are something else.
const MIN_ID: usize = 6;

/// What the walk has found so far.
pub(super) struct Builder<'v> {
    index: &'v Index<'v>,
    max_note_bytes: usize,
    /// Whether narrative is read; that of a note that is withdrawn is not.
    narrative: bool,
    /// When the note was written: against it an age is told.
    authored: Option<Date>,
    local: &'v LocalSystems,
    /// Where the walk is, by the names of elements, and by which rule.
    path: Vec<&'static str>,
    rule: &'static str,
    pub(super) changes: Vec<Change>,
    /// The resource that the walk is in, and whether it lies within another.
    within: (Option<&'static str>, bool),
    pub(super) text: String,
    pub(super) parts: Vec<Span>,
    pub(super) identifiers: Vec<Identifier>,
    numbers: HashMap<(&'static str, String, Option<Arc<str>>), usize>,
    /// Which identifiers are logical ids.
    pub(super) ids: Vec<usize>,
    id_numbers: HashMap<usize, usize>,
    /// Whether some of the narrative is generated from the structure.
    generated: bool,
    /// Displays of the message's codes, if so.
    displays: HashSet<String>,
    pub(super) structural_text: Vec<StructuralText>,
    pub(super) known: Vec<Known>,
    known_seen: HashSet<(KnownKind, String)>,
    /// Whether there is a text that the note is about.
    pub(super) has_body: bool,
    /// The first document that could not be read.
    pub(super) unread: Option<Fault>,
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
            numbers: HashMap::new(),
            ids: Vec::new(),
            id_numbers: HashMap::new(),
            generated: false,
            displays: HashSet::new(),
            structural_text: Vec::new(),
            known: Vec::new(),
            known_seen: HashSet::new(),
            has_body: false,
            unread: None,
        }
    }

    /// The whole message.
    ///
    /// # Errors
    /// The narrative is too long.
    pub(super) fn message(&mut self, root: &Object) -> Result<Option<Node>, Fault> {
        if self.narrative && structure::has_generated(root) {
            self.generated = true;
            self.displays = structure::displays(root);
        }
        if str_of(root, "resourceType") == Some("Bundle") {
            self.within = (Some("Bundle"), false);
            let kind = Field::kept("resourceType", "Bundle".into());
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

    fn resource(&mut self, resource: &Object, contained: bool) -> Result<Option<Node>, Fault> {
        let Some(kind) = index::kind_of(resource).filter(|&kind| kind != "Bundle") else {
            return Ok(None);
        };
        let Some(elements) = table::elements(kind) else {
            return Ok(None);
        };
        let outer = std::mem::replace(&mut self.within, (Some(kind), contained));
        let path = std::mem::replace(&mut self.path, vec![kind]);
        let mut node = self.object(elements, resource, vec![Field::kept("resourceType", kind.into())]);
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

    /// The object's elements by their rules, after `fields`.
    fn object(
        &mut self,
        elements: &'static [Element],
        object: &Object,
        fields: Vec<Field>,
    ) -> Result<Option<Node>, Fault> {
        self.note_unlisted(elements, object, &fields);
        self.fields(elements, object, fields)
    }

    /// As [`Self::object`], for an object whose other members are handled elsewhere.
    fn fields(
        &mut self,
        elements: &'static [Element],
        object: &Object,
        mut fields: Vec<Field>,
    ) -> Result<Option<Node>, Fault> {
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
        Ok((!fields.is_empty()).then_some(Node::Object(fields)))
    }

    fn value(&mut self, rule: Rule, value: &Value) -> Result<Option<Node>, Fault> {
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
        Ok((!nodes.is_empty()).then_some(Node::List(nodes)))
    }

    fn one(&mut self, rule: Rule, value: &Value) -> Result<Option<Node>, Fault> {
        let outer = std::mem::replace(&mut self.rule, rule.word());
        let before = self.changes.len();
        let node = self.by_rule(rule, value);
        if matches!(node, Ok(None)) && self.changes.len() == before {
            self.removed(self.rule);
        }
        self.rule = outer;
        node
    }

    fn by_rule(&mut self, rule: Rule, value: &Value) -> Result<Option<Node>, Fault> {
        Ok(match (rule, value) {
            (Rule::Keep(form), value) => form.fits(value).then(|| Node::Kept(value.clone())),
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
                kind.map(|kind| Node::Kept(kind.into()))
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

    /// The number of a part of the narrative; none if there is nothing in it.
    fn part(&mut self, text: &str, body: bool) -> Result<Option<usize>, Fault> {
        if !self.narrative || text.trim().is_empty() {
            return Ok(None);
        }
        if !self.text.is_empty() {
            self.text.push_str(BETWEEN);
        }
        let start = self.text.len();
        self.text.push_str(text);
        let too_large = ("text", Problem::TooLarge);
        if self.text.len() > self.max_note_bytes {
            return Err(too_large);
        }
        // Spans count to 4 GiB, which the size limit may pass.
        self.parts
            .push(Span::new(start, self.text.len()).map_err(|_| too_large)?);
        self.has_body |= body;
        Ok(Some(self.parts.len() - 1))
    }

    fn narrative(&mut self, object: &Object) -> Result<Option<Node>, Fault> {
        let Some(div) = str_of(object, "div").filter(|_| self.narrative) else {
            return Ok(None);
        };
        // What a document reference says of itself is not the document.
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
            .cloned();
        Ok(part.map(|part| Node::Narrative { status, part }))
    }

    fn attachment(&mut self, rule: Rule, object: &Object) -> Result<Option<Node>, Fault> {
        static BESIDE: &[Element] = &[
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
        // What the message brings along need not be fetched.
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
                let beside = match self.fields(BESIDE, object, Vec::new())? {
                    Some(Node::Object(fields)) => fields,
                    _ => Vec::new(),
                };
                Ok(Some(Node::Data { part, beside }))
            }
            Err(fault @ (_, Problem::TooLarge)) => Err(fault),
            Err(fault) => {
                self.unread.get_or_insert(fault);
                Ok(None)
            }
        }
    }

    /// The number of an identifier that no authority assigned.
    fn number(&mut self, label: &'static str, value: &str) -> usize {
        self.number_of(label, value, None)
    }

    /// The number of an identifier. The same value under the same label and authority is one identifier.
    fn number_of(&mut self, label: &'static str, value: &str, authority: Option<Arc<str>>) -> usize {
        let (identifiers, numbers) = (&mut self.identifiers, &mut self.numbers);
        let number = *numbers
            .entry((label, value.to_owned(), authority.clone()))
            .or_insert_with(|| {
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

    /// The number, among the ids, of the id of a resource of that type.
    fn id(&mut self, kind: Option<&str>, id: &str) -> usize {
        let label = if kind == Some("Patient") {
            self.know(KnownKind::MedicalRecord, id);
            "MEDICALRECORD"
        } else {
            // Narrative that is generated writes references as they are.
            if self.generated && id.len() >= MIN_ID && id.bytes().any(|byte| byte.is_ascii_digit()) {
                self.know(KnownKind::Other, id);
            }
            "IDNUM"
        };
        let number = self.number(label, id);
        let ids = &mut self.ids;
        *self.id_numbers.entry(number).or_insert_with(|| {
            ids.push(number);
            ids.len() - 1
        })
    }

    /// What is written for a reference to one resource.
    fn target(&mut self, reference: &str) -> Option<Node> {
        Some(match ids::target(reference)? {
            Target::Typed(kind, id) => Node::Typed(kind, self.id(Some(kind), id)),
            Target::Contained(id) => Node::Contained(self.id(None, id)),
            Target::Urn(id) => Node::Urn(self.id(self.index.kind_of_urn(id), id)),
        })
    }

    fn know(&mut self, kind: KnownKind, value: &str) {
        let value = value.trim();
        if !value.is_empty() && self.known_seen.insert((kind, value.to_owned())) {
            self.known.push(Known {
                kind,
                value: value.into(),
            });
        }
    }

    fn date(&mut self, date: &str, instant: bool) -> Option<Node> {
        let (date, time) = dates::split(date)?;
        Some(Node::Date {
            at: self.number("DATE", date),
            time: time.to_owned(),
            instant,
        })
    }

    /// The birth date of somebody who may be over 89 does not come back, not even its year: 45 CFR 164.514(b)(2)(i)(C).
    fn birth_date(&mut self, who: Who, date: &str) -> Option<Node> {
        let (day, _) = dates::split(date)?;
        if who == Who::Patient && dates::is_date(day) == Some(true) {
            self.know(KnownKind::BirthDate, day);
        }
        let ninety = dates::first_day(day)?.checked_add(90.years()).ok()?;
        (self.authored? < ninety).then(|| self.date(day, false)).flatten()
    }
}

/// Whether the quantity is an age in years over 89.
fn is_great_age(quantity: &Object) -> bool {
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

impl Field {
    const fn of(name: &'static str, node: Node) -> Self {
        Self {
            name,
            node: Some(node),
            need: Need::Optional,
            primitive: false,
            list: false,
        }
    }

    fn kept(name: &'static str, value: Value) -> Self {
        Self {
            name,
            node: Some(Node::Kept(value)),
            need: Need::Optional,
            primitive: true,
            list: false,
        }
    }
}
