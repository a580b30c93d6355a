//! Parses a place in a dataset: a note, a byte of its redacted text, or a field of its message.

use std::str::FromStr;

use crate::sink::ChainId;

/// A note, a byte of its redacted text, or a field of its message: `TOPIC/PARTITION@OFFSET`, `TOPIC/PARTITION@OFFSET:BYTE`,
/// `TOPIC/PARTITION@OFFSET:FIELD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The chain.
    pub chain: ChainId,
    /// The note's offset.
    pub offset: i64,
    /// A byte of the redacted text.
    pub byte: Option<u32>,
    /// A field of the message, for instance `PID-5`, with everything in it.
    pub field: Option<String>,
}

impl Place {
    /// Returns whether the place is the field at `path`, or a field that contains it.
    pub fn has_field(&self, path: &str) -> bool {
        self.field.as_deref().is_none_or(|field| {
            path.strip_prefix(field)
                .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        })
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "write TOPIC/PARTITION@OFFSET, followed by :BYTE or :FIELD for one byte or one field".to_owned()
        };
        let parsed = || {
            let (chain, at) = text.rsplit_once('@')?;
            let (topic, partition) = chain.rsplit_once('/')?;
            let (offset, byte, field) = match at.split_once(':') {
                Some((offset, field)) if field.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                    (offset, None, Some(field.to_owned()))
                }
                Some((offset, byte)) => (offset, Some(byte.parse().ok()?), None),
                None => (at, None, None),
            };
            let (partition, offset) = (partition.parse().ok()?, offset.parse().ok()?);
            let place = Self {
                chain: ChainId::new(topic, partition),
                offset,
                byte,
                field,
            };
            (!topic.is_empty() && partition >= 0 && offset >= 0).then_some(place)
        };
        parsed().ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_place_is_read_as_people_write_it(topic in "[a-z@/:.]{1,12}", partition in 0..i32::MAX, offset in 0..i64::MAX, byte: Option<u32>) {
            let at = byte.map_or_else(String::new, |byte| format!(":{byte}"));
            let place: Place = format!("{topic}/{partition}@{offset}{at}").parse().unwrap();
            prop_assert_eq!(place, Place { chain: ChainId::new(topic, partition), offset, byte, field: None });
        }
    }

    #[test]
    fn a_field_has_its_components_and_not_the_field_that_begins_alike() {
        let place: Place = "t/1@2:PID-3".parse().unwrap();
        assert!(place.has_field("PID-3") && place.has_field("PID-3[2].1"));
        assert!(!place.has_field("PID-30") && !place.has_field("PID"));
        let all: Place = "t/1@2".parse().unwrap();
        assert!(all.has_field("PID-30"));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for wrong in [
            "",
            "t",
            "t/1",
            "t@1",
            "/1@2",
            "t/-1@2",
            "t/1@-2",
            "t/1@2:",
            "t/1@2:-x",
            "t/1@2:3:4",
        ] {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }
}
