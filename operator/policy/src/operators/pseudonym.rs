//! `pseudonym`: a code in brackets, the same for the same value of the same patient. Keyed (HMAC), or random and kept in
//! the vault: only the latter is not derived from the person (45 CFR 164.514(c)(1)).

use std::sync::Arc;

use lethe_core::{ReplaceError, Replacement};

use super::Operator;
use crate::file::Codes;
use crate::note::{Item, Note, plain};

#[derive(Debug)]
pub(super) struct Pseudonym {
    pub(super) codes: Codes,
}

impl Operator for Pseudonym {
    fn wants_code(&self) -> bool {
        self.codes == Codes::Vault
    }

    fn write<'a>(&self, item: &Item<'a>, note: &mut Note<'a>) -> Result<Replacement, ReplaceError> {
        code(self.codes, item, note)
    }
}

/// `[LABEL-code]`.
pub(super) fn code(codes: Codes, item: &Item<'_>, note: &Note<'_>) -> Result<Replacement, ReplaceError> {
    let name = item.label.name.as_str();
    let (code, key) = match codes {
        Codes::Hmac => (
            note.pseudonyms()?.code(name, &plain(item.text)),
            Some(Arc::from(note.keyring()?.current().id())),
        ),
        Codes::Vault => {
            let code = note.code(item).ok_or(ReplaceError::Failed)?;
            (code.to_string(), None)
        }
    };
    Ok(Replacement {
        text: format!("[{name}-{code}]"),
        action: "pseudonym",
        key,
    })
}
