//! `surrogate`: a realistic other value, so that a missed identifier hides among surrogates. The same value
//! gets the same surrogate at every occurrence for the patient; a date is moved by the patient's own days. A
//! value without a surrogate becomes a tag.

use std::sync::Arc;

use lethe_core::{ReplaceError, Replacement};
use lethe_secrets::{Prf, ShiftRule};
use lethe_surrogates::{About, Draw, Kind, KnownNames, Surrogates, ages};

use super::{Dates, Operator, bare, tagged};
use crate::file::Scope;
use crate::note::{Item, Note};

#[derive(Debug)]
pub(super) struct Surrogate {
    pub(super) scope: Scope,
    pub(super) surrogates: Option<Arc<Surrogates>>,
    pub(super) dates: Dates,
    pub(super) rule: ShiftRule,
}

/// The patient's keyed function, for drawing surrogates.
struct Keyed<'a>(&'a Prf);

impl Draw for Keyed<'_> {
    fn draw(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.0.code_of_bytes(parts)
    }
}

impl Surrogate {
    fn value(&self, item: &Item<'_>, note: &Note<'_>) -> Result<Option<String>, ReplaceError> {
        let surrogates = self.surrogates.as_deref().ok_or(ReplaceError::Failed)?;
        let by_role = || item.role.names.iter().find_map(|name| Kind::of_label(name));
        let Some(kind) = Kind::of_label(&item.label.name).or_else(by_role) else {
            return Ok(None);
        };
        // If replacements are equal across patients, no patient's names may influence them.
        let nobody = KnownNames::default();
        let about = About {
            language: Some(self.dates.language),
            order: self.dates.order,
            year: note.year,
            days: Some(note.days(self.rule)?),
            known: match self.scope {
                Scope::Patient => note.known(),
                Scope::Site => &nobody,
            },
        };
        Ok(surrogates.surrogate(kind, note.value(item.text), &about, &Keyed(note.prf(self.scope)?)))
    }
}

impl Operator for Surrogate {
    fn scope(&self) -> Scope {
        self.scope
    }

    fn write<'a>(&self, item: &Item<'a>, note: &mut Note<'a>) -> Result<Replacement, ReplaceError> {
        if item.role.only(&["AGE"]) {
            // Another age would be a different patient: an age that must not be shown is generalised.
            return Ok(
                ages::generalise(item.text).map_or_else(|| tagged(item), |text| bare("generalise", text))
            );
        }
        let place = (item.label.name.as_str(), item.text);
        if let Some(known) = note.surrogates.get(&place) {
            return Ok(known.clone());
        }
        let key = note.keyring()?.current().id();
        let made = self.value(item, note)?.map_or_else(
            || tagged(item),
            |text| Replacement {
                // The audit counts clashes. A surrogate that avoided them would differ from the column's and
                // hint at the name.
                action: if !item.role.some(&["DATE"]) && note.clashes(item.text, &text) {
                    "surrogate-clash"
                } else {
                    "surrogate"
                },
                text,
                key: Some(Arc::from(key)),
                scope: Note::named(self.scope),
            },
        );
        note.surrogates.insert(place, made.clone());
        Ok(made)
    }
}
