//! The uses of a vault's key: hashes for look-up, sealed entries, and the check that this is the vault's key.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use super::{Code, Entry, LONGEST, VaultError, VaultKey};
use crate::keys::{Key, Keyring, Purpose};
use crate::lock::Lock;
use crate::prf::Prf;

/// The version of the tables' format, in both stores.
pub(super) const FORM: i32 = 1;

/// The hash by which a value is found.
pub(super) type Hash = [u8; 16];

/// A vault's key with its three uses.
pub(super) struct Cipher {
    id: String,
    hashes: Prf,
    entries: Lock,
    check: Hash,
}

impl Cipher {
    pub(super) fn new(key: &Key) -> Self {
        let bound = |context| key.bound(Purpose::Vault, context);
        Self {
            id: key.id().to_owned(),
            hashes: bound("hash"),
            entries: Lock::new(&bound("entry")),
            check: half(bound("check").code(&[])),
        }
    }

    /// Returns the key that a vault names, if it is that key.
    pub(super) fn of_vault(keyring: &Keyring, form: i32, id: &str, check: &[u8]) -> Result<Self, VaultError> {
        if form != FORM {
            return Err(VaultError::Form {
                found: form,
                known: FORM,
            });
        }
        let cipher = Self::new(keyring.reversing(id)?);
        if cipher.check != check {
            return Err(VaultError::WrongKey { id: id.to_owned() });
        }
        Ok(cipher)
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the hash by which the vault recognises its key.
    pub(super) fn check(&self) -> &Hash {
        &self.check
    }

    /// Returns the hash of each value.
    pub(super) fn hashes(&self, wanted: &[VaultKey<'_>]) -> Result<Vec<Hash>, VaultError> {
        let hash = |key: &VaultKey<'_>| {
            let bytes = key.label.len() + key.scope.len() + key.value.len();
            if bytes > LONGEST {
                return Err(VaultError::TooLong { bytes });
            }
            Ok(half(self.hashes.code(&[key.label, key.scope, key.value])))
        };
        wanted.iter().map(hash).collect()
    }

    /// Returns the entry of a value under its code.
    pub(super) fn close(&self, code: Code, key: &VaultKey<'_>) -> Vec<u8> {
        let VaultKey { label, scope, value } = key;
        let plain = Zeroizing::new(format!("{}:{}:{label}{scope}{value}", label.len(), scope.len()));
        self.entries.close(&[&code.to_string()], &plain)
    }

    /// Returns the value of an entry.
    pub(super) fn open(&self, code: Code, closed: &[u8]) -> Result<Entry, VaultError> {
        let damaged = || VaultError::Damaged {
            what: format!("the entry of the code {code} does not open"),
        };
        let plain = self
            .entries
            .open(&[&code.to_string()], closed)
            .ok_or_else(damaged)?;
        split(&plain).ok_or_else(damaged)
    }
}

fn split(plain: &str) -> Option<Entry> {
    let (label, rest) = plain.split_once(':')?;
    let (scope, rest) = rest.split_once(':')?;
    let (label, rest) = rest.split_at_checked(label.parse().ok()?)?;
    let (scope, value) = rest.split_at_checked(scope.parse().ok()?)?;
    Some(Entry {
        label: label.to_owned(),
        scope: scope.to_owned().into(),
        value: value.to_owned().into(),
    })
}

fn half(code: [u8; 32]) -> Hash {
    let mut half = [0; 16];
    half.copy_from_slice(&code[..16]);
    half
}

/// Returns the values without a code, each once, by their hash: an order in which stores insert fast, and in
/// which two writers cannot deadlock.
pub(super) fn missing<'a>(
    hashes: &[Hash],
    wanted: &[VaultKey<'a>],
    found: &[Option<Code>],
) -> BTreeMap<Hash, VaultKey<'a>> {
    let all = hashes.iter().zip(wanted).zip(found);
    all.filter(|(_, found)| found.is_none())
        .map(|((hash, key), _)| (*hash, *key))
        .collect()
}

/// Returns all codes, once none is missing.
pub(super) fn complete(
    hashes: &[Hash],
    found: &[Option<Code>],
    new: &BTreeMap<Hash, Code>,
) -> Result<Vec<Code>, VaultError> {
    let all = hashes.iter().zip(found);
    all.map(|(hash, found)| found.or_else(|| new.get(hash).copied()))
        .collect::<Option<_>>()
        .ok_or_else(unwritten)
}

pub(super) fn unwritten() -> VaultError {
    VaultError::Damaged {
        what: "a value that was written is missing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::source_tests::{SECRET_A, SECRET_B};

    fn cipher() -> Cipher {
        Cipher::new(Keyring::parse_short(&format!("a:{SECRET_A}")).unwrap().current())
    }

    fn key<'a>(label: &'a str, scope: &'a str, value: &'a str) -> VaultKey<'a> {
        VaultKey { label, scope, value }
    }

    #[test]
    fn an_entry_opens_under_its_own_code_alone() {
        let codes = Code::draw(2).unwrap();
        let closed = cipher().close(codes[0], &key("DOCTOR", "p:1", "Quill: é"));
        let entry = cipher().open(codes[0], &closed).unwrap();
        assert_eq!(
            (&*entry.label, &**entry.scope, &**entry.value),
            ("DOCTOR", "p:1", "Quill: é")
        );
        let error = cipher().open(codes[1], &closed).unwrap_err();
        assert!(matches!(error, VaultError::Damaged { .. }), "{error}");
    }

    #[test]
    fn label_scope_and_value_each_change_the_hash() {
        let keys = [
            key("a", "b", "c"),
            key("ab", "", "c"),
            key("a", "", "bc"),
            key("", "ab", "c"),
            key("a", "b", "d"),
        ];
        let hashes: std::collections::BTreeSet<_> = cipher().hashes(&keys).unwrap().into_iter().collect();
        assert_eq!(hashes.len(), keys.len());
    }

    #[test]
    fn a_vault_of_another_key_or_form_is_refused() {
        let check = *cipher().check();
        let ring = |secret| Keyring::parse_short(&format!("a:{secret}")).unwrap();
        assert!(Cipher::of_vault(&ring(SECRET_A), FORM, "a", &check).is_ok());
        let refusal = |ring: &Keyring, form, id| Cipher::of_vault(ring, form, id, &check).err().unwrap();
        assert!(matches!(
            refusal(&ring(SECRET_B), FORM, "a"),
            VaultError::WrongKey { .. }
        ));
        assert!(matches!(refusal(&ring(SECRET_A), FORM, "b"), VaultError::Key(_)));
        assert!(matches!(
            refusal(&ring(SECRET_A), 2, "a"),
            VaultError::Form { found: 2, known: 1 }
        ));
    }

    #[test]
    fn values_longer_than_any_identifier_are_refused() {
        let long = "x".repeat(LONGEST);
        assert!(cipher().hashes(&[key("", "", &long)]).is_ok());
        assert!(matches!(
            cipher().hashes(&[key("A", "", &long)]),
            Err(VaultError::TooLong { bytes: 65_537 })
        ));
    }

    #[test]
    fn nothing_prints_a_value() {
        let code = Code::draw(1).unwrap()[0];
        let entry = cipher()
            .open(code, &cipher().close(code, &key("CITY", "p", "Quill")))
            .unwrap();
        assert_eq!(
            format!("{entry:?} {:?}", key("CITY", "p", "Quill")),
            "Entry(CITY, [5 bytes]) VaultKey(CITY, [5 bytes])"
        );
    }
}
