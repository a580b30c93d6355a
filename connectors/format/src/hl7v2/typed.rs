//! Handles structured fields: extracts their identifiers and writes their returned part.
//!
//! An identifier is what people regard as one value, in its usual written form: a name is "Given Second
//! Family Suffix", a date is ISO 8601, an address is its street, its city and so on. Other components of a
//! field's type (check digits, authorities, validity) are dropped except short codes of HL7's tables.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lethe_core::{Change, Changed, Identifier, Known, KnownKind};

use super::codes::{Codes, is_range, is_unit};
use super::envelope::{Encoding, Hole, Words};
use super::escape::Codec;
use super::message::is_null;
use super::table::Rule;
use super::time::Stamp;
use crate::PayloadError;

/// Maximum number of identifiers in a message.
pub(super) const MAX_IDENTIFIERS: usize = 1 << 16;
/// Components after this one are never returned.
const MAX_COMPONENTS: usize = 13;

/// The message under construction.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) codec: Codec,
    pub(super) codes: Codes,
    /// The changes of the message; empty unless the message is to be returned.
    pub(super) changes: Vec<Change>,
    keeps_message: bool,
    /// The current field and its rule.
    place: (&'static str, &'static str),
    pub(super) text: String,
    pub(super) holes: Vec<(usize, Hole)>,
    pub(super) identifiers: Vec<Identifier>,
    pub(super) known: Vec<Known>,
    seen: HashSet<(KnownKind, String)>,
    /// The last component with an authority, and the authority: most ids of a message have the same.
    pub(super) assigner: (String, Option<Arc<str>>),
    /// Values that are replaced by numbers.
    stand_ins: HashMap<(char, String), usize>,
    /// The recorded removals: a segment or a field, the number of a field or 0, and the rule.
    gone: HashSet<(&'static str, usize, &'static str)>,
    /// The separator of the current components, and the number of the current one.
    separator: char,
    at: usize,
    /// The handled components of this repetition, one bit each.
    accounted: u32,
}

impl Draft {
    pub(super) fn new(codec: Codec, codes: Codes, keeps_message: bool) -> Self {
        Self {
            codec,
            codes,
            changes: Vec::new(),
            keeps_message,
            place: ("", ""),
            text: String::new(),
            holes: Vec::new(),
            identifiers: Vec::new(),
            known: Vec::new(),
            seen: HashSet::new(),
            assigner: (String::new(), None),
            stand_ins: HashMap::new(),
            gone: HashSet::new(),
            separator: codec.separators.component,
            at: 1,
            accounted: 0,
        }
    }

    /// Enters the field with that name.
    pub(super) const fn enter(&mut self, field: &'static str, rule: &'static str) {
        self.place = (field, rule);
    }

