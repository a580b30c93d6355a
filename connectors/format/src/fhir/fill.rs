//! Writes a message with its slots filled directly as bytes, since a tree of JSON values takes many times
//! their size.

use std::rc::Rc;

use serde_json::Map;

use super::build::security;
use super::node::{Field, Kept, Node};
use super::table::Need;
use super::{dates, ids, names};

/// The content of the slots.
pub(super) struct Filling<'a> {
    pub(super) parts: &'a [&'a str],
    pub(super) identifiers: &'a [&'a str],
    /// The written forms of ids.
    pub(super) ids: Vec<Rc<str>>,
}

impl Filling<'_> {
    /// Writes the filled value as JSON. Returns false and writes nothing if nothing is left of it. A slot
    /// without a filling would be an index out of bounds, which the matching numbers of both rule out.
    pub(super) fn write(&self, node: &Node, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let written = self.written(node, out);
        if written.is_none() {
            out.truncate(start);
        }
        written.is_some()
    }

    /// Does the same as [`Self::write`], but keeps what it has written before it fails.
    fn written(&self, node: &Node, out: &mut Vec<u8>) -> Option<()> {
        let part = |at: usize| self.parts.get(at).copied().filter(|text| !text.trim().is_empty());
        let identifier = |at: usize| {
            self.identifiers
                .get(at)
                .copied()
                .filter(|text| !text.trim().is_empty())
        };
        let id = |at: usize| self.ids.get(at).map(|id| &**id);
        match node {
            Node::Kept(kept) => write_kept(kept, out),
            Node::Object(fields) => self.object(fields, out)?,
            Node::List(nodes) => {
                let mut members = Members::begin(b'[', out);
                for node in nodes {
                    members.add(|out| self.write(node, out));
                }
                members.end(b']')?;
            }
            Node::Part(at) => string(part(*at)?, out),
            Node::Narrative { status, part: at } => {
                let div = xhtml(part(*at)?)?;
                let mut members = Members::begin(b'{', out);
                let status = status.as_deref().unwrap_or("generated");
                members.named("status", |out| string(status, out));
                members.named("div", |out| string(&div, out));
                members.end(b'}')?;
            }
            Node::Data { part: at, siblings } => {
                use base64::Engine;
                let data = base64::engine::general_purpose::STANDARD.encode(part(*at)?);
                let mut members = Members::begin(b'{', out);
                members.named("contentType", |out| string("text/plain; charset=utf-8", out));
                members.add(|out| self.fields(siblings, out).is_some());
                members.named("data", |out| string(&data, out));
                members.end(b'}')?;
            }
            Node::Label(at) => string(identifier(*at)?, out),
            Node::Date { at, time, instant } => string(&date(identifier(*at)?, time, *instant)?, out),
            Node::Name(name) => {
                let mut parts = Map::new();
                names::write(identifier(name.at)?, &name.shape, &mut parts);
                if parts.is_empty() {
                    return None;
                }
                let mut members = Members::begin(b'{', out);
                for (part, value) in &parts {
                    members.named(part, |out| json(value, out));
                }
                if let Some(usage) = &name.usage {
                    members.named("use", |out| write_kept(usage, out));
                }
                members.end(b'}')?;
            }
            Node::Id(at) => string(id(*at)?, out),
            Node::Typed(kind, at) => string(&format!("{kind}/{}", id(*at)?), out),
            Node::Address(kind, at) => string(&format!("{}{kind}/{}", ids::NOWHERE, id(*at)?), out),
            Node::Contained(at) => string(&format!("#{}", id(*at)?), out),
            Node::Urn(at) => string(&ids::urn(id(*at)?, at + 1), out),
            Node::Pseudonymised => {
                let mut members = Members::begin(b'{', out);
                members.named("system", |out| string(security::SYSTEM, out));
                members.named("code", |out| string(security::CODE, out));
                members.end(b'}')?;
            }
        }
        Some(())
    }

    fn object(&self, fields: &[Field], out: &mut Vec<u8>) -> Option<()> {
        let mut members = Members::begin(b'{', out);
        members.add(|out| self.fields(fields, out).is_some());
        members.end(b'}')
    }

    /// Writes the members of an object without its braces. `None` if there are none, or if a member that the
    /// object depends on has no value; the caller then discards what was written.
    fn fields(&self, fields: &[Field], out: &mut Vec<u8>) -> Option<()> {
        let mut members = Members::list(out);
        for field in fields {
            let written = field
                .node
                .as_ref()
                .is_some_and(|node| members.named_if(field.name, |out| self.write(node, out)));
            match (written, field.need) {
                (true, _) | (false, Need::Optional) => {}
                (false, Need::Pivot) => return None,
                (false, Need::Required) => masked(field, &mut members),
            }
        }
        members.any.then_some(())
    }
}

