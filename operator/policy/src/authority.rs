//! Authorities that assign ids: maps the names that each format gives to one authority.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU8, Ordering};

use lethe_secrets::IdCipher;
use lethe_surrogates::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An authority that assigns ids, and the names that sources give it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Authority {
    /// The authority's name in the policy, without colons. Codes depend on it: renaming it gives every
    /// patient other codes.
    #[schemars(extend("examples" = ["mercy"]))]
    pub name: String,
    /// Its HL7 v2 namespaces (HD.1), for instance in PID-3.4.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["MERCY", "MRCY-OLD"]]))]
    pub hl7_namespace: Vec<String>,
    /// Its HL7 v2 universal ids (HD.2) of any type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["mercy.example"]]))]
    pub universal_id: Vec<String>,
    /// Its FHIR systems (`Identifier.system`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["https://mercy.example/mrn"]]))]
    pub fhir_system: Vec<String>,
    /// Its object identifiers: roots of C-CDA ids, HL7 v2 universal ids of type ISO, and `urn:oid:` systems
    /// of FHIR.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["1.2.840.114350"]]))]
    pub oid: Vec<String>,
    /// Columns and event fields that hold its ids. `patient_id` means the ids of events that do not name
    /// their authority.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["patient_id"]]))]
    pub column: Vec<String>,
}

impl Authority {
    /// Returns its names in the form that sources' identifiers have.
    fn names(&self) -> impl Iterator<Item = String> {
        let universal = |prefix: &'static str| (prefix, &self.universal_id);
        [
            ("namespace:", &self.hl7_namespace),
            universal("uri:"),
            universal("oid:"),
            ("system:", &self.fhir_system),
            ("oid:", &self.oid),
            (COLUMN, &self.column),
        ]
        .into_iter()
        .flat_map(|(prefix, names)| names.iter().map(move |name| format!("{prefix}{name}")))
    }
}

/// Returns the errors in a policy's authorities: each key and the reason.
pub(crate) fn faults(authorities: &[Authority]) -> Vec<(String, String)> {
    let mut faults = Vec::new();
    let (mut own, mut others) = (HashMap::new(), BTreeSet::new());
    for (at, authority) in authorities.iter().enumerate() {
        let name = &authority.name;
        let mut fault = |why: String| faults.push((format!("authority.{at}"), why));
        if name.trim().is_empty() || name.contains(|c: char| c == ':' || c.is_control()) {
            fault("has no usable `name`; give one without colons and line breaks".to_owned());
        }
        if !others.insert(name) {
            fault(format!("`{name}` occurs twice; put all its names into one table"));
        }
        let mut any = false;
        for raw in authority.names() {
            any = true;
            if own.insert(raw.clone(), at).is_some_and(|other| other != at) {
                fault(format!(
                    "`{raw}` also belongs to another authority; remove it from one of them"
                ));
            }
        }
        if !any {
            fault(
                "has no names; give `hl7_namespace`, `universal_id`, `fhir_system`, `oid` or `column`"
                    .to_owned(),
            );
        }
    }
    // The last numbers are for kinds of ids without a named authority.
    let most = usize::from(IdCipher::AUTHORITIES) - KINDS.len() - 1;
    if authorities.len() > most {
        faults.push(("authority".to_owned(), format!("are more than {most}")));
    }
    faults
}

/// The prefix of the names of columns in identifiers.
const COLUMN: &str = "column:";

/// The authority that assigned an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assigner<'a> {
    /// An authority of the policy: its index and its name.
    Declared(usize, &'a str),
    /// Any other authority, by the most specific of its names.
    Other(&'a str),
    /// The source names none.
    Unnamed,
}

/// Kinds of ids, in the order of their numbers without a named authority. The order is part of the codes'
/// format: new kinds go to the end.
const KINDS: &[Kind] = &[
    Kind::MedicalRecord,
    Kind::HealthPlan,
    Kind::Account,
    Kind::License,
    Kind::Vehicle,
    Kind::Device,
    Kind::BioId,
    Kind::IdNum,
    Kind::Ssn,
];

impl Assigner<'_> {
    /// Returns its number in encrypted ids; `None` for an authority that the policy does not declare.
    pub(crate) fn number(self, kind: Kind) -> Option<u16> {
        match self {
            Self::Declared(at, _) => u16::try_from(at + 1).ok(),
            Self::Other(_) => None,
            Self::Unnamed => {
                let at = KINDS.iter().position(|known| *known == kind)?;
                Some(IdCipher::AUTHORITIES - 1 - u16::try_from(at).ok()?)
            }
        }
    }
}

/// A policy's authorities, by their names in sources.
#[derive(Debug, Default)]
pub(crate) struct Authorities {
    names: Vec<String>,
    by_raw: HashMap<String, usize>,
    /// One bit for each kind of name for which an undeclared authority was reported.
    reported: AtomicU8,
}

impl Authorities {
    pub(crate) fn new(declared: &[Authority]) -> Self {
        let names = declared.iter().map(|one| one.name.clone()).collect();
        let all = declared.iter().enumerate();
        let by_raw = all.flat_map(|(at, one)| one.names().map(move |raw| (raw, at)));
        Self {
            names,
            by_raw: by_raw.collect(),
            reported: AtomicU8::new(0),
        }
    }

