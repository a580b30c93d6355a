//! Ids of one patient: what an event merges or links is one patient from then on, wherever and in whatever order its notes are
//! read. The vault remembers each link, since only a store that all processes share can.

use lethe_secrets::{Vault, VaultError, VaultKey};

/// More links than a chain of merges has. It also bounds a walk through links that two processes made at the same time in
/// opposite directions.
const MOST: usize = 64;

/// The label of what remembers a link.
pub(crate) const LABEL: &str = "link";

/// Returns the key under which the vault keeps the context that this one was merged into.
fn key(context: &str) -> VaultKey<'_> {
    VaultKey {
        label: LABEL,
        scope: "",
        value: context,
    }
}

/// Returns the context that stands for all that are linked with this one: itself if it has no links.
///
/// # Errors
/// The vault's.
pub(crate) fn root(vault: &dyn Vault, context: &str) -> Result<String, VaultError> {
    let mut seen = vec![context.to_owned()];
    while seen.len() < MOST {
        let next = match seen.last() {
            Some(last) => vault.kept(key(last))?,
            None => None,
        };
        match next {
            Some(next) if !seen.contains(&next) => seen.push(next.to_string()),
            // A circle: all of its members choose the same one.
            Some(next) => {
                let circle = seen.into_iter().skip_while(|one| *one != *next);
                return Ok(circle.min().unwrap_or_default());
            }
            None => break,
        }
    }
    Ok(seen.pop().unwrap_or_default())
}

/// Makes two contexts one: what stood for `from` is followed to what stands for `into`.
///
/// # Errors
/// The vault's.
pub(crate) fn join(vault: &dyn Vault, from: &str, into: &str) -> Result<(), VaultError> {
    for _ in 0..MOST {
        let (from, into) = (root(vault, from)?, root(vault, into)?);
        // Another process may have linked `from` elsewhere since: then that one is linked next.
        if from == into || *vault.keep(key(&from), &into)? == into {
            return Ok(());
        }
    }
    Ok(())
}
