//! The policy file: plain data in TOML, without behaviour.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lethe_core::{CarriedField, Hipaa, Label, ORIGIN, hex, reworded_toml};
use lethe_surrogates::Language;
use lethe_surrogates::dates::Order;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::authority::Authority;
use crate::error::PolicyError;

/// The rule of 45 CFR 164.514 that Lethe validates the policy against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// 164.514(b)(2): removes the eighteen identifiers.
    SafeHarbor,
    /// 164.514(e): removes sixteen direct identifiers. Dates, towns and ZIP codes may stay, under a data use
    /// agreement.
    LimitedDataSet,
    /// 164.514(b)(1): an expert determined that the risk is very small, and documented it.
    ExpertDetermination,
    /// Lethe validates the policy against no rule.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Numbered {
    /// Within a note: `[DOCTOR-1]`, `[DOCTOR-2]`, in the order of their occurrence.
    Note,
    /// In all notes of a patient: `[DOCTOR-7QX2M4]`, a code from the vault if there is one, else from the
    /// key.
    Patient,
}

/// The source of the codes of `pseudonym`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Codes {
    /// Derived from the value, by HMAC under the key.
    #[default]
    Hmac,
    /// Random, stored in the vault.
    Vault,
}

/// The notes among which equal values get equal replacements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The notes of one patient. A doctor has another surrogate in each patient's notes.
    #[default]
    Patient,
    /// All notes under the key, for staff and institutions of the site. This links all notes that name one.
    Site,
}

impl Scope {
    fn is_patient(&self) -> bool {
        *self == Self::Patient
    }
}

/// The action for spans of a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Operation {
    /// Writes the label in brackets.
    Tag {
        /// Where equal values have equal numbers. By default tags have no number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        numbered: Option<Numbered>,
    },
    /// Writes one `*` for each character except white space.
    Mask {},
    /// Writes nothing.
    Remove {},
    /// Reduces a date to its year, an age over 89 to "90 or older", a ZIP code to three digits.
    Generalise {},
    /// Moves a date by the patient's own number of days.
    Shift {},
    /// Writes a code in brackets, the same for equal values.
    Pseudonym {
        /// The source of codes.
        #[serde(default)]
        codes: Codes,
        /// The notes within which equal values have equal codes.
        #[serde(default, skip_serializing_if = "Scope::is_patient")]
        #[schemars(extend("default" = Scope::default()))]
        scope: Scope,
    },
    /// Writes the value, encrypted under the key.
    Encrypt {},
    /// Writes a code of fixed length that no other id has and that the key reverses. It is the same in all
    /// notes.
    EncryptId {},
    /// Writes a realistic other value, the same for equal values of the patient.
    Surrogate {
        /// The notes within which equal values have equal surrogates.
        #[serde(default, skip_serializing_if = "Scope::is_patient")]
        #[schemars(extend("default" = Scope::default()))]
        scope: Scope,
    },
    /// Keeps the value.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// The note counts as a patient of its own, and the audit's `scope` is `note`.
    #[default]
    Note,
    /// The note is quarantined.
    Quarantine,
}

/// The treatment of ids that an event declares to be one patient's: merges and links of HL7 v2 and FHIR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// Each id keeps codes of its own. Lethe logs once that it ignored a link.
    #[default]
    Ignore,
    /// The vault stores links. From then on Lethe replaces the ids as one patient's.
    Vault,
}

impl Links {
    fn is_ignore(&self) -> bool {
        *self == Self::Ignore
    }
}

/// How to treat notes without a patient, and patients whose ids are linked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Patient {
    /// How to treat a note whose event has no patient id.
    pub missing: Missing,
    /// How to treat ids that events merge or link.
    #[serde(skip_serializing_if = "Links::is_ignore")]
    #[schemars(extend("default" = Links::default()))]
    pub links: Links,
}

/// How far `shift` moves dates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Shift {
    /// The maximum shift in either direction.
    #[schemars(extend("x-unit" = "days"))]
    pub days: u16,
    /// Whether to shift by whole weeks only, so that days of the week stay.
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

/// The source of keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Keys {
    /// A key file, which `lethe new-key` creates.
    File(PathBuf),
    /// An environment variable that contains the key file's text.
    Env(String),
}

