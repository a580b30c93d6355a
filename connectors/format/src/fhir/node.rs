//! A message without its contents: what is kept of it, and slots for what is replaced.

use serde_json::{Map, Value, json};

use super::table::Need;
use super::{dates, ids, names};

/// A value of the message.
#[derive(Debug)]
pub(super) enum Node {
    /// As it was.
    Kept(Value),
    Object(Vec<Field>),
    List(Vec<Node>),
    /// A part of the narrative, as a string.
    Part(usize),
    /// The same as XHTML, with its status.
    Narrative {
        status: Option<Value>,
        part: usize,
    },
    /// The same as an attachment in plain text.
    Data {
        part: usize,
        beside: Vec<Field>,
    },
    /// A structured identifier, as it is replaced.
    Label(usize),
    /// The date of a point in time, and the time if it has one.
    Date {
        at: usize,
        time: String,
        instant: bool,
    },
    /// A name, with its use.
    Name {
        at: usize,
        usage: Option<Value>,
        shape: names::Shape,
    },
    /// A resource's id, by its number among the ids.
    Id(usize),
    /// `Patient/` and an id.
    Typed(&'static str, usize),
    /// The address of a resource of that type and id.
    Address(&'static str, usize),
    /// `#` and an id.
    Contained(usize),
    /// An id as a URN.
    Urn(usize),
}

/// An element of an object.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// None if nothing of it can come back.
    pub(super) node: Option<Node>,
    pub(super) need: Need,
    /// Whether it is a JSON string or the like, so that what is said about it has a place of its own.
    pub(super) primitive: bool,
    /// Whether it repeats.
    pub(super) list: bool,
}

/// What goes into the slots.
pub(super) struct Filling<'a> {
    pub(super) parts: &'a [&'a str],
    pub(super) identifiers: &'a [&'a str],
    /// Ids as they are written.
    pub(super) ids: Vec<String>,
}

impl Filling<'_> {
    /// The value, filled; none if nothing is left of it. A slot that has no filling is an index that is out of bounds,
    /// which the numbers of both rule out.
    pub(super) fn value(&self, node: &Node) -> Option<Value> {
        let part = |at: usize| self.parts.get(at).copied().filter(|text| !text.trim().is_empty());
        let identifier = |at: usize| {
            self.identifiers
                .get(at)
                .copied()
                .filter(|text| !text.trim().is_empty())
        };
        let id = |at: usize| self.ids.get(at).map(String::as_str);
        Some(match node {
            Node::Kept(value) => value.clone(),
            Node::Object(fields) => Value::Object(self.object(fields)?),
            Node::List(nodes) => {
                let values: Vec<Value> = nodes.iter().filter_map(|node| self.value(node)).collect();
                (!values.is_empty()).then_some(Value::Array(values))?
            }
            Node::Part(at) => part(*at)?.into(),
            Node::Narrative { status, part: at } => {
                let div = xhtml(part(*at)?)?;
                let status = status.clone().unwrap_or_else(|| "generated".into());
                json!({"status": status, "div": div})
            }
            Node::Data { part: at, beside } => {
                use base64::Engine;
                let data = base64::engine::general_purpose::STANDARD.encode(part(*at)?);
                let mut attachment = Map::new();
                attachment.insert("contentType".to_owned(), "text/plain; charset=utf-8".into());
                attachment.extend(self.object(beside).unwrap_or_default());
                attachment.insert("data".to_owned(), data.into());
                Value::Object(attachment)
            }
            Node::Label(at) => identifier(*at)?.into(),
            Node::Date { at, time, instant } => date(identifier(*at)?, time, *instant)?.into(),
            Node::Name { at, usage, shape } => {
                let mut name = Map::new();
                names::write(identifier(*at)?, shape, &mut name);
                if let (Some(usage), false) = (usage, name.is_empty()) {
                    name.insert("use".to_owned(), usage.clone());
                }
                (!name.is_empty()).then_some(Value::Object(name))?
            }
            Node::Id(at) => id(*at)?.into(),
            Node::Typed(kind, at) => format!("{kind}/{}", id(*at)?).into(),
            Node::Address(kind, at) => format!("{}{kind}/{}", ids::NOWHERE, id(*at)?).into(),
            Node::Contained(at) => format!("#{}", id(*at)?).into(),
            Node::Urn(at) => ids::urn(id(*at)?, at + 1).into(),
        })
    }

    fn object(&self, fields: &[Field]) -> Option<Map<String, Value>> {
        let mut object = Map::new();
        for field in fields {
            match (field.node.as_ref().and_then(|node| self.value(node)), field.need) {
                (Some(value), _) => {
                    object.insert(field.name.to_owned(), value);
                }
                (None, Need::Optional) => {}
                (None, Need::Pivot) => return None,
                (None, Need::Required) => {
                    object.extend(masked(field));
                }
            }
        }
        (!object.is_empty()).then_some(object)
    }
}

