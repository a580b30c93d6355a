//! The elements and attributes of a document that are kept, and their rules: `elements.tsv` and `values.tsv`,
//! compiled in.
//!
//! The default is to remove. An element without a row is removed with its content; an attribute is removed
//! unless its element's rule or its own row in `values.tsv` accepts its value. An element of a data type that
//! lost its content stays with `nullFlavor="MSK"`, so that a valid document stays valid (HL7 v3 Data Types,
//! ANY.nullFlavor).

use std::collections::HashMap;
use std::sync::LazyLock;

/// The treatment of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// A class of the model: kept, and its children by their own rules.
    Node,
    /// A coded value of any code system.
    Code,
    /// A code from a list of `values.tsv`.
    OneOf(&'static str),
    /// An instance identifier.
    Id,
    /// A physical quantity, or an interval or ratio of quantities.
    Quantity,
    /// A whole number.
    Integer,
    /// A bound of an interval: a date or a quantity, depending on the interval.
    Limit,
    /// A point in time, or an interval of times.
    Date,
    /// A person's date of birth.
    BirthDate,
    /// True or false.
    Flag,
    /// Free text: a part of the narrative.
    Text,
    /// The value of an observation, depending on its `xsi:type`.
    Value,
    /// An identifier as the element's text.
    Label(&'static str),
    /// A name of a person, an organization or a thing.
    Name,
    /// A postal address.
    Address,
    /// A telephone number or similar.
    Telecom,
    /// The id of a published template.
    Template,
    /// The id of the CDA schema.
    TypeId,
    /// A reference to an act, or from a text to the narrative.
    Reference,
    /// Kept without its content.
    Mask,
    /// Removed.
    Never,
}

impl Rule {
    fn read(words: &'static str) -> Option<Self> {
        let (word, argument) = words.split_once(' ').unwrap_or((words, ""));
        Some(match word {
            "node" => Self::Node,
            "code" => Self::Code,
            "one-of" => Self::OneOf(argument),
            "id" => Self::Id,
            "quantity" => Self::Quantity,
            "integer" => Self::Integer,
            "limit" => Self::Limit,
            "date" => Self::Date,
            "birth-date" => Self::BirthDate,
            "flag" => Self::Flag,
            "text" => Self::Text,
            "value" => Self::Value,
            "label" => Self::Label(argument),
            "name" => Self::Name,
            "address" => Self::Address,
            "telecom" => Self::Telecom,
            "template" => Self::Template,
            "type-id" => Self::TypeId,
            "reference" => Self::Reference,
            "mask" => Self::Mask,
            "never" => Self::Never,
            _ => return None,
        })
    }

    /// Returns the rule's name in the audit.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Node => "not in the table",
            Self::Code | Self::OneOf(_) => "not a code of the system",
            Self::Id => "id",
            Self::Quantity | Self::Integer => "quantity",
            Self::Limit | Self::Date | Self::BirthDate => "date",
            Self::Flag => "not of its shape",
            Self::Text | Self::Value => "text",
            Self::Label(_) => "label",
            Self::Name => "name",
            Self::Address => "address",
            Self::Telecom => "telecom",
            Self::Template | Self::TypeId => "template",
            Self::Reference => "reference",
            Self::Mask | Self::Never => "never",
        }
    }
}

/// An element of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    /// Its name as written, with the prefix `sdtc:` for an extension.
    pub(super) name: &'static str,
    pub(super) rule: Rule,
}

/// The known namespaces of elements and attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// `urn:hl7-org:v3`, or no namespace.
    V3,
    /// `urn:hl7-org:sdtc`.
    Sdtc,
    /// The instance namespace of XML Schema, for attributes.
    Xsi,
    Other,
}

impl Space {
    pub(super) fn of(uri: &[u8]) -> Self {
        match uri {
            b"urn:hl7-org:v3" | b"" => Self::V3,
            b"urn:hl7-org:sdtc" => Self::Sdtc,
            b"http://www.w3.org/2001/XMLSchema-instance" => Self::Xsi,
            _ => Self::Other,
        }
    }
}

const SDTC: &str = "sdtc:";

fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once('\t'))
}

/// The elements by local name, with those of version 3 first.
static ELEMENTS: LazyLock<[HashMap<&'static str, Element>; 2]> = LazyLock::new(|| {
    let mut all = [HashMap::new(), HashMap::new()];
    for (name, rule) in rows(include_str!("elements.tsv")) {
        if let Some(rule) = Rule::read(rule) {
            let local = name.strip_prefix(SDTC);
            let of = usize::from(local.is_some());
            all[of].insert(local.unwrap_or(name), Element { name, rule });
        }
    }
    all
});

static VALUES: LazyLock<HashMap<&'static str, &'static str>> =
    LazyLock::new(|| rows(include_str!("values.tsv")).collect());

/// Returns the element with that name, if it is kept.
pub(super) fn element(space: Space, local: &[u8]) -> Option<Element> {
    let of = match space {
        Space::V3 => 0,
        Space::Sdtc => 1,
        Space::Xsi | Space::Other => return None,
    };
    ELEMENTS[of].get(std::str::from_utf8(local).ok()?).copied()
}

