//! The slots of templates. `data/README.md` lists them for authors of templates.

mod names;

use self::names::{DAYS, ITEMS, MENTION_FORMS, PARTIES, ROLES, WRITTEN};
use crate::kind::Kind;
use crate::language::Language;

/// A person in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    Patient,
    Relative,
    Relative2,
    Child,
    Other,
    Doctor,
    Doctor2,
    Doctor3,
    Staff,
    Staff2,
}

impl Role {
    /// Returns whether this is a treating person: DOCTOR rather than PATIENT.
    pub(crate) fn treats(self) -> bool {
        matches!(
            self,
            Self::Doctor | Self::Doctor2 | Self::Doctor3 | Self::Staff | Self::Staff2
        )
    }

    /// Returns whether this is a nurse, therapist or technician.
    pub(crate) fn assists(self) -> bool {
        matches!(self, Self::Staff | Self::Staff2)
    }
}

/// The form of a person's mention, or a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MentionForm {
    Any,
    Full,
    First,
    Last,
    Middle,
    Initials,
    FirstInitial,
    LastInitial,
    Nick,
    LastFirst,
    Mr,
    /// As the object of a sentence, where the title differs: Herrn Schaller.
    MrObject,
    Dr,
    Cred,
    Spelled,
    FirstSpelled,
    Profession,
    Age(Count),
    // These are not identifiers.
    Word(Word),
}

/// The form of an age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Figures,
    Words,
    Decade,
    Months,
}

/// Words that depend on a person and identify nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum Word {
    He,
    Him,
    His,
    Man,
    Male,
    Boy,
    M,
    Title,
    Specialty,
    Degree,
    Relation,
    /// A word of a language other than English, by its name there.
    Of(&'static str),
}

/// A day in a document's timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Day {
    Visit,
    Admit,
    Discharge,
    Birth,
    RelativeBirth,
    Past,
    Past2,
    Past3,
    Onset,
    Future,
    Future2,
    Signed,
}

/// The form of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum Written {
    Any,
    Num,
    Long,
    Short,
    MonthYear,
    Month,
    Year,
    Weekday,
    Iso,
    Holiday,
    Season,
    Spoken,
    SpokenDay,
    SpokenYear,
}

/// All other identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub(crate) enum Item {
    Street,
    City,
    City2,
    State,
    StateAbbr,
    State2,
    State2Abbr,
    Zip,
    Country,
    Place,
    Address,
    Hospital,
    Hospital2,
    Hospital3,
    HospitalShort,
    Hospital2Short,
    Hospital3Short,
    Clinic,
    Department,
    Room,
    Employer,
    Organization,
    Organization2,
    Court,
    Court2,
    School,
    Insurer,
    Phone,
    Phone2,
    PhoneDoctor,
    Pager,
    Ext,
    Fax,
    Email,
    EmailDoctor,
    Url,
    Ip,
    Mrn,
    Ssn,
    SsnLast4,
    Account,
    Card,
    HealthPlan,
    License,
    Dea,
    Npi,
    Plate,
    Vin,
    Device,
    BioId,
    IdNum,
    IdNum2,
    Username,
    Postcode,
    Nhs,
    Medicare,
    Sin,
    Aadhaar,
}

/// A country as an actor, which is not a place and identifies nobody ("the Government of Chad").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Party {
    /// Chad.
    Name,
    /// Republic of Chad.
    State,
    /// Chadian.
    Adjective,
}

/// A slot in a template.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Slot {
    /// A person; the flag requests a capital letter.
    Person(Role, MentionForm, bool),
    Date(Day, Written),
    Item(Item),
    /// An identifier as it is said aloud.
    Spoken(Item),
    /// A country as an actor, which is not an identifier.
    Party(Party),
    /// One of the shared strings under this key, which is not an identifier.
    Filler(String),
    /// A time of day, which is not an identifier.
    Time,
    /// A small number, which is not an identifier.
    Number,
    /// A template of this kind.
    Part(Kind),
    /// Carrier text.
    Carrier,
}

/// The keys of `shared/fillers.toml` and of the dictionary entries.
pub(crate) const FILLERS: &[&str] = &[
    "drug",
    "dose",
    "condition",
    "surgery",
    "test",
    "labvalue",
    "vitals",
    "bodypart",
    "specialty",
    "eponym",
    "allergy",
    "eponym.name",
    "device.name",
    "drug.name",
];

