//! Where in a dataset: a note, or a byte of its redacted text.

use std::str::FromStr;

use crate::sink::ChainId;

/// A note, or a byte of its redacted text: `TOPIC/PARTITION@OFFSET`, `TOPIC/PARTITION@OFFSET:BYTE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The chain.
    pub chain: ChainId,
    /// The note's offset.
    pub offset: i64,
    /// A byte of the redacted text.
    pub byte: Option<u32>,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write TOPIC/PARTITION@OFFSET or TOPIC/PARTITION@OFFSET:BYTE".to_owned();
        let parsed = || {
            let (chain, at) = text.rsplit_once('@')?;
            let (topic, partition) = chain.rsplit_once('/')?;
            let (offset, byte) = match at.split_once(':') {
                Some((offset, byte)) => (offset, Some(byte.parse().ok()?)),
                None => (at, None),
            };
            let (partition, offset) = (partition.parse().ok()?, offset.parse().ok()?);
            let place = Self {
                chain: ChainId::new(topic, partition),
                offset,
                byte,
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
            prop_assert_eq!(place, Place { chain: ChainId::new(topic, partition), offset, byte });
        }
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
            "t/1@2:x",
            "t/1@2:3:4",
        ] {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }
}
