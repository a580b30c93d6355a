//! The format of a compiled dictionary: little-endian numbers and length-prefixed strings, in a fixed order.

use sha2::{Digest, Sha256};

/// First bytes of every compiled dictionary.
pub(crate) const MAGIC: &[u8; 8] = b"LETHEDIC";
/// Changes whenever the meaning of the following bytes changes.
pub(crate) const VERSION: u32 = 1;
/// Start of the digested body, after magic, version and digest.
pub(crate) const BODY: usize = 8 + 4 + 32;

/// Appends numbers and strings.
#[derive(Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn u128(&mut self, value: u128) {
        self.0.extend(value.to_le_bytes());
    }

    /// Appends a count; dictionaries stay far below 2^32 of anything.
    pub(crate) fn count(&mut self, value: usize) {
        self.u32(u32::try_from(value).unwrap_or(u32::MAX));
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.count(value.len());
        self.0.extend(value);
    }

    pub(crate) fn str(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    /// Prepends magic, version and digest.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BODY + self.0.len());
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend(Sha256::digest(&self.0));
        out.extend(self.0);
        out
    }
}