    /// Returns the name of the current field.
    pub(super) const fn field_name(&self) -> &'static str {
        self.place.0
    }

    /// Records that a part of the field was removed.
    pub(super) fn removed(&mut self, rule: &'static str) {
        self.removed_from(self.place.0, 0, rule);
    }

    /// Records that a field of the segment was removed, or the whole segment for number 0. Each is recorded
    /// once per segment name, so that a message cannot create more records than its format has fields.
    pub(super) fn removed_from(&mut self, segment: &'static str, number: usize, rule: &'static str) {
        if self.keeps_message && self.gone.insert((segment, number, rule)) {
            let path = match number {
                0 => Cow::Borrowed(segment),
                number => Cow::Owned(format!("{segment}-{number}")),
            };
            let what = Changed::Removed;
            self.changes.push(Change { path, rule, what });
        }
    }

    /// Leaves a hole here.
    pub(super) fn hole(&mut self, hole: Hole) {
        self.holes.push((self.text.len(), hole));
    }

    /// Writes the part of a field that the rule accepts, repetition by repetition.
    ///
    /// # Errors
    /// An escape sequence that cannot be undone, or more identifiers than [`MAX_IDENTIFIERS`].
    pub(super) fn field(&mut self, raw: &str, rule: Rule) -> Result<(), PayloadError> {
        if is_null(raw) {
            self.text.push_str(raw);
            return Ok(());
        }
        let separators = self.codec.separators;
        for (i, one) in separators.repetitions(raw).enumerate() {
            if i > 0 {
                self.text.extend(separators.repetition);
            }
            self.repetition(one, rule)?;
        }
        Ok(())
    }

    fn repetition(&mut self, raw: &str, rule: Rule) -> Result<(), PayloadError> {
        if raw.is_empty() {
            return Ok(());
        }
        let separators = self.codec.separators;
        self.start(separators.component);
        // The last component of any rule: XCN's type of id is its 13th.
        let components: Vec<&str> = separators.components(raw).take(MAX_COMPONENTS).collect();
        let parts = Parts(&components);
        self.apply(raw, &parts, rule)?;
        let unaccounted = (1..)
            .zip(&components)
            .any(|(n, one)| !one.is_empty() && self.accounted >> n & 1 == 0);
        if unaccounted || separators.components(raw).nth(MAX_COMPONENTS).is_some() {
            self.removed("component not on the list");
        }
        Ok(())
    }

    fn apply(&mut self, raw: &str, parts: &Parts<'_>, rule: Rule) -> Result<(), PayloadError> {
        match rule {
            Rule::Number => {
                self.all_accounted();
                self.shaped(1, raw, is_short_number, "not a short number");
            }
            Rule::Table(table) => {
                self.table(1, parts.at(1), table);
            }
            Rule::MessageType => {
                self.table(1, parts.at(1), "0076");
                self.table(2, parts.at(2), "0003");
                self.structure(parts.at(3));
            }
            Rule::Coded(table) => {
                for code in [1, 4] {
                    self.code(code, parts, table);
                    self.system(code + 2, parts, table);
                }
                for text in [2, 5, 7, 8, 9] {
                    if !parts.at(text).is_empty() {
                        self.account(text);
                        self.removed("text of a code");
                    }
                }
            }
            Rule::Observation => {
                let fits = [1, 4].iter().any(|&n| self.fits(n, parts, ""));
                if !fits {
                    self.stand_in('L', raw);
                    return Ok(());
                }
                return self.apply(raw, parts, Rule::Coded(""));
            }
            Rule::SubId if is_short_number(raw) => {
                self.all_accounted();
                self.text.push_str(raw);
            }
            Rule::SubId => self.stand_in('S', raw),
            Rule::Unit => {
                self.shaped(1, parts.at(1), is_unit, "not a unit of UCUM");
            }
            Rule::Range => {
                self.all_accounted();
                self.shaped(1, raw, is_range, "not a range of numbers");
            }
            Rule::Date => self.date(parts.at(1))?,
            Rule::Name(whose) => self.whole_name(parts, whose)?,
            Rule::Person => self.person(parts)?,
            Rule::Address(known) => self.address(parts, known)?,
            Rule::Id(label, known) => self.id(parts, label, known)?,
            Rule::Phone(known) => self.phone(parts, known)?,
            Rule::Organization(label) => {
                self.whole(1, label, parts.at(1))?;
                self.whole(3, "IDNUM", parts.at(3))?;
            }
            Rule::Location => {
                let labels = ["DEPARTMENT", "ROOM", "ROOM", "HOSPITAL"];
                for (n, label) in (1..).zip(labels) {
                    self.whole(n, label, self.first(parts.at(n)))?;
                }
                for n in 7..=9 {
                    self.whole(n, "LOCATION-OTHER", parts.at(n))?;
                }
            }
            Rule::Text(label) => {
                self.whole(1, label, self.first(parts.at(1)))?;
            }
            // The code that reads the head and the narrative writes these.
            Rule::Separators | Rule::Charset | Rule::Narrative | Rule::Value => {}
        }
        Ok(())
    }

    /// Starts a list of components with this separator.
    pub(super) const fn start(&mut self, separator: char) {
        (self.separator, self.at, self.accounted) = (separator, 1, 0);
    }

    /// Marks component `n` as written, or its removal as recorded.
    const fn account(&mut self, n: usize) {
        if n < u32::BITS as usize {
            self.accounted |= 1 << n;
        }
    }

    const fn all_accounted(&mut self) {
        self.accounted = u32::MAX;
    }

    /// Marks this component as the only one written.
    pub(super) const fn only_written(&mut self, n: usize) {
        self.accounted = 0;
        self.account(n);
    }

    /// Moves to component `n`.
    fn go(&mut self, n: usize) {
        self.text
            .extend(std::iter::repeat_n(self.separator, n.saturating_sub(self.at)));
        self.at = self.at.max(n);
        self.account(n);
    }

    /// Writes component `n` unchanged if it is a code of the table.
    pub(super) fn table(&mut self, n: usize, raw: &str, table: &str) {
        let fits = !raw.is_empty() && self.codes.in_table(table, raw);
        self.component(n, raw, fits, "not in its table");
    }

    /// Writes component `n` unchanged if it has that shape.
    pub(super) fn shaped(&mut self, n: usize, raw: &str, fits: impl Fn(&str) -> bool, rule: &'static str) {
        self.component(n, raw, fits(raw), rule);
    }

    fn component(&mut self, n: usize, raw: &str, fits: bool, rule: &'static str) {
        if raw.is_empty() {
            return;
        }
        if fits {
            self.go(n);
            self.text.push_str(raw);
        } else {
            self.account(n);
            self.removed(rule);
        }
    }

    /// Writes a letter and the number of this value among those of the message with the same treatment.
    fn stand_in(&mut self, letter: char, raw: &str) {
        self.all_accounted();
        if !raw.is_empty() {
            let next = self.stand_ins.len() + 1;
            let number = *self.stand_ins.entry((letter, raw.to_owned())).or_insert(next);
            self.text.extend([letter.to_string(), number.to_string()]);
            self.removed("not a code of its system");
        }
    }

    /// Returns whether the code in component `n` belongs to its system, which is two components later, or to
    /// the table.
    fn fits(&self, n: usize, parts: &Parts<'_>, table: &str) -> bool {
        let (code, system) = (parts.at(n), parts.at(n + 2));
        self.codes.in_system(system, code) || self.codes.in_table(table, code)
    }

    /// Writes the code in component `n` if it fits.
    pub(super) fn code(&mut self, n: usize, parts: &Parts<'_>, table: &str) {
        let fits = !parts.at(n).is_empty() && self.fits(n, parts, table);
        self.component(n, parts.at(n), fits, "not a code of its system");
    }

    /// Writes the code system in component `n` if the code two components earlier fits.
    pub(super) fn system(&mut self, n: usize, parts: &Parts<'_>, table: &str) {
        let system = parts.at(n);
        let fits = !system.is_empty() && self.fits(n - 2, parts, table) && self.codes.is_system(system);
        self.component(n, system, fits, "not a known code system");
    }

    /// Writes the structure of a message (table 0354): type and event, joined.
    fn structure(&mut self, raw: &str) {
        let codes = self.codes.clone();
        let fits = |raw: &str| match raw.split_once('_') {
            Some((kind, event)) => codes.in_table("0076", kind) && codes.in_table("0003", event),
            None => codes.in_table("0076", raw),
        };
        self.shaped(3, raw, fits, "not in its table");
    }

    /// Leaves a hole for part `part` of the narrative as component `n`.
    pub(super) fn part(&mut self, n: usize, part: usize, encoding: Encoding) {
        self.go(n);
        self.hole(Hole::Part(part, encoding));
    }

    /// An identifier that is component `n` and nothing else. Gives its value back.
    pub(super) fn whole(&mut self, n: usize, label: &'static str, raw: &str) -> Result<String, PayloadError> {
        let value = self.codec.line(raw)?;
        self.whole_value(n, label, &value)?;
        Ok(value)
    }

    pub(super) fn whole_value(
        &mut self,
        n: usize,
        label: &'static str,
        value: &str,
    ) -> Result<(), PayloadError> {
        self.assigned(n, label, value, None)
    }

    /// Does the same as [`Draft::whole`] for a value with this authority.
    pub(super) fn assigned(
        &mut self,
        n: usize,
        label: &'static str,
        value: &str,
        authority: Option<Arc<str>>,
    ) -> Result<(), PayloadError> {
        if !value.is_empty() {
            let identifier = self.identifier(label, value, authority)?;
            self.go(n);
            self.hole(Hole::Whole(identifier));
        }
        Ok(())
    }

    /// Leaves a hole for a name whose family name is component `n`.
    pub(super) fn name_hole(&mut self, n: usize, identifier: usize, words: Words) {
        self.go(n);
        self.hole(Hole::Name(identifier, words, self.separator));
        (n..=n + 3).for_each(|part| self.account(part));
        self.at = n + 3;
    }

    fn date(&mut self, raw: &str) -> Result<(), PayloadError> {
        let value = self.codec.line(raw)?;
        if value.is_empty() {
            return Ok(());
        }
        let stamp = Stamp::read(&value);
        let (date, time) = stamp.map_or_else(|| (value.clone(), ""), |stamp| (stamp.iso(), stamp.time));
        let identifier = self.identifier("DATE", &date, None)?;
        self.go(1);
        self.hole(Hole::Date(identifier, time.into()));
        Ok(())
    }

    /// Returns the first sub-component.
    pub(super) fn first<'a>(&self, component: &'a str) -> &'a str {
        let first = self.codec.separators.subs(component).next();
        first.filter(|raw| !is_null(raw)).unwrap_or_default()
    }

    pub(super) fn identifier(
        &mut self,
        label: &'static str,
        value: &str,
        authority: Option<Arc<str>>,
    ) -> Result<usize, PayloadError> {
        if self.identifiers.len() == MAX_IDENTIFIERS {
            return Err(PayloadError::TooComplex);
        }
        self.identifiers.push(Identifier {
            label,
            value: value.into(),
            authority,
        });
        let identifier = self.identifiers.len() - 1;
        if self.keeps_message {
            self.changes.push(Change {
                path: Cow::Borrowed(self.place.0),
                rule: self.place.1,
                what: Changed::Replaced(identifier),
            });
        }
        Ok(identifier)
    }

    pub(super) fn know(&mut self, kind: KnownKind, value: &str) {
        if !value.is_empty() && self.seen.insert((kind, value.to_owned())) {
            self.known.push(Known {
                kind,
                value: value.into(),
            });
        }
    }
}

/// Components or sub-components, numbered from 1. A null one counts as missing.
pub(super) struct Parts<'a>(pub(super) &'a [&'a str]);

impl<'a> Parts<'a> {
    pub(super) fn at(&self, n: usize) -> &'a str {
        self.0
            .get(n - 1)
            .copied()
            .filter(|raw| !is_null(raw))
            .unwrap_or_default()
    }
}

/// Returns whether it is empty or a number of up to four digits.
fn is_short_number(raw: &str) -> bool {
    raw.len() <= 4 && raw.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether it is empty or a short word.
pub(super) fn is_code(raw: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b" ./_+-*:<>".contains(&byte);
    raw.len() <= 20 && raw.bytes().all(fits)
}
