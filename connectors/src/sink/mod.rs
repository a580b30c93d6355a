//! The sink: "the file is the commit".
//!
//! A lane's output is a chain of Parquet files, each named by its first offset and created once. A file's footer holds
//! the next offset, which is the next file's name. So the chain itself says where to go on after a crash, and of two
//! writers that both believe a partition is theirs the first to commit wins and the other finds the name taken.
//!
//! Every chain begins at offset 0: where a log begins later, the first file is one without rows that says so.
//! Without that, two writers that begin at different offsets would start two chains.
//!
//! A file's footer also holds the digests of its audit file and of the file before it, so that nobody can change, drop or
//! swap one unseen.
//!
//! Invariants: a file is never changed but by an erasure, which is recorded ([`crate::erase`]). [`Receipt`]s come only from a durable write. The notes file is written after
//! its audit. No text of a note stands in a footer, a statistic or an error.

mod acknowledgement;
mod bridge;
mod chain;
mod dataset;
mod digest;
mod encode;
mod error;
mod fingerprints;
mod footer;
mod manifest;
mod part;
mod roll;
mod sealed;
mod tail;
mod writer;

pub use acknowledgement::Acknowledgement;
pub use bridge::bridge;
pub use chain::ChainId;
pub use dataset::check_dataset;
pub use digest::digest_whole;
pub(crate) use digest::{digest_file, digest_of};
pub use encode::Encoding;
pub(crate) use encode::{Sheet, kind as encode_kind};
pub use error::{ChainError, CommitError, PushError};
pub use fingerprints::Fingerprints;
pub use footer::{FORMAT, Footer, read_footer};
pub(crate) use footer::{is_digest, read_metadata};
pub use manifest::{
    BEGUN, Entry, ShardManifest, Totals, WholeManifest, encode_manifest, object_id, shard_path, unit_id,
};
pub(crate) use manifest::{MANIFESTS, whole_path};
pub use part::{EncodeError, Part, PartFooter, PartName, SealedPart, read_part};
pub use roll::{Due, Held, Roll};
pub use sealed::{Receipt, SealedFile};
pub(crate) use tail::read_link;
pub use tail::{Tail, read_tail};
pub use writer::LaneWriter;
