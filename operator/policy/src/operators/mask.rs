//! `mask`: stars. Lengths and line breaks remain visible.

use lethe_core::{ReplaceError, Replacement};

use super::{Operator, bare};
use crate::note::{Item, Note};

#[derive(Debug)]
pub(super) struct Mask;

impl Operator for Mask {
    fn write<'a>(&self, item: &Item<'a>, _: &mut Note<'a>) -> Result<Replacement, ReplaceError> {
        let star = |c: char| if c.is_whitespace() { c } else { '*' };
        Ok(bare("mask", item.text.chars().map(star).collect()))
    }
}
