//! Training on corrections while notes stream, and the source of corrections.

use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "kafka")]
use lethe_connectors::kafka::KafkaConfig;
#[cfg(feature = "kafka")]
use lethe_connectors::source::Start;
use lethe_ensemble::Versions;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Config;
#[cfg(feature = "kafka")]
use super::SourceConfig;
use crate::exit::usage;

/// Training on corrections while notes stream. `lethe adapt corrections` reads this table, and `lethe run`
/// ignores it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CorrectionsConfig {
    /// The source of corrections.
    pub(crate) from: CorrectionSource,
    /// The folder of the journal and of the training state. It contains the text of notes.
    #[schemars(extend("examples" = ["/var/lib/lethe/corrections"]))]
    pub(crate) state: PathBuf,
    /// Annotated notes as the held-out set: Lethe does not train on them, and does not publish a version that
    /// is worse on them.
    #[schemars(extend("examples" = ["/var/lib/lethe/held-out"]))]
    pub(crate) held_out: Option<PathBuf>,
    /// The share of corrected notes that joins the held-out set, 0 to less than 1. A hash of the note's id
    /// chooses them.
    #[serde(default = "keep_share")]
    #[schemars(extend("x-unit" = "share"))]
    pub(crate) keep_share: f64,
    /// The member of the bundle that naive Bayes is mixed with. Default: the only member that can be mixed.
    #[schemars(extend("examples" = ["crf"]))]
    pub(crate) first: Option<String>,
    /// The number of corrections per training batch, at least 1.
    #[serde(default = "batch")]
    #[schemars(extend("x-unit" = "corrections"))]
    pub(crate) batch: usize,
    /// The time after which Lethe trains on an incomplete batch, from the arrival of its first correction.
    #[serde(default = "max_wait_seconds")]
    pub(crate) max_wait_seconds: f64,
}

/// Where corrections come from.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum CorrectionSource {
    /// A topic of the cluster that `[source]` names.
    #[cfg(not(feature = "kafka"))]
    Kafka(super::absent::Absent),
    /// A topic of the cluster that `[source]` names.
    #[cfg(feature = "kafka")]
    Kafka {
        /// The topic. It must not be a topic of notes.
        #[schemars(extend("examples" = ["corrections"]))]
        topic: String,
        /// The consumer group. Default: the group of `[source]` with the suffix `-corrections`.
        group: Option<String>,
    },
    /// A file of JSON lines, which Lethe follows as it grows.
    Jsonl {
        /// The file.
        #[schemars(extend("examples" = ["corrections.jsonl"]))]
        input: PathBuf,
    },
}

fn keep_share() -> f64 {
    0.2
}

fn batch() -> usize {
    20
}

fn max_wait_seconds() -> f64 {
    10.0
}

impl CorrectionsConfig {
    /// Whether these settings can be used with the rest. Reaches no broker.
    ///
    /// # Errors
    /// A usage error that names the key.
    pub(crate) fn check(&self, config: &Config) -> anyhow::Result<()> {
        let refused = |key: &str, problem: &str| Err(usage(format!("key `corrections.{key}`: {problem}")));
        if !(0.0..1.0).contains(&self.keep_share) {
            return refused("keep_share", "is a share, from 0 to less than 1");
        }
        if self.batch == 0 {
            return refused("batch", "is at least 1");
        }
        if !(self.max_wait_seconds >= 0.0 && self.max_wait_seconds <= 86_400.0) {
            return refused("max_wait_seconds", "is from 0 to 86400 seconds");
        }
        let Some(bundle) = &config.engine.bundle else {
            return refused(
                "state",
                "corrections become versions of a bundle: say which folder of versions the stream redacts by, key `engine.bundle`",
            );
        };
        if Versions::of(bundle).is_none() {
            return Err(usage(format!(
                "key `engine.bundle`: {}: corrections need a folder of versions; `lethe ensemble publish BUNDLE --to FOLDER` makes one",
                bundle.display()
            )));
        }
        #[cfg(feature = "kafka")]
        if let Some(kafka) = self.kafka(config)? {
            kafka
                .validate()
                .map_err(|error| usage(format!("`[corrections]` with `[source]`, key {error}")))?;
        }
        Ok(())
    }

