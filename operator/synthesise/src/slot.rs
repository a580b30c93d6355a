//! The slots of templates. `data/README.md` lists them for authors of templates.

use crate::kind::Kind;

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

/// Roles by their names in templates.
const ROLES: &[(&str, Role)] = &[
    ("patient", Role::Patient),
    ("relative", Role::Relative),
    ("relative2", Role::Relative2),
    ("child", Role::Child),
    ("other", Role::Other),
    ("doctor", Role::Doctor),
    ("doctor2", Role::Doctor2),
    ("doctor3", Role::Doctor3),
    ("staff", Role::Staff),
    ("staff2", Role::Staff2),
];

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
    Nick,
    LastFirst,
    Mr,
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
}

const MENTION_FORMS: &[(&str, MentionForm)] = &[
    ("full", MentionForm::Full),
    ("first", MentionForm::First),
    ("last", MentionForm::Last),
    ("middle", MentionForm::Middle),
    ("initials", MentionForm::Initials),
    ("nick", MentionForm::Nick),
    ("lastfirst", MentionForm::LastFirst),
    ("mr", MentionForm::Mr),
    ("dr", MentionForm::Dr),
    ("cred", MentionForm::Cred),
    ("spelled", MentionForm::Spelled),
    ("firstspelled", MentionForm::FirstSpelled),
    ("profession", MentionForm::Profession),
    ("age", MentionForm::Age(Count::Figures)),
    ("age.words", MentionForm::Age(Count::Words)),
    ("age.decade", MentionForm::Age(Count::Decade)),
    ("age.months", MentionForm::Age(Count::Months)),
    ("man", MentionForm::Word(Word::Man)),
    ("male", MentionForm::Word(Word::Male)),
    ("boy", MentionForm::Word(Word::Boy)),
    ("M", MentionForm::Word(Word::M)),
    ("title", MentionForm::Word(Word::Title)),
    ("specialty", MentionForm::Word(Word::Specialty)),
    ("degree", MentionForm::Word(Word::Degree)),
    ("he", MentionForm::Word(Word::He)),
    ("him", MentionForm::Word(Word::Him)),
    ("his", MentionForm::Word(Word::His)),
    ("relation", MentionForm::Word(Word::Relation)),
];

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

const DAYS: &[(&str, Day)] = &[
    ("visit", Day::Visit),
    ("admit", Day::Admit),
    ("discharge", Day::Discharge),
    ("dob", Day::Birth),
    ("patient.dob", Day::Birth),
    ("relative.dob", Day::RelativeBirth),
    ("past", Day::Past),
    ("past2", Day::Past2),
    ("past3", Day::Past3),
    ("onset", Day::Onset),
    ("future", Day::Future),
    ("future2", Day::Future2),
    ("signed", Day::Signed),
];

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

const WRITTEN: &[(&str, Written)] = &[
    ("num", Written::Num),
    ("long", Written::Long),
    ("short", Written::Short),
    ("my", Written::MonthYear),
    ("month", Written::Month),
    ("year", Written::Year),
    ("day", Written::Weekday),
    ("iso", Written::Iso),
    ("holiday", Written::Holiday),
    ("season", Written::Season),
    ("spoken", Written::Spoken),
    ("spokenday", Written::SpokenDay),
    ("spokenyear", Written::SpokenYear),
];

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

