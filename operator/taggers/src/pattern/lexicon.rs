//! The words for patterns, in one table with one look-up per token.
//!
//! A word's key is its letters folded to unaccented lower case. Its entry has a set of classes (a month, a
//! unit of time, a street suffix ...), a number (which month, which unit) and the identifier cue that ends
//! with it.

use lethe_text::{calendar, numbers};

use super::Language;
use super::cues::CUES;
use super::fold::{Key, key_of};
use super::words::TABLES;

/// Declares the classes as single bits, in order.
macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u8)]
        enum Bit { $($name),* }
        /// Word classes, one bit each.
        pub(crate) mod class {
            $($(#[$doc])* pub(crate) const $name: u64 = 1 << super::Bit::$name as u8;)*
        }
    };
}

classes! {
    /// A word that is always a month; its number is the value.
    MONTH,
    /// A month's name that is also another word, or an abbreviation: counts only next to a number.
    MONTH_WEAK,
    /// A day of the week.
    WEEKDAY,
    /// A day of the week in three letters: counts only before a date.
    WEEKDAY_SHORT,
    /// A month that may stand before its day, as in English.
    MONTH_FIRST,
    /// In Spanish, the subject of a time span: "evolución", "seguimiento".
    SPAN_OF,
    /// In Spanish, a word that makes an age a time span: "después", "más".
    SPAN_AFTER,
    /// Words that may stand before an age, in Spanish: "los", "con", "tenía".
    AT_AGE,
    /// A feast that names a day.
    HOLIDAY,
    /// The first word of a feast of several words.
    HOLIDAY_HEAD,
    /// A season; a date only with its year.
    SEASON,
    /// May stand before a bare year.
    YEAR_CUE,
    /// May stand before a date.
    DATE_CUE,
    /// A number written out; the value is the number.
    NUMBER,
    /// Years, months, weeks, days: values 1 to 4.
    TIME_UNIT,
    /// "yo", "y", "yr" after a number.
    YEARS_SHORT,
    /// "old".
    OLD,
    /// "age", "edad".
    AGE_CUE,
    /// A person whose age follows or precedes.
    PERSON,
    /// "died", "alive", "turned": an age follows.
    LIFE,
    /// "his", "her", "their".
    POSSESSIVE,
    /// "early", "mid", "late".
    PART_OF,
    /// Telephone.
    PHONE,
    /// Telefax.
    FAX,
    /// Pager.
    PAGER,
    /// Words for reaching a person: "call", "page".
    REACH,
    /// "ext", "extension".
    EXTENSION,
    /// "number", "no", "id".
    NUMBER_WORD,
    /// Words that may stand between a cue and its value.
    LINK,
    /// Always ends an English street name.
    STREET,
    /// Ends an English street name, but is also another word.
    STREET_WEAK,
    /// Begins a Spanish street name.
    CALLE,
    /// "apt", "suite", "unit".
    APARTMENT,
    /// In Spanish, parts of an address after the number: "izq", "bajo".
    FLOOR,
    /// Words of the names of Spanish institutions and titles, which are not part of a street's name.
    INSTITUTION,
    /// Two-letter State.
    STATE_CODE,
    /// Last word of a State's name.
    STATE,
    /// A unit of measure.
    UNIT,
    /// "room", "bed".
    ROOM,
    /// Top-level domain.
    TLD,
    /// A grammatical word that is not part of a street's name.
    FUNCTION,
    /// "MD", "RN".
    CREDENTIAL,
    /// "Dr".
    TITLE,
    /// Before a fraction or score.
    SCORE_BEFORE,
    /// After a fraction or score.
    SCORE_AFTER,
    /// "st", "nd", "rd", "th"; in Spanish "o", "a", "er".
    ORDINAL,
    /// Before a duration in Spanish: "hace", "durante".
    DURATION,
    /// "signed", "by", "user": a user name may follow.
    USER,
    /// Joins two ends of a range or two items of a list: "to", "and", "al".
    JOIN,
    /// "of", "de", "del" within a date.
    OF,
    /// "postal", "zip", "CP".
    POSTAL,
    /// "from", "version", "section": before dotted numbers that are not addresses.
    DOTTED,
    /// "address", "domicilio": the rest of the line is an address.
    ADDRESS,
    /// "host", "IP", "workstation".
    HOST,
    /// "http", "www".
    SCHEME,
    /// "box", "apartado": of a post office.
    BOX,

}

/// The table's entry for a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// [`class`] bits.
    pub(crate) class: u64,
    /// The number of a month, a unit of time or a number word.
    pub(crate) value: u8,
    /// One more than the index into [`Lexicon::cues`]; 0 for none.
    pub(crate) cue: u8,
}

