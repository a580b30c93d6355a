//! A cursor over a payload, shared by Avro, Protobuf and their frame.

use crate::PayloadError;

/// A payload, the current position, and the end.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the number of bytes read.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// Returns the number of bytes left.
    pub(crate) const fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Takes the next `n` bytes.
    ///
    /// # Errors
    /// [`PayloadError::Truncated`] if there are fewer. Nothing is reserved for a claimed length.
    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8], PayloadError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..n).ok_or(PayloadError::Truncated)?;
        self.at += n;
        Ok(taken)
    }

    /// Takes the next `n` bytes, for a 64-bit length.
    ///
    /// # Errors
    /// As [`Cursor::take`].
    pub(crate) fn take_long(&mut self, n: u64) -> Result<&'a [u8], PayloadError> {
        self.take(usize::try_from(n).map_err(|_| PayloadError::Truncated)?)
    }

    /// Returns a cursor over the next `n` bytes, which reports positions in the whole payload.
    ///
    /// # Errors
    /// As [`Cursor::take`].
    pub(crate) fn inner(&mut self, n: u64) -> Result<Self, PayloadError> {
        let at = self.at;
        self.take_long(n)?;
        let bytes = self.bytes.get(..self.at).unwrap_or_default();
        Ok(Self { bytes, at })
    }

    /// Takes the next `N` bytes.
    ///
    /// # Errors
    /// As [`Cursor::take`].
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], PayloadError> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| PayloadError::Truncated)
    }

    /// Reads a base-128 number, lowest digits first: at most ten bytes and 64 bits.
    ///
    /// # Errors
    /// [`PayloadError::Truncated`], or [`PayloadError::NotOfSchema`] for a longer one.
    pub(crate) fn varint(&mut self) -> Result<u64, PayloadError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let digit = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if shift == 63 && byte > 1 {
                return Err(PayloadError::NotOfSchema);
            }
            value |= digit << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(PayloadError::NotOfSchema)
    }

    /// Reads a number with its sign in the lowest bit, so that small negative numbers are short.
    ///
    /// # Errors
    /// As [`Cursor::varint`].
    pub(crate) fn zigzag(&mut self) -> Result<i64, PayloadError> {
        Ok(unzigzag(self.varint()?))
    }
}

/// Decodes a number with its sign in the lowest bit.
pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varint_has_at_most_64_bits() {
        let read = |bytes: &[u8]| Cursor::new(bytes).varint();
        assert_eq!(read(&[0]), Ok(0));
        assert_eq!(read(&[0xac, 0x02]), Ok(300));
        assert_eq!(
            read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
            Ok(u64::MAX)
        );
        assert_eq!(read(&[0x80; 10]), Err(PayloadError::NotOfSchema));
        assert_eq!(
            read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]),
            Err(PayloadError::NotOfSchema)
        );
        assert_eq!(read(&[0x80]), Err(PayloadError::Truncated));
    }

    #[test]
    fn a_sign_in_the_lowest_bit_is_read() {
        for (written, value) in [
            (0, 0),
            (1, -1),
            (2, 1),
            (u64::MAX, i64::MIN),
            (u64::MAX - 1, i64::MAX),
        ] {
            assert_eq!(unzigzag(written), value);
        }
    }

    #[test]
    fn a_length_beyond_the_end_takes_nothing() {
        let mut cursor = Cursor::new(b"abc");
        assert_eq!(cursor.take_long(u64::MAX), Err(PayloadError::Truncated));
        assert_eq!(cursor.take(3), Ok(b"abc".as_slice()));
        assert_eq!((cursor.at(), cursor.left()), (3, 0));
    }
}
