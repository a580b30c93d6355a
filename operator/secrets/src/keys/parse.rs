//! The text format of a keyring. Pure, and fuzzed, because it is the first code that reads a key file.
//!
//! Values are taken from the parsed tree by hand rather than with serde: serde's messages quote unexpected
//! values, and TOML's quote the line, and either can be the secret.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use toml::de::{DeTable, DeValue};
use zeroize::Zeroizing;

use super::{ID_CHARACTERS, Key, KeyError, KeyState, Keyring, SECRET_BYTES, SECRET_VARIETY};

/// With or without padding: tools differ.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

impl Keyring {
    /// Reads a keyring from its TOML form:
    ///
    /// ```toml
    /// [[keys]]
    /// id = "2026-b"                 # at most 32 of A-Z a-z 0-9 - _
    /// secret = "base64 or hex"      # at least 32 random bytes
    /// state = "current"             # the default; or "accepted", or "retired" (then the secret is optional)
    /// ```
    ///
    /// A secret that consists of an even number of hexadecimal digits is hexadecimal; any other is base64, of
    /// either alphabet, padded or not.
    ///
    /// # Errors
    ///
    /// All variants of [`KeyError`] about lines, ids and states. A line number is that of the invalid value,
    /// or of its `[[keys]]`.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let tree = DeTable::parse(text).map_err(|error| KeyError::Form {
            line: line(text, error.span().map_or(0, |span| span.start)),
            what: "this is not TOML (the line is not shown, because it may contain a secret)",
        })?;
        let mut entries = Vec::new();
        for (name, value) in tree.get_ref() {
            let at = |what| KeyError::Form {
                line: line(text, name.span().start),
                what,
            };
            if name.get_ref() != "keys" {
                return Err(at("only [[keys]] tables are allowed here"));
            }
            let DeValue::Array(tables) = value.get_ref() else {
                return Err(at("keys must be given as [[keys]] tables"));
            };
            for table in tables.iter() {
                let number = line(text, table.span().start);
                let DeValue::Table(table) = table.get_ref() else {
                    return Err(at("keys must be given as [[keys]] tables"));
                };
                entries.push(entry(text, number, table)?);
            }
        }
        ring(&entries)
    }

    /// Reads a keyring from the value of an environment variable: the TOML format, or one key as `ID:SECRET`.
    ///
    /// # Errors
    ///
    /// As [`Keyring::parse`].
    pub fn parse_short(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        if text.contains("[[keys]]") {
            return Self::parse(text);
        }
        let (id, secret) = text.split_once(':').ok_or(KeyError::Form {
            line: 1,
            what: "neither [[keys]] tables nor one key as ID:SECRET",
        })?;
        ring(&[Entry {
            line: 1,
            id: checked_id(1, id)?.to_owned(),
            state: KeyState::Current,
            secret: Some(decoded(1, secret)?),
        }])
    }
}

/// A `[[keys]]` table whose values are well-formed.
struct Entry {
    line: usize,
    id: String,
    state: KeyState,
    secret: Option<Zeroizing<Vec<u8>>>,
}

fn entry(text: &str, number: usize, table: &DeTable<'_>) -> Result<Entry, KeyError> {
    let (mut id, mut secret, mut state) = (None, None, KeyState::Current);
    for (name, value) in table {
        let number = line(text, value.span().start);
        let at = |what| KeyError::Form { line: number, what };
        let DeValue::String(value) = value.get_ref() else {
            return Err(at("the value is not a string in quotes"));
        };
        match name.get_ref().as_ref() {
            "id" => id = Some(checked_id(number, value)?.to_owned()),
            "secret" => secret = Some(decoded(number, value)?),
            "state" => {
                state = match value.as_ref() {
                    "current" => KeyState::Current,
                    "accepted" => KeyState::Accepted,
                    "retired" => KeyState::Retired,
                    _ => return Err(at("the state must be \"current\", \"accepted\" or \"retired\"")),
                }
            }
            _ => return Err(at("a key has `id`, `secret` and `state`, and nothing else")),
        }
    }
    let at = |what| KeyError::Form { line: number, what };
    let id = id.ok_or_else(|| at("the key has no `id`"))?;
    if secret.is_none() && state != KeyState::Retired {
        return Err(at("the key has no `secret` (only a retired key may omit it)"));
    }
    Ok(Entry {
        line: number,
        id,
        state,
        secret,
    })
}

/// Returns whether a text can be a key's id: tokens, file footers and audit rows can hold it unchanged, and
/// it is too short for a secret that was entered in the wrong place.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=ID_CHARACTERS).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn checked_id(line: usize, id: &str) -> Result<&str, KeyError> {
    if is_id(id) {
        return Ok(id);
    }
    Err(KeyError::Form {
        line,
        what: "an id is 1 to 32 of the characters A-Z a-z 0-9 - _",
    })
}

