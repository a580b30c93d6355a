//! The librdkafka settings that may not be passed through, each with its reason.
//!
//! Most keys of librdkafka's CONFIGURATION.md tune timeouts and sockets and are the operator's to set. These are not: each
//! would lose notes, repeat them, show secrets, or take away memory that the budget has given out.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// A setting that is refused, unless it has the one value that Lethe sets itself.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    /// librdkafka's keys, aliases included.
    pub keys: &'static [&'static str],
    /// The value that is no change, if there is one.
    pub unless: Option<&'static str>,
    /// What it would break.
    pub reason: &'static str,
    /// What to do.
    pub instead: &'static str,
}

const fn refused(
    keys: &'static [&'static str],
    unless: Option<&'static str>,
    reason: &'static str,
    instead: &'static str,
) -> Refused {
    Refused {
        keys,
        unless,
        reason,
        instead,
    }
}

const DROP: &str = "leave it out";
const BLOCK: &str = "set it in the `security` table";
const MEMORY: &str = "set the memory budget of the run";

/// Every setting that is refused.
pub const REFUSED: &[Refused] = &[
    refused(
        &["bootstrap.servers", "metadata.broker.list"],
        None,
        "it would be set twice",
        "set `brokers`",
    ),
    refused(&["group.id"], None, "it would be set twice", "set `group`"),
    refused(
        &["group.instance.id"],
        None,
        "it would be set twice",
        "set `group_instance_id`",
    ),
    refused(
        &["partition.assignment.strategy"],
        None,
        "Lethe drains differently for eager and cooperative strategies and must know which",
        "set `assignment`",
    ),
    refused(
        &["group.protocol", "group.protocol.type", "group.remote.assignor"],
        None,
        "draining on rebalance is built on the classic group protocol",
        "leave it out and choose with `assignment`",
    ),
    refused(
        &["enable.auto.commit", "auto.commit.enable"],
        Some("false"),
        "it would release offsets of notes that are in no file yet, and a crash would lose them",
        DROP,
    ),
    refused(
        &["auto.commit.interval.ms"],
        None,
        "nothing is committed by the clock: an offset is released when its file is durable",
        "set when files are rolled",
    ),
    refused(
        &["enable.auto.offset.store"],
        Some("false"),
        "it would store offsets of notes that are in no file yet",
        DROP,
    ),
    refused(
        &[
            "offset.store.method",
            "offset.store.path",
            "offset.store.sync.interval.ms",
        ],
        None,
        "offsets are kept with the output, where they cannot disagree with it",
        DROP,
    ),
    refused(
        &["auto.offset.reset"],
        Some("error"),
        "an offset outside the log would jump to its start or end in silence and repeat or lose notes",
        "set `start` for partitions that have no output yet",
    ),
    refused(
        &["isolation.level"],
        Some("read_committed"),
        "records of aborted transactions would become notes",
        DROP,
    ),
    refused(
        &["check.crcs"],
        Some("true"),
        "a record that was damaged on its way would become a note",
        DROP,
    ),
    refused(
        &["enable.partition.eof"],
        Some("true"),
        "Lethe tells by it that a partition has been read to its end",
        DROP,
    ),
    refused(
        &["allow.auto.create.topics"],
        Some("false"),
        "a mistyped topic would be created and read as empty for ever",
        "create the topic",
    ),
    refused(
        &["topic.blacklist"],
        None,
        "topics that are asked for would be passed over in silence",
        "name in `topics` only what is to be read",
    ),
    refused(
        &[
            "queued.min.messages",
            "queued.max.messages.kbytes",
            "fetch.max.bytes",
            "message.max.bytes",
        ],
        None,
        "the fetch buffers are part of the memory budget",
        MEMORY,
    ),
    refused(
        &[
            "security.protocol",
            "sasl.mechanism",
            "sasl.mechanisms",
            "sasl.username",
        ],
        None,
        "it would be set twice",
        BLOCK,
    ),
    refused(
        &[
            "sasl.password",
            "ssl.key.password",
            "ssl.keystore.password",
            "ssl.key.pem",
            "sasl.oauthbearer.client.secret",
            "sasl.oauthbearer.client.credentials.client.secret",
            "sasl.oauthbearer.assertion.private.key.passphrase",
            "sasl.oauthbearer.assertion.private.key.pem",
            "sasl.oauthbearer.config",
        ],
        None,
        "`properties` may be printed, secrets may not",
        BLOCK,
    ),
    refused(
        &["ssl.ca.location", "ssl.certificate.location", "ssl.key.location"],
        None,
        "it would be set twice",
        BLOCK,
    ),
    refused(
        &["enable.ssl.certificate.verification"],
        Some("true"),
        "whoever answers in the broker's place could feed and read notes",
        "give the broker's authority as `ca` in the `security` table",
    ),
    refused(
        &["debug"],
        None,
        "librdkafka's debug output is not under Lethe's rule that no log shows a note, a key or a login",
        "raise Lethe's own log level",
    ),
    refused(
        &["statistics.interval.ms"],
        Some("0"),
        "librdkafka's statistics would be written to the log in full each time",
        DROP,
    ),
    refused(
        &["log.queue", "enabled_events", "log_level"],
        None,
        "the program that embeds librdkafka sets it",
        "raise Lethe's own log level",
    ),
    refused(
        &["plugin.library.paths"],
        None,
        "code from elsewhere would see every note before it is redacted",
        DROP,
    ),
    refused(
        &["test.mock.num.brokers", "test.mock.broker.rtt"],
        None,
        "a mock would stand in for the brokers",
        "run `lethe demo` to see Lethe without a broker",
    ),
];

impl Refused {
    /// The rule that refuses this setting, if one does.
    pub fn of(key: &str, value: &str) -> Option<&'static Self> {
        REFUSED
            .iter()
            .find(|rule| rule.keys.contains(&key) && rule.unless != Some(value))
    }
}

/// A librdkafka setting's value, written as a string, an integer, or true and false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property(pub String);

impl<'de> Deserialize<'de> for Property {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PropertyVisitor)
    }
}

struct PropertyVisitor;

impl<'de> Visitor<'de> for PropertyVisitor {
    type Value = Property;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, an integer, true or false")
    }
    fn visit_str<E>(self, value: &str) -> Result<Property, E> {
        Ok(Property(value.to_owned()))
    }
    fn visit_bool<E>(self, value: bool) -> Result<Property, E> {
        Ok(Property(value.to_string()))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Property, E> {
        Ok(Property(value.to_string()))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Property, E> {
        Ok(Property(value.to_string()))
    }
    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Property, A::Error> {
        Err(A::Error::custom(
            "TOML reads bare dots as tables; put the whole key in quotes: \"socket.timeout.ms\" = 30000",
        ))
    }
}
