//! Reads the `known` field: the patient's own identifiers, as a list of `{kind, value}` or an object of kind
//! to value(s).
//!
//! An event with an unknown kind is refused: its value would be searched as the wrong kind, and silently stay
//! in the text.

use lethe_core::{Known, KnownKind};

use crate::PayloadError;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Names of kinds, in lower case with `_` between words: the first of each kind is its own, others are
/// synonyms.
pub const KIND_NAMES: [(&str, KnownKind); 60] = [
    ("patient", KnownKind::Patient),
    ("patient_name", KnownKind::Patient),
    ("name", KnownKind::Patient),
    ("full_name", KnownKind::Patient),
    ("alias", KnownKind::Patient),
    ("surname", KnownKind::Patient),
    ("last_name", KnownKind::Patient),
    ("family_name", KnownKind::Patient),
    ("maiden_name", KnownKind::Patient),
    ("first_name", KnownKind::Patient),
    ("given_name", KnownKind::Patient),
    ("relative", KnownKind::Relative),
    ("relative_name", KnownKind::Relative),
    ("contact", KnownKind::Relative),
    ("next_of_kin", KnownKind::Relative),
    ("guardian", KnownKind::Relative),
    ("clinician", KnownKind::Clinician),
    ("clinician_name", KnownKind::Clinician),
    ("provider", KnownKind::Clinician),
    ("provider_name", KnownKind::Clinician),
    ("doctor", KnownKind::Clinician),
    ("physician", KnownKind::Clinician),
    ("attending", KnownKind::Clinician),
    ("nurse", KnownKind::Clinician),
    ("author", KnownKind::Clinician),
    ("medical_record", KnownKind::MedicalRecord),
    ("medical_record_number", KnownKind::MedicalRecord),
    ("mrn", KnownKind::MedicalRecord),
    ("birth_date", KnownKind::BirthDate),
    ("date_of_birth", KnownKind::BirthDate),
    ("birthdate", KnownKind::BirthDate),
    ("dob", KnownKind::BirthDate),
    ("phone", KnownKind::Phone),
    ("phone_number", KnownKind::Phone),
    ("telephone", KnownKind::Phone),
    ("mobile", KnownKind::Phone),
    ("fax", KnownKind::Phone),
    ("address", KnownKind::Address),
    ("street", KnownKind::Address),
    ("email", KnownKind::Email),
    ("e_mail", KnownKind::Email),
    ("email_address", KnownKind::Email),
    ("social_security", KnownKind::SocialSecurity),
    ("social_security_number", KnownKind::SocialSecurity),
    ("ssn", KnownKind::SocialSecurity),
    ("health_plan", KnownKind::HealthPlan),
    ("insurance", KnownKind::HealthPlan),
    ("member_id", KnownKind::HealthPlan),
    ("policy_number", KnownKind::HealthPlan),
    ("account", KnownKind::Account),
    ("account_number", KnownKind::Account),
    ("encounter", KnownKind::Account),
    ("organization", KnownKind::Organization),
    ("organisation", KnownKind::Organization),
    ("employer", KnownKind::Organization),
    ("school", KnownKind::Organization),
    ("other", KnownKind::Other),
    ("other_id", KnownKind::Other),
    ("id", KnownKind::Other),
    ("identifier", KnownKind::Other),
];

/// Returns the kind with that name, in any case and with any separators between its words.
///
/// ```
/// use lethe_core::KnownKind;
/// use lethe_format::kind_named;
///
/// assert_eq!(kind_named("Date of birth"), Some(KnownKind::BirthDate));
/// assert_eq!(kind_named("badge"), None);
/// ```
pub fn kind_named(name: &str) -> Option<KnownKind> {
    let plain = |byte: u8| match byte {
        b' ' | b'-' => b'_',
        byte => byte.to_ascii_lowercase(),
    };
    let is = |known: &str| known.len() == name.len() && known.bytes().eq(name.bytes().map(plain));
    KIND_NAMES
        .iter()
        .find(|(known, _)| is(known))
        .map(|(_, kind)| *kind)
}

