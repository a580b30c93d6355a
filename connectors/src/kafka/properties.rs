//! The librdkafka settings that are refused, each with the reason.
//!
//! Most keys of librdkafka's CONFIGURATION.md tune timeouts and sockets and are for the operator to set.
//! These are refused: each would lose or repeat notes, reveal secrets, or take memory that the budget has
//! assigned elsewhere.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// A refused setting, unless it has the value that Lethe itself sets.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    /// librdkafka's keys, aliases included.
    pub keys: &'static [&'static str],
    /// The value that changes nothing, if there is one.
    pub unless: Option<&'static str>,
    /// The guarantee that it would break.
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

/// All refused settings.
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
        "it would commit offsets of notes that are not in a file yet, and a crash would lose them",
        DROP,
    ),
    refused(
        &["auto.commit.interval.ms"],
        None,
        "commits do not follow a timer: an offset is released when its file is durable",
        "set when files are rolled",
    ),
    refused(
        &["enable.auto.offset.store"],
        Some("false"),
        "it would store offsets of notes that are not in a file yet",
        DROP,
    ),
    refused(
        &[
            "offset.store.method",
            "offset.store.path",
            "offset.store.sync.interval.ms",
        ],
        None,
        "offsets are stored with the output, so that they cannot disagree with it",
        DROP,
    ),
    refused(
        &["auto.offset.reset"],
        Some("error"),
        "an offset outside the log would silently move to its start or end and repeat or lose notes",
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
        "a record that was damaged in transit would become a note",
        DROP,
    ),
    refused(
        &["enable.partition.eof"],
        Some("true"),
        "Lethe needs it to detect the end of a partition",
        DROP,
    ),
    refused(
        &["allow.auto.create.topics"],
        Some("false"),
        "a mistyped topic would be created and stay empty",
        "create the topic",
    ),
    refused(
        &["topic.blacklist"],
        None,
        "configured topics would be silently ignored",
        "list in `topics` only the topics to read",
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
            "sasl.kerberos.service.name",
            "sasl.kerberos.principal",
            "sasl.kerberos.keytab",
            "sasl.kerberos.min.time.before.relogin",
        ],
        None,
        "it would be set twice",
        BLOCK,
    ),
    refused(
        &["sasl.kerberos.kinit.cmd"],
        None,
        "a shell would run it",
        "set `keytab` in the `security` table, or keep the ticket cache valid by other means",
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
        "`properties` may be printed, but secrets must not be",
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
        "an impostor of the broker could inject and read notes",
        "set the broker's certificate authority as `ca` in the `security` table",
    ),
    refused(
        &["debug"],
        None,
        "librdkafka's debug output may contain notes, keys or logins, which Lethe never logs",
        "raise Lethe's own log level",
    ),
    refused(
        &["statistics.interval.ms"],
        Some("0"),
        "librdkafka would write its full statistics to the log each time",
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
        "foreign code would see every note before redaction",
        DROP,
    ),
    refused(
        &["test.mock.num.brokers", "test.mock.broker.rtt"],
        None,
        "a mock cluster would replace the brokers",
        "run `lethe demo` to see Lethe without a broker",
    ),
];

impl Refused {
    /// Returns the rule that refuses this setting, if there is one.
    pub fn of(key: &str, value: &str) -> Option<&'static Self> {
        REFUSED
            .iter()
            .find(|rule| rule.keys.contains(&key) && rule.unless != Some(value))
    }
}

/// A librdkafka setting's value, written as a string, an integer or a Boolean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property(pub String);

impl JsonSchema for Property {
    fn schema_name() -> Cow<'static, str> {
        "Property".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer", "boolean"] })
    }
}

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
