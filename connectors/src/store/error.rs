//! Errors of stores, with messages that tell an operator what to do.

use std::fmt;

/// An operation of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Preparing the store for use.
    Open,
    /// Writing an object under a free name.
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
    /// All operations.
    pub const ALL: [Self; 6] = [
        Self::Open,
        Self::Create,
        Self::Read,
        Self::List,
        Self::Delete,
        Self::Replace,
    ];

    /// Returns its name in messages and fault scripts.
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

    /// Returns the operation with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.name() == name)
    }
}

/// The operation, store and object of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The operation.
    pub op: Op,
    /// The store's description.
    pub store: String,
    /// The object's name; empty for the store itself.
    pub name: String,
}

impl At {
    /// Combines the three.
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

/// Why an operation of the store failed.
///
/// After any error of a create except [`StoreError::Exists`], the object may exist all the same, since the
/// response can be lost. The caller of a create must be able to recognise its own object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The name is taken. Nothing was written.
    #[error("{0}: the name is taken")]
    Exists(At),
    /// No object has this name.
    #[error("{0}: no such object")]
    NotFound(At),
    /// The object has another version than the one to replace, or does not exist. Nothing was written.
    #[error("{0}: the object was changed or removed in the meantime")]
    Changed(At),
    /// The store refuses permanently, until somebody changes it.
    #[error("{at}: refused ({detail}); {hint}")]
    Denied {
        /// Operation, store and object.
        at: At,
        /// The store's message, without secrets.
        detail: String,
        /// What to do.
        hint: String,
    },
    /// The store is full.
    #[error("{at}: no space left ({detail}); free some, or move the output")]
    Full {
        /// Operation, store and object.
        at: At,
        /// The store's message.
        detail: String,
    },
    /// The store did not respond, or is temporarily unable to. A retry may help.
    #[error("{at}: temporary failure ({detail}); a retry may help")]
    Transient {
        /// Operation, store and object.
        at: At,
        /// The store's message, without secrets.
        detail: String,
    },
    /// Any other error that a retry does not fix, such as a missing bucket or a file in place of a folder.
    #[error("{at}: {detail}; {hint}")]
    Other {
        /// Operation, store and object.
        at: At,
        /// The problem.
        detail: String,
        /// What to do.
        hint: String,
    },
}

impl StoreError {
    /// Returns whether the same request may succeed later without intervention.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. })
    }

    /// Returns the error with the object's name replaced by `name`. Drops messages that may quote its own
    /// name or address.
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

    /// Returns operation, store and object.
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