/// The store of random codes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum VaultPlace {
    /// A file, for the processes of one machine.
    Sqlite {
        /// The file.
        #[schemars(extend("examples" = ["/var/lib/lethe/vault.db"]))]
        path: PathBuf,
        /// Whether to create the file if it does not exist. With a wrong path, that would give every value a
        /// second code.
        #[serde(default)]
        create: bool,
    },
    /// A PostgreSQL server, for several machines.
    Postgres {
        /// The environment variable that contains the connection string, password included.
        #[schemars(extend("examples" = ["LETHE_VAULT"]))]
        env: String,
        /// The encryption of the connection.
        #[serde(default)]
        tls: Tls,
        /// Timeout of a call.
        #[serde(default = "half_a_minute")]
        limit_seconds: u64,
        /// Whether to create the tables if they do not exist.
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Tls {
    /// TLS, with the system's certificate authorities.
    #[default]
    System,
    /// TLS, with only the certificate authorities of a PEM file.
    Authority(PathBuf),
    /// No encryption, for a local socket or an encrypted network.
    Off,
}

const fn half_a_minute() -> u64 {
    30
}

/// A redaction policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// The rule that Lethe validates the policy against.
    pub mode: Mode,
    /// The expert who determined that the risk is very small, the date, and where that is documented. Required
    /// by `expert-determination`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["B. Ames, 2026-03-01, report 17"]))]
    pub determination: Option<String>,
    /// The language of the notes, for surrogates and for dates that are ambiguous.
    #[serde(default = "english")]
    pub language: Language,
    /// The order of day and month in dates that are ambiguous. Default: `mdy` for English, `dmy` for Spanish
    /// and German.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dates: Option<Order>,
    /// Whether to redact every further occurrence of a redacted value in the note.
    // The digest covers the policy as TOML, which has the key under its first name.
    #[serde(default = "yes", rename(serialize = "sweep"), alias = "sweep")]
    pub propagate: bool,
    /// Whether to redact titles and forms of address ("Dr.", "Mrs") together with the name that they stand
    /// before. Exception: surrogates, which agree with the title, and kept names leave it as it is.
    // Absent from the digest if it is off, so that a policy that does not have it keeps its digest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub titles: bool,
    /// The action for labels that `labels` does not name. Exception: Lethe keeps `ORIGIN`, unless the mode is
    /// `custom`.
    #[serde(default = "tag")]
    pub default: Operation,
    /// The action for each label, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("examples" = [{ "DATE": { "action": "shift" } }]))]
    pub labels: BTreeMap<String, Operation>,
    /// Metadata of the sender that leaves unchanged, with the reason why it may. Lethe writes the reasons to
    /// the metadata of every file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "propertyNames" = { "enum": CarriedField::ALL },
        "examples" = [{ "note_id": "a running number of the document store" }]
    ))]
    pub keep: BTreeMap<CarriedField, String>,
    /// The authorities that assign ids, each with the names that sources give it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authority: Vec<Authority>,
    /// How to treat notes without a patient, and patients whose ids are linked.
    #[serde(default)]
    pub patient: Patient,
    /// How far `shift` moves dates.
    #[serde(default)]
    pub shift: Shift,
    /// The keys, which `shift`, `pseudonym`, `encrypt`, `encrypt-id`, `surrogate` and numbered tags need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Keys>,
    /// The store of random codes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault: Option<VaultPlace>,
    /// A table of the population of ZIP prefixes, which `generalise` uses. Default: the built-in table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["zip3.toml"]))]
    pub zip_table: Option<PathBuf>,
    /// The digest of the file as it is written, once [`with_paths`](Self::with_paths) changed its paths.
    #[serde(skip)]
    pub(crate) written: Option<String>,
}

/// The keys of a policy whose values are paths.
pub const PATHS: &[&str] = &["keys.file", "vault.path", "vault.tls.authority", "zip_table"];

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
            message: reworded_toml(&error.to_string()),
        })
    }

    /// Replaces every path by what `place` returns for its key and the path. The digest stays that of the
    /// paths as they are written.
    ///
    /// # Errors
    /// The error of `place`.
    pub fn with_paths<E>(
        mut self,
        mut place: impl FnMut(&'static str, &Path) -> Result<PathBuf, E>,
    ) -> Result<Self, E> {
        self.written = Some(self.digest());
        let [keys, vault, authority, zips] = PATHS else {
            unreachable!("there are four keys")
        };
        if let Some(Keys::File(path)) = &mut self.keys {
            *path = place(keys, path)?;
        }
        match &mut self.vault {
            Some(VaultPlace::Sqlite { path, .. }) => *path = place(vault, path)?,
            Some(VaultPlace::Postgres {
                tls: Tls::Authority(path),
                ..
            }) => *path = place(authority, path)?,
            _ => {}
        }
        if let Some(path) = &mut self.zip_table {
            *path = place(zips, path)?;
        }
        Ok(self)
    }

    /// Creates a policy that tags everything.
    pub(crate) fn plain() -> Self {
        Self {
            mode: Mode::Custom,
            determination: None,
            language: english(),
            dates: None,
            propagate: yes(),
            titles: false,
            default: tag(),
            labels: BTreeMap::new(),
            keep: BTreeMap::new(),
            authority: Vec::new(),
            patient: Patient::default(),
            shift: Shift::default(),
            keys: None,
            vault: None,
            zip_table: None,
            written: None,
        }
    }

    /// Returns the SHA-256 of the policy as TOML, defaults included, in hexadecimal: files that differ only
    /// in form have the same digest.
    pub fn digest(&self) -> String {
        if let Some(written) = &self.written {
            return written.clone();
        }
        let written = toml::to_string(self).expect("strings, numbers and tables are TOML");
        hex(&Sha256::digest(written.as_bytes()))
    }

    /// Returns the operation for a label of this name.
    pub fn operation(&self, label: &str) -> &Operation {
        self.labels.get(label).unwrap_or(&self.default)
    }

    /// Returns the operation for a label: the one under its name, else the default. Under a rule of 45 CFR 164.514
    /// the default is for the identifiers that the regulation lists; a label that it does not list is kept.
    pub fn operation_for(&self, label: &Label) -> &Operation {
        match self.labels.get(&label.name) {
            Some(operation) => operation,
            None if label.hipaa == Hipaa::Unlisted && self.mode != Mode::Custom => &Operation::Keep {},
            None => &self.default,
        }
    }

    /// Returns whether the policy names the label [`ORIGIN`], so that the member that finds it must run.
    pub fn names_origin(&self) -> bool {
        self.labels.contains_key(ORIGIN)
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
            (
                "mode = \"custom\"\npropagte = true",
                "unknown key `propagte`; did you mean `propagate`?",
            ),
            (
                "mode = \"custom\"\n[labels.DATE]\naction = \"shfit\"",
                "unknown value `shfit`; did you mean `shift`?",
            ),
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
        assert_eq!(
            digest("mode = \"custom\""),
            digest("mode = \"custom\"\ntitles = false")
        );
        assert_ne!(
            digest("mode = \"custom\""),
            digest("mode = \"custom\"\ntitles = true")
        );
    }
}
