//! The objects to backfill, if not all: a list, handwritten or the output of `lethe inspect --fingerprint
//! --json`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lethe_connectors::tables::Found;
use serde::Deserialize;

use crate::exit::usage;

/// The objects to backfill.
#[derive(Debug)]
pub(crate) struct Only {
    objects: BTreeSet<String>,
    from: PathBuf,
}

/// A line of JSON; its other keys do not matter here.
#[derive(Deserialize)]
struct Line {
    object: Option<String>,
}

impl Only {
    /// Reads a list: a name per line, or a JSON object with `object`.
    ///
    /// # Errors
    /// A usage error that names the file and the line.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| usage(format!("{shown}: {error}")))?;
        let mut objects = BTreeSet::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let object = if line.starts_with('{') {
                let wrong =
                    |what: &str| usage(format!("{shown}: line {} {what}; name objects of tables", at + 1));
                let read: Line = serde_json::from_str(line).map_err(|_| wrong("is not JSON"))?;
                read.object
                    .ok_or_else(|| wrong("names no object: it may belong to a stream"))?
            } else {
                line.to_owned()
            };
            objects.insert(object);
        }
        if objects.is_empty() {
            return Err(usage(format!("{shown}: no object is listed")));
        }
        Ok(Self {
            objects,
            from: path.to_owned(),
        })
    }

    /// Removes all other objects.
    ///
    /// # Errors
    /// A usage error if a listed object was not found: otherwise nobody would notice that it was not redone.
    pub(super) fn keep(&self, found: &mut Found) -> anyhow::Result<()> {
        let there: BTreeSet<&str> = found
            .units
            .iter()
            .flat_map(|unit| [unit.object.name.as_str(), &unit.shown])
            .chain(found.broken.iter().map(|(name, _)| name.as_str()))
            .collect();
        let mut missing = self
            .objects
            .iter()
            .filter(|object| !there.contains(object.as_str()));
        if let Some(first) = missing.next() {
            let missing = match missing.count() {
                0 => format!("{first} is"),
                more => format!("{first} and {more} more are"),
            };
            return Err(usage(format!(
                "{}: {missing} not in the input; write names as in the input's store",
                self.from.display()
            )));
        }
        found.units.retain(|unit| {
            [unit.object.name.as_str(), &unit.shown]
                .iter()
                .any(|name| self.objects.contains(*name))
        });
        found.broken.retain(|(name, _)| self.objects.contains(name));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<Only> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Only::read(file.path())
    }

    #[test]
    fn a_list_is_of_names_or_of_what_an_inspection_listed() {
        let only = read("a/1.parquet\n\n{\"file\":\"rows/x\",\"object\":\"b.csv\",\"first\":0}\n").unwrap();
        assert_eq!(
            only.objects.into_iter().collect::<Vec<_>>(),
            ["a/1.parquet", "b.csv"]
        );
    }

    #[test]
    fn a_list_of_nothing_and_of_what_a_stream_made_is_refused() {
        for (wrong, why) in [
            ("\n", "no object is listed"),
            ("a\n{\"topic\":\"t\",\"partition\":0}", "line 2 names no object"),
            ("{", "line 1 is not JSON"),
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
