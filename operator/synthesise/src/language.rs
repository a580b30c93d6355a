//! A language other than English: the words, names and grammar of its institutes, all of which `language.toml` has.
//! English is older, and its words are in the code of `cast`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::chance::Chance;
use crate::institute::{InstituteError, toml_of};
use crate::pools::Sex;
use crate::registry::{LANGUAGES, LanguageFiles};

/// The greatest depth of the grammar.
const DEEPEST: usize = 8;

/// Names of the grammar that are not rules: they are drawn from lists, or are numbers.
pub(crate) const DRAWN: &[&str] = &["family", "given", "city", "state", "n", "nn"];

/// The rules that every language has: the items that are composed.
const RULES: &[&str] = &[
    "street",
    "village",
    "place",
    "hospital",
    "hospital_short",
    "clinic",
    "department",
    "room",
    "employer",
    "organization",
    "court",
    "school",
    "insurer",
];

/// `language.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Language {
    /// Its id, which the registry has.
    #[serde(skip)]
    pub(crate) id: &'static str,
    /// Words that depend on a person's sex, by the name of their slot: a woman's and a man's.
    words: BTreeMap<String, [String; 2]>,
    relations: BySex,
    specialties: All,
    degrees: Degrees,
    titles: Titles,
    names: NameParts,
    professions: BySex,
    /// The numbers from 0 in words.
    ages: Vec<String>,
    pub(crate) holidays: Vec<String>,
    /// Winter to autumn, each in one or more words.
    seasons: [Vec<String>; 4],
    /// January to December.
    months: [String; 12],
    /// Monday to Sunday, and their abbreviations.
    weekdays: [String; 7],
    weekdays_short: [String; 7],
    /// The abbreviations of months, with their full stops.
    months_short: [String; 12],
    /// Other names of months, by number from 1.
    #[serde(default)]
    months_other: BTreeMap<String, Vec<String>>,
    /// Times of day, in strftime's notation.
    pub(crate) times: Vec<String>,
    /// Domains of private addresses, and top-level domains.
    pub(crate) mail: Vec<String>,
    pub(crate) tops: Vec<String>,
    /// Rules by name, each with its alternatives.
    grammar: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BySex {
    female: Vec<String>,
    male: Vec<String>,
}

