//! Institutions by their acronyms: "CMC" if the note names Camden Medical Center, "at XYH ED".

use crate::context::Scan;
use crate::lexicon::Flags;
use crate::vocabulary::Traits;
use crate::words::Case;

/// The most institutions of one note whose acronyms are searched for.
const MOST: usize = 64;

impl Scan<'_, '_, '_, '_, '_> {
    /// Finds the acronyms of the institutions that the note names: "CMC" for Camden Medical Center, and "at
    /// XYH ED".
    pub(super) fn acronyms(&mut self) {
        let note = self.note;
        let mut known: Vec<String> = Vec::new();
        for &(first, last) in self.institutions.iter().take(MOST) {
            let letters: String = (first..=last)
                .filter(|&at| {
                    note.case(at).is_word() && !note.flag(at, Flags::FUNCTION) && note.get(at) != "s"
                })
                .filter_map(|at| note.get(at).chars().next())
                .collect();
            if letters.len() >= 3 && !known.contains(&letters) {
                known.push(letters);
            }
        }
        for i in 0..note.len() {
            if note.case(i) != Case::Upper
                || !(3..=6).contains(&note.get(i).len())
                || note.words.glued(i) && note.case(i + 1) == Case::Digits
            {
                continue;
            }
            let plain = !note.is(i, Traits::WORD | Traits::MEDICAL);
            let before = note.words.before(i, 1);
            let resident = before == "," && note.words.before(i, 4) == "pgy";
            let cell = before == "|" && note.get(i + 1) == "|";
            let led = matches!(
                before,
                "at" | "to" | "from" | "in" | "of" | "," | "|" | "the" | "(" | "-"
            );
            let of_note = plain && led && known.iter().any(|letters| letters == note.get(i));
            let at = matches!(note.words.before(i, 1), "at" | "to" | "from");
            let unit = matches!(
                note.get(i + 1),
                "ed" | "er" | "emergency" | "icu" | "hospital" | "inpatient" | "outpatient"
            );
            let ending = resident
                || note.get(i).ends_with('h')
                || note.get(i).ends_with("mc")
                || note.get(i).ends_with('c');
            if of_note || plain && (at && unit || resident || cell) && ending {
                self.out
                    .tokens(i, i, self.labels.hospital, 0.7, "context.acronym");
            }
        }
    }
}
