//! Checks the parts of each unit: they are numbered from 0 without gaps, and their counts add up.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::manifests::Manifests;
use crate::inspect::DatasetError;
use crate::sink::{PartFooter, PartName, Totals, object_id, unit_id};

/// The result of all parts.
#[derive(Debug, Default)]
pub(super) struct Units {
    parts: BTreeMap<String, Totals>,
    last: Option<Last>,
}

/// The previous part.
#[derive(Debug)]
struct Last {
    name: PartName,
    /// Row of the unit after its last; `None` if it cannot be read.
    next: Option<u64>,
    /// The object's row number at which the unit begins.
    base: Option<i64>,
}

impl Units {
    /// Adds a part. Parts arrive sorted by name, so those of a unit are in order. `rows_at` is the row number
    /// of its first row.
    pub(super) fn add(
        &mut self,
        name: &PartName,
        footer: &PartFooter,
        rows_at: Option<i64>,
        manifests: &Manifests,
        faults: &mut Vec<DatasetError>,
    ) {
        let file = name.path();
        let mut wrong = |why: String| {
            faults.push(DatasetError::Unreadable {
                file: file.clone(),
                why,
            });
        };
        let before = self.last.take().filter(|last| last.name.unit == name.unit);
        if name.object != object_id(&footer.object) {
            wrong("its name does not match its object: it was renamed or swapped".into());
        }
        if let Some(begun) = &manifests.begun {
            let configuration = begun.get("digest").and_then(Value::as_str).unwrap_or_default();
            let id = unit_id(&footer.object, &footer.version, &footer.groups, configuration);
            if name.unit != id {
                wrong("its name does not match its object, version and configuration: it was renamed, or belongs to another dataset".into());
            }
            let entries = footer.fingerprints.entries();
            if entries
                .iter()
                .any(|(key, value)| begun.get(*key).and_then(Value::as_str) != Some(*value))
            {
                wrong("it was written under a configuration other than the dataset's".into());
            }
        }
        let due = before.as_ref().map_or(Some(0), |last| last.next);
        let number = before.as_ref().map_or(0, |last| last.name.part + 1);
        if name.part != number {
            let missing = PartName {
                part: number,
                last: false,
                ..name.clone()
            };
            faults.push(DatasetError::MissingPart {
                file: missing.path(),
                by: file.clone(),
            });
        } else if due.is_some_and(|due| due != footer.first) {
            wrong("it does not begin at the end of the previous part".into());
        } else if before.as_ref().is_some_and(|last| last.name.last) {
            wrong("it comes after the last part of its unit".into());
        }
        let base = rows_at.map(|row| row - i64::try_from(footer.first).unwrap_or(i64::MAX));
        let known = match footer.groups.is_empty() {
            true => Some(0),
            false => before.and_then(|last| last.base),
        };
        if let (Some(base), Some(known)) = (base, known)
            && base != known
        {
            faults.push(DatasetError::Offset {
                file: file.clone(),
                offset: rows_at.unwrap_or_default(),
            });
        }
        let mut sums = Totals::default();
        sums.add_part(footer);
        self.parts.insert(file, sums);
        self.last = Some(Last {
            name: name.clone(),
            next: Some(footer.next),
            base: known.or(base),
        });
    }

    /// Skips an unreadable part.
    pub(super) fn skip(&mut self, name: &PartName) {
        self.last = Some(Last {
            name: name.clone(),
            next: None,
            base: None,
        });
    }

    /// Returns the totals of these parts; `None` if one of them could not be read, which is reported
    /// separately.
    pub(super) fn sums<'a>(&self, parts: impl Iterator<Item = &'a String>) -> Option<Totals> {
        let mut sums = Totals::default();
        let mut units = BTreeSet::new();
        for part in parts {
            sums.add(self.parts.get(part)?);
            units.insert(PartName::parse(part)?.unit);
        }
        sums.units = units.len() as u64;
        Some(sums)
    }

    /// Returns the totals of all parts of an object.
    pub(super) fn of_object(&self, id: &str) -> Totals {
        let parts = self.parts.keys();
        let of = parts.filter(|part| PartName::parse(part).is_some_and(|name| name.object == id));
        self.sums(of).unwrap_or_default()
    }
}
