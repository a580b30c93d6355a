//! Keys that have another name since the last version: the old one is read for one more version, with a warning.

use toml::{Table, Value};

/// The old path of each key, and its new name in the same table.
const RENAMED: &[(&[&str], &str)] = &[
    (&["engine", "vote", "sure"], "solo_min_score"),
    (&["engine", "vote", "company"], "require_corroboration"),
    (&["engine", "vote", "always"], "always_redact"),
    (&["engine", "vote", "always_sure"], "always_min_score"),
    (&["engine", "vote", "cover_beaten"], "redact_uncovered"),
    (&["engine", "redaction", "carry"], "keep"),
    (&["engine", "review", "sure"], "min_score"),
    (&["corrections", "kept_back"], "held_out"),
];

/// Returns the old path of a key, if it had another name.
pub(super) fn old_name(path: &str) -> Option<String> {
    let (tables, name) = path.rsplit_once('.')?;
    RENAMED
        .iter()
        .map(|(old, new)| (old.join("."), new))
        .find(|(old, new)| **new == name && old.rsplit_once('.').is_some_and(|(of, _)| of == tables))
        .map(|(old, _)| old)
}

/// Gives the values of old keys to the new ones, and returns a warning for each.
///
/// # Errors
/// The path of an old key that is given in addition to the new one, and what to do.
pub(super) fn rename(table: &mut Table) -> Result<Vec<String>, (String, String)> {
    let mut warnings = Vec::new();
    for (path, new) in RENAMED {
        let (name, tables) = path.split_last().expect("paths are not empty");
        let inner = tables.iter().try_fold(&mut *table, |table, key| {
            table.get_mut(*key).and_then(Value::as_table_mut)
        });
        let Some(inner) = inner else { continue };
        let Some(value) = inner.remove(*name) else {
            continue;
        };
        let shown = path.join(".");
        if inner.contains_key(*new) {
            return Err((
                shown,
                format!("is the old name of `{new}`, which is given as well; leave it out"),
            ));
        }
        inner.insert((*new).to_owned(), value);
        warnings.push(format!(
            "key `{shown}` is now called `{}.{new}`; the old name will be refused by the next version",
            tables.join(".")
        ));
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(toml: &str) -> Table {
        toml::from_str(toml).unwrap()
    }

    #[test]
    fn an_old_key_is_read_under_its_new_name_with_a_warning_that_names_both() {
        let mut old = table("[engine.vote]\nsure = 0.9\nthreshold = 2\n");
        let warnings = rename(&mut old).unwrap();
        assert_eq!(old, table("[engine.vote]\nsolo_min_score = 0.9\nthreshold = 2\n"));
        let [warning] = warnings.as_slice() else {
            panic!("one key is old: {warnings:?}");
        };
        assert!(
            warning.contains("`engine.vote.sure`") && warning.contains("`engine.vote.solo_min_score`"),
            "{warning}"
        );
        assert_eq!(rename(&mut old), Ok(Vec::new()));
    }

    #[test]
    fn every_old_key_has_a_new_name() {
        let mut old = table(
            "[engine.redaction]\ncarry = [\"note_id\"]\n[engine.review]\nsure = 0.5\n[corrections]\nkept_back = \"a\"\n",
        );
        assert_eq!(rename(&mut old).map(|warnings| warnings.len()), Ok(3));
        let new = "[engine.redaction]\nkeep = [\"note_id\"]\n[engine.review]\nmin_score = 0.5\n[corrections]\nheld_out = \"a\"\n";
        assert_eq!(old, table(new));
    }

    #[test]
    fn the_old_and_the_new_name_together_are_refused() {
        let mut both = table("[engine.vote]\nsure = 0.9\nsolo_min_score = 0.8\n");
        let (key, why) = rename(&mut both).unwrap_err();
        assert_eq!(key, "engine.vote.sure");
        assert!(why.contains("solo_min_score"), "{why}");
    }
}
