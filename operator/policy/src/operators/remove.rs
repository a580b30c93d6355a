//! `remove`: deletes the span. Only the audit shows that it existed.

use lethe_core::{ReplaceError, Replacement};

use super::{Operator, bare};
use crate::note::{Item, Note};

#[derive(Debug)]
pub(super) struct Remove;

impl Operator for Remove {
    fn write<'a>(&self, _: &Item<'a>, _: &mut Note<'a>) -> Result<Replacement, ReplaceError> {
        Ok(bare("remove", String::new()))
    }
}
