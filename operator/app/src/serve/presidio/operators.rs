//! The operators of a request, and the refusal of those that are weaker than the policy.

use std::collections::BTreeMap;

use serde_json::Value;

use super::forms::Anonymizer;
use super::labels::{Acted, Entities};
use crate::serve::refusal::Refusal;

/// The names of the operators, for `/anonymizers`.
pub(crate) const NAMES: &[&str] = &["keep", "mask", "redact", "replace"];

/// The key of the operator for entities without their own.
const DEFAULT: &str = "DEFAULT";

/// What replaces a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Replace(Option<String>),
    Redact,
    Mask {
        with: char,
        count: usize,
        from_end: bool,
    },
    Keep,
}

/// The operators of a request, by entity.
pub(super) struct Operators {
    by_entity: BTreeMap<String, Operator>,
}

impl Operators {
    /// Reads the operators, and refuses those that are weaker than the policy whatever the value is.
    pub(super) fn read(given: Option<BTreeMap<String, Value>>, entities: &Entities) -> Result<Self, Refusal> {
        let mut by_entity = BTreeMap::new();
        for (entity, operator) in given.unwrap_or_default() {
            let operator = operator_of(&entity, operator)?;
            by_entity.insert(entity, operator);
        }
        let operators = Self { by_entity };
        for (entity, operator) in &operators.by_entity {
            if *operator == Operator::Keep
                && let Some(acted) = operators.weakened(entity, entities)
            {
                return Err(weaker(entity, operator, acted));
            }
        }
        Ok(operators)
    }

    /// Returns a label of an entity, or of all that `DEFAULT` stands for, that the policy does not keep.
    fn weakened<'a>(&self, entity: &str, entities: &'a Entities) -> Option<Acted<'a>> {
        if entity != DEFAULT {
            return entities.not_kept(entity);
        }
        let names = entities.names();
        let others = names
            .into_iter()
            .filter(|name| !self.by_entity.contains_key(*name));
        // Also entities that only a request names.
        others.chain([""]).find_map(|name| entities.not_kept(name))
    }

    /// Returns the operator of an entity; by default it writes the entity's name.
    pub(super) fn of(&self, entity: &str) -> &Operator {
        const PLAIN: &Operator = &Operator::Replace(None);
        let own = self.by_entity.get(entity).or_else(|| self.by_entity.get(DEFAULT));
        own.unwrap_or(PLAIN)
    }
}

impl Operator {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Replace(_) => "replace",
            Self::Redact => "redact",
            Self::Mask { .. } => "mask",
            Self::Keep => "keep",
        }
    }

    /// Returns whether it leaves characters of this value.
    pub(super) fn leaves(&self, value: &str) -> bool {
        match self {
            Self::Replace(_) | Self::Redact => false,
            Self::Mask { count, .. } => *count < value.chars().count(),
            Self::Keep => true,
        }
    }

    /// Returns what replaces a value.
    pub(super) fn apply(&self, entity: &str, value: &str) -> String {
        match self {
            Self::Replace(Some(new)) => new.clone(),
            Self::Replace(None) => format!("<{entity}>"),
            Self::Redact => String::new(),
            Self::Keep => value.to_owned(),
            Self::Mask {
                with,
                count,
                from_end,
            } => {
                let length = value.chars().count();
                let kept = length.saturating_sub(*count);
                let is_kept = |place: usize| {
                    if *from_end {
                        place < kept
                    } else {
                        place >= length - kept
                    }
                };
                let each = value.chars().enumerate();
                each.map(|(place, own)| if is_kept(place) { own } else { *with })
                    .collect()
            }
        }
    }
}

/// Returns the refusal of an operator that leaves more of a value than the policy.
pub(super) fn weaker(entity: &str, operator: &Operator, acted: Acted<'_>) -> Refusal {
    let (entity, Acted { label, action }) = (shown(entity), acted);
    let name = operator.name();
    let advice = match operator {
        Operator::Mask { .. } => {
            "leaves characters of a value; raise `chars_to_mask` to the longest value, or use replace or redact"
        }
        _ => "leaves the value; use replace, redact or mask, or leave the operator out",
    };
    Refusal::unprocessable(
        "weaker_operator",
        format!(
            "operator `{name}` for {entity} is weaker than the policy, whose action for {label} is `{action}`: it {advice}"
        ),
    )
}

fn operator_of(entity: &str, given: Value) -> Result<Operator, Refusal> {
    let name = shown(entity);
    let fault = |why: &str| Refusal::unprocessable("invalid_operator", format!("operator for {name}: {why}"));
    let refused = |operator: &str, why: &str| {
        Refusal::unprocessable(
            "weaker_operator",
            format!("operator `{operator}` for {name}: {why}"),
        )
    };
    let given: Anonymizer = serde_json::from_value(given).map_err(|_| {
        fault("has an unknown type, or a key that is missing, unknown or of a wrong type; /openapi.json has the form `Anonymizer`")
    })?;
    match given {
        Anonymizer::Replace { new_value } => Ok(Operator::Replace(new_value)),
        Anonymizer::Redact {} => Ok(Operator::Redact),
        Anonymizer::Keep {} => Ok(Operator::Keep),
        Anonymizer::Mask {
            masking_char,
            chars_to_mask,
            from_end,
        } => {
            let mut characters = masking_char.chars();
            let (Some(with), None) = (characters.next(), characters.next()) else {
                return Err(fault("`masking_char` must be one character"));
            };
            Ok(Operator::Mask {
                with,
                count: usize::try_from(chars_to_mask)
                    .map_err(|_| fault("`chars_to_mask` must not be negative"))?,
                from_end,
            })
        }
        Anonymizer::Hash { .. } => Err(refused(
            "hash",
            "a hash without a secret key is weaker than any policy, because trying all values reverses it; use replace, redact or mask, or the policy's `pseudonym` with /v1/redact",
        )),
        Anonymizer::Encrypt { .. } => Err(refused(
            "encrypt",
            "a key of a request is weaker than the policy, whose keys stay with the server; use replace, redact or mask, or the policy's `encrypt` with /v1/redact",
        )),
        Anonymizer::Custom {} => Err(refused(
            "custom",
            "Lethe runs no code of a request; use replace, redact or mask",
        )),
    }
}

/// Returns the name of an entity for a message, if it looks like one: it comes from the request.
fn shown(entity: &str) -> &str {
    let is_name =
        |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-';
    match entity.len() {
        1..=64 if entity.bytes().all(is_name) => entity,
        _ => "an entity",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(count: usize, from_end: bool) -> Operator {
        Operator::Mask {
            with: '*',
            count,
            from_end,
        }
    }

    #[test]
    fn a_mask_covers_characters_from_either_end() {
        assert_eq!(mask(2, false).apply("ID", "Zoë9"), "**ë9");
        assert_eq!(mask(2, true).apply("ID", "Zoë9"), "Zo**");
        assert_eq!(mask(9, true).apply("ID", "Zoë9"), "****");
        assert!(mask(3, true).leaves("Zoë9") && !mask(4, true).leaves("Zoë9"));
    }

    #[test]
    fn a_message_shows_only_what_looks_like_an_entity() {
        assert_eq!(shown("US_SSN"), "US_SSN");
        assert_eq!(shown("Mr Quill"), "an entity");
        assert_eq!(shown(""), "an entity");
    }
}
