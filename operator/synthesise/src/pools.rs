//! The lists of names and places, split between institutes: each entry belongs to one of them.

mod invented;
mod shapes;

use std::collections::HashSet;

use lethe_dictionaries::{exceptions, items};
use lethe_text::fold;

use self::invented::Inventor;
use self::shapes::Telling;
use crate::chance::Chance;
use crate::language::Language;

/// The sex of a given name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sex {
    Female,
    Male,
}

/// The origins of names, with their frequencies.
const ORIGINS: [(usize, f64); 3] = [(US, 0.6), (SPANISH, 0.14), (WORLD, 0.26)];
const US: usize = 0;
const SPANISH: usize = 1;
const WORLD: usize = 2;

/// The share of names that are in no list, of names that are also ordinary words, and of names drawn
/// regardless of frequency.
const INVENTED: f64 = 0.22;
const ORDINARY: f64 = 0.07;
const EVEN: f64 = 0.4;
/// The share of surnames of two meaningful words.
const TELLING: f64 = 0.012;

/// Entries with cumulative weights.
#[derive(Default)]
pub(crate) struct Pool {
    entries: Vec<&'static str>,
    sums: Vec<f64>,
}

impl Pool {
    fn push(&mut self, entry: &'static str, weight: f64) {
        let before = self.sums.last().copied().unwrap_or(0.0);
        self.entries.push(entry);
        self.sums.push(before + weight);
    }

    /// Returns one entry, by weight.
    fn common(&self, chance: &mut Chance) -> &'static str {
        let at = chance.unit() * self.sums.last().copied().unwrap_or(0.0);
        let place = self.sums.partition_point(|&sum| sum <= at);
        self.entries
            .get(place)
            .or(self.entries.last())
            .copied()
            .unwrap_or_default()
    }

    /// Returns one entry, each with equal probability.
    pub(crate) fn any(&self, chance: &mut Chance) -> &'static str {
        chance.pick(&self.entries).copied().unwrap_or_default()
    }
}

/// Names of one kind: from the lists of each origin, those that are also words, and invented ones in their
/// style.
#[derive(Default)]
struct Names {
    by_origin: [Pool; 3],
    ordinary: Pool,
    inventor: Inventor,
}

/// The entries of an institute; those that its language composes are empty.
#[derive(Default)]
pub(crate) struct Pools {
    /// `None` for English.
    language: Option<&'static Language>,
    female: Names,
    male: Names,
    family: Names,
    telling: Telling,
    pub(crate) cities: Pool,
    pub(crate) world_cities: Pool,
    pub(crate) counties: Pool,
    pub(crate) regions: Pool,
    pub(crate) countries: Pool,
    pub(crate) demonyms: Pool,
    pub(crate) hospitals: Pool,
    pub(crate) organizations: Pool,
    pub(crate) universities: Pool,
    pub(crate) insurers: Pool,
    pub(crate) professions: Pool,
    pub(crate) holidays: Pool,
    /// Shared by all institutes.
    pub(crate) institution_heads: Pool,
    pub(crate) street_types: Pool,
}

impl Pools {
    /// Creates the pools of institute `place` of `of` that write a language, `None` for English.
    pub(crate) fn new(language: Option<&'static Language>, place: usize, of: usize) -> Self {
        match language {
            None => Self::english(place, of),
            Some(language) => Self::of_language(language, place, of),
        }
    }

