//! The single entry point: a realistic replacement for any kind of identifier.

use std::fmt;
use std::sync::Arc;

use lethe_dictionaries::{Dictionary, UnknownList};

use crate::dates::{Hint, Written};
use crate::draw::{Draw, Stream};
use crate::names::Names;
use crate::places::{Places, Streets};
use crate::zip::ZipTable;
use crate::{About, Kind, Language, ages, ids, net, phone};

/// Surrogates of every kind. The tables are built once, in about a tenth of a second, and shared by all
/// lanes.
pub struct Surrogates {
    names: Names,
    places: Places,
    streets: Streets,
    zips: &'static ZipTable,
    /// The prefixes of surrogate ZIP codes.
    prefixes: Vec<u16>,
}

impl Surrogates {
    /// Builds the tables from a dictionary with the built-in lists of names, titles and street types.
    ///
    /// # Errors
    /// [`UnknownList`] if it lacks one.
    pub fn new(dictionary: Arc<Dictionary>) -> Result<Self, UnknownList> {
        let zips = ZipTable::shipped();
        Ok(Self {
            places: Places::new(),
            streets: Streets::new(Arc::clone(&dictionary))?,
            names: Names::new(dictionary)?,
            zips,
            prefixes: (1..1000).filter(|&prefix| zips.keeps(prefix)).collect(),
        })
    }

    /// Returns the replacement of `text`; `None` if it cannot be parsed or no other value is possible, and
    /// then the caller writes a tag.
    ///
    /// A pure function of text, kind, draw and `about`: no other text of the note changes it. Dates move by
    /// [`About::days`]; ages over 89 are generalised and others kept. Neither is drawn.
    pub fn surrogate(&self, kind: Kind, text: &str, about: &About<'_>, draw: &dyn Draw) -> Option<String> {
        // A span of a paragraph is an error of a tagger, and laying it out would be useless.
        const LONGEST: usize = 400;
        if text.len() > LONGEST {
            return None;
        }
        let made = match kind {
            Kind::Patient | Kind::Doctor => self.names.surrogate(text, about, draw),
            Kind::Username => match net::email(&self.names, text, about, draw) {
                Some(address) => Some(address),
                None => self.names.handle(text, about, draw).filter(|out| out != text),
            },
            Kind::City | Kind::LocationOther if is_number(text) => self.zip(text, about, draw),
            Kind::City
            | Kind::LocationOther
            | Kind::State
            | Kind::Country
            | Kind::Hospital
            | Kind::Organization
            | Kind::Department
            | Kind::Profession => self.places.surrogate(kind, text, about, draw),
            Kind::Street => self.streets.surrogate(&self.names, text, about, draw),
            Kind::Zip => self.zip(text, about, draw),
            Kind::Age => ages::generalise(text),
            Kind::Date => {
                let hint = Hint {
                    order: about.order,
                    language: about.language,
                    year: about.year,
                };
                Written::parse(text, &hint)?.shift(about.days?)
            }
            Kind::Phone | Kind::Fax => phone::number(text, about, draw),
            Kind::Email => net::email(&self.names, text, about, draw),
            Kind::Url => net::url(text, draw).or_else(|| net::email(&self.names, text, about, draw)),
            Kind::IpAddress => net::ip(text, draw).or_else(|| ids::code(text, draw)),
            Kind::Ssn => ids::ssn(text, draw),
            Kind::Room
            | Kind::MedicalRecord
            | Kind::HealthPlan
            | Kind::Account
            | Kind::License
            | Kind::Vehicle
            | Kind::Device
            | Kind::BioId
            | Kind::IdNum => ids::code(text, draw),
        };
        // Only an age and a date may stay unchanged; any other unchanged value would be the original.
        made.filter(|made| matches!(kind, Kind::Age | Kind::Date) || made != text)
    }

    /// Returns a postal code: five or nine digits with a prefix in use, of Spain in a Spanish note; others by
    /// their layout.
    fn zip(&self, text: &str, about: &About<'_>, draw: &dyn Draw) -> Option<String> {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        let spanish = about.language == Some(Language::Spanish);
        let us = !spanish && self.zips.generalise(text).is_some();
        if !(us || spanish && digits.len() == 5 && is_number(text)) {
            return ids::code(text, draw);
        }
        let head = digits.get(..5)?;
        let mut first = Stream::of(draw, &[b"zip", head.as_bytes()]);
        // The five-digit code and the same code with four more digits share their first five.
        let mut rest = Stream::of(draw, &[b"zip", digits.as_bytes()]);
        for _ in 0..64 {
            let mut made = if us {
                format!("{:03}{:02}", first.pick(&self.prefixes)?, first.below(100))
            } else {
                // Provinces 01 to 52.
                format!("{:02}{:03}", 1 + first.below(52), first.below(1000))
            };
            if digits.len() == 9 {
                made += &format!("{:04}", rest.below(10_000));
            }
            let out = ids::laid_out(text, made.as_bytes());
            if !ids::is_near(text, &out) {
                return Some(out);
            }
        }
        None
    }
}

fn is_number(text: &str) -> bool {
    text.chars().any(|c| c.is_ascii_digit()) && !text.chars().any(char::is_alphabetic)
}

impl fmt::Debug for Surrogates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Surrogates")
    }
}

#[cfg(test)]
mod tests;
