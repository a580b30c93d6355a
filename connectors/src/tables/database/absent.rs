//! Stands in for the client of PostgreSQL in builds without it, and refuses every database.

use std::collections::BTreeSet;

use tokio::runtime::Handle;

use super::{DatabaseConfig, Sample};
use crate::tables::{Shape, Slabs, TableError, TablesConfig, Unit};

/// A database, of which this build has none.
pub(in crate::tables) enum Database {}

impl Database {
    pub(in crate::tables) fn open(
        _: &TablesConfig,
        _: &DatabaseConfig,
        _: Handle,
    ) -> Result<Self, TableError> {
        Err(refusal())
    }

    pub(in crate::tables) fn check(&self) -> Result<BTreeSet<String>, TableError> {
        match *self {}
    }

    pub(in crate::tables) fn units(&self) -> Result<Vec<Unit>, TableError> {
        match *self {}
    }

    pub(in crate::tables) fn read(&self, _: &Unit, _: u64) -> Result<(Shape, Slabs), TableError> {
        match *self {}
    }
}

pub(super) fn sample(_: &DatabaseConfig, _: usize, _: &Handle) -> Result<Sample, TableError> {
    Err(refusal())
}

fn refusal() -> TableError {
    TableError::Setting {
        key: "database".to_owned(),
        problem:
            "this build of Lethe cannot use PostgreSQL; use one that was built with the feature `postgres`"
                .to_owned(),
    }
}
