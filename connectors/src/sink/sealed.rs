//! An encoded file, and the receipt for it once it is durable.

use std::sync::Arc;

use bytes::Bytes;

use super::digest::digest_of;
use super::footer::read_footer_at;
use super::{ChainError, ChainId, CommitError, Footer, read_tail};
use crate::store::{Store, StoreError, crash};

/// Proof that everything of a chain before [`Receipt::next`] is durable. Only a durable write returns one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    file: String,
    bytes: u64,
    digest: Arc<str>,
    footer: Arc<Footer>,
}

impl Receipt {
    /// Returns the chain.
    pub fn chain(&self) -> &ChainId {
        &self.footer.chain
    }

    /// Returns the file's first offset.
    pub fn first(&self) -> i64 {
        self.footer.first
    }

    /// Returns the offset after the file's last, up to which the source may release.
    pub fn next(&self) -> i64 {
        self.footer.next
    }

    /// Returns the notes file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the size of the notes file in bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the SHA-256 of the notes file, hex: the chain's head until the next file. Stored elsewhere, it
    /// later proves that this file and all earlier ones are unchanged.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the footer: rows by kind, audit file, fingerprints.
    pub fn footer(&self) -> &Footer {
        &self.footer
    }
}

/// An encoded file that is not written yet.
pub struct SealedFile {
    name: String,
    notes: Bytes,
    audit: Option<(String, Bytes)>,
    digest: Arc<str>,
    footer: Arc<Footer>,
}

impl SealedFile {
    pub(super) fn new(footer: Footer, notes: Bytes, audit: Option<Bytes>) -> Self {
        let audit = footer.audit.clone().zip(audit);
        Self {
            name: footer.chain.notes_name(footer.first),
            digest: digest_of(&notes).into(),
            notes,
            audit,
            footer: Arc::new(footer),
        }
    }

    /// Returns the SHA-256 of the notes file, hex.
    pub(super) const fn digest(&self) -> &Arc<str> {
        &self.digest
    }

    /// Returns the first offset.
    pub fn first(&self) -> i64 {
        self.footer.first
    }

    /// Returns the offset after the last.
    pub fn next(&self) -> i64 {
        self.footer.next
    }

    /// Returns the memory held for notes and audit, in bytes.
    pub fn memory(&self) -> usize {
        self.notes.len() + self.audit.as_ref().map_or(0, |(_, bytes)| bytes.len())
    }

    /// Writes the audit file, then the notes file. May be called again after [`CommitError::Transient`]: it
    /// recognises files of an earlier attempt by their commit id.
    ///
    /// # Errors
    /// [`CommitError::Lost`] if another writer's file has the name, [`CommitError::Transient`] if a retry may
    /// help, [`CommitError::Fatal`] otherwise.
    pub async fn upload(&self, store: &dyn Store) -> Result<Receipt, CommitError> {
        crash::point("sealed");
        if let Some((name, bytes)) = &self.audit {
            match store.create(name, bytes.clone()).await {
                Ok(()) => {}
                // The name is unique, so an existing file is ours.
                Err(StoreError::Exists(at)) => match store.read_tail(name, 1).await {
                    Ok(_) => {}
                    Err(StoreError::NotFound(_)) => return Err(reported_taken(StoreError::Exists(at))),
                    Err(error) => return Err(error.into()),
                },
                Err(error) => return Err(error.into()),
            }
            crash::point("audit_written");
        }
        match store.create(&self.name, self.notes.clone()).await {
            Ok(()) => {}
            Err(StoreError::Exists(at)) => self.whose(store, StoreError::Exists(at)).await?,
            Err(error) => return Err(error.into()),
        }
        crash::point("notes_written");
        let receipt = Receipt {
            file: self.name.clone(),
            bytes: self.notes.len() as u64,
            digest: Arc::clone(&self.digest),
            footer: Arc::clone(&self.footer),
        };
        crash::point("receipt_given");
        Ok(receipt)
    }

    /// Finds out whether this writer took the name, after a lost response, or another writer did.
    async fn whose(&self, store: &dyn Store, taken: StoreError) -> Result<(), CommitError> {
        match read_footer_at(store, &self.name).await {
            Ok(footer) if footer.commit == self.footer.commit => return Ok(()),
            Ok(_) => {}
            Err(ChainError::Store(StoreError::NotFound(_))) => return Err(reported_taken(taken)),
            Err(error) => return Err(error.into()),
        }
        match read_tail(store, &self.footer.chain).await? {
            Some(tail) => Err(CommitError::Lost { tail: Box::new(tail) }),
            None => Err(CommitError::Transient(taken)),
        }
    }
}

/// S3 responds 409 while another PUT of the name is in progress, which may still fail. Then the name is
/// reported as taken although there is no object.
fn reported_taken(error: StoreError) -> CommitError {
    CommitError::Transient(StoreError::Transient {
        at: error.at().clone(),
        detail: "the name was reported as taken, but there is no object".into(),
    })
}

impl std::fmt::Debug for SealedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealedFile({}, {} rows)", self.name, self.footer.rows())
    }
}
