//! Hospitals, clinics, schools, employers: the proper name before a word that ends such names.

use crate::context::Scan;
use crate::lexicon::Flags;
use crate::vocabulary::Traits;
use crate::words::Case;

/// Words that connect the parts of a name.
const LINKS: [&str; 9] = ["of", "and", "the", "&", "-", "'", "’", "s", "."];

/// The most tokens of an institution's name before its last word.
const MOST_TOKENS: usize = 10;

impl Scan<'_, '_, '_, '_, '_> {
    /// Finds the institution whose name ends with a word such as "Center" at token `i`.
    pub(super) fn institution(&mut self, i: usize) {
        let note = self.note;
        if !note.is_capital(i) {
            return;
        }
        let word = note.get(i);
        match word {
            "va" => return self.veterans(i),
            // Without capitals these words usually mean something else.
            "sons" | "inc" | "llc" | "ltd" | "group" | "company" | "corporation" | "manufacturing"
            | "associates" | "practice" | "system" | "laboratory" | "laboratories" | "pharmacy"
                if note.is_shapeless(i) =>
            {
                return;
            }
            "home" | "facility" | "living" | "community" if !self.is_nursing(i) => return,
            // A department, unless a person's name makes it a practice: "at Bayview Cardiology", "(Hale
            // Pediatrics)".
            "health" | "foods" | "bank" | "industries" | "enterprises" | "logistics" | "airlines"
            | "trucking" | "rehabilitation" | "elementary" | "cardiology" | "orthopedics"
            | "orthopaedics" | "pediatrics" | "dermatology" | "oncology" | "neurology" | "general"
                if !self.is_led(i) =>
            {
                return;
            }
            // Spanish names begin with their head.
            "hospital" | "clinic" if note.spanish => return,
            _ => {}
        }
        // A longer head follows: "Hospital Center", "University Hospital"; the last one counts.
        if note.words.breaks_after(i) == 0 && note.is_capital(i + 1) && self.is_head(i + 1) {
            return;
        }
        if matches!(
            word,
            "university" | "college" | "school" | "hospital" | "institute"
        ) {
            self.of_place(i);
        }
        let Some(first) = self.name_before(i) else { return };
        let organization = matches!(
            word,
            "foods"
                | "bank"
                | "industries"
                | "enterprises"
                | "logistics"
                | "airlines"
                | "trucking"
                | "school"
                | "elementary"
                | "schools"
                | "college"
                | "academy"
                | "university"
                | "company"
                | "corporation"
                | "inc"
                | "llc"
                | "ltd"
                | "sons"
                | "group"
                | "manufacturing"
                | "foundation"
        );
        let label = if organization {
            self.labels.organization
        } else {
            self.labels.hospital
        };
        let last = if organization { i } else { self.place_part(i) };
        self.out.tokens(first, last, label, 0.85, "context.institution");
        self.institutions.push((first, last));
    }

    /// Returns whether the text that ends with the head at `i` begins after a word that leads to a place or
    /// at a bracket, and is not in capitals.
    fn is_led(&self, i: usize) -> bool {
        let note = self.note;
        let first = self.name_before(i).unwrap_or(i);
        let next = note.get(i + 1);
        !note.is_shapeless(i)
            && first < i
            && first > 0
            && !note.ends_line(first - 1)
            && matches!(
                note.get(first - 1),
                "at" | "to" | "from" | "(" | "with" | "of" | "in" | "the" | "via" | "for" | "by"
            )
            && (!note.is_capital(i + 1) || note.ends_field(i))
            && !matches!(next, ":" | "-")
    }

    /// Returns whether the word before token `i` makes a home, a facility or a community an institution.
    fn is_nursing(&self, i: usize) -> bool {
        let before = self.note.words.before(i, 1);
        matches!(
            before,
            "nursing"
                | "rest"
                | "retirement"
                | "care"
                | "assisted"
                | "senior"
                | "rehabilitation"
                | "correctional"
                | "funeral"
                | "group"
        )
    }

    /// Returns the last token of a city right after a hospital, which is part of its name: "Mercy Hospital
    /// Dayton".
    fn place_part(&self, i: usize) -> usize {
        let note = self.note;
        let mut last = i;
        if note.ends_field(i)
            || note.is_shapeless(i) && note.ends_line(i + 1) && !note.is(i + 1, Traits::CITY)
        {
            return i;
        }
        while last < i + 3
            && !note.ends_field(last)
            && note.is_capital(last + 1)
            && note.case(last + 1) == note.case(i)
            && !note.flag(last + 1, Flags::OUTSIDE | Flags::STOP | Flags::FUNCTION)
        {
            last += 1;
        }
        let run = i + 1..=last;
        let city = run.clone().any(|at| note.is(at, Traits::CITY))
            && run
                .clone()
                .all(|at| note.is(at, Traits::CITY | Traits::NAME | Traits::STATE) || note.get(at).len() < 4);
        let shaped = !note.is_shapeless(i) || run.clone().all(|at| !note.is(at, Traits::WORD));
        if last > i && city && shaped && note.get(last + 1) != ":" {
            last
        } else {
            i
        }
    }

    fn is_head(&self, i: usize) -> bool {
        use super::Cue::{Institution, InstitutionHead};
        let head = matches!(
            self.table.cue(self.note.get(i)),
            Some(Institution | InstitutionHead)
        );
        head && (!matches!(
            self.note.get(i),
            "home" | "facility" | "living" | "community" | "va"
        ) || self.is_nursing(i))
    }

    /// Returns where the name that ends with the head at `i` begins, if it has a proper part.
    fn name_before(&self, i: usize) -> Option<usize> {
        let note = self.note;
        let (mut first, mut proper, mut at) = (i, false, i);
        while at > 0 && i - at < MOST_TOKENS {
            let before = at - 1;
            if note.ends_field(before) {
                break;
            }
            let word = note.get(before);
            if LINKS.contains(&word) {
                // A link needs a capital before it; a stop only after a saint, a mount or an initial.
                let joins = before > 0
                    && match word {
                        "." => {
                            matches!(note.get(before - 1), "st" | "mt" | "ft")
                                || note.get(before - 1).len() == 1
                        }
                        "s" => matches!(note.get(before - 1), "'" | "’"),
                        // "University of X Hospital", but never "Jane Roe of X Hospital".
                        "-" => note.words.glued(before - 1) && note.words.glued(before),
                        "of" => note.flag(before - 1, Flags::GENERIC) && note.is_capital(before - 1),
                        _ => {
                            (note.is_capital(before - 1) || note.words.glued(before - 1))
                                && self.may_belong(before - 1)
                        }
                    };
                if !joins {
                    break;
                }
            } else if note.is_capital(before) && self.may_belong(before) {
                proper |= self.is_proper(before);
                first = before;
            } else {
                break;
            }
            at = before;
        }
        while first < i && note.get(first) == "the" {
            first += 1;
        }
        (proper && first < i).then_some(first)
    }

    /// Returns whether a capitalised word can be inside an institution's name.
    fn may_belong(&self, i: usize) -> bool {
        let note = self.note;
        if !note.case(i).is_word() || note.flag(i, Flags::OUTSIDE) && !note.flag(i, Flags::GENERIC) {
            return false;
        }
        if note.flag(i, Flags::GENERIC) {
            return true;
        }
        if note.flag(i, Flags::FUNCTION) {
            // "El Paso", "Las Vegas"
            return note.case(i) == Case::Title && matches!(note.get(i), "el" | "la" | "los" | "las");
        }
        if note.is_shapeless(i) {
            let word = note.is(i, Traits::WORD | Traits::MEDICAL);
            return !word
                || note.is(i, Traits::PLACE)
                || note.is(i, Traits::NAME) && note.name_weight(i) >= 5;
        }
        true
    }

    /// Returns whether a word identifies the institution.
    pub(super) fn is_proper(&self, i: usize) -> bool {
        let note = self.note;
        if note.flag(i, Flags::GENERIC | Flags::FUNCTION | Flags::OUTSIDE) || note.is(i, Traits::OTHER) {
            return false;
        }
        note.is(i, Traits::NAME | Traits::PLACE)
            || !note.is(i, Traits::WORD | Traits::MEDICAL | Traits::CALENDAR)
    }

    /// Finds "University of X" and "Hospital of the University of X".
    fn of_place(&mut self, i: usize) {
        let note = self.note;
        if note.get(i + 1) != "of" || note.ends_line(i) {
            return;
        }
        let mut at = i + 2;
        if note.get(at) == "the" {
            at += 1;
        }
        let mut last = None;
        while at < i + MOST_TOKENS && note.is_capital(at) && self.may_belong(at) {
            last = Some(at);
            if note.ends_field(at) {
                break;
            }
            at += 1;
            if note.get(at) == "of" && note.is_capital(at + 1) {
                at += 1;
            }
        }
        let Some(last) = last else { return };
        let run = i + 2..=last;
        // "National Institute of Health Stroke Scale" is not an institution that treats anybody.
        if run.clone().any(|at| self.is_proper(at))
            && !run.clone().any(|at| note.flag(at, Flags::EPONYM_NOUN))
        {
            let hospital = note.get(i) == "hospital" || self.is_head(last);
            let label = if hospital {
                self.labels.hospital
            } else {
                self.labels.organization
            };
            self.out.tokens(i, last, label, 0.85, "context.institution-of");
            self.institutions.push((i, last));
        }
    }

    /// Finds "VA Houston" and "VA Medical Center".
    fn veterans(&mut self, i: usize) {
        let note = self.note;
        if note.case(i) != Case::Upper || note.ends_line(i) || (i > 0 && note.get(i - 1) == ",") {
            return;
        }
        let mut last = i;
        while last < i + 5
            && !note.ends_field(last)
            && note.is_capital(last + 1)
            && self.may_belong(last + 1)
            && note.get(last + 2) != ":"
        {
            last += 1;
        }
        let run = i + 1..=last;
        let known = run
            .clone()
            .any(|at| note.is(at, Traits::CITY) || note.flag(at, Flags::GENERIC));
        if last > i
            && known
            && !(note.is_shapeless(i)
                && run
                    .clone()
                    .any(|at| note.is(at, Traits::WORD) && !note.flag(at, Flags::GENERIC)))
        {
            self.out
                .tokens(i, last, self.labels.hospital, 0.8, "context.veterans");
        }
    }

    /// Finds a proper name after "Employer".
    pub(super) fn employer(&mut self, i: usize) {
        if self.note.get(i + 1) != ":" {
            self.organization_at(i + 1, "context.employer");
        }
    }

    /// Reports a run of capitalised words at token `at` as the name of an organisation: "Flint Public
    /// Schools", "Rose, Hale and Ritter".
    pub(super) fn organization_at(&mut self, at: usize, rule: &'static str) {
        let note = self.note;
        if at == 0 || note.ends_line(at - 1) || !self.is_part(at) {
            return;
        }
        let (mut last, mut next) = (at, at + 1);
        while next < at + MOST_TOKENS && !note.ends_field(next - 1) {
            if self.is_part(next) {
                last = next;
            } else if note.get(next) == "," {
                // A list of partners ends with "and" and one more name.
                let listed = self.is_part(next + 1)
                    && (matches!(note.get(next + 2), "and" | "&") && self.is_part(next + 3));
                if !listed {
                    break;
                }
            } else if !matches!(note.get(next), "&" | "and" | "of" | "-" | "'" | "’" | "s") {
                break;
            }
            next += 1;
        }
        self.out.tokens(at, last, self.labels.organization, 0.75, rule);
    }

    fn is_part(&self, i: usize) -> bool {
        let note = self.note;
        note.is_capital(i)
            && !note.flag(i, Flags::FUNCTION | Flags::OUTSIDE)
            && (!note.is_shapeless(i)
                || !note.is(i, Traits::WORD)
                || note.flag(i, Flags::GENERIC)
                || note.name_weight(i) >= 20)
    }
}
