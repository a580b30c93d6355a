//! Reads and writes the supported character sets of MSH-18 (HL7 table 0211).
//!
//! All of them encode ASCII below 0x80 at the start of a message. So MSH-18 is found before the message is
//! decoded, but separators and segments after it: in several sets the second byte of a letter may be a
//! separator's. Unsupported sets are refused, and so are bytes that are invalid in the set: text in a wrong
//! set has wrong letters in its names, which members then miss. `utf16.rs` reads UTF-16.

use std::borrow::Cow;

use encoding_rs::{DecoderResult, Encoding};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PayloadError;

/// A character set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Charset {
    /// `UNICODE UTF-8`.
    #[default]
    #[serde(rename = "UNICODE UTF-8")]
    Utf8,
    /// `ASCII`, without bytes over 0x7F.
    #[serde(rename = "ASCII")]
    Ascii,
    /// `8859/1`, Latin 1.
    #[serde(rename = "8859/1")]
    Latin1,
    /// `8859/2`, Latin 2: Central Europe.
    #[serde(rename = "8859/2")]
    Latin2,
    /// `8859/3`, Latin 3: Southern Europe.
    #[serde(rename = "8859/3")]
    Latin3,
    /// `8859/4`, Latin 4: Northern Europe.
    #[serde(rename = "8859/4")]
    Latin4,
    /// `8859/5`, Cyrillic.
    #[serde(rename = "8859/5")]
    Cyrillic,
    /// `8859/6`, Arabic.
    #[serde(rename = "8859/6")]
    Arabic,
    /// `8859/7`, Greek.
    #[serde(rename = "8859/7")]
    Greek,
    /// `8859/8`, Hebrew.
    #[serde(rename = "8859/8")]
    Hebrew,
    /// `8859/9`, Latin 5: Latin 1 with six letters of Turkish.
    #[serde(rename = "8859/9")]
    Latin5,
    /// `8859/15`, Latin 9: Latin 1 with the euro sign and seven letters.
    #[serde(rename = "8859/15")]
    Latin9,
    /// `GB 18030-2000`, Chinese.
    #[serde(rename = "GB 18030-2000")]
    Gb18030,
    /// `BIG-5`, Chinese as written in Taiwan.
    #[serde(rename = "BIG-5")]
    Big5,
    /// `KS X 1001`, Korean.
    #[serde(rename = "KS X 1001")]
    Korean,
    /// `ISO IR87`, Japanese: ASCII and JIS X 0208, switched by the escape sequences of ISO 2022.
    #[serde(rename = "ISO IR87")]
    Jis,
}

/// The differences of ISO/IEC 8859-9 from 8859-1.
const LATIN5: &[(u8, char)] = &[
    (0xD0, 'Ğ'),
    (0xDD, 'İ'),
    (0xDE, 'Ş'),
    (0xF0, 'ğ'),
    (0xFD, 'ı'),
    (0xFE, 'ş'),
];

/// The differences of ISO/IEC 8859-15 from 8859-1.
const LATIN9: &[(u8, char)] = &[
    (0xA4, '€'),
    (0xA6, 'Š'),
    (0xA8, 'š'),
    (0xB4, 'Ž'),
    (0xB8, 'ž'),
    (0xBC, 'Œ'),
    (0xBD, 'œ'),
    (0xBE, 'Ÿ'),
];

