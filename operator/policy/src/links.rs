//! Links between ids of one patient: ids that an event merges or links count as one patient from then on, in
//! whatever order and by whichever process notes are read. The vault stores the links, since only a store
//! that all processes share can.

use lethe_secrets::{Vault, VaultError, VaultKey};

/// The longest chain of links that is followed. It bounds the walk if two processes linked ids in opposite
/// directions at the same time.
const MOST: usize = 64;

/// The label of entries that store links.
pub(crate) const LABEL: &str = "link";

/// Returns the key under which the vault keeps the context that this one was merged into.
fn key(context: &str) -> VaultKey<'_> {
    VaultKey {
        label: LABEL,
        scope: "",
        value: context,
    }
}

/// Returns the context that represents all contexts linked with this one: itself if it has no links.
///
/// # Errors
/// The vault's errors.
pub(crate) fn root(vault: &dyn Vault, context: &str) -> Result<String, VaultError> {
    let mut seen = vec![context.to_owned()];
    while seen.len() < MOST {
        let next = match seen.last() {
            Some(last) => vault.kept(key(last))?,
            None => None,
        };
        match next {
            Some(next) if !seen.contains(&next) => seen.push(next.to_string()),
            // In a circle, all members choose the same one.
            Some(next) => {
                let circle = seen.into_iter().skip_while(|one| *one != *next);
                return Ok(circle.min().unwrap_or_default());
            }
            None => break,
        }
    }
    Ok(seen.pop().unwrap_or_default())
}

/// Links two contexts: the representative of `from` then points to the representative of `into`.
///
/// # Errors
/// The vault's errors.
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
