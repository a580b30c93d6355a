//! Structured fields: which identifiers they hold, and what stays of the field.
//!
//! An identifier is what a reader would take for one thing, in the form in which a reader would write it: a name is
//! "Given Second Family Suffix", a date is ISO 8601, an address is its street, its city and so on. Of what else a
//! field's type has room for (check digits, authorities, validity), nothing stays but short codes of HL7's tables.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use lethe_core::{Change, Changed, Identifier, Known, KnownKind};

use super::codes::{Codes, is_range, is_unit};

use super::envelope::{Encoding, Hole, Words};
use super::escape::Codec;
use super::message::is_null;
use super::table::{Rule, Whose};
use super::time::Stamp;
use crate::Problem;

/// A message with more identifiers than this is refused.
pub(super) const MAX_IDENTIFIERS: usize = 1 << 16;

/// The message under construction.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) codec: Codec,
    pub(super) codes: Codes,
    /// What does not come back as it came; nothing is added unless the message is to be given back.
    pub(super) changes: Vec<Change>,
    keeps_message: bool,
    /// The field that is being written, and the rule that is applied to it.
    place: (&'static str, &'static str),
    pub(super) text: String,
    pub(super) holes: Vec<(usize, Hole)>,
    pub(super) identifiers: Vec<Identifier>,
    pub(super) known: Vec<Known>,
    seen: HashSet<(KnownKind, String)>,
    /// Values that a number stands in for.
    stand_ins: HashMap<(char, String), usize>,
    /// What separates the components that are written, and which of them is.
    separator: char,
    at: usize,
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
            stand_ins: HashMap::new(),
            separator: codec.separators.component,
            at: 1,
        }
    }

    /// Goes on to the field of that name.
    pub(super) const fn enter(&mut self, field: &'static str, rule: &'static str) {
        self.place = (field, rule);
    }

    /// Notes that something of the field, or of `path`, is gone.
    pub(super) fn removed(&mut self, path: Option<String>, rule: &'static str) {
        if self.keeps_message {
            let path = path.map_or(Cow::Borrowed(self.place.0), Cow::Owned);
            let what = Changed::Removed;
            self.changes.push(Change { path, rule, what });
        }
    }

    /// Leaves a hole here.
    pub(super) fn hole(&mut self, hole: Hole) {
        self.holes.push((self.text.len(), hole));
    }

    /// Writes what the rule lets through of a field, repetition by repetition.
    ///
    /// # Errors
    /// An escape sequence that cannot be undone, or more identifiers than [`MAX_IDENTIFIERS`].
    pub(super) fn field(&mut self, raw: &str, rule: Rule) -> Result<(), Problem> {
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

    fn repetition(&mut self, raw: &str, rule: Rule) -> Result<(), Problem> {
        let separators = self.codec.separators;
        self.start(separators.component);
        // The most that a rule looks at: XCN's type of id is its 13th.
        let components: Vec<&str> = separators.components(raw).take(13).collect();
        let parts = Parts(&components);
        match rule {
            Rule::Number => {
                self.shaped(1, raw, is_short_number, "not a short number");
            }
            Rule::Table(table) => {
                self.table(1, parts.at(1), table);
                self.only_first(&components);
            }
            Rule::MessageType => {
                self.table(1, parts.at(1), "0076");
                self.table(2, parts.at(2), "0003");
                self.structure(parts.at(3));
            }
            Rule::Coded(table) => {
                for code in [1, 4] {
                    self.code(code, &parts, table);
                    self.system(code + 2, &parts, table);
                }
                for text in [2, 5, 7, 8, 9] {
                    if !parts.at(text).is_empty() {
                        self.removed(None, "text of a code");
                    }
                }
            }
            Rule::Observation => {
                let fits = [1, 4].iter().any(|&n| self.fits(n, &parts, ""));
                if !fits {
                    self.stand_in('L', raw);
                    return Ok(());
                }
                return self.repetition(raw, Rule::Coded(""));
            }
            Rule::SubId if is_short_number(raw) => self.text.push_str(raw),
            Rule::SubId => self.stand_in('S', raw),
            Rule::Unit => {
                self.shaped(1, parts.at(1), is_unit, "not a unit of UCUM");
                self.only_first(&components);
            }
            Rule::Range => self.shaped(1, raw, is_range, "not a range of numbers"),
            Rule::Date => self.date(parts.at(1))?,
            Rule::Name(whose) => self.whole_name(&parts, whose)?,
            Rule::Person => self.person(&parts)?,
            Rule::Address(known) => self.address(&parts, known)?,
            Rule::Id(label, known) => self.id(&parts, label, known)?,
            Rule::Phone(known) => self.phone(&parts, known)?,
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
            // Written by those who read the head and the narrative.
            Rule::Separators | Rule::Charset | Rule::Narrative | Rule::Value => {}
        }
        Ok(())
    }

    /// Starts a list of components with this separator.
    pub(super) const fn start(&mut self, separator: char) {
        (self.separator, self.at) = (separator, 1);
    }

    /// Goes on to component `n`.
    fn go(&mut self, n: usize) {
        self.text
            .extend(std::iter::repeat_n(self.separator, n.saturating_sub(self.at)));
        self.at = self.at.max(n);
    }

    /// Writes component `n` as it is if it is a code of the table.
    pub(super) fn table(&mut self, n: usize, raw: &str, table: &str) {
        let fits = self.codes.in_table(table, raw);
        self.component(n, raw, fits, "not in its table");
    }

    /// Writes component `n` as it is if it is of that shape.
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
            self.removed(None, rule);
        }
    }

    /// Writes a letter and the number of this value among those of the message that are replaced so.
    fn stand_in(&mut self, letter: char, raw: &str) {
        if !raw.is_empty() {
            let next = self.stand_ins.len() + 1;
            let number = *self.stand_ins.entry((letter, raw.to_owned())).or_insert(next);
            self.text.extend([letter.to_string(), number.to_string()]);
            self.removed(None, "not a code of its system");
        }
    }

    /// Whether the code that is component `n` is one of its system, which is the second after it, or of the table.
    fn fits(&self, n: usize, parts: &Parts<'_>, table: &str) -> bool {
        let (code, system) = (parts.at(n), parts.at(n + 2));
        self.codes.in_system(system, code) || self.codes.in_table(table, code)
    }

    /// Writes the code that is component `n` if it fits.
    pub(super) fn code(&mut self, n: usize, parts: &Parts<'_>, table: &str) {
        let fits = self.fits(n, parts, table);
        self.component(n, parts.at(n), fits, "not a code of its system");
    }

    /// Writes the code system that is component `n`, if the code that is the second before it fits.
    pub(super) fn system(&mut self, n: usize, parts: &Parts<'_>, table: &str) {
        let system = parts.at(n);
        let fits = self.fits(n - 2, parts, table) && self.codes.is_system(system);
        self.component(n, system, fits, "not a known code system");
    }

    /// The structure of a message (table 0354): type and event, joined.
    fn structure(&mut self, raw: &str) {
        let codes = self.codes.clone();
        let fits = |raw: &str| match raw.split_once('_') {
            Some((kind, event)) => codes.in_table("0076", kind) && codes.in_table("0003", event),
            None => codes.in_table("0076", raw),
        };
        self.shaped(3, raw, fits, "not in its table");
    }

    /// Notes that components after the first are gone, if there are any.
    fn only_first(&mut self, components: &[&str]) {
        if components.iter().skip(1).any(|one| !one.is_empty()) {
            self.removed(None, "component not on the list");
        }
    }

    /// Leaves a hole for part `part` of the narrative as component `n`.
    pub(super) fn part(&mut self, n: usize, part: usize, encoding: Encoding) {
        self.go(n);
        self.hole(Hole::Part(part, encoding));
    }

    /// An identifier that is component `n` and nothing else. Gives its value back.
    fn whole(&mut self, n: usize, label: &'static str, raw: &str) -> Result<String, Problem> {
        let value = self.codec.line(raw)?;
        self.whole_value(n, label, &value)?;
        Ok(value)
    }

    fn whole_value(&mut self, n: usize, label: &'static str, value: &str) -> Result<(), Problem> {
        if !value.is_empty() {
            let identifier = self.identifier(label, value)?;
            self.go(n);
            self.hole(Hole::Whole(identifier));
        }
        Ok(())
    }

    fn date(&mut self, raw: &str) -> Result<(), Problem> {
        let value = self.codec.line(raw)?;
        if value.is_empty() {
            return Ok(());
        }
        let stamp = Stamp::read(&value);
        let (date, time) = stamp.map_or_else(|| (value.clone(), ""), |stamp| (stamp.iso(), stamp.time));
        let identifier = self.identifier("DATE", &date)?;
        self.hole(Hole::Date(identifier, time.into()));
        Ok(())
    }

    /// A name whose family name is component `n`. Gives it back without its suffix, as narrative has it.
    fn name(&mut self, n: usize, parts: &Parts<'_>, label: &'static str) -> Result<String, Problem> {
        let family = self.codec.line(self.first(parts.at(n)))?;
        let given = self.codec.line(parts.at(n + 1))?;
        let second = self.codec.line(parts.at(n + 2))?;
        let suffix = self.codec.line(parts.at(n + 3))?;
        let count = |text: &str| text.split_whitespace().count();
        let words = Words {
            family: count(&family),
            given: count(&given),
            second: count(&second),
            suffix: count(&suffix),
        };
        let short = joined(&[&given, &second, &family]);
        let whole = joined(&[&short, &suffix]);
        if !whole.is_empty() {
            let identifier = self.identifier(label, &whole)?;
            self.go(n);
            self.hole(Hole::Name(identifier, words, self.separator));
            self.at = n + 3;
        }
        Ok(short)
    }

    fn whole_name(&mut self, parts: &Parts<'_>, whose: Whose) -> Result<(), Problem> {
        let kind = match whose {
            Whose::Patient => KnownKind::Patient,
            Whose::Relative => KnownKind::Relative,
        };
        let name = self.name(1, parts, "PATIENT")?;
        self.know(kind, &name);
        // The family name before marriage and the partner's (FN.3, FN.5) go, but the narrative may have them.
        let family: Vec<&str> = self.codec.separators.subs(parts.at(1)).take(5).collect();
        for n in [3, 5] {
            let other = self.codec.line(Parts(&family).at(n))?;
            self.know(kind, &other);
        }
        self.table(7, parts.at(7), "0200");
        Ok(())
    }

    fn person(&mut self, parts: &Parts<'_>) -> Result<(), Problem> {
        let subs: Vec<&str> = self.codec.separators.subs(parts.at(1)).take(5).collect();
        if let (true, Some(sub)) = (subs.len() > 1, self.codec.separators.sub) {
            // NDL has all of it in its first component.
            self.start(sub);
            return self.id_and_name(&Parts(&subs), "IDNUM");
        }
        self.id_and_name(parts, label_of(parts.at(13)).unwrap_or("IDNUM"))?;
        self.table(13, parts.at(13), "0203");
        Ok(())
    }

    fn id_and_name(&mut self, parts: &Parts<'_>, label: &'static str) -> Result<(), Problem> {
        // Some senders write the name where the id belongs.
        let id = self.codec.line(parts.at(1))?;
        if id.contains([' ', ',']) && id.chars().any(char::is_alphabetic) {
            self.whole_value(1, "DOCTOR", &id)?;
            self.know(KnownKind::Clinician, &id);
        } else {
            self.whole_value(1, label, &id)?;
        }
        let name = self.name(2, parts, "DOCTOR")?;
        self.know(KnownKind::Clinician, &name);
        Ok(())
    }

    fn address(&mut self, parts: &Parts<'_>, known: bool) -> Result<(), Problem> {
        // The street address as a whole is the first sub-component; its name and number follow for those who sort by them.
        let subs: Vec<&str> = self.codec.separators.subs(parts.at(1)).take(3).collect();
        let subs = Parts(&subs);
        let mut street = self.codec.line(subs.at(1))?;
        if street.is_empty() {
            street = joined(&[&self.codec.line(subs.at(3))?, &self.codec.line(subs.at(2))?]);
        }
        self.whole_value(1, "STREET", &street)?;
        let other = self.whole(2, "STREET", parts.at(2))?;
        let city = self.whole(3, "CITY", parts.at(3))?;
        let state = self.whole(4, "STATE", parts.at(4))?;
        let zip = self.whole(5, "ZIP", parts.at(5))?;
        self.whole(6, "COUNTRY", parts.at(6))?;
        self.table(7, parts.at(7), "0190");
        for n in 8..=10 {
            self.whole(n, "LOCATION-OTHER", parts.at(n))?;
        }
        if known {
            let area = joined(&[&state, &zip]);
            let lines = [&street, &other, &city, &area];
            let lines: Vec<&str> = lines
                .iter()
                .map(|line| line.as_str())
                .filter(|line| !line.is_empty())
                .collect();
            self.know(KnownKind::Address, &lines.join(", "));
        }
        Ok(())
    }

    fn id(&mut self, parts: &Parts<'_>, label: &'static str, known: bool) -> Result<(), Problem> {
        let label = label_of(parts.at(5)).unwrap_or(label);
        let value = self.whole(1, label, parts.at(1))?;
        self.table(5, parts.at(5), "0203");
        if known {
            let kind = match label {
                "MEDICALRECORD" => KnownKind::MedicalRecord,
                "SSN" => KnownKind::SocialSecurity,
                "ACCOUNT" => KnownKind::Account,
                "HEALTHPLAN" => KnownKind::HealthPlan,
                _ => KnownKind::Other,
            };
            self.know(kind, &value);
        }
        Ok(())
    }

    fn phone(&mut self, parts: &Parts<'_>, known: bool) -> Result<(), Problem> {
        let mut number = self.codec.line(parts.at(1))?;
        if number.is_empty() {
            let written = [("+", 5, ""), ("(", 6, ")"), ("", 7, ""), ("x", 8, "")];
            for (before, n, after) in written {
                let digits = self.codec.line(parts.at(n))?;
                if !digits.is_empty() {
                    let digits = digits.trim_start_matches('+');
                    number = joined(&[&number, &format!("{before}{digits}{after}")]);
                }
            }
        }
        if number.is_empty() {
            number = self.codec.line(parts.at(12))?;
        }
        let label = match parts.at(3) {
            _ if number.contains('@') => "EMAIL",
            _ if number.contains("://") => "URL",
            "FX" => "FAX",
            _ => "PHONE",
        };
        self.whole_value(1, label, &number)?;
        self.table(2, parts.at(2), "0201");
        self.table(3, parts.at(3), "0202");
        let mail = self.whole(4, "EMAIL", parts.at(4))?;
        if known {
            let kind = if label == "EMAIL" {
                KnownKind::Email
            } else {
                KnownKind::Phone
            };
            self.know(kind, &number);
            self.know(KnownKind::Email, &mail);
        }
        Ok(())
    }

    /// The first sub-component.
    fn first<'a>(&self, component: &'a str) -> &'a str {
        let first = self.codec.separators.subs(component).next();
        first.filter(|raw| !is_null(raw)).unwrap_or_default()
    }

    fn identifier(&mut self, label: &'static str, value: &str) -> Result<usize, Problem> {
        if self.identifiers.len() == MAX_IDENTIFIERS {
            return Err(Problem::TooComplex);
        }
        self.identifiers.push(Identifier {
            label,
            value: value.into(),
            authority: None,
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

/// Components or sub-components, numbered from 1. One that is null is none.
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

/// Whether it is a number of up to four digits, or none.
fn is_short_number(raw: &str) -> bool {
    raw.len() <= 4 && raw.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether it is a short word, or none.
pub(super) fn is_code(raw: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b" ./_+-*:<>".contains(&byte);
    raw.len() <= 20 && raw.bytes().all(fits)
}

fn joined(words: &[&str]) -> String {
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// What an identifier is by its type (table 0203), where that says more than its field.
fn label_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "MR" | "MRT" | "PI" | "PT" | "PE" => "MEDICALRECORD",
        "SS" | "SSN" => "SSN",
        "AN" | "AND" | "ANC" | "VN" | "BA" | "CC" | "GN" => "ACCOUNT",
        "MA" | "MC" | "MB" | "HC" | "SN" | "NH" | "NIIP" | "PHE" | "PHC" | "JHN" | "WC" => "HEALTHPLAN",
        "DL" | "LN" | "MD" | "DO" | "DN" | "DEA" | "NPI" | "NP" | "RN" | "UPIN" => "LICENSE",
        "NI" | "NNUSA" | "PN" | "PPN" | "EI" | "EN" | "XX" | "FI" | "RI" | "DR" => "IDNUM",
        _ => return None,
    })
}