/// Writes the members of an object or an array, separated by commas.
struct Members<'o> {
    out: &'o mut Vec<u8>,
    any: bool,
}

impl<'o> Members<'o> {
    /// Begins members after an opening bracket.
    fn begin(open: u8, out: &'o mut Vec<u8>) -> Self {
        out.push(open);
        Self::list(out)
    }

    const fn list(out: &'o mut Vec<u8>) -> Self {
        Self { out, any: false }
    }

    /// Adds the output of `write`, unless it returns false.
    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        let start = self.out.len();
        if self.any {
            self.out.push(b',');
        }
        let written = write(self.out);
        if written {
            self.any = true;
        } else {
            self.out.truncate(start);
        }
        written
    }

    /// Adds a member with that name, unless `write` returns false.
    fn named_if(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        self.add(|out| {
            string(name, out);
            out.push(b':');
            write(out)
        })
    }

    fn named(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.named_if(name, |out| {
            write(out);
            true
        });
    }

    /// Writes the closing bracket; `None` if there are no members.
    fn end(self, close: u8) -> Option<()> {
        self.out.push(close);
        self.any.then_some(())
    }
}

fn json(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    // Writing to memory cannot fail, and all maps have string keys.
    serde_json::to_writer(out, value).unwrap_or_default();
}

fn string(text: &str, out: &mut Vec<u8>) {
    json(&text, out);
}

fn write_kept(kept: &Kept, out: &mut Vec<u8>) {
    match kept {
        Kept::Bool(is) => json(is, out),
        Kept::Number(number) => json(number, out),
        Kept::Name(text) => string(text, out),
        Kept::Text(text) => string(text, out),
    }
}

/// Writes the marker of a withheld value (FHIR R4, extension data-absent-reason). For a primitive it is a
/// separate member, with an underscore before the name; a repeated one then has a null in its own array (FHIR
/// R4, section 2.6.2).
fn masked(field: &Field, members: &mut Members<'_>) {
    const ABSENT: &[u8] = br#"{"extension":[{"url":"http://hl7.org/fhir/StructureDefinition/data-absent-reason","valueCode":"masked"}]}"#;
    let absent = |out: &mut Vec<u8>| match field.list {
        true => out.extend([b"[", ABSENT, b"]"].concat()),
        false => out.extend(ABSENT),
    };
    if field.primitive {
        members.named(&format!("_{}", field.name), absent);
        if field.list {
            members.named(field.name, |out| out.extend(b"[null]"));
        }
    } else {
        members.named(field.name, absent);
    }
}

/// Returns the date to write for a point in time: the replacement if it is a date, with the time if it is
/// complete.
fn date(replacement: &str, time: &str, instant: bool) -> Option<String> {
    let full = dates::is_date(replacement)?;
    if full {
        Some(format!("{replacement}{time}")).filter(|_| !(instant && time.is_empty()))
    } else {
        (!instant).then(|| replacement.to_owned())
    }
}

/// Formats the text as the content of a narrative: escaped, with `<br/>` for line ends, and non-breaking
/// spaces where spaces would collapse. `None` if it has no visible character.
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
            // XML 1.0 does not allow these.
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
            let mut out = Vec::new();
            masked(&field(primitive, list), &mut Members::list(&mut out));
            let written = format!("{{{}}}", String::from_utf8(out).unwrap());
            let written: Map<String, serde_json::Value> = serde_json::from_str(&written).unwrap();
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
