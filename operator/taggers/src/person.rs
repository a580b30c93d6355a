//! The form of a person's written name: words, initials, particles, and its extent.

mod begin;
mod run;

use crate::lexicon::Flags;
use crate::reading::Reading;
use crate::vocabulary::Traits;
use crate::words::Case;
pub(crate) use run::Run;

/// How strongly the surroundings announce a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Evidence {
    /// Only the words themselves.
    None,
    /// A word that often precedes names: "by", "with".
    Some,
    /// A title or a relative: a name follows unless the words cannot be one.
    Strong,
    /// A form's field: as strong, and the surname may come first.
    Field,
}

/// A name that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// The number of words of two letters or more.
    pub(crate) words: usize,
    /// The number of those that a list has as names.
    pub(crate) listed: usize,
}

/// Suffixes of names.
const SUFFIXES: [&str; 6] = ["jr", "sr", "ii", "iii", "iv", "2nd"];

/// The most words of a name.
const MOST_UNITS: usize = 5;

/// The most tokens of one word of a name.
const LONGEST_UNIT: usize = 8;

/// The traits of words that are more than names.
const OTHER_MEANING: Traits = Traits::WORD
    .with(Traits::MEDICAL)
    .with(Traits::CREDENTIAL)
    .with(Traits::OTHER)
    .with(Traits::TITLE)
    .with(Traits::INSTITUTION);

/// One word of a name: one token, or several that are written as one ("McLean", "O'Brien", "Smith-Jones").
#[derive(Clone, Copy)]
struct Unit {
    last: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Initial,
    /// A list has it as a name, and it is seldom anything else.
    Name,
    /// No list has it.
    Unknown,
    /// A name and an ordinary word: "Grace", "Young".
    Both,
    /// Not a name.
    Other,
}

impl Reading<'_, '_> {
    /// Returns the name that begins at token `i`, if the text there can be one under this evidence.
    pub(crate) fn name_at(&self, i: usize, evidence: Evidence) -> Option<Name> {
        let mut start = i;
        // "Dr. de la Fuente": particles come first only if a name certainly follows.
        let field = evidence == Evidence::Field;
        while evidence >= Evidence::Strong
            && start < i + 3
            && self.flag(start, Flags::PARTICLE)
            && self.case(start) == Case::Lower
        {
            start += 1;
        }
        if start > i && !self.all_lower {
            let name = self.name_at(start, evidence)?;
            return (field || !self.is_shapeless(start)).then_some(Name { first: i, ..name });
        }
        if i >= self.len() || !self.is_capital(i) || self.goes_on_a_word(i) {
            return None;
        }
        let mut name = Name {
            first: i,
            last: i,
            words: 0,
            listed: 0,
        };
        let (mut at, mut units) = (i, 0);
        let mut comma = false;
        while units < MOST_UNITS {
            let Some(unit) = self.unit(at) else { break };
            let initial = unit.kind == Kind::Initial;
            if initial {
                // "J." before a word or after one; the next tokens show whether it belongs to the name.
                let mut last = at;
                if self.byte(at + 1) == b'.' && self.words.glued(at) {
                    last = at + 1;
                    // "M.ª Teresa", "A.-M. Roche"
                    if self.words.glued(last) && matches!(self.get(last + 1), "ª" | "a" | "º" | "-") {
                        last += 1;
                    }
                }
                if units > 0 && (last > at || comma || self.ends_field(at) || self.byte(at + 1) == b',') {
                    name.last = last;
                }
                at = last;
            } else {
                let initialed = units > 0 && name.words == 0 && self.case(at) == Case::Title;
                let initialed = initialed && unit.kind == Kind::Unknown && evidence >= Evidence::Some;
                if !initialed && !self.accepts(at, unit, evidence, name) {
                    break;
                }
                name.words += 1;
                name.listed += usize::from(matches!(unit.kind, Kind::Name | Kind::Both));
                name.last = unit.last;
                at = unit.last;
            }
            units += 1;
            if self.ends_name(at) {
                break;
            }
            at += 1;
            if name.words > 0
                && !comma
                && self.byte(at) == b','
                && self.reversed_goes_on(at + 1, evidence, &name)
            {
                comma = true;
                at += 1;
            }
            // Particles belong to a name that continues after them.
            let mut over = at;
            while over < at + 3
                && name.words > 0
                && self.flag(over, Flags::PARTICLE)
                && (self.case(over) == Case::Lower || self.is_shapeless(over))
                && !self.ends_field(over)
            {
                over += 1;
            }
            if over > at && self.is_capital(over) && !self.is_shapeless(over)
                || (over > at && self.is(over, Traits::NAME))
            {
                at = over;
            }
        }
        if name.words == 0 {
            return None;
        }
        // "Smith, Jr." and "Smith III"
        let mut after = name.last + 1;
        if self.byte(after) == b',' && !self.ends_field(after) {
            after += 1;
        }
        if SUFFIXES.contains(&self.get(after)) && self.is_capital(after) && !self.ends_field(name.last) {
            name.last = after;
        }
        Some(name)
    }

