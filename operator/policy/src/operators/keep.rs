//! `keep`: leaves the span unchanged, and audits it.

use lethe_core::{ReplaceError, Replacement};

use super::{Operator, bare};
use crate::note::{Item, Note};

#[derive(Debug)]
pub(super) struct Keep;

impl Operator for Keep {
    fn write<'a>(&self, item: &Item<'a>, _: &mut Note<'a>) -> Result<Replacement, ReplaceError> {
        Ok(bare("keep", item.text.to_owned()))
    }
}