/// The decoder of a character set.
enum Reader {
    Utf8,
    Ascii,
    /// Latin 1 with these differences.
    Latin(&'static [(u8, char)]),
    /// encoding_rs, which lacks Latin 1 and Latin 5: it reads them as Windows code pages.
    Library(&'static Encoding),
}

/// The declaration in MSH-18.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) charset: Charset,
    /// Whether escape sequences may switch to other sets.
    pub(super) switches: bool,
}

impl Declared {
    /// The declaration of a message in any form of Unicode.
    pub(super) const UNICODE: Self = Self {
        charset: Charset::Utf8,
        switches: false,
    };
}

impl Charset {
    /// Returns the set with that name in MSH-18, or with its common name elsewhere. `UNICODE` means UTF-8
    /// here, since UTF-16 was detected before.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match plain(name)?.as_str() {
            "UNICODEUTF8" | "UTF8" | "UNICODE" => Self::Utf8,
            "ASCII" | "USASCII" | "ISOIR6" => Self::Ascii,
            "88591" | "ISO88591" | "ISOIR100" => Self::Latin1,
            "88592" | "ISO88592" | "ISOIR101" => Self::Latin2,
            "88593" | "ISO88593" | "ISOIR109" => Self::Latin3,
            "88594" | "ISO88594" | "ISOIR110" => Self::Latin4,
            "88595" | "ISO88595" | "ISOIR144" => Self::Cyrillic,
            "88596" | "ISO88596" | "ISOIR127" => Self::Arabic,
            "88597" | "ISO88597" | "ISOIR126" => Self::Greek,
            "88598" | "ISO88598" | "ISOIR138" => Self::Hebrew,
            "88599" | "ISO88599" | "ISOIR148" => Self::Latin5,
            "885915" | "ISO885915" | "ISOIR203" => Self::Latin9,
            "GB180302000" | "GB18030" => Self::Gb18030,
            "BIG5" => Self::Big5,
            "KSX1001" | "EUCKR" | "ISOIR149" => Self::Korean,
            "ISOIR87" => Self::Jis,
            _ => return None,
        })
    }

    /// Returns the sets of a message by the repetitions of its MSH-18: the first is the set at the start, and
    /// escape sequences may switch to the others. Japanese is the exception: all of its sets are one
    /// (ISO-2022-JP) in any order. `None` if the set at the start is unsupported.
    pub(super) fn declared(names: &[String], default: Self) -> Option<Declared> {
        let first = names.first().map_or("", String::as_str);
        if names.iter().all(String::is_empty) {
            return Some(Declared {
                charset: default,
                switches: false,
            });
        }
        let named = |name: &str| match name {
            // Left out before others it means ASCII.
            "" => Some(Self::Ascii),
            name => Self::named(name),
        };
        let of_japan = |name: &String| is_roman(name) || matches!(named(name), Some(Self::Ascii | Self::Jis));
        if names.iter().all(of_japan) && names.iter().any(|name| named(name) == Some(Self::Jis)) {
            return Some(Declared {
                charset: Self::Jis,
                switches: false,
            });
        }
        // JIS X 0208 at the start, followed by a set that is not part of ISO-2022-JP.
        let charset = named(first).filter(|&charset| charset != Self::Jis)?;
        Some(Declared {
            charset,
            switches: names.iter().any(|name| named(name) != Some(charset)),
        })
    }

    /// Returns the names to write: the supported ones, since any other may be anything.
    pub(super) fn known(names: Vec<String>) -> Vec<String> {
        let known = |name: String| match Self::named(&name).is_some() || is_roman(&name) || is_utf16(&name) {
            true => name,
            false => String::new(),
        };
        let mut names: Vec<String> = names.into_iter().map(known).collect();
        while names.last().is_some_and(String::is_empty) {
            names.pop();
        }
        names
    }

    fn reader(self) -> Reader {
        Reader::Library(match self {
            Self::Utf8 => return Reader::Utf8,
            Self::Ascii => return Reader::Ascii,
            Self::Latin1 => return Reader::Latin(&[]),
            Self::Latin5 => return Reader::Latin(LATIN5),
            Self::Latin9 => return Reader::Latin(LATIN9),
            Self::Latin2 => encoding_rs::ISO_8859_2,
            Self::Latin3 => encoding_rs::ISO_8859_3,
            Self::Latin4 => encoding_rs::ISO_8859_4,
            Self::Cyrillic => encoding_rs::ISO_8859_5,
            Self::Arabic => encoding_rs::ISO_8859_6,
            Self::Greek => encoding_rs::ISO_8859_7,
            Self::Hebrew => encoding_rs::ISO_8859_8,
            Self::Gb18030 => encoding_rs::GB18030,
            Self::Big5 => encoding_rs::BIG5,
            Self::Korean => encoding_rs::EUC_KR,
            Self::Jis => encoding_rs::ISO_2022_JP,
        })
    }

    /// Decodes the bytes.
    ///
    /// # Errors
    /// The first byte that is invalid in the set, and the problem.
    pub(super) fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, (usize, PayloadError)> {
        match self.reader() {
            Reader::Utf8 => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Cow::Borrowed(text)),
                Err(error) => Err((error.valid_up_to(), PayloadError::NotUtf8)),
            },
            Reader::Ascii => match bytes.iter().position(|byte| !byte.is_ascii()) {
                Some(at) => Err((at, PayloadError::NotInCharset)),
                None => Ok(String::from_utf8_lossy(bytes)),
            },
            Reader::Latin(others) => Ok(bytes.iter().map(|&byte| letter(byte, others)).collect()),
            Reader::Library(encoding) => read(encoding, bytes)
                .map(Cow::Owned)
                .map_err(|at| (at, PayloadError::NotInCharset)),
        }
    }

    /// Encodes the text, if all of it is in the set.
    pub(super) fn encode(self, text: String) -> Result<Vec<u8>, String> {
        let bytes = match self.reader() {
            Reader::Utf8 => return Ok(text.into_bytes()),
            Reader::Ascii => text.is_ascii().then(|| text.clone().into_bytes()),
            Reader::Latin(others) => text.chars().map(|c| byte(c, others)).collect(),
            Reader::Library(encoding) => {
                let (bytes, _, missing) = encoding.encode(&text);
                // Some letters are encoded as look-alikes; a letter that decodes differently is not in the
                // set.
                let bytes = (!missing).then(|| bytes.into_owned());
                bytes.filter(|bytes| read(encoding, bytes).as_deref() == Ok(&text))
            }
        };
        bytes.ok_or(text)
    }
}