    /// Returns how to read the topic of corrections; `None` if they come from a file.
    ///
    /// # Errors
    /// A usage error if `[source]` is not Kafka, or the topic is one of notes.
    #[cfg(feature = "kafka")]
    pub(crate) fn kafka(&self, config: &Config) -> anyhow::Result<Option<KafkaConfig>> {
        let CorrectionSource::Kafka { topic, group } = &self.from else {
            return Ok(None);
        };
        let Some(SourceConfig::Kafka(source)) = &config.source else {
            return Err(usage(
                "key `corrections.from`: a topic needs a `[source]` with `kind = \"kafka\"`, because it is read from the same brokers",
            ));
        };
        if source.topics.contains(topic) {
            return Err(usage(format!(
                "key `corrections.from.topic`: \"{topic}\" is a topic of notes"
            )));
        }
        let own = || format!("{}-corrections", source.group);
        Ok(Some(KafkaConfig {
            topics: vec![topic.clone()],
            group: group.clone().unwrap_or_else(own),
            group_instance_id: None,
            start: Start::Earliest,
            ..source.clone()
        }))
    }

    /// How long a correction waits for others at most.
    pub(crate) fn max_wait(&self) -> Duration {
        Duration::from_secs_f64(self.max_wait_seconds)
    }
}

#[cfg(test)]
mod tests {
    use crate::config::parse;

    fn checked(more: &str) -> String {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("current"), "v\n").unwrap();
        let text = format!(
            "[engine]\nbundle = {:?}\n[source]\nkind = \"kafka\"\nbrokers = [\"b:1\"]\ntopics = [\"notes\"]\ngroup = \"g\"\n\
             [corrections]\nstate = \"s\"\n{more}\n",
            place.path()
        );
        let checked = parse(&text, "lethe.toml").and_then(|config| {
            let corrections = config.corrections.as_ref().unwrap();
            corrections.check(&config)?;
            let kafka = corrections.kafka(&config)?;
            Ok(kafka.map_or("a file".to_owned(), |kafka| kafka.group))
        });
        checked.unwrap_or_else(|error| format!("{error:#}"))
    }

    #[test]
    fn a_topic_is_read_by_a_group_of_its_own_and_a_file_by_none() {
        let topic = "from = { kind = \"kafka\", topic = \"corrections\" }";
        assert_eq!(checked(topic), "g-corrections");
        assert_eq!(
            checked("from = { kind = \"kafka\", topic = \"corrections\", group = \"h\" }\nkeep_share = 0.0"),
            "h"
        );
        assert_eq!(
            checked("from = { kind = \"jsonl\", input = \"c.jsonl\" }"),
            "a file"
        );
    }

    #[test]
    fn what_is_wrong_is_told_by_its_key() {
        let file = "from = { kind = \"jsonl\", input = \"c.jsonl\" }\n";
        for (more, told) in [
            ("keep_share = 1.0", "key `corrections.keep_share`"),
            ("batch = 0", "key `corrections.batch`"),
            ("max_wait_seconds = -1.0", "key `corrections.max_wait_seconds`"),
            ("patience = 3", "corrections.patience"),
        ] {
            let message = checked(&format!("{file}{more}"));
            assert!(message.contains(told), "{message}");
        }
        let message = checked("from = { kind = \"kafka\", topic = \"notes\" }");
        assert!(message.contains("is a topic of notes"), "{message}");
        let message = checked("from = { kind = \"kafka\", topic = \"no tes\" }");
        assert!(message.contains("is not a topic name"), "{message}");
        let message = checked("");
        assert!(message.contains("missing field `from`"), "{message}");
    }

    #[test]
    fn a_bundle_that_has_no_versions_is_refused() {
        let text = "[engine]\nbundle = \"nowhere\"\n[corrections]\nstate = \"s\"\nfrom = { kind = \"jsonl\", input = \"c\" }\n";
        for (text, told) in [
            (text.to_owned(), "key `engine.bundle`: nowhere"),
            (text.replace("bundle = \"nowhere\"\n", ""), "key `engine.bundle`"),
        ] {
            let config = parse(&text, "lethe.toml").unwrap();
            let error = config.corrections.as_ref().unwrap().check(&config).unwrap_err();
            assert!(error.to_string().contains(told), "{error}");
        }
    }
}
