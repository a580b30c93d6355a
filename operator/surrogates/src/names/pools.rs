//! Names to draw from, by their class in the lists: given or family name, gender, culture, and first letter.
//!
//! A name's class follows from the lists alone, never from its position: "Scott" is in the class of names
//! that are both given and family names, and gets another such name, so that "Mr Scott" and "Scott Hale" can
//! occur in one note.

use std::collections::{HashMap, HashSet};

use lethe_dictionaries::{Dictionary, ListId, ListSet, UnknownList, items};
use lethe_text::fold;

/// The first letters of surrogates: each class of the built-in lists has names for every one of them.
pub(super) const LETTERS: &[u8; 19] = b"abcdefghijlmnoprstv";

/// The culture of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Culture {
    English,
    Spanish,
    /// A given name that is common in both cultures: David, Laura.
    Both,
    World,
}

/// The role of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    Given(Gender),
    Family,
    /// Both a given and a family name: Scott, Kelly.
    Either(Gender),
}

/// The gender of a given name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Gender {
    Female,
    Male,
    Any,
}

/// The class of a name in the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Class {
    pub(super) culture: Culture,
    pub(super) role: Role,
}

/// A name that can be drawn.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// The name as the list writes it.
    pub(super) shown: String,
    pub(super) folded: String,
}

/// All names, and the data for classifying others.
pub(super) struct Pools {
    buckets: HashMap<(Class, u8), Vec<Name>>,
    /// The given names with a nickname.
    nicknamed: HashMap<(Class, u8), Vec<Name>>,
    /// Folded names that have an accent.
    accented: HashSet<String>,
    lists: Lists,
}

struct Lists {
    us_female: ListId,
    us_male: ListId,
    us_family: ListId,
    es_female: ListId,
    es_male: ListId,
    es_family: ListId,
    world_given: ListId,
    world_family: ListId,
    names: ListSet,
    /// Names that are also diseases, drugs or countries, which a surrogate must not look like.
    barred: ListSet,
}

/// The most names of a bucket, the most common ones.
const BUCKET: usize = 200;

/// The least frequency per 100,000 for drawing a name of the US lists.
const COMMON: u32 = 2;

/// The number of US lists, which come first in [`LISTS`].
const US_LISTS: usize = 3;

/// The assumed frequency per 100,000 of a name in a list without numbers.
const UNKNOWN: u32 = 20;

static LISTS: [&str; 8] = [
    "us-given-names-female",
    "us-given-names-male",
    "us-surnames",
    "es-given-names-female",
    "es-given-names-male",
    "es-surnames",
    "world-given-names",
    "world-surnames",
];

