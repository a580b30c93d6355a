//! Reads the document in one pass, without a tree: open elements are a list of names, and the current content
//! is one text.

use quick_xml::events::{BytesStart, Event};

use super::draft::{Attributes, Class, Draft};
use super::envelope::{Hole, Skeleton};
use super::header::{Header, interned};
use super::leaf::{Encoded, Free, Leaf, What};
use super::narrative::Narrative;
use super::people::Parts;
use super::scope::Scope;
use super::table::{self, Element, Rule};
use crate::fhir::codes::LocalSystems;
use crate::markup::Unread;
use crate::{Diagnosis, PayloadError};

/// Maximum nesting of elements. C-CDA nests some forty deep.
const MAX_DEPTH: usize = 200;
/// Maximum number of identifiers in a document. Each takes some hundred bytes of memory, however short it is.
const MAX_IDENTIFIERS: usize = 1 << 18;
/// The namespaces of the returned document.
const NAMESPACES: &str = " xmlns=\"urn:hl7-org:v3\" xmlns:sdtc=\"urn:hl7-org:sdtc\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";

pub(super) struct Reader<'a> {
    xml: quick_xml::Reader<&'a [u8]>,
    path: Vec<&'static str>,
    scope: Scope,
    header: Header,
    draft: Draft<'a>,
    leaf: Option<Leaf>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(xml: &'a str, max_note_bytes: usize, local: &'a LocalSystems) -> Self {
        let mut xml = quick_xml::Reader::from_str(xml);
        xml.config_mut().expand_empty_elements = true;
        Self {
            xml,
            path: Vec::new(),
            scope: Scope::default(),
            header: Header::default(),
            draft: Draft::new(local, max_note_bytes),
            leaf: None,
        }
    }

    pub(super) fn read(mut self) -> Result<(Header, Skeleton), Diagnosis> {
        let mut closed = false;
        loop {
            match self.xml.read_event() {
                Ok(Event::Start(start)) => {
                    if closed {
                        return Err(self.fail(None, PayloadError::NotXml));
                    }
                    self.start(&start)?;
                }
                Ok(Event::End(end)) => {
                    self.end(end.local_name().as_ref())?;
                    closed = self.path.is_empty();
                }
                Ok(Event::Text(text)) => match text.decode() {
                    Ok(text) => self.text(&text),
                    Err(_) => return Err(self.fail(None, PayloadError::NotUtf8)),
                },
                Ok(Event::CData(text)) => match text.decode() {
                    Ok(text) => self.text(&text),
                    Err(_) => return Err(self.fail(None, PayloadError::NotUtf8)),
                },
                Ok(Event::GeneralRef(reference)) => {
                    let c = match reference.resolve_char_ref() {
                        Ok(Some(c)) => Some(c),
                        Ok(None) => match &*reference {
                            b"lt" => Some('<'),
                            b"gt" => Some('>'),
                            b"amp" => Some('&'),
                            b"apos" => Some('\''),
                            b"quot" => Some('"'),
                            _ => None,
                        },
                        Err(_) => None,
                    };
                    let c = c.ok_or_else(|| self.fail(None, PayloadError::NotXml))?;
                    self.text(c.encode_utf8(&mut [0; 4]));
                }
                Ok(Event::DocType(_)) => return Err(self.fail(None, PayloadError::Unsupported)),
                Ok(Event::Eof) if closed => {
                    self.header.text = std::mem::take(&mut self.draft.note);
                    return Ok((self.header, self.draft.finish()));
                }
                Ok(Event::Eof) => return Err(self.fail(None, PayloadError::Truncated)),
                Ok(_) => {}
                Err(_) => return Err(self.fail(None, PayloadError::NotXml)),
            }
        }
    }

    fn fail(&self, field: Option<&'static str>, problem: PayloadError) -> Diagnosis {
        let at = self.xml.buffer_position().max(self.xml.error_position());
        Diagnosis {
            field,
            byte: usize::try_from(at).unwrap_or(usize::MAX),
            problem,
        }
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), Diagnosis> {
        if self.path.len() >= MAX_DEPTH || self.draft.identifiers.len() > MAX_IDENTIFIERS {
            return Err(self.fail(None, PayloadError::TooComplex));
        }
        let local = start.local_name();
        let name = interned(local.as_ref());
        if self.path.is_empty() && name != "ClinicalDocument" {
            return Err(self.fail(None, PayloadError::Unsupported));
        }
        let parent = self.path.last().copied().unwrap_or_default();
        self.path.push(name);
        if self.scope.start(start, self.path.len()).is_err() {
            return Err(self.fail(None, PayloadError::TooComplex));
        }
        let attributes = self.attributes(start);
        if let Some(leaf) = &mut self.leaf {
            let started = leaf.start(&mut self.draft, local.as_ref(), attributes);
            return started.map_err(|problem| self.fail(Some("text"), problem));
        }
        let space = self
            .scope
            .element(start.name().prefix().map(|prefix| prefix.into_inner()));
        let element = table::element(space, local.as_ref());
        if matches!(name, "structuredBody" | "nonXMLBody") {
            self.header.has_body = true;
        }
        self.header
            .attributes(&self.path, |wanted| attributes.get(wanted).map(str::to_owned));
        if let Some(what) = self.element(element, name, parent, attributes) {
            self.leaf = Some(Leaf {
                depth: self.path.len(),
                what,
            });
        }
        Ok(())
    }

    /// Returns the attributes by their names in the table. The first of two with the same name counts.
    fn attributes(&self, start: &BytesStart<'_>) -> Attributes {
        let mut found = Attributes::default();
        if start.attributes_raw().is_empty() {
            return found;
        }
        let mut all = start.attributes();
        for one in all.with_checks(false).flatten() {
            let key = one.key;
            if key.as_ref().starts_with(b"xmlns") {
                continue;
            }
            let (local, prefix) = key.decompose();
            let space = self.scope.attribute(prefix.map(|prefix| prefix.into_inner()));
            let name = table::attribute(space, local.as_ref());
            // The list is at most as long as the table.
            if found.get(name).is_none()
                && let Ok(value) = one.unescape_value()
            {
                found.0.push((name, value.into_owned()));
            }
        }
        found
    }

    /// Decides about the start of an element. Returns the element if its content is read as a whole.
    fn element(
        &mut self,
        element: Option<Element>,
        name: &'static str,
        parent: &'static str,
        mut attributes: Attributes,
    ) -> Option<What> {
        let draft = &mut self.draft;
        let masked = matches!(draft.rule(), Rule::Mask);
        let rule = element.map(|element| ruled(draft, element.rule, &attributes));
        let (Some(element), Some(rule), false) = (element, rule, draft.gone() || masked) else {
            let element = element.filter(|_| !masked);
            draft.drop_element(element.map(|element| Element {
                rule: Rule::Never,
                ..element
            }));
            // Dropped elements are read all the same.
            return Some(match (name, parent) {
                ("text", "section") => What::Narrative(Narrative::new(draft)),
                ("text", "nonXMLBody") => What::Document(Encoded::of(&mut attributes)),
                ("title", "section" | "ClinicalDocument") => What::Free(Free::new(draft, attributes)),
                ("name", _) => What::Name(Parts::default()),
                ("addr", _) => What::Address(Parts::default()),
                _ => match element.map(|element| element.rule) {
                    Some(Rule::Text) => What::Free(Free::new(draft, attributes)),
                    _ => return None,
                },
            });
        };
        if rule == Rule::Never {
            draft.drop_element(Some(element));
            return None;
        }
        draft.open(Element { rule, ..element }, class_of(&attributes));
        if draft.frames.len() == 1 {
            draft.out.push_str(NAMESPACES);
        }
        match rule {
            Rule::Text if name == "text" && parent == "section" => {
                draft.attributes(attributes);
                draft.opened();
                return Some(What::Narrative(Narrative::new(draft)));
            }
            Rule::Text if name == "text" && parent == "nonXMLBody" => {
                let document = Encoded::of(&mut attributes);
                draft.attribute("@mediaType", "text/plain");
                draft.attributes(attributes);
                draft.opened();
                return Some(What::Document(document));
            }
            Rule::Text => return Some(What::Free(Free::new(draft, attributes))),
            Rule::Name => return Some(What::Name(draft.parts(attributes))),
            Rule::Address => return Some(What::Address(draft.parts(attributes))),
            Rule::Label(label) => {
                draft.attributes(attributes);
                draft.opened();
                return Some(What::Label(label, String::new()));
            }
            Rule::Node | Rule::Reference => {
                draft.attributes(attributes);
                draft.opened();
            }
            rule => draft.data(rule, attributes),
        }
        None
    }

    fn end(&mut self, local: &[u8]) -> Result<(), Diagnosis> {
        match self.leaf.take() {
            Some(leaf) if leaf.depth == self.path.len() => self.done(leaf.what)?,
            Some(mut leaf) => {
                let ended = leaf.end(&mut self.draft, local);
                ended.map_err(|problem| self.fail(Some("text"), problem))?;
                self.leaf = Some(leaf);
            }
            None => self.draft.close(),
        }
        self.scope.end(self.path.len());
        self.path.pop();
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if let Some(leaf) = &mut self.leaf {
            leaf.text(text);
        } else if !text.trim().is_empty() && !self.path.is_empty() && !self.draft.gone() {
            self.draft.removed_at("*", "not in the table");
        }
    }

    /// Handles the end of an element that was read as a whole.
    fn done(&mut self, what: What) -> Result<(), Diagnosis> {
        let draft = &mut self.draft;
        let in_header = !self.path.contains(&"structuredBody");
        let done = match what {
            What::Narrative(narrative) => {
                let finished = narrative.finish(draft);
                draft.close();
                finished
            }
            What::Free(free) => {
                let is_title = self.path.len() == 2 && self.path.last() == Some(&"title");
                free.finish(draft).map(|text| {
                    if is_title {
                        self.header.title = Some(text).filter(|title| !title.is_empty());
                    }
                })
            }
            What::Name(parts) => {
                if in_header {
                    self.header.name(&self.path, &parts.name());
                }
                draft.named(&parts);
                Ok(())
            }
            What::Address(parts) => {
                if in_header {
                    self.header.know(lethe_core::KnownKind::Address, &parts.address());
                }
                draft.addressed(&parts);
                Ok(())
            }
            What::Label(label, text) => {
                if !text.trim().is_empty() && !draft.gone() {
                    let number = draft.identifier(label, &text, None);
                    draft.hole(Hole::Text(number));
                }
                draft.close();
                Ok(())
            }
            What::Document(document) => match document.text(draft.max_note_bytes) {
                Ok(text) => {
                    let part = draft.part(&text);
                    if let (Ok(Some(part)), false) = (&part, draft.gone()) {
                        draft.hole(Hole::Part(*part, true));
                    }
                    draft.close();
                    part.map(|_| ())
                }
                Err(Unread::Data(problem)) => return Err(self.fail(Some("nonXMLBody.text"), problem)),
                Err(Unread::ContentType(problem)) => {
                    return Err(self.fail(Some("nonXMLBody.text.mediaType"), problem));
                }
            },
        };
        done.map_err(|problem| self.fail(Some("text"), problem))
    }
}

