//! The field ids of columns, by which Apache Iceberg finds a table's columns in files.
//!
//! Rules for a change of these lists:
//!
//! - A column keeps its id for ever. A new column takes the next free id, and no column takes the id of a removed one.
//! - Ids are unique within a list, also those of list elements and of fields of structs.
//! - An id is less than 1000. Iceberg's ids of partition fields begin there, and its Java library fails on a column that
//!   has the same id as one of them.
//! - A file has an id for each column or for none. Iceberg ignores the names of a file's columns as soon as one column
//!   has an id, and columns without an id would be null.
//!
//! The rows of a backfill have no ids. They have the columns of a table, whose names Lethe does not know: ids that follow
//! from names would be 1000 or more, and two names could have the same.

/// The field ids of one kind of file.
#[derive(Clone, Copy, Debug)]
pub struct FieldIds(&'static [(&'static str, i32)]);

impl FieldIds {
    /// The ids of notes files, of chains and of replays.
    pub const NOTES: Self = Self(&[
        ("topic", 1),
        ("partition", 2),
        ("offset", 3),
        ("row_kind", 4),
        ("error", 5),
        ("event_kind", 6),
        ("note_id", 7),
        ("version", 8),
        ("note_type", 9),
        ("patient_id", 10),
        ("encounter_id", 11),
        ("author_id", 12),
        ("authored_at", 13),
        ("text", 14),
        ("redactions", 15),
        ("message", 16),
        ("review", 17),
    ]);

    /// The ids of audit files, of chains, replays and backfills.
    pub const AUDIT: Self = Self(&[
        ("topic", 1),
        ("partition", 2),
        ("offset", 3),
        ("start", 4),
        ("end", 5),
        ("out_start", 6),
        ("out_end", 7),
        ("label", 8),
        ("category", 9),
        ("hipaa", 10),
        ("action", 11),
        ("key", 12),
        ("scope", 13),
        ("votes", 14),
        ("members", 15),
        ("rule", 16),
        ("score", 17),
        ("needed", 18),
        ("scores", 19),
        ("beat", 20),
        ("path", 21),
        ("deciding_rule", 22),
        ("solo_min_score", 23),
        ("scores.element", 24),
        ("beat.element", 25),
        ("beat.element.start", 26),
        ("beat.element.end", 27),
        ("beat.element.label", 28),
        ("beat.element.members", 29),
        ("beat.element.score", 30),
        ("column", 31),
        ("element", 32),
    ]);

    /// Ids of columns that files do not have.
    #[cfg(test)]
    pub(super) const TEST: Self = Self(&[
        ("large", 1),
        ("large.element", 2),
        ("map.entries.keys", 3),
        ("map.entries.values", 4),
    ]);

    /// Returns the paths within this column, and their ids.
    pub fn within(self, column: &str) -> impl Iterator<Item = (&'static str, i32)> {
        self.0.iter().filter_map(move |(path, id)| {
            let below = path.strip_prefix(column)?.strip_prefix('.')?;
            Some((below, *id))
        })
    }

    /// Returns the id of the column with this path. The path of a list's element is that of the list and `element`.
    pub fn of(self, path: &str) -> Option<i32> {
        self.0.iter().find(|(known, _)| *known == path).map(|(_, id)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::digest_of;
    use std::collections::BTreeSet;

    /// Files and tables have these ids. New ids come after them, in the order of the list.
    #[test]
    fn ids_that_files_have_are_never_changed() {
        for (FieldIds(list), count, digest) in [
            (
                FieldIds::NOTES,
                17,
                "1ff2fd9b5f5d6f4dc08ac816122871c63c650dd910b588384ccf43d87b837b7c",
            ),
            (
                FieldIds::AUDIT,
                32,
                "122f82de47e67cade472dbebdc7369b8ea531fdd75a541fb4d1e042e067c3b12",
            ),
        ] {
            let lines: String = list[..count]
                .iter()
                .map(|(path, id)| format!("{id} {path}\n"))
                .collect();
            assert_eq!(digest_of(lines.as_bytes()), digest);
        }
    }

    #[test]
    fn ids_and_paths_are_unique_and_no_id_is_one_of_a_partition_field() {
        for FieldIds(list) in [FieldIds::NOTES, FieldIds::AUDIT] {
            let ids: BTreeSet<_> = list.iter().map(|(_, id)| id).collect();
            let paths: BTreeSet<_> = list.iter().map(|(path, _)| path).collect();
            assert_eq!((ids.len(), paths.len()), (list.len(), list.len()));
            assert!(list.iter().all(|(_, id)| (1..1000).contains(id)));
        }
    }
}
