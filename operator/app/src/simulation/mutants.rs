//! Deliberately broken protocols: the simulation must find each of them.

/// One broken rule. It changes the responses of the simulated store or the behaviour of the simulated
/// consumer, never the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutant {
    /// Commits the offsets that lanes were given, not those that are durable.
    CommitBeforeDurable,
    /// Treats a name that another writer took as success.
    IgnoreTheFence,
    /// Releases offsets as soon as the upload starts.
    ReleaseBeforeTheFile,
    /// Does not reopen a lane that lost a race.
    ForgetToReopen,
    /// Halts a lane whose offset is gone from the log, though another writer may have written it.
    HaltWhereTrimmed,
    /// Writes the audit file after the notes file that names it.
    AuditAfterNotes,
}

impl Mutant {
    pub(super) const ALL: [Self; 6] = [
        Self::CommitBeforeDurable,
        Self::IgnoreTheFence,
        Self::ReleaseBeforeTheFile,
        Self::ForgetToReopen,
        Self::HaltWhereTrimmed,
        Self::AuditAfterNotes,
    ];
}
