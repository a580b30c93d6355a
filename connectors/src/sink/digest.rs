//! Digests that link a chain's files: the SHA-256 (FIPS 180-4) of a whole file, as `sha256sum` prints it.
//!
//! A notes file's footer holds the digests of its audit file and of the previous notes file. So a change,
//! removal or swap of an audit file, or of any notes file except the last, leaves a chain that contradicts
//! itself. The digest of the last file, stored elsewhere, covers that one too.

use lethe_core::hex;
use sha2::{Digest as _, Sha256};

use crate::store::{At, Op, Store, StoreError};

/// Bytes per request.
const CHUNK: u64 = 4 << 20;
/// Bytes to hash before the task yields: a third of a millisecond.
const SLICE: usize = 256 << 10;

/// Returns the digest of these bytes, hex.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns the digest of a file of `size` bytes, read in parts.
///
/// # Errors
/// The store's error; [`StoreError::Other`] if the file is shorter than that.
pub(crate) async fn digest_file(store: &dyn Store, name: &str, size: u64) -> Result<String, StoreError> {
    let mut hash = Sha256::new();
    let mut at = 0;
    while at < size {
        let part = store.read_range(name, at..size.min(at + CHUNK)).await?;
        if part.is_empty() {
            return Err(StoreError::Other {
                at: At::new(Op::Read, store.describe(), name),
                detail: format!("the file ends at byte {at} of {size}"),
                hint: "only an erasure changes files of a chain; if none is running, find out who changed the file"
                    .into(),
            });
        }
        at += part.len() as u64;
        for slice in part.chunks(SLICE) {
            hash.update(slice);
            tokio::task::yield_now().await;
        }
    }
    Ok(hex(&hash.finalize()))
}

/// Returns the SHA-256 of a file of any size, hex.
///
/// # Errors
/// The store's error; [`StoreError::Other`] if the file is shorter than its size.
pub async fn digest_whole(store: &dyn Store, name: &str) -> Result<String, StoreError> {
    loop {
        let before = store.look(name).await?;
        let digest = digest_file(store, name, before.size).await;
        // If an erasure replaced it between two reads, these are parts of two files.
        if store.look(name).await?.version == before.version {
            return digest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;
    use bytes::Bytes;

    #[tokio::test]
    async fn a_file_read_in_parts_has_the_digest_of_its_bytes() {
        let store = Memory::default();
        for size in [0, 1, SLICE, CHUNK as usize, CHUNK as usize + 1, 9 << 20] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            let name = size.to_string();
            store.create(&name, Bytes::from(bytes.clone())).await.unwrap();
            assert_eq!(digest_whole(&store, &name).await.unwrap(), digest_of(&bytes));
        }
        // FIPS 180-4's example of one block.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest_of(b"abc"), abc);
    }

    #[tokio::test]
    async fn a_file_that_is_shorter_than_it_was_is_no_endless_reading() {
        let store = Memory::default();
        store.create("short", Bytes::from_static(b"four")).await.unwrap();
        let error = digest_file(&store, "short", 9).await.unwrap_err();
        assert!(error.to_string().contains("byte 4 of 9"), "{error}");
    }
}
