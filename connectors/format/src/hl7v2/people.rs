//! Handles fields of persons: names, addresses, ids and telephone numbers in their usual written form, and
//! the assigners of ids.

use std::sync::Arc;

use lethe_core::KnownKind;

use super::envelope::Words;
use super::escape::Codec;
use super::table::Whose;
use super::typed::{Draft, Parts};
use crate::PayloadError;

impl Draft {
    /// A name whose family name is component `n`. Gives it back without its suffix, as narrative has it.
    fn name(&mut self, n: usize, parts: &Parts<'_>, label: &'static str) -> Result<String, PayloadError> {
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
            let identifier = self.identifier(label, &whole, None)?;
            self.name_hole(n, identifier, words);
        }
        Ok(short)
    }

    pub(super) fn whole_name(&mut self, parts: &Parts<'_>, whose: Whose) -> Result<(), PayloadError> {
        let kind = match whose {
            Whose::Patient => KnownKind::Patient,
            Whose::Relative => KnownKind::Relative,
        };
        let name = self.name(1, parts, "PATIENT")?;
        self.know(kind, &name);
        // The family name before marriage and the partner's (FN.3, FN.5) are dropped, but the narrative may
        // have them.
        let family: Vec<&str> = self.codec.separators.subs(parts.at(1)).take(5).collect();
        for n in [3, 5] {
            let other = self.codec.line(Parts(&family).at(n))?;
            self.know(kind, &other);
        }
        self.table(7, parts.at(7), "0200");
        Ok(())
    }

    pub(super) fn person(&mut self, parts: &Parts<'_>) -> Result<(), PayloadError> {
        let subs: Vec<&str> = self.codec.separators.subs(parts.at(1)).take(5).collect();
        if let (true, Some(sub)) = (subs.len() > 1, self.codec.separators.sub) {
            // NDL has everything in its first component.
            self.start(sub);
            self.id_and_name(&Parts(&subs), "IDNUM", None)?;
            self.only_written(1);
            return Ok(());
        }
        let authority = self.assigner_of(parts.at(9))?;
        self.id_and_name(parts, label_of(parts.at(13)).unwrap_or("IDNUM"), authority)?;
        self.table(13, parts.at(13), "0203");
        Ok(())
    }

    fn id_and_name(
        &mut self,
        parts: &Parts<'_>,
        label: &'static str,
        authority: Option<Arc<str>>,
    ) -> Result<(), PayloadError> {
        // Some senders write the name where the id belongs.
        let id = self.codec.line(parts.at(1))?;
        if id.contains([' ', ',']) && id.chars().any(char::is_alphabetic) {
            self.whole_value(1, "DOCTOR", &id)?;
            self.know(KnownKind::Clinician, &id);
        } else {
            self.assigned(1, label, &id, authority)?;
        }
        let name = self.name(2, parts, "DOCTOR")?;
        self.know(KnownKind::Clinician, &name);
        Ok(())
    }

    pub(super) fn address(&mut self, parts: &Parts<'_>, known: bool) -> Result<(), PayloadError> {
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

    pub(super) fn id(
        &mut self,
        parts: &Parts<'_>,
        label: &'static str,
        known: bool,
    ) -> Result<(), PayloadError> {
        let label = label_of(parts.at(5)).unwrap_or(label);
        let authority = if ENTITY_IDS.contains(&self.field_name()) {
            let named = [parts.at(2), parts.at(3), parts.at(4)];
            authority(named.map(|part| self.codec.line(part)))?
        } else {
            self.assigner_of(parts.at(4))?
        };
        let value = self.codec.line(parts.at(1))?;
        self.assigned(1, label, &value, authority)?;
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

    /// As [`designated`].
    fn assigner_of(&mut self, component: &str) -> Result<Option<Arc<str>>, PayloadError> {
        if component.is_empty() {
            return Ok(None);
        }
        if self.assigner.0 != component {
            self.assigner = (component.to_owned(), designated(&self.codec, component)?);
        }
        Ok(self.assigner.1.clone())
    }

    pub(super) fn phone(&mut self, parts: &Parts<'_>, known: bool) -> Result<(), PayloadError> {
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
}

/// Fields of entity identifiers (EI): the authority is in three components instead of sub-components of one.
const ENTITY_IDS: [&str; 19] = [
    "ORC-2", "ORC-3", "ORC-4", "OBR-2", "OBR-3", "OBX-18", "TXA-12", "TXA-13", "TXA-14", "TXA-15", "ROL-1",
    "SCH-1", "SCH-2", "SCH-26", "SCH-27", "SPM-2", "RXE-15", "RXD-7", "FT1-2",
];

/// Returns the authority in a hierarchic designator (HD: name space, universal id, its type by table 0301),
/// in the form of [`lethe_core::Identifier::authority`]. The universal id is the most specific.
///
/// # Errors
/// The first of these parts that cannot be read.
pub(super) fn authority(
    [namespace, universal, kind]: [Result<String, PayloadError>; 3],
) -> Result<Option<Arc<str>>, PayloadError> {
    let (namespace, universal, kind) = (namespace?, universal?, kind?);
    let scheme = match kind.as_str() {
        "ISO" => Some("oid"),
        "UUID" | "GUID" | "URI" | "DNS" => Some("uri"),
        _ => None,
    };
    let universal = scheme
        .filter(|_| !universal.is_empty())
        .map(|scheme| format!("{scheme}:{universal}"));
    let namespace = (!namespace.is_empty()).then(|| format!("namespace:{namespace}"));
    Ok(match (universal, namespace) {
        (Some(universal), Some(namespace)) => Some(format!("{universal}\n{namespace}").into()),
        (universal, namespace) => universal.or(namespace).map(Into::into),
    })
}

/// Returns the authority in a component of that type.
///
/// # Errors
/// As [`Codec::line`].
pub(super) fn designated(codec: &Codec, component: &str) -> Result<Option<Arc<str>>, PayloadError> {
    let subs: Vec<&str> = codec.separators.subs(component).take(3).collect();
    let subs = Parts(&subs);
    authority([1, 2, 3].map(|n| codec.line(subs.at(n))))
}

fn joined(words: &[&str]) -> String {
    let mut out = String::with_capacity(words.iter().map(|word| word.len() + 1).sum());
    for word in words.iter().filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Returns the label for an identifier type (table 0203), if that is more specific than its field.
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