/// Adds an identifier. Empty ones identify nobody and are left out.
pub(crate) fn push(into: &mut Vec<Known>, kind: KnownKind, value: &str) {
    if !value.trim().is_empty() {
        into.push(Known {
            kind,
            value: value.into(),
        });
    }
}

/// Reads the whole field into the list. Null means an empty list.
pub(crate) struct KnownSeed<'a> {
    pub(crate) into: &'a mut Vec<Known>,
    /// Set if what is wrong is more than a type.
    pub(crate) problem: &'a mut Option<PayloadError>,
}

/// Sets the kind of the identifiers. Without identifiers, an unknown kind is harmless.
///
/// # Errors
/// [`PayloadError::UnknownKind`] if there is no such kind.
pub(crate) fn set_kind(identifiers: &mut [Known], kind: Option<KnownKind>) -> Result<(), PayloadError> {
    match kind {
        _ if identifiers.is_empty() => {}
        Some(kind) => identifiers.iter_mut().for_each(|known| known.kind = kind),
        None => return Err(PayloadError::UnknownKind),
    }
    Ok(())
}

impl KnownSeed<'_> {
    /// Sets the kind of the identifiers from `first` on by its name.
    fn name<E: Error>(&mut self, first: usize, name: &str) -> Result<(), E> {
        let identifiers = self.into.get_mut(first..).unwrap_or_default();
        set_kind(identifiers, kind_named(name)).map_err(|problem| {
            *self.problem = Some(problem);
            // The message is dropped: the problem is reported.
            E::custom("unknown kind")
        })
    }
}

impl<'de> DeserializeSeed<'de> for KnownSeed<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for KnownSeed<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("identifiers")
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Self { into, problem } = self;
        while seq
            .next_element_seed(
                KnownSeed {
                    into: &mut *into,
                    problem: &mut *problem,
                }
                .entry(),
            )?
            .is_some()
        {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut seen = std::collections::HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let first = self.into.len();
            map.next_value_seed(ValuesSeed {
                kind: KnownKind::Other,
                into: &mut *self.into,
            })?;
            self.name(first, &name)?;
            if !seen.insert(name) {
                return Err(A::Error::custom("duplicate"));
            }
        }
        Ok(())
    }
}

/// Reads one `{kind, value}`; other keys are ignored.
struct EntrySeed<'a>(KnownSeed<'a>);

impl<'a> KnownSeed<'a> {
    const fn entry(self) -> EntrySeed<'a> {
        EntrySeed(self)
    }
}

impl<'de> DeserializeSeed<'de> for EntrySeed<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for EntrySeed<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an identifier")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seed = self.0;
        let first = seed.into.len();
        let (mut named, mut valued) = (None, false);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "kind" if named.is_some() => return Err(A::Error::custom("duplicate")),
                "kind" => named = Some(map.next_value::<String>()?),
                "value" if valued => return Err(A::Error::custom("duplicate")),
                "value" => {
                    valued = true;
                    map.next_value_seed(ValuesSeed {
                        kind: KnownKind::Other,
                        into: &mut *seed.into,
                    })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        // The value may precede its kind.
        let Some(name) = named.filter(|_| valued) else {
            return Err(A::Error::custom("missing"));
        };
        seed.name(first, &name)
    }
}

/// Reads a string, an integer (a common form of record numbers), or a list of these.
struct ValuesSeed<'a> {
    kind: KnownKind,
    into: &'a mut Vec<Known>,
}

impl<'de> DeserializeSeed<'de> for ValuesSeed<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValuesSeed<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a list of strings")
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        push(self.into, self.kind, value);
        Ok(())
    }
    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        push(self.into, self.kind, &value.to_string());
        Ok(())
    }
    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        push(self.into, self.kind, &value.to_string());
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq
            .next_element_seed(ValuesSeed {
                kind: self.kind,
                into: self.into,
            })?
            .is_some()
        {}
        Ok(())
    }
}
