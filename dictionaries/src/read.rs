//! Reads the bytes that [`format`](crate::format) describes, and refuses truncated, changed or incompatible
//! ones.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::format::{BODY, MAGIC, VERSION};

/// Why bytes are not a dictionary of this program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The first bytes are not those of a compiled dictionary.
    #[error("not a compiled dictionary")]
    Magic,
    /// Another version of the program compiled it.
    #[error("compiled in format {found}, but this program reads format {VERSION}; compile the lists again")]
    Version {
        /// The format of the file.
        found: u32,
    },
    /// The content does not match its digest.
    #[error("damaged: the contents do not match their digest")]
    Digest,
    /// It is truncated, or contains an invalid reference.
    #[error("damaged: {0}")]
    Damaged(&'static str),
}

/// Reads numbers and strings from the front of a byte slice.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Checks magic and version, and the digest if `verify`; returns the body and the digest.
    pub(crate) fn open(bytes: &'a [u8], verify: bool) -> Result<(Self, [u8; 32]), LoadError> {
        if !bytes.starts_with(MAGIC) || bytes.len() < BODY {
            return Err(LoadError::Magic);
        }
        let (head, body) = bytes.split_at(BODY);
        let mut head = Self(head);
        head.take(MAGIC.len())?;
        let found = head.u32()?;
        if found != VERSION {
            return Err(LoadError::Version { found });
        }
        let digest: [u8; 32] = head.array()?;
        if verify && Sha256::digest(body).as_slice() != digest {
            return Err(LoadError::Digest);
        }
        Ok((Self(body), digest))
    }

    #[cfg(test)]
    pub(crate) const fn over(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], LoadError> {
        let (front, rest) = self
            .0
            .split_at_checked(len)
            .ok_or(LoadError::Damaged("it ends early"))?;
        self.0 = rest;
        Ok(front)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], LoadError> {
        self.take(N)?
            .try_into()
            .map_err(|_| LoadError::Damaged("it ends early"))
    }

    /// Returns the number of bytes that were not read yet.
    pub(crate) fn left(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn u8(&mut self) -> Result<u8, LoadError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u32(&mut self) -> Result<u32, LoadError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u128(&mut self) -> Result<u128, LoadError> {
        Ok(u128::from_le_bytes(self.array()?))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], LoadError> {
        let len = self.u32()? as usize;
        self.take(len)
    }

    pub(crate) fn str(&mut self) -> Result<String, LoadError> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| LoadError::Damaged("a string is not UTF-8"))
    }

    /// Reads a counted sequence. No more is reserved than the rest can hold, so that a damaged count cannot
    /// exhaust memory.
    pub(crate) fn many<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, LoadError>,
    ) -> Result<Vec<T>, LoadError> {
        let count = self.u32()?;
        // No element has fewer bytes than a number.
        let mut all = Vec::with_capacity((count as usize).min(self.0.len() / size_of::<u32>()));
        for _ in 0..count {
            all.push(one(self)?);
        }
        Ok(all)
    }
}
