//! The first pass over the rows: splits them into units of consecutive keys, and digests each unit.

use std::sync::Arc;
use std::time::SystemTime;

use lethe_core::hex;
use sha2::{Digest as _, Sha256};

use super::error::Failure;
use super::prepare::Prepared;
use super::server::{Server, within};
use super::{Keys, NAME};
use crate::store::Object;
use crate::tables::{TableError, Unit};

/// Rows that are fetched at once: some dozen bytes of each.
pub(super) const FETCHED: i32 = 10_000;

const DOING: &str = "reading the keys and digests of all rows";

/// Reads the keys and digests of all rows.
pub(super) async fn pass(server: &Server, prepared: &Prepared) -> Result<Vec<Unit>, Failure> {
    let mut client = server.client().await?;
    let transaction = server.begin(&mut client).await?;
    let failed = Failure::server(DOING);
    let limit = server.limit();
    let statement = within(DOING, limit, transaction.prepare(&prepared.pass())).await?;
    let portal = within(DOING, limit, transaction.bind(&statement, &[])).await?;
    let mut cut = Cut::new(server.unit_bytes);
    loop {
        let rows = within(DOING, limit, transaction.query_portal(&portal, FETCHED)).await?;
        let count = rows.len();
        for row in rows {
            let key: Option<String> = row.try_get(0).map_err(&failed)?;
            let refuse = |problem: &str| TableError::Setting {
                key: "database.key".to_owned(),
                problem: format!("column `{}` {problem}", server.config.key),
            };
            let Some(key) = key else {
                return Err(refuse("is null in a row; leave such rows out, or name another column").into());
            };
            if row.try_get(1).map_err(&failed)? {
                return Err(refuse("has the same value in two rows; name a column of unique values").into());
            }
            let bytes: i32 = row.try_get(2).map_err(&failed)?;
            cut.add(key, bytes.unsigned_abs().into(), row.try_get(3).map_err(&failed)?);
        }
        if count < FETCHED as usize {
            return Ok(cut.units(&prepared.describe()));
        }
    }
}

/// A unit under construction.
struct Open {
    after: Option<String>,
    rows: usize,
    bytes: u64,
    digest: Sha256,
}

impl Open {
    fn after(after: Option<String>) -> Self {
        Self {
            after,
            rows: 0,
            bytes: 0,
            digest: Sha256::new(),
        }
    }
}

/// Splits rows into units.
struct Cut {
    unit_bytes: u64,
    last: Option<String>,
    open: Open,
    /// Complete units: their keys, rows and bytes.
    done: Vec<(Keys, usize, u64)>,
}

impl Cut {
    fn new(unit_bytes: u64) -> Self {
        Self {
            unit_bytes,
            last: None,
            open: Open::after(None),
            done: Vec::new(),
        }
    }

    fn add(&mut self, key: String, bytes: u64, digest: &[u8]) {
        if self.open.bytes >= self.unit_bytes {
            self.close(self.last.clone());
        }
        self.open.rows += 1;
        self.open.bytes += bytes;
        self.open.digest.update(digest);
        self.last = Some(key);
    }

    fn close(&mut self, up_to: Option<String>) {
        let open = std::mem::replace(&mut self.open, Open::after(up_to.clone()));
        let keys = Keys {
            after: open.after,
            up_to,
            digest: open.digest.finalize().into(),
        };
        self.done.push((keys, open.rows, open.bytes));
    }

    /// Returns the units. The version of their object follows from all rows and from `columns`. A result
    /// without rows is one unit.
    fn units(mut self, columns: &str) -> Vec<Unit> {
        self.close(None);
        let mut version = Sha256::new();
        version.update(Sha256::digest(columns));
        for (keys, rows, _) in &self.done {
            version.update((*rows as u64).to_be_bytes());
            version.update(keys.digest);
        }
        let object = Object {
            name: NAME.to_owned(),
            size: self.done.iter().map(|(_, _, bytes)| bytes).sum(),
            modified: SystemTime::UNIX_EPOCH,
            version: hex(&version.finalize()),
        };
        let mut first = 0;
        let unit = |(keys, rows, bytes)| {
            let unit = Unit {
                object: object.clone(),
                shown: NAME.into(),
                groups: Some(first..first + rows),
                keys: Some(Arc::new(keys)),
                bytes,
            };
            first += rows;
            unit
        };
        self.done.into_iter().map(unit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(rows: &[(&str, u64, u8)]) -> Vec<Unit> {
        let mut cut = Cut::new(10);
        for (key, bytes, digest) in rows {
            cut.add((*key).to_owned(), *bytes, &[*digest; 32]);
        }
        cut.units("columns")
    }

    #[test]
    fn units_cover_all_keys_without_a_gap() {
        let found = units(&[("a", 6, 1), ("b", 6, 2), ("c", 20, 3), ("d", 1, 4)]);
        let keys: Vec<&Keys> = found.iter().filter_map(|unit| unit.keys.as_deref()).collect();
        let bounds: Vec<_> = keys
            .iter()
            .map(|keys| (keys.after.as_deref(), keys.up_to.as_deref()))
            .collect();
        assert_eq!(
            bounds,
            [(None, Some("b")), (Some("b"), Some("c")), (Some("c"), None)]
        );
        let groups: Vec<_> = found.iter().map(|unit| unit.groups.clone().unwrap()).collect();
        assert_eq!(groups, [0..2, 2..3, 3..4]);
        assert_eq!(units(&[]).len(), 1, "a result without rows");
        assert_eq!(format!("{:?}", keys[1]), "Keys", "keys are not printed");
    }

    #[test]
    fn a_changed_row_changes_the_version_of_all_units() {
        let version = |rows: &[(&str, u64, u8)]| units(rows)[0].object.version.clone();
        let before = version(&[("a", 20, 1), ("b", 1, 2)]);
        assert_eq!(before, version(&[("a", 20, 1), ("b", 1, 2)]));
        assert_ne!(before, version(&[("a", 20, 1), ("b", 1, 3)]));
        assert_ne!(before, version(&[("a", 20, 1)]));
        assert_ne!(before, version(&[("a", 20, 1), ("b", 1, 2), ("c", 1, 5)]));
    }
}
