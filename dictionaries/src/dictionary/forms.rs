//! Exact forms: the lists that hold a key, by its spelling in the text. Resolved once, when a dictionary is
//! read.

use std::collections::HashMap;

use super::{NONE, Record};
use crate::list::ListSet;

/// The list sets of a key of exact lists.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Forms {
    /// Number of the set of lists that hold the key however it is written.
    any: u32,
    /// The exact forms with the number of each one's set.
    written: Vec<(String, u32)>,
}

impl Forms {
    /// Replaces each record's row of `rows` by the index of one of the returned forms, [`NONE`] for a record
    /// without an exact list. Adds the needed sets of lists to `sets`. Rows and sets of `records` must be in
    /// bounds.
    pub(super) fn resolve(
        records: &mut [Record],
        rows: &[Vec<(ListSet, String)>],
        sets: &mut Vec<(ListSet, ListSet)>,
        exact: ListSet,
    ) -> Vec<Self> {
        let mut numbers: HashMap<ListSet, u32> = HashMap::new();
        let mut forms = Vec::new();
        for record in records {
            let row = std::mem::replace(&mut record.exacts, NONE);
            let lists = sets[record.set as usize].0;
            if !lists.intersects(exact) {
                continue;
            }
            let mut number = |lists: ListSet| {
                *numbers.entry(lists).or_insert_with(|| {
                    sets.push((lists, ListSet::EMPTY));
                    (sets.len() - 1) as u32
                })
            };
            let folded = lists - exact;
            let any = number(folded);
            let mut written: Vec<(String, ListSet)> = Vec::new();
            for (more, form) in &rows[row as usize] {
                match written.iter_mut().find(|(known, _)| known == form) {
                    Some((_, lists)) => *lists = *lists | *more,
                    None => written.push((form.clone(), folded | *more)),
                }
            }
            record.exacts = forms.len() as u32;
            forms.push(Self {
                any,
                written: written
                    .into_iter()
                    .map(|(form, lists)| (form, number(lists)))
                    .collect(),
            });
        }
        forms
    }

    /// Returns the number of the set of lists that hold the key; `is_written` tests whether the text has a
    /// form.
    #[inline]
    pub(super) fn set(&self, is_written: impl Fn(&str) -> bool) -> u32 {
        let written = self.written.iter().find(|(form, _)| is_written(form));
        written.map_or(self.any, |&(_, set)| set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_record_are_sets_of_lists_by_number() {
        let [folded, other, exact, acronym] = [1, 2, 4, 8].map(ListSet);
        let mut sets = vec![
            (folded | other, ListSet::EMPTY),
            (folded | exact | acronym, exact),
        ];
        let record = |set| Record {
            set,
            numbers: 0,
            exacts: set,
        };
        let mut records = [record(0), record(1)];
        let forms = [(exact, "Md"), (exact, "MD"), (acronym, "MD")];
        let rows = [
            vec![],
            forms.map(|(lists, form)| (lists, form.to_owned())).to_vec(),
        ];
        let found = Forms::resolve(&mut records, &rows, &mut sets, exact | acronym);
        assert_eq!(records.map(|record| record.exacts), [NONE, 0]);
        let lists = |word: &str| sets[found[0].set(|form| form == word) as usize].0;
        assert!(lists("md") == folded && lists("Md") == folded | exact);
        assert!(lists("MD") == folded | exact | acronym);
    }
}
