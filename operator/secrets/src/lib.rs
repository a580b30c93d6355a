//! Keys, and everything that uses them: keyed codes, date shifts, sealed text, and the vault of random codes.
//!
//! A policy decides how a span is replaced; this crate makes such a decision the same on every machine and at
//! every time, and lets authorised users reverse it. It knows no labels, notes or file formats of Lethe.
//!
//! | wanted | use | derived from the person? |
//! |---|---|---|
//! | a choice that is the same for a patient | [`Prf`] | yes |
//! | a code instead of a value | [`Pseudonyms`] | yes: 45 CFR 164.514(c) does not allow it under Safe Harbor |
//! | the days by which a patient's dates move | [`ShiftRule`] | yes |
//! | a text that the key reverses | [`Sealer`] | yes |
//! | an id's code of fixed length that never collides and can be reversed | [`IdCipher`] | yes |
//! | a code that carries no information | [`Vault`] | no: random, and stored separately |
//!
//! All of them start from a [`Keyring`]: one key makes new output, older ones can still reverse their old
//! output. A key's secret is never used itself: each purpose has a sub-key of its own (HKDF, RFC 5869), bound
//! to a context, which is nearly always the patient.
//!
//! Nothing here prints a secret or a value: errors contain ids, line numbers and codes.

mod alphabet;
pub mod ids;
pub mod keys;
mod lock;
pub mod prf;
pub mod pseudonym;
pub mod seal;
pub mod shift;
pub mod vault;

pub use ids::IdCipher;
pub use keys::{Key, KeyError, KeyState, Keyring};
pub use prf::Prf;
pub use pseudonym::{CodeLength, Pseudonyms};
pub use seal::{SealError, Sealer, Token};
pub use shift::{ShiftError, ShiftRule};
pub use vault::{Code, Entry, SqliteVault, Vault, VaultError, VaultKey};
#[cfg(feature = "postgres")]
pub use vault::{PostgresTls, PostgresVault};
