//! Labels: the kind of identifier that a span is, and the HIPAA identifier that it belongs to.
//!
//! A label set is data, not code: `labels/*.toml`. Members request the labels that they know by their
//! i2b2-2014 names; another set (MEDDOCAN's, an institution's own) declares which of its labels stands for
//! which.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::suggest::{did_you_mean, reworded_toml};

mod origin;

pub use origin::ORIGIN;

/// A label's index in its [`LabelSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelId(pub u16);

/// The eighteen identifiers of 45 CFR 164.514(b)(2)(i), by their letter, and everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub enum Hipaa {
    /// (A) Names.
    #[serde(rename = "A")]
    Names,
    /// (B) Geographic subdivisions smaller than a State.
    #[serde(rename = "B")]
    Geographic,
    /// (C) Elements of dates, and ages over 89.
    #[serde(rename = "C")]
    Dates,
    /// (D) Telephone numbers.
    #[serde(rename = "D")]
    Telephone,
    /// (E) Fax numbers.
    #[serde(rename = "E")]
    Fax,
    /// (F) Electronic mail addresses.
    #[serde(rename = "F")]
    Email,
    /// (G) Social security numbers.
    #[serde(rename = "G")]
    SocialSecurity,
    /// (H) Medical record numbers.
    #[serde(rename = "H")]
    MedicalRecord,
    /// (I) Health plan beneficiary numbers.
    #[serde(rename = "I")]
    HealthPlan,
    /// (J) Account numbers.
    #[serde(rename = "J")]
    Account,
    /// (K) Certificate and license numbers.
    #[serde(rename = "K")]
    License,
    /// (L) Vehicle identifiers and serial numbers, license plates among them.
    #[serde(rename = "L")]
    Vehicle,
    /// (M) Device identifiers and serial numbers.
    #[serde(rename = "M")]
    Device,
    /// (N) Web universal resource locators.
    #[serde(rename = "N")]
    Url,
    /// (O) Internet protocol addresses.
    #[serde(rename = "O")]
    IpAddress,
    /// (P) Biometric identifiers.
    #[serde(rename = "P")]
    Biometric,
    /// (Q) Full-face photographs and comparable images.
    #[serde(rename = "Q")]
    Photograph,
    /// (R) Any other unique identifying number, characteristic or code.
    #[serde(rename = "R")]
    Other,
    /// None of the eighteen: what the regulation does not list. Policies under it keep such labels by default.
    #[serde(rename = "none")]
    Unlisted,
}

impl Hipaa {
    /// Returns the identifier's letter in the clause, `A` to `R`; `-` for [`Hipaa::Unlisted`].
    pub const fn letter(self) -> char {
        match self {
            Self::Unlisted => '-',
            listed => (b'A' + listed as u8) as char,
        }
    }

    /// Returns whether it identifies a person by itself, as a name, a number or an address does. Places, dates, ages and
    /// what the clause does not list are quasi-identifiers: they do so only together with others (NISTIR 8053).
    pub const fn is_direct(self) -> bool {
        !matches!(self, Self::Geographic | Self::Dates | Self::Unlisted)
    }
}

/// One label of a set.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// The label's name as it is written to output, for instance `PATIENT`.
    pub name: String,
    /// The category it belongs to, for instance `NAME`.
    pub category: String,
    /// The HIPAA identifier that it belongs to.
    pub hipaa: Hipaa,
    /// The i2b2-2014 labels that this one stands for, in another label set.
    #[serde(default)]
    pub equivalent: Vec<String>,
}

/// Why a label set was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// The file is not a label set.
    #[error("{origin}: {message}")]
    Syntax {
        /// The file, as the caller named it.
        origin: String,
        /// The parser's message, with line and key.
        message: String,
    },
    /// A name occurs twice, an equivalent is claimed twice, or the fallback is not one of the labels.
    #[error("{origin}: label `{name}` {problem}")]
    Inconsistent {
        /// The file, as the caller named it.
        origin: String,
        /// The invalid label.
        name: String,
        /// The problem with it.
        problem: &'static str,
    },
    /// No label stands for this i2b2-2014 name, and the set has no fallback.
    #[error(
        "label set `{set}` has no label for `{name}` and no `fallback`; add `equivalent = [\"{name}\"]` to one of its labels"
    )]
    Missing {
        /// The set's id.
        set: String,
        /// The name that a member requested.
        name: String,
    },
}

