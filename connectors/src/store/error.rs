//! What can go wrong at a store, said so that whoever reads it at night knows what to do.

use std::fmt;

/// What was asked of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Making the store usable.
    Open,
    /// Writing an object under a name that is free.
    Create,
    /// Reading an object or a part of it.
    Read,
    /// Listing names.
    List,
    /// Removing an object.
    Delete,
    /// Writing other bytes under the name of an object.
    Replace,
}

impl Op {
    /// Every operation.
    pub const ALL: [Self; 6] = [
        Self::Open,
        Self::Create,
        Self::Read,
        Self::List,
        Self::Delete,
        Self::Replace,
    ];

    /// Its name in messages and fault scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Create => "create",
            Self::Read => "read",
            Self::List => "list",
            Self::Delete => "delete",
            Self::Replace => "replace",
        }
    }

    /// The operation of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.name() == name)
    }
}

/// The operation, the store and the object that an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// What was asked.
    pub op: Op,
    /// The store as it describes itself.
    pub store: String,
    /// The object's name, empty for the store itself.
    pub name: String,
}

impl At {
    /// Puts the three together.
    pub fn new(op: Op, store: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            op,
            store: store.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            write!(f, "{}: {}", self.store, self.op.name())
        } else {
            write!(f, "{}: {} {}", self.store, self.op.name(), self.name)
        }
    }
}

/// Why a store did not do what was asked.
///
/// After any error of a create but [`StoreError::Exists`], the object may be there all the same: the answer can be
/// lost on its way. Whoever creates must be able to recognise its own object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The name is taken. Nothing was written.
    #[error("{0}: the name is taken")]
    Exists(At),
    /// No object has this name.
    #[error("{0}: there is no such object")]
    NotFound(At),
    /// The object is of another version than the one that was to be replaced, or not there. Nothing was written.
    #[error("{0}: the object was changed or removed in the meantime")]
    Changed(At),
    /// The store refuses, and will again until somebody changes it.
    #[error("{at}: refused ({detail}); {hint}")]
    Denied {
        /// What, where.
        at: At,
        /// The store's own words, without secrets.
        detail: String,
        /// What to do.
        hint: String,
    },
    /// There is no room left.
    #[error("{at}: no room is left ({detail}); free some, or give the output another place")]
    Full {
        /// What, where.
        at: At,
        /// The store's own words.
        detail: String,
    },
    /// The store did not answer, or answered that it cannot now. Trying again may help.
    #[error("{at}: the store cannot do it now ({detail}); trying again may help")]
    Transient {
        /// What, where.
        at: At,
        /// The store's own words, without secrets.
        detail: String,
    },
    /// Anything else that trying again does not cure, such as a missing bucket or a file where a folder should be.
    #[error("{at}: {detail}; {hint}")]
    Other {
        /// What, where.
        at: At,
        /// What is wrong.
        detail: String,
        /// What to do.
        hint: String,
    },
}

impl StoreError {
    /// Whether the same request may succeed later without anybody's help.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. })
    }

    /// The same error about an object that is called `name` instead. Words that may quote its own name or address are left out.
    #[must_use]
    pub fn renamed(mut self, name: &str) -> Self {
        if let Self::Denied { detail, .. }
        | Self::Full { detail, .. }
        | Self::Transient { detail, .. }
        | Self::Other { detail, .. } = &mut self
            && detail.contains('/')
        {
            "the store's client failed".clone_into(detail);
        }
        match &mut self {
            Self::Exists(at)
            | Self::NotFound(at)
            | Self::Changed(at)
            | Self::Denied { at, .. }
            | Self::Full { at, .. }
            | Self::Transient { at, .. }
            | Self::Other { at, .. } => name.clone_into(&mut at.name),
        }
        self
    }

    /// What was asked, of whom.
    pub const fn at(&self) -> &At {
        match self {
            Self::Exists(at)
            | Self::NotFound(at)
            | Self::Changed(at)
            | Self::Denied { at, .. }
            | Self::Full { at, .. }
            | Self::Transient { at, .. }
            | Self::Other { at, .. } => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_operation_store_and_object() {
        let error = StoreError::Full {
            at: At::new(Op::Create, "folder /data", "notes/a.parquet"),
            detail: "os error 28".into(),
        };
        let printed = error.to_string();
        for part in [
            "folder /data",
            "create notes/a.parquet",
            "os error 28",
            "free some",
        ] {
            assert!(printed.contains(part), "{printed}");
        }
        assert!(!error.is_transient());
        assert_eq!(error.at().op, Op::Create);
    }

    #[test]
    fn every_operation_is_found_by_its_name() {
        for op in Op::ALL {
            assert_eq!(Op::from_name(op.name()), Some(op));
        }
        assert_eq!(Op::from_name("rename"), None);
    }
}
