//! Reads the narrative of a section (CDA R2, section 4.3.5; NarrativeBlock.xsd) as lines of text, and returns
//! it with its paragraphs, lists and tables; each run of text is a part.
//!
//! Elements where the schema does not allow them are returned as allowed ones: a table in a cell as a list, a
//! block within running text as `content`. HTML elements become those of CDA.

use super::draft::{Attributes, Draft};
use super::envelope::Hole;
use super::table;
use crate::PayloadError;
use crate::markup::Lines;

/// A narrative while it is read.
#[derive(Debug)]
pub(super) struct Narrative {
    lines: Lines,
    /// Start of its text within the note's.
    base: usize,
    /// The open elements in it.
    open: Vec<Open>,
    run: Option<Run>,
}

/// An element in a narrative, and its name in the returned document, if it has one.
#[derive(Clone, Copy, Debug)]
struct Open {
    tag: Option<&'static str>,
    /// Whether it begins and ends a line.
    breaks: bool,
    start: (usize, usize),
}

/// A run of text between two tags: whether it has white space at its ends, and other characters.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    before: bool,
    solid: bool,
    after: bool,
}

/// Returns CDA's name for an element, or for one of HTML that occurs in narratives.
fn named(local: &[u8]) -> &'static str {
    const OWN: [&str; 21] = [
        "content",
        "linkHtml",
        "sub",
        "sup",
        "br",
        "footnote",
        "footnoteRef",
        "renderMultiMedia",
        "paragraph",
        "list",
        "item",
        "caption",
        "table",
        "colgroup",
        "col",
        "thead",
        "tfoot",
        "tbody",
        "tr",
        "th",
        "td",
    ];
    match local {
        b"p" => "paragraph",
        b"ul" | b"ol" => "list",
        b"li" => "item",
        b"b" | b"i" | b"em" | b"strong" | b"u" | b"span" => "content",
        b"a" => "linkHtml",
        _ => OWN
            .into_iter()
            .find(|name| name.as_bytes() == local)
            .unwrap_or_default(),
    }
}

/// Returns whether the schema allows the element in that parent.
fn allows(parent: &str, name: &str) -> bool {
    let inline = matches!(
        name,
        "content" | "linkHtml" | "sub" | "sup" | "br" | "footnote" | "footnoteRef" | "renderMultiMedia"
    );
    let note = matches!(name, "footnote" | "footnoteRef");
    match parent {
        "text" => inline || matches!(name, "paragraph" | "list" | "table"),
        "footnote" => inline && !note || matches!(name, "paragraph" | "list" | "table"),
        "item" => inline || matches!(name, "paragraph" | "list" | "table" | "caption"),
        "td" => inline || matches!(name, "paragraph" | "list"),
        "th" | "content" => inline,
        "paragraph" => inline || name == "caption",
        "caption" => note || matches!(name, "linkHtml" | "sub" | "sup"),
        "linkHtml" => note,
        "renderMultiMedia" => name == "caption",
        "list" => matches!(name, "caption" | "item"),
        "table" => matches!(name, "caption" | "col" | "colgroup" | "thead" | "tfoot" | "tbody"),
        "colgroup" => name == "col",
        "thead" | "tfoot" | "tbody" => name == "tr",
        "tr" => matches!(name, "th" | "td"),
        _ => false,
    }
}

/// Returns whether the element may directly contain text.
fn is_mixed(tag: &str) -> bool {
    matches!(
        tag,
        "text"
            | "footnote"
            | "item"
            | "td"
            | "th"
            | "content"
            | "paragraph"
            | "caption"
            | "linkHtml"
            | "sub"
            | "sup"
    )
}

/// Returns the element's name in the returned document, and whether it begins and ends a line; `None` if only
/// its text is kept.
fn placed(parent: &str, name: &str) -> Option<(&'static str, bool)> {
    let own = named(name.as_bytes());
    if allows(parent, own) {
        return Some((own, false));
    }
    let block = matches!(own, "paragraph" | "list" | "item" | "table" | "tr" | "caption");
    match (parent, own) {
        ("td", "table") => Some(("list", false)),
        ("list", "tr") => Some(("item", false)),
        (_, "td" | "th") if allows(parent, "content") => Some(("content", false)),
        _ if block && allows(parent, "content") => Some(("content", true)),
        _ => None,
    }
}

/// Starts and ends lines, cells and blocks at an element.
pub(super) fn layout(lines: &mut Lines, local: &[u8], starts: bool) {
    match local {
        b"paragraph" | b"list" | b"table" | b"p" | b"ul" | b"ol" => lines.block(true),
        b"item" | b"caption" | b"thead" | b"tbody" | b"tfoot" | b"tr" | b"li" | b"div" => lines.block(false),
        b"td" | b"th" if starts => lines.cell(),
        b"br" if starts => lines.line(),
        _ => {}
    }
}

impl Narrative {
    pub(super) fn new(draft: &Draft<'_>) -> Self {
        Self {
            lines: Lines::default(),
            base: draft.next_block(),
            open: Vec::new(),
            run: None,
        }
    }