/// Returns the rule for an element whose meaning depends on its position.
fn ruled(draft: &Draft<'_>, rule: Rule, attributes: &Attributes) -> Rule {
    match rule {
        Rule::Name => match draft.name(0) {
            "qualifier" => Rule::Code,
            "manufacturedMaterial" | "labeledDrug" | "manufacturedLabeledDrug" | "specimenPlayingEntity" => {
                Rule::Text
            }
            "playingEntity" | "scopingEntity"
                if draft
                    .frames
                    .last()
                    .is_some_and(|frame| frame.class == Class::Other) =>
            {
                Rule::Text
            }
            _ => Rule::Name,
        },
        Rule::Value => {
            let kind = attributes.get("@xsi:type").unwrap_or_default();
            match kind.rsplit(':').next().unwrap_or_default() {
                "CD" | "CE" | "CV" | "CS" | "CO" => Rule::Code,
                "TS" | "IVL_TS" | "PIVL_TS" | "EIVL_TS" | "SXCM_TS" | "SXPR_TS" => Rule::Date,
                "ST" => Rule::Text,
                // Encoded content that is not text is dropped.
                "ED" | "" if attributes.get("@value").is_none() && attributes.get("@code").is_none() => {
                    Rule::Text
                }
                "BL" => Rule::Flag,
                "II" => Rule::Id,
                "TEL" => Rule::Telecom,
                "PQ" | "IVL_PQ" | "INT" | "IVL_INT" | "REAL" | "IVL_REAL" | "RTO" | "RTO_PQ_PQ" => {
                    Rule::Quantity
                }
                "" if attributes.get("@code").is_some() => Rule::Code,
                "" => Rule::Quantity,
                _ => Rule::Mask,
            }
        }
        rule => rule,
    }
}

fn class_of(attributes: &Attributes) -> Class {
    match attributes.get("@classCode") {
        Some("PSN" | "LIV" | "NAT") => Class::Person,
        Some("PLC" | "ORG" | "FAC" | "CITY" | "COUNTRY" | "STATE") => Class::Place,
        _ => Class::Other,
    }
}
