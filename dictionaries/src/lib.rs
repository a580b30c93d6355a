//! Lists of names, places, institutions, medical eponyms and ordinary words, compiled to one automaton and matched against
//! notes on token boundaries.
//!
//! [`List::read`] reads a list's folder, [`compile()`] turns lists into the bytes of a [`Dictionary`], a [`Matcher`] finds its
//! entries in notes. [`Dictionary::builtin`] holds the lists under `lists/`, compiled by the build script.
//!
//! Invariants: every match begins and ends on a token boundary; folding never moves an offset; the same lists compile to the
//! same bytes; nothing here prints note text.

mod builtin;
mod compile;
mod dictionary;
mod entry;

mod format;
mod joint;
mod key;
mod lazy;
mod list;
mod matcher;
mod near;
mod ordinary;
mod read;
mod source;
mod text;

pub use builtin::{FURTHER as FURTHER_LISTS, LISTS as BUILTIN_LISTS};
pub use compile::{CompileError, MAX_LISTS, compile};
pub use dictionary::{Dictionary, UnknownList};
pub use entry::{Entry, EntryId};
pub use lazy::LazyDictionary;
pub use list::{ListId, ListInfo, ListSet};
pub use matcher::{Match, Matcher, SlotKey};
pub use ordinary::exemption;
pub use read::LoadError;
pub use source::{List, MatchMode, Role, Source, SourceError};
pub use text::{builtin_lists, exceptions, items, lists_of};
