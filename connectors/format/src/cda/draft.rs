//! Builds the document to return while it is read: markup that the table accepts, with holes for narrative
//! and identifiers. Everything else is left out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::civil::Date;
use lethe_core::{Change, Changed, Identifier, Span};

use super::envelope::{Hole, Skeleton};
use super::table::{self, Element, Rule};
use crate::PayloadError;
use crate::fhir::codes::LocalSystems;

/// Separates two parts of the text.
const BETWEEN: &str = "\n\n";
/// Maximum number of element names in the path of a change, from the innermost on.
const MAX_PATH: usize = 12;
/// Number of removals that are recorded one by one. After that, each path is recorded once per rule: an
/// element of four bytes would take some hundred bytes of memory and an audit row.
const MAX_REMOVALS: usize = 1 << 16;

/// The state of the document under construction.
pub(super) struct Draft<'c> {
    pub(super) local: &'c LocalSystems,
    pub(super) max_note_bytes: usize,
    /// The markup.
    pub(super) out: String,
    pub(super) holes: Vec<(usize, Hole)>,
    /// The note's text.
    pub(super) note: String,
    pub(super) parts: Vec<Span>,
    pub(super) identifiers: Vec<Identifier>,
    pub(super) changes: Vec<Change>,
    removals: usize,
    /// Removals that were recorded once, after the limit.
    noted: HashSet<(String, &'static str)>,
    pub(super) frames: Vec<Frame>,
    /// The names of the open elements, joined by dots.
    trail: String,
    /// When the document was written; ages are computed relative to it.
    pub(super) authored: Option<Date>,
    numbers: HashMap<(&'static str, String, Option<Arc<str>>), usize>,
    /// The sender's roots of ids with their numbers.
    roots: HashMap<String, usize>,
    /// The sender's names of referenced elements with their numbers.
    anchors: HashMap<String, usize>,
    /// Which of them are defined, by number from 1.
    defined: Vec<bool>,
}

/// An open element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) element: Element,
    /// Whether it is dropped.
    pub(super) gone: bool,
    /// Whether the bounds in it are dates.
    pub(super) dates: bool,
    /// The class in `classCode`, for the classes of entities.
    pub(super) class: Class,
    /// Length of the markup and number of holes after its start tag.
    start: (usize, usize),
    /// Position of its name in the trail.
    trail: usize,
}

/// The class of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Person,
    Place,
    Other,
}

/// A dropped element.
const GONE: Element = Element {
    name: "*",
    rule: Rule::Never,
};

/// The attributes of an element by their names in the table, each once.
#[derive(Debug, Default)]
pub(super) struct Attributes(pub(super) Vec<(&'static str, String)>);

impl Attributes {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(one, _)| *one == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Removes and returns the attribute; `None` if it is blank.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(one, _)| *one == name)?;
        let (_, value) = self.0.swap_remove(at);
        Some(value).filter(|value| !value.trim().is_empty())
    }
}

impl<'c> Draft<'c> {
    pub(super) fn new(local: &'c LocalSystems, max_note_bytes: usize) -> Self {
        Self {
            local,
            max_note_bytes,
            out: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(),
            holes: Vec::new(),
            note: String::new(),
            parts: Vec::new(),
            identifiers: Vec::new(),
            changes: Vec::new(),
            removals: 0,
            noted: HashSet::new(),
            frames: Vec::new(),
            trail: String::new(),
            authored: None,
            numbers: HashMap::new(),
            roots: HashMap::new(),
            anchors: HashMap::new(),
            defined: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Skeleton {
        Skeleton {
            out: self.out,
            holes: self.holes,
            parts: self.parts,
            identifiers: self.identifiers,
            changes: self.changes,
        }
    }

    /// Returns whether the current position is dropped.
    pub(super) fn gone(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.gone)
    }

    /// Returns the name of the element `above` the innermost one, which is 0.
    pub(super) fn name(&self, above: usize) -> &'static str {
        let frame = self.frames.iter().rev().nth(above);
        frame.map_or("", |frame| frame.element.name)
    }

    pub(super) fn rule(&self) -> Rule {
        self.frames.last().map_or(Rule::Never, |frame| frame.element.rule)
    }

    /// Starts an element with a known rule and writes its name.
    pub(super) fn open(&mut self, element: Element, class: Class) {
        let dates = self.frames.last().is_some_and(|frame| frame.dates);
        self.out.push('<');
        self.out.push_str(element.name);
        self.push(element, false, dates, class);
    }

    fn push(&mut self, element: Element, gone: bool, dates: bool, class: Class) {
        if !self.frames.is_empty() {
            self.trail.push('.');
        }
        self.frames.push(Frame {
            element,
            gone,
            dates,
            class,
            start: (0, 0),
            trail: self.trail.len(),
        });
        self.trail.push_str(element.name);
    }

    fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        self.trail.truncate(frame.trail.saturating_sub(1));
        Some(frame)
    }

    /// Starts an element that is dropped.
    pub(super) fn drop_element(&mut self, element: Option<Element>) {
        let within = self.gone();
        self.push(element.unwrap_or(GONE), true, false, Class::Other);
        if !within {
            self.removed(element.map_or("not in the table", |element| element.rule.word()));
        }
    }

    /// Ends the start tag.
    pub(super) fn opened(&mut self) {
        self.out.push('>');
        let start = (self.out.len(), self.holes.len());
        if let Some(frame) = self.frames.last_mut() {
            frame.start = start;
        }
    }

    /// Ends the innermost element.
    pub(super) fn close(&mut self) {
        let Some(frame) = self.pop() else { return };
        if frame.gone {
            return;
        }
        if frame.start == (self.out.len(), self.holes.len()) {
            self.out.pop();
            self.out.push_str("/>");
        } else {
            self.end_tag(frame.element.name);
        }
    }

    /// Ends the innermost element, whose end tag a hole writes.
    pub(super) fn closed(&mut self) {
        self.pop();
    }

    pub(super) fn end_tag(&mut self, name: &str) {
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    /// Writes an attribute, by its name in the table.
    pub(super) fn attribute(&mut self, name: &str, value: &str) {
        self.out.push(' ');
        self.out.push_str(name.trim_start_matches('@'));
        self.out.push_str("=\"");
        super::envelope::escape(value, &mut self.out);
        self.out.push('"');
    }

    /// Writes the remaining attributes that their own rows accept.
    pub(super) fn rest(&mut self, attributes: Attributes) {
        for (name, value) in attributes.0 {
            match table::accepted(name, &value) {
                Some(value) => self.attribute(name, &value),
                None => self.removed_at(name, "not in the table"),
            }
        }
    }

    pub(super) fn hole(&mut self, hole: Hole) {
        self.holes.push((self.out.len(), hole));
    }

    /// Returns the number of a part of the narrative; `None` if it is empty.
    ///
    /// # Errors
    /// An error if the narrative is too long.
    pub(super) fn part(&mut self, text: &str) -> Result<Option<usize>, PayloadError> {
        let Some(base) = self.block(text)? else {
            return Ok(None);
        };
        self.span(base, base + text.len()).map(Some)
    }

    /// Adds a block of text to the note. Returns its start; `None` if it is empty.
    ///
    /// # Errors
    /// An error if the narrative is too long.
    pub(super) fn block(&mut self, text: &str) -> Result<Option<usize>, PayloadError> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        if !self.note.is_empty() {
            self.note.push_str(BETWEEN);
        }
        let base = self.note.len();
        self.note.push_str(text);
        if self.note.len() > self.max_note_bytes {
            return Err(PayloadError::TooLarge);
        }
        Ok(Some(base))
    }

    /// Returns the start of the next block of text.
    pub(super) fn next_block(&self) -> usize {
        match self.note.len() {
            0 => 0,
            length => length + BETWEEN.len(),
        }
    }

    /// Returns the number of the part with this span.
    ///
    /// # Errors
    /// An error if it exceeds 4 GiB, the limit of spans.
    pub(super) fn span(&mut self, start: usize, end: usize) -> Result<usize, PayloadError> {
        self.parts
            .push(Span::new(start, end).map_err(|_| PayloadError::TooLarge)?);
        Ok(self.parts.len() - 1)
    }

    /// Returns the number of an identifier. Equal values with equal label and authority are one identifier.
    pub(super) fn identifier(
        &mut self,
        label: &'static str,
        value: &str,
        authority: Option<Arc<str>>,
    ) -> usize {
        let value = value.trim();
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
        self.changes.push(Change {
            path: self.path().to_owned().into(),
            rule: self.rule().word(),
            what: Changed::Replaced(number),
        });
        number
    }

    /// Returns the number of an id's root.
    pub(super) fn root(&mut self, root: &str) -> usize {
        let next = self.roots.len() + 1;
        *self.roots.entry(root.trim().to_owned()).or_insert(next)
    }

    /// Returns the number of an element's name.
    pub(super) fn anchor(&mut self, name: &str) -> usize {
        let next = self.anchors.len() + 1;
        *self.anchors.entry(name.trim().to_owned()).or_insert(next)
    }

    /// Writes the renumbered name of an element for references. A second element with the same name gets
    /// none.
    pub(super) fn anchored(&mut self, name: &str) {
        let number = self.anchor(name);
        self.defined.resize(self.anchors.len() + 1, false);
        let defined = self.defined.get_mut(number);
        if defined.is_some_and(|defined| !std::mem::replace(defined, true)) {
            self.attribute("ID", &format!("i{number}"));
        } else {
            self.removed_at("@ID", "reference");
        }
    }

    pub(super) fn removed(&mut self, rule: &'static str) {
        let path = self.path().to_owned();
        self.remove(path, rule);
    }

    pub(super) fn removed_at(&mut self, name: &'static str, rule: &'static str) {
        let path = [self.path(), name].join(".");
        self.remove(path, rule);
    }

    fn remove(&mut self, path: String, rule: &'static str) {
        self.removals += 1;
        if self.removals <= MAX_REMOVALS || self.noted.insert((path.clone(), rule)) {
            self.changes.push(Change {
                path: path.into(),
                rule,
                what: Changed::Removed,
            });
        }
    }

    /// Returns the current path. It is bounded, so that deep documents do not take more memory than their
    /// size.
    fn path(&self) -> &str {
        let from = self.frames.len().saturating_sub(MAX_PATH);
        let from = self.frames.get(from).map_or(0, |frame| frame.trail);
        self.trail.get(from..).unwrap_or_default()
    }
}
