//! Reduces ZIP codes to three digits, if enough people share them: 45 CFR 164.514(b)(2)(i)(B).
//!
//! A prefix is kept only if a dated table of the Census Bureau's figures counts more than 20,000 people for
//! it, and no older count contradicts it. All others, including a prefix that is in no table, become `000`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;

static SHIPPED: &str = include_str!("../data/zip3.toml");

/// The regulation's limit: an area needs more people than this.
const LIMIT: u32 = 20_000;

/// The three-digit prefixes that may be kept, by a dated count of people.
#[derive(Clone, PartialEq, Eq)]
pub struct ZipTable {
    vintage: String,
    source: String,
    kept: BTreeSet<u16>,
}

/// Why a table cannot be used. Tables contain no patient data, so messages may name prefixes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ZipError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The file is not TOML, or has other keys.
    #[error("the ZIP table: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A prefix is not three digits.
    #[error("the ZIP table: `{0}` is not three digits")]
    Prefix(String),
    /// The limit is below the regulation's.
    #[error(
        "the ZIP table: limit = {0} is below the 20,000 people of 45 CFR 164.514(b)(2)(i)(B)(1); a stricter one is larger"
    )]
    Limit(u32),
    /// No prefix has people.
    #[error("the ZIP table: [population] is empty")]
    Empty,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    vintage: String,
    source: String,
    limit: u32,
    #[serde(default)]
    restricted: Vec<Restricted>,
    population: BTreeMap<String, u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Restricted {
    #[serde(rename = "vintage")]
    _vintage: String,
    #[serde(rename = "source")]
    _source: String,
    prefixes: Vec<String>,
}

impl ZipTable {
    /// Returns the built-in table, `data/zip3.toml`.
    pub fn shipped() -> &'static Self {
        static TABLE: LazyLock<ZipTable> = LazyLock::new(|| {
            // The file is part of the program; a test parses it.
            #[allow(clippy::expect_used)]
            ZipTable::parse(SHIPPED).expect("the built-in ZIP table is valid")
        });
        &TABLE
    }

    /// Reads a user's table, in the format of the built-in one.
    ///
    /// # Errors
    /// [`ZipError`].
    pub fn load(path: &Path) -> Result<Self, ZipError> {
        let text = std::fs::read_to_string(path).map_err(|source| ZipError::Read {
            path: path.into(),
            source,
        })?;
        Self::parse(&text)
    }

    /// Creates a table from TOML: `vintage`, `source`, `limit`, `[population]` with people by prefix, and any
    /// number of `[[restricted]]` lists of prefixes that are never kept.
    ///
    /// # Errors
    /// [`ZipError`].
    pub fn parse(text: &str) -> Result<Self, ZipError> {
        let file: File = toml::from_str(text)?;
        if file.limit < LIMIT {
            return Err(ZipError::Limit(file.limit));
        }
        if file.population.is_empty() {
            return Err(ZipError::Empty);
        }
        let number = |prefix: &String| {
            let digits = prefix.len() == 3 && prefix.bytes().all(|byte| byte.is_ascii_digit());
            let number = prefix.parse().ok().filter(|_| digits);
            number.ok_or_else(|| ZipError::Prefix(prefix.clone()))
        };
        let mut kept = BTreeSet::new();
        for (prefix, &people) in &file.population {
            let prefix: u16 = number(prefix)?;
            if people > file.limit {
                kept.insert(prefix);
            }
        }
        for prefix in file.restricted.iter().flat_map(|list| &list.prefixes) {
            kept.remove(&number(prefix)?);
        }
        // All other codes become 000, which is not an area.
        kept.remove(&0);
        Ok(Self {
            vintage: file.vintage,
            source: file.source,
            kept,
        })
    }

    /// Returns when people were counted, for the output's provenance.
    pub fn vintage(&self) -> &str {
        &self.vintage
    }

    /// Returns who counted them.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns whether the prefix may be kept.
    pub fn keeps(&self, prefix: u16) -> bool {
        self.kept.contains(&prefix)
    }

    /// Returns the three digits that a ZIP or ZIP+4 code may keep; `000` if it may keep none. `None` for text
    /// that is not a ZIP code (five or nine digits, blanks and one dash), for instance a postal code with
    /// letters or inside an address.
    pub fn generalise(&self, text: &str) -> Option<String> {
        let mut digits = 0usize;
        let mut prefix = 0u16;
        let mut dashed = false;
        for c in text.chars() {
            match c {
                '0'..='9' => {
                    if digits < 3 {
                        prefix = prefix * 10 + (c as u16 - '0' as u16);
                    }
                    digits += 1;
                }
                '-' | '\u{2010}'..='\u{2014}' if digits == 5 && !dashed => dashed = true,
                c if c.is_whitespace() && matches!(digits, 0 | 5 | 9) => {}
                _ => return None,
            }
        }
        if !matches!((digits, dashed), (5, false) | (9, _)) {
            return None;
        }
        let prefix = if self.keeps(prefix) { prefix } else { 0 };
        Some(format!("{prefix:03}"))
    }
}

