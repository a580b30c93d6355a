//! Reads an object of a store in blocks, sequentially or at random.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf as _, Bytes};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use tokio::runtime::Handle;

use super::TableError;
use crate::Backoff;
use crate::store::{Object, Store, StoreError};

/// Bytes per request.
const BLOCK: u64 = 1 << 20;
/// Number of cached blocks: columns are read side by side.
const KEPT: usize = 32;
/// Attempts to read a block.
const ATTEMPTS: u32 = 8;

/// An object, read in blocks. Clones share the cache.
#[derive(Clone)]
pub struct Remote(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    object: Object,
    /// The object's name in logs.
    label: String,
    runtime: Handle,
    kept: Mutex<VecDeque<(u64, Bytes)>>,
    /// The furthest position of a reader.
    position: AtomicU64,
    /// Why the last read failed, if it did: the layers above may only know that it failed.
    failed: Mutex<Option<StoreError>>,
}

impl Remote {
    /// Returns an object of a store. Reads block the calling thread, which must not belong to the runtime.
    pub fn new(store: Arc<dyn Store>, object: Object, runtime: Handle) -> Self {
        Self::labelled(store, object.name.clone(), object, runtime)
    }

    /// Returns the same object with the name `label` in logs, since its own name may identify somebody.
    pub(crate) fn called(&self, label: &str) -> Self {
        let inner = &self.0;
        Self::labelled(
            Arc::clone(&inner.store),
            label.to_owned(),
            inner.object.clone(),
            inner.runtime.clone(),
        )
    }

    fn labelled(store: Arc<dyn Store>, label: String, object: Object, runtime: Handle) -> Self {
        Self(Arc::new(Inner {
            store,
            object,
            label,
            runtime,
            kept: Mutex::default(),
            position: AtomicU64::new(0),
            failed: Mutex::default(),
        }))
    }

    /// Returns its name in errors and logs.
    pub fn label(&self) -> &str {
        &self.0.label
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.0.object.name
    }

    /// Returns its size in bytes.
    pub fn size(&self) -> u64 {
        self.0.object.size
    }

    /// Returns the share that has been read sequentially, 0 to 1.
    pub(super) fn share(&self) -> f64 {
        self.0.position.load(Relaxed) as f64 / self.size().max(1) as f64
    }

    /// Returns the store's error behind a failure of a higher layer, if there was one; otherwise that
    /// failure.
    pub(super) fn why(&self, or: impl FnOnce() -> TableError) -> TableError {
        let mut failed = self.0.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take().map_or_else(or, TableError::Store)
    }

    /// Returns the store's error behind the last failed read, if there was one.
    pub(crate) fn failure(&self) -> Option<StoreError> {
        self.0
            .failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Returns the block that begins at `BLOCK * index`.
    fn block(&self, index: u64) -> io::Result<Bytes> {
        let find = |kept: &VecDeque<(u64, Bytes)>| {
            let found = kept.iter().find(|(at, _)| *at == index);
            found.map(|(_, bytes)| bytes.clone())
        };
        let lock = || self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = find(&lock()) {
            return Ok(bytes);
        }
        let from = index * BLOCK;
        let to = (from + BLOCK).min(self.size());
        let bytes = self.fetch(from, to)?;
        let mut kept = lock();
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((index, bytes.clone()));
        Ok(bytes)
    }

    fn fetch(&self, from: u64, to: u64) -> io::Result<Bytes> {
        let inner = &self.0;
        let name = &inner.object.name;
        let mut backoff = Backoff::new(name).attempts(ATTEMPTS);
        loop {
            let read = inner.runtime.block_on(inner.store.read_range(name, from..to));
            match read {
                Ok(bytes) if bytes.len() as u64 == to - from => return Ok(bytes),
                Ok(_) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                Err(error) => {
                    let Some(wait) = backoff.pause().filter(|_| error.is_transient()) else {
                        *inner.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        return Err(io::Error::other("the store does not give it"));
                    };
                    let error = error.renamed(&inner.label);
                    tracing::warn!(object = %inner.label, %error, "store; trying again in {} ms", wait.as_millis());
                    std::thread::sleep(wait);
                }
            }
        }
    }

    /// Returns a reader from the beginning.
    pub fn reader(&self) -> Reader {
        self.reader_at(0)
    }

    pub(crate) fn reader_at(&self, at: u64) -> Reader {
        Reader {
            remote: self.clone(),
            at,
            rest: Bytes::new(),
        }
    }
}

/// Reads an object from a position on.
pub struct Reader {
    remote: Remote,
    at: u64,
    rest: Bytes,
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            if self.at >= self.remote.size() {
                return Ok(0);
            }
            let index = self.at / BLOCK;
            self.rest = self.remote.block(index)?;
            self.rest.advance((self.at - index * BLOCK) as usize);
        }
        let count = into.len().min(self.rest.len());
        self.rest.split_to(count).copy_to_slice(&mut into[..count]);
        self.at += count as u64;
        self.remote.0.position.fetch_max(self.at, Relaxed);
        Ok(count)
    }
}

impl Length for Remote {
    fn len(&self) -> u64 {
        self.size()
    }
}

impl ChunkReader for Remote {
    type T = Reader;

    fn get_read(&self, start: u64) -> ParquetResult<Reader> {
        Ok(self.reader_at(start))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let end = start + length as u64;
        if end > self.size() {
            return Err(ParquetError::EOF(
                "the object ends before its own data".to_owned(),
            ));
        }
        let first = start / BLOCK;
        let failed = |error: io::Error| ParquetError::External(Box::new(error));
        // Most requests lie within one block and then need no copy.
        if length > 0 && (end - 1) / BLOCK == first {
            let offset = (start - first * BLOCK) as usize;
            return Ok(self.block(first).map_err(failed)?.slice(offset..offset + length));
        }
        let mut bytes = vec![0; length];
        self.reader_at(start).read_exact(&mut bytes).map_err(failed)?;
        Ok(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;

    #[test]
    fn what_is_read_here_and_there_is_what_lies_there() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let bytes: Vec<u8> = (0..5 * BLOCK / 2).map(|at| (at % 251) as u8).collect();
        let store = Arc::new(Memory::default());
        runtime.block_on(store.create("a", bytes.clone().into())).unwrap();
        let object = runtime.block_on(store.look("a")).unwrap();
        let remote = Remote::new(store, object, runtime.handle().clone());
        let mut all = Vec::new();
        remote.reader().read_to_end(&mut all).unwrap();
        assert_eq!(all, bytes);
        for (start, length) in [
            (0, 3),
            (BLOCK - 1, 2),
            (BLOCK + 7, 2 * BLOCK as usize / 2),
            (9, 0),
        ] {
            let read = remote.get_bytes(start, length).unwrap();
            assert_eq!(read, bytes[start as usize..start as usize + length]);
        }
        assert!(remote.get_bytes(5 * BLOCK / 2 - 1, 2).is_err());
    }
}