const ITEMS: &[(&str, Item)] = &[
    ("street", Item::Street),
    ("city", Item::City),
    ("city2", Item::City2),
    ("state", Item::State),
    ("state.abbr", Item::StateAbbr),
    ("state2", Item::State2),
    ("state2.abbr", Item::State2Abbr),
    ("zip", Item::Zip),
    ("country", Item::Country),
    ("place", Item::Place),
    ("address", Item::Address),
    ("hospital", Item::Hospital),
    ("hospital2", Item::Hospital2),
    ("hospital3", Item::Hospital3),
    ("hospital.short", Item::HospitalShort),
    ("hospital2.short", Item::Hospital2Short),
    ("hospital3.short", Item::Hospital3Short),
    ("clinic", Item::Clinic),
    ("department", Item::Department),
    ("room", Item::Room),
    ("employer", Item::Employer),
    ("organization", Item::Organization),
    ("organization2", Item::Organization2),
    ("court", Item::Court),
    ("court2", Item::Court2),
    ("school", Item::School),
    ("insurer", Item::Insurer),
    ("phone", Item::Phone),
    ("phone2", Item::Phone2),
    ("phone.doctor", Item::PhoneDoctor),
    ("pager", Item::Pager),
    ("ext", Item::Ext),
    ("fax", Item::Fax),
    ("email", Item::Email),
    ("email.doctor", Item::EmailDoctor),
    ("url", Item::Url),
    ("ip", Item::Ip),
    ("mrn", Item::Mrn),
    ("ssn", Item::Ssn),
    ("ssn.last4", Item::SsnLast4),
    ("account", Item::Account),
    ("card", Item::Card),
    ("healthplan", Item::HealthPlan),
    ("license", Item::License),
    ("dea", Item::Dea),
    ("npi", Item::Npi),
    ("plate", Item::Plate),
    ("vin", Item::Vin),
    ("device", Item::Device),
    ("bioid", Item::BioId),
    ("idnum", Item::IdNum),
    ("idnum2", Item::IdNum2),
    ("username", Item::Username),
    ("postcode", Item::Postcode),
    ("nhs", Item::Nhs),
    ("medicare", Item::Medicare),
    ("sin", Item::Sin),
    ("aadhaar", Item::Aadhaar),
];

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

const PARTIES: &[(&str, Party)] = &[
    ("party", Party::Name),
    ("party.state", Party::State),
    ("party.adj", Party::Adjective),
];

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
    /// Returns the slot of `{name}`; `None` if the name is unknown.
    pub(crate) fn parse(name: &str) -> Option<Self> {
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
            return Self::parse(&format!("patient.age.{form}"));
        }
        if FILLERS.contains(&name) {
            return Some(Self::Filler(name.to_owned()));
        }
        if let Some(&(_, item)) = ITEMS.iter().find(|(key, _)| *key == name) {
            return Some(Self::Item(item));
        }
        if let Some(item) = name.strip_suffix(".spoken")
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
            return Some(Self::Date(day, written));
        }
        let (who, form) = name.split_once('.').unwrap_or((name, ""));
        let &(_, role) = ROLES.iter().find(|(key, _)| *key == who)?;
        if form.is_empty() {
            return Some(Self::Person(role, MentionForm::Any, false));
        }
        let find = |form: &str| {
            MENTION_FORMS
                .iter()
                .find(|(key, _)| *key == form)
                .map(|&(_, form)| form)
        };
        if let Some(form) = find(form) {
            return Some(Self::Person(role, form, false));
        }
        // `.He` is `.he` with a capital.
        match find(&form.to_lowercase()) {
            Some(form @ MentionForm::Word(_)) => Some(Self::Person(role, form, true)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_known_by_name_and_form_and_nothing_else_is() {
        let person = |role, form| Some(Slot::Person(role, form, false));
        assert_eq!(Slot::parse("patient"), person(Role::Patient, MentionForm::Any));
        assert_eq!(
            Slot::parse("age.words"),
            person(Role::Patient, MentionForm::Age(Count::Words))
        );
        assert_eq!(
            Slot::parse("relative.He"),
            Some(Slot::Person(Role::Relative, MentionForm::Word(Word::He), true))
        );
        assert_eq!(
            Slot::parse("relative.dob.num"),
            Some(Slot::Date(Day::RelativeBirth, Written::Num))
        );
        assert_eq!(Slot::parse("state.abbr"), Some(Slot::Item(Item::StateAbbr)));
        assert_eq!(Slot::parse("zip.spoken"), Some(Slot::Spoken(Item::Zip)));
        assert_eq!(
            Slot::parse("dob.spoken"),
            Some(Slot::Date(Day::Birth, Written::Spoken))
        );
        assert_eq!(Slot::parse("party.adj"), Some(Slot::Party(Party::Adjective)));
        assert_eq!(Slot::parse("signature"), Some(Slot::Part(Kind::Signature)));
        for unknown in [
            "",
            "patients",
            "patient.nobody",
            "visit.words",
            "zip.num",
            "patient.FIRST",
        ] {
            assert_eq!(Slot::parse(unknown), None, "{unknown}");
        }
    }
}
