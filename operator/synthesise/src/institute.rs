//! Institutes: each has its own conventions of writing, and its own names and places.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::chance::Chance;
use crate::data;
use crate::kind::Kind;
use crate::language::{ENGLISH, Language};
use crate::pools::{Pools, listed};
use crate::registry::{BARE, Files, HELD_OUT, INSTITUTES, LANGUAGES, LanguageFiles, SHARED, TEXTS};
use crate::slot::FILLERS;
use crate::template::{Template, TemplateError, parse};

/// The probability that a number has the institute's own layout rather than a common one.
const OWN: f64 = 0.7;

/// Returns the ids of all institutes, those that write English first.
pub fn institutes() -> impl Iterator<Item = &'static str> {
    let others = LANGUAGES.iter().flat_map(|language| language.institutes);
    INSTITUTES.iter().chain(others).map(|files| files.id)
}

/// Returns the ids of the institutes that write a language and are not for testing; none for an unknown language.
///
/// # Examples
/// ```
/// assert!(lethe_synthesise::writers("de").any(|institute| institute == "elbe"));
/// ```
pub fn writers(language: &str) -> impl Iterator<Item = &'static str> {
    let files = if language == ENGLISH {
        INSTITUTES
    } else {
        LANGUAGES
            .iter()
            .find(|known| known.id == language)
            .map_or(&[][..], |known| known.institutes)
    };
    files
        .iter()
        .map(|files| files.id)
        .filter(|id| !HELD_OUT.contains(id))
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
    /// The institute does not write kinds of text: it is held out, or writes another language than English.
    #[error("the institute {name:?} writes only texts of its own; leave out the kinds of text")]
    NoKinds {
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
    /// `None` for English.
    pub(crate) language: Option<&'static Language>,
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
    /// As in lists: "Schaller Marta".
    LastThenFirst,
    InitialLast,
}

const NAME_FORMS: &[(&str, NameForm)] = &[
    ("First Last", NameForm::FirstLast),
    ("First M. Last", NameForm::FirstInitialLast),
    ("First Middle Last", NameForm::FirstMiddleLast),
    ("Last, First", NameForm::LastFirst),
    ("Last, First M", NameForm::LastFirstInitial),
    ("Last First", NameForm::LastThenFirst),
    ("F. Last", NameForm::InitialLast),
];

impl Institute {
    /// Creates the institute with this id.
    ///
    /// # Errors
    /// [`InstituteError`]; a test reads all of them, so that only an unknown name can occur in use.
    pub(crate) fn new(id: &str) -> Result<Self, InstituteError> {
        let here = Place::of(id)?;
        let file = format!("{}/institute.toml", here.folder);
        let conventions: Conventions = toml_of(&file)?;
        let names = conventions.names.iter().map(|(form, &weight)| {
            let found = NAME_FORMS.iter().find(|(name, _)| name == form);
            let form = found
                .map(|&(_, form)| form)
                .ok_or_else(|| InstituteError::Conventions {
                    file: file.clone(),
                    why: format!("names: there is no form {form:?}"),
                });
            form.map(|form| (form, weight))
        });
        let language = here.language.map(Language::of).transpose()?;
        let mut templates: BTreeMap<Kind, Vec<(Template, f64)>> = BTreeMap::new();
        for file in here.templates() {
            for template in read(file, language)? {
                let weight = template.weight;
                templates
                    .entry(template.kind)
                    .or_default()
                    .push((template, weight));
            }
        }
        let mut texts = Vec::new();
        for &name in here.texts() {
            let templates = read(format!("kinds/{name}.txt"), language)?.into_iter();
            let templates = templates.map(|template| {
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
        let filler_file = here.common("fillers.toml");
        let mut fillers: BTreeMap<String, Vec<String>> = toml_of(&filler_file)?;
        if language.is_none() {
            for (key, words) in listed() {
                fillers.entry(key.to_owned()).or_default().extend(words);
            }
        }
        if let Some(missing) = FILLERS.iter().find(|key| !fillers.contains_key(**key)) {
            return Err(InstituteError::Conventions {
                file: filler_file,
                why: format!("there is no {missing}"),
            });
        }
        Ok(Self {
            id: here.files.id,
            language,
            pools: Pools::new(language, here.place, here.of),
            names: names.collect::<Result<_, _>>()?,
            domains: conventions.domains,
            capitals: conventions.capitals,
            figures: conventions.dates.figures,
            numeric: forms(&conventions.dates.numeric),
            long: forms(&conventions.dates.long),
            short: forms(&conventions.dates.short),
            month_year: forms(&conventions.dates.month_year),
            own_numbers: conventions.numbers,
            numbers: toml_of(&here.common("numbers.toml"))?,
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

/// Where an institute stands in the registry.
struct Place {
    files: &'static Files,
    /// `None` for English.
    language: Option<&'static LanguageFiles>,
    /// Its folder of `data`.
    folder: String,
    /// Its number among the institutes of its language, and how many there are.
    place: usize,
    of: usize,
}

impl Place {
    fn of(id: &str) -> Result<Self, InstituteError> {
        let english = (None, INSTITUTES);
        let others = LANGUAGES
            .iter()
            .map(|language| (Some(language), language.institutes));
        for (language, institutes) in std::iter::once(english).chain(others) {
            let Some(place) = institutes.iter().position(|files| files.id == id) else {
                continue;
            };
            return Ok(Self {
                files: &institutes[place],
                language,
                folder: language.map_or(id.to_owned(), |language| format!("{}/{id}", language.id)),
                place,
                of: institutes.len(),
            });
        }
        Err(InstituteError::Unknown {
            name: id.to_owned(),
            known: institutes().collect::<Vec<_>>().join(", "),
        })
    }

    /// Returns its own files of templates, and those that it shares with others.
    fn templates(&self) -> Vec<String> {
        // A held-out institute has its own texts of each kind.
        let (shared, lists) = match self.language {
            Some(language) => (format!("{}/shared", language.id), [language.shared, &[]]),
            None if HELD_OUT.contains(&self.files.id) => ("shared".to_owned(), [&[][..], BARE]),
            None => ("shared".to_owned(), [SHARED, BARE]),
        };
        let own = self.files.templates.iter();
        let own = own.map(|file| format!("{}/{file}", self.folder));
        own.chain(
            lists
                .iter()
                .flat_map(|list| *list)
                .map(|file| format!("{shared}/{file}")),
        )
        .collect()
    }

    /// Returns the kinds of text that it writes.
    fn texts(&self) -> &'static [&'static str] {
        if self.language.is_some() || HELD_OUT.contains(&self.files.id) {
            &[]
        } else {
            TEXTS
        }
    }

    /// Returns a file that all institutes of its language have.
    fn common(&self, file: &str) -> String {
        format!(
            "{}/{file}",
            self.language.map_or("shared", |language| language.id)
        )
    }
}

/// Reads a file of templates.
fn read(file: String, language: Option<&'static Language>) -> Result<Vec<Template>, InstituteError> {
    parse(text_of(&file)?, language).map_err(|source| InstituteError::Template { file, source })
}

/// Reads a file of `data`.
pub(crate) fn toml_of<T: serde::de::DeserializeOwned>(file: &str) -> Result<T, InstituteError> {
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
