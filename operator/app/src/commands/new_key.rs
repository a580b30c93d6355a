//! `lethe new-key`: creates a key file for policies from the system's random numbers, readable only by its
//! owner.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use lethe_secrets::Keyring;

use crate::cli::NewKeyArgs;
use crate::exit::usage;

/// Writes a key file.
pub(crate) fn run(args: &NewKeyArgs) -> anyhow::Result<()> {
    write_key(&args.out, &args.id)?;
    tracing::info!(
        "key `{}` is in {}; keep a copy separate from the data",
        args.id,
        args.out.display()
    );
    Ok(())
}

/// Writes a key file with one key. An existing file is never overwritten, since its replacements could no
/// longer be reversed.
///
/// # Errors
/// Names the id, or the file.
pub(super) fn write_key(path: &Path, id: &str) -> anyhow::Result<()> {
    let key = Keyring::new_key(id).map_err(|error| usage(format!("`{id}`: {error}")))?;
    create_new(path, key.as_bytes(), 0o600)
}

/// Writes a file that must not exist, durably and with these permissions.
///
/// # Errors
/// Names the file.
pub(super) fn create_new(path: &Path, content: &[u8], mode: u32) -> anyhow::Result<()> {
    let place = path.display();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path);
    let mut file = file.with_context(|| format!("cannot create {place}"))?;
    file.write_all(content)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("cannot write {place}"))
}
