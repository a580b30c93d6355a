//! `encrypt`: the value encrypted under the key (AES-256-GCM); `lethe reveal` decrypts it.

use std::sync::Arc;

use lethe_core::{ReplaceError, Replacement};

use super::Operator;
use crate::note::{Item, Note};

#[derive(Debug)]
pub(super) struct Encrypt;

impl Operator for Encrypt {
    fn write<'a>(&self, item: &Item<'a>, note: &mut Note<'a>) -> Result<Replacement, ReplaceError> {
        let sealed = note.sealer()?.seal(&item.label.name, item.text);
        Ok(Replacement {
            text: sealed.map_err(|_| ReplaceError::Failed)?,
            action: "encrypt",
            key: Some(Arc::from(note.keyring()?.current().id())),
            scope: None,
        })
    }
}
