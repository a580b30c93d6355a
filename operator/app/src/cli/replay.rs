//! Options of `lethe replay`.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lethe_connectors::replay::Code;

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 success, also if some records are quarantined again or gone; 1 runtime failure, run again to continue; 2 wrong usage or configuration; 3 the dataset belongs to another log or to a stricter policy; 6 more than half of the records are quarantined again.\nExample: lethe replay -c lethe.toml --code invalid_payload:note_id --dry-run"
)]
pub(crate) struct ReplayArgs {
    /// The configuration file, with the cause of the quarantine fixed: its source is read again, and its sink
    /// is the dataset
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Use this policy instead of the configuration's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Replay only records with this code, with or without field and expectation, for instance
    /// `invalid_payload` or `invalid_payload:authored_at:zone`; can be repeated
    #[arg(long = "code", value_name = "CODE[:FIELD[:EXPECTATION]]")]
    pub(crate) codes: Vec<Code>,
    /// Replay only records of this topic, or input file; can be repeated
    #[arg(long = "topic", value_name = "NAME")]
    pub(crate) topics: Vec<String>,
    /// Replay only records in files that were written at this time or later: a date (midnight UTC) or an RFC
    /// 3339 time
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub(crate) since: Option<SystemTime>,
    /// Also replay records that this same configuration has already quarantined again, for external causes
    /// such as an unavailable vault or schema registry
    #[arg(long)]
    pub(crate) again: bool,
    /// Read and redact the records, count the outcomes, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the counts as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn since(text: &str) -> Result<SystemTime, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time.into());
    }
    let midnight = || {
        // A longer text is a time without a zone, which would be ambiguous.
        let date = text
            .parse::<Date>()
            .ok()
            .filter(|_| text.len() == "2026-03-01".len())?;
        date.to_zoned(TimeZone::UTC).ok()
    };
    midnight().map(|time| time.timestamp().into()).ok_or_else(|| {
        "expected a date such as 2026-03-01, or a time with its zone such as 2026-03-01T08:00:00Z".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_or_has_its_zone() {
        let midnight = since("2026-03-01").unwrap();
        assert_eq!(since("2026-03-01T01:00:00+01:00").unwrap(), midnight);
        for wrong in ["yesterday", "2026-03-01T08:00:00", ""] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }
}
