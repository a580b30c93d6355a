//! The character sets of MSH-18 (HL7 table 0211) that are read and written.
//!
//! All of them have ASCII below 0x80, which is why separators and segments may be found after decoding. A set that is
//! not here is refused: text read in a wrong set has wrong letters in its names, and these are then not found.

use std::borrow::Cow;

use serde::Deserialize;

use crate::Problem;

/// A character set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Charset {
    /// `UNICODE UTF-8`.
    #[default]
    #[serde(rename = "UNICODE UTF-8")]
    Utf8,
    /// `ASCII`, and nothing over 0x7F.
    #[serde(rename = "ASCII")]
    Ascii,
    /// `8859/1`, Latin 1.
    #[serde(rename = "8859/1")]
    Latin1,
    /// `8859/15`, Latin 9: Latin 1 with the euro sign and seven letters.
    #[serde(rename = "8859/15")]
    Latin9,
}

/// Where ISO/IEC 8859-15 differs from 8859-1.
const LATIN9: [(u8, char); 8] = [
    (0xA4, '€'),
    (0xA6, 'Š'),
    (0xA8, 'š'),
    (0xB4, 'Ž'),
    (0xB8, 'ž'),
    (0xBC, 'Œ'),
    (0xBD, 'œ'),
    (0xBE, 'Ÿ'),
];

impl Charset {
    /// The set of that name, which MSH-18 has. The names that the sets have elsewhere are understood too.
    pub(super) fn named(name: &str) -> Option<Self> {
        if !name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b" /-_.".contains(&byte))
        {
            return None;
        }
        let plain: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_uppercase())
            .collect();
        Some(match plain.as_str() {
            "UNICODEUTF8" | "UTF8" => Self::Utf8,
            "ASCII" | "USASCII" | "ISOIR6" => Self::Ascii,
            "88591" | "ISO88591" | "ISOIR100" => Self::Latin1,
            "885915" | "ISO885915" | "ISOIR203" => Self::Latin9,
            _ => return None,
        })
    }

    /// The text that the bytes are.
    ///
    /// # Errors
    /// The first byte that is none of the set's, and the problem.
    pub(super) fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, (usize, Problem)> {
        match self {
            Self::Utf8 => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Cow::Borrowed(text)),
                Err(error) => Err((error.valid_up_to(), Problem::NotUtf8)),
            },
            Self::Ascii => match bytes.iter().position(|byte| !byte.is_ascii()) {
                Some(at) => Err((at, Problem::NotInCharset)),
                None => Ok(String::from_utf8_lossy(bytes)),
            },
            Self::Latin1 | Self::Latin9 => Ok(bytes.iter().map(|&byte| self.letter(byte)).collect()),
        }
    }

    /// The bytes that the text is, if all of it is in the set.
    pub(super) fn encode(self, text: String) -> Result<Vec<u8>, String> {
        match self {
            Self::Utf8 => Ok(text.into_bytes()),
            Self::Ascii if text.is_ascii() => Ok(text.into_bytes()),
            Self::Ascii => Err(text),
            Self::Latin1 | Self::Latin9 => match text.chars().map(|c| self.byte(c)).collect() {
                Some(bytes) => Ok(bytes),
                None => Err(text),
            },
        }
    }

    /// The letter of a byte in one of the sets of single bytes.
    fn letter(self, byte: u8) -> char {
        let other = LATIN9.iter().find(|(at, _)| self == Self::Latin9 && *at == byte);
        other.map_or(char::from(byte), |&(_, letter)| letter)
    }

    /// The byte of a letter in one of the sets of single bytes.
    fn byte(self, letter: char) -> Option<u8> {
        if self == Self::Latin9
            && let Some(&(byte, _)) = LATIN9.iter().find(|(_, other)| *other == letter)
        {
            return Some(byte);
        }
        u8::try_from(u32::from(letter))
            .ok()
            .filter(|&byte| self.letter(byte) == letter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin_9_has_the_euro_sign_where_latin_1_has_the_currency_sign() {
        assert_eq!(Charset::Latin1.decode(&[0xE9, 0xA4]).unwrap(), "é¤");
        assert_eq!(Charset::Latin9.decode(&[0xE9, 0xA4]).unwrap(), "é€");
        assert_eq!(Charset::Latin9.encode("é€".into()), Ok(vec![0xE9, 0xA4]));
        assert_eq!(Charset::Latin9.encode("¤".into()), Err("¤".into()));
        assert_eq!(Charset::Latin1.encode("€".into()), Err("€".into()));
    }

    #[test]
    fn every_byte_of_a_set_of_single_bytes_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        for charset in [Charset::Latin1, Charset::Latin9] {
            let text = charset.decode(&all).unwrap().into_owned();
            assert_eq!(charset.encode(text), Ok(all.clone()));
        }
    }

    #[test]
    fn what_is_no_ascii_is_refused_where_ascii_is_declared() {
        assert_eq!(Charset::Ascii.decode(b"a\xE9"), Err((1, Problem::NotInCharset)));
        assert_eq!(Charset::Utf8.decode(b"a\xE9"), Err((1, Problem::NotUtf8)));
        assert_eq!(Charset::Ascii.encode("é".into()), Err("é".into()));
    }

    #[test]
    fn a_name_is_understood_however_it_is_punctuated() {
        assert_eq!(Charset::named("UNICODE UTF-8"), Some(Charset::Utf8));
        assert_eq!(Charset::named("8859/15"), Some(Charset::Latin9));
        assert_eq!(Charset::named("iso-8859-1"), Some(Charset::Latin1));
        assert_eq!(Charset::named("8859/2"), None);
        assert_eq!(Charset::named("UNICODE UTF-16"), None);
    }
}
