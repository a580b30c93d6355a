//! The roles of columns, from the configuration.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TableError;
use crate::format::kind_named;

/// The columns of a table, by what Lethe does with them. A path such as `note.sections.text` names a field
/// within a struct, or within a list of structs. Columns that are not named do not leave.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TableColumns {
    /// Columns of free text, which Lethe redacts.
    #[schemars(extend("examples" = [["note_text"]]))]
    pub text: Vec<String>,
    /// Columns that leave unchanged.
    #[schemars(extend("examples" = [["site", "note_class"]]))]
    pub keep: Vec<String>,
    /// The reason why a kept column identifies nobody, by its path. Modes `safe-harbor` and
    /// `limited-data-set` require one for each. Lethe writes the reasons to the metadata of every file.
    #[schemars(extend("examples" = [{ "site": "one of four campuses, each with over 100,000 patients" }]))]
    pub reasons: BTreeMap<String, String>,
    /// Columns of identifiers, and their labels. Lethe replaces each value as a whole, as the policy replaces
    /// its label.
    #[schemars(extend("examples" = [{ "person_name": "PATIENT" }]))]
    pub identifiers: BTreeMap<String, String>,
    /// The column of the patient's id, within which the policy replaces equal values alike. This key does not
    /// make the column leave.
    pub patient_id: Option<String>,
    /// The column of the note's id. This key does not make the column leave.
    pub note_id: Option<String>,
    /// The column of the encounter's id. This key does not make the column leave.
    pub encounter_id: Option<String>,
    /// The column of the author's id. This key does not make the column leave.
    pub author_id: Option<String>,
    /// The column of the note type. This key does not make the column leave.
    pub note_type: Option<String>,
    /// The column of the time of writing: a timestamp, a date, milliseconds since 1970, or an ISO 8601
    /// string. This key does not make the column leave.
    pub authored_at: Option<String>,
    /// Columns of the patient's identifiers, by kind. Lethe finds their values in the text.
    #[schemars(extend("examples" = [{ "patient": ["person_name"], "phone": ["home_phone"] }]))]
    pub known: BTreeMap<String, Vec<String>>,
}

/// A requested column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The key that requests it.
    pub key: String,
    /// Its path.
    pub path: String,
}

impl TableColumns {
    /// Checks that the columns are consistent.
    ///
    /// # Errors
    /// [`TableError::Config`] with the key.
    pub fn check(&self) -> Result<(), TableError> {
        let wrong = |key: &str, problem: String| {
            Err(TableError::Config {
                key: key.to_owned(),
                problem,
            })
        };
        if self.text.is_empty() && self.identifiers.is_empty() {
            return wrong(
                "text",
                "set at least one column of free text, or one in `identifiers`".to_owned(),
            );
        }
        for kind in self.known.keys() {
            if kind_named(kind).is_none() {
                return wrong(&format!("known.{kind}"), "is an unknown kind of identifier; the kinds are patient, relative, clinician, medical_record, birth_date, phone, address, email, social_security, health_plan, account, organization, other".to_owned());
            }
        }
        for (path, reason) in &self.reasons {
            if !self.keep.contains(path) {
                return wrong(
                    &format!("reasons.{path}"),
                    "names a column that is not in `keep`; correct its name".to_owned(),
                );
            }
            if reason.trim().is_empty() {
                return wrong(
                    &format!("reasons.{path}"),
                    "is empty; say why the column identifies nobody".to_owned(),
                );
            }
        }
        for (kind, paths) in &self.known {
            if let Some(path) = paths.iter().find(|path| self.keep.contains(path)) {
                return wrong(
                    "keep",
                    format!(
                        "`{path}` identifies the patient (`known.{kind}`); list it in `identifiers`, or leave it out"
                    ),
                );
            }
        }
        let leaving = self.leaving();
        for (i, one) in leaving.iter().enumerate() {
            if one.path.split('.').any(str::is_empty) {
                return wrong(&one.key, format!("`{}` is not the path of a column", one.path));
            }
            for other in &leaving[i + 1..] {
                if one.path == other.path {
                    return wrong(
                        &one.key,
                        format!("`{}` is listed in `{}` too", one.path, other.key),
                    );
                }
                let within = |inner: &str, outer: &str| {
                    inner
                        .strip_prefix(outer)
                        .is_some_and(|rest| rest.starts_with('.'))
                };
                if within(&one.path, &other.path) || within(&other.path, &one.path) {
                    return wrong(
                        &one.key,
                        format!(
                            "one of `{}` and `{}` contains the other; list its fields one by one",
                            one.path, other.path
                        ),
                    );
                }
            }
        }
        Ok(())
    }

    /// Returns the kept columns without a reason.
    pub fn unexplained(&self) -> Vec<&str> {
        let kept = self.keep.iter().map(String::as_str);
        kept.filter(|path| !self.reasons.contains_key(*path)).collect()
    }

    /// Returns the columns of the output, in the order of the configuration.
    pub fn leaving(&self) -> Vec<Wanted> {
        let wanted = |key: &str, path: &str| Wanted {
            key: key.to_owned(),
            path: path.to_owned(),
        };
        let kept = self.keep.iter().map(|path| wanted("keep", path));
        let replaced = self.identifiers.keys().map(|path| wanted("identifiers", path));
        let text = self.text.iter().map(|path| wanted("text", path));
        kept.chain(replaced).chain(text).collect()
    }

    /// Returns the columns that are only read, by key.
    pub fn metadata(&self) -> Vec<Wanted> {
        let singles = [
            ("patient_id", &self.patient_id),
            ("note_id", &self.note_id),
            ("encounter_id", &self.encounter_id),
            ("author_id", &self.author_id),
            ("note_type", &self.note_type),
            ("authored_at", &self.authored_at),
        ];
        let mut all: Vec<Wanted> = Vec::new();
        for (key, path) in singles {
            all.extend(path.iter().map(|path| Wanted {
                key: key.to_owned(),
                path: path.clone(),
            }));
        }
        for (kind, paths) in &self.known {
            all.extend(paths.iter().map(|path| Wanted {
                key: format!("known.{kind}"),
                path: path.clone(),
            }));
        }
        all
    }

    /// Returns every column that is read, each once.
    pub(super) fn all(&self) -> Vec<Wanted> {
        let mut all = self.leaving();
        for one in self.metadata() {
            if !all.iter().any(|other| other.path == one.path) {
                all.push(one);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(columns: &TableColumns) -> String {
        columns
            .check()
            .map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn columns_that_cannot_go_together_are_named() {
        let mut columns = TableColumns::default();
        assert!(told(&columns).contains("columns.text"), "{}", told(&columns));
        columns.text = vec!["note.text".into()];
        assert_eq!(told(&columns), "");
        columns.keep = vec!["note".into()];
        assert!(told(&columns).contains("contains the other"));
        columns.keep = vec!["note.text".into()];
        assert!(told(&columns).contains("in `text` too"));
        columns.keep = vec!["note.texts".into(), "a..b".into()];
        assert!(told(&columns).contains("is not the path"));
        columns.keep = vec!["ward".into()];
        columns.reasons.insert("wards".into(), "a code".into());
        assert!(told(&columns).contains("reasons.wards"));
        columns.reasons = BTreeMap::from([("ward".into(), " ".into())]);
        assert!(told(&columns).contains("reasons.ward"));
        assert!(columns.unexplained().is_empty());
        columns.reasons.clear();
        assert_eq!(columns.unexplained(), ["ward"]);
        columns.keep.clear();
        columns.known.insert("badge".into(), vec!["a".into()]);
        assert!(told(&columns).contains("known.badge"));
    }
}
