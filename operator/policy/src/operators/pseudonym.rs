//! `pseudonym`: a code in brackets, the same for equal values of one patient. The code is keyed (HMAC), or
//! random and stored in the vault: only the latter is not derived from the person (45 CFR 164.514(c)(1)).

use std::sync::Arc;

use lethe_core::{ReplaceError, Replacement};

use super::Operator;
use crate::file::{Codes, Scope};
use crate::note::{Item, Note, plain};

#[derive(Debug)]
pub(super) struct Pseudonym {
    pub(super) codes: Codes,
    pub(super) scope: Scope,
}

impl Operator for Pseudonym {
    fn wants_code(&self) -> bool {
        self.codes == Codes::Vault
    }

    fn scope(&self) -> Scope {
        self.scope
    }

    fn write<'a>(&self, item: &Item<'a>, note: &mut Note<'a>) -> Result<Replacement, ReplaceError> {
        code(self.codes, self.scope, item, note)
    }
}

/// Writes `[LABEL-code]`.
pub(super) fn code<'a>(
    codes: Codes,
    scope: Scope,
    item: &Item<'a>,
    note: &Note<'a>,
) -> Result<Replacement, ReplaceError> {
    let name = item.label.name.as_str();
    let (code, key) = match codes {
        Codes::Hmac => (
            note.pseudonyms(scope)?.code(name, &plain(note.value(item.value))),
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
        scope: Note::named(scope),
    })
}