    /// Returns whether a given name follows "Surname,".
    fn reversed_goes_on(&self, at: usize, evidence: Evidence, name: &Name) -> bool {
        if name.words > 2 || self.ends_line(at.wrapping_sub(1)) {
            return false;
        }
        let Some(unit) = self.unit(at) else { return false };
        if self.is(
            at,
            Traits::STATE | Traits::STATE_CODE | Traits::COUNTRY | Traits::CREDENTIAL,
        ) && !self.is(at, Traits::GIVEN)
        {
            return false;
        }
        match unit.kind {
            Kind::Name => evidence == Evidence::Field || (self.is(at, Traits::GIVEN) && name.listed > 0),
            Kind::Both => {
                self.is(at, Traits::GIVEN) && evidence == Evidence::Field && !self.is(at, Traits::CREDENTIAL)
            }
            Kind::Unknown => evidence == Evidence::Field && self.case(at) == self.case(name.first),
            Kind::Initial | Kind::Other => false,
        }
    }

    fn unit(&self, i: usize) -> Option<Unit> {
        if !self.is_capital(i) {
            return None;
        }
        let words = &self.words;
        let (mut last, mut hyphens, mut humps) = (i, false, false);
        // "McLean" is two tokens, "O'Brien" three, "Smith-Jones" and "Soo-jin" three.
        while words.glued(last) && last < i + LONGEST_UNIT {
            let next = last + 1;
            if self.case(next) == Case::Title && self.case(last).is_word() {
                (last, humps) = (next, true);
                continue;
            }
            if self.case(next) != Case::Mark || !words.glued(next) {
                break;
            }
            match words.byte(next) {
                b'-' if words.byte(next + 1) != b's'
                    && (self.is_capital(next + 1) || self.is_second_syllable(i, next + 1)) =>
                {
                    (last, hyphens) = (next + 1, true);
                }
                b'\''
                    if self.is_capital(next + 1) && words.byte(next + 1) != b's' && self.width(last) <= 2 =>
                {
                    (last, humps) = (next + 1, true);
                }
                _ => break,
            }
        }
        let goes_on = words.glued(last) && self.case(last + 1).is_word();
        let kind = if goes_on && self.width(last) > 1 {
            // "EndoGIA": a word that continues in capitals is a brand.
            Kind::Other
        } else if hyphens {
            let names = (i..=last)
                .filter(|&at| self.is(at, Traits::NAME) && !self.is(at, Traits::CREDENTIAL))
                .count();
            let other = (i..=last).any(|at| self.kind(at) == Kind::Other && self.get(at).len() > 1);
            match names {
                _ if other => Kind::Other,
                0 if self.get(i).len() < 3 => Kind::Other,
                _ if self.is_hyphenated_eponym(i, last) => Kind::Other,
                0 => Kind::Unknown,
                _ => Kind::Name,
            }
        } else if humps {
            let whole = words.note.tokens_span(i, last).of(words.note.text);
            let traits = self.vocabulary.traits(self.vocabulary.dictionary.word(whole));
            let prefixed = matches!(
                self.get(i),
                "mc" | "mac" | "o" | "d" | "de" | "di" | "la" | "le" | "van"
            );
            match () {
                () if traits.any(Traits::MEDICAL) && !traits.any(Traits::NAME) => Kind::Other,
                () if traits.any(Traits::NAME) || prefixed => Kind::Name,
                // "EndoGIA", "TriTome": brands have capitals inside, names seldom.
                () => Kind::Other,
            }
        } else if self.width(i) == 1 {
            Kind::Initial
        } else {
            self.kind(i)
        };
        Some(Unit { last, kind })
    }

    /// Returns whether the lists have the tokens `first` to `last` as an eponym: they have "Epstein-Barr" as
    /// two words.
    fn is_hyphenated_eponym(&self, first: usize, last: usize) -> bool {
        let words = &self.words;
        let whole = words.note.tokens_span(first, last).of(words.note.text);
        let entry = self.vocabulary.dictionary.word(&whole.replace('-', " "));
        self.vocabulary.traits(entry).any(Traits::MEDICAL)
    }

    /// Returns whether this is the lower-case half of "Soo-jin" or "Jean-luc": short, and not a word.
    fn is_second_syllable(&self, first: usize, i: usize) -> bool {
        self.case(i) == Case::Lower
            && self.get(i).len() <= 6
            && self.case(first) == Case::Title
            && !self.is(i, Traits::WORD | Traits::MEDICAL)
            && !self.is(first, Traits::WORD | Traits::MEDICAL)
    }

    fn kind(&self, i: usize) -> Kind {
        let traits = self.traits(i);
        if self.flag(i, Flags::STOP) || traits.any(Traits::CALENDAR) && !traits.any(Traits::GIVEN) {
            return Kind::Other;
        }
        match (traits.any(Traits::NAME), traits.any(OTHER_MEANING)) {
            (true, false) => Kind::Name,
            (true, true) => Kind::Both,
            (false, true) => Kind::Other,
            (false, false) => Kind::Unknown,
        }
    }

