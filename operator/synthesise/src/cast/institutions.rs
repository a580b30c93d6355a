//! Hospitals, practices, employers, schools and insurers: from the lists, and composed of their parts.

use super::Cast;
use super::parts::{BODIES, CHAINS, CIVIC, CLINICS, COMPANIES, HOSPITALS, PRACTICES, PRAISE, SAINTS};
use crate::slot::Item;

impl Cast<'_> {
    /// Returns the proper part of an institution's name.
    pub(super) fn stem(&mut self) -> String {
        match self.chance.below(8) {
            0 | 1 => self.city(),
            2 | 3 => self.surname(),
            4 | 5 => self.chance.word(SAINTS).to_owned(),
            6 => Self::nature(&mut self.chance),
            _ => {
                let one = self.surname();
                format!("{one}-{}", self.surname())
            }
        }
    }

    pub(super) fn hospital(&mut self) -> String {
        if self.chance.often(0.3) {
            return self.institute.pools.hospitals.any(&mut self.chance).to_owned();
        }
        let stem = self.stem();
        let head = if self.chance.often(0.8) {
            self.chance.word(HOSPITALS)
        } else {
            self.institute.pools.institution_heads.any(&mut self.chance)
        };
        match self.chance.below(20) {
            0 => format!("University of {stem} {head}"),
            1 => format!("{head} of {stem}"),
            2 => format!("{stem} {head} at {}", Self::nature(&mut self.chance)),
            _ => format!("{stem} {head}"),
        }
    }

    /// Returns a short form of a hospital's name: its initials, or its name without the words that every
    /// hospital has.
    pub(super) fn short(&mut self, of: Item) -> String {
        let full = self.text_of(of);
        let words: Vec<&str> = full
            .split([' ', '-'])
            .filter(|word| word.starts_with(char::is_uppercase))
            .collect();
        let initials: String = words.iter().filter_map(|word| word.chars().next()).collect();
        if words.len() >= 3 && self.chance.often(0.55) {
            return initials;
        }
        let head = HOSPITALS
            .iter()
            .filter_map(|head| full.strip_suffix(head))
            .min_by_key(|rest| rest.len());
        let stem = head.unwrap_or(&full).trim();
        if stem.is_empty() { full } else { stem.to_owned() }
    }

    pub(super) fn clinic(&mut self) -> String {
        if self.chance.often(0.18) {
            return self.chance.word(CHAINS).to_owned();
        }
        if self.chance.often(0.2) {
            let head = self.chance.word(PRACTICES).to_owned();
            return match self.chance.below(5) {
                0 => format!("{} {head}", self.city()),
                1 => format!("{} {head}", Self::nature(&mut self.chance)),
                2 => format!(
                    "{} {} {head}",
                    Self::nature(&mut self.chance),
                    self.chance.word(PRAISE)
                ),
                _ => format!("{} {head}", self.chance.word(PRAISE)),
            };
        }
        let stem = self.stem();
        format!("{stem} {}", self.chance.word(CLINICS))
    }

    pub(super) fn department(&mut self) -> String {
        let name = self.surname();
        let n = self.chance.within(2, 14);
        match self.chance.below(4) {
            0 => format!("{name} {n}"),
            1 => format!("{name} Unit"),
            2 => format!(
                "{name} {n}{}",
                self.chance.word(&["A", "B", " East", " West", " North"])
            ),
            _ => format!("{name} Pavilion"),
        }
    }

    pub(super) fn organization(&mut self) -> String {
        let drawn = self.chance.below(10);
        match drawn {
            0..=3 => self
                .institute
                .pools
                .organizations
                .any(&mut self.chance)
                .to_owned(),
            4 => {
                let one = self.surname();
                let other = self.surname();
                let between = self.chance.word(&[" & ", " and ", ", "]);
                let end = if between == ", " { " LLP" } else { "" };
                format!("{one}{between}{other}{end}")
            }
            5 => {
                let city = self.city();
                format!("{city} {}", self.chance.word(CIVIC))
            }
            _ => {
                let stem = if self.chance.often(0.5) {
                    self.surname()
                } else {
                    Self::nature(&mut self.chance)
                };
                let kind = self.chance.word(COMPANIES);
                format!(
                    "{stem} {kind}{}",
                    self.chance
                        .word(&["", "", "", " Inc", " Inc.", " LLC", ", Inc.", " Co."])
                )
            }
        }
    }

    /// Returns a public body named after a town.
    pub(super) fn court(&mut self) -> String {
        let city = self.city();
        if self.chance.often(0.12) {
            let body = self.chance.word(&[
                "University",
                "Police",
                "City Council",
                "Bar Association",
                "Court of Appeal",
            ]);
            return format!("{body} of {city}");
        }
        format!("{city} {}", self.chance.word(BODIES))
    }

    pub(super) fn school(&mut self) -> String {
        if self.chance.often(0.3) {
            return self.institute.pools.universities.any(&mut self.chance).to_owned();
        }
        let stem = if self.chance.often(0.5) {
            self.surname()
        } else {
            self.city()
        };
        let kind = self.chance.word(&[
            "High School",
            "Elementary",
            "Elementary School",
            "Middle School",
            "Academy",
            "Community College",
            "College",
            "Preschool",
            "Junior High",
            "State University",
            "Montessori",
            "High",
            "Christian School",
            "Technical College",
            "Charter School",
        ]);
        format!("{stem} {kind}")
    }

    pub(super) fn insurer(&mut self) -> String {
        if self.chance.often(0.7) {
            return self.institute.pools.insurers.any(&mut self.chance).to_owned();
        }
        let state = self.state(false).0;
        let kind = self.chance.word(&[
            "Health Plan",
            "Mutual",
            "Health Partners",
            "Care Plus",
            "Advantage",
            "Medical Insurance",
            "Blue Choice",
        ]);
        format!("{state} {kind}")
    }
}
