//! Reads the messages of a chain as a log, one file at a time, from any offset.

use std::collections::BTreeSet;

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use bytes::Bytes;
use lethe_core::RedactedBatch;

use super::Message;
use crate::inspect::columns::{Batches, Wanted};
use crate::sink::{ChainError, ChainId, read_footer};
use crate::store::{Store, StoreError};

/// Part of a chain: one file, from some offset on.
#[derive(Debug)]
pub struct Stretch {
    /// Its messages, in the order of their offsets.
    pub messages: Vec<Message>,
    /// The offset after its last row, at which the next stretch begins.
    pub next: i64,
    /// Rows without a message: tombstones, quarantined events, and notes that did not come in one.
    pub without: u64,
}

/// Returns the chains of a store.
///
/// # Errors
/// The store's error.
pub async fn chains(store: &dyn Store) -> Result<BTreeSet<ChainId>, StoreError> {
    let notes = store.list("notes").await?;
    let chain = |name: &str| ChainId::parse_notes(name).map(|(chain, _)| chain);
    Ok(notes.iter().filter_map(|object| chain(&object.name)).collect())
}

/// Returns the chain's content from `offset` to the end of one file; `None` at the end of the chain.
///
/// # Errors
/// [`ChainError`].
pub async fn read_from(
    store: &dyn Store,
    chain: &ChainId,
    offset: i64,
) -> Result<Option<Stretch>, ChainError> {
    let Some(name) = file_at(store, chain, offset).await? else {
        return Ok(None);
    };
    let footer = read_footer(store, &name).await?;
    if footer.next <= offset {
        return Ok(None);
    }
    let schema = RedactedBatch::schema();
    let wanted = Wanted {
        schema: &schema,
        must: &["offset", "message"],
        may: &[],
    };
    let mut stretch = Stretch {
        messages: Vec::new(),
        next: footer.next,
        without: 0,
    };
    let mut batches = Batches::open(store, &name, &wanted).await?;
    while let Some(batch) = batches.next().await? {
        let offsets = batch.column(0).as_primitive::<Int64Type>();
        let messages = batch.column(1).as_binary::<i32>();
        for row in (0..batch.num_rows()).filter(|&row| offsets.value(row) >= offset) {
            if messages.is_valid(row) {
                stretch.messages.push(Message {
                    offset: offsets.value(row),
                    bytes: Bytes::copy_from_slice(messages.value(row)),
                });
            } else {
                stretch.without += 1;
            }
        }
    }
    Ok(Some(stretch))
}

/// Returns the name of the last file that begins at or before `offset`.
async fn file_at(store: &dyn Store, chain: &ChainId, offset: i64) -> Result<Option<String>, ChainError> {
    let exact = chain.notes_name(offset);
    match store.read_tail(&exact, 1).await {
        Ok(_) => return Ok(Some(exact)),
        Err(StoreError::NotFound(_)) => {}
        Err(error) => return Err(error.into()),
    }
    // Positions between two files occur only if another program has emitted; a listing is cheap enough for
    // that.
    let files = store.list(&chain.notes_folder()).await?;
    let before = |name: &str| ChainId::parse_notes(name).is_some_and(|(_, first)| first < offset);
    let last = files.into_iter().rev().find(|file| before(&file.name));
    Ok(last.map(|file| file.name))
}
