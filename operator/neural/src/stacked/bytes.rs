//! The stacked network as bytes: sizes, labels and numbers, then the SHA-256 digest of all of them.

use lethe_kernel::Isa;
use lethe_learn::{Scheme, TagSet};
use sha2::{Digest as _, Sha256};

use super::Stacked;
use super::shape::Shape;
use crate::model::{Params, Tensor};

/// Name and version of the format.
const MAGIC: &[u8; 8] = b"lethe-k1";

/// Why a stacked network cannot be built or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StackedError {
    /// A setting is invalid.
    #[error("the stacked network: {0}")]
    Setting(&'static str),
    /// The bytes are not a network, or were altered.
    #[error("the stacked network cannot be read: {0}")]
    Damaged(&'static str),
}

impl Stacked {
    /// Returns the network as bytes, the same for the same network: the format's name, sizes as little-endian
    /// `u32`, labels as length and UTF-8, parameters as little-endian `f32`, and the SHA-256 digest of
    /// everything before it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let mut put = |n: usize| bytes.extend_from_slice(&(n as u32).to_le_bytes());
        let (s, labels) = (&self.shape, self.tags.labels());
        let scheme = usize::from(self.tags.scheme() == Scheme::Bilou);
        for size in [
            s.embedding,
            s.hidden,
            s.members,
            s.member_tags,
            scheme,
            labels.len(),
        ] {
            put(size);
        }
        for label in labels {
            bytes.extend_from_slice(&(label.len() as u32).to_le_bytes());
            bytes.extend_from_slice(label.as_bytes());
        }
        let numbers = self.params.0.iter().flat_map(|tensor| &tensor.data);
        bytes.extend(numbers.flat_map(|x| x.to_le_bytes()));
        let sum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }

    /// Reads a network.
    ///
    /// # Errors
    /// [`StackedError::Damaged`] if the bytes are not those that [`Stacked::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StackedError> {
        let damaged = StackedError::Damaged;
        let (body, sum) = bytes
            .split_last_chunk::<32>()
            .ok_or(damaged("it was cut short"))?;
        let mut rest = body
            .strip_prefix(MAGIC)
            .ok_or(damaged("these bytes have another kind or version"))?;
        if <[u8; 32]>::from(Sha256::digest(body)) != *sum {
            return Err(damaged("it was cut short or altered"));
        }
        let inconsistent = || damaged("its parts do not fit together");
        let mut number = || number(&mut rest).ok_or_else(inconsistent);
        let [embedding, hidden, members, member_tags, scheme, count] =
            [number()?, number()?, number()?, number()?, number()?, number()?];
        let scheme = match scheme {
            0 => Scheme::Bio,
            1 => Scheme::Bilou,
            _ => return Err(inconsistent()),
        };
        let mut labels = Vec::new();
        for _ in 0..count {
            labels.push(text(&mut rest).ok_or_else(inconsistent)?);
        }
        let tags = TagSet::new(scheme, labels);
        let shape = Shape {
            embedding,
            hidden,
            members,
            member_tags,
            tags: tags.len(),
        };
        shape.check().map_err(|_| inconsistent())?;
        // Sizes are within bounds: no product of two of them exceeds 64 bits.
        let total: usize = shape
            .shapes()
            .iter()
            .map(|&(_, rows, columns)| rows * columns)
            .sum();
        if rest.len() != 4 * total {
            return Err(inconsistent());
        }
        let mut numbers = rest.as_chunks::<4>().0.iter().map(|&x| f32::from_le_bytes(x));
        let params = Params(
            shape
                .shapes()
                .into_iter()
                .map(|(name, rows, columns)| Tensor {
                    name,
                    rows,
                    columns,
                    data: numbers.by_ref().take(rows * columns).collect(),
                })
                .collect(),
        );
        if !params
            .0
            .iter()
            .flat_map(|tensor| &tensor.data)
            .all(|x| x.is_finite())
        {
            return Err(damaged("a number is not finite"));
        }
        Ok(Self::pack(Isa::best(), shape, tags, params))
    }
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    let (bytes, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}

fn text(rest: &mut &[u8]) -> Option<String> {
    let length = number(rest)?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    String::from_utf8(bytes.to_vec()).ok()
}
