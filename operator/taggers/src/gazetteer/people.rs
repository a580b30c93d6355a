//! Persons by list: a given name next to a surname, a surname with a comma and a given name, and given names
//! that are not words.

use lethe_core::Collector;

use crate::gazetteer::Gazetteer;
use crate::gazetteer::places::Taken;
use crate::person::{Evidence, Name, Run};
use crate::reading::Reading;
use crate::vocabulary::Traits;
use crate::words::Case;

/// The fewest bearers per hundred thousand of a given name that stands alone, if its list has numbers; in a
/// list without numbers it must not be a word.
const RARE: u32 = 2;

impl Gazetteer {
    pub(super) fn people(&self, note: &Reading<'_, '_>, places: &Taken, out: &mut Collector<'_>) {
        let mut found = Vec::new();
        let mut run = Run::default();
        let mut i = 0;
        while i < note.len() {
            if !note.may_begin_name(i)
                || places.covers(i)
                || note.is_single_letter(i) && (note.is_no_initial(i) || run.is_long_from(i, note))
            {
                i += 1;
                continue;
            }
            match self.person_at(i, note, places) {
                Some((name, score, rule)) => {
                    out.tokens(name.first, name.last, self.person, score, rule);
                    // One listed name may be a word; two in a row are a person.
                    if name.words >= 2 {
                        found.push((name, self.person));
                    }
                    i = name.last + 1;
                }
                None => i += 1,
            }
        }
        note.repeats(&found, 0.6, "gazetteer.repeat", out);
    }

    fn person_at(
        &self,
        i: usize,
        note: &Reading<'_, '_>,
        places: &Taken,
    ) -> Option<(Name, f32, &'static str)> {
        let name = note.name_at(i, Evidence::None)?;
        if (name.first..=name.last).any(|at| places.covers(at))
            || self.is_something_else(note, &name)
            || note.is_eponym(name.last)
        {
            return None;
        }
        if name.listed >= 2 {
            return self
                .full_name(note, &name)
                .then_some((name, 0.8, "gazetteer.full-name"));
        }
        // "Robin and Ann agree": two given names that "and" joins.
        let and = name.last + 1;
        if name.words == 1 && matches!(note.get(and), "and" | "&" | "y") && self.is_joined(note, i, and + 1) {
            return Some((name, 0.6, "gazetteer.given-names"));
        }
        if name.words == 1
            && i >= 2
            && matches!(note.get(i - 1), "and" | "&" | "y")
            && self.is_joined(note, i - 2, i)
        {
            return Some((name, 0.6, "gazetteer.given-names"));
        }
        if name.words == 1 {
            return self
                .lone_given(note, &name)
                .then_some((name, 0.5, "gazetteer.given-name"));
        }
        // Of one listed word and one that no list has, the listed one must be a given name and come first.
        let given_first = note.is(i, Traits::GIVEN) && note.is_plain_name(i) && !note.is_shapeless(i);
        given_first.then_some((name, 0.6, "gazetteer.given-and-unlisted"))
    }

    /// Returns whether the name is part of an eponym, an institution or a street: "Down syndrome", "Lewis
    /// Memorial Hospital", "Martin Luther King Blvd".
    fn is_something_else(&self, note: &Reading<'_, '_>, name: &Name) -> bool {
        let next = name.last + 1;
        if next >= note.len() || note.ends_line(name.last) {
            return false;
        }
        note.is_capital(next)
            && note.is(next, Traits::INSTITUTION | Traits::STREET)
            && !note.is_shapeless(next)
    }

    fn full_name(&self, note: &Reading<'_, '_>, name: &Name) -> bool {
        let words: Vec<usize> = (name.first..=name.last)
            .filter(|&at| note.case(at).is_word() && note.get(at).len() > 1)
            .collect();
        // "Moya Moya", "Hong Hong": a repeated word is seldom a name.
        if let [first, second] = words[..]
            && note.get(first) == note.get(second)
        {
            return false;
        }
        // "Endo GIA"
        if words
            .iter()
            .any(|&at| note.case(at) == Case::Upper && note.get(at).len() < 4)
            && words.iter().any(|&at| note.case(at) == Case::Title)
        {
            return false;
        }
        let given = words.iter().any(|&at| note.is(at, Traits::GIVEN));
        let plain = words.iter().filter(|&&at| note.is_plain_name(at)).count();
        let shapeless = note.is_shapeless(name.first);
        if shapeless {
            // Without informative capitals, both words must be names and rarely other words.
            return given && plain >= 2
                || (given && plain >= 1 && words.iter().all(|&at| note.name_weight(at) >= 60));
        }
        given && (plain >= 1 || words.iter().all(|&at| note.name_weight(at) >= 20))
    }

    /// Returns whether both tokens are given names and are written as such.
    fn is_joined(&self, note: &Reading<'_, '_>, first: usize, second: usize) -> bool {
        [first, second].into_iter().all(|at| {
            note.is(at, Traits::GIVEN)
                && note.case(at) == Case::Title
                && !note.is(at, Traits::WORD | Traits::CALENDAR)
                && !note.is_shapeless(at)
        })
    }

    fn lone_given(&self, note: &Reading<'_, '_>, name: &Name) -> bool {
        let at = name.first;
        // "As you know, Mark is well": a word and a given name, amid a sentence and with a verb of its own.
        let verb = matches!(
            note.get(at + 1),
            "is" | "was"
                | "has"
                | "had"
                | "reports"
                | "denies"
                | "states"
                | "said"
                | "says"
                | "tolerated"
                | "agrees"
                | "presented"
                | "came"
        );
        if verb
            && note.is(at, Traits::GIVEN)
            && note.case(at) == Case::Title
            && !note.is_shapeless(at)
            && !note.starts_sentence(at)
            && !note.is(at, Traits::PLACE | Traits::CALENDAR | Traits::MEDICAL)
            && self.vocabulary.given(note.entry(at)) >= 50
        {
            return true;
        }
        let entry = note.entry(at);
        // "Allen-Masters window": two surnames and a hyphen are an eponym's, two given names a person's.
        if (at + 1..=name.last).any(|i| note.case(i).is_word() && !note.is(i, Traits::GIVEN))
            || note.is(at, Traits::CALENDAR)
        {
            return false;
        }
        let given = self.vocabulary.given(entry);
        let place = note.is(at, Traits::PLACE) && given < 50;
        note.is(at, Traits::GIVEN)
            && note.is_plain_name(at)
            && !note.is_shapeless(at)
            && note.case(at) == Case::Title
            && !place
            && (given >= RARE || given == 0 && note.get(at).len() > 3)
            && note.get(at).len() > 2
            && !note.is_before_noun(at)
            // "técnica de Charles", "tipo Blake"
            && !(note.spanish && at > 0 && matches!(note.get(at - 1), "de" | "tipo" | "del"))
    }
}
