//! Why a policy is refused.

use lethe_secrets::VaultError;

/// Why a policy is refused. Names the file, the key and, where a rule is why, its clause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The file is no policy.
    #[error("{origin}: {message}")]
    Syntax {
        /// The file, as the caller named it.
        origin: String,
        /// What the parser says, with line and key.
        message: String,
    },
    /// A rule of the mode forbids it.
    #[error("{origin}: key `{key}`: 45 CFR {clause}: {why}")]
    Rule {
        /// The file.
        origin: String,
        /// The key at fault.
        key: String,
        /// The clause, for instance `164.514(b)(2)(i)(C)`.
        clause: &'static str,
        /// What is wrong, and what to do.
        why: String,
    },
    /// Several things are wrong; each is one of the others.
    #[error("{}", lines(.0))]
    Several(Vec<PolicyError>),
    /// Something that it names cannot be reached at the moment. The same call may succeed later, with nothing changed.
    #[error("{origin}: key `{key}`: {why}")]
    Unavailable {
        /// The file.
        origin: String,
        /// The key that names it.
        key: String,
        /// What happened.
        why: String,
    },
    /// Something that it names is not there or does not fit.
    #[error("{origin}: key `{key}`: {why}")]
    Key {
        /// The file.
        origin: String,
        /// The key at fault.
        key: String,
        /// What is wrong, and what to do.
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

    /// Returns the error of a vault that did not open: only one that is away for now is temporary.
    pub(crate) fn vault(origin: &str, error: &VaultError) -> Self {
        let (origin, key, why) = (origin.to_owned(), "vault".to_owned(), error.to_string());
        if error.is_temporary() {
            Self::Unavailable { origin, key, why }
        } else {
            Self::Key { origin, key, why }
        }
    }

    /// One error for all of these; none if there are none.
    pub(crate) fn of(mut errors: Vec<Self>) -> Result<(), Self> {
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(Self::Several(errors)),
        }
    }
}
