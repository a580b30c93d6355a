//! The policy file: plain data in TOML, and nothing that acts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lethe_core::{CarriedField, hex};
use lethe_surrogates::Language;
use lethe_surrogates::dates::Order;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::authority::Authority;
use crate::error::PolicyError;

/// Under which rule of 45 CFR 164.514 the output is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// 164.514(b)(2): the eighteen identifiers are removed.
    SafeHarbor,
    /// 164.514(e): sixteen direct identifiers are removed; dates, towns and ZIP codes may stay, under a data use agreement.
    LimitedDataSet,
    /// 164.514(b)(1): an expert has found the risk to be very small, and has documented it.
    ExpertDetermination,
    /// No rule is checked.
    Custom,
}

impl Mode {
    /// Returns the name as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SafeHarbor => "safe-harbor",
            Self::LimitedDataSet => "limited-data-set",
            Self::ExpertDetermination => "expert-determination",
            Self::Custom => "custom",
        }
    }
}

/// Where the tags of one value have one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Numbered {
    /// In a note: `[DOCTOR-1]`, `[DOCTOR-2]`, in the order in which the note has them.
    Note,
    /// In all notes of a patient: `[DOCTOR-7QX2M4]`, a code of the vault, or of the key where there is no vault.
    Patient,
}

/// Where the codes of `pseudonym` come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Codes {
    /// From the value, by HMAC under the key.
    #[default]
    Hmac,
    /// Random, and kept in the vault.
    Vault,
}

/// Among which notes the same value is replaced alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// A patient's. A doctor has another surrogate in each patient's notes.
    #[default]
    Patient,
    /// All notes under the key: for people and institutions of the site. Links all notes that name one.
    Site,
}

impl Scope {
    fn is_patient(&self) -> bool {
        *self == Self::Patient
    }
}

/// What is done to spans of a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Operation {
    /// The label in brackets.
    Tag {
        /// Whether equal values have equal numbers, and where.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        numbered: Option<Numbered>,
    },
    /// One `*` for each character that is no white space.
    Mask {},
    /// Nothing at all.
    Remove {},
    /// A date to its year, an age over 89 to "90 or older", a ZIP code to three digits.
    Generalise {},
    /// A date by the patient's own number of days.
    Shift {},
    /// A code in brackets, the same for the same value.
    Pseudonym {
        /// Where it comes from.
        #[serde(default)]
        codes: Codes,
        /// Among which notes equal values have equal codes.
        #[serde(default, skip_serializing_if = "Scope::is_patient")]
        scope: Scope,
    },
    /// The value itself, sealed under the key.
    Encrypt {},
    /// An id by a code of fixed length that no other id has, and that the key reverses. The same in all notes.
    EncryptId {},
    /// A realistic other value, the same for the patient wherever it stands.
    Surrogate {
        /// Among which notes equal values have equal surrogates.
        #[serde(default, skip_serializing_if = "Scope::is_patient")]
        scope: Scope,
    },
    /// The role.
    Keep {},
}

impl Operation {
    /// Returns the name as it is written, in the file and in the audit.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Tag { .. } => "tag",
            Self::Mask {} => "mask",
            Self::Remove {} => "remove",
            Self::Generalise {} => "generalise",
            Self::Shift {} => "shift",
            Self::Pseudonym { .. } => "pseudonym",
            Self::Encrypt {} => "encrypt",
            Self::EncryptId {} => "encrypt-id",
            Self::Surrogate { .. } => "surrogate",
            Self::Keep {} => "keep",
        }
    }

    /// Returns whether it needs the vault, given that there is one or not.
    pub(crate) const fn needs_vault(&self) -> bool {
        matches!(
            self,
            Self::Pseudonym {
                codes: Codes::Vault,
                ..
            }
        )
    }

    /// Returns whether it needs a key where there is no vault.
    pub(crate) const fn needs_key(&self) -> bool {
        matches!(
            self,
            Self::Shift {}
                | Self::Pseudonym { .. }
                | Self::Encrypt {}
                | Self::EncryptId {}
                | Self::Surrogate { .. }
                | Self::Tag {
                    numbered: Some(Numbered::Patient)
                }
        )
    }
}