    fn parent(&self) -> &'static str {
        self.open.iter().rev().find_map(|open| open.tag).unwrap_or("text")
    }

    /// Starts an element.
    ///
    /// # Errors
    /// An error if there are too many parts.
    pub(super) fn start(
        &mut self,
        draft: &mut Draft<'_>,
        local: &[u8],
        attributes: Attributes,
    ) -> Result<(), PayloadError> {
        self.flush(draft)?;
        layout(&mut self.lines, local, true);
        let parent = self.parent();
        let own = named(local);
        let place = if draft.gone() { None } else { placed(parent, own) };
        let place = place.filter(|(tag, _)| match *tag {
            "footnoteRef" => attributes.get("@IDREF").is_some(),
            "renderMultiMedia" => attributes.get("@referencedObject").is_some(),
            _ => true,
        });
        let mut open = Open {
            tag: None,
            breaks: false,
            start: (0, 0),
        };
        if let Some((tag, breaks)) = place {
            if tag == "content" && matches!(own, "td" | "th") {
                draft.out.push(' ');
            }
            if breaks {
                draft.out.push_str("<br/>");
            }
            draft.out.push('<');
            draft.out.push_str(tag);
            let mut attributes = attributes;
            if local == b"ol" {
                attributes.take("@listType");
                draft.attribute("@listType", "ordered");
            }
            self.attributes(draft, tag == own, attributes);
            draft.out.push('>');
            open = Open {
                tag: Some(tag),
                breaks,
                start: (draft.out.len(), draft.holes.len()),
            };
        } else if !draft.gone() {
            draft.removed_at(if own.is_empty() { "*" } else { own }, "narrative");
        }
        self.open.push(open);
        Ok(())
    }

    fn attributes(&self, draft: &mut Draft<'_>, as_itself: bool, mut attributes: Attributes) {
        if let Some(name) = attributes.take("@ID") {
            draft.anchored(&name);
        }
        if let Some(name) = attributes.take("@IDREF") {
            let number = draft.anchor(&name);
            draft.attribute("@IDREF", &format!("i{number}"));
        }
        if let Some(names) = attributes.take("@referencedObject") {
            let names: Vec<String> = names
                .split_whitespace()
                .map(|name| format!("i{}", draft.anchor(name)))
                .collect();
            draft.attribute("@referencedObject", &names.join(" "));
        }
        if let Some(target) = attributes.take("@href") {
            match target.strip_prefix('#').filter(|name| !name.trim().is_empty()) {
                Some(name) => {
                    let number = draft.anchor(name);
                    draft.attribute("@href", &format!("#i{number}"));
                }
                None => draft.removed_at("@href", "reference"),
            }
        }
        for (name, value) in attributes.0 {
            // An element that is returned under another name loses its attributes.
            let fits = as_itself || matches!(name, "@styleCode" | "@language");
            match table::accepted(name, &value).filter(|_| fits) {
                Some(value) => draft.attribute(name, &value),
                None => draft.removed_at(name, "narrative"),
            }
        }
    }

    /// Ends an element.
    ///
    /// # Errors
    /// An error if there are too many parts.
    pub(super) fn end(&mut self, draft: &mut Draft<'_>, local: &[u8]) -> Result<(), PayloadError> {
        self.flush(draft)?;
        layout(&mut self.lines, local, false);
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let Some(tag) = open.tag else { return Ok(()) };
        if open.start == (draft.out.len(), draft.holes.len()) {
            draft.out.pop();
            draft.out.push_str("/>");
        } else {
            draft.end_tag(tag);
        }
        if open.breaks {
            draft.out.push_str("<br/>");
        }
        Ok(())
    }

    pub(super) fn text(&mut self, text: &str) {
        let lines = &mut self.lines;
        let run = self.run.get_or_insert_with(|| {
            lines.mark();
            Run::default()
        });
        for c in text.chars() {
            match (c.is_whitespace(), run.solid) {
                (true, true) => run.after = true,
                (true, false) => run.before = true,
                _ => (run.solid, run.after) = (true, false),
            }
            lines.flow(c);
        }
    }

    /// Ends a run of text.
    fn flush(&mut self, draft: &mut Draft<'_>) -> Result<(), PayloadError> {
        let Some(run) = self.run.take() else {
            return Ok(());
        };
        let marked = self.lines.marked();
        let mixed = is_mixed(self.parent());
        let writes = mixed && !draft.gone();
        if writes && run.before {
            draft.out.push(' ');
        }
        if let Some((start, end)) = marked {
            let part = draft.span(self.base + start, self.base + end)?;
            if writes {
                draft.hole(Hole::Part(part, false));
            } else if !draft.gone() {
                draft.removed_at("*", "narrative");
            }
        }
        if writes && run.after {
            draft.out.push(' ');
        }
        Ok(())
    }

    /// Ends the narrative.
    ///
    /// # Errors
    /// An error if it is too long.
    pub(super) fn finish(mut self, draft: &mut Draft<'_>) -> Result<(), PayloadError> {
        self.flush(draft)?;
        draft.block(&self.lines.finish())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_place_is_given_back_as_what_has_one() {
        for (parent, name, is) in [
            ("text", "table", Some(("table", false))),
            ("td", "table", Some(("list", false))),
            ("list", "tbody", None),
            ("list", "tr", Some(("item", false))),
            ("item", "td", Some(("content", false))),
            ("paragraph", "list", Some(("content", true))),
            ("content", "paragraph", Some(("content", true))),
            ("text", "ul", Some(("list", false))),
            ("text", "span", Some(("content", false))),
            ("text", "script", None),
            ("sub", "paragraph", None),
        ] {
            assert_eq!(placed(parent, name), is, "{name} in {parent}");
        }
    }

    #[test]
    fn a_placed_element_is_allowed_where_it_is_placed() {
        let names = [
            "content",
            "td",
            "table",
            "paragraph",
            "item",
            "caption",
            "tr",
            "list",
            "sub",
            "br",
        ];
        for parent in names {
            for name in names {
                if let Some((tag, _)) = placed(parent, name) {
                    assert!(allows(parent, tag), "{tag} in {parent}");
                }
            }
        }
    }
}
