//! Protocols that are broken on purpose: the simulation must find each of them.

/// One broken rule. It changes what the simulated store answers or what the simulated consumer does, never the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutant {
    /// Commits what lanes were given, not what is durable.
    CommitBeforeDurable,
    /// Takes a name that another writer took for success.
    IgnoreTheFence,
    /// Releases offsets as soon as the file is on its way.
    ReleaseBeforeTheFile,
    /// Leaves a lane that lost a race where it is.
    ForgetToReopen,
    /// Halts a lane whose place is gone from the log, though another writer may have written it.
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
