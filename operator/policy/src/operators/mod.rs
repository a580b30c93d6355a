//! What can be done to a span, one operator a file. [`operator`] is the list.

mod encrypt;
mod encrypt_id;
mod generalise;
mod keep;
mod mask;
mod pseudonym;
mod remove;
mod shift;
mod surrogate;
mod tag;

use std::fmt;
use std::sync::Arc;

use lethe_core::{ReplaceError, Replacement};
use lethe_secrets::{IdCipher, ShiftRule};
use lethe_surrogates::dates::{Hint, Order, Written};
use lethe_surrogates::zip::ZipTable;
use lethe_surrogates::{Language, Surrogates};

use crate::authority::Authorities;
use crate::file::{Operation, Scope};
use crate::note::{Item, Note};

/// What operators are made with.
pub(crate) struct Parts {
    pub(crate) order: Option<Order>,
    pub(crate) language: Language,
    pub(crate) shift: ShiftRule,
    /// Another than the one that ships.
    pub(crate) zips: Option<Arc<ZipTable>>,
    /// Built if the policy asks for some.
    pub(crate) surrogates: Option<Arc<Surrogates>>,
    /// Made if the policy asks for it.
    pub(crate) cipher: Option<Arc<IdCipher>>,
    pub(crate) authorities: Arc<Authorities>,
    pub(crate) has_vault: bool,
    /// Whether ages over 89 may not show in years either.
    pub(crate) hides_great_age: bool,
}

impl Parts {
    const fn dates(&self) -> Dates {
        Dates {
            order: self.order,
            language: self.language,
        }
    }
}

/// How dates are read.
#[derive(Clone, Copy, Debug)]
struct Dates {
    order: Option<Order>,
    language: Language,
}

impl Dates {
    fn read<'t>(self, text: &'t str, note: &Note<'_>) -> Option<Written<'t>> {
        let hint = Hint {
            order: self.order,
            language: Some(self.language),
            year: note.year,
        };
        Written::parse(text, &hint)
    }
}

/// Says what is written in a span's place.
pub(crate) trait Operator: Send + Sync + fmt::Debug {
    /// Returns whether it needs a code of the vault for its spans. The vault is queried once per note.
    fn wants_code(&self) -> bool {
        false
    }

    /// Among which notes the same value is replaced alike.
    fn scope(&self) -> Scope {
        Scope::Patient
    }

    /// What is written.
    ///
    /// # Errors
    /// [`ReplaceError`]. What it does not understand it replaces by a tag, never by part of it.
    fn write<'a>(&self, item: &Item<'a>, note: &mut Note<'a>) -> Result<Replacement, ReplaceError>;
}

/// Returns the operator of this name.
pub(crate) fn operator(operation: &Operation, parts: &Parts) -> Box<dyn Operator> {
    match operation {
        Operation::Tag { numbered } => Box::new(tag::Tag {
            numbered: *numbered,
            has_vault: parts.has_vault,
        }),
        Operation::Mask {} => Box::new(mask::Mask),
        Operation::Remove {} => Box::new(remove::Remove),
        Operation::Generalise {} => Box::new(generalise::Generalise {
            dates: parts.dates(),
            zips: parts.zips.clone(),
            hides_great_age: parts.hides_great_age,
        }),
        Operation::Shift {} => Box::new(shift::Shift {
            dates: parts.dates(),
            rule: parts.shift,
        }),
        Operation::Pseudonym { codes, scope } => Box::new(pseudonym::Pseudonym {
            codes: *codes,
            scope: *scope,
        }),
        Operation::Encrypt {} => Box::new(encrypt::Encrypt),
        Operation::EncryptId {} => Box::new(encrypt_id::EncryptId {
            cipher: parts.cipher.clone(),
            authorities: Arc::clone(&parts.authorities),
        }),
        Operation::Surrogate { scope } => Box::new(surrogate::Surrogate {
            scope: *scope,
            surrogates: parts.surrogates.clone(),
            dates: parts.dates(),
            rule: parts.shift,
        }),
        Operation::Keep {} => Box::new(keep::Keep),
    }
}

/// Returns a replacement that depends on no key.
fn bare(action: &'static str, text: String) -> Replacement {
    Replacement {
        text,
        action,
        key: None,
        scope: None,
    }
}

/// Returns the label in brackets: what is written where an operator does not understand a span.
fn tagged(item: &Item<'_>) -> Replacement {
    bare("tag", format!("[{}]", item.label.name))
}
