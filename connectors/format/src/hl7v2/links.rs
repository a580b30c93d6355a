//! Collects ids that a message assigns to one patient: merges, changes of an id, and links (HL7 v2.5.1,
//! chapter 3).

use lethe_core::PatientLink;

use super::escape::Codec;
use super::event::{Refused, id_of_type};
use super::message::Segment;

/// Trigger events whose MRG has earlier ids of the patient in the preceding PID: merges of patients and
/// persons, and changes of an id. Not A43 to A45, which move data between patients.
const MERGES: [&str; 9] = ["A18", "A30", "A34", "A36", "A39", "A40", "A46", "A47", "A48"];
/// The trigger event whose two PIDs belong to one person.
const LINK: &str = "A24";

/// Returns the ids that the message assigns to one patient. `kind` is the type of patient ids (table 0203).
///
/// # Errors
/// The first id that cannot be read.
pub(super) fn of(codec: &Codec, segments: &[Segment<'_>], kind: &str) -> Result<Vec<PatientLink>, Refused> {
    let component = |name: &str, field: usize, n: usize| {
        let segment = segments.iter().find(|segment| segment.name == name);
        segment.map_or("", |segment| codec.separators.component(segment.field(field), n))
    };
    let trigger = match component("MSH", 9, 2) {
        "" => component("EVN", 1, 1),
        trigger => trigger,
    };
    let mut links = Vec::new();
    if component("MSH", 9, 1) != "ADT" {
        return Ok(links);
    }
    let mut pids = segments.iter().filter(|segment| segment.name == "PID");
    let first = pids.next();
    if trigger == LINK {
        for pid in pids {
            let from = id_of_type(codec, pid.field(3), "PID-3", kind)?;
            links.extend(from.map(|from| PatientLink { from, into: None }));
        }
    } else if MERGES.contains(&trigger) {
        let mut patient = first;
        for segment in segments {
            match segment.name {
                "PID" => patient = Some(segment),
                "MRG" => {
                    let Some(from) = id_of_type(codec, segment.field(1), "MRG-1", kind)? else {
                        continue;
                    };
                    // A message may merge several patients; its event belongs to the first.
                    let other = patient.filter(|pid| first.is_none_or(|first| first.at != pid.at));
                    let into = other.map(|pid| id_of_type(codec, pid.field(3), "PID-3", kind));
                    let into = into.transpose()?.flatten();
                    if other.is_none() || into.is_some() {
                        links.push(PatientLink { from, into });
                    }
                }
                _ => {}
            }
        }
    }
    Ok(links)
}