    /// Creates the pools of a language from its lists. Two names of three are of its own.
    fn of_language(language: &'static Language, place: usize, of: usize) -> Self {
        let id = language.id;
        let list = |what: &str| items(&format!("{id}-{what}"));
        let ordinary = |what: &str| exceptions(&format!("{id}-{what}"));
        let own = |what: &str| items(&format!("{what}-{id}"));
        let dealt = |text: &'static str| dealt(text, place, of);
        let known = known_names();
        let names = |what: &str, world: &'static str| {
            let by_origin = [dealt(list(what)), dealt(list(what)), dealt(world)];
            let mut words = Pool::default();
            for (entry, _) in entries(ordinary(what)).filter(|(entry, _)| whose(entry, of) == place) {
                words.push(entry, 1.0);
            }
            let inventor = Inventor::new(by_origin.iter().map(|pool| pool.entries.as_slice()), &known);
            Names {
                by_origin,
                ordinary: words,
                inventor,
            }
        };
        Self {
            language: Some(language),
            female: names("given-names-female", items("world-given-names")),
            male: names("given-names-male", items("world-given-names")),
            family: names("surnames", items("world-surnames")),
            telling: Telling::default(),
            cities: dealt(list("cities")),
            world_cities: dealt(items("world-cities")),
            regions: whole(list("states")),
            countries: whole(own("countries")),
            demonyms: whole(own("demonyms")),
            ..Self::default()
        }
    }

    fn english(place: usize, of: usize) -> Self {
        let all = known_names();
        let dealt = |text: &'static str| dealt(text, place, of);
        let names = |us, spanish: &'static str, world, exceptions: [&'static str; 2]| {
            let by_origin = [dealt(us), dealt(spanish), dealt(world)];
            let mut ordinary = Pool::default();
            for text in exceptions {
                for (entry, _) in entries(text).filter(|(entry, _)| whose(entry, of) == place) {
                    ordinary.push(entry, 1.0);
                }
            }
            let inventor = Inventor::new(by_origin.iter().map(|pool| pool.entries.as_slice()), &all);
            Names {
                by_origin,
                ordinary,
                inventor,
            }
        };
        Self {
            language: None,
            female: names(
                items("us-given-names-female"),
                items("es-given-names-female"),
                items("world-given-names"),
                [
                    exceptions("us-given-names-female"),
                    exceptions("world-given-names"),
                ],
            ),
            male: names(
                items("us-given-names-male"),
                items("es-given-names-male"),
                items("world-given-names"),
                [exceptions("us-given-names-male"), exceptions("world-given-names")],
            ),
            family: names(
                items("us-surnames"),
                items("es-surnames"),
                items("world-surnames"),
                [exceptions("us-surnames"), exceptions("world-surnames")],
            ),
            telling: Telling::new(place, of),
            cities: dealt(items("us-cities")),
            world_cities: dealt(items("world-cities")),
            counties: dealt(items("us-counties")),
            regions: dealt(items("world-regions")),
            countries: whole(items("countries-en")),
            demonyms: whole(items("demonyms-en")),
            hospitals: dealt(items("us-hospitals")),
            organizations: dealt(items("organizations")),
            universities: dealt(items("universities")),
            insurers: whole(items("health-insurers")),
            professions: dealt(items("professions-en")),
            holidays: whole(items("holidays-en")),
            institution_heads: whole(items("institution-heads-en")),
            street_types: whole(items("street-types-en")),
        }
    }

    /// Draws the origin of a person's names.
    pub(crate) fn origin(chance: &mut Chance) -> usize {
        chance.weighted(&ORIGINS, US)
    }

    /// Returns a given name.
    pub(crate) fn given(&self, sex: Sex, origin: usize, chance: &mut Chance) -> String {
        let names = match sex {
            Sex::Female => &self.female,
            Sex::Male => &self.male,
        };
        names.draw(origin, chance)
    }

    /// Returns a surname of one part.
    pub(crate) fn surname(&self, origin: usize, chance: &mut Chance) -> String {
        self.family.draw(origin, chance)
    }

    /// Returns a surname, sometimes of two parts.
    pub(crate) fn family(&self, origin: usize, chance: &mut Chance) -> String {
        if let Some(name) = chance.often(TELLING).then(|| self.telling.name(chance)).flatten() {
            return name;
        }
        let one = self.surname(origin, chance);
        let of_two = match (self.language, origin) {
            (Some(_), _) => 0.07,
            (None, SPANISH) => 0.3,
            _ => 0.04,
        };
        if chance.often(of_two) {
            let other = self.family.draw(origin, chance);
            let between = if chance.often(0.6) { "-" } else { " " };
            return format!("{one}{between}{other}");
        }
        if chance.often(0.02) {
            if let Some(language) = self.language {
                return format!("{}{one}", language.particle(chance));
            }
            let particle = chance.word(&[
                "de la ", "van ", "von ", "De ", "Van der ", "al-", "Mac", "O'", "St. ", "D'", "Le ", "Di ",
            ]);
            return format!("{particle}{one}");
        }
        one
    }
}

impl Names {
    fn draw(&self, origin: usize, chance: &mut Chance) -> String {
        let drawn = chance.unit();
        if drawn < INVENTED {
            return shapes::shaped(self.inventor.name(chance), chance);
        }
        if drawn < INVENTED + ORDINARY && !self.ordinary.entries.is_empty() {
            return self.ordinary.any(chance).to_owned();
        }
        let Some(pool) = self.by_origin.get(origin) else {
            return String::new();
        };
        let name = if chance.often(EVEN) {
            pool.any(chance)
        } else {
            pool.common(chance)
        };
        name.to_owned()
    }
}

