//! Reads the fields of a message's note event except its text.

use jiff::civil::Date;
use lethe_core::{EventKind, KnownKind, NoteEvent, Sensitive};

use super::attachment::FieldError;
use super::build::{authority, identifier_kind};
use super::ids::{self, Target};
use super::index::Index;
use super::value::{Object, Value, object, objects, str_of};
use super::{PatientIdFrom, dates};
use crate::PayloadError;

/// Returns the event without its text.
///
/// # Errors
/// An error if the message has no note, or nothing that identifies it.
pub(super) fn of(root: &Object<'_>, index: &Index<'_>, from: PatientIdFrom) -> Result<NoteEvent, FieldError> {
    let Some(first) = index.notes.first() else {
        return Err(match str_of(root, "resourceType") {
            None => ("resourceType", PayloadError::Missing),
            Some("Bundle") => ("Bundle.entry.resource", PayloadError::Missing),
            Some(_) => ("resourceType", PayloadError::Unsupported),
        });
    };
    // The note is a valid one, if there is any.
    let valid = index
        .notes
        .iter()
        .find(|note| !has_status(note, &["entered-in-error"]));
    let note = valid.unwrap_or(first);
    let version = object(note, "meta")
        .and_then(|meta| str_of(meta, "versionId"))
        .and_then(|version| version.parse::<i64>().ok());
    let amended = has_status(note, &["amended", "corrected", "appended"]) || version > Some(1);
    let concept = object(note, "type").or_else(|| object(note, "code"));
    let context = object(note, "context");
    let encounter = object(note, "encounter").or_else(|| object(context?, "encounter"));
    let author = object(note, "author").or_else(|| object(note, "performer"));
    let patient = patient_id(note, index, from);
    Ok(NoteEvent {
        note_id: note_id(root, note).ok_or(("id", PayloadError::Missing))?.into(),
        version,
        patient_id: patient.as_ref().map(|(id, _)| Sensitive::from(*id)),
        patient_authority: patient.and_then(|(_, system)| system).map(authority),
        encounter_id: encounter.and_then(|to| referred(to, index, note)),
        note_type: concept.and_then(concept_name).map(str::to_owned),
        author_id: author.and_then(|to| referred(to, index, note)),
        authored_at: authored(note),
        kind: match (valid, amended) {
            (None, _) => EventKind::Delete,
            (_, true) => EventKind::Amend,
            _ => EventKind::Create,
        },
        ..NoteEvent::default()
    })
}

/// Returns the day, in UTC, of a time in milliseconds since 1970.
pub(super) fn day(millis: i64) -> Option<Date> {
    let time = jiff::Timestamp::from_millisecond(millis).ok()?;
    Some(time.to_zoned(jiff::tz::TimeZone::UTC).date())
}

fn has_status(note: &Object<'_>, of: &[&str]) -> bool {
    let mut statuses = ["status", "docStatus"]
        .into_iter()
        .filter_map(|name| str_of(note, name));
    statuses.any(|status| of.contains(&status))
}

fn note_id<'v>(root: &'v Object<'v>, note: &'v Object<'v>) -> Option<&'v str> {
    let value = |identifier| str_of(identifier, "value");
    let of_entry = || {
        let mut entries = objects(root, "entry");
        let of_note = |entry: &&Object<'_>| {
            let resource = entry.get("resource").and_then(Value::as_object);
            resource.is_some_and(|resource| std::ptr::eq(resource, note))
        };
        match ids::target(str_of(entries.find(of_note)?, "fullUrl")?)? {
            Target::Typed(_, id) | Target::Urn(id) => Some(id),
            Target::Contained(_) => None,
        }
    };
    str_of(note, "id")
        .or_else(|| object(note, "masterIdentifier").and_then(value))
        .or_else(|| objects(note, "identifier").find_map(value))
        .or_else(|| objects(root, "identifier").find_map(value))
        .or_else(|| str_of(root, "id"))
        .or_else(of_entry)
}

/// Returns the patient's id, with its system if it is a business identifier.
fn patient_id<'v>(
    note: &'v Object<'v>,
    index: &Index<'v>,
    from: PatientIdFrom,
) -> Option<(&'v str, Option<&'v str>)> {
    let is_patient = str_of(note, "resourceType") == Some("Patient");
    if let (true, PatientIdFrom::ResourceId, Some(id)) = (is_patient, from, str_of(note, "id")) {
        return Some((id, None));
    }
    // The security context of a document may be a patient.
    let subject = ["subject", "patient", "beneficiary", "securityContext"]
        .into_iter()
        .find_map(|name| object(note, name));
    let address = subject.and_then(|subject| str_of(subject, "reference"));
    let target = address.and_then(ids::target);
    let patient = match (address, index.patients.as_slice()) {
        (Some(address), _) => index.resolve(note, address),
        (None, [only]) => Some(*only),
        _ => None,
    };
    let patient = patient.filter(|resource| str_of(resource, "resourceType") == Some("Patient"));
    let record = || {
        let mut identifiers = patient
            .into_iter()
            .flat_map(|patient| objects(patient, "identifier"));
        let of_record = |identifier: &&Object<'_>| {
            matches!(identifier_kind(identifier), Some((_, KnownKind::MedicalRecord)))
        };
        let number = identifiers.find(of_record).and_then(with_system);
        let named = || with_system(object(subject?, "identifier")?);
        number.or_else(named)
    };
    let own = || match target {
        Some(Target::Typed("Patient", id)) => Some(id),
        Some(Target::Contained(_)) => None,
        _ => str_of(patient?, "id"),
    };
    match from {
        PatientIdFrom::ResourceId => own().map(|id| (id, None)).or_else(record),
        PatientIdFrom::MedicalRecord => record(),
    }
}

/// Returns an identifier's value and system.
fn with_system<'v>(identifier: &'v Object<'_>) -> Option<(&'v str, Option<&'v str>)> {
    Some((str_of(identifier, "value")?, str_of(identifier, "system")))
}

/// Returns the id that a reference leads to, or the identifier in its place.
fn referred(reference: &Object<'_>, index: &Index<'_>, from: &Object<'_>) -> Option<Sensitive> {
    let address = str_of(reference, "reference");
    let by_address = address.and_then(|address| match ids::target(address)? {
        Target::Typed(_, id) => Some(id),
        _ => str_of(index.resolve(from, address)?, "id"),
    });
    let by_identifier = || str_of(object(reference, "identifier")?, "value");
    by_address.or_else(by_identifier).map(Sensitive::from)
}

fn concept_name<'v>(concept: &'v Object<'_>) -> Option<&'v str> {
    let coding = object(concept, "coding");
    let of_coding = |name| str_of(coding?, name);
    str_of(concept, "text")
        .or_else(|| of_coding("display"))
        .or_else(|| of_coding("code"))
}

fn authored(note: &Object<'_>) -> Option<i64> {
    let start =
        |within: Option<&Object<'_>>, name| str_of(object(within?, name)?, "start").and_then(dates::millis);
    let dated = |name| str_of(note, name).and_then(dates::millis);
    dated("date")
        .or_else(|| dated("issued"))
        .or_else(|| dated("effectiveDateTime"))
        .or_else(|| dated("effectiveInstant"))
        .or_else(|| start(Some(note), "effectivePeriod"))
        .or_else(|| start(object(note, "context"), "period"))
}
