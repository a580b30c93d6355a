//! The vault: random codes without information about a person, and the store that maps them to values.
//!
//! 45 CFR 164.514(c) allows a covered entity to keep a means of re-identification if the code "is not derived
//! from or related to information about the individual" and the means is not disclosed. So a code here comes
//! from the system's random numbers, and only the vault, which stays with the covered entity, knows its
//! value.
//!
//! The store never holds plain text. It finds a value by a keyed hash (128 bits of HMAC-SHA256, so among ten
//! million values two share a hash with a probability of 10^-25), and keeps the value sealed, so that a
//! holder of the key can look a code up. A thief of the store without the key learns only the number of
//! codes.
//!
//! Two processes that request the same new value at the same time get the same code, and a code is returned
//! only when it would survive a loss of power.
//!
//! A vault belongs to the key that was current at its creation, and records its id. It continues with that
//! key while the key is current or accepted: a rotation does not change codes.

mod cipher;
mod code;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;

use std::fmt;

use zeroize::Zeroizing;

pub use code::Code;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresTls, PostgresVault};
pub use sqlite::SqliteVault;

use crate::keys::KeyError;

/// The longest value, in bytes, with its label and scope: far beyond any identifier.
pub const LONGEST: usize = 64 * 1024;

/// The value that one code stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct VaultKey<'a> {
    /// The kind of value: the label.
    pub label: &'a str,
    /// The scope within which the value has one code: nearly always the patient; empty for all.
    pub scope: &'a str,
    /// The value, compared byte by byte.
    pub value: &'a str,
}

impl fmt::Debug for VaultKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VaultKey({}, [{} bytes])", self.label, self.value.len())
    }
}

/// The value of a code, for authorised users.
pub struct Entry {
    /// The kind of value.
    pub label: String,
    /// The scope of its code.
    pub scope: Zeroizing<String>,
    /// The value.
    pub value: Zeroizing<String>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({}, [{} bytes])", self.label, self.value.len())
    }
}

/// A store of random codes. Calls block, on a disk or on a server, at most for the time limit of the vault.
pub trait Vault: Send + Sync {
    /// Returns the codes of these values in their order: existing codes unchanged, and new codes, which are
    /// durable before this returns.
    ///
    /// # Errors
    ///
    /// Any of [`VaultError`]. After an error some of the values may have codes, which a later call returns.
    fn codes(&self, wanted: &[VaultKey<'_>]) -> Result<Vec<Code>, VaultError>;

    /// Returns the value of a code; `None` if this vault never assigned it.
    ///
    /// # Errors
    ///
    /// Any of [`VaultError`].
    fn value(&self, code: Code) -> Result<Option<Entry>, VaultError>;

    /// Stores a text under a key, unless the key has one, durably before this returns. Returns the text that
    /// is now stored: the first one of several. Its code is not revealed.
    ///
    /// # Errors
    ///
    /// Any of [`VaultError`].
    fn keep(&self, key: VaultKey<'_>, text: &str) -> Result<Zeroizing<String>, VaultError>;

    /// Returns the text that is stored under a key, if there is one.
    ///
    /// # Errors
    ///
    /// Any of [`VaultError`].
    fn kept(&self, key: VaultKey<'_>) -> Result<Option<Zeroizing<String>>, VaultError>;

    /// Returns at most `limit` entries whose codes come after `after`, in the order of their numbers; from
    /// the first if `after` is `None`. Fewer than `limit` are the last ones.
    ///
    /// # Errors
    ///
    /// Any of [`VaultError`].
    fn page(&self, after: Option<Code>, limit: u32) -> Result<Vec<(Code, Entry)>, VaultError>;

    /// Removes codes and their values, durably before this returns, and returns how many of them existed. A
    /// value that is requested again gets another code. A removed code can no longer be reversed.
    ///
    /// # Errors
    ///
    /// Any of [`VaultError`]. After an error some of them may be removed; the same call removes the rest.
    fn remove(&self, codes: &[Code]) -> Result<u64, VaultError>;

    /// Returns the id of the key that the vault belongs to, for the audit.
    fn key_id(&self) -> &str;
}

/// Why a vault did not respond. Contains ids, codes and the store's messages about its own tables, which hold
/// no text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// Busy, full, unreachable, or slower than the time limit. The same call may succeed later.
    #[error("the vault is not available at the moment: {reason}")]
    Unavailable {
        /// The message of the store or the operating system.
        reason: String,
    },
    /// There is no vault at this place. Lethe creates one only on request, because a wrong path would give
    /// every patient a second code.
    #[error("there is no vault at {place}")]
    Missing {
        /// The path, or the server and database.
        place: String,
    },
    /// Something else is at this place.
    #[error("what is at {place} is not a vault")]
    Foreign {
        /// The path.
        place: String,
    },
    /// A version of this program with an unknown format created the vault.
    #[error("the vault has format {found}, but this program reads format {known}")]
    Form {
        /// The vault's format.
        found: i32,
        /// The program's format.
        known: i32,
    },
    /// The keyring does not open the vault's key.
    #[error("the vault belongs to a key that this keyring does not open: {0}")]
    Key(#[from] KeyError),
    /// The keyring has another secret under the id of the vault's key.
    #[error("the vault belongs to another key with the id {id}: all its codes would be new")]
    WrongKey {
        /// The id.
        id: String,
    },
    /// The store refused access: login, rights, certificates, settings.
    #[error("the vault refused: {reason}")]
    Refused {
        /// The message of the store or the operating system.
        reason: String,
    },
    /// An entry does not open, or is missing for its code.
    #[error("the vault is damaged: {what}")]
    Damaged {
        /// The damaged part, by code.
        what: String,
    },
    /// A value is longer than any identifier.
    #[error("a value of {bytes} bytes is too long for the vault (the longest is {LONGEST})")]
    TooLong {
        /// Its length with label and scope.
        bytes: usize,
    },
    /// The operating system returned no random bytes.
    #[error("the system's source of random numbers failed")]
    Random,
}

impl VaultError {
    /// Returns whether the same call may succeed later, with nothing changed.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}
