//! A keyed function: the same key, context and parts give the same 32 bytes, which look random to anybody
//! without the key.
//!
//! HMAC-SHA256 (RFC 2104, FIPS 198-1) as a pseudo-random function. The key's two blocks are hashed once, when
//! the function is bound to its context; each call starts from a copy of that state.

use std::fmt;
use std::num::NonZeroU64;

use hmac::{Hmac, KeyInit, Mac};
use sha2_wiping::Sha256;
use zeroize::Zeroizing;

/// A keyed function of one key, purpose and context, which is wiped on drop.
#[derive(Clone)]
pub struct Prf(Hmac<Sha256>);

impl Prf {
    /// Returns the function under a key of 32 bytes.
    pub(crate) fn from_key(key: &[u8; 32]) -> Self {
        // Invariant: HMAC takes keys of any length.
        Self(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
    }

    /// Returns the function for a context. A leaked function reveals nothing about those of other contexts.
    pub(crate) fn bound(&self, context: &str) -> Self {
        Self::from_key(&Zeroizing::new(self.code(&[context])))
    }

    /// Returns the code of these parts. Each is preceded by its length (64 bits, little-endian), so `["ab",
    /// "c"]` and `["a", "bc"]` differ.
    pub fn code(&self, parts: &[&str]) -> [u8; 32] {
        self.over(parts)
    }

    /// Returns the code of parts that are bytes; the bytes of a text give the code of the text.
    pub fn code_of_bytes(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.over(parts)
    }

    fn over<P: AsRef<[u8]>>(&self, parts: &[P]) -> [u8; 32] {
        let mut mac = self.0.clone();
        for part in parts.iter().map(P::as_ref) {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// Returns a number from 0 to less than `below`, uniform up to 2^-64: 128 bits of the code, modulo
    /// `below`.
    pub fn number(&self, parts: &[&str], below: NonZeroU64) -> u64 {
        let code = self.code(parts);
        let mut wide = [0; 16];
        wide.copy_from_slice(&code[..16]);
        // It is less than `below`, so it fits.
        (u128::from_le_bytes(wide) % u128::from(below.get())) as u64
    }
}

impl fmt::Debug for Prf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prf")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prf() -> Prf {
        Prf::from_key(&[7; 32])
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let cases: [&[&str]; 6] = [
            &["ab", "c"],
            &["a", "bc"],
            &["abc"],
            &["abc", ""],
            &["", "abc"],
            &[],
        ];
        let codes: std::collections::BTreeSet<_> = cases.iter().map(|parts| prf().code(parts)).collect();
        assert_eq!(codes.len(), cases.len());
    }

    #[test]
    fn a_text_and_its_bytes_have_one_code() {
        assert_eq!(
            prf().code(&["ab", "ñ"]),
            prf().code_of_bytes(&[b"ab", "ñ".as_bytes()])
        );
    }

    #[test]
    fn contexts_have_functions_of_their_own() {
        assert_ne!(prf().bound("1").code(&["x"]), prf().bound("2").code(&["x"]));
        assert_eq!(prf().bound("1").code(&["x"]), prf().bound("1").code(&["x"]));
    }

    #[test]
    fn numbers_stay_below_their_bound_and_reach_all_of_it() {
        let below = NonZeroU64::new(7).unwrap();
        let mut seen = [0; 7];
        for i in 0..7000 {
            seen[prf().number(&[&i.to_string()], below) as usize] += 1;
        }
        // Six standard deviations of a binomial count (29.3) around 1,000.
        assert!(
            seen.iter().all(|&count| (824..=1176).contains(&count)),
            "{seen:?}"
        );
        assert_eq!(prf().number(&["x"], NonZeroU64::MIN), 0);
    }
}
