//! Reasons for refusing a policy.

use lethe_secrets::VaultError;

/// Why a policy is refused. Names the file, the key and, for a violated rule, its clause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The file is not a valid policy.
    #[error("{origin}: {message}")]
    Syntax {
        /// The file, as the caller named it.
        origin: String,
        /// The parser's message, with line and key.
        message: String,
    },
    /// A rule of the mode forbids it.
    #[error("{origin}: key `{key}`: 45 CFR {clause}: {why}")]
    Rule {
        /// The file.
        origin: String,
        /// The invalid key.
        key: String,
        /// The clause, for instance `164.514(b)(2)(i)(C)`.
        clause: &'static str,
        /// The problem and the remedy.
        why: String,
    },
    /// Several errors, each of one of the other kinds.
    #[error("{}", lines(.0))]
    Several(Vec<PolicyError>),
    /// A resource that the policy names is unavailable for now. The same call may succeed later, with nothing
    /// changed.
    #[error("{origin}: key `{key}`: {why}")]
    Unavailable {
        /// The file.
        origin: String,
        /// The key that names it.
        key: String,
        /// The problem.
        why: String,
    },
    /// A resource that the policy names does not exist or does not match.
    #[error("{origin}: key `{key}`: {why}")]
    Key {
        /// The file.
        origin: String,
        /// The invalid key.
        key: String,
        /// The problem and the remedy.
        why: String,
    },
}

fn lines(errors: &[PolicyError]) -> String {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

impl PolicyError {
    /// Returns whether the same call may succeed later, with nothing changed.
    pub const fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }

    /// Returns the error for a vault that did not open; only an unavailable vault is temporary.
    pub(crate) fn vault(origin: &str, error: &VaultError) -> Self {
        let (origin, key, why) = (origin.to_owned(), "vault".to_owned(), error.to_string());
        if error.is_temporary() {
            Self::Unavailable { origin, key, why }
        } else {
            Self::Key { origin, key, why }
        }
    }

    /// Returns one error for all of these, or `Ok` if there are none.
    pub(crate) fn of(mut errors: Vec<Self>) -> Result<(), Self> {
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(Self::Several(errors)),
        }
    }
}
