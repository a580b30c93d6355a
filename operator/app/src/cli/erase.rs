//! Options of `lethe erase`.

use std::path::PathBuf;

use clap::Args;

/// The maximum length of a reason, in characters.
const LONGEST: usize = 500;

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 success, also if nothing was found; 1 runtime failure, run the same command again to continue; 2 wrong usage or configuration; 3 the dataset does not match its records, and an operator must decide.\nExample: lethe erase -c lethe.toml --patients ids.txt --reason 'request 2026-117' --dry-run"
)]
pub(crate) struct EraseArgs {
    /// The configuration file: its sink is the dataset, and its policy determines how the patient's rows are
    /// recognised
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Recognise rows by this policy instead of the configuration's: the one that the dataset was written
    /// with
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// The patient's id, as the sender has it; can be repeated. Shells keep a history: prefer --patients
    #[arg(long = "patient", value_name = "ID")]
    pub(crate) patients: Vec<String>,
    /// A file of patient ids, one per line; `-` for standard input
    #[arg(long = "patients", value_name = "FILE")]
    pub(crate) patients_file: Option<PathBuf>,
    /// The authority that assigned the ids: one of the policy, or its name in the source, for instance
    /// `system:https://mercy.example/mrn`
    #[arg(long, value_name = "NAME")]
    pub(crate) authority: Option<String>,
    /// A file of records to erase, one `TOPIC/PARTITION@OFFSET` per line; `-` for standard input. For rows
    /// that cannot be found by a patient id
    #[arg(long, value_name = "FILE")]
    pub(crate) records: Option<PathBuf>,
    /// The reason for the dataset's record: 1 to 500 printable characters, without anything that identifies
    /// the patient
    #[arg(long, value_name = "TEXT", value_parser = reason, required_unless_present = "dry_run")]
    pub(crate) reason: Option<String>,
    /// Also erase rows that may belong to another patient: rows with the id encrypted (`encrypt-id`), such as
    /// notes of a relative, or in a column where ids of several authorities may coincide
    #[arg(long)]
    pub(crate) possible: bool,
    /// Keep the patient's codes in the vault
    #[arg(long)]
    pub(crate) keep_vault: bool,
    /// Count what would be erased, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the counts and the records as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > LONGEST || text.chars().any(char::is_control) {
        return Err(format!(
            "expected 1 to {LONGEST} printable characters on one line"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_of_printable_characters() {
        assert_eq!(reason(" request 2026-117 ").unwrap(), "request 2026-117");
        for wrong in ["", "  ", "two\nlines", "a\u{7}bell", &"x".repeat(501)] {
            assert!(reason(wrong).is_err(), "{wrong:?}");
        }
    }
}
