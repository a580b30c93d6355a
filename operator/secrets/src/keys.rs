//! The keyring: the key that makes new output, the keys that may still reverse old output, and the retired
//! keys.
//!
//! Rotations overlap. A new key is first added as `accepted` on every machine, then becomes `current`
//! everywhere (the old one becomes `accepted`), and the old one is `retired` when none of its output has to
//! be reversed any more. Output names the id of its key, so an id is never reused for another secret.
//!
//! A rotation changes pseudonyms, shifts and surrogates of the same patient; only sealed text and the vault
//! (which keeps the key that it was created with) remain readable.

mod parse;
mod source;

use std::fmt;
use std::path::PathBuf;

use hkdf::Hkdf;
use sha2_wiping::Sha256;
use zeroize::Zeroizing;

use crate::prf::Prf;

pub(crate) use parse::is_id;
#[cfg(test)]
pub(crate) use source::tests as source_tests;

/// The fewest bytes of a secret: the strength of SHA-256 (RFC 2104, section 3).
pub const SECRET_BYTES: usize = 32;
/// The fewest distinct byte values of a secret. 32 random bytes have 30 on average, and fewer than 12 once in
/// 10^24 times: fewer values indicate a pattern, a repeated word, or zeros.
pub const SECRET_VARIETY: usize = 12;
/// The longest id.
pub const ID_CHARACTERS: usize = 32;

/// The purpose of a sub-key. No sub-key serves two purposes, so that a leaked one reveals nothing about
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Choices of surrogates.
    Prf,
    /// Keyed codes.
    Pseudonym,
    /// Days of a shift.
    Shift,
    /// Reversible encryption in the text.
    Seal,
    /// Look-up hashes, key check and sealed entries of a vault.
    Vault,
    /// Encryption of ids.
    Id,
}

impl Purpose {
    const ALL: [Self; 6] = [
        Self::Prf,
        Self::Pseudonym,
        Self::Shift,
        Self::Seal,
        Self::Vault,
        Self::Id,
    ];

    /// HKDF's `info`. It is part of the output's format: a change would change every code.
    const fn info(self) -> &'static [u8] {
        match self {
            Self::Prf => b"prf",
            Self::Pseudonym => b"pseudonym",
            Self::Shift => b"shift",
            Self::Seal => b"seal",
            Self::Vault => b"vault",
            Self::Id => b"id",
        }
    }
}

/// HKDF's `salt`: the program and the version of the derivation.
const SALT: &[u8] = b"lethe secrets 1";

/// The permitted use of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// Makes new output. A keyring has exactly one.
    Current,
    /// Reverses its old output, and makes no new output.
    Accepted,
    /// Is refused. Its secret may be absent; the entry prevents reuse of the id.
    Retired,
}

/// One key. Holds only sub-keys, which are wiped on drop; prints as its id.
#[derive(Clone)]
pub struct Key {
    id: Box<str>,
    state: KeyState,
    /// A keyed function per purpose, in the order of [`Purpose::ALL`]; `None` for a retired key without a
    /// secret.
    roots: Option<[Prf; 6]>,
}

impl Key {
    fn new(id: &str, state: KeyState, secret: Option<&[u8]>) -> Self {
        let roots = secret.map(|secret| {
            let (_, derivation) = Hkdf::<Sha256>::extract(Some(SALT), secret);
            Purpose::ALL.map(|purpose| {
                let mut sub = Zeroizing::new([0; 32]);
                // Invariant: HKDF refuses more than 255 blocks of output, and this is one.
                derivation
                    .expand(purpose.info(), sub.as_mut())
                    .expect("one block of output");
                Prf::from_key(&sub)
            })
        });
        Self {
            id: id.into(),
            state,
            roots,
        }
    }

    /// Returns the id that output names.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns its state in its keyring.
    pub fn state(&self) -> KeyState {
        self.state
    }

    /// Returns the keyed function for choices (surrogates), bound to a context, which is nearly always the
    /// patient.
    pub fn prf(&self, context: &str) -> Prf {
        self.bound(Purpose::Prf, context)
    }

    /// Returns the keyed function for a purpose and a context.
    pub(crate) fn bound(&self, purpose: Purpose, context: &str) -> Prf {
        // Invariant: a keyring returns only current and accepted keys, and parsing requires their secrets.
        let roots = self
            .roots
            .as_ref()
            .expect("a key that is handed out has a secret");
        roots[purpose as usize].bound(context)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.id).finish()
    }
}

/// The keys of an installation: exactly one current, any number accepted or retired.
#[derive(Clone, Debug)]
pub struct Keyring {
    keys: Vec<Key>,
    current: usize,
}

impl Keyring {
    /// Returns the key that makes new output.
    pub fn current(&self) -> &Key {
        &self.keys[self.current]
    }

