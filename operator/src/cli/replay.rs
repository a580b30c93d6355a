//! What can be typed of replaying quarantined records.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lethe_connectors::replay::Code;

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 done, also if some records are quarantined again or gone; 1 failed at run time, run again to go on; 2 wrong usage or configuration; 3 the dataset is of another log or a stricter policy; 6 more than half of the records are quarantined again.\nExample: lethe replay -c lethe.toml --code invalid_payload:note_id --dry-run"
)]
pub(crate) struct ReplayArgs {
    /// The configuration, with the cause of the quarantine mended: its source is read again, and its sink is the dataset
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Redact by this policy rather than the configuration's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Replay records of this code only, given with or without field and expectation, for instance `invalid_payload` or
    /// `invalid_payload:authored_at:zone`; may be given several times
    #[arg(long = "code", value_name = "CODE[:FIELD[:EXPECTATION]]")]
    pub(crate) codes: Vec<Code>,
    /// Replay records of this topic, or input file, only; may be given several times
    #[arg(long = "topic", value_name = "NAME")]
    pub(crate) topics: Vec<String>,
    /// Replay records of files that were written then or later only: a date (midnight UTC) or a time as in RFC 3339
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub(crate) since: Option<SystemTime>,
    /// Also replay records that this same configuration has quarantined again, for causes outside of it: a vault or a schema
    /// registry that was away
    #[arg(long)]
    pub(crate) again: bool,
    /// Read and redact the records, count what becomes of them, and write nothing
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
        // Longer texts are times without a zone.
        let date = text
            .parse::<Date>()
            .ok()
            .filter(|_| text.len() == "2026-03-01".len())?;
        date.to_zoned(TimeZone::UTC).ok()
    };
    midnight().map(|time| time.timestamp().into()).ok_or_else(|| {
        "give a date, as in 2026-03-01, or a time with its zone, as in 2026-03-01T08:00:00Z".to_owned()
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
