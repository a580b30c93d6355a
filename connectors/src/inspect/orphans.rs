//! Audit files that no notes file names: what is left of a writer that died, or lost its partition, between the two.

use std::time::Duration;

use super::{Orphan, Report};
use crate::replay::{ReplayName, read_replay};
use crate::sink::{ChainError, ChainId, PartName, read_footer, read_part};
use crate::store::{Store, StoreError};

/// Deletes the report's orphans and gives their names.
///
/// An orphan that the chain has gone past goes at once: the notes file that could have named it cannot be created any
/// more. One at the chain's end may be that of a writer at work, and goes only if it is at least `older_than` old.
/// Before each deletion the notes file is looked at again: what is named by one stays.
///
/// # Errors
/// The store's error; what was deleted before it is gone.
pub async fn remove_orphans(
    store: &dyn Store,
    report: &Report,
    older_than: Duration,
) -> Result<Vec<String>, ChainError> {
    let mut removed = Vec::new();
    for Orphan {
        name,
        age_seconds,
        superseded,
        ..
    } in &report.orphans
    {
        if !superseded && *age_seconds < older_than.as_secs() {
            continue;
        }
        let named = if let Some((chain, first, _)) = ChainId::parse_audit(name) {
            let footer = read_footer(store, &chain.notes_name(first)).await;
            footer.map(|footer| footer.audit)
        } else if let Some(part) = ReplayName::parse_audit(name) {
            let footer = read_replay(store, &part.path()).await;
            footer.map(|footer| footer.audit.map(|(audit, _)| audit))
        } else if let Some(part) = PartName::parse_audit(name) {
            let footer = read_part(store, &part.path()).await;
            footer.map(|footer| footer.audit.map(|(audit, _)| audit))
        } else {
            continue;
        };
        match named {
            Ok(audit) if audit.as_ref() == Some(name) => continue,
            Ok(_) | Err(ChainError::Store(StoreError::NotFound(_))) => {}
            // It may name this file, and the inspection reports it.
            Err(ChainError::Footer { .. }) => continue,
            Err(error) => return Err(error),
        }
        store.delete(name).await?;
        removed.push(name.clone());
    }
    Ok(removed)
}
