//! Reads the expiry and the subject of a bearer token.
//!
//! Nothing is verified here: the brokers do that with keys that a client does not have. The claims only
//! determine when to fetch another token.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

/// The claims of RFC 7519, section 4.1, that a client needs.
#[derive(Debug, Default, PartialEq, Deserialize)]
pub(super) struct Claims {
    /// Expiry in seconds since 1970, possibly with a fraction.
    pub(super) exp: Option<f64>,
    /// The subject.
    pub(super) sub: Option<String>,
}

impl Claims {
    /// Returns the claims of a signed token in compact form (RFC 7515, section 3.1); `None` if it is not one.
    pub(super) fn of(token: &str) -> Option<Self> {
        let mut parts = token.split('.');
        let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let claims = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
        serde_json::from_slice(&claims).ok()
    }

    /// Returns the expiry in ms since 1970.
    pub(super) fn ends_ms(&self) -> Option<i64> {
        let ms = self.exp? * 1000.0;
        // A date after the year 9999 is a mistake, and later ones overflow the number of ms.
        (ms > 0.0 && ms < 253_402_300_800_000.0).then_some(ms as i64)
    }
}

/// Returns whether the text has only characters of a bearer token (`b64token` of RFC 6750, section 2.1). In
/// the exchange of RFC 7628 a control character would end the token and begin another field, and librdkafka
/// would quote all of it in an error.
pub(super) fn is_bearer(token: &str) -> bool {
    let body = token.trim_end_matches('=');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    !body.is_empty() && body.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &str) -> String {
        format!("e30.{}.c2lnbmVk", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn end_and_owner_are_read_and_nothing_else_is_needed() {
        let claims = Claims::of(&token(r#"{"sub":"lethe","exp":1760000000.5,"aud":["kafka"]}"#)).unwrap();
        assert_eq!(claims.ends_ms(), Some(1_760_000_000_500));
        assert_eq!(claims.sub.as_deref(), Some("lethe"));
        assert_eq!(Claims::of(&token("{}")).unwrap(), Claims::default());
    }

    #[test]
    fn what_is_no_signed_token_has_no_claims() {
        for text in ["", "opaque", "a.b", "a.b.c.d", "a.!!.c", "e30.bm8.x", "é.é.é"] {
            assert_eq!(Claims::of(text), None, "{text}");
        }
        assert_eq!(Claims::of(&token(r#"{"exp":"tomorrow"}"#)), None);
        for exp in ["-1", "0", "1e300"] {
            let claims = Claims::of(&token(&format!("{{\"exp\":{exp}}}"))).unwrap();
            assert_eq!(claims.ends_ms(), None, "{exp}");
        }
    }

    #[test]
    fn only_characters_of_a_bearer_token_pass() {
        for good in ["abc", "a.b.c", "a-_~+/9==", &token("{}")] {
            assert!(is_bearer(good), "{good}");
        }
        for bad in ["", "==", "a b", "a\u{1}auth=x", "a\n", "a=b", "é"] {
            assert!(!is_bearer(bad), "{bad:?}");
        }
    }
}
