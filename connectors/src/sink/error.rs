//! What can go wrong with a chain. Errors carry names and offsets, never a note's content.

use super::Tail;
use crate::store::StoreError;

/// Why a chain cannot be read or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file among the chain's that is none of them.
    #[error("{name} is not named as a file of a chain: move it out of the output folder")]
    Stray {
        /// The file.
        name: String,
    },
    /// A file whose footer cannot be read.
    #[error(
        "{name}: {why}: not written by this program, or damaged; restore it or ask for help before going on"
    )]
    Footer {
        /// The file.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file that does not begin where the one before it ends.
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
        /// As the file has it.
        theirs: String,
        /// As it is now.
        ours: String,
    },
    /// The chain was written under a stricter mode than the policy's.
    #[error(
        "{file} was written under mode `{before}`, and the policy's is now `{now}`, which protects less: give the output a new \
         place, or say `engine.acknowledge = [\"weaker-mode\"]` if readers of the dataset know"
    )]
    WeakerMode {
        /// The chain's last file.
        file: String,
        /// Its mode.
        before: String,
        /// The policy's.
        now: String,
    },
    /// The chain's codes, surrogates and shifted dates were made in another way, by the same policy.
    #[error(
        "{file} was written by a version of this program whose codes, surrogates and shifted dates differ from this one's under \
         the same policy: give the output a new place and write it again from the start, or set \
         `engine.acknowledge = [\"new-surrogates\"]` if readers of the dataset know that patients have other codes from here on"
    )]
    NewSurrogates {
        /// The chain's last file.
        file: String,
    },
    /// A gap file that does not fit the chain.
    #[error("a gap from offset {from} to {to} does not fit: the chain {chain} goes on at {next}")]
    Gap {
        /// The chain.
        chain: String,
        /// Where it goes on.
        next: i64,
        /// First offset of the gap asked for.
        from: i64,
        /// Offset after it.
        to: i64,
    },
    /// Encoding to Parquet failed.
    #[error("{chain}: Parquet refuses the rows from offset {first} on ({why})")]
    Encode {
        /// The chain.
        chain: String,
        /// First offset of the file under construction.
        first: i64,
        /// The library's error kind.
        why: &'static str,
    },
    /// A file was sealed and there is no receipt for it yet.
    #[error("{chain}: the file before this one has no receipt yet")]
    NoReceipt {
        /// The chain.
        chain: String,
    },
}

/// Why rows were not taken. The caller has a fault: the rows do not belong after those before them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// Rows of another topic or partition.
    #[error("{chain}: row {row} is of another topic or partition")]
    WrongChain {
        /// The chain.
        chain: String,
        /// The row of the batch.
        row: usize,
    },
    /// Offsets that do not increase, or lie before the next one expected.
    #[error("{chain}: offset {found} where {expected} or a later one is due")]
    OutOfOrder {
        /// The chain.
        chain: String,
        /// Least offset that could come.
        expected: i64,
        /// Offset that came.
        found: i64,
    },
    /// An audit row of an offset that is not in the batch.
    #[error("{chain}: an audit row is of offset {offset}, which is not in its batch")]
    StrayAudit {
        /// The chain.
        chain: String,
        /// The offset.
        offset: i64,
    },
    /// Encoding failed. The buffer is of no more use: drop the writer and open the chain again.
    #[error(transparent)]
    Encode(ChainError),
}

/// Why a commit gave no receipt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// Another writer's file has the name. Drop the writer with its buffer and open the chain again: nothing is lost,
    /// the offsets were never released.
    #[error("{} was committed by another writer, up to offset {}", tail.file, tail.next)]
    Lost {
        /// The chain's tail as it is now.
        tail: Box<Tail>,
    },
    /// The store cannot now. The buffer is kept: commit again.
    #[error(transparent)]
    Transient(StoreError),
    /// Trying again does not help.
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