/// What says that there was something that may not be told (FHIR R4, extension data-absent-reason). A primitive has it beside
/// itself, under its name with an underscore; one that repeats then has a null in its own array (FHIR R4, section 2.6.2).
fn masked(field: &Field) -> Vec<(String, Value)> {
    let said = json!({"extension": [{
        "url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason",
        "valueCode": "masked",
    }]});
    let said = if field.list {
        Value::Array(vec![said])
    } else {
        said
    };
    let name = field.name.to_owned();
    match (field.primitive, field.list) {
        (false, _) => vec![(name, said)],
        (true, false) => vec![(format!("_{name}"), said)],
        (true, true) => vec![(format!("_{name}"), said), (name, json!([null]))],
    }
}

/// The date that is written for a point in time: the replacement if it is a date, with the time if it is a whole one.
fn date(replacement: &str, time: &str, instant: bool) -> Option<String> {
    let full = dates::is_date(replacement)?;
    if full {
        Some(format!("{replacement}{time}")).filter(|_| !(instant && time.is_empty()))
    } else {
        (!instant).then(|| replacement.to_owned())
    }
}

/// The text as the content of a narrative: escaped, line ends as `<br/>`, and spaces that would collapse as ones that do
/// not. None if no character of it can be seen.
fn xhtml(text: &str) -> Option<String> {
    let mut div = String::with_capacity(text.len() + 64);
    div.push_str("<div xmlns=\"http://www.w3.org/1999/xhtml\">");
    let mut after_space = true;
    let mut seen = false;
    for c in text.chars() {
        match c {
            '\n' => div.push_str("<br/>"),
            '&' => div.push_str("&amp;"),
            '<' => div.push_str("&lt;"),
            '>' => div.push_str("&gt;"),
            ' ' | '\t' if after_space => div.push_str("&#160;"),
            ' ' | '\t' => div.push(' '),
            // XML 1.0 has no place for these.
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => continue,
            c => div.push(c),
        }
        after_space = matches!(c, ' ' | '\t' | '\n');
        seen |= !c.is_whitespace();
    }
    div.push_str("</div>");
    seen.then_some(div)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_takes_the_time_only_if_it_is_whole() {
        let time = "T08:30:00Z";
        assert_eq!(
            date("2021-03-04", time, true).as_deref(),
            Some("2021-03-04T08:30:00Z")
        );
        assert_eq!(date("2021", time, false).as_deref(), Some("2021"));
        assert_eq!(date("2021", time, true), None);
        assert_eq!(date("2021-03-04", "", true), None);
        assert_eq!(date("[DATE]", time, false), None);
        assert_eq!(date("2021-13", "", false), None);
    }

    #[test]
    fn a_required_element_that_is_removed_is_masked_as_its_type_has_it() {
        let field = |primitive, list| Field {
            name: "code",
            node: None,
            need: Need::Required,
            primitive,
            list,
        };
        let names = |primitive, list| {
            let written = masked(&field(primitive, list));
            written
                .into_iter()
                .map(|(name, value)| (name, value.is_array()))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(false, false), [("code".to_owned(), false)]);
        assert_eq!(names(false, true), [("code".to_owned(), true)]);
        assert_eq!(names(true, false), [("_code".to_owned(), false)]);
        assert_eq!(
            names(true, true),
            [("_code".to_owned(), true), ("code".to_owned(), true)]
        );
    }

    #[test]
    fn a_narrative_reads_back_as_its_text() {
        let text = "BP < 5 & > 3\n\n  Na  140 \"ok\"   x";
        let div = xhtml(text).unwrap();
        assert!(div.contains("BP &lt; 5 &amp; &gt; 3<br/><br/>&#160;&#160;Na &#160;140"));
        assert_eq!(crate::html_to_text(&div), text.trim_start());
        assert_eq!(xhtml(" \n\u{1}"), None);
    }
}
