//! Lists files by their fingerprints, for instance all that an older bundle or policy redacted, so that they
//! can be redone.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use lethe_core::FINGERPRINT_SCHEME;
use serde::Serialize;

use super::replayed::replays;
use super::{Progress, chains};
use crate::replay::read_replay;
use crate::sink::{ChainError, Fingerprints, PartName, read_footer, read_part};
use crate::store::{Object, Store};

/// Minimum digits of an abbreviated digest.
const ENOUGH: usize = 8;

/// A condition on a file's fingerprints: `DIGEST`, `NAME=VALUE` or `NAME!=VALUE`.
///
/// A digest may be abbreviated to at least eight digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FingerprintFilter {
    /// The fingerprint; any if `None`.
    name: Option<String>,
    value: String,
    /// Whether the condition is negated (`!=`).
    other: bool,
}

impl FingerprintFilter {
    /// Returns whether these fingerprints meet the condition.
    pub fn made(&self, fingerprints: &Fingerprints) -> bool {
        let named = |name: &str| self.name.as_ref().is_none_or(|asked| asked == name);
        let is_it = fingerprints
            .entries()
            .into_iter()
            .any(|(name, value)| named(name) && self.is(value));
        is_it != self.other
    }

    fn is(&self, value: &str) -> bool {
        let is_digest =
            |text: &str| text.len() >= ENOUGH && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        value == self.value || (is_digest(&self.value) && is_digest(value) && value.starts_with(&self.value))
    }
}

impl FromStr for FingerprintFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value, other) = match text.split_once('=') {
            Some((name, value)) => match name.strip_suffix('!') {
                Some(name) => (Some(name), value, true),
                None => (Some(name), value, false),
            },
            None => (None, text, false),
        };
        if let Some(name) = name.filter(|name| !Fingerprints::NAMES.contains(name)) {
            let names = Fingerprints::NAMES.join(", ");
            return Err(format!("files have no fingerprint `{name}`; they have {names}"));
        }
        if value.is_empty() {
            return Err("write DIGEST, NAME=VALUE or NAME!=VALUE".to_owned());
        }
        Ok(Self {
            name: name.map(str::to_owned),
            value: value.to_owned(),
            other,
        })
    }
}

/// A matching file and its range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FingerprintMatch {
    /// The file.
    pub file: String,
    /// The source of its notes.
    #[serde(flatten)]
    pub of: Source,
    /// The first offset, or the first row of the object's unit.
    pub first: u64,
    /// The offset or row after the last.
    pub next: u64,
    /// When it was written by the store's clock, as RFC 3339.
    pub written: String,
    /// The program's version.
    pub program: String,
    /// The policy's digest.
    pub policy: String,
    /// The bundle's digest, if a bundle was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
}

/// The source of notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Source {
    /// A stream's topic.
    Stream {
        /// Topic.
        topic: String,
        /// Partition.
        partition: i32,
    },
    /// A table of a backfill.
    Table {
        /// The object's name in its store.
        object: String,
        /// The object's version at the time.
        version: String,
        /// Row groups `FROM..TO` of its unit; empty if the unit had all of them.
        groups: String,
    },
}

/// The counts of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FingerprintReport {
    /// Number of matching files.
    pub made: u64,
    /// Number of rows in them.
    pub rows: u64,
    /// Number of all files.
    pub of: u64,
    /// Number of files whose settings were digested by another scheme than this version's
    /// ([`FINGERPRINT_SCHEME`](lethe_core::FINGERPRINT_SCHEME)), so that their digests cannot match current
    /// ones.
    pub other_scheme: u64,
}

