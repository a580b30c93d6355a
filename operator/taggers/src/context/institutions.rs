//! Hospitals, clinics, schools, employers: the proper name around a word that such names have in them.

use crate::context::Scan;
use crate::lexicon::Flags;
use crate::vocabulary::Traits;
use crate::words::Case;

/// Words that hold a name together.
const LINKS: [&str; 10] = ["of", "and", "the", "&", "-", "'", "’", "s", ".", "for"];

const LINKS_ES: [&str; 18] = [
    "de", "del", "la", "las", "los", "el", "y", "i", "d", "da", "do", "dos", "-", "'", "’", ".", "nuestra",
    "l",
];

const GENERIC_ES: [&str; 32] = [
    "universitario",
    "universitari",
    "general",
    "clinico",
    "clinic",
    "provincial",
    "comarcal",
    "regional",
    "infantil",
    "materno",
    "materno",
    "nacional",
    "militar",
    "salud",
    "medico",
    "hospitalario",
    "asistencial",
    "central",
    "especialidades",
    "hospital",
    "centro",
    "complejo",
    "clinica",
    "virgen",
    "san",
    "santa",
    "santo",
    "doctor",
    "dr",
    "rey",
    "reina",
    "princesa",
];

impl Scan<'_, '_, '_, '_, '_> {
    /// A word such as "Center" at token `i`, at the end of an institution's name.
    pub(super) fn institution(&mut self, i: usize) {
        let note = self.note;
        if !note.is_capital(i) {
            return;
        }
        let word = note.get(i);
        if word == "va" {
            self.veterans(i);
            return;
        }
        if matches!(
            word,
            "sons"
                | "inc"
                | "llc"
                | "ltd"
                | "group"
                | "company"
                | "corporation"
                | "manufacturing"
                | "associates"
                | "practice"
                | "system"
        ) && note.is_shapeless(i)
        {
            return;
        }
        // A longer head follows: "Hospital Center", "University Hospital"; the last one counts.
        if note.words.breaks_after(i) == 0 && note.is_capital(i + 1) && self.is_head(i + 1) {
            return;
        }
        if word == "university"
            || word == "college"
            || word == "school"
            || word == "hospital"
            || word == "institute"
        {
            self.of_place(i);
        }
        let Some(first) = self.name_before(i) else { return };
        let label = match word {
            "school" | "schools" | "college" | "academy" | "university" | "company" | "corporation"
            | "inc" | "llc" | "ltd" | "sons" | "group" | "manufacturing" | "foundation" => {
                self.labels.organization
            }
            _ => self.labels.hospital,
        };
        self.out.tokens(first, i, label, 0.85, "context.institution");
    }

    fn is_head(&self, i: usize) -> bool {
        use super::Cue::{Institution, InstitutionHead};
        matches!(
            self.table.cue(self.note.get(i)),
            Some(Institution | InstitutionHead)
        )
    }

    /// Where the name that ends with the head at `i` begins, if it has a proper part.
    fn name_before(&self, i: usize) -> Option<usize> {
        let note = self.note;
        let (mut first, mut proper, mut at) = (i, false, i);
        let mut units = 0;
        while at > 0 && units < 9 {
            let before = at - 1;
            if note.ends_field(before) {
                break;
            }
            let word = note.get(before);
            if LINKS.contains(&word) {
                // A link needs a capital before it; a stop only after a saint, a mount or an initial.
                let ok = match word {
                    "." => {
                        before > 0
                            && (matches!(note.get(before - 1), "st" | "mt" | "ft" | "dr")
                                || note.get(before - 1).len() == 1)
                    }
                    "s" => before > 0 && matches!(note.get(before - 1), "'" | "’"),
                    // "University of X Hospital", but never "Jane Roe of X Hospital".
                    "of" => {
                        before > 0 && note.flag(before - 1, Flags::GENERIC) && note.is_capital(before - 1)
                    }
                    _ => {
                        before > 0
                            && (note.is_capital(before - 1) || note.words.glued(before - 1))
                            && self.may_belong(before - 1)
                    }
                };
                if !ok {
                    break;
                }
                at = before;
                units += 1;
                continue;
            }
            if !note.is_capital(before) || !self.may_belong(before) {
                break;
            }
            proper |= self.is_proper(before);
            first = before;
            at = before;
            units += 1;
        }
        while first < i && matches!(note.get(first), "the" | "dr") {
            first += if note.get(first + 1) == "." { 2 } else { 1 };
        }
        (proper && first < i).then_some(first)
    }

    /// Whether a capitalised word can be inside an institution's name.
    fn may_belong(&self, i: usize) -> bool {
        let note = self.note;
        let word = note.get(i);
        if note.flag(i, Flags::GENERIC) || note.is(i, Traits::PLACE | Traits::NAME) && !is_function(word) {
            return note.case(i).is_word();
        }
        if !note.case(i).is_word() || is_function(word) {
            return false;
        }
        !note.is_shapeless(i) || !note.is(i, Traits::WORD | Traits::MEDICAL)
    }

    /// Whether a word says which institution it is.
    fn is_proper(&self, i: usize) -> bool {
        let note = self.note;
        if self.note.flag(i, Flags::GENERIC) || is_function(note.get(i)) || note.is(i, Traits::OTHER) {
            return false;
        }
        note.is(i, Traits::NAME | Traits::PLACE)
            || !note.is(i, Traits::WORD | Traits::MEDICAL | Traits::CALENDAR)
    }

    /// "University of X", "Hospital of the University of X".
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
        while at < i + 9 && note.is_capital(at) && self.may_belong(at) {
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
        if (i + 2..=last).any(|at| self.is_proper(at)) {
            let hospital = note.get(i) == "hospital" || self.is_head(last);
            let label = if hospital {
                self.labels.hospital
            } else {
                self.labels.organization
            };
            self.out.tokens(i, last, label, 0.85, "context.institution-of");
        }
    }

    /// "VA Houston", "VA Medical Center".
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
            && !self.is_field_name_at(last + 1)
        {
            last += 1;
        }
        if last > i
            && (i + 1..=last).any(|at| note.is(at, Traits::CITY) || self.note.flag(at, Flags::GENERIC))
            && !note.is_shapeless(i)
        {
            self.out
                .tokens(i, last, self.labels.hospital, 0.8, "context.veterans");
        }
    }

    fn is_field_name_at(&self, i: usize) -> bool {
        self.note.get(i + 1) == ":"
    }

    /// "Hospital Universitario de X", "Clínica X", "Centro de Salud X": the name after its head.
    pub(super) fn institution_head(&mut self, i: usize) {
        let note = self.note;
        if note.ends_field(i) || (i > 0 && note.get(i - 1) == "de" && note.case(i) == Case::Lower) {
            return;
        }
        let (mut at, mut last, mut proper, mut spanish) = (
            i + 1,
            i,
            0,
            note.get(i) != "hospital" && note.get(i) != "hosp" && note.get(i) != "clinic",
        );
        while at < i + 14 && at < note.len() {
            let word = note.get(at);
            let link = LINKS_ES.contains(&word);
            let generic = GENERIC_ES.contains(&word);
            if note.is_capital(at) && !is_function(word)
                || (generic && note.case(at) == Case::Lower && spanish)
            {
                if note.is_shapeless(at)
                    && note.is(at, Traits::WORD)
                    && !note.is(at, Traits::NAME | Traits::PLACE)
                    && !generic
                {
                    break;
                }
                last = at;
                proper += usize::from(!generic);
                spanish |= generic && word != "general" && word != "regional" && word != "hospital";
            } else if link {
                spanish |= matches!(word, "de" | "del" | "la");
                if word == "."
                    && !matches!(
                        note.get(at - 1),
                        "dr" | "sta" | "sto" | "ntra" | "sra" | "na" | "fco" | "mª"
                    )
                {
                    break;
                }
            } else {
                break;
            }
            if note.ends_field(at) {
                break;
            }
            at += 1;
        }
        let enough = last > i && spanish && (proper > 0 || (last > i + 1 && note.is_capital(i)));
        if enough && note.is_capital(last) {
            self.out
                .tokens(i, last, self.labels.hospital, 0.8, "context.institution-head");
        }
    }

    /// "Employer X": a proper name after it.
    pub(super) fn employer(&mut self, i: usize) {
        if self.note.get(i + 1) != ":" {
            self.organization_at(i + 1, "context.employer");
        }
    }

    /// A run of capitalised words at token `at`, as the name of an organisation.
    pub(super) fn organization_at(&mut self, at: usize, rule: &'static str) {
        let note = self.note;
        if at == 0 || note.ends_line(at - 1) || !note.is_capital(at) || is_function(note.get(at)) {
            return;
        }
        let (mut last, mut next) = (at, at + 1);
        while next < at + 9 && !note.ends_field(next - 1) {
            if note.is_capital(next)
                && !is_function(note.get(next))
                && (!note.is_shapeless(next)
                    || !note.is(next, Traits::WORD)
                    || self.note.flag(next, Flags::GENERIC))
            {
                last = next;
            } else if !matches!(note.get(next), "&" | "and" | "of" | "-" | "'" | "’" | "s") {
                break;
            }
            next += 1;
        }
        if note.get(last + 1) == "s"
            || (matches!(note.get(last + 1), "'" | "’")
                && note.get(last + 2) == "s"
                && note.is_capital(last + 3))
        {
            last += 2;
        }
        self.out.tokens(at, last, self.labels.organization, 0.75, rule);
    }
}

/// Words that no proper name has in it but as a link.
fn is_function(word: &str) -> bool {
    matches!(
        word,
        "at" | "in"
            | "on"
            | "to"
            | "from"
            | "by"
            | "with"
            | "for"
            | "he"
            | "she"
            | "was"
            | "is"
            | "a"
            | "an"
            | "this"
            | "that"
            | "his"
            | "her"
            | "or"
            | "as"
            | "who"
            | "it"
            | "be"
            | "were"
            | "has"
            | "had"
            | "patient"
            | "pt"
            | "dr"
            | "mr"
            | "mrs"
            | "ms"
            | "md"
            | "no"
            | "please"
            | "discharged"
            | "transferred"
            | "admitted"
            | "seen"
            | "facility"
            | "location"
            | "name"
            | "date"
            | "our"
            | "we"
            | "i"
            | "and"
            | "of"
    )
}
