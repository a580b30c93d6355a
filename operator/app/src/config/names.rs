//! What the chains of a file source are named by: a file's name may be a patient's.

use lethe_connectors::files::Names;
use lethe_connectors::store::StoreConfig;

use super::{Config, SourceConfig};
use crate::exit::usage;

const NO_PLACE: &str = "is missing; name a private folder or bucket for the list of files and their codes, for instance `codes = { kind = \"folder\", path = \"/var/lib/lethe/codes\" }`";
const IN_DATASET: &str = "lies in the dataset of `[sink]`, and the list holds file names; name a place that is not shared with the dataset";

/// How a file source names its chains.
pub(crate) struct Naming<'a> {
    pub(crate) names: Names,
    /// Where the list of files and codes lies.
    pub(crate) codes: Option<&'a StoreConfig>,
    /// What the input goes by in that list.
    pub(crate) input_id: String,
}

/// Modes under which no name of the sender's may name a chain (45 CFR 164.514(b)(2) and (e)).
pub(crate) fn is_strict(mode: Option<&str>) -> bool {
    matches!(mode, Some("safe-harbor" | "limited-data-set"))
}

impl Config {
    /// How the source names its chains; none for a source that is no files.
    pub(crate) fn naming(&self) -> Option<Naming<'_>> {
        let (names, codes, input_id) = match self.source.as_ref()? {
            #[cfg(feature = "kafka")]
            SourceConfig::Kafka(_) => return None,
            SourceConfig::Files(files) => files.naming(),
            SourceConfig::Messages(files) => (files.names, files.codes.as_ref(), files.input_id()),
        };
        Some(Naming {
            names,
            codes,
            input_id: self.engine.written.ending(input_id),
        })
    }

    /// Refuses names that the policy's mode does not allow, and a list of codes that has no place of its own.
    ///
    /// # Errors
    /// A usage error that names the key.
    pub(crate) fn check_names(&self, mode: Option<&str>) -> anyhow::Result<()> {
        let Some(naming) = self.naming() else {
            return Ok(());
        };
        if naming.names == Names::Paths {
            let messages = matches!(self.source, Some(SourceConfig::Messages(_)));
            return match mode.filter(|_| messages && is_strict(mode)) {
                Some(mode) => Err(usage(format!(
                    "key `source.names`: \"paths\" would write file names to the dataset, and mode `{mode}` lets no name of the sender's out; leave the key out"
                ))),
                None => Ok(()),
            };
        }
        self.check_codes("source.codes", naming.codes)
    }

    /// Refuses a backfill whose list of codes has no place of its own.
    ///
    /// # Errors
    /// A usage error that names the key.
    pub(crate) fn check_object_names(&self) -> anyhow::Result<()> {
        match &self.backfill {
            Some(tables) if tables.naming() == Names::Codes => {
                self.check_codes("backfill.codes", tables.codes.as_ref())
            }
            _ => Ok(()),
        }
    }

    fn check_codes(&self, key: &str, codes: Option<&StoreConfig>) -> anyhow::Result<()> {
        let Some(codes) = codes else {
            return Err(usage(format!("key `{key}`: {NO_PLACE}")));
        };
        match &self.sink {
            Some(sink) if codes.lies_in(&sink.store) => Err(usage(format!("key `{key}`: {IN_DATASET}"))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::parse;

    fn check(source: &str, mode: Option<&str>) -> Result<(), String> {
        let text = format!("[source]\n{source}\n[sink]\nstore = {{ kind = \"folder\", path = \"/out\" }}\n");
        let config = parse(&text, "lethe.toml").map_err(|error| format!("{error:#}"))?;
        config.check_names(mode).map_err(|error| error.to_string())
    }

    #[test]
    fn files_of_messages_go_by_codes_whose_list_has_a_place_of_its_own() {
        let files = "kind = \"files\"\ninput = \"/in\"\n";
        let codes = |path: &str| format!("{files}codes = {{ kind = \"folder\", path = {path:?} }}\n");
        assert_eq!(check(&codes("/private"), Some("safe-harbor")), Ok(()));
        assert!(check(files, None).unwrap_err().contains("source.codes"));
        for inside in ["/out", "/out/codes"] {
            assert!(check(&codes(inside), None).unwrap_err().contains("not shared"));
        }
    }

    #[test]
    fn a_strict_mode_allows_no_file_names() {
        let named = "kind = \"files\"\ninput = \"/in\"\nnames = \"paths\"\n";
        assert_eq!(check(named, None), Ok(()));
        for mode in ["safe-harbor", "limited-data-set"] {
            assert!(check(named, Some(mode)).unwrap_err().contains("source.names"));
        }
        assert_eq!(check("kind = \"jsonl\"\ninput = \"/in\"\n", None), Ok(()));
        let coded = check("kind = \"jsonl\"\ninput = \"/in\"\nnames = \"codes\"\n", None);
        assert!(coded.unwrap_err().contains("source.codes"));
    }
}
