//! The allowlist of a message's fields. A field outside of it is returned empty, and so is a component that
//! its rule does not name; a segment outside of it (Z segments, and additions of later versions) is not
//! returned.
//!
//! Fields of HL7 v2.5.1; if another version has another type at the same position, the rule accepts both.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The treatment of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Kept if it is a number of up to four digits: a set id.
    Number,
    /// The first component is kept if it is a code of this HL7 table.
    Table(&'static str),
    /// Message type, event and structure are kept if they are codes of tables 0076 and 0003.
    MessageType,
    /// The two codes of a coded element (CE, CWE) are kept with their systems if they are codes of this table
    /// or of their named system. Texts are never kept, since they may be typed.
    Coded(&'static str),
    /// A coded element without a table. Other values are replaced by `L1`, `L2`, ... in order of their first
    /// occurrence in the message, so that equal observations stay equal and the required field is not empty.
    Observation,
    /// Kept if it is a number of up to four digits; otherwise `S1`, `S2`, ... in the same way.
    SubId,
    /// The code of a UCUM unit is kept.
    Unit,
    /// Kept if it is a range of short numbers.
    Range,
    /// The separators, which are kept.
    Separators,
    /// The character set of the message.
    Charset,
    /// Replaced: a time stamp.
    Date,
    /// Replaced: names of persons (XPN, PN).
    Name(Whose),
    /// Replaced: a clinician's or operator's id and name (XCN, CN, PPN, NDL).
    Person,
    /// Replaced: an address (XAD, AD). The flag marks a known identifier of the patient.
    Address(bool),
    /// Replaced: a number with its type (CX, CK, EI), with this label unless its type is more specific. The
    /// flag marks a known identifier of the patient.
    Id(&'static str, bool),
    /// Replaced: a telephone number or an e-mail address (XTN, TN). The flag marks a known identifier of the
    /// patient.
    Phone(bool),
    /// Replaced: a name of an organisation and its id (XON), with this label.
    Organization(&'static str),
    /// Replaced: a point of care, room, bed, facility, building, floor (PL).
    Location,
    /// Replaced: the first component (ST, HD, IS), with this label.
    Text(&'static str),
    /// Narrative.
    Narrative,
    /// Narrative, or the type in OBX-2.
    Value,
}

/// The owner of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The patient's.
    Patient,
    /// A relative's, a guarantor's or a contact person's.
    Relative,
}

/// A returned field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Its number.
    pub(super) field: usize,
    /// Its name, for instance `PID-5`.
    pub(super) name: &'static str,
    /// Its treatment.
    pub(super) rule: Rule,
    /// Its meaning, and the reason for its treatment.
    pub(super) why: &'static str,
}

/// A returned segment.
pub(super) struct Known {
    /// Its name.
    pub(super) name: &'static str,
    /// Its fields, in order.
    pub(super) rows: &'static [Row],
}

/// Returns the segment with that name.
pub(super) fn of(segment: &str) -> Option<&'static [Row]> {
    static BY_NAME: LazyLock<HashMap<&str, &[Row]>> =
        LazyLock::new(|| TABLE.iter().map(|known| (known.name, known.rows)).collect());
    BY_NAME.get(segment).copied()
}

/// The names of HL7 v2.8.2's segments. Anything else at the head of a line may be a word of a text.
const STANDARD: &str = "ABS ACC ADD ADJ AFF AIG AIL AIP AIS AL1 APR ARQ ARV AUT BHS BLC BLG BPO BPX BTS BTX BUI CDM CDO CER \
    CM0 CM1 CM2 CNS CON CSP CSR CSS CTD CTI CTR DB1 DEV DG1 DMI DON DPS DRG DSC DSP DST ECD ECR EDU EQP EQU ERR EVN FAC FHS \
    FT1 FTS GOL GP1 GP2 GT1 IAM IAR IIM ILT IN1 IN2 IN3 INV IPC IPR ISD ITM IVC IVT LAN LCC LCH LDP LOC LRL MCP MFA MFE \
    MFI MRG MSA MSH NCK NDS NK1 NPU NSC NST NTE OBR OBX ODS ODT OH1 OH2 OH3 OH4 OM1 OM2 OM3 OM4 OM5 OM6 OM7 OMC ORC ORG OVR \
    PAC PCE PCR PD1 PDA PDC PEO PES PID PKG PMT PR1 PRA PRB PRC PRD PRT PSG PSH PSL PSS PTH PV1 PV2 PYE QAK QID QPD QRD QRF \
    QRI RCP RDF RDT REL RF1 RFI RGS RMI ROL RQ1 RQD RXA RXC RXD RXE RXG RXO RXR RXV SAC SCD SCH SCP SDD SFT SGH SGT SHP SID \
    SLT SPM STF STZ TCC TCD TQ1 TQ2 TXA UAC UB1 UB2 URD URS VAR VND";

/// Returns the segment's name for the audit: a name of the standard, or none of the sender's letters.
pub(super) fn standard_name(segment: &str) -> &'static str {
    static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| STANDARD.split_ascii_whitespace().collect());
    match NAMES.get(segment) {
        Some(name) => name,
        None if segment.starts_with('Z') => "Z segment",
        None => "unknown segment",
    }
}

