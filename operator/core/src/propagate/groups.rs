//! The groups of digits to propagate, which are also found within longer ones.

use std::collections::{BTreeSet, HashMap};

/// Bytes of a group of digits: two numbers and a reference, in a table that grows by doubling.
const GROUP_BYTES: usize = 96;

/// The number of leading digits by which longer groups are looked up.
const LOOKED_UP: usize = 32;

/// Groups of digits by their text, longer ones by their beginning, each with the decision that it comes from
/// first.
#[derive(Default)]
pub(super) struct Groups<'a> {
    short: HashMap<&'a str, usize>,
    /// The lengths of the groups.
    lengths: BTreeSet<usize>,
    long: HashMap<&'a str, Vec<(&'a str, usize)>>,
    /// The number of longer ones.
    longer: usize,
}

impl<'a> Groups<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.short.is_empty() && self.long.is_empty()
    }

    /// Returns their memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        (self.short.len() + self.longer) * GROUP_BYTES
    }

    pub(super) fn add(&mut self, group: &'a str, origin: usize) {
        // Digits of other scripts take more than one byte.
        match group.get(..LOOKED_UP).filter(|_| group.len() > LOOKED_UP) {
            Some(begin) => {
                self.long.entry(begin).or_default().push((group, origin));
                self.longer += 1;
            }
            None => {
                self.short.entry(group).or_insert(origin);
                self.lengths.insert(group.len());
            }
        }
    }

    /// Returns the origin of the first-added group among those that a word contains.
    pub(super) fn within(&self, word: &str) -> Option<usize> {
        let starts = || word.char_indices().map(|(start, _)| start);
        let lengths = self.lengths.iter().take_while(|&&length| length <= word.len());
        let short = lengths
            .flat_map(|length| starts().filter_map(move |start| word.get(start..start + length)))
            .filter_map(|part| self.short.get(part).copied())
            .min();
        if self.long.is_empty() || word.len() <= LOOKED_UP {
            return short;
        }
        let begun = starts().filter_map(|start| {
            let rest = word.get(start..)?;
            let groups = self.long.get(rest.get(..LOOKED_UP)?)?;
            groups.iter().find(|(group, _)| rest.starts_with(group))
        });
        begun.map(|&(_, origin)| origin).chain(short).min()
    }
}