fn decoded(line: usize, text: &str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let at = |what| KeyError::Form { line, what };
    let bytes = hex(text)
        .or_else(|| base64(&GeneralPurpose::new(&STANDARD, LENIENT), text))
        .or_else(|| base64(&GeneralPurpose::new(&URL_SAFE, LENIENT), text))
        .ok_or_else(|| at("the secret is neither hexadecimal nor base64"))?;
    if bytes.len() < SECRET_BYTES {
        return Err(at(
            "the secret is shorter than 32 bytes: use `openssl rand -base64 32`",
        ));
    }
    let mut seen = [false; 256];
    for &byte in bytes.iter() {
        seen[usize::from(byte)] = true;
    }
    if seen.iter().filter(|&&seen| seen).count() < SECRET_VARIETY {
        return Err(at(
            "the secret repeats itself and is not random: use `openssl rand -base64 32`",
        ));
    }
    Ok(bytes)
}

/// Returns the bytes of an even number of hexadecimal digits.
fn hex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
    let mut bytes = Zeroizing::new(vec![0; digits.len() / 2]);
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0]) << 4 | value(pair[1]);
    }
    Some(bytes)
}

/// Returns the bytes of base64, in a buffer that is also wiped if the text is not base64.
fn base64(engine: &GeneralPurpose, text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(vec![0; text.len()]);
    let length = engine.decode_slice(text, &mut bytes).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

fn ring(entries: &[Entry]) -> Result<Keyring, KeyError> {
    for (place, entry) in entries.iter().enumerate() {
        for earlier in &entries[..place] {
            if earlier.id == entry.id {
                return Err(KeyError::SameId {
                    line: entry.line,
                    id: entry.id.clone(),
                });
            }
            if entry.secret.is_some() && earlier.secret == entry.secret {
                return Err(KeyError::SameSecret {
                    first: earlier.id.clone(),
                    second: entry.id.clone(),
                });
            }
        }
    }
    let mut current = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.state == KeyState::Current);
    let (Some((place, _)), 0) = (current.next(), current.count()) else {
        return Err(KeyError::Current {
            found: entries
                .iter()
                .filter(|entry| entry.state == KeyState::Current)
                .count(),
        });
    };
    Ok(Keyring {
        current: place,
        keys: entries
            .iter()
            .map(|entry| {
                Key::new(
                    &entry.id,
                    entry.state,
                    entry.secret.as_ref().map(|secret| secret.as_slice()),
                )
            })
            .collect(),
    })
}

