//! Text that only holders of the key can read: `[LABEL:e1.KEY.BODY]` instead of a value.
//!
//! `e1` is the version of the format, `KEY` the id of the key, `BODY` base64url (RFC 4648, section 5) without
//! padding. Label, key id and context are authenticated with the text: a token that was altered, moved to
//! another patient or given another label does not open.
//!
//! # What equal tokens reveal
//!
//! Redacting a note again must give the same bytes, so a token has no random part: equal values of one label,
//! patient and key have equal tokens, and a reader sees that they are equal (as with any numbered tag). In
//! different contexts they differ, so tokens do not link patients. `lock.rs` describes, with its bounds, how
//! the cipher stays safe without random nonces.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use zeroize::Zeroizing;

use crate::keys::{Key, KeyError, KeyState, Keyring, Purpose, is_id};
use crate::lock::{LEAST, Lock};

const VERSION: &str = "e1";
/// The longest label, in bytes.
const LABEL: usize = 64;

/// Why a text could not be sealed or opened. Contains no text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The label is not valid in a token.
    #[error("a sealed token's label is 1 to 64 bytes of letters, digits, - _ . and /")]
    Label,
    /// The text is not a token.
    #[error("this is not a sealed token")]
    Form,
    /// This keyring does not open the token's key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The token was altered, or belongs to another context.
    #[error(
        "the sealed token was altered, or was sealed for another patient, or with another key with the id {id}"
    )]
    Refused {
        /// The id of the key in the token.
        id: String,
    },
}

/// The parts of a sealed token. Displays as the token's text.
#[derive(Clone, PartialEq, Eq)]
pub struct Token<'a> {
    /// The label.
    pub label: &'a str,
    /// The id of its key.
    pub key: &'a str,
    body: Vec<u8>,
}

impl<'a> Token<'a> {
    /// Parses a text that is exactly one token. Every token has only one text: a parsed token displays as the
    /// original.
    ///
    /// # Errors
    ///
    /// [`SealError::Form`].
    pub fn parse(text: &'a str) -> Result<Self, SealError> {
        Self::parts(text).ok_or(SealError::Form)
    }

    fn parts(text: &'a str) -> Option<Self> {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        let (label, rest) = inner.split_once(':')?;
        let (version, rest) = rest.split_once('.')?;
        let (key, body) = rest.split_once('.')?;
        if !is_label(label) || version != VERSION || !is_id(key) {
            return None;
        }
        // This refuses padding, other alphabets, and bits after the last byte.
        let body = URL_SAFE_NO_PAD.decode(body).ok()?;
        (body.len() >= LEAST).then_some(Self { label, key, body })
    }

    /// Returns the byte ranges of the tokens in a text, in order, which [`Token::parse`] accepts.
    pub fn find(text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut open = None;
        for (place, byte) in text.bytes().enumerate() {
            match byte {
                b'[' => open = Some(place),
                b']' => {
                    if let Some(start) = open.take() {
                        let range = start..place + 1;
                        if text.get(range.clone()).and_then(Token::parts).is_some() {
                            found.push(range);
                        }
                    }
                }
                _ => {}
            }
        }
        found
    }
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { label, key, body } = self;
        write!(f, "[{label}:{VERSION}.{key}.{}]", URL_SAFE_NO_PAD.encode(body))
    }
}

impl fmt::Debug for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn is_label(label: &str) -> bool {
    (1..=LABEL).contains(&label.len()) && label.chars().all(|c| c.is_alphanumeric() || "-_./".contains(c))
}

/// Seals and opens the values of one context, nearly always a patient.
pub struct Sealer {
    current: Box<str>,
    /// The locks by the key's id, for the current key and the accepted ones.
    locks: BTreeMap<Box<str>, Lock>,
    retired: Vec<Box<str>>,
}

