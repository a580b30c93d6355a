//! The rules of 45 CFR 164.514 that a policy is checked against when it is loaded: one function each, listed
//! in one table.
//!
//! The rules limit what a policy may request; the operators decide how a span is replaced. Where the
//! regulation is open, the stricter reading is taken. The rules do not make an output compliant: they refuse
//! what a policy's mode forbids.

use lethe_core::{CarriedField, Hipaa, LabelSet};

use crate::authority;
use crate::error::PolicyError;
use crate::file::{Codes, Mode, Numbered, Operation, PolicyFile, Scope};
use crate::role::{Role, roles};

/// A policy's request for one label.
struct Wish<'a> {
    operation: &'a Operation,
    role: &'a Role,
    policy: &'a PolicyFile,
}

/// A clause, and why it forbids something.
type Violation = (&'static str, String);

/// A rule about the operation for a label.
type Rule = fn(&Wish<'_>) -> Option<Violation>;

/// The rules of each mode about labels.
const RULES: &[(Mode, &[Rule])] = &[
    (
        Mode::SafeHarbor,
        &[kept_identifiers, dates_of_any_kind, derived_codes],
    ),
    (Mode::LimitedDataSet, &[kept_direct_identifiers]),
];

/// Checks a policy against the rules of its mode. `carried` is the metadata that goes to the output
/// unchanged.
///
/// # Errors
/// All errors, not only the first: [`PolicyError::Rule`] with the clause; [`PolicyError::Key`] for a label
/// that the set does not have or an operation that its spans do not allow; [`PolicyError::Several`] if there
/// is more than one.
pub fn check(
    policy: &PolicyFile,
    origin: &str,
    labels: &LabelSet,
    carried: &[CarriedField],
) -> Result<(), PolicyError> {
    let mut errors = Vec::new();
    let key = |key: String, why: String| PolicyError::Key {
        origin: origin.to_owned(),
        key,
        why,
    };
    let rule = |key: String, (clause, why): Violation| PolicyError::Rule {
        origin: origin.to_owned(),
        key,
        clause,
        why,
    };
    for name in policy.labels.keys().filter(|name| labels.by_name(name).is_none()) {
        let names: Vec<&str> = labels.labels().iter().map(|label| label.name.as_str()).collect();
        let which = match labels.did_you_mean(name) {
            near if near.is_empty() => format!("; it has {}", names.join(", ")),
            near => near,
        };
        let why = format!("label set `{}` does not have this label{which}", labels.id());
        errors.push(key(format!("labels.{name}"), why));
    }
    errors.extend(determined(policy).map(|fault| rule("determination".to_owned(), fault)));
    if policy.shift.days == 0 || (policy.shift.weekday && policy.shift.days < 7) {
        let why = "too few: no date would be shifted; give at least 1, or 7 to keep days of the week";
        errors.push(key("shift.days".to_owned(), why.to_owned()));
    }
    for (field, reason) in &policy.keep {
        if reason.trim().is_empty() {
            let why = "has no reason; state why the identifier may leave, for the metadata of the files";
            errors.push(key(format!("keep.{}", field.name()), why.to_owned()));
        }
    }
    errors.extend(
        authority::faults(&policy.authority)
            .into_iter()
            .map(|(at, why)| key(at, why)),
    );
    let rules = RULES.iter().find(|(mode, _)| *mode == policy.mode);
    for (label, role) in labels.labels().iter().zip(roles(labels)) {
        let operation = policy.operation_for(label);
        let (place, of) = if policy.labels.contains_key(&label.name) {
            (format!("labels.{}", label.name), String::new())
        } else {
            ("default".to_owned(), format!("for label {}: ", label.name))
        };
        if let Some(why) = unfit(operation, &role) {
            errors.push(key(place.clone(), format!("{of}{why}")));
        }
        let wish = Wish {
            operation,
            role: &role,
            policy,
        };
        for broken in rules.into_iter().flat_map(|(_, rules)| *rules) {
            if let Some((clause, why)) = broken(&wish) {
                errors.push(rule(place.clone(), (clause, format!("{of}{why}"))));
            }
        }
    }
    for field in carried {
        if let Some((clause, why)) = carried_field(policy, *field) {
            errors.push(PolicyError::Rule {
                origin: "the configuration".to_owned(),
                key: "engine.redaction.keep".to_owned(),
                clause,
                why,
            });
        }
    }
    PolicyError::of(errors)
}

/// Returns the metadata that a policy keeps in the output unless the configuration lists other fields.
pub fn carried_by_default(policy: &PolicyFile) -> Vec<CarriedField> {
    [
        CarriedField::NoteId,
        CarriedField::Version,
        CarriedField::NoteType,
    ]
    .into_iter()
    .filter(|field| carried_field(policy, *field).is_none())
    .collect()
}

/// Ids that can be encrypted.
const NUMBERS: &[&str] = &[
    "MEDICALRECORD",
    "HEALTHPLAN",
    "ACCOUNT",
    "LICENSE",
    "VEHICLE",
    "DEVICE",
    "BIOID",
    "IDNUM",
    "SSN",
];

/// Labels of people and institutions of the site, which all patients' notes may name.
const SITE: &[&str] = &["DOCTOR", "HOSPITAL", "DEPARTMENT", "ORGANIZATION"];

/// Returns why an operation cannot be applied to spans of a label, in any mode.
fn unfit(operation: &Operation, role: &Role) -> Option<String> {
    match operation {
        Operation::Generalise {} if !role.some(&["DATE", "AGE", "ZIP"]) => {
            Some("`generalise` is for dates, ages and ZIP codes; use `tag` for other identifiers".to_owned())
        }
        Operation::Shift {} if !role.only(&["DATE"]) => Some("`shift` is for dates".to_owned()),
        Operation::EncryptId {} if !role.only(NUMBERS) => Some(
            "`encrypt-id` is for ids, such as MEDICALRECORD; use `pseudonym` or `tag` for others".to_owned(),
        ),
        Operation::Surrogate { scope: Scope::Site }
        | Operation::Pseudonym {
            scope: Scope::Site, ..
        } if !role.only(SITE) => Some(
            "`scope = \"site\"` would link patients; it is for DOCTOR, HOSPITAL, DEPARTMENT and ORGANIZATION"
                .to_owned(),
        ),
        _ => None,
    }
}

/// 164.514(b)(2)(i): listed identifiers are not kept. States and countries are no smaller than a State.
fn kept_identifiers(wish: &Wish<'_>) -> Option<Violation> {
    if !matches!(wish.operation, Operation::Keep {})
        || wish.role.only(&["STATE", "COUNTRY"])
        || wish.role.hipaa == Hipaa::Unlisted
    {
        return None;
    }
    let (clause, what) = IDENTIFIERS[usize::from(wish.role.hipaa.letter() as u8 - b'A')];
    let advice = if wish.role.some(&["DATE", "AGE", "ZIP"]) {
        "use `generalise`, `tag`, `mask` or `remove`"
    } else {
        "use `tag`, `mask`, `remove` or `surrogate`"
    };
    Some((clause, format!("safe harbor removes {what}; {advice}")))
}

/// 164.514(b)(2)(i)(C): a shifted date is a date, and so is a surrogate for one.
fn dates_of_any_kind(wish: &Wish<'_>) -> Option<Violation> {
    let still = match wish.operation {
        Operation::Shift {} => "a shifted date is still a date",
        Operation::Surrogate { .. } if wish.role.some(&["DATE"]) => {
            "a surrogate date is a shifted one, and so still a date"
        }
        _ => return None,
    };
    let why = format!(
        "{still}, and safe harbor keeps only the year; use `generalise`, or choose mode `limited-data-set` or `expert-determination`"
    );
    Some((IDENTIFIERS[2].0, why))
}

/// 164.514(c)(1): a code must not be derived from or related to information about the person.
fn derived_codes(wish: &Wish<'_>) -> Option<Violation> {
    let what = match wish.operation {
        Operation::Pseudonym {
            codes: Codes::Hmac, ..
        } => "a keyed hash is derived from the person",
        Operation::Encrypt {} | Operation::EncryptId {} => "an encrypted value is derived from the person",
        Operation::Tag {
            numbered: Some(Numbered::Patient),
        } if wish.policy.vault.is_none() => "a tag's code without a vault is derived from the person",
        Operation::Surrogate { .. }
            if matches!(wish.role.hipaa.letter(), 'G'..='M' | 'P' | 'R')
                && !wish.role.only(&["PROFESSION"]) =>
        {
            "a number derived from a number under a key is a code derived from the person"
        }
        _ => return None,
    };
    Some((
        "164.514(c)(1)",
        format!("{what}; use `pseudonym` with `codes = \"vault\"`, whose codes are random, or `tag`"),
    ))
}

/// 164.514(e)(2): direct identifiers of the person, of relatives, employers and household members are not
/// kept.
fn kept_direct_identifiers(wish: &Wish<'_>) -> Option<Violation> {
    if !matches!(wish.operation, Operation::Keep {}) {
        return None;
    }
    let clause = match wish.role.hipaa {
        Hipaa::Names => "164.514(e)(2)(i)",
        // The name of an employer falls under names.
        Hipaa::Geographic if wish.role.some(&["ORGANIZATION"]) => "164.514(e)(2)(i)",
        // Town, State and ZIP code may stay; a hospital is not an address of the person.
        Hipaa::Geographic
            if wish
                .role
                .only(&["CITY", "STATE", "COUNTRY", "ZIP", "HOSPITAL", "DEPARTMENT"]) =>
        {
            return None;
        }
        Hipaa::Geographic => "164.514(e)(2)(ii)",
        Hipaa::Dates | Hipaa::Other | Hipaa::Unlisted => return None,
        Hipaa::Telephone => "164.514(e)(2)(iii)",
        Hipaa::Fax => "164.514(e)(2)(iv)",
        Hipaa::Email => "164.514(e)(2)(v)",
        Hipaa::SocialSecurity => "164.514(e)(2)(vi)",
        Hipaa::MedicalRecord => "164.514(e)(2)(vii)",
        Hipaa::HealthPlan => "164.514(e)(2)(viii)",
        Hipaa::Account => "164.514(e)(2)(ix)",
        Hipaa::License => "164.514(e)(2)(x)",
        Hipaa::Vehicle => "164.514(e)(2)(xi)",
        Hipaa::Device => "164.514(e)(2)(xii)",
        Hipaa::Url => "164.514(e)(2)(xiii)",
        Hipaa::IpAddress => "164.514(e)(2)(xiv)",
        Hipaa::Biometric => "164.514(e)(2)(xv)",
        Hipaa::Photograph => "164.514(e)(2)(xvi)",
    };
    Some((clause, "a limited data set must not have this identifier; use `tag`, `mask`, `remove`, `surrogate` or `pseudonym`".to_owned()))
}

/// 164.514(b)(1)(ii): methods and results of the determination must be documented.
fn determined(policy: &PolicyFile) -> Option<Violation> {
    let told = policy
        .determination
        .as_deref()
        .is_some_and(|text| !text.trim().is_empty());
    (policy.mode == Mode::ExpertDetermination && !told).then(|| {
        let why = "an expert's determination must be documented: name the expert, the date, and where the document is kept";
        ("164.514(b)(1)(ii)", why.to_owned())
    })
}

/// Checks metadata that may not go to the output unchanged. A note's id may if the policy gives a reason
/// (`[keep]`): the sender assigns it, and it often contains a record number or a date.
fn carried_field(policy: &PolicyFile, field: CarriedField) -> Option<Violation> {
    let clause = match (policy.mode, field) {
        (Mode::SafeHarbor | Mode::LimitedDataSet, CarriedField::NoteId)
            if policy.keep.contains_key(&field) =>
        {
            return None;
        }
        (Mode::SafeHarbor, CarriedField::PatientId) => IDENTIFIERS[7].0,
        (Mode::SafeHarbor, CarriedField::AuthoredAt) => IDENTIFIERS[2].0,
        (Mode::SafeHarbor, CarriedField::NoteId | CarriedField::EncounterId | CarriedField::AuthorId) => {
            IDENTIFIERS[17].0
        }
        (Mode::LimitedDataSet, CarriedField::PatientId) => "164.514(e)(2)(vii)",
        (Mode::LimitedDataSet, CarriedField::EncounterId) => "164.514(e)(2)(ix)",
        (Mode::LimitedDataSet, CarriedField::NoteId) => "164.514(e)(2)(vii)",
        _ => return None,
    };
    let name = field.name();
    let otherwise = if field == CarriedField::NoteId {
        ", or state in the policy why it identifies nobody: `[keep]`, `note_id = \"REASON\"`"
    } else {
        ""
    };
    Some((
        clause,
        format!("`{name}` identifies a person; remove it from the list{otherwise}"),
    ))
}

/// The eighteen identifiers, in the order of their letters.
const IDENTIFIERS: [(&str, &str); 18] = [
    ("164.514(b)(2)(i)(A)", "names"),
    (
        "164.514(b)(2)(i)(B)",
        "geographic subdivisions smaller than a State",
    ),
    (
        "164.514(b)(2)(i)(C)",
        "elements of dates but the year, and ages over 89",
    ),
    ("164.514(b)(2)(i)(D)", "telephone numbers"),
    ("164.514(b)(2)(i)(E)", "fax numbers"),
    ("164.514(b)(2)(i)(F)", "electronic mail addresses"),
    ("164.514(b)(2)(i)(G)", "social security numbers"),
    ("164.514(b)(2)(i)(H)", "medical record numbers"),
    ("164.514(b)(2)(i)(I)", "health plan beneficiary numbers"),
    ("164.514(b)(2)(i)(J)", "account numbers"),
    ("164.514(b)(2)(i)(K)", "certificate and license numbers"),
    ("164.514(b)(2)(i)(L)", "vehicle identifiers and serial numbers"),
    ("164.514(b)(2)(i)(M)", "device identifiers and serial numbers"),
    ("164.514(b)(2)(i)(N)", "web universal resource locators"),
    ("164.514(b)(2)(i)(O)", "internet protocol addresses"),
    ("164.514(b)(2)(i)(P)", "biometric identifiers"),
    ("164.514(b)(2)(i)(Q)", "full-face photographs"),
    (
        "164.514(b)(2)(i)(R)",
        "any other unique identifying number, characteristic or code",
    ),
];

#[cfg(test)]
mod tests;
