//! The traits of words that rules use, derived from the dictionary's lists.

use std::ops::BitOr;
use std::sync::Arc;

use crate::lexicon::Lexicon;
use lethe_dictionaries::{Dictionary, Entry, ListSet, Role};

/// Traits of a word, as a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traits(u32);

impl Traits {
    /// A given name.
    pub(crate) const GIVEN: Self = Self(1);
    /// A surname.
    pub(crate) const SURNAME: Self = Self(1 << 1);
    /// A city, town or county.
    pub(crate) const CITY: Self = Self(1 << 2);
    /// A state, province or region, in full.
    pub(crate) const STATE: Self = Self(1 << 3);
    /// A state's abbreviation, in its written form.
    pub(crate) const STATE_CODE: Self = Self(1 << 4);
    /// A country.
    pub(crate) const COUNTRY: Self = Self(1 << 5);
    /// An ordinary word.
    pub(crate) const WORD: Self = Self(1 << 6);
    /// A medical word, an eponym or a drug.
    pub(crate) const MEDICAL: Self = Self(1 << 7);
    /// A month or weekday.
    pub(crate) const CALENDAR: Self = Self(1 << 8);
    /// A profession.
    pub(crate) const PROFESSION: Self = Self(1 << 9);
    /// A degree or qualification, or a suffix of names, in its exact form.
    pub(crate) const CREDENTIAL: Self = Self(1 << 10);
    /// A word in institutions' names: hospital, clinic.
    pub(crate) const INSTITUTION: Self = Self(1 << 11);
    /// A title or form of address.
    pub(crate) const TITLE: Self = Self(1 << 12);
    /// A kind of street.
    pub(crate) const STREET: Self = Self(1 << 13);
    /// A nationality, language, ethnic group, department or similar: capitalised, but not a name.
    pub(crate) const OTHER: Self = Self(1 << 14);

    /// Returns whether any of `others` is among them.
    pub(crate) const fn any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// Returns both sets together. Constants cannot use `|`.
    pub(crate) const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Not looked up yet.
    pub(crate) const UNREAD: Self = Self(1 << 31);

    /// Given name or surname.
    pub(crate) const NAME: Self = Self(0b11);
    /// City, state or country.
    pub(crate) const PLACE: Self = Self(0b10_1100);
}

impl BitOr for Traits {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

/// The dictionary as rules read it. Label, role and name identify a list, so that a user's own lists count
/// too.
pub(crate) struct Vocabulary {
    pub(crate) dictionary: Arc<Dictionary>,
    /// The traits of each of the dictionary's lists.
    by_list: Vec<Traits>,
    /// The traits of each of the dictionary's sets of lists.
    by_set: Vec<Traits>,
    given: ListSet,
    surnames: ListSet,
    cities: ListSet,
    words: ListSet,
    pub(crate) lexicon: Lexicon,
}

impl Vocabulary {
    pub(crate) fn new(dictionary: &Arc<Dictionary>) -> Self {
        let lists = dictionary.lists();
        let by_list: Vec<Traits> = lists
            .iter()
            .map(|list| match (list.role, list.label.as_str(), list.id.as_str()) {
                (Role::Exception, _, id) if id.ends_with("-words") => Traits::WORD,
                (Role::Exception, ..) => Traits::MEDICAL,
                (_, _, id) if id.contains("given-names") => Traits::GIVEN,
                (_, "PATIENT" | "DOCTOR", _) => Traits::SURNAME,
                (_, "CITY", _) => Traits::CITY,
                (_, "STATE", id) if id.contains("abbreviations") || id.contains("short-forms") => {
                    Traits::STATE_CODE
                }
                (_, "STATE", _) => Traits::STATE,
                (_, "COUNTRY", _) => Traits::COUNTRY,
                (_, "PROFESSION", _) => Traits::PROFESSION,
                (_, "DATE", _) => Traits::CALENDAR,
                (_, _, id) if id.starts_with("months") || id.starts_with("weekdays") => Traits::CALENDAR,
                (_, _, id) if id.starts_with("credentials") || id.starts_with("name-suffixes") => {
                    Traits::CREDENTIAL
                }
                (_, _, id) if id.starts_with("institution-heads") => Traits::INSTITUTION,
                (_, _, id) if id.starts_with("titles") => Traits::TITLE,
                (_, _, id) if id.starts_with("street-types") => Traits::STREET,
                (_, _, id) if id.starts_with("relatives") || id.starts_with("name-particles") => {
                    Traits::default()
                }
                (Role::Cue, ..) => Traits::OTHER,
                _ => Traits::default(),
            })
            .collect();
        let numbered = |wanted: &dyn Fn(&str, &str) -> bool| {
            lists
                .iter()
                .filter(|list| !list.number.is_empty() && wanted(&list.id, &list.label))
                .map(|list| list.list)
                .collect()
        };
        Self {
            by_set: dictionary
                .list_sets()
                .map(|lists| of_lists(&by_list, lists))
                .collect(),
            by_list,
            given: numbered(&|id, _| id.contains("given-names")),
            surnames: numbered(&|id, _| id.contains("surnames")),
            cities: numbered(&|_, label| label == "CITY"),
            words: dictionary.lists_where(|list| list.role == Role::Exception && list.id.ends_with("-words")),
            lexicon: Lexicon::new(),
            dictionary: Arc::clone(dictionary),
        }
    }

    /// Returns the traits of a word.
    #[inline]
    pub(crate) fn traits(&self, entry: Entry<'_>) -> Traits {
        match entry.list_set() {
            Some(set) => self.by_set[set],
            None => of_lists(&self.by_list, entry.lists()),
        }
    }

    /// Returns the people per hundred thousand who bear it as a given name, in the lists that count.
    pub(crate) fn given(&self, entry: Entry<'_>) -> u32 {
        most(entry, self.given)
    }

    /// Returns the people per hundred thousand who bear it as a surname, in the lists that count.
    pub(crate) fn surname(&self, entry: Entry<'_>) -> u32 {
        most(entry, self.surnames)
    }

    /// Returns the inhabitants of the largest place of this name.
    pub(crate) fn inhabitants(&self, entry: Entry<'_>) -> u32 {
        most(entry, self.cities)
    }

    /// Returns whether a folded word is an ordinary word of the notes' languages.
    pub(crate) fn is_common_word(&self, word: &str) -> bool {
        self.dictionary.word(word).lists().intersects(self.words)
    }
}

/// Returns the traits of a word in these lists.
fn of_lists(by_list: &[Traits], lists: ListSet) -> Traits {
    let each = lists.iter().map(|list| by_list[list.index()]);
    each.fold(Traits::default(), |traits, of| traits | of)
}

fn most(entry: Entry<'_>, lists: ListSet) -> u32 {
    (entry.lists() & lists)
        .iter()
        .filter_map(|list| entry.frequency(list))
        .max()
        .unwrap_or(0)
}
