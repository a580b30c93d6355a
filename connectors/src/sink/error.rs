//! Errors of chains. They carry names and offsets, never a note's content.

use super::Tail;
use crate::store::StoreError;

/// Why a chain cannot be read or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file in the chain's folder has another kind of name.
    #[error("{name} does not have the name of a chain's file; move it out of the output folder")]
    Stray {
        /// The file.
        name: String,
    },
    /// A file's footer cannot be read.
    #[error(
        "{name}: {why}: not written by this program, or damaged; restore it or ask for help before you continue"
    )]
    Footer {
        /// The file.
        name: String,
        /// The problem.
        why: String,
    },
    /// A file does not begin at the end of the previous one.
    #[error(
        "the chain is broken: {file} ends before offset {next}, but the file after it is {found}; \
         do not go on before it is known how that came about (`lethe inspect` shows the whole chain)"
    )]
    Broken {
        /// The file before the break.
        file: String,
        /// Its next offset.
        next: i64,
        /// The file after it.
        found: String,
    },
    /// The chain was written from another log.
    #[error(
        "{file} was written from another log ({field} {theirs}, now {ours}): the topic was recreated or the cluster is \
         another, so offsets no longer mean the same; give the output a new place"
    )]
    AnotherLog {
        /// The chain's last file.
        file: String,
        /// The identifier that differs.
        field: &'static str,
        /// Its value in the file.
        theirs: String,
        /// Its current value.
        ours: String,
    },
    /// The chain was written under a stricter mode than the policy's.
    #[error(
        "{file} was written under mode `{before}`, and the policy's is now `{now}`, which protects less: give the output a new \
         place, or set `engine.acknowledge = [\"weaker-mode\"]` if readers of the dataset know"
    )]
    WeakerMode {
        /// The chain's last file.
        file: String,
        /// Its mode.
        before: String,
        /// The policy's.
        now: String,
    },
    /// The same policy derives the chain's codes, surrogates and shifted dates in another way now.
    #[error(
        "{file} was written by a version of this program whose codes, surrogates and shifted dates differ from this one's under \
         the same policy: give the output a new place and write it again from the start, or set \
         `engine.acknowledge = [\"new-surrogates\"]` if readers of the dataset know that patients have other codes from here on"
    )]
    NewSurrogates {
        /// The chain's last file.
        file: String,
    },
    /// A gap file does not fit the chain.
    #[error("a gap from offset {from} to {to} does not fit: the chain {chain} continues at {next}")]
    Gap {
        /// The chain.
        chain: String,
        /// The chain's end.
        next: i64,
        /// First offset of the requested gap.
        from: i64,
        /// The offset after it.
        to: i64,
    },
    /// Encoding to Parquet failed.
    #[error("{chain}: cannot encode the rows from offset {first} as Parquet ({why})")]
    Encode {
        /// The chain.
        chain: String,
        /// First offset of the file under construction.
        first: i64,
        /// The kind of the library's error.
        why: &'static str,
    },
    /// A sealed file has no receipt yet.
    #[error("{chain}: the previous file has no receipt yet")]
    NoReceipt {
        /// The chain.
        chain: String,
    },
}

/// Why rows were rejected. This is a bug of the caller: the rows do not follow the earlier ones.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// The rows belong to another topic or partition.
    #[error("{chain}: row {row} belongs to another topic or partition")]
    WrongChain {
        /// The chain.
        chain: String,
        /// The row's index in the batch.
        row: usize,
    },
    /// The offsets do not increase, or lie before the expected one.
    #[error("{chain}: offset {found} instead of {expected} or a later one")]
    OutOfOrder {
        /// The chain.
        chain: String,
        /// The smallest acceptable offset.
        expected: i64,
        /// The actual offset.
        found: i64,
    },
    /// An audit row has an offset that is not in the batch.
    #[error("{chain}: an audit row has offset {offset}, which is not in its batch")]
    StrayAudit {
        /// The chain.
        chain: String,
        /// The offset.
        offset: i64,
    },
    /// Encoding failed. The buffer is unusable: drop the writer and reopen the chain.
    #[error(transparent)]
    Encode(ChainError),
}

/// Why a commit returned no receipt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// Another writer's file has the name. Drop the writer with its buffer and reopen the chain: nothing is
    /// lost, since the offsets were never released.
    #[error("{} was committed by another writer, up to offset {}", tail.file, tail.next)]
    Lost {
        /// The current tail of the chain.
        tail: Box<Tail>,
    },
    /// The store is unavailable. The buffer is kept: retry the commit.
    #[error(transparent)]
    Transient(StoreError),
    /// A retry does not help.
    #[error(transparent)]
    Fatal(ChainError),
}

impl From<ChainError> for CommitError {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::Store(error) if error.is_transient() => Self::Transient(error),
            error => Self::Fatal(error),
        }
    }
}

impl From<StoreError> for CommitError {
    fn from(error: StoreError) -> Self {
        ChainError::from(error).into()
    }
}