/// Returns the allowlist for display: a field's name, its treatment, and the reason.
pub fn allowlist() -> impl Iterator<Item = (&'static str, String, &'static str)> {
    let rows = TABLE.iter().flat_map(|known| known.rows);
    rows.map(|row| (row.name, format!("{:?}", row.rule), row.why))
}

macro_rules! segments {
    ($($segment:literal { $($field:literal $rule:expr, $why:literal;)+ })+) => {
        /// Every returned segment.
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
    Address, Charset, Coded, Date, Id, Location, MessageType, Name, Narrative, Number, Observation,
    Organization, Person, Phone, Range, Separators, SubId, Table, Text, Unit, Value,
};
use Whose::{Patient, Relative};

segments! {
    "MSH" {
        1 Separators, "without them nothing can be read";
        2 Separators, "without them nothing can be read";
        4 Text("HOSPITAL"), "the sending facility";
        6 Text("HOSPITAL"), "the receiving facility";
        7 Date, "when it was sent";
        9 MessageType, "the message's type and event";
        10 Id("IDNUM", false), "the control id leads to the sender's copy";
        11 Table("0103"), "production, training or test";
        12 Table("0104"), "HL7's version";
        15 Table("0155"), "whether it is acknowledged";
        16 Table("0155"), "whether it is acknowledged";
        18 Charset, "without it nothing can be read";
    }
    "MSA" {
        1 Table("0008"), "whether the message was accepted";
        2 Id("IDNUM", false), "the control id of the message that is acknowledged";
    }
    "EVN" {
        1 Table("0003"), "the event";
        2 Date, "when it was recorded";
        3 Date, "when it was planned";
        4 Table("0062"), "its reason, by table 0062";
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
        8 Table("0001"), "sex by table 0001: no identifier, and reading needs it";
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
        30 Table("0136"), "whether the patient died: no identifier";
    }
    "PD1" {
        3 Organization("HOSPITAL"), "the practice";
        4 Person, "the family doctor";
    }
    "NK1" {
        1 Number, "set id";
        2 Name(Relative), "the relative's name";
        3 Coded("0063"), "the relationship, by table 0063";
        4 Address(true), "the relative's address";
        5 Phone(true), "the relative's telephone";
        6 Phone(true), "the relative's telephone at work";
        7 Coded("0131"), "the contact's role, by table 0131";
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
        2 Table("0004"), "in-patient, out-patient and so on";
        3 Location, "where the patient lies";
        4 Table("0007"), "elective, emergency and so on";
        5 Id("ACCOUNT", true), "the number before admission";
        6 Location, "where the patient lay";
        7 Person, "attending";
        8 Person, "referring";
        9 Person, "consulting";
        10 Table("0069"), "the hospital's service, by table 0069";
        11 Location, "where the patient lies for now";
        14 Table("0023"), "where admitted from, by table 0023";
        17 Person, "admitting";
        18 Table("0018"), "the patient's type";
        19 Id("ACCOUNT", true), "the visit's number";
        36 Table("0112"), "discharged how, by table 0112";
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
        1 Table("0119"), "what is done to the order";
        2 Id("IDNUM", false), "the placer's number";
        3 Id("IDNUM", false), "the filler's number";
        4 Id("IDNUM", false), "the group's number";
        5 Table("0038"), "the order's status";
        9 Date, "when ordered";
        10 Person, "who entered it";
        11 Person, "who verified it";
        12 Person, "who ordered it";
        13 Location, "where it was entered";
        14 Phone(false), "whom to call back";
        15 Date, "from when it holds";
        19 Person, "who acted on it";
        21 Organization("HOSPITAL"), "the ordering facility";
        22 Address(false), "its address";
        23 Phone(false), "its telephone";
        24 Address(false), "the address of who ordered";
    }
    "OBR" {
        1 Number, "set id";
        2 Id("IDNUM", false), "the placer's number";
        3 Id("IDNUM", false), "the filler's number";
        4 Coded(""), "what was ordered";
        6 Date, "when requested";
        7 Date, "when observed";
        8 Date, "until when observed";
        10 Person, "who collected";
        11 Table("0065"), "what is done to the specimen";
        14 Date, "when the specimen came";
        16 Person, "who ordered";
        17 Phone(false), "whom to call back";
        18 Id("IDNUM", false), "the placer's field, which often holds a number";
        19 Id("IDNUM", false), "the placer's field, which often holds a number";
        20 Id("IDNUM", false), "the filler's field, which often holds a number";
        21 Id("IDNUM", false), "the filler's field, which often holds a number";
        22 Date, "when reported";
        24 Table("0074"), "the section, by table 0074";
        25 Table("0123"), "the status, by table 0123";
        28 Person, "who gets a copy";
        32 Person, "who interpreted";
        33 Person, "who helped to interpret";
        34 Person, "who performed it";
        35 Person, "who transcribed";
        36 Date, "when scheduled";
        44 Coded(""), "the procedure";
    }
    "OBX" {
        1 Number, "set id";
        2 Table("0125"), "the value's type";
        3 Observation, "what was observed";
        4 SubId, "which part of it";
        5 Value, "the value";
        6 Unit, "the unit";
        7 Range, "a range of reference";
        8 Table("0078"), "flags, by table 0078";
        10 Table("0080"), "the nature of the test, by table 0080";
        11 Table("0085"), "the status, by table 0085";
        14 Date, "when observed";
        16 Person, "who is responsible";
        17 Coded(""), "the method";
        18 Id("DEVICE", false), "the device";
        19 Date, "when analysed";
        23 Organization("HOSPITAL"), "who performed it";
        24 Address(false), "the address of who performed it";
        25 Person, "the medical director";
    }
    "NTE" {
        1 Number, "set id";
        2 Table("0105"), "the comment's source, by table 0105";
        3 Narrative, "the comment";
        4 Coded("0364"), "the comment's type, by table 0364";
    }
    "TXA" {
        1 Number, "set id";
        2 Coded("0270"), "the document's type, by table 0270";
        3 Table("0191"), "how it is presented, by table 0191";
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
        17 Table("0271"), "completion, by table 0271";
        18 Table("0272"), "confidentiality, by table 0272";
        19 Table("0273"), "availability, by table 0273";
        20 Table("0275"), "storage, by table 0275";
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
        10 Table("0068"), "the guarantor's type";
        11 Coded("0063"), "the relationship, by table 0063";
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
        17 Coded("0063"), "the relationship, by table 0063";
        18 Date, "the insured's date of birth";
        19 Address(true), "the insured's address";
        36 Id("HEALTHPLAN", true), "the policy's number";
        49 Id("HEALTHPLAN", true), "the insured's number";
    }
    "MRG" {
        1 Id("MEDICALRECORD", true), "the patient's earlier ids";
        2 Id("MEDICALRECORD", true), "the patient's earlier alternate ids";
        3 Id("ACCOUNT", true), "the earlier account";
        4 Id("MEDICALRECORD", true), "the patient's earlier id";
        5 Id("ACCOUNT", true), "the earlier visit's number";
        7 Name(Patient), "the patient's earlier name";
    }
    "ROL" {
        1 Id("IDNUM", false), "the role's id";
        2 Table("0287"), "what is done to the role";
        3 Coded("0443"), "the role";
        4 Person, "who has the role";
        5 Date, "since when";
        6 Date, "until when";
    }
    "SCH" {
        1 Id("IDNUM", false), "the placer's appointment number";
        2 Id("IDNUM", false), "the filler's appointment number";
        6 Coded(""), "the event's reason";
        7 Coded("0276"), "the appointment's reason, by table 0276";
        8 Coded("0277"), "the appointment's type, by table 0277";
        12 Person, "who asked for the appointment";
        16 Person, "whom the filler names for questions";
        20 Person, "who entered it";
        25 Coded("0278"), "the appointment's status, by table 0278";
        26 Id("IDNUM", false), "the placer's order number";
        27 Id("IDNUM", false), "the filler's order number";
    }
    "AIS" {
        1 Number, "set id";
        3 Coded(""), "the service";
        4 Date, "when it starts";
        10 Coded("0278"), "its status, by table 0278";
    }
    "AIG" {
        1 Number, "set id";
        4 Coded(""), "the resource's type";
        8 Date, "when it starts";
        14 Coded("0278"), "its status, by table 0278";
    }
    "AIL" {
        1 Number, "set id";
        3 Location, "where the appointment is";
        6 Date, "when it starts";
        12 Coded("0278"), "its status, by table 0278";
    }
    "AIP" {
        1 Number, "set id";
        3 Person, "whom the appointment is with";
        6 Date, "when it starts";
        12 Coded("0278"), "its status, by table 0278";
    }
    "RXA" {
        1 Number, "set id";
        2 Number, "the administration's number";
        3 Date, "from when it was given";
        4 Date, "until when it was given";
        5 Coded(""), "what was given";
        7 Unit, "the dose's unit";
        10 Person, "who gave it";
        16 Date, "when the substance expires";
        17 Coded(""), "who made the substance";
        20 Table("0322"), "completion, by table 0322";
        21 Table("0323"), "what is done to the record, by table 0323";
    }
    "RXR" {
        1 Coded("0162"), "the route, by table 0162";
        2 Coded("0163"), "the site, by table 0163";
    }
    "RXO" {
        1 Coded(""), "what was ordered";
        4 Unit, "the dose's unit";
        14 Person, "who ordered it";
        15 Person, "who verified it";
    }
    "RXE" {
        2 Coded(""), "what is dispensed";
        5 Unit, "the dose's unit";
        13 Person, "who ordered it";
        14 Person, "who verified it";
        15 Id("IDNUM", false), "the prescription's number";
        32 Date, "when it was ordered";
    }
    "RXD" {
        1 Number, "the dispense's number";
        2 Coded(""), "what was dispensed";
        3 Date, "when it was dispensed";
        5 Unit, "the dose's unit";
        7 Id("IDNUM", false), "the prescription's number";
        10 Person, "who dispensed it";
    }
    "FT1" {
        1 Number, "set id";
        2 Id("IDNUM", false), "the transaction's id";
        4 Date, "when it was made";
        5 Date, "when it was posted";
        7 Coded(""), "the transaction's code";
        16 Location, "where the patient lay";
        19 Coded(""), "the diagnosis";
        20 Person, "who performed it";
        21 Person, "who ordered it";
        25 Coded(""), "the procedure";
    }
    "SPM" {
        1 Number, "set id";
        2 Id("IDNUM", false), "the specimen's number";
        4 Coded("0487"), "the specimen's type, by table 0487";
        17 Date, "when it was collected";
        18 Date, "when it was received";
    }
    "ACC" {
        1 Date, "when the accident was";
        3 Text("LOCATION-OTHER"), "where the accident was";
    }
    "AL1" {
        1 Number, "set id";
        2 Coded("0127"), "the allergy's type";
        3 Coded(""), "what it is to";
        4 Coded("0128"), "how severe it is";
        6 Date, "since when";
    }
    "DG1" {
        1 Number, "set id";
        2 Table("0053"), "the coding system";
        3 Coded(""), "the diagnosis";
        5 Date, "when made";
        6 Table("0052"), "its type";
        16 Person, "who made it";
        19 Date, "when attested";
    }
    "PR1" {
        1 Number, "set id";
        2 Table("0089"), "the coding system";
        3 Coded(""), "the procedure";
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
        let as_it_is = |rule| matches!(rule, Number | Table(_) | Coded(_) | Separators | Charset);
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