impl Pools {
    /// # Errors
    /// [`UnknownList`] if the dictionary lacks one of the lists of names.
    pub(super) fn new(
        dictionary: &Dictionary,
        has_nickname: impl Fn(&str) -> bool,
    ) -> Result<Self, UnknownList> {
        let lists = Lists::new(dictionary)?;
        let mut pools = Self {
            buckets: HashMap::new(),
            nicknamed: HashMap::new(),
            accented: HashSet::new(),
            lists,
        };
        let mut best: HashMap<String, (String, u32)> = HashMap::new();
        for (place, list) in LISTS.into_iter().enumerate() {
            for line in items(list).lines().filter(|line| !line.starts_with('#')) {
                let (name, number) = line.split_once('\t').unwrap_or((line, "1"));
                let number: u32 = number.parse().unwrap_or(0);
                // Rare names, which are most of the US lists, are never drawn.
                if place < US_LISTS && number < COMMON {
                    continue;
                }
                let letters = name.chars().count();
                if !name.chars().all(char::is_alphabetic) || !(3..=11).contains(&letters) {
                    continue;
                }
                let folded = fold(name);
                if folded.len() < name.len() {
                    pools.accented.insert(folded.clone());
                }
                let kept = best.entry(folded).or_insert_with(|| (name.to_owned(), number));
                // Of two spellings the one with an accent is right.
                if name.len() > kept.0.len() {
                    name.clone_into(&mut kept.0);
                }
                kept.1 = kept.1.max(number);
            }
        }
        let mut found: Vec<(Class, u32, Name)> = vec![];
        for (folded, (shown, number)) in best {
            let Some(class) = pools.drawable(dictionary, &folded, number) else {
                continue;
            };
            let shown = capitals(&shown);
            found.push((class, number, Name { shown, folded }));
        }
        // The most common come first, then alphabetical order, so that the same lists always give the same
        // buckets.
        found.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.2.folded.cmp(&b.2.folded)));
        for (class, _, name) in found {
            let Some(&letter) = name.folded.as_bytes().first() else {
                continue;
            };
            let bucket = pools.buckets.entry((class, letter)).or_default();
            if bucket.len() < BUCKET {
                if has_nickname(&name.folded) {
                    pools
                        .nicknamed
                        .entry((class, letter))
                        .or_default()
                        .push(name.clone());
                }
                bucket.push(name);
            }
        }
        Ok(pools)
    }

    /// Returns the class of a name that may be drawn; `None` for rare names, ordinary words, diseases and
    /// drugs.
    fn drawable(&self, dictionary: &Dictionary, folded: &str, number: u32) -> Option<Class> {
        if !folded.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return None;
        }
        let class = self.class(dictionary, folded)?;
        let entry = dictionary.word(folded);
        let rare = class.culture == Culture::English && number < COMMON;
        let names = entry.lists() & self.lists.names;
        let ordinary = entry.exceptions().intersects(names);
        (!rare && !ordinary && !entry.lists().intersects(self.lists.barred)).then_some(class)
    }

    /// Returns the class of a folded name; `None` if the lists do not have it.
    pub(super) fn class(&self, dictionary: &Dictionary, folded: &str) -> Option<Class> {
        let lists = &self.lists;
        let entry = dictionary.word(folded).within(lists.names);
        if entry.is_none() {
            return None;
        }
        let held = |list: ListId, unknown: u32| {
            entry.lists().contains(list).then(|| match entry.frequency(list) {
                None | Some(0) => unknown,
                Some(number) => number,
            })
        };
        let certain = |list| entry.frequency(list).is_some_and(|number| number > 0);
        let (us_f, us_m, us_s) = (
            held(lists.us_female, 1),
            held(lists.us_male, 1),
            held(lists.us_family, 1),
        );
        let es_f = held(lists.es_female, UNKNOWN);
        let es_m = held(lists.es_male, UNKNOWN);
        let es_s = held(lists.es_family, UNKNOWN);
        let (us_g, es_g) = (us_f.max(us_m), es_f.max(es_m));
        let gender = {
            let female = us_f.unwrap_or(0).max(es_f.unwrap_or(0));
            let male = us_m.unwrap_or(0).max(es_m.unwrap_or(0));
            if female >= 4 * male {
                Gender::Female
            } else if male >= 4 * female {
                Gender::Male
            } else {
                Gender::Any
            }
        };
        let (given, family) = (us_g.max(es_g), us_s.max(es_s));
        let role = match (given, family) {
            (None, None) => {
                let family = entry.lists().contains(lists.world_family);
                let role = if family {
                    Role::Family
                } else {
                    Role::Given(Gender::Any)
                };
                return Some(Class {
                    culture: Culture::World,
                    role,
                });
            }
            (Some(_), None) => Role::Given(gender),
            (None, Some(_)) => Role::Family,
            (Some(given), Some(family)) if given >= 8 * family => Role::Given(gender),
            (Some(given), Some(family)) if family >= 8 * given => Role::Family,
            _ => Role::Either(gender),
        };
        let culture = if role == Role::Family || matches!(role, Role::Either(_)) && es_g.is_none() {
            let certain = certain(lists.es_family);
            match (us_s, es_s) {
                (Some(us), Some(es)) if certain && us * 5 >= es => Culture::English,
                (_, Some(_)) => Culture::Spanish,
                _ => Culture::English,
            }
        } else {
            let certain = certain(lists.es_female) || certain(lists.es_male);
            match (us_g, es_g) {
                (Some(us), Some(es)) if certain && us * 3 >= es => Culture::Both,
                (Some(us), Some(_)) if !certain && us >= 30 => Culture::English,
                (_, Some(_)) => Culture::Spanish,
                _ => Culture::English,
            }
        };
        // Names that are both given and family names and common in both cultures are too few to draw from.
        let both = culture == Culture::Both && matches!(role, Role::Either(_));
        let culture = if both { Culture::English } else { culture };
        Some(Class { culture, role })
    }

    /// Returns the names of a class with a first letter, then those of wider classes, for when all of the
    /// first are used. For a name with a nickname, names with a nickname come first.
    pub(super) fn names(&self, class: Class, letter: u8, nicknamed: bool) -> impl Iterator<Item = &[Name]> {
        const FEW: usize = 4;
        let short = self
            .nicknamed
            .get(&(class, letter))
            .filter(|names| nicknamed && names.len() > 1);
        let Class { culture, role } = class;
        let home = if culture == Culture::Spanish {
            Culture::Spanish
        } else {
            Culture::English
        };
        let gender = match role {
            Role::Given(gender) | Role::Either(gender) => gender,
            Role::Family => Gender::Any,
        };
        let wider = match (role, gender) {
            (Role::Family, _) => Role::Family,
            (_, Gender::Female) => Role::Given(Gender::Female),
            _ => Role::Given(Gender::Male),
        };
        let of = |culture, role| Class { culture, role };
        let classes = [
            class,
            of(culture, Role::Given(gender)),
            of(culture, wider),
            of(home, wider),
            of(Culture::English, wider),
            of(Culture::English, Role::Family),
        ];
        let start = usize::from(role == Role::Family);
        let steps = classes.into_iter().enumerate();
        let rest = steps.filter_map(move |(step, class)| {
            // A family name never becomes a given name.
            if step == 1 && start == 1 {
                return None;
            }
            let bucket = self.buckets.get(&(class, letter))?;
            (bucket.len() >= FEW).then_some(bucket.as_slice())
        });
        short.map(Vec::as_slice).into_iter().chain(rest)
    }

    /// Returns whether the lists have the folded name with an accent.
    pub(super) fn is_accented(&self, folded: &str) -> bool {
        self.accented.contains(folded)
    }
}

