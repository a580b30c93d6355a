//! Reverses replacements for authorised users: decrypts encrypted values with their key, and looks up codes
//! in the vault.

use lethe_core::Span;
use lethe_secrets::{Code, IdCipher, KeyState, Keyring, SealError, Sealer, Token, Vault, VaultError};

use crate::authority::Authorities;
use crate::error::PolicyError;
use crate::file::PolicyFile;
use crate::links;
use crate::replacer::{keyring, open};

/// Why a text was not reversed. Names the position of the token, never its content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RevealError {
    /// An encrypted value cannot be decrypted.
    #[error("the sealed value at byte {at}: {source}")]
    Sealed {
        /// Its first byte.
        at: usize,
        /// The reason.
        source: SealError,
    },
    /// The vault does not respond.
    #[error("the code at byte {at}: {source}")]
    Vault {
        /// Its first byte.
        at: usize,
        /// The reason.
        source: VaultError,
    },
}

/// The patient or note for which the values were encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose<'a> {
    /// A patient, by the id in an event that names no authority.
    Patient(&'a str),
    /// A patient, by the id and its authority: the authority's name in the policy or in the source
    /// (`system:https://mercy.example/mrn`).
    PatientOf {
        /// The authority that assigned the id.
        authority: &'a str,
        /// The id.
        id: &'a str,
    },
    /// A note without a patient, by its id.
    Note(&'a str),
}

/// Reverses replacements of a policy.
pub struct Revealer {
    authorities: Authorities,
    /// Ciphers of the current key, then of the accepted ones.
    ciphers: Vec<IdCipher>,
    keyring: Keyring,
    vault: Option<Box<dyn Vault>>,
}

impl std::fmt::Debug for Revealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Revealer")
    }
}

impl Revealer {
    /// Creates a revealer with the keys and the vault of a policy.
    ///
    /// # Errors
    /// [`PolicyError::Key`]; [`PolicyError::Unavailable`] if the vault is unavailable.
    pub fn new(file: &PolicyFile, origin: &str) -> Result<Self, PolicyError> {
        let fault = |key: &str, why: String| PolicyError::Key {
            origin: origin.to_owned(),
            key: key.to_owned(),
            why,
        };
        let keyring = keyring(file).map_err(|error| fault("keys", error.to_string()))?;
        let keyring = keyring.ok_or_else(|| {
            fault(
                "keys",
                "replacements of this policy cannot be reversed without one".to_owned(),
            )
        })?;
        let vault = file.vault.as_ref().map(|place| open(place, &keyring, origin));
        let vault = vault.transpose()?;
        let current = keyring.keys().filter(|key| key.state() == KeyState::Current);
        let accepted = keyring.keys().filter(|key| key.state() == KeyState::Accepted);
        Ok(Self {
            authorities: Authorities::new(&file.authority),
            ciphers: current.chain(accepted).map(IdCipher::new).collect(),
            keyring,
            vault,
        })
    }

    /// Returns the text with every reversible replacement reversed, and their number. Tags, masks,
    /// surrogates, shifted dates and keyed codes are irreversible and stay.
    ///
    /// # Errors
    /// [`RevealError`] if the value belongs to another patient, was altered or has a retired key, or if the
    /// vault is unavailable.
    pub fn reveal(&self, text: &str, whose: Whose<'_>) -> Result<(String, usize), RevealError> {
        let context = match whose {
            Whose::Patient(id) => self.authorities.context(None, id),
            Whose::PatientOf { authority, id } => self.authorities.context_of(authority, id),
            Whose::Note(id) => format!("note\n{id}"),
        };
        let context = match &self.vault {
            Some(vault) => links::root(vault.as_ref(), &context)
                .map_err(|source| RevealError::Vault { at: 0, source })?,
            None => context,
        };
        let sealer = Sealer::new(&self.keyring, &context);
        let (mut out, mut at, mut count) = (String::with_capacity(text.len()), 0, 0);
        for place in brackets(text) {
            let held = place.of(text);
            let value = if Token::parse(held).is_ok() {
                let opened = sealer.open(held).map_err(|source| RevealError::Sealed {
                    at: place.start(),
                    source,
                })?;
                Some(opened)
            } else {
                self.looked_up(held, place.start())?
            };
            if let Some(value) = value {
                out.push_str(Span::between(at as u32, place.start() as u32).of(text));
                out.push_str(&value);
                at = place.end();
                count += 1;
            }
        }
        out.push_str(Span::between(at as u32, text.len() as u32).of(text));
        Ok((out, count))
    }

    fn looked_up(&self, held: &str, at: usize) -> Result<Option<zeroize::Zeroizing<String>>, RevealError> {
        let inner = held.trim_start_matches('[').trim_end_matches(']');
        if let Some((_, id)) = self.ciphers.iter().find_map(|cipher| {
            let code = inner.get(inner.len().checked_sub(IdCipher::WIDTH)?..)?;
            cipher
                .decrypt(code)
                .filter(|(number, _)| self.authorities.has_number(*number))
        }) {
            return Ok(Some(zeroize::Zeroizing::new(id)));
        }
        let code = inner
            .rsplit_once('-')
            .and_then(|(_, code)| code.parse::<Code>().ok());
        let (Some(vault), Some(code)) = (&self.vault, code) else {
            return Ok(None);
        };
        let entry = vault
            .value(code)
            .map_err(|source| RevealError::Vault { at, source })?;
        Ok(entry.map(|entry| entry.value))
    }
}

/// Returns the innermost brackets with their contents.
fn brackets(text: &str) -> Vec<Span> {
    let (mut found, mut from) = (Vec::new(), None);
    for (at, byte) in text.bytes().enumerate() {
        match (byte, from) {
            (b'[', _) => from = Some(at),
            (b']', Some(start)) => {
                found.push(Span::between(start as u32, at as u32 + 1));
                from = None;
            }
            _ => {}
        }
    }
    found
}