/// A closed set of labels, in file order.
#[derive(Clone)]
pub struct LabelSet {
    id: String,
    version: u32,
    labels: Vec<Label>,
    by_name: HashMap<String, LabelId>,
    by_equivalent: HashMap<String, LabelId>,
    fallback: Option<LabelId>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct File {
    id: String,
    version: u32,
    fallback: Option<String>,
    label: Vec<Label>,
}

/// The built-in sets. A new set goes to the end, so that models of bare label names keep the set that they
/// have now.
const BUILT_IN: &[&str] = &[
    include_str!("../labels/i2b2-2014.toml"),
    include_str!("../labels/meddocan.toml"),
];

impl LabelSet {
    /// Returns the seven categories and their subcategories of the 2014 i2b2 track, the default set.
    pub fn i2b2_2014() -> Self {
        Self::built_in_set("i2b2-2014").expect("the list has it")
    }

    /// Returns MEDDOCAN's labels.
    pub fn meddocan() -> Self {
        Self::built_in_set("meddocan").expect("the list has it")
    }

    /// Returns the built-in sets, the default first.
    pub fn built_in() -> impl Iterator<Item = Self> {
        BUILT_IN
            .iter()
            .map(|toml| Self::parse(toml, "built-in set").expect("the built-in sets are tested to parse"))
    }

    /// Returns the built-in set with this id.
    pub fn built_in_set(id: &str) -> Option<Self> {
        Self::built_in().find(|set| set.id == id)
    }

    /// Returns the first built-in set that has all of these labels.
    pub fn built_in_with(names: &[String]) -> Option<Self> {
        Self::built_in().find(|set| names.iter().all(|name| set.by_name.contains_key(name)))
    }

    /// Returns the ids of the built-in sets, separated by commas, for messages.
    pub fn built_in_ids() -> String {
        let ids: Vec<_> = Self::built_in().map(|set| set.id).collect();
        ids.join(", ")
    }

    /// Creates a set of bare names, for a model whose labels no set describes: each is its own category and
    /// belongs to the last of HIPAA's identifiers.
    ///
    /// # Errors
    /// [`LabelError::Inconsistent`] if a name occurs twice.
    pub fn of_names(id: &str, names: &[String]) -> Result<Self, LabelError> {
        let label = |name: &String| Label {
            name: name.clone(),
            category: name.clone(),
            hipaa: Hipaa::Other,
            equivalent: Vec::new(),
        };
        let file = File {
            id: id.to_owned(),
            version: 1,
            fallback: None,
            label: names.iter().map(label).collect(),
        };
        Self::of(file, id)
    }

    /// Reads a set from TOML. `origin` is the file's name, for messages.
    ///
    /// # Errors
    /// [`LabelError::Syntax`] or [`LabelError::Inconsistent`].
    pub fn parse(toml: &str, origin: &str) -> Result<Self, LabelError> {
        let file: File = toml::from_str(toml).map_err(|error| LabelError::Syntax {
            origin: origin.to_owned(),
            message: reworded_toml(&error.to_string()),
        })?;
        Self::of(file, origin)
    }

    /// Returns the set as TOML that [`LabelSet::parse`] reads.
    pub fn to_toml(&self) -> String {
        let file = File {
            id: self.id.clone(),
            version: self.version,
            fallback: self.fallback.map(|id| self.label(id).name.clone()),
            label: self.labels.clone(),
        };
        toml::to_string(&file).expect("strings and numbers are TOML")
    }

    fn of(file: File, origin: &str) -> Result<Self, LabelError> {
        let fault = |name: &str, problem| LabelError::Inconsistent {
            origin: origin.to_owned(),
            name: name.to_owned(),
            problem,
        };
        let (mut by_name, mut by_equivalent) = (HashMap::new(), HashMap::new());
        for (i, label) in file.label.iter().enumerate() {
            let id = LabelId(
                u16::try_from(i).map_err(|_| fault(&label.name, "exceeds the limit of 65,536 labels"))?,
            );
            if by_name.insert(label.name.clone(), id).is_some() {
                return Err(fault(&label.name, "occurs twice"));
            }
            if label.hipaa == Hipaa::Unlisted && !label.is_origin() {
                return Err(fault(
                    &label.name,
                    "cannot have `hipaa = \"none\"`, which is for a label that stands for `ORIGIN` alone; give its letter, or \"R\"",
                ));
            }
            for name in &label.equivalent {
                if by_equivalent.insert(name.clone(), id).is_some() {
                    return Err(fault(name, "is claimed as equivalent twice"));
                }
            }
        }
        let fallback = match &file.fallback {
            Some(name) => Some(
                *by_name
                    .get(name)
                    .ok_or_else(|| fault(name, "is the fallback but not in the set"))?,
            ),
            None => None,
        };
        Ok(Self {
            id: file.id,
            version: file.version,
            labels: file.label,
            by_name,
            by_equivalent,
            fallback,
        })
    }

    /// Returns the set's id, for instance `i2b2-2014`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the set's version, which goes up whenever a label changes its meaning.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Returns all labels, by index.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// Returns the label behind an id of this set.
    ///
    /// # Panics
    /// If the id belongs to another set.
    pub fn label(&self, id: LabelId) -> &Label {
        &self.labels[usize::from(id.0)]
    }