/// What happens to a note whose event does not say whose it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// It is a patient of its own: the same is replaced alike within it. The audit's scope says so.
    #[default]
    Note,
    /// It is quarantined.
    Quarantine,
}

/// What happens to ids that an event says are one patient's: merges and links of HL7 v2 and FHIR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// Nothing: each id has codes of its own, and the log says once that a link was not followed.
    #[default]
    Ignore,
    /// The vault remembers them: from then on the ids are replaced as one patient's.
    Vault,
}

impl Links {
    fn is_ignore(&self) -> bool {
        *self == Self::Ignore
    }
}

/// The `[patient]` table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Patient {
    /// Without a patient's id.
    pub missing: Missing,
    /// Ids that events merge or link.
    #[serde(skip_serializing_if = "Links::is_ignore")]
    pub links: Links,
}

/// The `[shift]` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shift {
    /// The most days, either way.
    pub days: u16,
    /// Whether days of the week stay what they are: whole weeks.
    pub weekday: bool,
}

impl Default for Shift {
    /// Up to 364 days, any day of the week.
    fn default() -> Self {
        Self {
            days: 364,
            weekday: false,
        }
    }
}

/// The `[keys]` table: one of the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Keys {
    /// A file of keys.
    File(PathBuf),
    /// An environment variable that holds them.
    Env(String),
}

/// The `[vault]` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum VaultPlace {
    /// A file that processes of one machine share.
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Whether Lethe creates it if it does not exist. Off by default: a wrong path would give everybody a second code.
        #[serde(default)]
        create: bool,
    },
    /// A server that machines share.
    Postgres {
        /// The environment variable that holds the connection's string, password and all.
        env: String,
        /// How the connection is kept private.
        #[serde(default)]
        tls: Tls,
        /// The longest that a call may take, in seconds.
        #[serde(default = "half_a_minute")]
        limit_seconds: u64,
        /// Whether its tables are made where there are none.
        #[serde(default)]
        create: bool,
    },
}

impl VaultPlace {
    /// Returns the same place, where a vault must exist.
    pub(crate) fn existing(&self) -> Self {
        let mut place = self.clone();
        match &mut place {
            Self::Sqlite { create, .. } | Self::Postgres { create, .. } => *create = false,
        }
        place
    }
}

/// How a connection to a server is kept private.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Tls {
    /// By TLS, against the system's authorities.
    #[default]
    System,
    /// By TLS, against the authorities of a PEM file alone.
    Authority(PathBuf),
    /// Not at all: for a socket of this machine, or a network that encrypts by itself.
    Off,
}

const fn half_a_minute() -> u64 {
    30
}

/// A policy as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// The rule that the output is made under.
    pub mode: Mode,
    /// The expert who determined that the risk is very small, the date, and where that is documented: needed for `expert-determination`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub determination: Option<String>,
    /// The notes' language, for what their words leave open.
    #[serde(default = "english")]
    pub language: Language,
    /// The order of day and month where numbers leave it open; by the language if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dates: Option<Order>,
    /// Whether what was redacted once is redacted wherever else the note has it.
    // The digest is of the policy as TOML, which has the key under its first name.
    #[serde(default = "yes", rename(serialize = "sweep"), alias = "sweep")]
    pub propagate: bool,
    /// What is done to labels that are not named.
    #[serde(default = "tag")]
    pub default: Operation,
    /// What is done to some labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Operation>,
    /// Metadata of the sender's that leaves as it is, with the reason why it may. The reasons stand in the metadata of every
    /// file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keep: BTreeMap<CarriedField, String>,
    /// The authorities that assign ids, by the names that sources give them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authority: Vec<Authority>,
    /// Notes without a patient.
    #[serde(default)]
    pub patient: Patient,
    /// How far dates are shifted.
    #[serde(default)]
    pub shift: Shift,
    /// Where keys are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Keys>,
    /// Where codes are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault: Option<VaultPlace>,
    /// A table of ZIP codes' first three digits other than the one that ships.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zip_table: Option<PathBuf>,
}

