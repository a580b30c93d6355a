//! The sink: "the file is the commit".
//!
//! A lane's output is a chain of Parquet files, each named by its first offset and created once. A file's
//! footer holds the next offset, which is the name of the next file. So the chain itself determines where to
//! continue after a crash. If two writers both believe that they own a partition, the first commit wins, and
//! the other writer finds the name taken.
//!
//! Every chain begins at offset 0: if a log begins later, the first file has no rows and says so. Otherwise
//! two writers that begin at different offsets would start two chains.
//!
//! A file's footer also holds the digests of its audit file and of the previous file, so that a change,
//! removal or swap is detected.
//!
//! Invariants: only an erasure changes a file, and it is recorded ([`crate::erase`]). Only a durable write
//! returns a [`Receipt`]. The notes file is written after its audit file. No footer, statistic or error
//! contains text of a note.

mod acknowledgement;
mod bridge;
mod chain;
mod dataset;
mod digest;
mod encode;
mod error;
mod field_ids;
mod fingerprints;
mod footer;
mod footer_pairs;
mod log;
mod manifest;
mod part;
mod roll;
mod sealed;
mod stored;
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
pub use field_ids::FieldIds;
pub use fingerprints::Fingerprints;
pub use footer::{FORMAT, Footer, read_footer};
pub(crate) use footer::{is_digest, read_metadata};
pub use footer_pairs::Damage;
pub(crate) use footer_pairs::{FooterPairs, check_all};
pub use log::{FileHead, find_chains, read_head, read_notes_head};
pub use manifest::{
    BEGUN, Entry, ShardManifest, Totals, WholeManifest, encode_manifest, object_id, shard_path, unit_id,
};
pub(crate) use manifest::{MANIFESTS, whole_path};
pub use part::{EncodeError, Part, PartFooter, PartName, SealedPart, read_part};
pub use roll::{Due, Held, Roll};
pub use sealed::{Receipt, SealedFile};
pub use stored::stored_schema;
pub(crate) use stored::{is_readable_as, with_type};
pub(crate) use tail::read_link;
pub use tail::{Tail, read_tail};
pub use writer::LaneWriter;