    /// Returns whether the id is one of this set.
    pub fn contains(&self, id: LabelId) -> bool {
        usize::from(id.0) < self.labels.len()
    }

    /// Returns the label of exactly this name.
    pub fn by_name(&self, name: &str) -> Option<LabelId> {
        self.by_name.get(name).copied()
    }

    /// Returns the end of an error about a label that is not in the set: "; did you mean `PATIENT`?", or
    /// nothing if no label is near.
    pub fn did_you_mean(&self, name: &str) -> String {
        did_you_mean(name, self.labels.iter().map(|label| label.name.as_str()))
    }

    /// Returns the label that stands for an i2b2-2014 label: the declared equivalent, else the one of that
    /// name, else the fallback.
    ///
    /// # Errors
    /// [`LabelError::Missing`].
    pub fn resolve(&self, i2b2: &str) -> Result<LabelId, LabelError> {
        (self.by_equivalent.get(i2b2).copied())
            .or_else(|| self.by_name(i2b2))
            .or(self.fallback)
            .ok_or_else(|| LabelError::Missing {
                set: self.id.clone(),
                name: i2b2.to_owned(),
            })
    }
}

impl fmt::Debug for LabelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "LabelSet({} v{}, {} labels)",
            self.id,
            self.version,
            self.labels.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_written_as_toml_reads_back_the_same() {
        for set in LabelSet::built_in() {
            let again = LabelSet::parse(&set.to_toml(), "again").unwrap();
            assert_eq!((again.to_toml(), again.labels()), (set.to_toml(), set.labels()));
            assert_eq!(again.resolve("PATIENT").ok(), set.resolve("PATIENT").ok());
        }
    }

    #[test]
    fn the_built_in_sets_parse_and_every_i2b2_label_resolves_in_all() {
        let (i2b2, meddocan) = (LabelSet::i2b2_2014(), LabelSet::meddocan());
        assert_eq!(i2b2.labels().len(), 30);
        for set in LabelSet::built_in() {
            for label in i2b2.labels() {
                set.resolve(&label.name).unwrap();
            }
        }
        assert_eq!(
            meddocan.label(meddocan.resolve("PATIENT").unwrap()).name,
            "NOMBRE_SUJETO_ASISTENCIA"
        );
    }

    #[test]
    fn the_seven_categories_are_those_of_the_track() {
        let set = LabelSet::i2b2_2014();
        let categories: std::collections::BTreeSet<_> =
            set.labels().iter().map(|label| label.category.as_str()).collect();
        assert_eq!(
            categories.into_iter().collect::<Vec<_>>(),
            ["AGE", "CONTACT", "DATE", "ID", "LOCATION", "NAME", "PROFESSION"]
        );
    }

    #[test]
    fn bare_names_make_a_set_and_a_repeated_name_is_refused() {
        let names = ["ORG", "DEM"].map(str::to_owned);
        let set = LabelSet::of_names("tab", &names).unwrap();
        assert_eq!(set.by_name("DEM"), Some(LabelId(1)));
        assert!(set.resolve("PATIENT").is_err());
        let twice = LabelSet::of_names("tab", &["ORG", "ORG"].map(str::to_owned)).unwrap_err();
        assert!(twice.to_string().contains("`ORG` occurs twice"));
    }

    #[test]
    fn the_letters_run_from_a_to_r() {
        assert_eq!(Hipaa::Names.letter(), 'A');
        assert_eq!((Hipaa::Other.letter(), Hipaa::Unlisted.letter()), ('R', '-'));
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line() {
        let error = LabelSet::parse("id = \"x\"\nversion = 1\ncolour = 3\nlabel = []", "mine.toml")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("mine.toml") && error.contains("line 3") && error.contains("colour"),
            "{error}"
        );
    }

    #[test]
    fn a_label_that_is_near_is_suggested() {
        let set = LabelSet::i2b2_2014();
        assert_eq!(set.did_you_mean("PATEINT"), "; did you mean `PATIENT`?");
        assert_eq!(set.did_you_mean("phones"), "; did you mean `PHONE`?");
        assert_eq!(set.did_you_mean("GEMSTONE"), "");
    }

    #[test]
    fn a_label_that_stands_twice_is_refused() {
        let twice = "id='x'\nversion=1\n[[label]]\nname='A'\ncategory='N'\nhipaa='A'\n[[label]]\nname='A'\ncategory='N'\nhipaa='A'\n";
        assert!(
            LabelSet::parse(twice, "mine.toml")
                .unwrap_err()
                .to_string()
                .contains("`A` occurs twice")
        );
    }
}
