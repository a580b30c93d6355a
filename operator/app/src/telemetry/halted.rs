//! Halted lanes, with the codes that metrics and pages share.

/// The reason why a lane halted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HaltCode {
    /// The log does not have the offset at which the chain continues.
    OutOfRange,
    /// The chain belongs to another cluster, or to a topic that was deleted and recreated.
    AnotherLog,
    /// Files of the chain are missing, damaged or foreign.
    BrokenChain,
    /// The policy protects less than that of the chain, or derives other codes.
    Policy,
    /// A batch cannot be read.
    Unreadable,
}

impl HaltCode {
    /// All codes.
    pub(crate) const ALL: [Self; 5] = [
        Self::OutOfRange,
        Self::AnotherLog,
        Self::BrokenChain,
        Self::Policy,
        Self::Unreadable,
    ];

    /// Returns the name in metrics and on pages.
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
    /// Coordinates and identifiers, without anything from a note.
    pub(crate) why: String,
}
