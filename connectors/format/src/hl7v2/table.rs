//! What comes back of a message, field by field. This table is the whole of it: a field that is not in it comes back
//! empty, and so does a component that its rule does not name; a segment that is not in it (Z segments, and whatever a
//! later version of the standard adds) does not come back at all.
//!
//! Fields of HL7 v2.5.1; where another version has another type in the same place, the rule takes both.

/// What is done with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// As it is, if it is a number of up to four digits: a set id.
    Number,
    /// As it is, each component that is one short word of letters, digits and ` ./_+-*:<>`: a code of an HL7 table.
    Code,
    /// As it is, six components of it: a code, its text and its system, twice, each where there is a code. What the
    /// sender's user typed (a text without a code, the original text in component 9) is not among them.
    Coded,
    /// As it is: the separators.
    Separators,
    /// The character set that the message is written in.
    Charset,
    /// Replaced: a time stamp.
    Date,
    /// Replaced: names of persons (XPN, PN).
    Name(Whose),
    /// Replaced: a clinician's or operator's id and name (XCN, CN, PPN, NDL).
    Person,
    /// Replaced: an address (XAD, AD). Known as the patient's if it says so.
    Address(bool),
    /// Replaced: a number with its type (CX, CK, EI), under this label if its type says nothing else. Known as the
    /// patient's if it says so.
    Id(&'static str, bool),
    /// Replaced: a telephone number or an e-mail address (XTN, TN). Known as the patient's if it says so.
    Phone(bool),
    /// Replaced: a name of an organisation and its id (XON), under this label.
    Organization(&'static str),
    /// Replaced: a point of care, room, bed, facility, building, floor (PL).
    Location,
    /// Replaced: the first component (ST, HD, IS), under this label.
    Text(&'static str),
    /// Narrative.
    Narrative,
    /// Narrative, or what OBX-2 says that it is.
    Value,
}

/// Whose name it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The patient's.
    Patient,
    /// That of a relative, a guarantor, a contact person.
    Relative,
}

/// A field that comes back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Its number.
    pub(super) field: usize,
    /// Its name, for instance `PID-5`.
    pub(super) name: &'static str,
    /// What is done with it.
    pub(super) rule: Rule,
    /// What it is, and why that is done with it.
    pub(super) why: &'static str,
}

/// A segment that comes back.
pub(super) struct Known {
    /// Its name.
    pub(super) name: &'static str,
    /// Its fields, in their order.
    pub(super) rows: &'static [Row],
}

/// The segment of that name.
pub(super) fn of(segment: &str) -> Option<&'static [Row]> {
    TABLE
        .iter()
        .find(|known| known.name == segment)
        .map(|known| known.rows)
}

/// What comes back of a message, for people: a field's name, what is done with it, and why.
pub fn allowlist() -> impl Iterator<Item = (&'static str, String, &'static str)> {
    let rows = TABLE.iter().flat_map(|known| known.rows);
    rows.map(|row| (row.name, format!("{:?}", row.rule), row.why))
}

macro_rules! segments {
    ($($segment:literal { $($field:literal $rule:expr, $why:literal;)+ })+) => {
        /// Every segment that comes back.
        pub(super) const TABLE: &[Known] = &[$(Known {
            name: $segment,
            rows: &[$(Row {
                field: $field,
                name: concat!($segment, "-", $field),
                rule: $rule,
                why: $why,
            },)+],
        },)+];
    };
}

use Rule::{
    Address, Charset, Code, Coded, Date, Id, Location, Name, Narrative, Number, Organization, Person, Phone,
    Separators, Text, Value,
};
use Whose::{Patient, Relative};

