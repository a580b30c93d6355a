//! Places and addresses: from the lists, and composed of their parts.

use super::Cast;
use super::parts::{NATURE, SECOND, UNIT};
use super::words::capital;
use crate::chance::Chance;
use crate::slot::{Item, Party, Role};

impl Cast<'_> {
    /// Returns an item that is a place, with its label; `None` for one that is not.
    pub(super) fn place(&mut self, item: Item) -> Option<(&'static str, String)> {
        let label = match item {
            Item::Street => "STREET",
            Item::City | Item::City2 => "CITY",
            Item::State | Item::State2 | Item::StateAbbr | Item::State2Abbr => "STATE",
            Item::Country => "COUNTRY",
            Item::Place => "LOCATION-OTHER",
            Item::Hospital | Item::Hospital2 | Item::Hospital3 | Item::Clinic => "HOSPITAL",
            Item::HospitalShort | Item::Hospital2Short | Item::Hospital3Short => "HOSPITAL",
            Item::Department => "DEPARTMENT",
            Item::Room => "ROOM",
            Item::Employer | Item::Organization | Item::Organization2 => "ORGANIZATION",
            Item::School | Item::Insurer | Item::Court | Item::Court2 => "ORGANIZATION",
            _ => return None,
        };
        if let Some(language) = self.institute.language {
            return Some((label, self.composed(item, language)));
        }
        let text = match item {
            Item::Street => self.street(),
            Item::City | Item::City2 => self.city(),
            Item::State | Item::State2 => self.state(item == Item::State2).0.to_owned(),
            Item::StateAbbr | Item::State2Abbr => self.state(item == Item::State2Abbr).1.to_owned(),
            Item::Country => self.institute.pools.countries.any(&mut self.chance).to_owned(),
            Item::Place => self.landmark(),
            Item::Hospital | Item::Hospital2 | Item::Hospital3 => self.hospital(),
            Item::HospitalShort => self.short(Item::Hospital),
            Item::Hospital2Short => self.short(Item::Hospital2),
            Item::Hospital3Short => self.short(Item::Hospital3),
            Item::Clinic => self.clinic(),
            Item::Department => self.department(),
            Item::Room => {
                let layout = self
                    .chance
                    .word(&["###", "###@", "##@", "@-###", "####", "##-@", "@###", "%##-%"])
                    .to_owned();
                self.chance.layout(&layout)
            }
            Item::School => self.school(),
            Item::Insurer => self.insurer(),
            Item::Court | Item::Court2 => self.court(),
            _ => self.organization(),
        };
        Some((label, text))
    }

    /// Returns a state and its postal abbreviation, the same for both forms.
    pub(super) fn state(&mut self, second: bool) -> (&'static str, &'static str) {
        // Both forms of a state are cached under their own items; the one that exists decides the other.
        let (name, abbreviation) = if second {
            (Item::State2, Item::State2Abbr)
        } else {
            (Item::State, Item::StateAbbr)
        };
        let known = [name, abbreviation]
            .iter()
            .find_map(|item| self.items.get(item)?.first())
            .map(|piece| piece.text.clone());
        let found = known.and_then(|known| {
            lethe_surrogates::STATES
                .iter()
                .find(|state| state.0 == known || state.2 == known)
        });
        let state = found.or_else(|| self.chance.pick(&lethe_surrogates::STATES));
        state.map_or(("Ohio", "OH"), |state| (state.0, state.2))
    }

    /// Returns a country as an actor, the same in every form except the adjective, since the lists do not say
    /// which adjective belongs to which country.
    pub(super) fn party(&mut self, form: Party) -> String {
        if let Some(known) = self.parties.get(&form) {
            return known.clone();
        }
        let pools = &self.institute.pools;
        let text = match form {
            Party::Name => pools.countries.any(&mut self.chance).to_owned(),
            Party::Adjective => pools.demonyms.any(&mut self.chance).to_owned(),
            Party::State => {
                let name = self.party(Party::Name);
                let head = self.chance.word(&[
                    "Republic of ",
                    "Republic of ",
                    "Republic of ",
                    "Kingdom of ",
                    "State of ",
                ]);
                // "Republic of the Republic of Korea"
                if name.contains(" of ") || name.contains("United") {
                    name
                } else {
                    format!(
                        "{head}{}",
                        name.trim_start_matches("the ").trim_start_matches("The ")
                    )
                }
            }
        };
        self.parties.insert(form, text.clone());
        text
    }

    pub(super) fn surname(&mut self) -> String {
        let pools = &self.institute.pools;
        pools.family(0, &mut self.chance)
    }

    pub(super) fn nature(chance: &mut Chance) -> String {
        let first = chance.word(NATURE).to_owned();
        format!("{first}{}", chance.word(SECOND))
    }

    pub(super) fn city(&mut self) -> String {
        let pools = &self.institute.pools;
        let chance = &mut self.chance;
        match chance.below(20) {
            0..=11 => pools.cities.any(chance).to_owned(),
            12..=15 => pools.world_cities.any(chance).to_owned(),
            16 if chance.often(0.3) => pools.regions.any(chance).to_owned(),
            16 => pools.counties.any(chance).to_owned(),
            17 => Self::nature(chance),
            _ => {
                let before = chance
                    .word(&[
                        "", "New ", "Fort ", "East ", "Mount ", "Lake ", "Port ", "West ", "San ", "North ",
                    ])
                    .to_owned();
                let after = chance
                    .word(&[
                        "", "ville", "ton", "burg", " City", "field", " Heights", " Springs", " Falls",
                        "port",
                    ])
                    .to_owned();
                format!("{before}{}{after}", self.surname())
            }
        }
    }

    fn street(&mut self) -> String {
        let chance = &mut self.chance;
        match chance.below(24) {
            0 => return chance.layout("PO Box ####"),
            1 => return chance.layout("P.O. Box ###"),
            2 => return chance.layout("RR % Box ###"),
            3 => return chance.layout("%### County Road ##"),
            4 => return chance.layout("%### Highway ##"),
            _ => {}
        }
        let number = chance
            .word(&["%#", "%##", "%###", "%####", "%##", "%###"])
            .to_owned();
        let number = chance.layout(&number);
        let way = chance
            .word(&["", "", "", "", "N ", "S. ", "West ", "E ", "North ", "SW ", "NE "])
            .to_owned();
        let name = match chance.below(10) {
            0..=2 => Self::nature(chance),
            3..=6 => self.surname(),
            7 => self.city(),
            8 => {
                let n = self.chance.within(1, 130);
                let ending = match (n % 100, n % 10) {
                    (11..=13, _) => "th",
                    (_, 1) => "st",
                    (_, 2) => "nd",
                    (_, 3) => "rd",
                    _ => "th",
                };
                format!("{n}{ending}")
            }
            _ => self.chance.word(NATURE).to_owned(),
        };
        let usual = [
            "Street",
            "St",
            "St.",
            "Avenue",
            "Ave",
            "Ave.",
            "Road",
            "Rd",
            "Rd.",
            "Drive",
            "Dr",
            "Dr.",
            "Lane",
            "Ln",
            "Court",
            "Ct",
            "Blvd",
            "Boulevard",
            "Way",
            "Place",
            "Pl",
            "Circle",
            "Terrace",
            "Parkway",
        ];
        let kind = if self.chance.often(0.85) {
            self.chance.word(&usual)
        } else {
            self.institute.pools.street_types.any(&mut self.chance)
        }
        .to_owned();
        let mut street = format!("{number} {way}{name} {kind}");
        if self.chance.often(0.22) {
            let layout = self.chance.word(UNIT).to_owned();
            // The sign of "# 4" is a digit in a layout.
            let unit = if layout == "# #" {
                format!("#{}", self.chance.within(1, 400))
            } else {
                self.chance.layout(&layout)
            };
            let between = self.chance.word(&[", ", " "]);
            street = format!("{street}{between}{unit}");
        }
        street
    }

    fn landmark(&mut self) -> String {
        let stem = match self.chance.below(3) {
            0 => self.surname(),
            1 => Self::nature(&mut self.chance),
            _ => self.city(),
        };
        let chance = &mut self.chance;
        if chance.often(0.25) {
            return format!(
                "{} {stem}",
                chance.word(&["Lake", "Mount", "Camp", "Fort", "Cape", "Port"])
            );
        }
        let kind = chance.word(&[
            "Park",
            "Beach",
            "Bridge",
            "Mountain",
            "State Park",
            "Island",
            "Bay",
            "River",
            "Forest",
            "Mall",
            "Stadium",
            "Airport",
            "Trail",
            "Square",
            "Plaza",
            "Reservation",
            "Canyon",
            "Campground",
            "Valley",
            "Heights",
            "Ranch",
            "Harbor",
            "Memorial Park",
            "Lake",
            "Golf Club",
            "Station",
            "Village",
        ]);
        format!("{stem} {kind}")
    }

    /// Returns a part of a network address derived from a person's name.
    pub(super) fn handle(&mut self, role: Role) -> String {
        let person = self.person(role);
        let plain = |name: &str| -> String {
            lethe_text::fold(name)
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .collect()
        };
        let (first, last) = (plain(&person.first), plain(&person.last));
        let f: String = first.chars().take(1).collect();
        let chance = &mut self.chance;
        let length = chance.below(4);
        let digits = chance.layout(&"#".repeat(length));
        match chance.below(8) {
            0 | 1 => format!("{first}.{last}"),
            2 => format!("{f}{last}"),
            3 => format!("{first}{last}{digits}"),
            4 => format!("{last}{f}{digits}"),
            5 => format!("{first}_{last}"),
            6 => format!("{f}.{last}{digits}"),
            _ => format!("{first}{digits}"),
        }
    }

    /// Returns one word of a domain.
    pub(super) fn host(&mut self) -> String {
        let stem = if self.chance.often(0.5) {
            self.surname()
        } else {
            Self::nature(&mut self.chance)
        };
        let stem: String = capital(&stem)
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        let after = self.chance.word(&[
            "health",
            "clinic",
            "med",
            "",
            "care",
            "family",
            "online",
            "hospital",
            "pediatrics",
            "group",
        ]);
        format!("{}{after}", stem.to_lowercase())
    }
}
