//! Structured fields: which identifiers they hold, and what stays of the field.
//!
//! An identifier is what a reader would take for one thing, in the form in which a reader would write it: a name is
//! "Given Second Family Suffix", a date is ISO 8601, an address is its street, its city and so on. Of what else a
//! field's type has room for (check digits, authorities, validity), nothing stays but short codes of HL7's tables.

use std::collections::HashSet;

use lethe_core::{Identifier, Known, KnownKind};

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
    pub(super) text: String,
    pub(super) holes: Vec<(usize, Hole)>,
    pub(super) identifiers: Vec<Identifier>,
    pub(super) known: Vec<Known>,
    seen: HashSet<(KnownKind, String)>,
    /// What separates the components that are written, and which of them is.
    separator: char,
    at: usize,
}

impl Draft {
    pub(super) fn new(codec: Codec) -> Self {
        Self {
            codec,
            text: String::new(),
            holes: Vec::new(),
            identifiers: Vec::new(),
            known: Vec::new(),
            seen: HashSet::new(),
            separator: codec.separators.component,
            at: 1,
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
                if raw.len() <= 4 && raw.bytes().all(|byte| byte.is_ascii_digit()) {
                    self.text.push_str(raw);
                }
            }
            Rule::Code => (1..=components.len()).for_each(|n| self.code(n, parts.at(n))),
            Rule::Coded => {
                for code in [1, 4] {
                    // A text without a code is what somebody typed.
                    let last = if parts.at(code).is_empty() { 0 } else { code + 2 };
                    (code..=last).for_each(|n| self.plain(n, parts.at(n)));
                }
            }
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

    /// Writes component `n` as it is if it is a code.
    pub(super) fn code(&mut self, n: usize, raw: &str) {
        if !raw.is_empty() && is_code(raw) {
            self.go(n);
            self.text.push_str(raw);
        }
    }

    /// Writes component `n` as it is.
    fn plain(&mut self, n: usize, raw: &str) {
        if !raw.is_empty() {
            self.go(n);
            // A line feed within a field would end the segment for those who take it for its end.
            self.text
                .extend(raw.chars().map(|c| if c.is_control() { ' ' } else { c }));
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
        self.code(7, parts.at(7));
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
        self.code(13, parts.at(13));
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
        self.code(7, parts.at(7));
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
        self.code(5, parts.at(5));
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
        self.code(2, parts.at(2));
        self.code(3, parts.at(3));
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
        Ok(self.identifiers.len() - 1)
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
