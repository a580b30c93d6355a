//! `shift`: moves a date by the patient's own number of days, in the same format. A text that is not a date
//! that can be moved becomes a tag.

use std::sync::Arc;

use lethe_core::{ReplaceError, Replacement};
use lethe_secrets::ShiftRule;

use super::{Dates, Operator, tagged};
use crate::note::{Item, Note};

#[derive(Debug)]
pub(super) struct Shift {
    pub(super) dates: Dates,
    pub(super) rule: ShiftRule,
}

impl Operator for Shift {
    fn write<'a>(&self, item: &Item<'a>, note: &mut Note<'a>) -> Result<Replacement, ReplaceError> {
        let key = note.keyring()?.current();
        let days = note.days(self.rule)?;
        let shifted = self.dates.read(item.text, note).and_then(|date| date.shift(days));
        Ok(shifted.map_or_else(
            || tagged(item),
            |text| Replacement {
                text,
                action: "shift",
                key: Some(Arc::from(key.id())),
                scope: None,
            },
        ))
    }
}
