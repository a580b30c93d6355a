//! Places and institutions of a language other than English, composed by its grammar.

use super::Cast;
use crate::language::{Language, Part};
use crate::pools::{Pools, Sex};
use crate::slot::Item;

/// The share of institutions and streets that have the name of the document's own town, of those with a town in their name.
const HERE: f64 = 0.5;
/// The share of towns that the grammar composes.
const VILLAGES: f64 = 0.2;

impl Cast<'_> {
    /// Returns a place or an institution.
    pub(super) fn composed(&mut self, item: Item, language: &'static Language) -> String {
        let rule = match item {
            Item::City | Item::City2 => return self.town(language),
            Item::State | Item::State2 | Item::StateAbbr | Item::State2Abbr => {
                return self.institute.pools.regions.any(&mut self.chance).to_owned();
            }
            Item::Country => return self.institute.pools.countries.any(&mut self.chance).to_owned(),
            Item::Street => "street",
            Item::Place => "place",
            Item::Hospital | Item::Hospital2 | Item::Hospital3 => "hospital",
            Item::HospitalShort | Item::Hospital2Short | Item::Hospital3Short => "hospital_short",
            Item::Clinic => "clinic",
            Item::Department => "department",
            Item::Room => "room",
            Item::School => "school",
            Item::Insurer => "insurer",
            Item::Court | Item::Court2 => "court",
            Item::Employer => "employer",
            _ => "organization",
        };
        self.grown(rule, 0, language)
    }

    fn town(&mut self, language: &'static Language) -> String {
        if self.chance.often(VILLAGES) {
            return self.grown("village", 0, language);
        }
        let pools = &self.institute.pools;
        let pool = if self.chance.often(0.95) {
            &pools.cities
        } else {
            &pools.world_cities
        };
        pool.any(&mut self.chance).to_owned()
    }

    /// Returns a value of a rule of the grammar.
    fn grown(&mut self, rule: &str, depth: usize, language: &'static Language) -> String {
        let mut out = String::new();
        for part in language.rule(rule, depth, &mut self.chance) {
            out += &match part {
                Part::Layout(layout) => self.chance.layout(layout),
                Part::Rule(name) => self.grown(name, depth + 1, language),
                Part::Drawn(name) => self.drawn(name, language),
            };
        }
        out
    }

    fn drawn(&mut self, name: &str, language: &'static Language) -> String {
        let pools = &self.institute.pools;
        let chance = &mut self.chance;
        match name {
            "family" => pools.surname(Pools::origin(chance), chance),
            "given" => {
                let sex = if chance.often(0.5) { Sex::Female } else { Sex::Male };
                pools.given(sex, Pools::origin(chance), chance)
            }
            "city" => match self.items.get(&Item::City).and_then(|pieces| pieces.first()) {
                Some(piece) if chance.often(HERE) => piece.text.clone(),
                _ => self.town(language),
            },
            "state" => pools.regions.any(chance).to_owned(),
            "n" => chance.within(1, 9).to_string(),
            _ => chance.within(1, 199).to_string(),
        }
    }
}
