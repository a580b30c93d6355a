//! Places by their surroundings: "City, ST", "lives in X", "natural de X".

use crate::context::Scan;
use crate::lexicon::Flags;
use crate::vocabulary::Traits;
use crate::words::Case;

impl Scan<'_, '_, '_, '_, '_> {
    /// Finds the state's abbreviation at token `i` and the city before it.
    pub(super) fn state_code(&mut self, i: usize) {
        let note = self.note;
        if i == 0
            || !note.is_capital(i)
            || note.get(i).len() > 5
            || !(note.is(i, Traits::STATE_CODE)
                || note.all_lower && note.get(i).len() == 2 && note.get(i - 1) == ",")
        {
            return;
        }
        let comma = note.get(i - 1) == "," && !note.ends_line(i - 1);
        let zip = !note.ends_line(i) && note.case(i + 1) == Case::Digits && note.get(i + 1).len() == 5;
        if !comma && !zip {
            return;
        }
        let Some(end) = i.checked_sub(if comma { 2 } else { 1 }) else {
            return;
        };
        let Some(first) = self.city_ending(end, zip) else {
            return;
        };
        // "Abdomen: NT, ND": a list of abbreviations.
        if note.get(end).len() < 3 || note.case(end) == Case::Upper && !note.is_shapeless(end) {
            return;
        }
        // "Garza, MD" and "Smith, PA" are people: an abbreviation that is also a degree needs a ZIP or a
        // known city.
        let degree = note.is(i, Traits::CREDENTIAL) || note.is_shapeless(i) && note.is(i, Traits::WORD);
        let city = first < end || note.is(end, Traits::CITY);
        if degree && !zip && !(city && note.is(first, Traits::CITY) && !note.is(first, Traits::GIVEN)) {
            return;
        }
        if !zip && !city && note.is(end, Traits::WORD | Traits::MEDICAL) {
            return;
        }
        // In the order of the text: sorting them then costs little.
        self.out
            .tokens(first, end, self.labels.city, 0.85, "context.city-before-state");
        self.out
            .tokens(i, i, self.labels.state, 0.9, "context.state-code");
        self.state = Some(i);
    }

    /// Returns where the city that ends at token `end` begins: up to three capitalised words, none of them a
    /// kind of street.
    fn city_ending(&self, end: usize, zip: bool) -> Option<usize> {
        let note = self.note;
        let fits = |i: usize| {
            note.is_capital(i)
                && note.case(i).is_word()
                && !note.is(i, Traits::CREDENTIAL | Traits::TITLE)
                && note.get(i).len() > 1
        };
        if !fits(end) || note.ends_field(end) && note.get(end + 1) != "," {
            return None;
        }
        let mut first = end;
        for _ in 0..3 {
            let Some(before) = first.checked_sub(1) else { break };
            // "Boston, MA Cambridge, MA": the state belongs to the city before it.
            if note.ends_field(before) || self.state == Some(before) {
                break;
            }
            if note.get(before) == "." && before > 0 && matches!(note.get(before - 1), "st" | "ft" | "mt") {
                first = before - 1;
                break;
            }
            if matches!(note.get(before), "de" | "of" | "la" | "del")
                && before > 0
                && fits(before - 1)
                && !note.is_shapeless(before)
            {
                first = before - 1;
                continue;
            }
            let street = note.is(before, Traits::STREET) && !note.is(before, Traits::CITY | Traits::NAME)
                || matches!(note.get(before), "in" | "at" | "of" | "from" | "to");
            let amid_street = matches!(
                note.get(before),
                "st" | "street"
                    | "ave"
                    | "rd"
                    | "road"
                    | "dr"
                    | "drive"
                    | "blvd"
                    | "lane"
                    | "ln"
                    | "court"
                    | "ct"
                    | "way"
                    | "unit"
                    | "apt"
                    | "suite"
                    | "ste"
            );
            if !fits(before)
                || street
                || amid_street
                || (note.is_shapeless(before)
                    && note.is(before, Traits::WORD)
                    && !note.is(before, Traits::CITY)
                    && !zip)
            {
                break;
            }
            first = before;
        }
        Some(first)
    }

    /// Finds the place after a postal code, in a Spanish note: "28046 Madrid".
    pub(super) fn after_code(&mut self, i: usize) {
        let note = self.note;
        let mut at = i + 1;
        if !note.spanish || note.get(i).len() != 5 || note.ends_line(i) {
            return;
        }
        if matches!(note.get(at), "," | "." | "-") {
            at += 1;
        }
        if note.ends_field(at - 1)
            || note.case(at) != Case::Title
            || note.flag(at, Flags::STOP)
            || note.is(at, Traits::MEDICAL | Traits::CALENDAR)
        {
            return;
        }
        let mut last = at;
        while last < at + 6 && !note.ends_field(last) {
            let mut next = last + 1;
            while next < last + 4 && note.flag(next, Flags::PARTICLE) {
                next += 1;
            }
            if note.case(next) != Case::Title
                || note.flag(next, Flags::STOP)
                || note.is(next, Traits::COUNTRY)
            {
                break;
            }
            last = next;
        }
        self.out
            .tokens(at, last, self.labels.city, 0.8, "context.city-after-code");
    }

    /// Finds a place after the cue: "lives in X", "from X", "natural de X".
    pub(super) fn place_after(&mut self, i: usize) {
        let note = self.note;
        if note.ends_line(i) {
            return;
        }
        let cue = note.get(i);
        let mut at = i + 1;
        let strong = match cue {
            "in" | "from" | "near" | "outside" => self.verb_of_place(i),
            "en" | "desde" => {
                i > 0
                    && matches!(
                        note.get(i - 1),
                        "vive"
                            | "reside"
                            | "nacido"
                            | "nacida"
                            | "residente"
                            | "nacio"
                            | "viviendo"
                            | "residencia"
                    )
            }
            "lives" | "living" | "resides" | "residing" => return,
            "natural" | "procedente" | "residente" | "nacido" | "nacida" | "vecino" | "vecina" => {
                if !matches!(note.get(at), "de" | "en" | "del") {
                    return;
                }
                at += 1;
                true
            }
            _ => true,
        };
        if !strong || !note.is_capital(at) || note.is_shapeless(at) && !note.is(at, Traits::PLACE) {
            return;
        }
        if note.is(
            at,
            Traits::CALENDAR | Traits::MEDICAL | Traits::INSTITUTION | Traits::OTHER,
        ) || (note.is(at, Traits::WORD) && !note.is(at, Traits::PLACE) && note.case(at + 1) != Case::Title)
        {
            return;
        }
        let mut last = at;
        while last < at + 3 && !note.ends_field(last) {
            let next = last + 1;
            let stop = note.get(last) == "st" && note.get(next) == ".";
            if stop || note.is_capital(next) && note.case(next).is_word() && !note.is_shapeless(next) {
                last = next;
            } else if matches!(note.get(next), "de" | "del" | "la") && note.is_capital(next + 1) {
                last = next + 1;
            } else {
                break;
            }
        }
        let label = match () {
            () if note.is(at, Traits::COUNTRY) => self.labels.country,
            () if note.is(at, Traits::STATE) && !note.is(at, Traits::CITY) => self.labels.state,
            () => self.labels.city,
        };
        self.out.tokens(at, last, label, 0.75, "context.place");
    }

    /// Returns whether a verb of living, coming or going stands shortly before "in" or "from".
    fn verb_of_place(&self, i: usize) -> bool {
        let note = self.note;
        let from = i.saturating_sub(4);
        (from..i).any(|at| {
            matches!(
                note.get(at),
                "lives"
                    | "living"
                    | "lived"
                    | "resides"
                    | "residing"
                    | "resided"
                    | "born"
                    | "raised"
                    | "grew"
                    | "originally"
                    | "immigrated"
                    | "emigrated"
                    | "moved"
                    | "returned"
                    | "travel"
                    | "traveled"
                    | "travelled"
                    | "trip"
                    | "native"
                    | "relocated"
                    | "came"
                    | "comes"
                    | "visiting"
                    | "home"
                    | "house"
                    | "resident"
                    | "vacation"
                    | "vacationing"
                    | "arrived"
                    | "drove"
                    | "flew"
                    | "back"
                    | "hails"
            )
        })
    }
}
