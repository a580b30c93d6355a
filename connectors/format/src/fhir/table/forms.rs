//! Checks that a kept value has its expected form.

use super::{Form, Rule};
use crate::fhir::value::Value;
use crate::fhir::{ids, ucum};

/// Maximum length of a kept code, name of a code, or URI.
const MAX_KEPT: usize = 256;

/// Confidentiality of a document, from unrestricted to very restricted.
const CONFIDENTIALITY: [&str; 6] = ["U", "L", "M", "N", "R", "V"];

impl Form {
    /// Returns whether the value has this form. Any other value could be anything.
    pub(in crate::fhir) fn fits(self, value: &Value<'_>) -> bool {
        let text = match (self, value) {
            (Self::Bool, value) => return value.is_boolean(),
            (Self::Number, value) => return is_bounded(value),
            (_, Value::String(text)) if text.len() <= MAX_KEPT && !text.is_empty() => &**text,
            _ => return false,
        };
        let all = |allowed: fn(u8) -> bool| text.bytes().all(allowed);
        match self {
            Self::Bool | Self::Number => false,
            Self::Comparator => ["<", "<=", ">=", ">"].contains(&text),
            Self::Confidentiality => CONFIDENTIALITY.contains(&text),
            Self::OneOf(codes) => codes.split(' ').any(|code| code == text),
            Self::Unit => ucum::is_unit(text),
            Self::UnitSystem => text == "http://unitsofmeasure.org",
            Self::OwnUri => {
                // The rest of the path could be a name.
                ids::is_own_uri(text)
            }
            Self::Language => is_language(text),
            Self::Version => text.len() <= 4 && all(|byte| byte.is_ascii_digit()),
            Self::Status => text.len() == 3 && all(|byte| byte.is_ascii_digit()),
            Self::Method => ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"].contains(&text),
            Self::Kind => ids::kind(text).is_some(),
        }
    }
}

/// Returns whether it is a two-letter language, optionally with a two-letter country or a four-letter script
/// (RFC 5646). Three-letter languages are refused, since many given names have three letters.
fn is_language(text: &str) -> bool {
    let (language, rest) = text.split_once('-').unwrap_or((text, "XX"));
    let capitals = |part: &str| part.bytes().all(|byte| byte.is_ascii_uppercase());
    let lower = |part: &str| part.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_script = |part: &str| part.len() == 4 && ["Latn", "Cyrl", "Arab", "Hans", "Hant"].contains(&part);
    language.len() == 2 && lower(language) && (rest.len() == 2 && capitals(rest) || is_script(rest))
}

/// Returns whether the number is too short for an identifier: at most six digits before the point and nine in
/// all.
fn is_bounded(value: &Value<'_>) -> bool {
    let Value::Number(number) = value else {
        return false;
    };
    let text = number.to_string();
    let whole = text.split('.').next().unwrap_or_default();
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    !text.contains('e') && digits(whole) <= 6 && digits(&text) <= 9
}

impl Rule {
    /// Returns whether it is the form of a JSON string, number or Boolean.
    pub(in crate::fhir) const fn is_primitive(self) -> bool {
        matches!(
            self,
            Self::Keep(_)
                | Self::Text
                | Self::Body
                | Self::Id
                | Self::FullUrl
                | Self::RequestUrl
                | Self::Date
                | Self::BirthDate(_)
                | Self::Instant
                | Self::Label(..)
                | Self::Never
        )
    }
}