impl Sealer {
    /// Creates the sealer of a context, which must be the same when the tokens are opened.
    pub fn new(keyring: &Keyring, context: &str) -> Self {
        let with = |wanted: fn(&Key) -> bool| keyring.keys().filter(move |key| wanted(key));
        let lock = |key: &Key| (key.id().into(), Lock::new(&key.bound(Purpose::Seal, context)));
        Self {
            current: keyring.current().id().into(),
            locks: with(|key| key.state() != KeyState::Retired).map(lock).collect(),
            retired: with(|key| key.state() == KeyState::Retired)
                .map(|key| key.id().into())
                .collect(),
        }
    }

    /// Returns the token of a text, under the current key.
    ///
    /// # Errors
    ///
    /// [`SealError::Label`].
    pub fn seal(&self, label: &str, text: &str) -> Result<String, SealError> {
        if !is_label(label) {
            return Err(SealError::Label);
        }
        let key = &*self.current;
        let body = self.locks[key].close(&[VERSION, key, label], text);
        Ok(Token { label, key, body }.to_string())
    }

    /// Returns the text of a token.
    ///
    /// # Errors
    ///
    /// [`SealError::Form`], [`SealError::Key`], [`SealError::Refused`].
    pub fn open(&self, token: &str) -> Result<Zeroizing<String>, SealError> {
        let Token { label, key, body } = Token::parse(token)?;
        let Some(lock) = self.locks.get(key) else {
            let id = key.to_owned();
            return Err(if self.retired.iter().any(|retired| **retired == *key) {
                KeyError::Retired { id }.into()
            } else {
                KeyError::Unknown { id }.into()
            });
        };
        lock.open(&[VERSION, key, label], &body)
            .ok_or_else(|| SealError::Refused { id: key.to_owned() })
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sealer").field(&self.current).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::source_tests::{SECRET_A, SECRET_B};
    use proptest::prelude::*;

    fn ring(new: &str, old: &str, state: &str) -> Keyring {
        Keyring::parse(&format!(
            "[[keys]]\nid = \"{new}\"\nsecret = \"{SECRET_B}\"\n\
             [[keys]]\nid = \"{old}\"\nsecret = \"{SECRET_A}\"\nstate = \"{state}\"\n"
        ))
        .unwrap()
    }

    fn old() -> Keyring {
        Keyring::parse_short(&format!("old:{SECRET_A}")).unwrap()
    }

    #[test]
    fn a_token_names_its_label_and_key_and_opens_for_its_patient_alone() {
        let token = Sealer::new(&old(), "p").seal("DOCTOR", "Quill").unwrap();
        assert!(token.starts_with("[DOCTOR:e1.old."), "{token}");
        assert_eq!(*Sealer::new(&old(), "p").open(&token).unwrap(), "Quill");
        let refused = Sealer::new(&old(), "q").open(&token).unwrap_err();
        assert!(
            matches!(refused, SealError::Refused { ref id } if id == "old"),
            "{refused}"
        );
    }

    #[test]
    fn equal_values_have_equal_tokens_in_one_context_and_other_ones_in_another() {
        let seal = |context, label, text| Sealer::new(&old(), context).seal(label, text).unwrap();
        assert_eq!(seal("p", "DOCTOR", "Quill"), seal("p", "DOCTOR", "Quill"));
        assert_ne!(seal("p", "DOCTOR", "Quill"), seal("q", "DOCTOR", "Quill"));
        let body = |token: String| token.split('.').nth(2).unwrap().to_owned();
        assert_ne!(
            body(seal("p", "DOCTOR", "Quill")),
            body(seal("p", "CITY", "Quill"))
        );
    }

    #[test]
    fn accepted_keys_open_what_they_sealed_and_retired_ones_do_not() {
        let token = Sealer::new(&old(), "p").seal("ID", "47").unwrap();
        assert_eq!(
            *Sealer::new(&ring("new", "old", "accepted"), "p")
                .open(&token)
                .unwrap(),
            "47"
        );
        let error = Sealer::new(&ring("new", "old", "retired"), "p")
            .open(&token)
            .unwrap_err();
        assert!(
            matches!(error, SealError::Key(KeyError::Retired { .. })),
            "{error}"
        );
        let error = Sealer::new(&ring("new", "other", "accepted"), "p")
            .open(&token)
            .unwrap_err();
        assert!(
            matches!(error, SealError::Key(KeyError::Unknown { .. })),
            "{error}"
        );
    }

    #[test]
    fn another_secret_under_the_same_id_does_not_open_it() {
        let token = Sealer::new(&old(), "p").seal("ID", "47").unwrap();
        let other = Keyring::parse_short(&format!("old:{SECRET_B}")).unwrap();
        assert!(matches!(
            Sealer::new(&other, "p").open(&token),
            Err(SealError::Refused { .. })
        ));
    }

    #[test]
    fn labels_that_would_not_be_read_back_are_refused() {
        let sealer = Sealer::new(&old(), "p");
        for label in ["", "A:B", "A]", "A B", "[A", &"A".repeat(65)] {
            assert!(
                matches!(sealer.seal(label, "x"), Err(SealError::Label)),
                "{label}"
            );
        }
        for label in ["LOCATION-OTHER", "ID_CONTACTO", "DOCTOR/2", "Straße"] {
            assert_eq!(*sealer.open(&sealer.seal(label, "x").unwrap()).unwrap(), "x");
        }
    }

    #[test]
    fn tokens_are_found_in_a_text_and_other_brackets_are_left() {
        let sealer = Sealer::new(&old(), "p");
        let (one, two) = (
            sealer.seal("DOCTOR", "Quill").unwrap(),
            sealer.seal("CITY", "Ost").unwrap(),
        );
        let text = format!("Seen [sic] by [{one}] in {two}[DATE][ID:e1.old.xx]");
        let found: Vec<_> = Token::find(&text)
            .into_iter()
            .map(|range| text.get(range).unwrap())
            .collect();
        assert_eq!(found, [&one, &two]);
    }

    #[test]
    fn no_debug_form_holds_the_text() {
        let sealer = Sealer::new(&old(), "p");
        let token = sealer.seal("DOCTOR", "Quill").unwrap();
        let printed = format!("{sealer:?} {:?} {:?}", Token::parse(&token), sealer.open("Quill"));
        assert!(!printed.contains("Quill"), "{printed}");
    }

    proptest! {
        #[test]
        fn any_text_of_any_context_comes_back_exactly(context in ".{0,20}", text in "(?s).{0,200}") {
            let sealer = Sealer::new(&old(), &context);
            let token = sealer.seal("NOTE", &text).unwrap();
            let opened = sealer.open(&token).unwrap();
            prop_assert_eq!(opened.as_str(), text.as_str());
            prop_assert_eq!(Token::parse(&token).unwrap().to_string(), token);
        }

        #[test]
        fn any_flipped_bit_of_a_token_is_refused(text in ".{0,30}", place in any::<prop::sample::Index>(), bit in 0..8) {
            // It is accepted as well, so that a changed id can name an existing key.
            let sealer = Sealer::new(&ring("old", "nld", "accepted"), "p");
            let token = sealer.seal("DOCTOR", &text).unwrap();
            let mut bytes = token.clone().into_bytes();
            let place = place.index(bytes.len());
            bytes[place] ^= 1_u8 << bit;
            // Some flips do not leave UTF-8, which `open` cannot take.
            if let Ok(altered) = String::from_utf8(bytes) {
                prop_assert!(sealer.open(&altered).is_err());
            }
        }

        #[test]
        fn what_parses_displays_as_it_was(text in r"\[[A-Z]{1,3}:e1\.[a-z]{1,3}\.[A-Za-z0-9_-]{58,64}\]") {
            if let Ok(token) = Token::parse(&text) {
                prop_assert_eq!(token.to_string(), text);
            }
        }

        #[test]
        fn any_text_is_searched(text in "(?s)[\\[\\]:.eé1]{0,60}") {
            for range in Token::find(&text) {
                prop_assert!(Token::parse(text.get(range).unwrap()).is_ok());
            }
        }
    }
}
