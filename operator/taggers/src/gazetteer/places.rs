//! Places, institutions and professions by list: the longest entry on token boundaries, under the conditions
//! of its kind.

use lethe_core::Collector;
use lethe_dictionaries::{Entry, Match, Matcher};

use crate::gazetteer::Gazetteer;
use crate::reading::Reading;
use crate::vocabulary::Traits;
use crate::words::Case;

/// The kind of a list's entries, as far as conditions depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    Hospital,
    Organization,
    City,
    State,
    StateCode,
    Country,
    Profession,
    Other,
}

impl Sort {
    pub(super) fn of(label: &str, id: &str) -> Self {
        match label {
            "HOSPITAL" => Self::Hospital,
            "ORGANIZATION" => Self::Organization,
            "CITY" => Self::City,
            "STATE" if id.contains("abbreviations") || id.contains("short-forms") => Self::StateCode,
            "STATE" => Self::State,
            "COUNTRY" => Self::Country,
            "PROFESSION" => Self::Profession,
            _ => Self::Other,
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The bits of the kinds that are reported.
    const REPORTED: u8 = Self::Hospital.bit()
        | Self::Organization.bit()
        | Self::City.bit()
        | Self::State.bit()
        | Self::Country.bit();
}

/// The tokens that entries have taken, one bit per token.
#[cfg_attr(test, derive(Debug, PartialEq, Eq))]
pub(super) struct Taken(Vec<u64>);

impl Taken {
    fn of(tokens: usize) -> Self {
        Self(vec![0; tokens.div_ceil(64)])
    }

    fn take(&mut self, first: usize, last: usize) {
        for i in first..=last {
            self.0[i / 64] |= 1 << (i % 64);
        }
    }

    pub(super) fn covers(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 == 1
    }
}

impl Gazetteer {
    pub(super) fn places<'d>(
        &'d self,
        note: &Reading<'d, '_>,
        matcher: &mut Matcher<'d>,
        out: &mut Collector<'_>,
    ) -> Taken {
        let sought = self.sought();
        let mut taken = Taken::of(note.len());
        let mut next = 0;
        for found in note.found() {
            if found.first >= next {
                next = self.take(note, &found, &mut taken, out).unwrap_or(next);
            } else if sought.is_passed(&found) {
                // The end of a taken entry lies in it, so that the tokens after that end must still be
                // searched.
                while next <= found.last {
                    let longest = note
                        .is_capital(next)
                        .then(|| matcher.longest_at(&note.words.note, next, sought.lists))
                        .flatten();
                    let after = longest.and_then(|found| self.take(note, &found, &mut taken, out));
                    next = after.unwrap_or(next + 1);
                }
            }
        }
        taken
    }

    /// Reports an entry, or marks its tokens as not part of a name. Returns the token after it, or `None` if
    /// neither applies.
    fn take(
        &self,
        note: &Reading<'_, '_>,
        found: &Match<'_>,
        taken: &mut Taken,
        out: &mut Collector<'_>,
    ) -> Option<usize> {
        let (first, last) = (found.first, found.last);
        if found.entry.lists().intersects(self.medical) {
            // "Bence Jones", "Ortho Tri-Cyclen": none of their words is a person's name.
            if last > first {
                taken.take(first, last);
                return Some(last + 1);
            }
            if !found.entry.lists().intersects(self.wanted) {
                return None;
            }
        }
        let (sort, score, rule) = self.accept(note, found)?;
        out.tokens(first, last, self.label_of(found.entry, sort)?, score, rule);
        taken.take(first, last);
        Some(last + 1)
    }

    fn label_of(&self, entry: Entry<'_>, sort: Sort) -> Option<lethe_core::LabelId> {
        entry
            .lists()
            .iter()
            .map(|list| self.by_list[list.index()])
            .find(|(of, _)| *of == sort)
            .map(|(_, label)| label)
    }

    fn accept(&self, note: &Reading<'_, '_>, found: &Match<'_>) -> Option<(Sort, f32, &'static str)> {
        let (first, last) = (found.first, found.last);
        let lists = found.entry.lists().iter();
        let held = lists.fold(0, |held, list| held | self.by_list[list.index()].0.bit());
        let sorts = |sort: Sort| held & sort.bit() != 0;
        let words = last - first + 1;
        let capital = note.is_capital(first) && note.is_capital(last);
        if sorts(Sort::Profession) {
            // Professions are common nouns: the context member requires cues.
            return None;
        }
        if !capital || held & Sort::REPORTED == 0 {
            return None;
        }
        // "St. Jude mechanical valve", "Ochsner clamps": the maker of a device.
        let brand = || note.is_before_noun(last) || note.is_eponym(last);
        let led = || {
            first > 0
                && !note.ends_line(first - 1)
                && matches!(
                    note.get(first - 1),
                    "at" | "to" | "from" | "in" | "en" | "al" | "el" | "del"
                )
        };
        if sorts(Sort::Hospital)
            && (words > 1 || found.distance == 0)
            && (words > 1 || note.is(last + 1, Traits::INSTITUTION) || led())
            && !brand()
        {
            return Some((Sort::Hospital, 0.9, "gazetteer.hospital"));
        }
        let word_like = note.is(first, Traits::WORD | Traits::MEDICAL) && words == 1;
        let short = words == 1 && note.get(first).len() < 3;
        let employs = || {
            first > 0
                && matches!(
                    note.get(first - 1),
                    "at" | "for" | "by" | "from" | "with" | "the" | "en" | "para" | ":"
                )
        };
        if sorts(Sort::Organization) && (words > 1 || !word_like && !short) && employs() && !brand() {
            return Some((Sort::Organization, 0.7, "gazetteer.organization"));
        }
        let parted = || self.place_follows(note, first) || self.state_follows(note, last);
        let shapeless = note.is_shapeless(first);
        if sorts(Sort::State) && self.city_before(note, first) {
            return Some((Sort::State, 0.8, "gazetteer.state-after-city"));
        }
        if sorts(Sort::Country) {
            let surname = words == 1 && note.is(first, Traits::NAME);
            let certain = words > 1 || !(word_like || shapeless || surname) || parted();
            let certain = certain || (shapeless && !word_like && !note.is(first, Traits::NAME));
            // "(España)", "Jaén. España": next to punctuation, a country that is also a surname is a country.
            let apart = first > 0
                && note.case(first - 1) == Case::Mark
                && note.case(first) == Case::Title
                && !note.is(first, Traits::GIVEN);
            let certain = certain
                || apart
                    && (note.spanish || matches!(note.get(first - 1), "," | "("))
                    && !note.is_plain_name(last + 1);
            let certain = certain
                || note.spanish
                    && first > 0
                    && note.case(first) == Case::Title
                    && note.case(first - 1) == Case::Title
                    && note.is(first - 1, Traits::CITY | Traits::STATE);
            return certain.then_some((Sort::Country, 0.7, "gazetteer.country"));
        }
        if sorts(Sort::State) {
            let certain = words > 1 || !word_like && !note.is(first, Traits::NAME) || parted();
            // Salamanca and New York are both a city and the region around it: the narrower is reported.
            let city = sorts(Sort::City) && self.vocabulary.inhabitants(found.entry) >= 100_000;
            let sort = if city { Sort::City } else { Sort::State };
            return certain.then_some((sort, 0.7, "gazetteer.state"));
        }
        if sorts(Sort::City) {
            return self
                .city(note, found, word_like)
                .then_some((Sort::City, 0.6, "gazetteer.city"));
        }
        None
    }

    /// Finds a city, which needs "in", a state after it, or a size that makes another reading unlikely.
    fn city(&self, note: &Reading<'_, '_>, found: &Match<'_>, word_like: bool) -> bool {
        let (first, last) = (found.first, found.last);
        let one = first == last;
        if self.state_follows(note, last) {
            return true;
        }
        let next = last + 1;
        if note.is_capital(next)
            && note.is(next, Traits::INSTITUTION | Traits::STREET)
            && !note.ends_line(last)
        {
            return false;
        }
        // "IgA" is not Iga, and "Kaplan's line" not Kaplan.
        let written = (first..last).all(|at| {
            !note.words.glued(at) || note.case(at) == Case::Mark || note.case(at + 1) == Case::Mark
        });
        if !written || matches!(note.get(next), "'" | "’") && note.get(next + 1) == "s" {
            return false;
        }
        let name = note.is(first, Traits::NAME) && one;
        let size = || self.vocabulary.inhabitants(found.entry);
        let shapeless = note.is_shapeless(first);
        if one && note.case(first) == Case::Upper && !shapeless {
            return false;
        }
        let beside_name = (first > 0
            && note.is_capital(first - 1)
            && !note.ends_line(first - 1)
            && note.is_plain_name(first - 1))
            || (note.is_capital(next) && !note.ends_line(last) && note.is(next, Traits::NAME));
        if beside_name && name {
            return false;
        }
        let brand = || note.is_before_noun(last) || note.is_eponym(last);
        // "Mercy Hospital - Dayton" at a line's end.
        let parted = self.place_follows(note, first)
            || (first > 1
                && note.get(first - 1) == "-"
                && !note.words.glued(first - 1)
                && note.ends_line(last));
        match (parted, name, word_like) {
            (true, _, false) => true,
            (true, _, true) if shapeless => false,
            (true, _, true) => {
                size() >= 50_000 && (!note.is(first, Traits::MEDICAL) || !brand() && !shapeless)
            }
            (false, false, false) => {
                let amid =
                    first > 0 && matches!(note.get(first - 1), "a" | "an" | "the" | "with" | "and" | "using");
                let size = size();
                size >= 250_000 && !shapeless && !amid || (!one && size >= 30_000)
            }
            (false, true, false) => false,
            (false, _, true) => false,
        }
    }

    /// Returns whether the words before token `i` lead to a place.
    fn place_follows(&self, note: &Reading<'_, '_>, i: usize) -> bool {
        if i == 0 || note.ends_line(i - 1) {
            return false;
        }
        match note.get(i - 1) {
            "in" | "from" | "near" | "en" | "outside" | "to" | "visited" | "desde" => true,
            "de" => false,
            _ => false,
        }
    }

    /// Returns whether a state follows: "Lansing, MI", "Provo Utah".
    fn state_follows(&self, note: &Reading<'_, '_>, last: usize) -> bool {
        let mut next = last + 1;
        if note.ends_field(last) {
            return false;
        }
        if note.get(next) == "," {
            next += 1;
        }
        note.is_capital(next) && note.is(next, Traits::STATE_CODE)
            || (note.is_capital(next) && note.is(next, Traits::STATE))
            || matches!(
                (note.get(next), note.get(next + 1)),
                ("new", "york" | "jersey" | "mexico" | "hampshire")
                    | ("north" | "south", "carolina" | "dakota")
                    | ("west", "virginia")
                    | ("rhode", "island")
            )
    }

    /// Returns whether a capitalised word and a comma come before: "Atlanta, Georgia".
    fn city_before(&self, note: &Reading<'_, '_>, first: usize) -> bool {
        first >= 2 && note.get(first - 1) == "," && note.is_capital(first - 2)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lethe_core::{LabelSet, NoteBatch};
    use lethe_dictionaries::{Dictionary, List, MatchMode, Role, Source, compile};
    use proptest::prelude::*;

    use super::*;
    use crate::gazetteer::GazetteerConfig;

    fn list(id: &str, label: &str, role: Role, items: &[&str]) -> List {
        List {
            id: id.to_owned(),
            source: Source {
                title: "t".to_owned(),
                origin: "o".to_owned(),
                licence: "none".to_owned(),
                attribution: String::new(),
                date: "2026-01-01".to_owned(),
                language: "any".to_owned(),
                label: label.to_owned(),
                match_mode: MatchMode::Folded,
                min_length: 1,
                role,
                number: String::new(),
                variants: false,
            },
            items: items.iter().map(|&item| (item.to_owned(), 0)).collect(),
            exceptions: Vec::new(),
        }
    }

    proptest! {
        #[test]
        fn entries_that_overlap_are_taken_as_by_one_search_at_a_time(
            text in "((in )?(Alba|Bor|Cal|Dun|Eri|x)[ -]){0,40}"
        ) {
            let lists = [
                list("cities", "CITY", Role::Phi, &["Alba Bor", "Bor", "Cal", "Cal Dun Eri", "Dun Alba", "Eri Eri"]),
                list("eponyms", "", Role::Exception, &["Bor Cal Dun", "Cal", "Dun Eri", "Eri Alba", "Alba Alba Bor"]),
            ];
            let dictionary = Arc::new(Dictionary::from_bytes(compile(&lists).unwrap()).unwrap());
            let gazetteer = GazetteerConfig::default().build(&LabelSet::i2b2_2014(), &dictionary).unwrap();
            let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
            let mut matcher = dictionary.matcher();
            let sought = gazetteer.sought();
            let note = Reading::new(batch.note(0), &gazetteer.vocabulary, &mut matcher, sought);
            let (mut out, mut expected) = (Collector::new(batch.note(0)), Collector::new(batch.note(0)));
            let taken = gazetteer.places(&note, &mut matcher, &mut out);
            let mut also = Taken::of(note.len());
            let mut next = 0;
            while next < note.len() {
                let found = note.is_capital(next).then(|| matcher.longest_at(&batch.note(0), next, sought.lists));
                let after = found.flatten().and_then(|found| gazetteer.take(&note, &found, &mut also, &mut expected));
                next = after.unwrap_or(next + 1);
            }
            prop_assert_eq!(taken, also, "{:?}", &text);
            let spans = |out: Collector<'_>| -> Vec<_> {
                out.finish().unwrap().iter().map(|one| (one.span, one.rule)).collect()
            };
            prop_assert_eq!(spans(out), spans(expected), "{:?}", &text);
        }
    }
}