impl BySex {
    fn of(&self, sex: Sex) -> &[String] {
        match sex {
            Sex::Female => &self.female,
            Sex::Male => &self.male,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct All {
    all: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Degrees {
    doctor_female: Vec<String>,
    doctor_male: Vec<String>,
    staff_female: Vec<String>,
    staff_male: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Titles {
    /// The titles of physicians before their names, by weight.
    doctor: BTreeMap<String, f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NameParts {
    /// Particles before surnames.
    particles: Vec<String>,
}

/// A piece of an alternative.
#[derive(Debug, PartialEq)]
pub(crate) enum Part<'l> {
    /// Text with the signs of a layout.
    Layout(&'l str),
    /// One of [`DRAWN`].
    Drawn(&'static str),
    /// A rule.
    Rule(&'l str),
}

impl Language {
    /// Returns the language of the registry's entry, which is read once.
    ///
    /// # Errors
    /// [`InstituteError`] if its file is invalid; a test reads it.
    pub(crate) fn of(files: &'static LanguageFiles) -> Result<&'static Self, InstituteError> {
        if let Some(known) = files.read.get() {
            return Ok(known);
        }
        let file = format!("{}/language.toml", files.id);
        let mut read: Self = toml_of(&file)?;
        read.check()
            .map_err(|why| InstituteError::Conventions { file, why })?;
        read.id = files.id;
        Ok(files.read.get_or_init(|| read))
    }

    fn check(&self) -> Result<(), String> {
        if let Some(missing) = RULES.iter().find(|rule| !self.grammar.contains_key(**rule)) {
            return Err(format!("grammar: there is no {missing}"));
        }
        for (rule, alternatives) in &self.grammar {
            if alternatives.is_empty() {
                return Err(format!("grammar: {rule} has no alternative"));
            }
            for alternative in alternatives {
                for part in parts(alternative) {
                    if let Part::Rule(name) = part
                        && !self.grammar.contains_key(name)
                    {
                        return Err(format!(
                            "grammar: {rule} refers to {name:?}, which does not exist"
                        ));
                    }
                }
            }
        }
        if self.ages.len() < 121 {
            return Err(format!("ages: there are {} of 121", self.ages.len()));
        }
        Ok(())
    }

    /// Returns the name of a word that depends on a person's sex, as the language has it.
    pub(crate) fn word_name(&self, name: &str) -> Option<&str> {
        self.words.get_key_value(name).map(|(name, _)| name.as_str())
    }

    /// Returns a word that depends on a person's sex; `""` for an unknown name.
    pub(crate) fn word(&self, name: &str, sex: Sex) -> &str {
        self.words.get(name).map_or("", |[female, male]| match sex {
            Sex::Female => female,
            Sex::Male => male,
        })
    }

    pub(crate) fn relation(&self, sex: Sex, chance: &mut Chance) -> &str {
        chance.word(self.relations.of(sex))
    }

    pub(crate) fn profession(&self, sex: Sex, chance: &mut Chance) -> &str {
        chance.word(self.professions.of(sex))
    }

    pub(crate) fn specialty(&self, chance: &mut Chance) -> &str {
        chance.word(&self.specialties.all)
    }

    /// Returns what a person is in a hospital: "Oberärztin", "Pfleger".
    pub(crate) fn degree(&self, assists: bool, sex: Sex, chance: &mut Chance) -> &str {
        let degrees = &self.degrees;
        chance.word(match (assists, sex) {
            (false, Sex::Female) => &degrees.doctor_female,
            (false, Sex::Male) => &degrees.doctor_male,
            (true, Sex::Female) => &degrees.staff_female,
            (true, Sex::Male) => &degrees.staff_male,
        })
    }

    /// Returns a physician's title, which may be `""`.
    pub(crate) fn title(&self, chance: &mut Chance) -> &str {
        let titles: Vec<(&str, f64)> = self
            .titles
            .doctor
            .iter()
            .map(|(title, weight)| (title.as_str(), *weight))
            .collect();
        chance.weighted(&titles, "")
    }

    pub(crate) fn particle(&self, chance: &mut Chance) -> &str {
        chance.word(&self.names.particles)
    }

    /// Returns a number in words; `""` for one that the language does not list.
    pub(crate) fn in_words(&self, number: i64) -> &str {
        let listed = usize::try_from(number)
            .ok()
            .and_then(|place| self.ages.get(place));
        listed.map_or("", String::as_str)
    }

    /// Returns the season of a month, from 1.
    pub(crate) fn season(&self, month: i8, chance: &mut Chance) -> &str {
        let [winter, spring, summer, autumn] = &self.seasons;
        chance.word(match month {
            12 | 1 | 2 => winter,
            3..=5 => spring,
            6..=8 => summer,
            _ => autumn,
        })
    }

    /// Returns the name of a month, from 1, now and then one of its others.
    pub(crate) fn month(&self, month: i8, chance: &mut Chance) -> &str {
        match self.months_other.get(&month.to_string()) {
            Some(others) if chance.often(0.2) => chance.word(others),
            _ => {
                let place = usize::try_from(month - 1).unwrap_or_default();
                self.months.get(place).map_or("", String::as_str)
            }
        }
    }

    /// Returns the name of a weekday, from 0 for Monday.
    pub(crate) fn weekday(&self, day: i8) -> &str {
        let place = usize::try_from(day).unwrap_or_default();
        self.weekdays.get(place).map_or("", String::as_str)
    }

    /// Returns the abbreviation of a weekday, from 0 for Monday.
    pub(crate) fn weekday_short(&self, day: i8) -> &str {
        let place = usize::try_from(day).unwrap_or_default();
        self.weekdays_short.get(place).map_or("", String::as_str)
    }

    /// Returns the abbreviation of a month, from 1, with or without its full stop.
    pub(crate) fn month_short(&self, month: i8, chance: &mut Chance) -> &str {
        let place = usize::try_from(month - 1).unwrap_or_default();
        let short = self.months_short.get(place).map_or("", String::as_str);
        if chance.often(0.7) {
            short
        } else {
            short.trim_end_matches('.')
        }
    }

    /// Returns an alternative of a rule, in its parts; nothing at a depth that only a rule which needs itself reaches.
    pub(crate) fn rule(&self, name: &str, depth: usize, chance: &mut Chance) -> Vec<Part<'_>> {
        let alternatives = self.grammar.get(name).filter(|_| depth < DEEPEST);
        alternatives.map_or_else(Vec::new, |alternatives| parts(chance.word(alternatives)))
    }
}

/// Splits an alternative into its parts.
fn parts(alternative: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = alternative;
    while let Some((before, tail)) = rest.split_once('{') {
        let (name, after) = tail.split_once('}').unwrap_or((tail, ""));
        if !before.is_empty() {
            parts.push(Part::Layout(before));
        }
        let drawn = DRAWN.iter().find(|drawn| **drawn == name);
        parts.push(drawn.map_or(Part::Rule(name), |drawn| Part::Drawn(drawn)));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Layout(rest));
    }
    parts
}

/// Returns the ids of all languages, English first.
pub fn languages() -> impl Iterator<Item = &'static str> {
    std::iter::once(ENGLISH).chain(LANGUAGES.iter().map(|files| files.id))
}

/// The id of English.
pub(crate) const ENGLISH: &str = "en";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alternative_has_text_lists_and_rules() {
        assert_eq!(
            parts("Haus {nature} ##, {city}"),
            [
                Part::Layout("Haus "),
                Part::Rule("nature"),
                Part::Layout(" ##, "),
                Part::Drawn("city"),
            ]
        );
    }

    #[test]
    fn every_language_can_be_read_and_every_rule_ends() {
        let mut chance = Chance::new(1, 1);
        for files in &LANGUAGES {
            let language = Language::of(files).unwrap();
            for rule in language.grammar.keys() {
                for _ in 0..200 {
                    let mut open = vec![(rule.as_str(), 0)];
                    while let Some((name, depth)) = open.pop() {
                        assert!(depth < DEEPEST, "{}: {rule}", files.id);
                        for part in language.rule(name, depth, &mut chance) {
                            if let Part::Rule(name) = part {
                                open.push((name, depth + 1));
                            }
                        }
                    }
                }
            }
        }
    }
}
