//! Language data and text functions: folding and case, the plain form of disguised text, the words of
//! calendars and numbers, and the check digits of published identifier schemes.
//!
//! Taggers find identifiers with them, surrogates write new ones, and the synthesiser invents them, so that
//! all three agree on months, numbers and valid identifiers. [`lang`] has one file per language.
//!
//! Everything here is pure and holds no text of notes.

pub mod calendar;
mod case;
pub mod check;
mod fold;
pub mod lang;
pub mod numbers;
mod plain_form;
pub mod postcode;

pub use case::Case;
pub use fold::{fold, fold_char, fold_into};
pub use lang::Language;
pub use plain_form::PlainForm;
