//! `encrypt-id`: an id and its authority, encrypted into a code of fixed length (FF1), the same in every
//! patient's notes and in every format. A value that is not an id of 1 to 12 letters and digits, or belongs
//! to an undeclared authority, becomes a tag.

use std::sync::Arc;

use lethe_core::{ReplaceError, Replacement};
use lethe_secrets::IdCipher;
use lethe_surrogates::Kind;

use super::{Operator, tagged};
use crate::authority::Authorities;
use crate::note::{Item, Note};

#[derive(Debug)]
pub(super) struct EncryptId {
    pub(super) cipher: Option<Arc<IdCipher>>,
    pub(super) authorities: Arc<Authorities>,
}

impl Operator for EncryptId {
    fn write<'a>(&self, item: &Item<'a>, note: &mut Note<'a>) -> Result<Replacement, ReplaceError> {
        let cipher = self.cipher.as_deref().ok_or(ReplaceError::Failed)?;
        let name = item.label.name.as_str();
        let kind =
            Kind::of_label(name).or_else(|| item.role.names.iter().find_map(|name| Kind::of_label(name)));
        let raw = item.authority.or_else(|| note.authority_of(item.text));
        // Only the patient's own id can belong to the patient-id column.
        let column = if note
            .subject
            .patient_id
            .is_some_and(|id| note.is_same(id, item.text))
        {
            "patient_id"
        } else {
            ""
        };
        let number = kind.and_then(|kind| self.authorities.resolve(raw, column).number(kind));
        let Some(code) = number.and_then(|number| cipher.encrypt(number, item.text)) else {
            return Ok(tagged(item));
        };
        Ok(Replacement {
            text: format!("[{name}-{code}]"),
            action: "encrypt-id",
            key: Some(Arc::from(note.keyring()?.current().id())),
            scope: Some("authority"),
        })
    }
}
