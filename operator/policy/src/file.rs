//! The policy file: plain data in TOML, without behaviour.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lethe_core::{CarriedField, hex};
use lethe_surrogates::Language;
use lethe_surrogates::dates::Order;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::authority::Authority;
use crate::error::PolicyError;

/// The rule of 45 CFR 164.514 that the output follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// 164.514(b)(2): the eighteen identifiers are removed.
    SafeHarbor,
    /// 164.514(e): sixteen direct identifiers are removed; under a data use agreement, dates, towns and ZIP
    /// codes may stay.
    LimitedDataSet,
    /// 164.514(b)(1): an expert has determined that the risk is very small, and has documented it.
    ExpertDetermination,
    /// Lethe checks no rule.
    Custom,
}

impl Mode {
    /// Returns the name in the policy file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SafeHarbor => "safe-harbor",
            Self::LimitedDataSet => "limited-data-set",
            Self::ExpertDetermination => "expert-determination",
            Self::Custom => "custom",
        }
    }
}

/// The scope within which tags of equal values have equal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Numbered {
    /// One note: `[DOCTOR-1]`, `[DOCTOR-2]`, in the order of their first occurrence.
    Note,
    /// All notes of a patient: `[DOCTOR-7QX2M4]`, a code from the vault, or from the key if there is no
    /// vault.
    Patient,
}

/// The source of the codes of `pseudonym`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Codes {
    /// HMAC of the value under the key.
    #[default]
    Hmac,
    /// Random, and stored in the vault.
    Vault,
}

/// The notes among which equal values get equal replacements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The notes of one patient. A doctor has another surrogate in each patient's notes.
    #[default]
    Patient,
    /// All notes under the key, for people and institutions of the site. This links all notes that name the
    /// same one.
    Site,
}

impl Scope {
    fn is_patient(&self) -> bool {
        *self == Self::Patient
    }
}

/// The operation for spans of a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Operation {
    /// Replaces the value by its label in brackets.
    Tag {
        /// Whether equal values have equal numbers, and in which scope.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        numbered: Option<Numbered>,
    },
    /// Writes one `*` for each character that is not white space.
    Mask {},
    /// Removes the value.
    Remove {},
    /// Reduces a date to its year, an age over 89 to "90 or older", and a ZIP code to three digits.
    Generalise {},
    /// Moves a date by the patient's own number of days.
    Shift {},
    /// Replaces a value by a code in brackets; equal values get equal codes.
    Pseudonym {
        /// The source of the code.
        #[serde(default)]
        codes: Codes,
        /// The notes among which equal values have equal codes.
        #[serde(default, skip_serializing_if = "Scope::is_patient")]
        scope: Scope,
    },
    /// Encrypts the value under the key.
    Encrypt {},
    /// Replaces an id by a unique code of fixed length that the key reverses. The code is the same in all
    /// notes.
    EncryptId {},
    /// Replaces a value by a realistic other one, the same at every occurrence for the patient.
    Surrogate {
        /// The notes among which equal values have equal surrogates.
        #[serde(default, skip_serializing_if = "Scope::is_patient")]
        scope: Scope,
    },
    /// Leaves the value unchanged.
    Keep {},
}

impl Operation {
    /// Returns the name in the file and in the audit.
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

    /// Returns whether it needs a vault, given whether the policy has one.
    pub(crate) const fn needs_vault(&self) -> bool {
        matches!(
            self,
            Self::Pseudonym {
                codes: Codes::Vault,
                ..
            }
        )
    }

    /// Returns whether it needs a key if there is no vault.
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

/// The treatment of a note whose event does not name its patient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// The note is a patient of its own: equal values get equal replacements only within it. The audit's
    /// scope is `note`.
    #[default]
    Note,
    /// The note is quarantined.
    Quarantine,
}

