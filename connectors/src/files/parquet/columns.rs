//! Maps columns to fields and checks their types.

use std::collections::BTreeMap;

use arrow_schema::{DataType, Schema};
use lethe_core::KnownKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::FileError;
use crate::files::inputs::Input;
use crate::format::{Diagnosis, PayloadError, kind_named};

/// The columns of the fields. A named column must exist. A field that is not named here is read from the
/// column with its own name, if the file has one. `text` must always exist.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Columns {
    /// The column of the note's id. Default: `note_id`.
    pub note_id: Option<String>,
    /// The column of the note's version. Default: `version`.
    pub version: Option<String>,
    /// The column of the patient's id. Default: `patient_id`.
    pub patient_id: Option<String>,
    /// The column of the encounter's id. Default: `encounter_id`.
    pub encounter_id: Option<String>,
    /// The column of the note type. Default: `note_type`.
    pub note_type: Option<String>,
    /// The column of the author's id. Default: `author_id`.
    pub author_id: Option<String>,
    /// The column of the time of writing. Default: `authored_at`.
    pub authored_at: Option<String>,
    /// The column of the event, such as `create` or `delete`. Default: `event`.
    pub event: Option<String>,
    /// The column of the note's text. Default: `text`.
    pub text: Option<String>,
    /// The columns of the patient's identifiers, by kind.
    #[schemars(extend("examples" = [{ "patient": "patient_name", "phone": "home_phone" }]))]
    pub known: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Text,
    NoteId,
    Patient,
    Encounter,
    NoteType,
    Author,
    Version,
    AuthoredAt,
    Event,
    Known(KnownKind),
}

impl Role {
    pub(super) const fn field(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::NoteId => "note_id",
            Self::Patient => "patient_id",
            Self::Encounter => "encounter_id",
            Self::NoteType => "note_type",
            Self::Author => "author_id",
            Self::Version => "version",
            Self::AuthoredAt => "authored_at",
            Self::Event => "event",
            Self::Known(_) => "known",
        }
    }

    pub(super) const fn bad(self, problem: PayloadError) -> Diagnosis {
        Diagnosis {
            field: Some(self.field()),
            byte: 0,
            problem,
        }
    }
}

impl Columns {
    /// Returns the columns to read: their roles, their indices among the file's columns, and their fields'
    /// names.
    pub(super) fn roles(&self, input: &Input, schema: &Schema) -> Result<Vec<(Role, usize)>, FileError> {
        let singles = [
            (Role::Text, &self.text),
            (Role::NoteId, &self.note_id),
            (Role::Patient, &self.patient_id),
            (Role::Encounter, &self.encounter_id),
            (Role::NoteType, &self.note_type),
            (Role::Author, &self.author_id),
            (Role::Version, &self.version),
            (Role::AuthoredAt, &self.authored_at),
            (Role::Event, &self.event),
        ];
        let mut roles = Vec::new();
        for (role, mapped) in singles {
            let field = role.field();
            let column = mapped.as_deref().unwrap_or(field);
            let needed = mapped.is_some() || role == Role::Text;
            if let Some(i) = find(input, schema, role, field, column, needed)? {
                roles.push((role, i));
            }
        }
        for (kind, column) in &self.known {
            let field = format!("known.{kind}");
            let known = kind_named(kind).ok_or_else(|| FileError::Column {
                path: input.path.clone(),
                field: field.clone(),
                column: column.clone(),
                problem: "is mapped to an unknown kind; the kinds are patient, relative, clinician, medical_record, birth_date, phone, address, email, social_security, health_plan, account, organization, other".to_owned(),
            })?;
            if let Some(i) = find(input, schema, Role::Known(known), &field, column, true)? {
                roles.push((Role::Known(known), i));
            }
        }
        Ok(roles)
    }
}

fn find(
    input: &Input,
    schema: &Schema,
    role: Role,
    field: &str,
    column: &str,
    needed: bool,
) -> Result<Option<usize>, FileError> {
    let error = |problem| FileError::Column {
        path: input.path.clone(),
        field: field.to_owned(),
        column: column.to_owned(),
        problem,
    };
    let Some((i, found)) = schema.column_with_name(column) else {
        if !needed {
            return Ok(None);
        }
        let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        return Err(error(format!(
            "does not exist; the file has {}",
            names.join(", ")
        )));
    };
    let kind = found.data_type();
    let (fits, wanted) = match role {
        Role::Version => (kind.is_integer(), "an integer"),
        Role::AuthoredAt => (
            matches!(
                kind,
                DataType::Timestamp(..) | DataType::Date32 | DataType::Int64 | DataType::Utf8
            ),
            "a timestamp, a date, milliseconds since 1970 or RFC 3339 text",
        ),
        Role::Text | Role::NoteType | Role::Event => (is_text(kind), "text"),
        _ => (is_text(kind) || kind.is_integer(), "text or an integer"),
    };
    if !fits {
        return Err(error(format!("has the type {kind}; it must be {wanted}")));
    }
    Ok(Some(i))
}

const fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::Binary)
}