impl Lists {
    fn new(dictionary: &Dictionary) -> Result<Self, UnknownList> {
        let lists = Self {
            us_female: dictionary.list("us-given-names-female")?,
            us_male: dictionary.list("us-given-names-male")?,
            us_family: dictionary.list("us-surnames")?,
            es_female: dictionary.list("es-given-names-female")?,
            es_male: dictionary.list("es-given-names-male")?,
            es_family: dictionary.list("es-surnames")?,
            world_given: dictionary.list("world-given-names")?,
            world_family: dictionary.list("world-surnames")?,
            names: ListSet::EMPTY,
            barred: dictionary.set([
                "eponyms",
                "drugs",
                "clinical-words-en",
                "clinical-words-es",
                "countries-en",
                "countries-es",
                "us-states",
            ])?,
        };
        let names = [
            lists.us_female,
            lists.us_male,
            lists.us_family,
            lists.es_female,
            lists.es_male,
            lists.es_family,
            lists.world_given,
            lists.world_family,
        ];
        Ok(Self {
            names: names.into_iter().collect(),
            ..lists
        })
    }
}

/// Returns "Mcdonald" with its inner capital: "McDonald".
fn capitals(name: &str) -> String {
    match name.strip_prefix("Mc") {
        Some(rest) if rest.chars().count() > 2 => {
            let mut out = "Mc".to_owned();
            lethe_text::Case::Title.write(rest, &mut out);
            out
        }
        _ => lethe_text::Case::Title.apply(name),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static POOLS: LazyLock<Pools> = LazyLock::new(|| Pools::new(&Dictionary::builtin(), |_| false).unwrap());

    #[test]
    fn a_name_is_classed_by_what_the_lists_say() {
        let dictionary = Dictionary::builtin();
        let pools = &*POOLS;
        for (name, culture, role) in [
            ("john", Culture::English, Role::Given(Gender::Male)),
            ("mary", Culture::English, Role::Given(Gender::Female)),
            ("smith", Culture::English, Role::Family),
            ("kelly", Culture::English, Role::Either(Gender::Female)),
            ("garcia", Culture::Spanish, Role::Family),
            ("jose", Culture::Spanish, Role::Given(Gender::Male)),
            ("david", Culture::Both, Role::Given(Gender::Male)),
            ("laura", Culture::Both, Role::Given(Gender::Female)),
        ] {
            assert_eq!(
                pools.class(&dictionary, name),
                Some(Class { culture, role }),
                "{name}"
            );
        }
        assert_eq!(pools.class(&dictionary, "xqzrtv"), None);
    }

    #[test]
    fn every_class_has_names_for_every_letter_in_the_end() {
        let pools = &*POOLS;
        for culture in [Culture::English, Culture::Spanish, Culture::Both, Culture::World] {
            for role in [
                Role::Given(Gender::Female),
                Role::Given(Gender::Male),
                Role::Given(Gender::Any),
                Role::Family,
                Role::Either(Gender::Any),
            ] {
                for &letter in LETTERS {
                    let all: usize = pools
                        .names(Class { culture, role }, letter, false)
                        .map(<[Name]>::len)
                        .sum();
                    assert!(all >= 12, "{culture:?} {role:?} {}: {all}", char::from(letter));
                }
            }
        }
    }

    #[test]
    fn no_disease_and_no_drug_is_drawn() {
        let pools = &*POOLS;
        let drawn = |name: &str| pools.buckets.values().flatten().any(|drawn| drawn.folded == name);
        assert!(drawn("baker") || drawn("moore"));
        assert!(!drawn("parkinson") && !drawn("crohn") && !drawn("hodgkin"));
    }
}
