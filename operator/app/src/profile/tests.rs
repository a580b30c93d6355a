//! Three made-up exports, as hospitals write them: no column that identifies may be kept.

use std::sync::Arc;

use arrow_array::{ArrayRef, LargeStringArray};
use lethe_core::LabelSet;

use super::*;

const ROWS: usize = 120;

const GIVEN: [&str; 8] = ["Ada", "June", "Omar", "Ines", "Paul", "Mei", "Rosa", "Levi"];
const FAMILY: [&str; 7] = [
    "Okafor",
    "Roth",
    "Quill",
    "Zorvane",
    "Ibarra",
    "Lindqvist",
    "Petrov",
];

fn given(row: usize) -> &'static str {
    GIVEN[row * 5 % GIVEN.len()]
}

fn family(row: usize) -> &'static str {
    FAMILY[row * 3 % FAMILY.len()]
}

fn date(row: usize) -> String {
    format!(
        "20{:02}-{:02}-{:02}",
        15 + row % 8,
        1 + row % 12,
        1 + row * 7 % 28
    )
}

/// A column's name, its values by row, and whether it identifies.
type Column = (&'static str, fn(usize) -> String, bool);

/// Profiles the table of these columns, and checks that no identifying one is kept.
#[track_caller]
fn check(columns: &[Column], kept: &[&str], texts: &[&str]) -> TableColumns {
    let arrays = columns.iter().map(|(name, value, _)| {
        let values = LargeStringArray::from_iter_values((0..ROWS).map(value));
        (*name, Arc::new(values) as ArrayRef)
    });
    let rows = RecordBatch::try_from_iter(arrays).unwrap();
    let plan = propose(&rows.schema(), &[rows], &LabelSet::i2b2_2014());
    let proposed = plan.to_columns();
    for (name, _, identifies) in columns {
        assert!(
            !identifies || !proposed.keep.iter().any(|one| one == name),
            "{name} is kept"
        );
    }
    assert_eq!(proposed.keep, kept);
    assert_eq!(proposed.text, texts);
    proposed.check().unwrap();
    plan.to_toml().unwrap();
    proposed
}

#[test]
fn no_identifying_column_of_a_table_of_notes_is_kept() {
    let columns: &[Column] = &[
        ("NOTE_ID", |row| format!("{}", 880_100 + row), true),
        ("PAT_ID", |row| format!("Z{:07}", 10_000 + row / 3), true),
        ("PAT_MRN_ID", |row| format!("{:08}", 44_719 + row / 3), true),
        (
            "PAT_NAME",
            |row| format!("{},{}", family(row).to_uppercase(), given(row).to_uppercase()),
            true,
        ),
        ("BIRTH_DATE", date, true),
        ("SEX_C", |row| ["1", "2"][row % 2].to_owned(), false),
        ("PAT_ENC_CSN_ID", |row| format!("{}", 20_044_000 + row), true),
        ("CONTACT_DATE", date, true),
        (
            "NOTE_TYPE",
            |row| ["Progress Note", "Discharge Summary", "H&P"][row % 3].to_owned(),
            false,
        ),
        (
            "AUTHOR_NAME",
            |row| format!("{} {}, MD", given(row + 1), family(row + 2)),
            true,
        ),
        (
            "AUTHOR_SERVICE",
            |row| ["Cardiology", "Surgery"][row % 2].to_owned(),
            true,
        ),
        (
            "DEPARTMENT_NAME",
            |row| ["4 WEST", "ICU NORTH", "CLINIC B"][row % 3].to_owned(),
            true,
        ),
        ("ZIP", |row| format!("021{:02}", row % 40), true),
        (
            "CITY",
            |row| ["Springfield", "Oakham", "Elm Falls"][row % 3].to_owned(),
            true,
        ),
        (
            "NOTE_TEXT",
            |row| {
                format!(
                    "{} {} came for a follow-up of her back pain today.",
                    given(row),
                    family(row)
                )
            },
            true,
        ),
    ];
    let proposed = check(columns, &["SEX_C", "NOTE_TYPE"], &["NOTE_TEXT"]);
    assert_eq!(proposed.identifiers["PAT_NAME"], "PATIENT");
    assert_eq!(proposed.known["patient"], ["PAT_NAME"]);
    assert_eq!(proposed.patient_id.as_deref(), Some("PAT_ID"));
    assert_eq!(proposed.note_id.as_deref(), Some("NOTE_ID"));
}

#[test]
fn no_identifying_column_of_radiology_reports_is_kept() {
    let columns: &[Column] = &[
        ("AccessionNumber", |row| format!("A77{:05}", row * 13), true),
        (
            "StudyInstanceUID",
            |row| format!("1.2.840.113.{}.{}", row, row * 17),
            true,
        ),
        ("patientLastName", |row| family(row).to_owned(), true),
        ("patientFirstName", |row| given(row).to_owned(), true),
        ("patientAge", |row| format!("{}", 20 + row % 75), true),
        ("patientSex", |row| ["F", "M"][row % 2].to_owned(), false),
        ("modality", |row| ["CT", "MR", "XR"][row % 3].to_owned(), false),
        (
            "examCode",
            |row| ["7002", "7015", "7110"][row % 3].to_owned(),
            false,
        ),
        (
            "examDescription",
            |row| ["CT Head", "MR Spine", "XR Chest"][row % 3].to_owned(),
            false,
        ),
        (
            "studyDateTime",
            |row| format!("{} 10:{:02}:00", date(row), row % 60),
            true,
        ),
        (
            "readingRadiologist",
            |row| format!("{}, {}", family(row + 3), given(row + 3)),
            true,
        ),
        (
            "referringPhysicianNPI",
            |row| format!("10{:08}", 33_219 + row % 20),
            true,
        ),
        (
            "facility",
            |row| ["MGH Main", "North Clinic"][row % 2].to_owned(),
            true,
        ),
        ("radiationDose", |row| format!("{}.{}", row % 9, row % 10), false),
        (
            "reportText",
            |row| {
                format!(
                    "FINDINGS: No acute change.\nIMPRESSION: Normal, Dr. {}.",
                    family(row)
                )
            },
            true,
        ),
    ];
    check(
        columns,
        &[
            "patientSex",
            "modality",
            "examCode",
            "examDescription",
            "radiationDose",
        ],
        &["reportText"],
    );
}

#[test]
fn no_identifying_column_of_messages_is_kept() {
    let columns: &[Column] = &[
        (
            "message_id",
            |row| format!("{:08x}-0000-4000-8000-{:012x}", row * 7919, row * 104_729),
            true,
        ),
        (
            "sent_at",
            |row| format!("{}T08:{:02}:11Z", date(row), row % 60),
            true,
        ),
        ("sender", |row| format!("{} {}", given(row), family(row)), true),
        ("recipient", |row| format!("Dr. {}", family(row + 1)), true),
        (
            "sender_email",
            |row| format!("{}{row}@mail.example", given(row).to_lowercase()),
            true,
        ),
        (
            "callback",
            |row| format!("({}) 555-01{:02}", 212 + row % 9, row % 100),
            true,
        ),
        (
            "created_by",
            |row| format!("{}{}", given(row).to_lowercase(), row % 10),
            true,
        ),
        (
            "client_ip",
            |row| format!("10.0.{}.{}", row % 200, row % 250),
            true,
        ),
        (
            "priority",
            |row| ["low", "normal", "high"][row % 3].to_owned(),
            false,
        ),
        ("is_read", |row| ["true", "false"][row % 2].to_owned(), false),
        ("village", |row| format!("{}ham", FAMILY[row % 7]), true),
        (
            "subject",
            |row| format!("Question about the results of {}", given(row)),
            true,
        ),
        (
            "body",
            |row| {
                format!(
                    "Please call {} back before noon, she asks about her new pills.",
                    given(row)
                )
            },
            true,
        ),
    ];
    check(columns, &["priority", "is_read"], &["subject", "body"]);
}
