//! `lethe new-key`: creates a key file for policies from the system's random numbers, readable only by its
//! owner.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use anyhow::Context as _;
use lethe_secrets::Keyring;

use crate::cli::NewKeyArgs;
use crate::exit::usage;

/// Writes a key file. An existing file is never overwritten, since its replacements could no longer be
/// reversed.
pub(crate) fn run(args: &NewKeyArgs) -> anyhow::Result<()> {
    let key = Keyring::new_key(&args.id).map_err(|error| usage(format!("`{}`: {error}", args.id)))?;
    let place = args.out.display();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&args.out);
    let mut file = file.with_context(|| format!("cannot create {place}"))?;
    file.write_all(key.as_bytes())
        .and_then(|()| file.sync_all())
        .with_context(|| format!("cannot write {place}"))?;
    tracing::info!(
        "key `{}` is in {place}; keep a copy separate from the data",
        args.id
    );
    Ok(())
}