/// Returns the 1-based line of a byte offset.
fn line(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::{SECRET_A, SECRET_A_HEX, SECRET_B};
    use super::*;

    fn refusal(text: &str) -> String {
        let error = Keyring::parse(text).unwrap_err().to_string();
        assert!(!error.contains(SECRET_A), "{error}");
        error
    }

    fn key(more: &str) -> String {
        format!("[[keys]]\nid = \"a\"\n{more}\n")
    }

    #[test]
    fn hexadecimal_and_base64_of_one_secret_make_the_same_key() {
        let mut codes = Vec::new();
        let url = SECRET_A.replace('+', "-").replace('/', "_");
        for secret in [
            SECRET_A,
            SECRET_A.trim_end_matches('='),
            &url,
            SECRET_A_HEX,
            &SECRET_A_HEX.to_uppercase(),
        ] {
            let ring = Keyring::parse(&key(&format!("secret = \"{secret}\""))).unwrap();
            codes.push(ring.current().prf("").code(&["x"]));
        }
        assert_ne!(url, SECRET_A);
        codes.dedup();
        assert_eq!(codes.len(), 1);
    }

    #[test]
    fn a_single_key_can_be_written_in_one_line() {
        let short = Keyring::parse_short(&format!(" a:{SECRET_A}\n")).unwrap();
        let long = Keyring::parse_short(&key(&format!("secret = \"{SECRET_A}\""))).unwrap();
        assert_eq!(short.current().id(), "a");
        assert_eq!(
            short.current().prf("p").code(&["x"]),
            long.current().prf("p").code(&["x"])
        );
        let error = Keyring::parse_short(SECRET_A).unwrap_err().to_string();
        assert_eq!(error, "line 1: neither [[keys]] tables nor one key as ID:SECRET");
    }

    #[test]
    fn short_secrets_are_refused() {
        let error = refusal(&key("secret = \"MTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ub3BxcnN0dQ==\""));
        assert!(
            error.starts_with("line 3: the secret is shorter than 32 bytes"),
            "{error}"
        );
    }

    #[test]
    fn weak_secrets_are_refused() {
        for weak in [
            "00".repeat(32),
            "ff".repeat(64),
            "0123456789abcdef".repeat(4),
            "41".repeat(31) + "42",
        ] {
            let error = refusal(&key(&format!("secret = \"{weak}\"")));
            assert!(error.starts_with("line 3: the secret repeats itself"), "{error}");
        }
    }

    #[test]
    fn two_keys_are_two_secrets_and_two_ids() {
        let one = key(&format!("secret = \"{SECRET_A}\""));
        let error = refusal(&format!(
            "{one}{}",
            key(&format!("secret = \"{SECRET_B}\"\nstate = \"accepted\""))
        ));
        assert_eq!(error, "line 4: another key has the id a");
        let error = refusal(&format!(
            "{one}[[keys]]\nid = \"b\"\nsecret = \"{SECRET_A_HEX}\"\nstate = \"accepted\""
        ));
        assert!(
            error.starts_with("the keys a and b have the same secret"),
            "{error}"
        );
    }

    #[test]
    fn exactly_one_key_is_current() {
        let accepted = key(&format!("secret = \"{SECRET_A}\"\nstate = \"accepted\""));
        assert_eq!(
            refusal(&accepted),
            "exactly one key must have the state \"current\", and 0 have it"
        );
        let one = key(&format!("secret = \"{SECRET_A}\""));
        let error = refusal(&format!("{one}[[keys]]\nid = \"b\"\nsecret = \"{SECRET_B}\""));
        assert_eq!(
            error,
            "exactly one key must have the state \"current\", and 2 have it"
        );
        assert_eq!(
            refusal(""),
            "exactly one key must have the state \"current\", and 0 have it"
        );
        assert_eq!(
            refusal("keys = []"),
            "exactly one key must have the state \"current\", and 0 have it"
        );
    }

    #[test]
    fn a_fault_is_told_by_its_line_and_never_by_its_text() {
        let cases = [
            (
                format!("[[keys]]\nid = \"{SECRET_A}\""),
                "line 2: an id is 1 to 32",
            ),
            (
                format!("[[keys]]\n\"{SECRET_A}\" = \"x\""),
                "line 2: a key has `id`, `secret` and `state`",
            ),
            (
                format!("[[keys]]\nid = \"a\"\nsecret = {SECRET_A}"),
                "line 3: this is not TOML",
            ),
            (
                format!("[[keys]]\nid = \"a\"\nsecret = [\"{SECRET_A}\"]"),
                "line 3: the value is not a string",
            ),
            (
                format!("[[keys]]\nid = \"a\"\nsecret = \"{SECRET_A}!\""),
                "line 3: the secret is neither",
            ),
            (key("state = \"old\""), "line 3: the state must be"),
            (key(""), "line 1: the key has no `secret`"),
            (
                format!("[[keys]]\nsecret = \"{SECRET_A}\""),
                "line 1: the key has no `id`",
            ),
            (
                "[keys]\nid = \"a\"".to_owned(),
                "line 1: keys must be given as [[keys]] tables",
            ),
            (
                "keys = [1]".to_owned(),
                "line 1: keys must be given as [[keys]] tables",
            ),
            (
                "key = 1".to_owned(),
                "line 1: only [[keys]] tables are allowed here",
            ),
        ];
        for (text, expected) in cases {
            let error = refusal(&text);
            assert!(error.starts_with(expected), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_text_that_is_no_keyring_is_refused(text in "(?s)[\\[\\]=\"#a-z:. \n\u{e9}]{0,200}") {
            proptest::prop_assert!(Keyring::parse(&text).is_err());
            proptest::prop_assert!(Keyring::parse_short(&text).is_err());
        }

        #[test]
        fn no_fault_anywhere_shows_the_secret(place in 0..110_usize, cut in 0..5_usize, put in "(?s).{0,3}") {
            let mut text: Vec<char> = key(&format!("secret = \"{SECRET_A}\"\nstate = \"current\"")).chars().collect();
            let (start, end) = (place.min(text.len()), (place + cut).min(text.len()));
            text.splice(start..end, put.chars());
            let text: String = text.into_iter().collect();
            if let Err(error) = Keyring::parse(&text) {
                let error = format!("{error} {error:?}");
                // The parts that the change left unchanged.
                let parts = SECRET_A.as_bytes().chunks(8).map(|part| std::str::from_utf8(part).unwrap());
                proptest::prop_assert!(parts.into_iter().all(|part| !error.contains(part)), "{}", error);
            }
        }
    }
}
