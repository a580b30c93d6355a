//! Halted lanes, by codes that metrics and pages share.

/// What kind of reason a lane halted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HaltCode {
    /// The log does not have the offset at which the chain goes on.
    OutOfRange,
    /// The chain is of another cluster, or of a topic that was deleted and recreated.
    AnotherLog,
    /// Files of the chain are missing, damaged or strange.
    BrokenChain,
    /// The policy protects less than that of the chain, or makes other codes.
    Policy,
    /// A batch cannot be read.
    Unreadable,
}

impl HaltCode {
    /// All of them.
    pub(crate) const ALL: [Self; 5] = [
        Self::OutOfRange,
        Self::AnotherLog,
        Self::BrokenChain,
        Self::Policy,
        Self::Unreadable,
    ];

    /// The name in metrics and on pages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::OutOfRange => "out_of_range",
            Self::AnotherLog => "another_log",
            Self::BrokenChain => "broken_chain",
            Self::Policy => "policy",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Why a lane halted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Halted {
    pub(crate) code: HaltCode,
    /// Coordinates and identifiers; nothing of a note.
    pub(crate) why: String,
}