/// Attributes that the rules of elements read. The other known ones have a row in `values.tsv`.
const READ: [&str; 19] = [
    "@value",
    "@unit",
    "@code",
    "@codeSystem",
    "@codeSystemName",
    "@codeSystemVersion",
    "@displayName",
    "@root",
    "@extension",
    "@assigningAuthorityName",
    "@ID",
    "@IDREF",
    "@referencedObject",
    "@href",
    "@representation",
    "@integrityCheck",
    "@compression",
    "@valueSet",
    "@valueSetVersion",
];

static ATTRIBUTES: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let all = READ.iter().chain(VALUES.keys());
    all.filter_map(|name| Some((name.strip_prefix('@')?, *name)))
        .collect()
});

/// Returns the attribute's name with an `@` prefix; `@*` if it is unknown.
pub(super) fn attribute(space: Space, local: &[u8]) -> &'static str {
    const UNKNOWN: &str = "@*";
    match (space, std::str::from_utf8(local)) {
        (Space::V3, Ok(name)) => ATTRIBUTES.get(name).copied().unwrap_or(UNKNOWN),
        (Space::Xsi, Ok("type")) => "@xsi:type",
        _ => UNKNOWN,
    }
}

/// Returns what may be written for the value under that list: the value itself, or the allowed words of a list of words.
pub(super) fn accepted(list: &str, value: &str) -> Option<String> {
    let allowed = VALUES.get(list)?;
    let fits = match *allowed {
        "=flag" => matches!(value, "true" | "false"),
        "=size" => is_size(value),
        "=language" => is_language(value),
        _ => match allowed.strip_prefix("=tokens ") {
            Some(words) => {
                let known = |word: &&str| words.split(' ').any(|one| one == *word);
                let words: Vec<&str> = value.split_whitespace().filter(known).collect();
                return (!words.is_empty()).then(|| words.join(" "));
            }
            None => allowed.split(' ').any(|one| one == value),
        },
    };
    fits.then(|| value.to_owned())
}

/// Returns whether it is a number of columns, pixels or per cent.
fn is_size(value: &str) -> bool {
    let number = value.strip_suffix('%').unwrap_or(value);
    (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether it is a language by ISO 639-1 or -2, optionally with a country (RFC 5646).
pub(super) fn is_language(value: &str) -> bool {
    const LANGUAGES: &str = " aa af am ar as az be bg bn bs ca cs cy da de el en eo es et eu fa fi fil fj fr ga gd gl gu ha he hi \
        hmn hr ht hu hy id ig is it ja ka kk km kn ko ku ky lo lt lv mg mi mk ml mn mr ms mt my nb ne nl nn no om pa pl ps pt \
        ro ru rw si sk sl sm so sq sr sv sw ta te th ti tl to tr uk ur uz vi xh yi yo zh zu ara chi deu eng fra fre ger hat \
        hin ita jpn khm kor lao nav por rus sgn spa tgl und vie yid zho ase ";
    let (language, country) = value.split_once('-').unwrap_or((value, "US"));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
    plain(language)
        && LANGUAGES.split_whitespace().any(|one| one == language)
        && country.len() == 2
        && country.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_row_has_a_rule_and_stands_once() {
        for (table, values) in [
            (include_str!("elements.tsv"), false),
            (include_str!("values.tsv"), true),
        ] {
            let mut seen = HashSet::new();
            for (name, rule) in rows(table) {
                assert!(seen.insert(name), "{name} stands twice");
                assert!(values || Rule::read(rule).is_some(), "{name}: {rule}");
                if let Some(Rule::OneOf(list)) = Rule::read(rule) {
                    assert!(VALUES.contains_key(list), "{list}");
                }
            }
            assert!(seen.len() > 40);
        }
    }

    #[test]
    fn a_value_passes_by_its_own_list_alone() {
        assert_eq!(accepted("@moodCode", "EVN").as_deref(), Some("EVN"));
        assert_eq!(accepted("@moodCode", "completed"), None);
        assert_eq!(
            accepted("@styleCode", "Bold xOkafor Italics").as_deref(),
            Some("Bold Italics")
        );
        assert_eq!(accepted("@width", "100%").as_deref(), Some("100%"));
        for bad in ["5550142", "02139", "", "%", "1 2"] {
            assert_eq!(accepted("@width", bad), None, "{bad}");
        }
        assert!(
            is_language("en-US") && is_language("spa") && !is_language("Voss") && !is_language("en-Voss")
        );
        assert_eq!(accepted("@unheard", "EVN"), None);
    }

    #[test]
    fn names_are_known_in_their_own_namespace() {
        assert_eq!(element(Space::Sdtc, b"raceCode").unwrap().name, "sdtc:raceCode");
        assert!(element(Space::Other, b"code").is_none() && element(Space::Sdtc, b"code").is_some());
        assert_eq!(attribute(Space::Xsi, b"type"), "@xsi:type");
        assert_eq!(attribute(Space::Sdtc, b"valueSet"), "@*");
    }
}
