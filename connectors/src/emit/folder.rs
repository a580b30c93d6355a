//! Writes messages as files of a folder or a bucket: `messages/topic=T/partition=P/<offset, 20 digits>`, each
//! created once.

use std::sync::Arc;

use async_trait::async_trait;

use super::{EmitError, Emitter, Stretch};
use crate::sink::ChainId;
use crate::store::{Store, StoreError};

/// Writes messages to a store.
#[derive(Debug)]
pub struct FolderEmitter {
    store: Arc<dyn Store>,
    suffix: String,
}

impl FolderEmitter {
    /// Returns an emitter that writes to this store, with this suffix for file names (`.json`, `.hl7`).
    pub fn new(store: Arc<dyn Store>, suffix: impl Into<String>) -> Self {
        Self {
            store,
            suffix: suffix.into(),
        }
    }

    fn folder(chain: &ChainId) -> String {
        chain.notes_folder().replacen("notes/", "messages/", 1)
    }

    fn name(&self, chain: &ChainId, offset: i64) -> String {
        format!("{}/{offset:020}{}", Self::folder(chain), self.suffix)
    }
}

#[async_trait]
impl Emitter for FolderEmitter {
    /// Returns the offset after the last file's. Files are written in order, so all earlier ones exist.
    async fn position(&mut self, chain: &ChainId) -> Result<i64, EmitError> {
        let files = self.store.list(&Self::folder(chain)).await?;
        let offset = |name: &str| {
            let file = name.rsplit('/').next()?.strip_suffix(&self.suffix)?;
            file.parse::<i64>().ok()
        };
        let last = files.iter().rev().find_map(|file| offset(&file.name));
        Ok(last.map_or(0, |last| last + 1))
    }

    async fn emit(&mut self, chain: &ChainId, stretch: &Stretch) -> Result<(), EmitError> {
        for message in &stretch.messages {
            let name = self.name(chain, message.offset);
            match self.store.create(&name, message.bytes.clone()).await {
                // A chain only changes by an erasure, so an existing file has the same content.
                Ok(()) | Err(StoreError::Exists(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn describe(&self) -> String {
        self.store.describe()
    }
}
