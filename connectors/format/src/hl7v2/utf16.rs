//! Messages in UTF-16 (HL7 table 0211, `UNICODE UTF-16`), including their separators.

/// The variant of UTF-16 of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Utf16 {
    big_endian: bool,
    /// Whether it starts with a byte order mark.
    marked: bool,
}

impl Utf16 {
    /// Detects UTF-16 by the first three letters of the message, and returns the start of its text; `None` if
    /// it is not UTF-16.
    pub(super) fn of(payload: &[u8]) -> Option<(Self, usize)> {
        // The byte before an MLLP frame belongs to the transport, not to the text.
        let framed = usize::from(payload.starts_with(b"\x0bM\0") || payload.starts_with(b"\x0b\0M"));
        let rest = payload.get(framed..)?;
        let marked = rest.starts_with(b"\xff\xfe") || rest.starts_with(b"\xfe\xff");
        let start = framed + if marked { 2 } else { 0 };
        let rest = payload.get(start..)?;
        let big_endian = match rest.get(..6)? {
            b"M\0S\0H\0" => false,
            b"\0M\0S\0H" => true,
            _ => return None,
        };
        Some((Self { big_endian, marked }, start))
    }

    /// Decodes the text.
    ///
    /// # Errors
    /// The number of bytes before half a character.
    pub(super) fn decode(self, bytes: &[u8]) -> Result<String, usize> {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let unit = |pair: &[u8; 2]| match self.big_endian {
            true => u16::from_be_bytes(*pair),
            false => u16::from_le_bytes(*pair),
        };
        let mut text = String::with_capacity(bytes.len());
        let mut read = 0;
        for c in char::decode_utf16(pairs.iter().map(unit)) {
            let c = c.map_err(|_| read)?;
            read += c.len_utf16() * 2;
            text.push(c);
        }
        match rest {
            [] => Ok(text),
            _ => Err(read),
        }
    }

    /// Encodes the text.
    pub(super) fn encode(self, text: &str) -> Vec<u8> {
        let mark = self.marked.then_some('\u{feff}');
        let mut buffer = [0; 2];
        let mut bytes = Vec::with_capacity(text.len() * 2 + 2);
        for c in mark.into_iter().chain(text.chars()) {
            for unit in c.encode_utf16(&mut buffer) {
                bytes.extend(match self.big_endian {
                    true => unit.to_be_bytes(),
                    false => unit.to_le_bytes(),
                });
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_byte_orders_are_read_and_written_again() {
        let text = "MSH|^~\\&|Łukasz 😀\r";
        for big_endian in [false, true] {
            for marked in [false, true] {
                let utf16 = Utf16 { big_endian, marked };
                let bytes = utf16.encode(text);
                let (found, start) = Utf16::of(&bytes).unwrap();
                assert_eq!(found, utf16);
                let rest = bytes.get(start..).unwrap();
                assert_eq!(utf16.decode(rest).as_deref(), Ok(text));
                assert_eq!(
                    utf16.decode(rest.get(..rest.len() - 1).unwrap()),
                    Err(rest.len() - 2)
                );
            }
        }
        assert_eq!(Utf16::of(b"MSH|^~\\&|"), None);
        assert_eq!(Utf16::of(b"\xff\xfe"), None);
    }

    #[test]
    fn half_a_surrogate_pair_is_refused_with_its_place() {
        let utf16 = Utf16 {
            big_endian: true,
            marked: false,
        };
        assert_eq!(utf16.decode(b"\0a\xd8\x3d\0b"), Err(2));
    }
}