/// Returns the letters and digits of a name in capitals; `None` if it has other characters than names of sets
/// have.
fn plain(name: &str) -> Option<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b" /-_.".contains(&byte);
    name.bytes().all(fits).then(|| {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|c| c.to_ascii_uppercase()).collect()
    })
}

/// Returns whether it is `ISO IR14`, JIS X 0201, which next to `ISO IR87` is part of ISO-2022-JP.
fn is_roman(name: &str) -> bool {
    plain(name).as_deref() == Some("ISOIR14")
}

/// Returns whether it is a name of UTF-16. `UNICODE` alone may mean that or UTF-8.
pub(super) fn is_utf16(name: &str) -> bool {
    matches!(plain(name).as_deref(), Some("UNICODEUTF16" | "UTF16"))
}

/// Returns whether a message in UTF-16 may have this name in MSH-18.
pub(super) fn is_unicode(name: &str) -> bool {
    is_utf16(name) || plain(name).as_deref() == Some("UNICODE")
}

/// Decodes the text, or returns the position of the first invalid byte.
fn read(encoding: &'static Encoding, bytes: &[u8]) -> Result<String, usize> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
    let mut text = String::with_capacity(room.ok_or(0_usize)?);
    match decoder.decode_to_string_without_replacement(bytes, &mut text, true) {
        (DecoderResult::InputEmpty, _) => Ok(text),
        (DecoderResult::Malformed(len, after), read) => {
            Err(read.saturating_sub(usize::from(len) + usize::from(after)))
        }
        (DecoderResult::OutputFull, read) => Err(read),
    }
}

/// Returns the letter of a byte in Latin 1 with some differences.
fn letter(byte: u8, others: &[(u8, char)]) -> char {
    let other = others.iter().find(|(at, _)| *at == byte);
    other.map_or(char::from(byte), |&(_, letter)| letter)
}