/// An identifier cue, prepared for backward matching from its last word.
pub(crate) struct Phrase {
    /// The words before the last one, nearest first.
    pub(crate) before: Vec<Key>,
    /// Its index in [`CUES`].
    pub(crate) cue: usize,
}

/// The table.
pub(crate) struct Lexicon {
    slots: Vec<(Key, Entry)>,
    maybe: Vec<u64>,
    cues: Vec<Vec<Phrase>>,
}

const SLOTS: usize = 1 << 12;
const MAYBE: usize = 1 << 15;

impl Lexicon {
    /// Builds the table for these languages.
    pub(crate) fn new(languages: &[Language]) -> Self {
        let mut lexicon = Self {
            slots: vec![(0, Entry::default()); SLOTS],
            maybe: vec![0; MAYBE / 64],
            cues: Vec::new(),
        };
        let tables = TABLES.iter().filter(|(language, _)| languages.contains(language));
        for &(classes, words) in tables.flat_map(|(_, table)| *table) {
            for word in words.split_ascii_whitespace() {
                let (word, value) = word.split_once('=').unwrap_or((word, "0"));
                let value = if classes & (class::MONTH | class::MONTH_WEAK) == 0 {
                    value.parse().unwrap_or(0)
                } else {
                    calendar::month(word).map_or(0, |name| name.number)
                };
                lexicon.add(word, classes, value);
            }
        }
        for language in languages {
            for (word, value) in numbers::words(language.text()) {
                lexicon.add(&word, class::NUMBER, value);
            }
        }
        for (i, cue) in CUES.iter().enumerate() {
            if cue
                .language
                .is_some_and(|language| !languages.contains(&language))
            {
                continue;
            }
            for phrase in cue.phrases.split('|') {
                let mut words: Vec<Key> = phrase.split_ascii_whitespace().map(key_of).collect();
                let Some(last) = words.pop() else { continue };
                words.reverse();
                let next = lexicon.cues.len() as u8;
                let entry = lexicon.entry(last);
                let group = match entry.cue {
                    0 => {
                        entry.cue = next + 1;
                        lexicon.cues.push(Vec::new());
                        usize::from(next)
                    }
                    group => usize::from(group) - 1,
                };
                lexicon.cues[group].push(Phrase {
                    before: words,
                    cue: i,
                });
            }
        }
        // The longest phrase comes first: "license plate" before "plate".
        for group in &mut lexicon.cues {
            group.sort_by_key(|phrase| std::cmp::Reverse(phrase.before.len()));
        }
        lexicon
    }

    /// Returns the cues whose last word has this [`Entry::cue`].
    pub(crate) fn cues(&self, cue: u8) -> &[Phrase] {
        match usize::from(cue).checked_sub(1) {
            Some(group) => &self.cues[group],
            None => &[],
        }
    }

    /// Returns the entry of a folded word.
    pub(crate) fn get(&self, key: Key) -> Entry {
        let hash = hash(key);
        let bit = hash % MAYBE;
        if self.maybe[bit / 64] >> (bit % 64) & 1 == 0 {
            return Entry::default();
        }
        let mut at = hash % SLOTS;
        loop {
            match self.slots[at] {
                (found, entry) if found == key => return entry,
                (0, _) => return Entry::default(),
                _ => at = (at + 1) % SLOTS,
            }
        }
    }

    fn add(&mut self, word: &str, class: u64, value: u8) {
        let entry = self.entry(key_of(word));
        entry.class |= class;
        entry.value = entry.value.max(value);
    }

    fn entry(&mut self, key: Key) -> &mut Entry {
        let hash = hash(key);
        let bit = hash % MAYBE;
        self.maybe[bit / 64] |= 1 << (bit % 64);
        let mut at = hash % SLOTS;
        while self.slots[at].0 != 0 && self.slots[at].0 != key {
            at = (at + 1) % SLOTS;
        }
        self.slots[at].0 = key;
        &mut self.slots[at].1
    }
}

fn hash(key: Key) -> usize {
    let mixed = (key as u64 ^ ((key >> 64) as u64).rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_both_languages_are_found_and_others_are_not() {
        let both = Lexicon::new(&[Language::En, Language::Es]);
        assert_eq!(both.get(key_of("septiembre")).value, 9);
        assert_ne!(both.get(key_of("september")).class & class::MONTH, 0);
        assert_eq!(both.get(key_of("gallbladder")), Entry::default());
        let english = Lexicon::new(&[Language::En]);
        assert_eq!(english.get(key_of("septiembre")), Entry::default());
    }
}
