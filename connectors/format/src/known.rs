//! The `known` field: the patient's own identifiers, as a list of `{kind, value}` or an object of kind to value(s).
//!
//! A kind that Lethe does not know counts as [`KnownKind::Other`]: what a feed sends as an identifier is one, and dropping
//! it, or the note, for its label's sake would help nobody.

use lethe_core::{Known, KnownKind};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The kind of that name, the common abbreviations among them.
pub fn kind_named(name: &str) -> Option<KnownKind> {
    Some(match name {
        "patient" | "name" | "alias" => KnownKind::Patient,
        "relative" | "contact" => KnownKind::Relative,
        "clinician" => KnownKind::Clinician,
        "medical_record" | "mrn" => KnownKind::MedicalRecord,
        "birth_date" | "dob" => KnownKind::BirthDate,
        "phone" => KnownKind::Phone,
        "address" => KnownKind::Address,
        "email" => KnownKind::Email,
        "social_security" | "ssn" => KnownKind::SocialSecurity,
        "health_plan" => KnownKind::HealthPlan,
        "account" => KnownKind::Account,
        "organization" | "employer" => KnownKind::Organization,
        "other" => KnownKind::Other,
        _ => return None,
    })
}

/// The kind of that name; any other name counts as an identifier of some other kind.
pub(crate) fn kind(name: &str) -> KnownKind {
    kind_named(name).unwrap_or(KnownKind::Other)
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

/// Reads the whole field into the list. Null is an empty list.
pub(crate) struct KnownSeed<'a>(pub(crate) &'a mut Vec<Known>);

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
        while seq.next_element_seed(EntrySeed(self.0))?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = std::collections::HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            map.next_value_seed(ValuesSeed {
                kind: kind(&name),
                into: self.0,
            })?;
            if !seen.insert(name) {
                return Err(A::Error::custom("duplicate"));
            }
        }
        Ok(())
    }
}

/// One `{kind, value}`; keys besides these two are ignored.
struct EntrySeed<'a>(&'a mut Vec<Known>);

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
        let first = self.0.len();
        let (mut named, mut valued) = (None, false);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "kind" if named.is_some() => return Err(A::Error::custom("duplicate")),
                "kind" => named = Some(kind(&map.next_value::<String>()?)),
                "value" if valued => return Err(A::Error::custom("duplicate")),
                "value" => {
                    valued = true;
                    map.next_value_seed(ValuesSeed {
                        kind: KnownKind::Other,
                        into: self.0,
                    })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        // The value may stand before its kind.
        let Some(kind) = named.filter(|_| valued) else {
            return Err(A::Error::custom("missing"));
        };
        self.0[first..].iter_mut().for_each(|known| known.kind = kind);
        Ok(())
    }
}

/// A string, an integer (numbers of records are often sent so), or a list of these.
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
