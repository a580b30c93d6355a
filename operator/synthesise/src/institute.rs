//! Institutes: each has its own conventions of writing, and its own names and places.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::chance::Chance;
use crate::data;
use crate::kind::Kind;
use crate::pools::{Pools, listed};
use crate::registry::{BARE, HELD_OUT, INSTITUTES, SHARED, TEXTS};
use crate::slot::FILLERS;
use crate::template::{Template, TemplateError, parse};

/// Files that the institutes share.
const NUMBER_FILE: &str = "shared/numbers.toml";
const FILLER_FILE: &str = "shared/fillers.toml";

/// The probability that a number has the institute's own layout rather than a common one.
const OWN: f64 = 0.7;

/// Returns the ids of the institutes, in order.
pub fn institutes() -> impl Iterator<Item = &'static str> {
    INSTITUTES.iter().map(|files| files.id)
}

/// Returns the kinds of text, in order.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().copied()
}

/// Why the generator cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstituteError {
    /// The institute does not exist.
    #[error("there is no institute {name:?}; there are {known}")]
    Unknown {
        /// The name that was requested.
        name: String,
        /// The existing names.
        known: String,
    },
    /// The kind of text does not exist.
    #[error("there is no kind of text {name:?}; there are {known}")]
    UnknownKind {
        /// The name that was requested.
        name: String,
        /// The existing names.
        known: String,
    },
    /// A held-out institute does not write kinds of text.
    #[error(
        "the institute {name:?} is for testing and writes only texts of its own; leave out the kinds of text"
    )]
    HeldOut {
        /// The institute.
        name: String,
    },
    /// A file of templates is invalid.
    #[error("{file}: {source}")]
    Template {
        /// The file, as `institute/file`.
        file: String,
        /// The line and the reason.
        source: TemplateError,
    },
    /// A file of conventions is invalid.
    #[error("{file}: {why}")]
    Conventions {
        /// The file.
        file: String,
        /// The reason.
        why: String,
    },
}

/// Weights of forms.
type Weights = BTreeMap<String, f64>;

/// `institute.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Conventions {
    /// Domains of its addresses.
    domains: Vec<String>,
    /// The share of names in headers and lists that are in capitals.
    capitals: f64,
    names: Weights,
    dates: Dates,
    #[serde(default)]
    numbers: BTreeMap<String, Vec<String>>,
}

/// Formats of dates, in strftime's notation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dates {
    /// The share of numeric dates, if a template leaves the format open.
    figures: f64,
    numeric: Weights,
    long: Weights,
    short: Weights,
    month_year: Weights,
}

/// An institute with its parsed files.
pub(crate) struct Institute {
    pub(crate) id: &'static str,
    pub(crate) pools: Pools,
    pub(crate) domains: Vec<String>,
    pub(crate) capitals: f64,
    pub(crate) names: Vec<(NameForm, f64)>,
    pub(crate) figures: f64,
    pub(crate) numeric: Vec<(String, f64)>,
    pub(crate) long: Vec<(String, f64)>,
    pub(crate) short: Vec<(String, f64)>,
    pub(crate) month_year: Vec<(String, f64)>,
    own_numbers: BTreeMap<String, Vec<String>>,
    numbers: BTreeMap<String, Vec<String>>,
    fillers: BTreeMap<String, Vec<String>>,
    templates: BTreeMap<Kind, Vec<(Template, f64)>>,
    /// The templates of each kind of text that it writes.
    texts: Vec<Text>,
}

/// A kind of text.
pub(crate) struct Text {
    pub(crate) name: &'static str,
    templates: Vec<(Template, f64)>,
}

impl Text {
    /// Returns a template, by weight.
    pub(crate) fn template(&self, chance: &mut Chance) -> Option<&Template> {
        by_weight(&self.templates, chance)
    }

    /// Returns the kinds of its templates.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.templates.iter().map(|(template, _)| template.kind)
    }
}

fn by_weight<'t>(templates: &'t [(Template, f64)], chance: &mut Chance) -> Option<&'t Template> {
    let mut left = chance.unit() * templates.iter().map(|(_, weight)| weight).sum::<f64>();
    let found = templates.iter().find(|(_, weight)| {
        left -= weight;
        left < 0.0
    });
    found.or(templates.last()).map(|(template, _)| template)
}

/// The form of a full name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum NameForm {
    FirstLast,
    FirstInitialLast,
    FirstMiddleLast,
    LastFirst,
    LastFirstInitial,
    InitialLast,
}

const NAME_FORMS: &[(&str, NameForm)] = &[
    ("First Last", NameForm::FirstLast),
    ("First M. Last", NameForm::FirstInitialLast),
    ("First Middle Last", NameForm::FirstMiddleLast),
    ("Last, First", NameForm::LastFirst),
    ("Last, First M", NameForm::LastFirstInitial),
    ("F. Last", NameForm::InitialLast),
];