/// Returns the byte of a letter in the same way.
fn byte(wanted: char, others: &[(u8, char)]) -> Option<u8> {
    if let Some(&(byte, _)) = others.iter().find(|(_, other)| *other == wanted) {
        return Some(byte);
    }
    u8::try_from(u32::from(wanted))
        .ok()
        .filter(|&byte| letter(byte, others) == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        for charset in [Charset::Latin1, Charset::Latin5, Charset::Latin9] {
            let text = charset.decode(&all).unwrap().into_owned();
            assert_eq!(charset.encode(text), Ok(all.clone()));
        }
    }

    #[test]
    fn what_is_no_ascii_is_refused_where_ascii_is_declared() {
        assert_eq!(
            Charset::Ascii.decode(b"a\xE9"),
            Err((1, PayloadError::NotInCharset))
        );
        assert_eq!(Charset::Utf8.decode(b"a\xE9"), Err((1, PayloadError::NotUtf8)));
        assert_eq!(Charset::Ascii.encode("é".into()), Err("é".into()));
    }

    #[test]
    fn a_name_is_understood_however_it_is_punctuated() {
        assert_eq!(Charset::named("UNICODE UTF-8"), Some(Charset::Utf8));
        assert_eq!(Charset::named("8859/15"), Some(Charset::Latin9));
        assert_eq!(Charset::named("iso-8859-1"), Some(Charset::Latin1));
        assert_eq!(Charset::named("KS X 1001"), Some(Charset::Korean));
        assert_eq!(Charset::named("8859/10"), None);
        assert_eq!(Charset::named("UNICODE UTF-16"), None);
        assert_eq!(Charset::named("CNS 11643-1992"), None);
    }

    #[test]
    fn letters_of_each_set_are_read_and_written() {
        for (charset, bytes, text) in [
            (Charset::Latin2, b"\xa3ukasz".as_slice(), "Łukasz"),
            (Charset::Latin3, b"\xa6", "Ĥ"),
            (Charset::Latin4, b"\xac", "Ŧ"),
            (Charset::Cyrillic, b"\xb8\xd2\xd0\xdd", "Иван"),
            (Charset::Arabic, b"\xe5", "م"),
            (Charset::Greek, b"\xc1\xed\xed\xe1", "Αννα"),
            (Charset::Hebrew, b"\xe0", "א"),
            (Charset::Latin5, b"\xde\xfd\xf0", "Şığ"),
            (Charset::Gb18030, b"\xc0\xee|\x81\x30\x81\x30", "李|\u{80}"),
            // The second byte of the second letter is a bar.
            (Charset::Big5, b"\xa7\xf5|\xb3\x7c", "李|逖"),
            (Charset::Korean, b"\xb1\xe8", "김"),
            (Charset::Jis, b"A\x1b$B;3\x1b(B|", "A山|"),
        ] {
            assert_eq!(charset.decode(bytes).as_deref(), Ok(text), "{charset:?}");
            assert_eq!(charset.encode(text.to_owned()), Ok(bytes.to_vec()), "{charset:?}");
        }
    }

    #[test]
    fn bytes_that_a_set_does_not_have_are_refused_with_their_place() {
        for (charset, bytes, at) in [
            (Charset::Latin3, b"ab\xa5".as_slice(), 2),
            (Charset::Greek, b"a\xff", 1),
            (Charset::Gb18030, b"ab\xff", 2),
            (Charset::Big5, b"a\x80", 1),
            (Charset::Korean, b"abc\xff\x20", 3),
        ] {
            assert_eq!(
                charset.decode(bytes),
                Err((at, PayloadError::NotInCharset)),
                "{charset:?}"
            );
        }
        assert!(Charset::Jis.decode(b"a\xa4").is_err());
        assert!(Charset::Jis.decode(b"\x1b$(D;3\x1b(B").is_err());
    }

    #[test]
    fn the_first_repetition_is_the_set_at_the_start() {
        let declared = |field: &str| {
            let names: Vec<String> = field.split('~').map(str::to_owned).collect();
            Charset::declared(&names, Charset::Latin1).map(|one| (one.charset, one.switches))
        };
        assert_eq!(declared(""), Some((Charset::Latin1, false)));
        assert_eq!(declared("8859/2~ISO IR101"), Some((Charset::Latin2, false)));
        assert_eq!(declared("8859/2~8859/5"), Some((Charset::Latin2, true)));
        assert_eq!(declared("UNICODE UTF-8~KLINGON"), Some((Charset::Utf8, true)));
        assert_eq!(declared("~8859/2"), Some((Charset::Ascii, true)));
        assert_eq!(declared("KLINGON~8859/2"), None);
        for japan in ["~ISO IR87", "ISO IR87", "ASCII~ISO IR87", "ISO IR14~ISO IR87"] {
            assert_eq!(declared(japan), Some((Charset::Jis, false)), "{japan}");
        }
        assert_eq!(declared("ISO IR87~ISO IR159"), None);
        assert_eq!(declared("~ISO IR87~ISO IR159"), Some((Charset::Ascii, true)));
    }

    #[test]
    fn names_that_are_not_known_are_not_written_again() {
        let names = ["8859/1", "Quillfeather", "8859/2", "Voss"].map(str::to_owned);
        assert_eq!(Charset::known(names.to_vec()), ["8859/1", "", "8859/2"]);
    }

    const ALL: [Charset; 16] = [
        Charset::Utf8,
        Charset::Ascii,
        Charset::Latin1,
        Charset::Latin2,
        Charset::Latin3,
        Charset::Latin4,
        Charset::Cyrillic,
        Charset::Arabic,
        Charset::Greek,
        Charset::Hebrew,
        Charset::Latin5,
        Charset::Latin9,
        Charset::Gb18030,
        Charset::Big5,
        Charset::Korean,
        Charset::Jis,
    ];

    proptest! {
        #[test]
        fn bytes_that_are_read_are_written_again(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
            for charset in ALL {
                let Ok(text) = charset.decode(&bytes) else {
                    continue;
                };
                let text = text.into_owned();
                match charset {
                    // The same letter may have two encodings, and some letters are read but not written.
                    Charset::Gb18030 | Charset::Big5 | Charset::Korean | Charset::Jis => {
                        if let Ok(written) = charset.encode(text.clone()) {
                            let again = charset.decode(&written);
                    prop_assert_eq!(again.as_deref(), Ok(text.as_str()));
                        }
                    }
                    _ => prop_assert_eq!(charset.encode(text), Ok(bytes.clone()), "{:?}", charset),
                }
            }
        }

        #[test]
        fn text_that_is_written_is_read_again(text in "\\PC{0,20}") {
            for charset in ALL {
                if let Ok(bytes) = charset.encode(text.clone()) {
                    let again = charset.decode(&bytes);
                    prop_assert_eq!(again.as_deref(), Ok(text.as_str()));
                }
            }
        }
    }
}