    /// Returns whether a unit can be the next of a name.
    fn accepts(&self, i: usize, unit: Unit, evidence: Evidence, so_far: Name) -> bool {
        let shapeless = self.is_shapeless(i);
        let first = so_far.words == 0;
        match unit.kind {
            Kind::Name => true,
            Kind::Unknown => {
                let long = self.get(i).len() > 2;
                long && match evidence {
                    Evidence::Strong | Evidence::Field => !shapeless || first || so_far.listed > 0,
                    Evidence::Some => !first && so_far.listed > 0 && self.case(i) == self.case(so_far.first),
                    Evidence::None => {
                        !first && so_far.listed > 0 && !shapeless && self.case(i) == Case::Title
                    }
                }
            }
            Kind::Both => {
                // This is looked up only if it decides.
                let weight = || self.name_weight(i);
                if self.is(i, Traits::CREDENTIAL) && self.case(i) == Case::Upper && !shapeless {
                    return false;
                }
                match evidence {
                    Evidence::Strong | Evidence::Field if !shapeless => {
                        self.case(i) == Case::Title || weight() > 0
                    }
                    Evidence::Field if first && self.get(unit.last + 1) == "," => true,
                    // A surname that is an eponym and not an ordinary word is a name after a title.
                    Evidence::Strong | Evidence::Field if !self.is(i, Traits::WORD) => weight() > 0,
                    Evidence::Strong | Evidence::Field => weight() >= if first { 5 } else { 20 },
                    _ if first => {
                        let told = || !self.starts_sentence(i) || !self.is(i, Traits::WORD);
                        !shapeless && weight() >= 60 && (told() || self.surname_follows(i, unit.last + 1))
                    }
                    _ if !shapeless && (self.spanish || self.flag(i.wrapping_sub(1), Flags::PARTICLE)) => {
                        so_far.listed > 0
                    }
                    _ => so_far.listed > 0 && weight() >= if shapeless { 60 } else { 2 },
                }
            }
            // "José Andrés Cumplido Bravo": Spanish surnames that are words, inside a name that continues or
            // ends with them.
            Kind::Other => {
                let next = unit.last + 1;
                let begins = first
                    && evidence == Evidence::Field
                    && self.unit(next).is_some_and(|unit| unit.kind == Kind::Name);
                let certain = evidence >= Evidence::Strong
                    && self.spanish
                    && !shapeless
                    && (so_far.listed > 0 || begins);
                certain
                    && self.case(i) == Case::Title
                    && self.get(i).len() > 3
                    && !self.flag(i, Flags::STOP)
                    && !self.is(
                        i,
                        Traits::MEDICAL | Traits::INSTITUTION | Traits::OTHER | Traits::CALENDAR,
                    )
                    && (self.ends_field(unit.last)
                        || self.case(next).is_capital() && !self.flag(next, Flags::STOP)
                        || self.case(next) == Case::Mark)
                    && self.get(next) != ":"
            }
            Kind::Initial => false,
        }
    }

    /// Returns whether a common surname follows a given name that begins a sentence, where it may be an
    /// ordinary word: "John Smith came", "Mark A. Hill has".
    fn surname_follows(&self, i: usize, next: usize) -> bool {
        let mut at = next;
        if self.case(at).is_capital() && self.get(at).len() == 1 {
            at += if self.get(at + 1) == "." { 2 } else { 1 };
        }
        self.is(i, Traits::GIVEN)
            && at < self.len()
            && self.case(at) == Case::Title
            && self.name_weight(at) >= 100
    }

    /// Returns whether a name ends with token `i` because of the text after it. Two blanks inside a name are
    /// a typing error.
    fn ends_name(&self, i: usize) -> bool {
        if !self.ends_field(i) {
            return false;
        }
        let tokens = self.words.note.tokens;
        let slip = !self.ends_line(i)
            && tokens
                .starts
                .get(i + 1)
                .is_some_and(|start| start - tokens.ends[i] == 2)
            && self.is_plain_name(i + 1)
            && !(i + 2..i + 4).any(|at| self.get(at) == ":");
        !slip
    }

    /// Returns the people per hundred thousand who bear token `i` as a given name or surname.
    pub(crate) fn name_weight(&self, i: usize) -> u32 {
        let entry = self.entry(i);
        self.vocabulary.given(entry).max(self.vocabulary.surname(entry))
    }

    /// Returns whether token `i` is a name and not also an ordinary or medical word.
    pub(crate) fn is_plain_name(&self, i: usize) -> bool {
        self.is_capital(i) && self.kind(i) == Kind::Name
    }

    /// Returns whether token `i` cannot be part of a name.
    pub(crate) fn is_no_name(&self, i: usize) -> bool {
        self.kind(i) == Kind::Other
    }
}
