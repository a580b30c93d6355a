//! English rules for nationalities, ethnic groups and religions.

use super::cues::{Cue, Role};
use super::terms::Kind;
use super::{Case, Scan};

/// The most words between a word for an origin and the cue.
const WINDOW: usize = 6;

impl Scan<'_> {
    /// "a Somali woman", "two Turkish nationals", "Hispanic, right-handed male", "male Caucasian".
    pub(super) fn person(&mut self, i: usize) {
        let is_sex = matches!(
            self.words.get(i),
            "male" | "female" | "man" | "woman" | "boy" | "girl"
        );
        if is_sex
            && let Some(group) = self.group_at(i + 1, Kind::PEOPLE)
            && self.ends_phrase(self.groups[group].last + 1)
        {
            self.mark(group, 0.7, "origin.person");
        }
        // "Seventh American Woman Conference": a name of something.
        let titled = |at: usize| self.words.case(at) == Case::Title;
        if titled(i) && titled(i + 1) && self.words.breaks_after(i) == 0 || self.is_of_a_thing(i, is_sex) {
            return;
        }
        let kinds = match self.words.get(i) {
            "national" | "nationals" | "citizen" | "citizens" => Kind::PERSONAL.with(Kind::COUNTRY),
            _ => Kind::PERSONAL,
        };
        let (mut at, mut commas) = (i, 0);
        for _ in 0..WINDOW {
            if let Some(group) = self.group_before(at, kinds) {
                if self.is_colour_of_a_person(group) && self.may_be_name(group, i) {
                    self.mark_list_back(group, kinds, 0.85, "origin.person");
                }
                return;
            }
            let Some(before) = at.checked_sub(1) else { return };
            let skipped = match self.words.case(before) {
                Case::Digits => true,
                Case::Mark => {
                    commas += usize::from(self.words.byte(before) == b',');
                    commas < 3 && matches!(self.words.byte(before), b',' | b'-' | b'/')
                }
                _ => self.cues.is(self.words.get(before), Role::FILLER),
            };
            if !skipped || self.words.breaks_after(before) > 1 {
                return;
            }
            at = before;
        }
    }

    /// Returns whether the word for a person is an attribute: "British national formulary", "man o' war". Notes
    /// omit "with" behind words for the sex: "Hispanic male history of asthma".
    fn is_of_a_thing(&self, i: usize, is_sex: bool) -> bool {
        let next = self.words.get(i + 1);
        self.words.breaks_after(i) == 0
            && (!is_sex && self.cues.is(next, Role::THING)
                || matches!(next, "o" | "of") && (i + 2..i + 5).any(|at| self.words.get(at) == "war"))
    }

    /// Returns whether a colour is that of a person and not of a thing: "stool black, male patient".
    fn is_colour_of_a_person(&self, group: usize) -> bool {
        let group = self.groups[group];
        if !group.kind.any(Kind::COLOUR) || group.first == 0 || self.words.breaks_after(group.first - 1) > 0 {
            return true;
        }
        let before = group.first - 1;
        match self.words.case(before) {
            Case::Digits | Case::Mark => true,
            _ => {
                let word = self.words.get(before);
                self.cues.is(word, Role::OPENER)
                    || self.cues.is(word, Role::FILLER)
                    || self.cues.get(word) == Some(Cue::Person)
            }
        }
    }

    /// Returns whether a capitalised word can be one for an origin before the cue at `i`: in "Christian, male" and
    /// "Frau Black, patient" it is a name.
    fn may_be_name(&self, group: usize, i: usize) -> bool {
        let group = self.groups[group];
        let apart = self.words.byte(group.last + 1) == b',' && group.last + 2 == i;
        let begins = group.first == 0 || self.words.breaks_after(group.first - 1) > 0;
        let titled = |at: Option<usize>| at.is_some_and(|at| self.words.case(at) == Case::Title);
        let (before, further) = (group.first.checked_sub(1), group.first.checked_sub(2));
        let named = titled(before) || self.before(group.first, 1) == "." && titled(further);
        !(apart && (begins || named) && group.kind.any(Kind::COLOUR.with(Kind::FAITH)))
    }

    /// "45-year-old Hispanic presenting with", "45 yo White F".
    pub(super) fn old(&mut self, i: usize) {
        let mut at = i + 1;
        while at < i + 5
            && (matches!(self.words.byte(at), b',' | b'-' | b'.')
                || self.cues.is(self.words.get(at), Role::FILLER) && self.words.case(at).is_word())
        {
            at += 1;
        }
        if let Some(group) = self.group_at(at, Kind::PERSONAL) {
            let next = self.groups[group].last + 1;
            let sex = matches!(self.words.get(next), "m" | "f") && self.words.case(next) == Case::Upper;
            if sex || self.ends_phrase(next) {
                self.mark(group, 0.75, "origin.age");
            }
        }
    }

    /// "of Nigerian origin", "Italian descent", "her Polish roots".
    pub(super) fn descent(&mut self, i: usize) {
        let mut at = i;
        while at > 0
            && i - at < 3
            && matches!(
                self.before(at, 1),
                "ethnic" | "national" | "racial" | "cultural" | "-"
            )
        {
            at -= 1;
        }
        let word = self.words.get(i);
        let is_weak = matches!(
            word,
            "origin" | "origins" | "background" | "roots" | "extraction" | "race"
        );
        let kinds = match word {
            "race" | "ethnicity" => Kind::PERSONAL,
            _ => Kind::NAMED,
        };
        if let Some(group) = self.group_before(at, kinds)
            && (!is_weak || self.is_of_a_person(group))
        {
            self.mark_list_back(group, kinds, 0.85, "origin.descent");
        }
    }

    /// Returns whether "of", a possessive or a word of a list stands before a group.
    fn is_of_a_person(&self, group: usize) -> bool {
        let first = self.groups[group].first;
        matches!(
            self.before(first, 1),
            "of" | "his"
                | "her"
                | "their"
                | "my"
                | "and"
                | "or"
                | "/"
                | ","
                | "mixed"
                | "partial"
                | "part"
                | "half"
                | "a"
                | "s"
        )
    }

    /// "a member of the Roma community", "attends a Baptist church".
    pub(super) fn community(&mut self, i: usize) {
        // With a capital it is a part of a name.
        if self.words.case(i) == Case::Title {
            return;
        }
        let Some(group) = self.group_before(i, Kind::NAMED) else {
            return;
        };
        let first = self.groups[group].first;
        let belongs = (first.saturating_sub(WINDOW)..first).any(|at| {
            matches!(
                self.words.get(at),
                "member"
                    | "members"
                    | "belongs"
                    | "belonging"
                    | "attends"
                    | "attend"
                    | "attended"
                    | "attending"
                    | "active"
                    | "involved"
                    | "her"
                    | "his"
                    | "their"
                    | "elder"
                    | "joined"
            )
        });
        if belongs {
            self.mark(group, 0.75, "origin.community");
        }
    }

    /// "he is Jewish", "the applicant was a Sikh", "due to being Muslim", "identifies as Black".
    pub(super) fn be(&mut self, i: usize) {
        let word = self.words.get(i);
        let identifies = word.starts_with("identif");
        let has_subject = (1..=3).any(|back| {
            let before = self.before(i, back);
            let between = (1..back).all(|at| i >= at && self.words.case(i - at).is_word());
            between && self.cues.is(before, Role::SUBJECT)
        });
        if identifies && self.words.get(i + 1) != "as" && self.words.get(i + 2) != "as" {
            return;
        }
        let mut at = i + 1;
        while at < i + 6 && (self.words.byte(at) == b'-' || self.cues.is(self.words.get(at), Role::DEGREE)) {
            at += 1;
        }
        let kinds = match word {
            "being" if !has_subject => Kind::NAMED,
            _ if has_subject || identifies => Kind::PERSONAL,
            _ => return,
        };
        if let Some(group) = self.group_at(at, kinds)
            && self.closes(group, kinds)
            && !self.is_pallor(group)
        {
            self.mark_list(group, kinds, 0.75, "origin.is");
        }
    }

    /// "he is white as a sheet"
    fn is_pallor(&self, group: usize) -> bool {
        let group = self.groups[group];
        group.kind.any(Kind::COLOUR) && self.words.get(group.last + 1) == "as"
    }

    /// Returns whether the phrase ends behind a group or behind a list that it begins: "is Irish and Italian."
    fn closes(&self, group: usize, kinds: Kind) -> bool {
        let mut last = self.groups[group].last;
        for _ in 0..super::MOST_LISTED {
            if !self.is_listed(last + 1) {
                break;
            }
            match self.group_at(last + 2, kinds) {
                Some(next) => last = self.groups[next].last,
                None => break,
            }
        }
        self.ends_phrase(last + 1)
    }

    /// "devout Catholic", "raised Lutheran", "converted to Islam".
    pub(super) fn faith(&mut self, i: usize) {
        let mut at = i + 1;
        while at < i + 4 && matches!(self.words.get(at), "a" | "an" | "to" | "as" | "in" | "-" | "from") {
            at += 1;
        }
        if let Some(group) = self.group_at(at, Kind::FAITH) {
            self.mark(group, 0.8, "origin.faith");
        }
    }

    /// "Somali-born".
    pub(super) fn born(&mut self, i: usize) {
        if self.before(i, 1) == "-"
            && let Some(group) = self.group_before(i - 1, Kind::NAMED)
        {
            self.mark(group, 0.85, "origin.born");
        }
    }
}
