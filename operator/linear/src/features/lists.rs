//! The roles of the dictionary's lists in features: groups of lists with the same meaning in any language.

use std::collections::BTreeMap;

use lethe_dictionaries::{Dictionary, Entry, ListInfo, ListSet, Role};

use super::hash::{feature, of_bytes, pair};

/// One group of lists.
struct Group {
    /// The hash of its name, so that features do not depend on the order of the lists.
    name: u64,
    lists: ListSet,
}

/// The groups of a dictionary's lists. At most 64; further lists are left out.
pub(super) struct Groups {
    groups: Vec<Group>,
    /// The bit of each list's group.
    by_list: Vec<u64>,
    numbered: ListSet,
    /// Lists whose entries of several words are looked for.
    pub(super) phrases: ListSet,
    /// Lists of words that announce the next words: "hermano", "calle", "hospital", "Dr".
    cues: ListSet,
}

/// The suffixes of list names for languages and countries.
const ENDS: [&str; 4] = ["-en", "-es", "-de", "-fr"];
const STARTS: [&str; 5] = ["us-", "es-", "world-", "de-", "fr-"];
/// The prefixes of the names of cue lists.
const CUES: [&str; 5] = [
    "relatives",
    "titles",
    "institution-heads",
    "street-types",
    "departments",
];

impl Groups {
    pub(super) fn new(dictionary: &Dictionary) -> Self {
        let mut by_name: BTreeMap<String, ListSet> = BTreeMap::new();
        for list in dictionary.lists() {
            let set = by_name.entry(name_of(list)).or_default();
            *set = *set | list.list.into();
        }
        let groups: Vec<Group> = by_name
            .into_iter()
            .take(64)
            .map(|(name, lists)| Group {
                name: of_bytes(name.as_bytes()),
                lists,
            })
            .collect();
        let bit = |list: &ListInfo| {
            let place = groups.iter().position(|group| group.lists.contains(list.list));
            place.map_or(0, |place| 1 << place)
        };
        Self {
            by_list: dictionary.lists().iter().map(bit).collect(),
            numbered: dictionary.lists_where(|list| !list.number.is_empty()),
            phrases: dictionary.lists_where(|list| !list.id.ends_with("-words")),
            cues: dictionary.lists_where(|list| CUES.iter().any(|cue| list.id.starts_with(cue))),
            groups,
        }
    }

    /// Returns whether an entry announces the next words.
    pub(super) fn is_cue(&self, entry: Entry<'_>) -> bool {
        entry.lists().intersects(self.cues)
    }

    /// Returns the groups of an entry, as bits.
    pub(super) fn of(&self, entry: Entry<'_>) -> u64 {
        entry
            .lists()
            .iter()
            .fold(0, |bits, list| bits | self.by_list[list.index()])
    }

    /// Returns the hashed names of these groups.
    pub(super) fn names(&self, bits: u64) -> impl Iterator<Item = u64> {
        self.groups
            .iter()
            .enumerate()
            .filter(move |(place, _)| bits >> place & 1 == 1)
            .map(|(_, group)| group.name)
    }

    /// Returns the groups' names as one number, independent of their order.
    pub(super) fn all(&self, bits: u64) -> u64 {
        self.names(bits).fold(0, pair)
    }

    /// Writes the frequency of an entry in each of its lists with counts, by powers of two, with the list's
    /// group.
    pub(super) fn frequencies(&self, entry: Entry<'_>, template: u64, out: &mut Vec<u64>) {
        for list in (entry.lists() & self.numbered).iter() {
            let name = self.names(self.by_list[list.index()]).next();
            if let (Some(name), Some(number)) = (name, entry.frequency(list)) {
                out.push(feature(template, pair(name, u64::from(number.max(1).ilog2()))));
            }
        }
    }
}

/// Returns a group's name: for PHI lists by what they suggest, separately for given names and surnames; for
/// others by name without language or country.
fn name_of(list: &ListInfo) -> String {
    if list.role == Role::Phi && !list.label.is_empty() {
        let part = ["given-names", "surnames", "insurers", "universities"];
        let part = part.iter().find(|part| list.id.contains(**part));
        return part.map_or_else(|| list.label.clone(), |part| format!("{} {part}", list.label));
    }
    let mut id = list.id.as_str();
    for start in STARTS {
        id = id.strip_prefix(start).unwrap_or(id);
    }
    for end in ENDS {
        id = id.strip_suffix(end).unwrap_or(id);
    }
    match id {
        "english-words" | "spanish-words" | "german-words" | "french-words" => "words".to_owned(),
        id => id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_two_languages_or_countries_are_one_group() {
        let dictionary = Dictionary::builtin();
        let groups = Groups::new(&dictionary);
        let of = |word: &str| groups.of(dictionary.word(word));
        let name = |text: &str| of_bytes(text.as_bytes());
        let names = |word: &str| -> Vec<u64> { groups.names(of(word)).collect() };
        assert!(names("monday").contains(&name("weekdays")));
        assert!(names("lunes").contains(&name("weekdays")));
        assert!(names("Madrid").contains(&name("CITY")));
        assert!(names("Lucía").contains(&name("PATIENT given-names")));
        assert!(names("qqqq").is_empty());
        assert_eq!(groups.all(0), 0);
    }
}
