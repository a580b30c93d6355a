//! `generalise`: a date to its year, an age over 89 to "90 or older", a ZIP code to three digits. Anything
//! else becomes a tag.
//!
//! 45 CFR 164.514(b)(2)(i)(B) and (C). A year that reveals an age over 89 is as identifying as the age.

use std::sync::Arc;

use lethe_core::{ReplaceError, Replacement};
use lethe_surrogates::zip::ZipTable;
use lethe_surrogates::{Language, ages};

use super::{Dates, Operator, bare, tagged};
use crate::note::{Item, Note};

/// The assumed year of a note without a date. A later year hides more years of birth, so it is the year of
/// this release.
const UNDATED: i16 = 2026;

#[derive(Debug)]
pub(super) struct Generalise {
    pub(super) dates: Dates,
    pub(super) zips: Option<Arc<ZipTable>>,
    pub(super) hides_great_age: bool,
}

impl Generalise {
    fn date(&self, text: &str, note: &Note<'_>) -> Option<String> {
        let date = self.dates.read(text, note)?;
        let year = date.year()?;
        let written = note.year.unwrap_or(UNDATED);
        Some(
            if self.hides_great_age && date.shows_age_over_89(note.birth_year, written) {
                "90 or older".to_owned()
            } else {
                year
            },
        )
    }

    /// Generalises a ZIP code by the table, which is for the United States: a Spanish code of five digits is
    /// not in it.
    fn zip(&self, text: &str) -> Option<String> {
        if self.dates.language != Language::English {
            return None;
        }
        let table = self.zips.as_deref().unwrap_or_else(|| ZipTable::shipped());
        table.generalise(text)
    }
}

impl Operator for Generalise {
    fn write<'a>(&self, item: &Item<'a>, note: &mut Note<'a>) -> Result<Replacement, ReplaceError> {
        let as_is = |wanted: &str| item.role.some(&[wanted]);
        let written = None
            .or_else(|| as_is("DATE").then(|| self.date(item.text, note)).flatten())
            .or_else(|| as_is("AGE").then(|| ages::generalise(item.text)).flatten())
            .or_else(|| as_is("ZIP").then(|| self.zip(item.text)).flatten());
        Ok(written.map_or_else(|| tagged(item), |text| bare("generalise", text)))
    }
}