impl Institute {
    /// Creates the institute with this id.
    ///
    /// # Errors
    /// [`InstituteError`]; a test reads all of them, so that only an unknown name can occur in use.
    pub(crate) fn new(id: &str) -> Result<Self, InstituteError> {
        let (place, files) = INSTITUTES
            .iter()
            .enumerate()
            .find(|(_, files)| files.id == id)
            .ok_or_else(|| InstituteError::Unknown {
                name: id.to_owned(),
                known: institutes().collect::<Vec<_>>().join(", "),
            })?;
        let conventions: Conventions = toml_of(&format!("{id}/institute.toml"))?;
        let names = conventions.names.iter().map(|(form, &weight)| {
            let found = NAME_FORMS.iter().find(|(name, _)| name == form);
            let form = found
                .map(|&(_, form)| form)
                .ok_or_else(|| InstituteError::Conventions {
                    file: format!("{id}/institute.toml"),
                    why: format!("names: there is no form {form:?}"),
                });
            form.map(|form| (form, weight))
        });
        let mut templates: BTreeMap<Kind, Vec<(Template, f64)>> = BTreeMap::new();
        // A held-out institute has its own texts of each kind.
        let shared = if HELD_OUT.contains(&id) { &[][..] } else { SHARED };
        let shared = shared.iter().chain(BARE).map(|file| ("shared", file));
        let own = files.templates.iter().map(|file| (id, file));
        for (folder, file) in own.chain(shared) {
            let file = format!("{folder}/{file}");
            let read = parse(text_of(&file)?).map_err(|source| InstituteError::Template { file, source })?;
            for template in read {
                let weight = template.weight;
                templates
                    .entry(template.kind)
                    .or_default()
                    .push((template, weight));
            }
        }
        let is_held_out = HELD_OUT.contains(&id);
        let mut texts = Vec::new();
        for &name in TEXTS.iter().filter(|_| !is_held_out) {
            let file = format!("kinds/{name}.txt");
            let read = parse(text_of(&file)?).map_err(|source| InstituteError::Template { file, source })?;
            let templates = read.into_iter().map(|template| {
                let weight = template.weight;
                (template, weight)
            });
            texts.push(Text {
                name,
                templates: templates.collect(),
            });
        }
        let forms = |weights: &Weights| {
            weights
                .iter()
                .map(|(form, &weight)| (form.clone(), weight))
                .collect()
        };
        let mut fillers: BTreeMap<String, Vec<String>> = toml_of(FILLER_FILE)?;
        for (key, words) in listed() {
            fillers.entry(key.to_owned()).or_default().extend(words);
        }
        if let Some(missing) = FILLERS.iter().find(|key| !fillers.contains_key(**key)) {
            return Err(InstituteError::Conventions {
                file: FILLER_FILE.to_owned(),
                why: format!("there is no {missing}"),
            });
        }
        Ok(Self {
            id: files.id,
            pools: Pools::new(place, INSTITUTES.len()),
            names: names.collect::<Result<_, _>>()?,
            domains: conventions.domains,
            capitals: conventions.capitals,
            figures: conventions.dates.figures,
            numeric: forms(&conventions.dates.numeric),
            long: forms(&conventions.dates.long),
            short: forms(&conventions.dates.short),
            month_year: forms(&conventions.dates.month_year),
            own_numbers: conventions.numbers,
            numbers: toml_of(NUMBER_FILE)?,
            fillers,
            templates,
            texts,
        })
    }

    /// Returns a template of a kind, by weight; `None` if the kind has no template.
    pub(crate) fn template(&self, kind: Kind, chance: &mut Chance) -> Option<&Template> {
        by_weight(self.templates.get(&kind)?, chance)
    }

    /// Returns the kinds of text that it writes.
    pub(crate) fn texts(&self) -> &[Text] {
        &self.texts
    }

    /// Returns a layout for a number.
    pub(crate) fn layout(&self, key: &str, chance: &mut Chance) -> &str {
        let (own, all) = (self.own_numbers.get(key), self.numbers.get(key));
        let layouts = match (own, all) {
            (Some(own), Some(_)) if chance.often(OWN) => own,
            (_, Some(all)) => all,
            (Some(own), None) => own,
            (None, None) => return "#####",
        };
        chance.word(layouts)
    }

    /// Returns a string that identifies nobody.
    pub(crate) fn filler(&self, key: &str, chance: &mut Chance) -> String {
        let text = self.fillers.get(key).map_or("", |fillers| chance.word(fillers));
        let digit = |char| {
            if char == '#' {
                char::from(b'0' + chance.below(10) as u8)
            } else {
                char
            }
        };
        text.chars().map(digit).collect()
    }
}

/// Reads a file of `data`.
fn toml_of<T: serde::de::DeserializeOwned>(file: &str) -> Result<T, InstituteError> {
    toml::from_str(text_of(file)?).map_err(|error| InstituteError::Conventions {
        file: file.to_owned(),
        why: error.to_string(),
    })
}

/// Returns the text of a file of `data`.
fn text_of(file: &str) -> Result<&'static str, InstituteError> {
    data::file(file).ok_or_else(|| InstituteError::Conventions {
        file: file.to_owned(),
        why: "the file does not exist".to_owned(),
    })
}
