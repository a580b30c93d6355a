//! A store in memory, for tests and experiments.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;

use super::{At, End, Object, Op, Store, StoreError, is_listed, version_of};

/// Objects in memory, dropped with the value.
#[derive(Debug, Default)]
pub struct Memory {
    objects: Mutex<BTreeMap<String, (Bytes, SystemTime)>>,
}

impl Memory {
    fn objects(&self) -> MutexGuard<'_, BTreeMap<String, (Bytes, SystemTime)>> {
        // A panic elsewhere cannot leave the map inconsistent: each change is one call.
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, name: &str) -> Result<Bytes, StoreError> {
        let found = self.objects().get(name).map(|(bytes, _)| bytes.clone());
        found.ok_or_else(|| StoreError::NotFound(At::new(Op::Read, self.describe(), name)))
    }
}

fn object(name: &str, bytes: &Bytes, modified: SystemTime) -> Object {
    let size = bytes.len() as u64;
    Object {
        name: name.to_owned(),
        size,
        modified,
        version: version_of(size, modified),
    }
}

#[async_trait]
impl Store for Memory {
    async fn create(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let mut objects = self.objects();
        if objects.contains_key(name) {
            return Err(StoreError::Exists(At::new(Op::Create, self.describe(), name)));
        }
        objects.insert(name.to_owned(), (bytes, SystemTime::now()));
        Ok(())
    }

    async fn list_after(&self, folder: &str, after: Option<&str>) -> Result<Vec<Object>, StoreError> {
        let below = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        let objects = self.objects();
        let listed = objects
            .iter()
            .filter(|(name, _)| name.starts_with(&below) && is_listed(name))
            .filter(|(name, _)| after.is_none_or(|after| name.as_str() > after));
        Ok(listed
            .map(|(name, (bytes, modified))| object(name, bytes, *modified))
            .collect())
    }

    async fn read_range(&self, name: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        let bytes = self.get(name)?;
        let end = range.end.min(bytes.len() as u64);
        Ok(bytes.slice(range.start.min(end) as usize..end as usize))
    }

    async fn read_tail(&self, name: &str, len: u64) -> Result<End, StoreError> {
        let bytes = self.get(name)?;
        let size = bytes.len() as u64;
        Ok(End {
            bytes: bytes.slice(size.saturating_sub(len) as usize..),
            size,
        })
    }

    async fn look(&self, name: &str) -> Result<Object, StoreError> {
        let found = self
            .objects()
            .get(name)
            .map(|(bytes, modified)| object(name, bytes, *modified));
        found.ok_or_else(|| StoreError::NotFound(At::new(Op::Read, self.describe(), name)))
    }

    async fn replace(&self, name: &str, bytes: Bytes, version: &str) -> Result<(), StoreError> {
        let mut objects = self.objects();
        match objects.get_mut(name) {
            Some(there) if object(name, &there.0, there.1).version == version => {
                *there = (bytes, SystemTime::now());
                Ok(())
            }
            _ => Err(StoreError::Changed(At::new(Op::Replace, self.describe(), name))),
        }
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.objects().remove(name);
        Ok(())
    }

    fn describe(&self) -> String {
        "memory".to_owned()
    }
}
