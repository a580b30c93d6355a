//! The content of an embedded file.

use std::sync::OnceLock;

/// The content of a file: plain, or compressed until it is first read.
pub(crate) struct Embedded {
    packed: &'static [u8],
    /// The number of bytes; 0 if they are not compressed.
    len: usize,
    unpacked: OnceLock<Vec<u8>>,
}

impl Embedded {
    pub(crate) const fn plain(bytes: &'static [u8]) -> Self {
        Self::packed(bytes, 0)
    }

    pub(crate) const fn packed(packed: &'static [u8], len: usize) -> Self {
        Self {
            packed,
            len,
            unpacked: OnceLock::new(),
        }
    }

    /// Returns the bytes, decompressed on the first call.
    pub(crate) fn bytes(&'static self) -> &'static [u8] {
        if self.len == 0 {
            return self.packed;
        }
        self.unpacked.get_or_init(|| {
            // The build script compressed these bytes; a test reads all files.
            #[allow(clippy::expect_used)]
            zstd::bulk::decompress(self.packed, self.len).expect("the embedded file is whole")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_file_has_its_own_bytes_and_a_plain_one_stays_in_place() {
        static PLAIN: Embedded = Embedded::plain(b"as it is");
        assert_eq!(PLAIN.bytes().as_ptr(), PLAIN.packed.as_ptr());
        let packed = zstd::bulk::compress(&[7; 1000], 19).unwrap();
        let packed: &'static Embedded = Box::leak(Box::new(Embedded::packed(packed.leak(), 1000)));
        assert_eq!(packed.bytes(), [7; 1000]);
    }
}
