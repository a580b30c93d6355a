//! Parses a dictionary file and checks all references within it.

use fst::raw::Fst;
use lethe_core::Caches;

use super::{Dictionary, Forms, Numbers, Record, Starts};
use crate::list::{ListId, ListInfo, ListSet};
use crate::near::NearIndex;
use crate::read::{LoadError, Reader};
use crate::source::{MatchMode, Role};

impl Dictionary {
    /// Parses the bytes; `verify` also checks the digest.
    pub(super) fn parse(mut bytes: Vec<u8>, verify: bool) -> Result<Self, LoadError> {
        let (mut from, digest) = Reader::open(&bytes, verify)?;
        let mut place = 0;
        let lists = from.many(|from| {
            place += 1;
            header(from, place - 1)
        })?;
        let mut sets = from.many(|from| Ok((ListSet(from.u128()?), ListSet(from.u128()?))))?;
        let numbers = Numbers::read(&mut from)?;
        let exacts = from.many(|from| from.many(|from| Ok((ListSet(from.u128()?), from.str()?))))?;
        let mut records = from.many(|from| {
            let record = Record {
                set: from.u32()?,
                numbers: from.u32()?,
                exacts: from.u32()?,
            };
            let sound = (record.set as usize) < sets.len()
                && (record.numbers as usize) < numbers.len()
                && (record.exacts as usize) < exacts.len();
            sound
                .then_some(record)
                .ok_or(LoadError::Damaged("a record has an invalid reference"))
        })?;
        let near_words = from.many(Reader::str)?;
        let near_prefixes = from.many(Reader::str)?;
        let automaton = from.bytes()?.len();
        let small = u32::try_from(automaton).is_ok();
        // It is nearly all of the bytes: moved to their front, it needs no memory of its own.
        let end = bytes.len() - from.left();
        bytes.truncate(end);
        bytes.drain(..end - automaton);
        let automaton = Fst::new(bytes).ok().filter(|_| small);
        let automaton = automaton.ok_or(LoadError::Damaged("the automaton is invalid"))?;
        let those = |mode: MatchMode| {
            lists
                .iter()
                .filter(|l| l.match_mode == mode)
                .map(|l| l.list)
                .collect()
        };
        let mut made = Self {
            forms: Forms::resolve(&mut records, &exacts, &mut sets, those(MatchMode::Exact)),
            distance1: those(MatchMode::Distance1),
            numbered: lists
                .iter()
                .filter(|l| !l.number.is_empty())
                .map(|l| l.list)
                .collect(),
            lists,
            sets,
            numbers,
            records,
            automaton,
            starts: Starts::default(),
            near: NearIndex::new(near_words),
            near_nodes: vec![],
            digest,
            caches: Caches::default(),
        };
        made.starts = Starts::new(made.root(), |at, byte| made.step(at, byte), |at| made.classes(at));
        let after = |prefix: &String| {
            prefix
                .bytes()
                .try_fold(made.root(), |at, byte| made.step(at, byte))
        };
        let mut nodes: Vec<u32> = near_prefixes.iter().filter_map(after).map(|at| at.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        made.near_nodes = nodes;
        Ok(made)
    }
}

fn header(from: &mut Reader<'_>, place: u8) -> Result<ListInfo, LoadError> {
    let mut text = || from.str();
    Ok(ListInfo {
        list: ListId(place),
        id: text()?,
        title: text()?,
        origin: text()?,
        licence: text()?,
        attribution: text()?,
        date: text()?,
        language: text()?,
        label: text()?,
        number: text()?,
        match_mode: match from.u8()? {
            0 => MatchMode::Exact,
            1 => MatchMode::Folded,
            2 => MatchMode::Distance1,
            _ => return Err(LoadError::Damaged("an unknown match mode")),
        },
        role: match from.u8()? {
            0 => Role::Phi,
            1 => Role::Cue,
            2 => Role::Exception,
            _ => return Err(LoadError::Damaged("an unknown role")),
        },
        entries: from.u32()? as usize,
    })
}