const fn yes() -> bool {
    true
}

const fn english() -> Language {
    Language::English
}

const fn tag() -> Operation {
    Operation::Tag { numbered: None }
}

impl PolicyFile {
    /// Reads a policy. `origin` is the file's name, for messages.
    ///
    /// # Errors
    /// [`PolicyError::Syntax`].
    pub fn parse(toml: &str, origin: &str) -> Result<Self, PolicyError> {
        toml::from_str(toml).map_err(|error| PolicyError::Syntax {
            origin: origin.to_owned(),
            message: error.to_string(),
        })
    }

    /// Creates a policy that tags everything.
    pub(crate) fn plain() -> Self {
        Self {
            mode: Mode::Custom,
            determination: None,
            language: english(),
            dates: None,
            propagate: yes(),
            default: tag(),
            labels: BTreeMap::new(),
            keep: BTreeMap::new(),
            authority: Vec::new(),
            patient: Patient::default(),
            shift: Shift::default(),
            keys: None,
            vault: None,
            zip_table: None,
        }
    }

    /// Returns the SHA-256 of the policy as TOML, defaults included, in hexadecimal: files that are written differently and mean the
    /// same have the same digest.
    pub fn digest(&self) -> String {
        let written = toml::to_string(self).expect("strings, numbers and tables are TOML");
        hex(&Sha256::digest(written.as_bytes()))
    }

    /// What is done to a label of this name.
    pub fn operation(&self, label: &str) -> &Operation {
        self.labels.get(label).unwrap_or(&self.default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(toml: &str) -> Result<PolicyFile, String> {
        PolicyFile::parse(toml, "policy.toml").map_err(|error| error.to_string())
    }

    #[test]
    fn a_mode_alone_is_a_policy_that_tags_everything_and_propagates() {
        let policy = parse("mode = \"safe-harbor\"").unwrap();
        assert_eq!(policy.operation("DATE"), &Operation::Tag { numbered: None });
        assert!(policy.propagate);
    }

    #[test]
    fn labels_have_operations_of_their_own() {
        let policy = parse(
            "mode = \"custom\"\ndefault = { action = \"mask\" }\n[labels.DATE]\naction = \"shift\"\n[labels.DOCTOR]\naction = \"tag\"\nnumbered = \"note\"",
        )
        .unwrap();
        assert_eq!(policy.operation("DATE").name(), "shift");
        assert_eq!(policy.operation("CITY").name(), "mask");
    }

    #[test]
    fn a_misspelt_key_an_unknown_action_and_a_missing_mode_are_refused_by_name() {
        for (toml, told) in [
            ("mode = \"custom\"\nswep = true", "swep"),
            ("mode = \"custom\"\n[labels.DATE]\naction = \"shfit\"", "shfit"),
            (
                "mode = \"custom\"\n[labels.DATE]\naction = \"shift\"\ndays = 3",
                "days",
            ),
            ("sweep = true", "mode"),
        ] {
            let error = parse(toml).unwrap_err();
            assert!(error.contains(told) && error.contains("policy.toml"), "{error}");
        }
    }

    #[test]
    fn the_digest_is_of_what_is_meant_not_of_how_it_is_written() {
        let digest = |toml: &str| parse(toml).unwrap().digest();
        assert_eq!(
            digest("mode = \"custom\""),
            digest("# same\nsweep = true\nmode = 'custom'")
        );
        assert_eq!(
            digest("mode = \"custom\"\npropagate = false"),
            digest("mode = \"custom\"\nsweep = false")
        );
        assert_ne!(
            digest("mode = \"custom\""),
            digest("mode = \"custom\"\nsweep = false")
        );
    }
}