    /// Returns the authority of an id, by the name that its source gives. An id without one belongs to the
    /// column `column`.
    pub(crate) fn resolve<'a>(&'a self, raw: Option<&'a str>, column: &str) -> Assigner<'a> {
        let declared = |name: &str| {
            let at = *self.by_raw.get(name)?;
            Some(Assigner::Declared(at, self.names.get(at)?))
        };
        match raw {
            None => declared(&format!("{COLUMN}{column}")).unwrap_or(Assigner::Unnamed),
            // A column that no table names counts as a source without an authority.
            Some(raw) if raw.starts_with(COLUMN) => {
                declared(raw).unwrap_or_else(|| self.resolve(None, column))
            }
            Some(raw) => raw
                .lines()
                .find_map(declared)
                .or_else(|| raw.lines().next().map(Assigner::Other))
                .unwrap_or(Assigner::Unnamed),
        }
    }

    /// Returns the context of a patient: equal ids of two authorities have different contexts. An id without
    /// a named authority keeps the context of earlier versions.
    pub(crate) fn context(&self, raw: Option<&str>, id: &str) -> String {
        match self.resolve(raw, "patient_id") {
            Assigner::Declared(_, name) | Assigner::Other(name) => format!("patient of\n{name}\n{id}"),
            Assigner::Unnamed => format!("patient\n{id}"),
        }
    }

    /// Returns the context of a patient by the name of the authority in the policy or in the source.
    pub(crate) fn context_of(&self, authority: &str, id: &str) -> String {
        if self.names.iter().any(|name| name == authority) {
            return format!("patient of\n{authority}\n{id}");
        }
        self.context(Some(authority), id)
    }

    /// Returns the number in encrypted ids of an authority, by its name in the policy or in the source;
    /// `None` for one that the policy does not declare.
    pub(crate) fn number_of(&self, authority: &str) -> Option<BTreeSet<u16>> {
        let named = self.names.iter().position(|name| name == authority);
        let at = named.or_else(|| match self.resolve(Some(authority), "") {
            Assigner::Declared(at, _) => Some(at),
            _ => None,
        });
        Some(BTreeSet::from([u16::try_from(at? + 1).ok()?]))
    }

    /// Returns the numbers of encrypted ids without a named authority.
    pub(crate) fn unnamed_numbers(&self) -> BTreeSet<u16> {
        (1..IdCipher::AUTHORITIES)
            .filter(|number| usize::from(*number) > self.names.len() && self.has_number(*number))
            .collect()
    }

    /// Returns whether an encrypted id may have this number.
    pub(crate) fn has_number(&self, number: u16) -> bool {
        let kinds = usize::from(IdCipher::AUTHORITIES) - KINDS.len();
        (1..=self.names.len()).contains(&usize::from(number)) || usize::from(number) >= kinds
    }

    /// Warns of an authority that the policy does not declare: once for each kind of name, and without the
    /// name, which may identify a person.
    pub(crate) fn report(&self, raw: Option<&str>, (topic, partition, offset): (&str, i32, i64)) {
        let Assigner::Other(name) = self.resolve(raw, "patient_id") else {
            return;
        };
        const NAMES: [&str; 4] = ["namespace", "uri", "system", "oid"];
        let kind = name.split(':').next().unwrap_or_default();
        let at = NAMES.iter().position(|known| *known == kind);
        let bit = 1 << at.unwrap_or(NAMES.len());
        // A policy that declares none has one source, so there is nothing to link.
        if !self.names.is_empty() && self.reported.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            let kind = at.and_then(|at| NAMES.get(at)).unwrap_or(&"other");
            tracing::warn!(
                kind,
                topic,
                partition,
                offset,
                "the policy declares no authority of this name, so its ids stay separate; add the name to an [[authority]] table"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mercy() -> Authority {
        Authority {
            name: "mercy".into(),
            hl7_namespace: vec!["MERCY".into()],
            fhir_system: vec!["https://mercy.example/mrn".into()],
            oid: vec!["1.2.840".into()],
            column: vec!["patient_id".into()],
            ..Authority::default()
        }
    }

    #[test]
    fn every_name_of_an_authority_leads_to_one_context() {
        let all = Authorities::new(&[mercy()]);
        let own = all.context(None, "12");
        for raw in [
            "namespace:MERCY",
            "oid:1.2.840",
            "system:https://mercy.example/mrn",
            "system:urn:oid:1.2.840\noid:1.2.840",
        ] {
            assert_eq!(all.context(Some(raw), "12"), own, "{raw}");
        }
    }

    #[test]
    fn an_undeclared_authority_is_its_own() {
        let all = Authorities::new(&[mercy()]);
        let contexts: BTreeSet<String> = [
            Some("namespace:MERCY"),
            Some("namespace:GRACE"),
            Some("namespace:HOPE"),
        ]
        .map(|raw| all.context(raw, "12"))
        .into();
        assert_eq!(contexts.len(), 3);
        assert_eq!(all.resolve(Some("namespace:HOPE"), "").number(Kind::Ssn), None);
    }

    #[test]
    fn an_id_without_an_authority_keeps_its_context() {
        assert_eq!(Authorities::default().context(None, "12"), "patient\n12");
    }

    #[test]
    fn names_in_two_authorities_and_authorities_without_names_are_faults() {
        assert_eq!(faults(&[mercy()]), []);
        let twice = Authority {
            name: "grace".into(),
            ..mercy()
        };
        assert_eq!(faults(&[mercy(), twice]).len(), 4);
        let (bare, nameless) = (
            Authority {
                name: "bare".into(),
                ..Authority::default()
            },
            Authority {
                name: "a:b".into(),
                ..mercy()
            },
        );
        assert_eq!(faults(&[bare, nameless]).len(), 2);
    }
}
