//! `lethe probe`: queries an endpoint of a running program, for images without an HTTP client.

use std::io::Write as _;
use std::time::Duration;

use super::run::runtime;
use crate::cli::ProbeArgs;
use crate::exit::{Coded, Failure, usage};

/// The maximum length of the printed answer, in characters.
const SHOWN: usize = 2000;

/// Queries the endpoint, prints the answer, and fails unless its status is a success.
pub(crate) fn run(args: &ProbeArgs) -> anyhow::Result<()> {
    let url = reqwest::Url::parse(&args.url).map_err(|error| usage(format!("`{}`: {error}", args.url)))?;
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(args.timeout))
        .build()?;
    let (status, text) = runtime()?.block_on(async {
        let answer = client.get(url).send().await?;
        Ok::<_, reqwest::Error>((answer.status(), answer.text().await?))
    })?;
    let shown: String = text.chars().take(SHOWN).collect();
    write!(std::io::stdout().lock(), "{shown}")?;
    if status.is_success() {
        Ok(())
    } else {
        Err(Coded(Failure::Runtime, format!("{}: {status}", args.url)).into())
    }
}