    /// Returns the key that made some output, for reversing it.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unknown`] and [`KeyError::Retired`].
    pub fn reversing(&self, id: &str) -> Result<&Key, KeyError> {
        let key = self.keys.iter().find(|key| &*key.id == id);
        match key {
            None => Err(KeyError::Unknown { id: id.to_owned() }),
            Some(key) if key.state == KeyState::Retired => Err(KeyError::Retired { id: id.to_owned() }),
            Some(key) => Ok(key),
        }
    }

    /// Returns all keys, in the order of the file.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Key> {
        self.keys.iter()
    }
}

/// Why there is no keyring, or no such key. Contains ids, paths and line numbers, never a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file could not be opened or read.
    #[error("the keys in {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// Other users of this machine may read the file.
    #[error("{0} holds keys and has mode {mode:04o}, which lets other users of this machine access it: run `chmod 600 {0}`", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode, permission bits only.
        mode: u32,
    },
    /// The environment variable is missing or not UTF-8.
    #[error("the environment variable {name} holds no keys: it is not set, empty, or not UTF-8")]
    NotSet {
        /// Its name.
        name: String,
    },
    /// The text is not a keyring.
    #[error("line {line}: {what}")]
    Form {
        /// 1-based.
        line: usize,
        /// The problem.
        what: &'static str,
    },
    /// Two entries have the same id.
    #[error("line {line}: another key has the id {id}")]
    SameId {
        /// 1-based.
        line: usize,
        /// The id.
        id: String,
    },
    /// Two entries have the same secret.
    #[error("the keys {first} and {second} have the same secret: a rotation would change nothing")]
    SameSecret {
        /// The id of the earlier entry.
        first: String,
        /// The id of the later one.
        second: String,
    },
    /// Not exactly one key is current.
    #[error("exactly one key must have the state \"current\", and {found} have it")]
    Current {
        /// The number of current keys.
        found: usize,
    },
    /// The keyring has no key with this id.
    #[error("the keyring has no key {id}")]
    Unknown {
        /// The id.
        id: String,
    },
    /// The key with this id is retired.
    #[error("the key {id} is retired: its output can no longer be reversed")]
    Retired {
        /// The id.
        id: String,
    },
    /// The operating system returned no random bytes.
    #[error("the system's source of random numbers failed")]
    Random,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::source_tests::{SECRET_A, SECRET_B};

    fn two() -> Keyring {
        Keyring::parse(&format!(
            "[[keys]]\nid = \"new\"\nsecret = \"{SECRET_B}\"\n\
             [[keys]]\nid = \"old\"\nsecret = \"{SECRET_A}\"\nstate = \"accepted\"\n\
             [[keys]]\nid = \"gone\"\nstate = \"retired\"\n"
        ))
        .unwrap()
    }

    #[test]
    fn one_key_is_current_and_older_ones_can_still_reverse() {
        let ring = two();
        assert_eq!(ring.current().id(), "new");
        assert_eq!(ring.reversing("new").unwrap().id(), "new");
        assert_eq!(ring.reversing("old").unwrap().id(), "old");
        assert_eq!(ring.keys().len(), 3);
    }

    #[test]
    fn retired_and_unknown_keys_are_refused_by_name() {
        let ring = two();
        let retired = ring.reversing("gone").unwrap_err().to_string();
        assert_eq!(
            retired,
            "the key gone is retired: its output can no longer be reversed"
        );
        let unknown = ring.reversing("never").unwrap_err().to_string();
        assert_eq!(unknown, "the keyring has no key never");
    }

    #[test]
    fn a_key_prints_as_its_id_and_nothing_else() {
        let printed = format!("{:?}", two());
        assert_eq!(
            printed,
            "Keyring { keys: [Key(\"new\"), Key(\"old\"), Key(\"gone\")], current: 0 }"
        );
    }

    #[test]
    fn each_purpose_and_each_context_has_a_function_of_its_own() {
        let ring = two();
        let mut seen = std::collections::BTreeSet::new();
        for key in [ring.current(), ring.reversing("old").unwrap()] {
            for purpose in Purpose::ALL {
                for context in ["", "patient 1", "patient 2"] {
                    assert!(seen.insert(key.bound(purpose, context).code(&["x"])));
                }
            }
        }
        assert_eq!(seen.len(), 36);
    }

    #[test]
    fn keys_are_wiped_when_they_are_dropped() {
        fn wiped<T: zeroize::ZeroizeOnDrop>() {}
        // HMAC's state is two states of the hash.
        wiped::<Sha256>();
        wiped::<aes_gcm::Aes256Gcm>();
        wiped::<Zeroizing<[u8; 32]>>();
    }
}