impl fmt::Debug for ZipTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ZipTable({}, {} prefixes)", self.vintage, self.kept.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn general(text: &str) -> Option<String> {
        ZipTable::shipped().generalise(text)
    }

    #[test]
    fn clause_164_514_b_2_i_b_three_digits_stay_where_more_than_20_000_people_live() {
        assert_eq!(general("02139").as_deref(), Some("021"));
        assert_eq!(general("02139-4307").as_deref(), Some("021"));
        assert_eq!(general(" 97103 ").as_deref(), Some("971"));
        assert_eq!(general("972051234").as_deref(), Some("972"));
    }

    #[test]
    fn clause_164_514_b_2_i_b_2_prefixes_of_20_000_people_or_fewer_become_000() {
        // Census 2000 (the guidance of 2012), Census 2010, and the additions of the latest estimates.
        for prefix in [
            "036", "059", "063", "102", "203", "556", "692", "790", "821", "823", "830", "831", "878", "879",
            "884", "890", "893", "205", "369", "204", "772",
        ] {
            assert_eq!(
                general(&format!("{prefix}01")).as_deref(),
                Some("000"),
                "{prefix}"
            );
        }
    }

    #[test]
    fn prefixes_that_no_table_counts_become_000() {
        for zip in ["00000", "00401", "34002", "96201", "09012", "96910", "99999"] {
            let expected = if zip.starts_with("999") { "999" } else { "000" };
            assert_eq!(general(zip).as_deref(), Some(expected), "{zip}");
        }
    }

    #[test]
    fn what_is_no_zip_code_is_left_to_the_caller() {
        for text in [
            "",
            "1234",
            "123456",
            "SW1A 1AA",
            "Boston 02139",
            "021394",
            "0213-94307",
            "02139-",
            "02139--4307",
        ] {
            assert_eq!(general(text), None, "{text}");
        }
    }

    #[test]
    fn the_limit_itself_is_too_few_people() {
        let table = |people: u32| {
            let text =
                format!("vintage = \"v\"\nsource = \"s\"\nlimit = 20000\n[population]\n\"123\" = {people}");
            ZipTable::parse(&text).unwrap().generalise("12345").unwrap()
        };
        assert_eq!((table(20_000).as_str(), table(20_001).as_str()), ("000", "123"));
    }

    #[test]
    fn a_table_below_the_regulations_limit_is_refused_with_its_clause() {
        let text = "vintage = \"v\"\nsource = \"s\"\nlimit = 5000\n[population]\n\"123\" = 6000";
        let error = ZipTable::parse(text).unwrap_err().to_string();
        assert!(error.contains("164.514(b)(2)(i)(B)"), "{error}");
        assert!(matches!(
            ZipTable::parse("vintage = \"v\"\nsource = \"s\"\nlimit = 20000\n[population]\n\"12\" = 6000"),
            Err(ZipError::Prefix(_))
        ));
    }

    #[test]
    fn the_shipped_table_names_its_vintage_and_counts_the_country() {
        let table = ZipTable::shipped();
        assert!(table.vintage().contains("2018-2022") && table.source().contains("Census Bureau"));
        let file: File = toml::from_str(SHIPPED).unwrap();
        // The survey's total for the states, the district and Puerto Rico is 334.4 million.
        let people: u64 = file.population.values().map(|&people| u64::from(people)).sum();
        assert!((334_300_000..334_400_000).contains(&people), "{people}");
        assert_eq!(file.population.len(), 891);
        assert_eq!(file.restricted[0].prefixes.len(), 17);
    }

    proptest! {
        #[test]
        fn no_text_gives_more_than_three_digits(text in "\\PC{0,20}|[0-9 -]{0,12}") {
            if let Some(out) = general(&text) {
                prop_assert!(out.len() == 3 && out.bytes().all(|byte| byte.is_ascii_digit()));
                prop_assert!(out == "000" || text.contains(&out));
            }
        }
    }
}
