//! Whether a value that would be kept looks as it should.

use serde_json::Value;

use super::{Form, Rule};
use crate::fhir::{ids, ucum};

/// The longest code, name of a code, or URI that is kept.
const MAX_KEPT: usize = 256;

/// The codes of FHIR's own value sets that the elements of the table are bound to.
const WORDS: [&str; 78] = [
    "active",
    "additional",
    "amended",
    "anonymous",
    "appended",
    "appends",
    "arrived",
    "batch",
    "batch-response",
    "billing",
    "both",
    "cancelled",
    "changes",
    "collection",
    "completed",
    "corrected",
    "current",
    "document",
    "email",
    "empty",
    "entered-in-error",
    "extensions",
    "fax",
    "female",
    "final",
    "finished",
    "generated",
    "history",
    "home",
    "in-progress",
    "inactive",
    "include",
    "instance",
    "kind",
    "legal",
    "maiden",
    "male",
    "match",
    "message",
    "mobile",
    "nickname",
    "official",
    "old",
    "onleave",
    "other",
    "outcome",
    "pager",
    "partial",
    "personal",
    "phone",
    "physical",
    "planned",
    "postal",
    "preliminary",
    "professional",
    "refer",
    "registered",
    "replaced-by",
    "replaces",
    "reserved",
    "searchset",
    "secondary",
    "seealso",
    "signs",
    "sms",
    "snapshot",
    "superseded",
    "suspended",
    "temp",
    "transaction",
    "transaction-response",
    "transforms",
    "triaged",
    "unknown",
    "url",
    "usual",
    "work",
    "working",
];

/// Confidentiality of a document, from unrestricted to very restricted.
const CONFIDENTIALITY: [&str; 6] = ["U", "L", "M", "N", "R", "V"];

impl Form {
    /// Whether the value has this form. What has another could be anything.
    pub(in crate::fhir) fn fits(self, value: &Value) -> bool {
        let text = match (self, value) {
            (Self::Bool, value) => return value.is_boolean(),
            (Self::Number, value) => return is_bounded(value),
            (_, Value::String(text)) if text.len() <= MAX_KEPT && !text.is_empty() => text.as_str(),
            _ => return false,
        };
        let all = |allowed: fn(u8) -> bool| text.bytes().all(allowed);
        match self {
            Self::Bool | Self::Number => false,
            Self::Word => WORDS.contains(&text),
            Self::Comparator => ["<", "<=", ">=", ">"].contains(&text),
            Self::Confidentiality => CONFIDENTIALITY.contains(&text),
            Self::OneOf(codes) => codes.split(' ').any(|code| code == text),
            Self::Unit => ucum::is_unit(text),
            Self::UnitSystem => text == "http://unitsofmeasure.org",
            Self::OwnUri => {
                // The rest of the path could be a name.
                ids::is_own_uri(text)
            }
            Self::Language => text.split('-').enumerate().all(|(i, tag)| match i {
                0 => matches!(tag.len(), 2 | 3) && tag.bytes().all(|byte| byte.is_ascii_lowercase()),
                _ => matches!(tag.len(), 2..=4) && tag.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            }),
            Self::Version => text.len() <= 4 && all(|byte| byte.is_ascii_digit()),
            Self::Status => text.len() == 3 && all(|byte| byte.is_ascii_digit()),
            Self::Method => ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"].contains(&text),
            Self::Kind => ids::kind(text).is_some(),
        }
    }
}

/// Whether it is a number too short to be an identifier: six digits before the point and nine in all.
fn is_bounded(value: &Value) -> bool {
    let Value::Number(number) = value else {
        return false;
    };
    let text = number.to_string();
    let whole = text.split('.').next().unwrap_or_default();
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    !text.contains('e') && digits(whole) <= 6 && digits(&text) <= 9
}

impl Rule {
    /// Whether it is for a JSON string, number or truth value.
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