/// Returns the entries of a list with their numbers.
fn entries(text: &'static str) -> impl Iterator<Item = (&'static str, Option<f64>)> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| match line.split_once('\t') {
            Some((entry, number)) => (entry, number.parse().ok()),
            None => (line, None),
        })
}

/// Returns which institute of `of` has an entry: FNV-1a over its folded form, so that spellings of one name
/// stay together.
fn whose(entry: &str, of: usize) -> usize {
    let hash = fold(entry).bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    usize::try_from((hash >> 20) % of.max(1) as u64).unwrap_or(0)
}

fn dealt(text: &'static str, place: usize, of: usize) -> Pool {
    pool(entries(text).filter(|(entry, _)| whose(entry, of) == place))
}

fn whole(text: &'static str) -> Pool {
    pool(entries(text))
}

fn pool(entries: impl Iterator<Item = (&'static str, Option<f64>)>) -> Pool {
    let mut pool = Pool::default();
    for (entry, number) in entries {
        // The root of a frequency: common names stay common, and rare ones also occur.
        pool.push(entry, number.map_or(1.0, |number: f64| (number + 0.2).sqrt()));
    }
    pool
}

/// Returns dictionary entries that identify nobody, by the slot that they fill.
pub(crate) fn listed() -> [(&'static str, Vec<String>); 5] {
    let of = |list| -> Vec<String> { entries(list).map(|(entry, _)| entry.to_owned()).collect() };
    let (drugs, devices) = (of(items("drugs")), of(items("device-names")));
    // An eponym precedes the noun that it names.
    let eponyms = entries(items("eponyms")).zip(EPONYM_NOUNS.iter().cycle());
    let eponyms = eponyms.map(|((entry, _), noun)| format!("{entry}{noun}"));
    [
        ("drug", drugs.clone()),
        ("eponym", eponyms.chain(devices.iter().cloned()).collect()),
        // Entries without a noun.
        ("drug.name", drugs),
        ("device.name", devices),
        ("eponym.name", of(items("eponyms"))),
    ]
}

/// The nouns after eponyms.
const EPONYM_NOUNS: &[&str] = &[
    " disease",
    "'s sign",
    " syndrome",
    "'s disease",
    " procedure",
    " test",
    " clamp",
    "'s test",
    " retractor",
    " classification",
    " fracture",
    " score",
    " incision",
    " reflex",
    " repair",
    "'s syndrome",
    " forceps",
    " criteria",
    " catheter",
    " sign",
    " scale",
    " stain",
    " technique",
    " cells",
    " position",
];

/// Returns every name in the lists, folded.
fn known_names() -> HashSet<String> {
    [
        items("us-given-names-female"),
        items("us-given-names-male"),
        items("us-surnames"),
        items("es-given-names-female"),
        items("es-given-names-male"),
        items("es-surnames"),
        items("world-given-names"),
        items("world-surnames"),
        items("english-words"),
    ]
    .into_iter()
    .flat_map(entries)
    .map(|(entry, _)| fold(entry))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_belongs_to_one_institute_whatever_its_spelling() {
        for place in 0..5 {
            let pools = Pools::new(None, place, 5);
            for pool in [
                &pools.cities,
                &pools.family.by_origin[US],
                &pools.female.by_origin[WORLD],
            ] {
                assert!(pool.entries.len() > 1000, "{}", pool.entries.len());
                assert!(pool.entries.iter().all(|entry| whose(entry, 5) == place));
            }
        }
        assert_eq!(whose("José", 5), whose("JOSE", 5));
    }

    #[test]
    fn rare_names_come_up_and_common_ones_more_often() {
        let mut chance = Chance::new(1, 0);
        let pool = dealt(items("us-surnames"), 0, 1);
        let drawn: Vec<&str> = (0..20_000).map(|_| pool.common(&mut chance)).collect();
        let smith = drawn.iter().filter(|name| **name == "Smith").count();
        let distinct: HashSet<_> = drawn.iter().collect();
        let rarest = drawn.iter().filter(|name| **name == "Aaberg").count();
        assert!(smith > rarest, "{smith}");
        assert!(distinct.len() > 10_000, "{}", distinct.len());
    }
}
