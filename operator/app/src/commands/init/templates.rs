//! The texts of a new configuration and its policy.

use std::path::{Path, PathBuf};

use crate::cli::InitPolicy;

/// Where the notes come from.
pub(super) enum Input {
    Kafka { brokers: Vec<String>, topic: String },
    Files(PathBuf),
    Tables(PathBuf),
}

/// What a configuration is written from.
pub(super) struct Answers {
    pub(super) input: Input,
    pub(super) policy: InitPolicy,
    /// The folder of the output.
    pub(super) data: PathBuf,
    /// The folder of the configuration, the policy and the key.
    pub(super) folder: PathBuf,
}

/// The names of the other files, next to the configuration.
const POLICY: &str = "policy.toml";
const KEYS: &str = "keys.toml";

const HEAD: &str = "# Written by `lethe init`. `lethe check -c FILE` validates it, and `lethe check -c FILE --explain` prints every
# value in effect. docs/reference/configuration.md describes each key; relative paths start at this file's folder.
";

const SAFE_HARBOR: &str = "# HIPAA's Safe Harbor, 45 CFR 164.514(b)(2): the eighteen identifiers go. Surrogates take their place, so that an
# identifier that was missed hides among invented ones. Years, ages up to 89 and three digits of ZIP codes stay.
mode = \"safe-harbor\"
default = { action = \"surrogate\" }

[labels]
DATE = { action = \"generalise\" }
AGE = { action = \"generalise\" }
ZIP = { action = \"generalise\" }
# The surrogate of a number would be a code derived from it, which 164.514(c)(1) forbids.
MEDICALRECORD = { action = \"tag\" }
SSN = { action = \"tag\" }
HEALTHPLAN = { action = \"tag\" }
ACCOUNT = { action = \"tag\" }
LICENSE = { action = \"tag\" }
VEHICLE = { action = \"tag\" }
DEVICE = { action = \"tag\" }
BIOID = { action = \"tag\" }
IDNUM = { action = \"tag\" }
USERNAME = { action = \"tag\" }
";

const RESEARCH: &str = "# A limited data set, 45 CFR 164.514(e), under a data use agreement: surrogates take the place of identifiers, and all
# dates of a patient move by the same number of days, so that intervals stay.
mode = \"limited-data-set\"
default = { action = \"surrogate\" }

[labels.DATE]
action = \"shift\"

[shift]
weekday = true # keep days of the week
";

const GDPR: &str = "# Pseudonymisation as in Article 4(5) GDPR: surrogates take the place of identifiers, and all dates of a patient move by
# the same number of days. Words for a person's nationality, ethnicity, religion and language become tags. The notes stay
# personal data.
mode = \"custom\"
default = { action = \"surrogate\" }

[labels]
DATE = { action = \"shift\" }
AGE = { action = \"generalise\" } # ages over 89
ORIGIN = { action = \"tag\" } # naming the label runs the member that finds it

[shift]
weekday = true # keep days of the week
";

const TAGS: &str = "# The label of each identifier takes its place, such as [PATIENT]. This needs no key, and nobody can reverse it.
mode = \"safe-harbor\"
titles = true # titles go with the name: \"Dr. Ruiz\" becomes \"[DOCTOR]\"
default = { action = \"tag\" } # add numbered = \"note\" for [PATIENT-1], [PATIENT-2]
";

impl Answers {
    pub(super) fn policy_file(&self) -> PathBuf {
        self.folder.join(POLICY)
    }

    pub(super) fn keys(&self) -> PathBuf {
        self.folder.join(KEYS)
    }

    /// Returns the text of the policy file.
    pub(super) fn policy_text(&self) -> String {
        let text = match self.policy {
            InitPolicy::SafeHarbor => SAFE_HARBOR,
            InitPolicy::Research => RESEARCH,
            InitPolicy::Tags => TAGS,
            InitPolicy::Gdpr => GDPR,
        };
        if self.policy == InitPolicy::Tags {
            return text.to_owned();
        }
        format!(
            "{text}\n# The surrogates depend on this key: without it, nobody can repeat them. Keep a copy apart from the data.\n[keys]\nfile = {}\n",
            // A policy file has no variables.
            toml::Value::from(KEYS)
        )
    }

    /// Returns the text of the configuration.
    pub(super) fn configuration(&self) -> String {
        let mut text = format!(
            "{HEAD}\n# What replaces identifiers.\npolicy_file = {}\n",
            escaped(POLICY)
        );
        // A file's name may be a patient's.
        let names = "# Codes stand for the names of input files, which may identify a patient. The list of names and codes is private.\n\
             names = \"codes\"\ncodes = { kind = \"folder\", path = \"codes\" }\n";
        text.push_str(&match &self.input {
            Input::Kafka { brokers, topic } => {
                let brokers: Vec<_> = brokers.iter().map(|broker| escaped(broker)).collect();
                format!(
                    "\n[source]\nkind = \"kafka\"\nbrokers = [{}]\ntopics = [{}]\ngroup = \"lethe\" # the consumer group; each dataset needs its own\n\
                     # With TLS and a login; `${{file:PATH}}` reads a secret from a file:\n\
                     # security = {{ protocol = \"sasl\", mechanism = \"SCRAM-SHA-512\", user = \"lethe\", password = \"${{file:/run/secrets/kafka}}\" }}\n\
                     \n# The format of a record's value: json, hl7v2, fhir, cda, avro or protobuf.\n[format]\nkind = \"json\"\n\
                     # Where the fields are, if they have other names than in `lethe schema event`:\n\
                     # fields = {{ note_id = \"doc_id\", text = \"body.note\" }}\n",
                    brokers.join(", "),
                    escaped(topic)
                )
            }
            Input::Files(path) => {
                let kind = kind(path);
                format!(
                    "\n[source]\nkind = \"{kind}\" # jsonl: JSON lines; text: a folder with a note per file; parquet: a note per row\ninput = {}\n{names}",
                    self.quoted(path)
                )
            }
            Input::Tables(path) => format!(
                "\n[backfill]\ninput = {{ kind = \"folder\", path = {} }} # tables in Parquet, JSON lines or CSV\n{names}\
                 \n# The role of each column. A column without a role does not reach the output.\n[backfill.columns]\n\
                 text = [\"note\"] # free text: redacted\n\
                 # identifiers = {{ mrn = \"MEDICALRECORD\" }} # replaced as a whole\n\
                 # patient_id = \"mrn\" # whose note it is\n\
                 # known = {{ patient = [\"name\"] }} # looked for in the text, not written\n",
                self.quoted(path)
            ),
        });
        text.push_str(&format!(
            "\n[sink]\nstore = {{ kind = \"folder\", path = {} }} # or kind = \"s3\", \"azure\" or \"gcs\"\n\
             # roll = {{ max_bytes = 67108864, max_age_seconds = 300 }} # when a file is closed\n",
            self.quoted(&self.data)
        ));
        text.push_str(
            "\n# [engine]\n# bundle = \"en-clinical\" # the models; en-fast is faster and finds less\n\
             \n# [resources]\n# memory_bytes = 536870912 # of the whole process\n",
        );
        if let Input::Kafka { .. } = self.input {
            text.push_str(
                "\n# Health endpoints and metrics.\n# [telemetry]\n# listen = \"127.0.0.1:9464\"\n",
            );
        }
        text
    }

    /// Returns a path, which the user wrote at the working directory, as the configuration needs it.
    fn quoted(&self, path: &Path) -> String {
        let path = match std::path::absolute(path) {
            Ok(absolute) if !self.folder.as_os_str().is_empty() => absolute,
            _ => path.to_owned(),
        };
        escaped(&path.display().to_string())
    }
}

/// Returns the kind of source that reads a path.
fn kind(path: &Path) -> &'static str {
    let ends = |path: &Path, ending: &str| path.extension().is_some_and(|end| end == ending);
    let inside = |ending: &str| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| ends(&entry.path(), ending))
    };
    if ends(path, "parquet") || inside("parquet") {
        "parquet"
    } else if !inside("jsonl") && inside("txt") {
        "text"
    } else {
        "jsonl"
    }
}

/// Returns a text as a string of a configuration, in which a dollar sign begins a variable.
fn escaped(text: &str) -> String {
    toml::Value::from(text.replace('$', "$$")).to_string()
}
