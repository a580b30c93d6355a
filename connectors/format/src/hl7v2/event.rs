//! Reads the fields of a message's note event: its id, patient, kind, time, and what happened to it.

use jiff::tz::Offset;
use lethe_core::{EventKind, NoteEvent, PatientKey};

use super::Hl7v2Config;
use super::codes::Codes;
use super::escape::Codec;
use super::message::Segment;
use super::time::Stamp;
use super::{links, people};
use crate::PayloadError;

/// Why an event is refused: the field, and the problem.
pub(super) type Refused = (&'static str, PayloadError);

/// Returns whether OBR-25 marks the whole order as void (table 0123).
pub(super) fn is_void(order: &Segment<'_>) -> bool {
    order.field(25) == "X"
}

/// Returns whether OBX-11 marks the observation as deleted, unobtainable, or wrong (table 0085).
pub(super) fn is_withdrawn(observation: &Segment<'_>) -> bool {
    matches!(observation.field(11), "D" | "X" | "W")
}

/// Checks that messages of this type are read: those of table 0076. A message without a type is read by its
/// segments.
///
/// Acknowledgements, queries and master files concern no patient; their fields are handled in the same way.
///
/// # Errors
/// [`PayloadError::Unsupported`] for a type that the standard does not have.
pub(super) fn supported(codec: &Codec, codes: &Codes, segments: &[Segment<'_>]) -> Result<(), Refused> {
    let head = segments.iter().find(|segment| segment.name == "MSH");
    let kind = head.map_or("", |msh| codec.separators.component(msh.field(9), 1));
    if kind.is_empty() || codes.in_table("0076", kind) {
        Ok(())
    } else {
        Err(("MSH-9", PayloadError::Unsupported))
    }
}

/// Returns what happened to the note: for MDM by its trigger event (chapter 9), otherwise by the status of
/// its observations.
///
/// | MDM | event |
/// |---|---|
/// | T01, T02 new, T05, T06 addendum (a separate document) | create |
/// | T03, T04 status, T07, T08 edited, T09, T10 replaced | amend |
/// | T11 cancelled | delete |
///
/// # Errors
/// [`PayloadError::UnknownEvent`] for any other trigger event of MDM.
pub(super) fn kind(codec: &Codec, segments: &[Segment<'_>]) -> Result<EventKind, Refused> {
    let separators = codec.separators;
    let named = |name: &str| segments.iter().find(|segment| segment.name == name);
    let message_type = named("MSH").map_or("", |msh| msh.field(9));
    if separators.component(message_type, 1) == "MDM" {
        let trigger = match separators.component(message_type, 2) {
            "" => named("EVN").map_or("", |evn| separators.component(evn.field(1), 1)),
            trigger => trigger,
        };
        return match trigger {
            "T01" | "T02" | "T05" | "T06" => Ok(EventKind::Create),
            "T03" | "T04" | "T07" | "T08" | "T09" | "T10" => Ok(EventKind::Amend),
            "T11" => Ok(EventKind::Delete),
            _ => Err(("MSH-9", PayloadError::UnknownEvent)),
        };
    }
    let (mut corrected, mut withdrawn, mut standing, mut void) = (false, false, false, false);
    for segment in segments {
        match segment.name {
            "OBR" => {
                void = is_void(segment);
                withdrawn |= void;
                corrected |= segment.field(25) == "C";
            }
            "OBX" => {
                let gone = void || is_withdrawn(segment);
                withdrawn |= gone;
                standing |= !gone;
                corrected |= segment.field(11) == "C";
            }
            _ => {}
        }
    }
    Ok(match (withdrawn && !standing, corrected) {
        (true, _) => EventKind::Delete,
        (false, true) => EventKind::Amend,
        (false, false) => EventKind::Create,
    })
}

/// Returns the event's fields except its text and its kind.
///
/// # Errors
/// [`PayloadError::Missing`] if nothing in the message can be the note's id.
pub(super) fn facts(
    codec: &Codec,
    segments: &[Segment<'_>],
    config: &Hl7v2Config,
    utc_offset: Option<Offset>,
) -> Result<NoteEvent, Refused> {
    let separators = codec.separators;
    let component = |name: &'static str, field: usize, n: usize| -> Result<String, Refused> {
        // The first one with a value: of several orders, the first is the note's. A field that is blank after
        // decoding counts as absent.
        for segment in segments.iter().filter(|segment| segment.name == name) {
            if segment.field(field).is_empty() {
                continue;
            }
            let raw = separators.component(segment.field(field), n).trim();
            let value = codec.line(raw).map_err(|problem| (name, problem))?;
            if !value.is_empty() {
                return Ok(value);
            }
        }
        Ok(String::new())
    };
    let first = |places: &[(&'static str, usize, usize)]| -> Result<Option<String>, Refused> {
        for &(name, field, n) in places {
            let found = component(name, field, n)?;
            if !found.is_empty() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    };
    let note_id = first(&[("TXA", 12, 1), ("OBR", 3, 1), ("ORC", 3, 1), ("MSH", 10, 1)])?;
    let mut authored_at = None;
    for (name, field) in [("TXA", 4), ("TXA", 6), ("OBR", 7), ("OBR", 22)] {
        if authored_at.is_none() {
            authored_at =
                Stamp::read(&component(name, field, 1)?).and_then(|stamp| stamp.instant(utc_offset));
        }
    }
    let patient = segments.iter().find(|segment| segment.name == "PID");
    let patient = patient.map(|pid| id_of_type(codec, pid.field(3), "PID-3", &config.patient_id_type));
    let patient = patient.transpose()?.flatten();
    let author_id = first(&[("TXA", 9, 1), ("OBR", 32, 1)])?;
    Ok(NoteEvent {
        note_id: note_id.ok_or(("MSH-10", PayloadError::Missing))?.into(),
        patient_authority: patient.as_ref().and_then(|key| key.authority.clone()),
        patient_id: patient.map(|key| key.id),
        links: links::of(codec, segments, &config.patient_id_type)?,
        encounter_id: first(&[("PV1", 19, 1)])?.map(Into::into),
        note_type: first(&[("TXA", 2, 2), ("TXA", 2, 1), ("OBR", 4, 2), ("OBR", 4, 1)])?,
        author_id: author_id
            // NDL has the id in its first sub-component.
            .and_then(|id| separators.subs(&id).next().map(|id| id.to_owned()))
            .map(Into::into),
        authored_at,
        ..NoteEvent::default()
    })
}

/// Returns the first id in a list (CX) with that type, otherwise the first without a type; and its assigner.
///
/// # Errors
/// An id that cannot be read. `name` is the field's name.
pub(super) fn id_of_type(
    codec: &Codec,
    field: &str,
    name: &'static str,
    kind: &str,
) -> Result<Option<PatientKey>, Refused> {
    let separators = codec.separators;
    let of_type = |wanted: &str| {
        let mut ids = separators.repetitions(field).map(|one| {
            let component = |n: usize| separators.components(one).nth(n - 1).unwrap_or_default();
            (component(1), component(4), component(5))
        });
        ids.find(|(id, _, kind)| *kind == wanted && !matches!(*id, "" | "\"\""))
    };
    let (id, authority, _) = of_type(kind).or_else(|| of_type("")).unwrap_or_default();
    let refused = |problem| (name, problem);
    let id = codec.line(id).map_err(refused)?;
    if id.is_empty() {
        return Ok(None);
    }
    let authority = people::designated(codec, authority).map_err(refused)?;
    Ok(Some(PatientKey {
        id: id.into(),
        authority,
    }))
}