/// The treatment of ids that an event declares to be one patient's: merges and links of HL7 v2 and FHIR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// Links are ignored: each id has its own codes, and the log reports once that a link was ignored.
    #[default]
    Ignore,
    /// The vault stores links: from then on the ids are replaced as one patient's.
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
    /// The treatment of notes without a patient's id.
    pub missing: Missing,
    /// The treatment of ids that events merge or link.
    #[serde(skip_serializing_if = "Links::is_ignore")]
    pub links: Links,
}

/// The `[shift]` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shift {
    /// The most days by which a date moves, in either direction.
    pub days: u16,
    /// Whether dates move by whole weeks, which keeps the day of the week.
    pub weekday: bool,
}

impl Default for Shift {
    /// Returns a shift of up to 364 days, any day of the week.
    fn default() -> Self {
        Self {
            days: 364,
            weekday: false,
        }
    }
}

/// The `[keys]` table, with one of the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Keys {
    /// A file of keys.
    File(PathBuf),
    /// An environment variable with the keys.
    Env(String),
}

/// The `[vault]` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum VaultPlace {
    /// An SQLite file that processes of one machine share.
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Whether Lethe creates the file if it does not exist. Off by default, because a wrong path would
        /// give every patient a second code.
        #[serde(default)]
        create: bool,
    },
    /// A PostgreSQL server that several machines share.
    Postgres {
        /// The environment variable with the connection string, including the password.
        env: String,
        /// The encryption of the connection.
        #[serde(default)]
        tls: Tls,
        /// The time limit of a call, in seconds.
        #[serde(default = "half_a_minute")]
        limit_seconds: u64,
        /// Whether Lethe creates the tables if they do not exist.
        #[serde(default)]
        create: bool,
    },
}

impl VaultPlace {
    /// Returns the same place, with creation of the vault turned off.
    pub(crate) fn existing(&self) -> Self {
        let mut place = self.clone();
        match &mut place {
            Self::Sqlite { create, .. } | Self::Postgres { create, .. } => *create = false,
        }
        place
    }
}

/// The encryption of a connection to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Tls {
    /// TLS, verified with the system's certificate authorities.
    #[default]
    System,
    /// TLS, verified only with the certificate authorities of a PEM file.
    Authority(PathBuf),
    /// No encryption: for a socket of this machine, or an encrypted network.
    Off,
}

const fn half_a_minute() -> u64 {
    30
}

/// A policy file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// The rule that the output follows.
    pub mode: Mode,
    /// The expert who determined that the risk is very small, the date, and the place of the document.
    /// Required for `expert-determination`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub determination: Option<String>,
    /// The language of the notes, for text whose words leave it open.
    #[serde(default = "english")]
    pub language: Language,
    /// The order of day and month in ambiguous dates; by default that of the language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dates: Option<Order>,
    /// Whether Lethe redacts every further occurrence of a redacted value in the note.
    // The digest covers the policy as TOML, which has the key under its first name.
    #[serde(default = "yes", rename(serialize = "sweep"), alias = "sweep")]
    pub propagate: bool,
    /// The operation for labels without one of their own.
    #[serde(default = "tag")]
    pub default: Operation,
    /// The operations for individual labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Operation>,
    /// Metadata of the sender that leaves unchanged, with the reason why it may. The metadata of every file
    /// repeat the reasons.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keep: BTreeMap<CarriedField, String>,
    /// The authorities that assign ids, with their names in sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authority: Vec<Authority>,
    /// The treatment of patients' ids.
    #[serde(default)]
    pub patient: Patient,
    /// How far dates are shifted.
    #[serde(default)]
    pub shift: Shift,
    /// The source of the keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Keys>,
    /// The vault of codes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault: Option<VaultPlace>,
    /// A table of ZIP codes' first three digits that replaces the built-in one.
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

    /// Returns the SHA-256 of the policy as TOML, defaults included, in hexadecimal: files that differ only
    /// in form have the same digest.
    pub fn digest(&self) -> String {
        let written = toml::to_string(self).expect("strings, numbers and tables are TOML");
        hex(&Sha256::digest(written.as_bytes()))
    }

    /// Returns the operation for a label of this name.
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