segments! {
    "MSH" {
        1 Separators, "without them nothing can be read";
        2 Separators, "without them nothing can be read";
        4 Text("HOSPITAL"), "the sending facility";
        6 Text("HOSPITAL"), "the receiving facility";
        7 Date, "when it was sent";
        9 Code, "the message's type and event";
        10 Id("IDNUM", false), "the control id leads to the sender's copy";
        11 Code, "production, training or test";
        12 Code, "HL7's version";
        15 Code, "whether it is acknowledged";
        16 Code, "whether it is acknowledged";
        17 Code, "the country, which is larger than a state";
        18 Charset, "without it nothing can be read";
        19 Coded, "the language it is written in";
    }
    "EVN" {
        1 Code, "the event";
        2 Date, "when it was recorded";
        3 Date, "when it was planned";
        4 Code, "its reason, by table 0062";
        5 Person, "who triggered it";
        6 Date, "when it occurred";
        7 Text("HOSPITAL"), "where it occurred";
    }
    "PID" {
        1 Number, "set id";
        2 Id("MEDICALRECORD", true), "the patient's external id";
        3 Id("MEDICALRECORD", true), "the patient's ids";
        4 Id("MEDICALRECORD", true), "the patient's alternate ids";
        5 Name(Patient), "the patient's names";
        6 Name(Relative), "the mother's maiden name";
        7 Date, "the date of birth";
        8 Code, "sex by table 0001: no identifier, and reading needs it";
        9 Name(Patient), "aliases";
        11 Address(true), "addresses";
        12 Text("LOCATION-OTHER"), "the county";
        13 Phone(true), "telephones and e-mail at home";
        14 Phone(true), "telephones and e-mail at work";
        18 Id("ACCOUNT", true), "the account";
        19 Id("SSN", true), "the social security number";
        20 Id("LICENSE", true), "the driver's licence";
        21 Id("MEDICALRECORD", true), "the mother's ids";
        23 Text("LOCATION-OTHER"), "the place of birth";
        29 Date, "the date of death";
        30 Code, "whether the patient died: no identifier";
    }
    "PD1" {
        3 Organization("HOSPITAL"), "the practice";
        4 Person, "the family doctor";
    }
    "NK1" {
        1 Number, "set id";
        2 Name(Relative), "the relative's name";
        3 Coded, "the relationship, by table 0063";
        4 Address(true), "the relative's address";
        5 Phone(true), "the relative's telephone";
        6 Phone(true), "the relative's telephone at work";
        7 Coded, "the contact's role, by table 0131";
        8 Date, "since when";
        9 Date, "until when";
        10 Text("PROFESSION"), "the relative's profession";
        12 Id("IDNUM", false), "an employee's number";
        13 Organization("ORGANIZATION"), "an employer";
        16 Date, "the relative's date of birth";
        26 Name(Relative), "a maiden name";
        30 Name(Relative), "a contact person";
        31 Phone(true), "a contact person's telephone";
        32 Address(true), "a contact person's address";
        33 Id("IDNUM", false), "the relative's ids";
        37 Id("SSN", false), "the relative's social security number";
    }
    "PV1" {
        1 Number, "set id";
        2 Code, "in-patient, out-patient and so on";
        3 Location, "where the patient lies";
        4 Code, "elective, emergency and so on";
        5 Id("ACCOUNT", true), "the number before admission";
        6 Location, "where the patient lay";
        7 Person, "attending";
        8 Person, "referring";
        9 Person, "consulting";
        10 Code, "the hospital's service, by table 0069";
        11 Location, "where the patient lies for now";
        14 Code, "where admitted from, by table 0023";
        17 Person, "admitting";
        18 Code, "the patient's type";
        19 Id("ACCOUNT", true), "the visit's number";
        36 Code, "discharged how, by table 0112";
        37 Text("LOCATION-OTHER"), "discharged where to";
        39 Text("HOSPITAL"), "the facility";
        42 Location, "where the patient will lie";
        43 Location, "where the patient lay for a time";
        44 Date, "admission";
        45 Date, "discharge";
        50 Id("ACCOUNT", true), "the visit's other number";
        52 Person, "any other clinician";
    }
    "PV2" {
        8 Date, "expected admission";
        9 Date, "expected discharge";
        13 Person, "who referred";
        23 Organization("HOSPITAL"), "the clinic";
    }
    "ORC" {
        1 Code, "what is done to the order";
        2 Id("IDNUM", false), "the placer's number";
        3 Id("IDNUM", false), "the filler's number";
        4 Id("IDNUM", false), "the group's number";
        5 Code, "the order's status";
        9 Date, "when ordered";
        10 Person, "who entered it";
        11 Person, "who verified it";
        12 Person, "who ordered it";
        13 Location, "where it was entered";
        14 Phone(false), "whom to call back";
        15 Date, "from when it holds";
        19 Person, "by whom";
        21 Organization("HOSPITAL"), "the ordering facility";
        22 Address(false), "its address";
        23 Phone(false), "its telephone";
        24 Address(false), "the address of who ordered";
    }
    "OBR" {
        1 Number, "set id";
        2 Id("IDNUM", false), "the placer's number";
        3 Id("IDNUM", false), "the filler's number";
        4 Coded, "what was ordered";
        5 Code, "priority";
        6 Date, "when requested";
        7 Date, "when observed";
        8 Date, "until when observed";
        10 Person, "who collected";
        11 Code, "what is done to the specimen";
        14 Date, "when the specimen came";
        16 Person, "who ordered";
        17 Phone(false), "whom to call back";
        18 Id("IDNUM", false), "the placer's field, which often holds a number";
        19 Id("IDNUM", false), "the placer's field, which often holds a number";
        20 Id("IDNUM", false), "the filler's field, which often holds a number";
        21 Id("IDNUM", false), "the filler's field, which often holds a number";
        22 Date, "when reported";
        24 Code, "the section, by table 0074";
        25 Code, "the status, by table 0123";
        28 Person, "who gets a copy";
        32 Person, "who interpreted";
        33 Person, "who helped to interpret";
        34 Person, "who performed it";
        35 Person, "who transcribed";
        36 Date, "when scheduled";
        44 Coded, "the procedure";
    }
    "OBX" {
        1 Number, "set id";
        2 Code, "the value's type";
        3 Coded, "what was observed";
        4 Code, "which part of it";
        5 Value, "the value";
        6 Coded, "the unit";
        7 Code, "a range of reference";
        8 Code, "flags, by table 0078";
        10 Code, "the nature of the test, by table 0080";
        11 Code, "the status, by table 0085";
        14 Date, "when observed";
        16 Person, "who is responsible";
        17 Coded, "the method";
        18 Id("DEVICE", false), "the device";
        19 Date, "when analysed";
        23 Organization("HOSPITAL"), "who performed it";
        24 Address(false), "the address of who performed it";
        25 Person, "the medical director";
    }
    "NTE" {
        1 Number, "set id";
        2 Code, "the comment's source, by table 0105";
        3 Narrative, "the comment";
        4 Coded, "the comment's type, by table 0364";
    }
    "TXA" {
        1 Number, "set id";
        2 Coded, "the document's type, by table 0270";
        3 Code, "how it is presented, by table 0191";
        4 Date, "when the activity was";
        5 Person, "whose activity it was";
        6 Date, "when dictated";
        7 Date, "when transcribed";
        8 Date, "when edited";
        9 Person, "the author";
        10 Person, "who authenticates";
        11 Person, "who transcribed";
        12 Id("IDNUM", false), "the document's unique number";
        13 Id("IDNUM", false), "its parent's unique number";
        14 Id("IDNUM", false), "the placer's number";
        15 Id("IDNUM", false), "the filler's number";
        17 Code, "completion, by table 0271";
        18 Code, "confidentiality, by table 0272";
        19 Code, "availability, by table 0273";
        20 Code, "storage, by table 0275";
        22 Person, "who authenticated";
        23 Person, "who gets a copy";
    }
    "GT1" {
        1 Number, "set id";
        2 Id("ACCOUNT", true), "the guarantor's number";
        3 Name(Relative), "the guarantor";
        4 Name(Relative), "the guarantor's spouse";
        5 Address(true), "the guarantor's address";
        6 Phone(true), "the guarantor's telephone";
        7 Phone(true), "the guarantor's telephone at work";
        8 Date, "the guarantor's date of birth";
        10 Code, "the guarantor's type";
        11 Coded, "the relationship, by table 0063";
        12 Id("SSN", true), "the guarantor's social security number";
        16 Name(Relative), "the guarantor's employer, where it is a person";
        17 Address(false), "the employer's address";
        18 Phone(false), "the employer's telephone";
        19 Id("IDNUM", false), "the guarantor's number with the employer";
        21 Organization("ORGANIZATION"), "the guarantor's organisation";
    }
    "IN1" {
        1 Number, "set id";
        4 Organization("ORGANIZATION"), "the insurer";
        5 Address(false), "the insurer's address";
        6 Name(Relative), "a contact person";
        7 Phone(false), "the insurer's telephone";
        8 Id("HEALTHPLAN", true), "the group's number";
        9 Organization("ORGANIZATION"), "the group's name";
        10 Id("IDNUM", false), "the number with the employer";
        11 Organization("ORGANIZATION"), "the employer";
        12 Date, "since when";
        13 Date, "until when";
        16 Name(Relative), "the insured";
        17 Coded, "the relationship, by table 0063";
        18 Date, "the insured's date of birth";
        19 Address(true), "the insured's address";
        36 Id("HEALTHPLAN", true), "the policy's number";
        49 Id("HEALTHPLAN", true), "the insured's number";
    }
    "AL1" {
        1 Number, "set id";
        2 Coded, "the allergy's type";
        3 Coded, "what it is to";
        4 Coded, "how severe it is";
        6 Date, "since when";
    }
    "DG1" {
        1 Number, "set id";
        2 Code, "the coding system";
        3 Coded, "the diagnosis";
        5 Date, "when made";
        6 Code, "its type";
        16 Person, "who made it";
        19 Date, "when attested";
    }
    "PR1" {
        1 Number, "set id";
        2 Code, "the coding system";
        3 Coded, "the procedure";
        5 Date, "when";
        8 Person, "who gave the anaesthesia";
        11 Person, "who operated";
        12 Person, "who else took part";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lethe_core::LabelSet;

    #[test]
    fn fields_stand_in_their_order_and_none_twice() {
        for known in TABLE {
            let fields: Vec<usize> = known.rows.iter().map(|row| row.field).collect();
            assert!(fields.is_sorted_by(|a, b| a < b), "{}", known.name);
        }
    }

    #[test]
    fn every_label_is_one_of_the_2014_track() {
        let labels = LabelSet::i2b2_2014();
        for row in TABLE.iter().flat_map(|known| known.rows) {
            if let Id(label, _) | Organization(label) | Text(label) = row.rule {
                assert!(labels.by_name(label).is_some(), "{}: {label}", row.name);
            }
        }
    }

    #[test]
    fn what_is_free_text_or_says_who_it_is_never_comes_back_as_it_is() {
        let as_it_is = |rule| matches!(rule, Number | Code | Coded | Separators | Charset);
        for (segment, field) in [
            ("PID", 5),
            ("PID", 10),
            ("TXA", 16),
            ("OBR", 13),
            ("AL1", 5),
            ("DG1", 4),
        ] {
            let row = of(segment).unwrap().iter().find(|row| row.field == field);
            assert!(row.is_none_or(|row| !as_it_is(row.rule)), "{segment}-{field}");
        }
        assert!(of("ZPI").is_none());
    }
}