impl Slot {
    /// Returns the slot of `{name}` in a language, `None` for English; `None` if the name is unknown.
    pub(crate) fn parse(name: &str, language: Option<&'static Language>) -> Option<Self> {
        let named = |name: &str| DAYS.iter().find(|(key, _)| *key == name).map(|&(_, day)| day);
        match name {
            "time" => return Some(Self::Time),
            "number" => return Some(Self::Number),
            "carrier" => return Some(Self::Carrier),
            "header" | "footer" | "signature" | "insert" | "clinical" => {
                return Kind::of(name).map(Self::Part);
            }
            "age" => {
                return Some(Self::Person(
                    Role::Patient,
                    MentionForm::Age(Count::Figures),
                    false,
                ));
            }
            "profession" => return Some(Self::Person(Role::Patient, MentionForm::Profession, false)),
            _ => {}
        }
        if let Some(form) = name.strip_prefix("age.") {
            return Self::parse(&format!("patient.age.{form}"), language);
        }
        if FILLERS.contains(&name) {
            return Some(Self::Filler(name.to_owned()));
        }
        if let Some(&(_, item)) = ITEMS.iter().find(|(key, _)| *key == name) {
            return Some(Self::Item(item));
        }
        // Only English has words for what is said aloud.
        if let Some(item) = name.strip_suffix(".spoken")
            && language.is_none()
            && let Some(&(_, item)) = ITEMS.iter().find(|(key, _)| *key == item)
        {
            return Some(Self::Spoken(item));
        }
        if let Some(&(_, form)) = PARTIES.iter().find(|(key, _)| *key == name) {
            return Some(Self::Party(form));
        }
        if let Some(day) = named(name) {
            return Some(Self::Date(day, Written::Any));
        }
        // "relative.dob.num" is a date, although "relative" is a person.
        if let Some((day, form)) = name.rsplit_once('.')
            && let Some(day) = named(day)
        {
            let &(_, written) = WRITTEN.iter().find(|(key, _)| *key == form)?;
            let is_spoken = matches!(
                written,
                Written::Spoken | Written::SpokenDay | Written::SpokenYear
            );
            return (language.is_none() || !is_spoken).then_some(Self::Date(day, written));
        }
        let (who, form) = name.split_once('.').unwrap_or((name, ""));
        let &(_, role) = ROLES.iter().find(|(key, _)| *key == who)?;
        if form.is_empty() {
            return Some(Self::Person(role, MentionForm::Any, false));
        }
        let find = |form: &str| mention_form(form, language);
        if let Some(form) = find(form) {
            return Some(Self::Person(role, form, false));
        }
        // `.He` is `.he` with a capital.
        match find(&uncapital(form)) {
            Some(form @ MentionForm::Word(_)) => Some(Self::Person(role, form, true)),
            _ => None,
        }
    }
}

/// Returns a form of a person's mention; a language's own words replace the English ones.
fn mention_form(name: &str, language: Option<&'static Language>) -> Option<MentionForm> {
    let known = MENTION_FORMS.iter().find(|(key, _)| *key == name);
    let known = known.map(|&(_, form)| form);
    let Some(language) = language else {
        return known.filter(|form| *form != MentionForm::MrObject);
    };
    match known {
        Some(MentionForm::Word(Word::Specialty | Word::Degree | Word::Relation)) => known,
        // There are no English words for ages in a decade, nor letters as they are said.
        Some(MentionForm::Age(Count::Decade) | MentionForm::Spelled | MentionForm::FirstSpelled) => None,
        Some(MentionForm::Word(_)) | None => language
            .word_name(name)
            .map(|name| MentionForm::Word(Word::Of(name))),
        _ => known,
    }
}

/// Returns the text with a small first letter.
fn uncapital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|char| char.to_lowercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_known_by_name_and_form_and_nothing_else_is() {
        let person = |role, form| Some(Slot::Person(role, form, false));
        assert_eq!(
            Slot::parse("patient", None),
            person(Role::Patient, MentionForm::Any)
        );
        assert_eq!(
            Slot::parse("age.words", None),
            person(Role::Patient, MentionForm::Age(Count::Words))
        );
        assert_eq!(
            Slot::parse("relative.He", None),
            Some(Slot::Person(Role::Relative, MentionForm::Word(Word::He), true))
        );
        assert_eq!(
            Slot::parse("relative.dob.num", None),
            Some(Slot::Date(Day::RelativeBirth, Written::Num))
        );
        assert_eq!(Slot::parse("state.abbr", None), Some(Slot::Item(Item::StateAbbr)));
        assert_eq!(Slot::parse("zip.spoken", None), Some(Slot::Spoken(Item::Zip)));
        assert_eq!(
            Slot::parse("dob.spoken", None),
            Some(Slot::Date(Day::Birth, Written::Spoken))
        );
        assert_eq!(
            Slot::parse("party.adj", None),
            Some(Slot::Party(Party::Adjective))
        );
        assert_eq!(Slot::parse("signature", None), Some(Slot::Part(Kind::Signature)));
        for unknown in [
            "",
            "patients",
            "patient.nobody",
            "visit.words",
            "zip.num",
            "patient.FIRST",
        ] {
            assert_eq!(Slot::parse(unknown, None), None, "{unknown}");
        }
    }
}
