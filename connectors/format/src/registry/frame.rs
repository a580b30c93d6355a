//! The frame before a payload whose schema is in a registry: a byte 0, a four-byte schema id (big-endian)
//! and, for Protobuf, the index of the message in the schema's file (Confluent's wire format).

use crate::PayloadError;
use crate::cursor::Cursor;

/// The first byte.
const MAGIC: u8 = 0;

/// Maximum nesting of messages. The compilers of `.proto` files allow 32.
const MAX_NESTING: u64 = 32;

/// Reads the id of the payload's schema.
///
/// # Errors
/// [`PayloadError::NotFramed`].
pub(crate) fn schema_id(cursor: &mut Cursor<'_>) -> Result<u32, PayloadError> {
    let [magic] = cursor.array().map_err(|_| PayloadError::NotFramed)?;
    if magic != MAGIC {
        return Err(PayloadError::NotFramed);
    }
    let id = cursor.array().map_err(|_| PayloadError::NotFramed)?;
    Ok(u32::from_be_bytes(id))
}

/// Reads the path of the message in the schema's file: its index at the top, then inside each message. A lone
/// 0 is short for the first message.
///
/// # Errors
/// [`PayloadError::NotFramed`].
pub(crate) fn schema_path(cursor: &mut Cursor<'_>) -> Result<Vec<u32>, PayloadError> {
    let mut number = || {
        let number = cursor.zigzag().map_err(|_| PayloadError::NotFramed)?;
        u64::try_from(number).map_err(|_| PayloadError::NotFramed)
    };
    let count = number()?;
    if count == 0 {
        return Ok(vec![0]);
    }
    if count > MAX_NESTING {
        return Err(PayloadError::NotFramed);
    }
    (0..count)
        .map(|_| u32::try_from(number()?).map_err(|_| PayloadError::NotFramed))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(bytes: &[u8]) -> Result<Vec<u32>, PayloadError> {
        schema_path(&mut Cursor::new(bytes))
    }

    #[test]
    fn a_frame_is_a_zero_and_an_id_with_its_highest_byte_first() {
        let mut cursor = Cursor::new(&[0, 1, 2, 3, 4, 9]);
        assert_eq!(schema_id(&mut cursor), Ok(0x0102_0304));
        assert_eq!(cursor.left(), 1);
        for bytes in [&[][..], &[0], &[0, 1, 2, 3], &[1, 0, 0, 0, 1], b"{\"note_id\":1}"] {
            assert_eq!(schema_id(&mut Cursor::new(bytes)), Err(PayloadError::NotFramed));
        }
    }

    #[test]
    fn a_lone_zero_is_the_first_message_and_a_list_is_a_way_inwards() {
        assert_eq!(path(&[0]), Ok(vec![0]));
        assert_eq!(path(&[2, 0]), Ok(vec![0]));
        assert_eq!(path(&[4, 2, 6]), Ok(vec![1, 3]));
    }

    #[test]
    fn a_list_of_messages_that_cannot_be_is_refused() {
        for bytes in [
            &[][..],
            &[1],
            &[4, 2],
            &[2, 1],
            &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
        ] {
            assert_eq!(path(bytes), Err(PayloadError::NotFramed), "{bytes:?}");
        }
    }
}
