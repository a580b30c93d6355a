//! Deterministic authenticated encryption for sealed text and vault entries.
//!
//! AES-256-GCM (NIST SP 800-38D) with a synthetic nonce: the first 96 bits of a keyed hash of everything that
//! is encrypted and authenticated, the idea of SIV (RFC 5297) and of AES-GCM-SIV (RFC 8452). The nonce
//! repeats if, and except by chance only if, the whole message repeats, and then the output repeats too: a
//! comparison reveals only equality.
//!
//! By chance, two different messages of one lock get the same nonce with a probability of n^2 / 2^97 for n
//! messages: 2^-33 for 2^32 messages, within the limit of SP 800-38D (section 8) for random nonces. A lock is
//! bound to a context with keys of its own, nearly always a patient, and a patient has thousands of values,
//! not 2^32.
//!
//! Plain text is padded to whole blocks of 16 bytes (a byte 0x80, then zeros), so that the length of a short
//! name remains hidden.

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};
use zeroize::Zeroizing;

use crate::prf::Prf;

const NONCE: usize = 12;
const TAG: usize = 16;
const BLOCK: usize = 16;

/// The fewest bytes that [`Lock::close`] returns.
pub(crate) const LEAST: usize = NONCE + BLOCK + TAG;

/// Keys of one purpose and context, which are wiped on drop.
pub(crate) struct Lock {
    cipher: Aes256Gcm,
    nonces: Prf,
}

impl Lock {
    /// Creates the lock under a bound function; two sub-keys, one for the cipher and one for nonces, are
    /// drawn from it.
    pub(crate) fn new(bound: &Prf) -> Self {
        let key = Zeroizing::new(bound.code(&["cipher"]));
        Self {
            cipher: Aes256Gcm::new((&*key).into()),
            nonces: Prf::from_key(&Zeroizing::new(bound.code(&["nonce"]))),
        }
    }

    /// Returns nonce, encrypted text and tag. `about` is authenticated with the text and needed to open it.
    pub(crate) fn close(&self, about: &[&str], plain: &str) -> Vec<u8> {
        let nonce = self.nonce(about, plain);
        let padded = (plain.len() / BLOCK + 1) * BLOCK;
        // The buffer has room for all of it: one that grows would leave plain text in freed memory.
        let mut out = Vec::with_capacity(NONCE + padded + TAG);
        out.extend_from_slice(&nonce);
        out.extend_from_slice(plain.as_bytes());
        out.push(0x80);
        out.resize(NONCE + padded, 0);
        // Invariant: GCM takes up to 2^36 - 32 bytes, and a text is shorter, since the longest note bounds
        // it.
        let tag = self
            .cipher
            .encrypt_inout_detached(&Nonce::from(nonce), &joined(about), (&mut out[NONCE..]).into())
            .expect("shorter than 2^36 - 32 bytes");
        out.extend_from_slice(&tag);
        out
    }

    /// Returns the text that was closed with the same `about`; `None` for any bytes that [`Lock::close`] did
    /// not return.
    pub(crate) fn open(&self, about: &[&str], closed: &[u8]) -> Option<Zeroizing<String>> {
        if closed.len() < LEAST || !(closed.len() - NONCE - TAG).is_multiple_of(BLOCK) {
            return None;
        }
        let (nonce, rest) = closed.split_first_chunk::<NONCE>()?;
        let (body, tag) = rest.split_last_chunk::<TAG>()?;
        let mut plain = Zeroizing::new(body.to_vec());
        self.cipher
            .decrypt_inout_detached(
                &Nonce::from(*nonce),
                &joined(about),
                plain.as_mut_slice().into(),
                &Tag::from(*tag),
            )
            .ok()?;
        let end = plain.iter().rposition(|&byte| byte != 0)?;
        if plain[end] != 0x80 || plain.len() - end > BLOCK {
            return None;
        }
        plain.truncate(end);
        let text = Zeroizing::new(std::str::from_utf8(&plain).ok()?.to_owned());
        // As in SIV, bytes that `close` did not produce are refused even if their author has the cipher's
        // key.
        (self.nonce(about, &text) == *nonce).then_some(text)
    }

    fn nonce(&self, about: &[&str], plain: &str) -> [u8; NONCE] {
        let mut nonce = [0; NONCE];
        // The joined form separates `about` and the text whatever they contain.
        let mut parts = about.to_vec();
        parts.push(plain);
        nonce.copy_from_slice(&self.nonces.code(&parts)[..NONCE]);
        nonce
    }
}

/// Returns the parts, each after its length.
fn joined(parts: &[&str]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
    for part in parts {
        joined.extend_from_slice(&(part.len() as u64).to_le_bytes());
        joined.extend_from_slice(part.as_bytes());
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lock(context: &str) -> Lock {
        Lock::new(&Prf::from_key(&[9; 32]).bound(context))
    }

    #[test]
    fn lengths_show_in_whole_blocks_only() {
        let long = |text: &str| lock("p").close(&[], text).len();
        assert_eq!(long(""), LEAST);
        assert_eq!(long("Quill"), LEAST);
        assert_eq!(long("fifteen letters"), LEAST);
        assert_eq!(long("sixteen letters."), LEAST + BLOCK);
    }

    #[test]
    fn what_is_about_the_text_is_needed_to_open_it() {
        let closed = lock("p").close(&["NAME", "1"], "Quill");
        assert_eq!(*lock("p").open(&["NAME", "1"], &closed).unwrap(), "Quill");
        for about in [
            &["NAME", "2"][..],
            &["NAM", "E1"],
            &["NAME1"],
            &[],
            &["NAME", "1", ""],
        ] {
            assert!(lock("p").open(about, &closed).is_none());
        }
        assert!(lock("q").open(&["NAME", "1"], &closed).is_none());
    }

    #[test]
    fn one_text_is_closed_alike_each_time_and_unlike_in_every_other_context() {
        let closed = lock("p").close(&["NAME"], "Quill");
        assert_eq!(lock("p").close(&["NAME"], "Quill"), closed);
        assert_ne!(lock("q").close(&["NAME"], "Quill"), closed);
        assert_ne!(lock("p").close(&["CITY"], "Quill"), closed);
    }

    proptest! {
        #[test]
        fn any_text_comes_back(about in ".{0,20}", text in "(?s).{0,100}") {
            let lock = lock("p");
            let closed = lock.close(&[&about], &text);
            prop_assert_eq!(lock.open(&[&about], &closed).map(|text| text.to_string()), Some(text));
        }

        #[test]
        fn any_flipped_bit_is_refused(text in ".{0,40}", place in any::<prop::sample::Index>(), bit in 0..8) {
            let lock = lock("p");
            let mut closed = lock.close(&["NAME"], &text);
            let place = place.index(closed.len());
            closed[place] ^= 1_u8 << bit;
            prop_assert!(lock.open(&["NAME"], &closed).is_none());
        }

        #[test]
        fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(lock("p").open(&[], &bytes).is_none());
        }
    }
}
