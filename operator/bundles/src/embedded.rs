//! The content of an embedded file.

use std::sync::OnceLock;

/// The content of a file, compressed until it is first read.
pub(crate) struct Embedded {
    packed: &'static [u8],
    /// The number of bytes of the file.
    len: usize,
    /// Whether the bytes at odd places were moved behind those at even ones before.
    split: bool,
    unpacked: OnceLock<Vec<u8>>,
}

impl Embedded {
    pub(crate) const fn packed(packed: &'static [u8], len: usize) -> Self {
        Self::new(packed, len, false)
    }

    pub(crate) const fn split(packed: &'static [u8], len: usize) -> Self {
        Self::new(packed, len, true)
    }

    const fn new(packed: &'static [u8], len: usize, split: bool) -> Self {
        Self {
            packed,
            len,
            split,
            unpacked: OnceLock::new(),
        }
    }

    /// Returns the bytes, decompressed on the first call.
    pub(crate) fn bytes(&'static self) -> &'static [u8] {
        self.unpacked.get_or_init(|| {
            // The build script compressed these bytes; a test reads all files.
            #[allow(clippy::expect_used)]
            let bytes = zstd::bulk::decompress(self.packed, self.len).expect("the embedded file is whole");
            if self.split { joined(&bytes) } else { bytes }
        })
    }
}

/// Returns the bytes of the first half at even places, and those of the second half at odd ones.
fn joined(halves: &[u8]) -> Vec<u8> {
    let (even, odd) = halves.split_at(halves.len().div_ceil(2));
    let mut bytes = vec![0; halves.len()];
    for ((pair, even), odd) in bytes.chunks_exact_mut(2).zip(even).zip(odd) {
        pair.copy_from_slice(&[*even, *odd]);
    }
    if let (Some(last), true) = (bytes.last_mut(), even.len() > odd.len()) {
        *last = even[odd.len()];
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaked(embedded: Embedded) -> &'static Embedded {
        Box::leak(Box::new(embedded))
    }

    #[test]
    fn a_packed_file_has_its_own_bytes() {
        let packed = zstd::bulk::compress(&[7; 1000], 19).unwrap();
        assert_eq!(leaked(Embedded::packed(packed.leak(), 1000)).bytes(), [7; 1000]);
    }

    #[test]
    fn a_split_file_is_joined_whether_its_length_is_even_or_odd() {
        for (halves, bytes) in [("acebd", "abcde"), ("acbd", "abcd"), ("a", "a"), ("", "")] {
            let packed = zstd::bulk::compress(halves.as_bytes(), 19).unwrap();
            let file = leaked(Embedded::split(packed.leak(), halves.len()));
            assert_eq!(file.bytes(), bytes.as_bytes());
        }
    }
}