/// Passes each file of a stream's dataset, its replays and a backfill that meets `maker`'s condition to
/// `found`, by name. Reads only footers and calls `progress` after each file.
///
/// # Errors
/// [`ChainError::Footer`] for a file that cannot be read, or the store's error.
pub async fn by_fingerprint(
    store: &dyn Store,
    maker: &FingerprintFilter,
    mut found: impl FnMut(&FingerprintMatch) + Send,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<FingerprintReport, ChainError> {
    let (chains, files) = chains(store, &mut Vec::new()).await?;
    let parts = store.list(PartName::folder()).await?;
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|object| PartName::parse(&object.name).is_some())
        .collect();
    let replayed = replays(store).await?;
    let mut done = Progress {
        of: files + (parts.len() + replayed.len()) as u64,
        ..Progress::default()
    };
    let mut report = FingerprintReport {
        of: done.of,
        ..FingerprintReport::default()
    };
    let scheme = FINGERPRINT_SCHEME.to_string();
    let mut look = |made: FingerprintMatch, rows: u64, fingerprints: &Fingerprints| {
        if fingerprints.scheme.as_ref() != Some(&scheme) {
            report.other_scheme += 1;
        }
        if maker.made(fingerprints) {
            report.made += 1;
            report.rows += rows;
            found(&made);
        }
        done.files += 1;
        done.rows += rows;
        progress(done);
    };
    for (chain, files) in chains {
        for file in files {
            let footer = read_footer(store, &file.name).await?;
            let source = Source::Stream {
                topic: chain.topic.to_string(),
                partition: chain.partition,
            };
            let (first, next) = (footer.first.unsigned_abs(), footer.next.unsigned_abs());
            let made = FingerprintMatch::new(file, source, (first, next), &footer.fingerprints);
            look(made, footer.rows(), &footer.fingerprints);
        }
    }
    for file in replayed {
        let footer = read_replay(store, &file.name).await?;
        let source = Source::Stream {
            topic: footer.name.chain.topic.to_string(),
            partition: footer.name.chain.partition,
        };
        let (first, next) = (footer.first.unsigned_abs(), footer.next.unsigned_abs());
        let made = FingerprintMatch::new(file, source, (first, next), &footer.fingerprints);
        look(made, footer.rows(), &footer.fingerprints);
    }
    for file in parts {
        let footer = read_part(store, &file.name).await?;
        let source = Source::Table {
            object: footer.object.clone(),
            version: footer.version.clone(),
            groups: footer.groups.clone(),
        };
        let rows = footer.next - footer.first;
        let made = FingerprintMatch::new(file, source, (footer.first, footer.next), &footer.fingerprints);
        look(made, rows, &footer.fingerprints);
    }
    Ok(report)
}

impl FingerprintMatch {
    fn new(file: Object, of: Source, (first, next): (u64, u64), fingerprints: &Fingerprints) -> Self {
        Self {
            // A timestamp outside the calendar must not prevent the listing of the file.
            written: format!("{:.0}", Timestamp::try_from(file.modified).unwrap_or_default()),
            file: file.name,
            of,
            first,
            next,
            program: fingerprints.program.clone(),
            policy: fingerprints.policy.clone(),
            bundle: fingerprints.bundle.clone(),
        }
    }
}

impl fmt::Display for FingerprintMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.of {
            Source::Stream { topic, partition } => {
                write!(f, "{topic}/{partition}@{}..{}", self.first, self.next)?
            }
            Source::Table { object, groups, .. } => {
                write!(f, "{object}")?;
                if !groups.is_empty() {
                    write!(f, " row groups {groups}")?;
                }
                write!(f, " rows {}..{}", self.first, self.next)?;
            }
        }
        write!(f, "  {}  {}", self.written, self.file)
    }
}

impl fmt::Display for FingerprintReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {} files, {} rows", self.made, self.of, self.rows)?;
        if self.other_scheme > 0 {
            writeln!(
                f,
                "{} files were written by a version that digested `config`, and `policy` without a policy file, in another way: these \
                 digests differ from today's for the same settings; select such files by `program`, `bundle` or `dictionaries`",
                self.other_scheme
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(asked: &str) -> bool {
        let maker: FingerprintFilter = asked.parse().unwrap();
        maker.made(&Fingerprints {
            bundle: Some("0123456789abcdef".into()),
            policy: "fedcba9876543210".into(),
            program: "0.1.0".into(),
            ..Fingerprints::default()
        })
    }

    #[test]
    fn a_maker_is_named_by_a_fingerprint_or_by_any() {
        for yes in [
            "0123456789abcdef",
            "01234567",
            "fedcba98",
            "bundle=0123456789abcdef",
            "bundle=0123456789",
            "program=0.1.0",
            "policy!=01234567",
            // A file without the fingerprint counts as different.
            "mode!=safe-harbor",
        ] {
            assert!(made(yes), "{yes}");
        }
        for no in [
            "0123456",
            "00000000",
            "policy=0123456789abcdef",
            "program=0.1",
            "bundle!=01234567",
        ] {
            assert!(!made(no), "{no}");
        }
    }

    #[test]
    fn what_names_no_maker_is_refused_with_the_names_that_there_are() {
        assert!("".parse::<FingerprintFilter>().is_err());
        assert!("bundle=".parse::<FingerprintFilter>().is_err());
        assert!(
            "bundel=1"
                .parse::<FingerprintFilter>()
                .unwrap_err()
                .contains("bundle")
        );
    }

    #[test]
    fn the_names_are_those_of_fingerprints() {
        let all = Fingerprints {
            cluster: Some("a".into()),
            topic_id: Some("a".into()),
            config: "a".into(),
            policy: "a".into(),
            mode: Some("a".into()),
            bundle: Some("a".into()),
            members: "a".into(),
            labels: "a".into(),
            dictionaries: "a".into(),
            tokenizer: "a".into(),
            program: "a".into(),
            acknowledged: Some("a".into()),
            kept: Some("a".into()),
            derivation: Some("a".into()),
            scheme: Some("a".into()),
        };
        let names: Vec<_> = all.entries().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, Fingerprints::NAMES);
    }
}
