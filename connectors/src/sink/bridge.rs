//! Writes a file without rows for offsets that are given up by decision.

use super::digest::digest_whole;
use super::encode::{Sheet, kind};
use super::{
    ChainError, ChainId, CommitError, Encoding, Fingerprints, Footer, Receipt, SealedFile, read_tail,
};
use crate::id::new_id;
use crate::store::Store;

const ATTEMPTS: u32 = 5;

/// Bridges the offsets from `from` up to and excluding `to`: the log no longer has them, or an operator gives
/// them up. The file's footer holds the reason.
///
/// # Errors
/// [`ChainError::Gap`] unless the chain ends at `from` and `to` lies after it; [`ChainError::WeakerMode`] or
/// [`ChainError::NewSurrogates`] if the policy differs from the last file's without acknowledgement;
/// otherwise as [`SealedFile::upload`].
pub async fn bridge(
    store: &dyn Store,
    chain: &ChainId,
    from: i64,
    to: i64,
    reason: &str,
    fingerprints: &Fingerprints,
) -> Result<Receipt, CommitError> {
    let tail = read_tail(store, chain).await?;
    let next = tail.as_ref().map_or(0, |tail| tail.next);
    if next != from || to <= from {
        return Err(CommitError::Fatal(ChainError::Gap {
            chain: chain.to_string(),
            next,
            from,
            to,
        }));
    }
    let previous = match &tail {
        Some(tail) => {
            // The next file is compared only with this one.
            tail.check_policy(fingerprints)?;
            Some(digest_whole(store, &tail.file).await?)
        }
        None => None,
    };
    let footer = Footer {
        chain: chain.clone(),
        commit: new_id().to_string(),
        writer: "bridge".into(),
        first: from,
        next: to,
        notes: 0,
        tombstones: 0,
        quarantined: 0,
        structured: 0,
        erased: 0,
        audit: None,
        audit_rows: 0,
        audit_fields: 0,
        audit_digest: None,
        previous,
        review: 0,
        fingerprints: fingerprints.clone(),
        gap: Some(reason.to_owned()),
    };
    let mut sheet = Sheet::of_notes(Encoding::default());
    let notes = sheet
        .finish(footer.to_pairs())
        .map_err(|error| ChainError::Encode {
            chain: chain.to_string(),
            first: from,
            why: kind(&error),
        })?;
    let sealed = SealedFile::new(footer, notes, None);
    let mut attempts = 0;
    loop {
        attempts += 1;
        match sealed.upload(store).await {
            // The caller has no buffer to keep, and a later call would not recognise this attempt's file.
            // Stores wait between their own attempts, so this only retries after a lost response.
            Err(CommitError::Transient(_)) if attempts < ATTEMPTS => {}
            done => return done,
        }
    }
}
