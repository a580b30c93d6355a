//! Removes audit files that no notes file names. A writer leaves them if it dies or loses its partition's assignment
//! between the two writes.

use std::time::Duration;

use super::{Orphan, Report};
use crate::replay::{ReplayName, read_replay};
use crate::sink::{ChainError, ChainId, PartName, read_footer, read_part};
use crate::store::{Store, StoreError};

/// Deletes the report's orphans and returns their names.
///
/// Deletes an orphan at once if the chain has passed it, since the notes file that could name it can no
/// longer be created. An orphan at the chain's end may belong to a running writer and is deleted only if it
/// is at least `older_than` old. Before each deletion the notes file is read again, and an audit file that it
/// names is kept.
///
/// # Errors
/// The store's error; earlier deletions are not undone.
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
            // It may name this file. The inspection reports it.
            Err(ChainError::Footer { .. }) => continue,
            Err(error) => return Err(error),
        }
        store.delete(name).await?;
        removed.push(name.clone());
    }
    Ok(removed)
}
