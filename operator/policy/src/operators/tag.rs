//! `tag`: the label in brackets, numbered if the policy says so.

use lethe_core::{ReplaceError, Replacement};

use super::{Operator, bare, pseudonym, tagged};
use crate::file::{Codes, Numbered, Scope};
use crate::note::{Item, Note};

#[derive(Debug)]
pub(super) struct Tag {
    pub(super) numbered: Option<Numbered>,
    pub(super) has_vault: bool,
}

impl Tag {
    const fn codes(&self) -> Codes {
        if self.has_vault { Codes::Vault } else { Codes::Hmac }
    }
}

impl Operator for Tag {
    fn wants_code(&self) -> bool {
        self.numbered == Some(Numbered::Patient) && self.has_vault
    }

    fn write<'a>(&self, item: &Item<'a>, note: &mut Note<'a>) -> Result<Replacement, ReplaceError> {
        let name = item.label.name.as_str();
        match self.numbered {
            None => Ok(tagged(item)),
            Some(Numbered::Note) => {
                let number = note.number(name, item.value);
                Ok(bare("tag", format!("[{name}-{number}]")))
            }
            Some(Numbered::Patient) => Ok(Replacement {
                action: "tag",
                ..pseudonym::code(self.codes(), Scope::Patient, item, note)?
            }),
        }
    }
}
