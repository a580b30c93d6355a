//! Cities, states, countries, hospitals, organisations, departments and professions: replaced by others of
//! the same list.
//!
//! The lists themselves determine the list for a place; the note's language decides only between lists that
//! both have it, and for a place that is in none.

mod states;
mod street;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use lethe_dictionaries::{exceptions, items};
use lethe_text::fold;

pub use self::states::STATES;
pub(crate) use self::street::Streets;
use crate::draw::{Draw, Stream};
use crate::ids::code;
use crate::real::solid;
use crate::{About, Kind, Language};
use lethe_text::Case;

const TRIES: usize = 48;

/// The kind of places in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sort {
    City,
    Region,
    Country,
    Hospital,
    Organization,
    Department,
    Profession,
}

/// One list to draw from.
struct Table {
    sort: Sort,
    /// The language of the places; `None` if the list has none.
    language: Option<Language>,
    places: Vec<Place>,
}

struct Place {
    shown: &'static str,
    folded: String,
    /// The words that distinguish it from others: not "hospital" or "general". Empty for entries that are not
    /// proper names.
    telling: Vec<String>,
}

/// A list's kind, language, least number of an entry, and name.
type Shipped = (Sort, Option<Language>, u32, &'static str);

const EN: Option<Language> = Some(Language::English);
const ES: Option<Language> = Some(Language::Spanish);

/// The index of the universities in [`SHIPPED`].
const UNIVERSITIES: usize = 11;

static SHIPPED: &[Shipped] = &[
    (Sort::City, EN, 10_000, "us-cities"),
    (Sort::City, ES, 10_000, "es-cities"),
    (Sort::City, None, 300_000, "world-cities"),
    (Sort::Region, ES, 0, "es-provinces"),
    (Sort::Region, ES, 0, "es-communities"),
    (Sort::Region, None, 0, "world-regions"),
    (Sort::Country, EN, 0, "countries-en"),
    (Sort::Country, ES, 0, "countries-es"),
    (Sort::Hospital, EN, 0, "us-hospitals"),
    (Sort::Hospital, ES, 0, "es-hospitals"),
    (Sort::Organization, None, 0, "organizations"),
    (Sort::Organization, None, 0, "universities"),
    (Sort::Organization, None, 0, "health-insurers"),
    (Sort::Department, EN, 0, "departments-en"),
    (Sort::Department, ES, 0, "departments-es"),
    (Sort::Profession, EN, 0, "professions-en"),
    (Sort::Profession, ES, 0, "professions-es"),
];

/// Surrogates of places, institutions and professions.
pub(crate) struct Places {
    tables: Vec<Table>,
    /// The tables that have a place, by the hash of its folded letters.
    members: HashMap<u64, u32>,
}

impl Places {
    /// Builds the tables from the built-in lists.
    pub(crate) fn new() -> Self {
        let mut places = Self {
            tables: Vec::with_capacity(SHIPPED.len()),
            members: HashMap::with_capacity(60_000),
        };
        for (place, shipped) in SHIPPED.iter().enumerate() {
            places.add(place, shipped);
        }
        places
    }

    fn add(&mut self, at: usize, shipped: &Shipped) {
        let &(sort, language, least, list) = shipped;
        let barred: std::collections::HashSet<&str> = exceptions(list).lines().collect();
        let mut found = vec![];
        for line in items(list).lines().filter(|line| !line.starts_with('#')) {
            let (shown, number) = line.split_once('\t').unwrap_or((line, "0"));
            let folded = fold(shown);
            *self.members.entry(hash(&folded)).or_default() |= 1 << at;
            let large = number.parse::<u32>().unwrap_or(0) >= least;
            // A single word of capitals is an abbreviation, which replaces only other abbreviations.
            let short = shown.chars().count() < 4 || Case::of(shown) == Case::Upper;
            if !large || short || barred.contains(shown) {
                continue;
            }
            // Departments and professions are words that everybody shares.
            let proper = !matches!(sort, Sort::Department | Sort::Profession);
            let telling = telling(&folded).filter(|_| proper).map(str::to_owned).collect();
            found.push(Place {
                shown,
                folded,
                telling,
            });
        }
        self.tables.push(Table {
            sort,
            language,
            places: found,
        });
    }

    /// Returns another place of the kind; `None` if the kind has no list or no other place is possible.
    pub(crate) fn surrogate(
        &self,
        kind: Kind,
        text: &str,
        about: &About<'_>,
        draw: &dyn Draw,
    ) -> Option<String> {
        let sort = match kind {
            Kind::City | Kind::LocationOther => Sort::City,
            Kind::State => Sort::Region,
            Kind::Country => Sort::Country,
            Kind::Hospital => Sort::Hospital,
            Kind::Organization => Sort::Organization,
            Kind::Department => Sort::Department,
            Kind::Profession => Sort::Profession,
            _ => return None,
        };
        // "Duluth, MN" in one span.
        if matches!(sort, Sort::City | Sort::Region) && text.contains(',') {
            let parts = text.split(',').map(|part| {
                if part.trim().is_empty() {
                    return Some(part.to_owned());
                }
                self.one(sort, part, about, draw)
            });
            return Some(parts.collect::<Option<Vec<_>>>()?.join(","));
        }
        self.one(sort, text, about, draw)
    }

    /// Replaces one place; punctuation and white space at the ends and a possessive stay.
    fn one(&self, sort: Sort, text: &str, about: &About<'_>, draw: &dyn Draw) -> Option<String> {
        let name = |c: char| c.is_alphanumeric();
        let start = text.find(name)?;
        let (front, rest) = text.split_at_checked(start)?;
        let state = matches!(sort, Sort::Region | Sort::City);
        if state && let Some(out) = states::surrogate(rest, sort == Sort::Region, draw) {
            return Some(format!("{front}{out}"));
        }
        let end = rest.rfind(name).map(|at| {
            at + rest
                .get(at..)
                .and_then(|c| c.chars().next())
                .map_or(1, char::len_utf8)
        })?;
        let (body, tail) = rest.split_at_checked(end)?;
        // "St. Mary's" is a complete name.
        let named = matches!(sort, Sort::Hospital | Sort::Organization);
        let possessive = ["'s", "\u{2019}s", "'S", "\u{2019}S"]
            .iter()
            .find_map(|s| Some((body.strip_suffix(s)?, *s)))
            .filter(|_| !named);
        let (body, s) = possessive.unwrap_or((body, ""));
        let other = self.other(sort, body, about, draw)?;
        Some(format!("{front}{other}{s}{tail}"))
    }

    fn other(&self, sort: Sort, text: &str, about: &About<'_>, draw: &dyn Draw) -> Option<String> {
        let folded = fold(text);
        let case = Case::of(text);
        let letters = folded.chars().count();
        // "MGH", "UCSF": other letters.
        let acronym = case == Case::Upper && letters <= 6 && !text.contains(' ');
        if acronym && matches!(sort, Sort::Hospital | Sort::Organization) {
            return code(text, draw);
        }
        let held = self.members.get(&hash(&folded)).copied().unwrap_or(0);
        let home = about
            .language
            .map_or(Language::English, |language| match language {
                Language::Spanish => Language::Spanish,
                _ => Language::English,
            });
        let academic = ["university", "college", "universidad", "universitat", "school"]
            .iter()
            .any(|word| folded.contains(word));
        // The first choice is a list that has it, preferably of the note's language; else a list of the
        // language.
        let rank = |(at, table): &(usize, &Table)| {
            let ours = table.language == Some(home) || table.language.is_none();
            let own = table.language == about.language;
            let holds = held >> at & 1 == 1;
            let fits = if holds {
                own || about.language.is_none()
            } else {
                ours
            };
            (!holds, !fits, academic != (*at == UNIVERSITIES), *at)
        };
        let tables = self
            .tables
            .iter()
            .enumerate()
            .filter(|(_, table)| table.sort == sort);
        let (_, table) = tables.min_by_key(rank)?;
        let own: Vec<&str> = telling(&folded).collect();
        let last = folded.chars().next_back();
        let mut stream = Stream::of(draw, &[b"place", &[sort as u8], folded.as_bytes()]);
        for attempt in 0..TRIES {
            let place = stream.pick(&table.places)?;
            // "enfermera", "carpintero": the ending shows the gender.
            let gendered =
                sort == Sort::Profession && table.language == ES && matches!(last, Some('a' | 'o'));
            if gendered && attempt < TRIES / 2 && place.folded.chars().next_back() != last {
                continue;
            }
            if !is_near(place, &folded, &own) {
                return Some(case.apply(place.shown));
            }
        }
        None
    }
}

/// Returns whether a place equals the original, or has a distinctive word of it: "South Boston" reveals
/// Boston.
fn is_near(place: &Place, original: &str, own: &[&str]) -> bool {
    place.folded == original
        || !place.telling.is_empty() && own.iter().any(|word| place.folded.contains(word))
}

/// Words of places and institutions that are not distinctive.
const COMMON: &[&str] = &[
    "and",
    "bay",
    "beach",
    "center",
    "central",
    "centre",
    "centro",
    "children",
    "childrens",
    "city",
    "ciudad",
    "clinic",
    "clinica",
    "clinico",
    "college",
    "community",
    "complejo",
    "county",
    "creek",
    "del",
    "east",
    "falls",
    "for",
    "fort",
    "general",
    "group",
    "grove",
    "health",
    "healthcare",
    "heights",
    "hills",
    "hospital",
    "hospitalario",
    "hospitals",
    "institute",
    "lake",
    "las",
    "los",
    "medical",
    "memorial",
    "mount",
    "national",
    "new",
    "norte",
    "north",
    "nuestra",
    "park",
    "point",
    "regional",
    "ridge",
    "river",
    "saint",
    "salud",
    "san",
    "santa",
    "santo",
    "school",
    "senora",
    "services",
    "south",
    "springs",
    "state",
    "sur",
    "system",
    "the",
    "united",
    "universidad",
    "universitari",
    "universitaria",
    "universitario",
    "university",
    "valley",
    "village",
    "virgen",
    "west",
];

/// Returns the words of three letters or more that distinguish a place from others.
fn telling(folded: &str) -> impl Iterator<Item = &str> {
    words(folded).filter(|word| word.len() > 2 && COMMON.binary_search(word).is_err())
}

fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// Returns a hash of the folded letters and digits, the same in every process.
fn hash(folded: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    solid(folded).hash(&mut hasher);
    hasher.finish()
}
