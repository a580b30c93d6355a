//! The operators, one per file. [`operator`] is the registry.

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

/// The shared parts from which operators are built.
pub(crate) struct Parts {
    pub(crate) order: Option<Order>,
    pub(crate) language: Language,
    pub(crate) shift: ShiftRule,
    /// A table that replaces the built-in one.
    pub(crate) zips: Option<Arc<ZipTable>>,
    /// Built only if the policy uses surrogates.
    pub(crate) surrogates: Option<Arc<Surrogates>>,
    /// Built only if the policy encrypts ids.
    pub(crate) cipher: Option<Arc<IdCipher>>,
    pub(crate) authorities: Arc<Authorities>,
    pub(crate) has_vault: bool,
    /// Whether years must not reveal ages over 89 either.
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

/// The settings for reading dates.
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

/// Writes the replacement of a span.
pub(crate) trait Operator: Send + Sync + fmt::Debug {
    /// Returns whether it needs a code of the vault for its spans. The vault is queried once per note.
    fn wants_code(&self) -> bool {
        false
    }

    /// Returns the notes among which equal values get equal replacements.
    fn scope(&self) -> Scope {
        Scope::Patient
    }

    /// Returns the replacement.
    ///
    /// # Errors
    /// [`ReplaceError`]. A span that cannot be parsed is replaced by a tag as a whole, never in part.
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

/// Returns the label in brackets: the replacement of a span that an operator cannot parse.
fn tagged(item: &Item<'_>) -> Replacement {
    bare("tag", format!("[{}]", item.label.name))
}
