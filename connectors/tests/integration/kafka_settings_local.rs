//! The Kafka settings without a broker, and the embedded broker.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::time::Duration;

use lethe_connectors::kafka::{
    Cluster, EmbeddedBroker, FetchBudget, KafkaClientError, KafkaConfig, KafkaConfigError, MOST_EXPANSION,
    Producer, REFUSED,
};

const BASE: &str = "brokers = [\"127.0.0.1:9092\"]\ntopics = [\"notes\"]\ngroup = \"lethe\"\n";
const BUDGET: FetchBudget = FetchBudget {
    bytes: 64 << 20,
    queues: 1,
};

fn config(more: &str) -> KafkaConfig {
    toml::from_str(&format!("{BASE}{more}")).unwrap()
}

fn refused(more: &str) -> String {
    config(more).validate().unwrap_err().to_string()
}

#[test]
fn settings_that_the_guarantees_rest_on_are_set() {
    let client = config("").client_config(BUDGET).unwrap();
    for (key, value) in [
        ("bootstrap.servers", "127.0.0.1:9092"),
        ("client.id", "lethe"),
        ("group.id", "lethe"),
        ("partition.assignment.strategy", "cooperative-sticky"),
        ("enable.auto.commit", "false"),
        ("enable.auto.offset.store", "false"),
        ("auto.offset.reset", "error"),
        ("isolation.level", "read_committed"),
        ("check.crcs", "true"),
        ("enable.partition.eof", "true"),
        ("allow.auto.create.topics", "false"),
        ("security.protocol", "plaintext"),
    ] {
        assert_eq!(client.get(key), Some(value), "{key}");
    }
}

#[test]
fn every_refused_setting_is_refused_with_reason_and_remedy() {
    let mut keys = 0;
    for rule in REFUSED {
        for key in rule.keys {
            keys += 1;
            let error = config(&format!("[properties]\n\"{key}\" = \"1\""))
                .validate()
                .unwrap_err();
            let expected = KafkaConfigError::Refused {
                key: (*key).to_owned(),
                reason: rule.reason,
                instead: rule.instead,
            };
            assert_eq!(error, expected);
            let message = error.to_string();
            assert!(message.contains(key) && message.contains(rule.reason) && message.contains(rule.instead));
        }
    }
    assert!(keys > 40, "{keys}");
}

#[test]
fn the_value_that_lethe_sets_itself_is_no_change() {
    for rule in REFUSED {
        for key in rule.keys {
            if let Some(value) = rule.unless {
                config(&format!("[properties]\n\"{key}\" = \"{value}\""))
                    .validate()
                    .unwrap();
            }
        }
    }
}

#[test]
fn every_refused_key_is_one_that_librdkafka_has() {
    let native = rdkafka::ClientConfig::new().create_native_config().unwrap();
    for key in REFUSED.iter().flat_map(|rule| rule.keys) {
        // Legacy topic settings and unset ones are known, but have no value.
        let known = native.get(key).is_ok()
            || rdkafka::ClientConfig::new()
                .set(*key, "")
                .create_native_config()
                .map_or_else(
                    |error| !error.to_string().contains("No such configuration property"),
                    |_| true,
                );
        assert!(known, "{key}");
    }
}

#[test]
fn other_settings_pass_through_whatever_their_type() {
    let client = config(
        "[properties]\n\"socket.timeout.ms\" = 30000\n\"socket.keepalive.enable\" = true\n\"client.id\" = \"ward-7\"\n\"fetch.queue.backoff.ms\" = 5",
    )
    .client_config(BUDGET)
    .unwrap();
    assert_eq!(client.get("socket.timeout.ms"), Some("30000"));
    assert_eq!(client.get("socket.keepalive.enable"), Some("true"));
    assert_eq!(client.get("client.id"), Some("ward-7"));
    assert_eq!(client.get("fetch.queue.backoff.ms"), Some("5"));
}

#[test]
fn settings_that_librdkafka_does_not_know_are_named() {
    let unknown = config("[properties]\n\"socket.timout.ms\" = 1")
        .validate()
        .unwrap_err();
    assert_eq!(unknown, KafkaConfigError::Unknown("socket.timout.ms".to_owned()));
    let value = config("[properties]\n\"socket.timeout.ms\" = \"hunter2\"")
        .validate()
        .unwrap_err();
    assert_eq!(value, KafkaConfigError::Value("socket.timeout.ms".to_owned()));
    assert!(!value.to_string().contains("hunter2"));
    let dotted =
        toml::from_str::<KafkaConfig>(&format!("{BASE}[properties]\nsocket.timeout.ms = 1")).unwrap_err();
    assert!(dotted.to_string().contains("in quotes"), "{dotted}");
}

#[test]
fn names_that_cannot_be_are_refused() {
    for (broken, expected) in [
        ("brokers = []\ntopics = [\"a\"]\ngroup = \"g\"", "`brokers`"),
        (
            "brokers = [\"host\"]\ntopics = [\"a\"]\ngroup = \"g\"",
            "\"host\" is not host:port",
        ),
        (
            "brokers = [\"a:1,b:2\"]\ntopics = [\"a\"]\ngroup = \"g\"",
            "one broker per entry",
        ),
        ("brokers = [\"a:1\"]\ntopics = []\ngroup = \"g\"", "`topics`"),
        (
            "brokers = [\"a:1\"]\ntopics = [\"^notes.*\"]\ngroup = \"g\"",
            "looks like a pattern",
        ),
        (
            "brokers = [\"a:1\"]\ntopics = [\"a b\"]\ngroup = \"g\"",
            "is not a topic name",
        ),
        (
            "brokers = [\"a:1\"]\ntopics = [\"..\"]\ngroup = \"g\"",
            "is not a topic name",
        ),
        (
            "brokers = [\"a:1\"]\ntopics = [\"a\", \"a\"]\ngroup = \"g\"",
            "listed twice",
        ),
        ("brokers = [\"a:1\"]\ntopics = [\"a\"]\ngroup = \" \"", "`group`"),
        (
            "brokers = [\"a:1\"]\ntopics = [\"a\"]\ngroup = \"g\"\ngroup_instance_id = \"\"",
            "`group_instance_id`",
        ),
    ] {
        let message = toml::from_str::<KafkaConfig>(broken)
            .unwrap()
            .validate()
            .unwrap_err()
            .to_string();
        assert!(message.contains(expected), "{message}");
    }
    for broken in [
        "start = \"now\"",
        "assignment = \"sticky\"",
        "topic = \"a\"",
        "[security]\nprotocol = \"ssl\"",
    ] {
        assert!(
            toml::from_str::<KafkaConfig>(&format!("{BASE}{broken}")).is_err(),
            "{broken}"
        );
    }
}

#[test]
fn group_settings_reach_librdkafka() {
    let client = config("assignment = \"roundrobin\"\ngroup_instance_id = \"pod-3\"")
        .client_config(BUDGET)
        .unwrap();
    assert_eq!(client.get("partition.assignment.strategy"), Some("roundrobin"));
    assert_eq!(client.get("group.instance.id"), Some("pod-3"));
}

#[test]
fn security_settings_reach_librdkafka_and_secrets_do_not_print() {
    let sasl = config(
        "[security]\nprotocol = \"sasl\"\nmechanism = \"SCRAM-SHA-512\"\nuser = \"lethe\"\npassword = \"hunter2\"\nca = \"/etc/ca.pem\"",
    );
    let client = sasl.client_config(BUDGET).unwrap();
    for (key, value) in [
        ("security.protocol", "sasl_ssl"),
        ("sasl.mechanism", "SCRAM-SHA-512"),
        ("sasl.username", "lethe"),
        ("sasl.password", "hunter2"),
        ("ssl.ca.location", "/etc/ca.pem"),
    ] {
        assert_eq!(client.get(key), Some(value), "{key}");
    }
    assert!(!format!("{sasl:?} {client:?}").contains("hunter2"));
    let tls = config(
        "[security]\nprotocol = \"tls\"\ncertificate = \"c.pem\"\nkey = \"k.pem\"\nkey_password = \"hunter2\"",
    );
    let client = tls.client_config(BUDGET).unwrap();
    assert_eq!(client.get("security.protocol"), Some("ssl"));
    assert_eq!(client.get("ssl.key.password"), Some("hunter2"));
    assert!(!format!("{tls:?} {client:?}").contains("hunter2"));
}

#[test]
fn a_login_with_tokens_has_a_mechanism_and_no_password() {
    let tokens = config(
        "[security]\nprotocol = \"oauthbearer\"\nca = \"/etc/ca.pem\"\ntoken = { kind = \"file\", path = \"/run/token\" }",
    );
    let client = tokens.client_config(BUDGET).unwrap();
    for (key, value) in [
        ("security.protocol", Some("sasl_ssl")),
        ("sasl.mechanism", Some("OAUTHBEARER")),
        ("ssl.ca.location", Some("/etc/ca.pem")),
        ("sasl.username", None),
        ("sasl.password", None),
    ] {
        assert_eq!(client.get(key), value, "{key}");
    }
    for (token, expected) in [
        ("{ kind = \"file\", path = \"\" }", "`path`"),
        (
            "{ kind = \"endpoint\", url = \"http://idp/t\", client_id = \"a\", client_secret_file = \"s\" }",
            "`security.token`: `url` has no TLS",
        ),
    ] {
        let message = refused(&format!(
            "[security]\nprotocol = \"oauthbearer\"\ntoken = {token}"
        ));
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn security_settings_that_do_not_go_together_are_refused() {
    for (more, expected) in [
        (
            "protocol = \"tls\"\nkey = \"k.pem\"",
            "set both `certificate` and `key`",
        ),
        (
            "protocol = \"sasl\"\nmechanism = \"PLAIN\"\nuser = \"u\"\npassword = \"\"",
            "may not be empty",
        ),
        (
            "protocol = \"sasl\"\nmechanism = \"PLAIN\"\nuser = \"u\"\npassword = \"p\"\ntls = false\nca = \"c\"",
            "no effect",
        ),
    ] {
        let message = refused(&format!("[security]\n{more}"));
        assert!(message.contains(expected), "{message}");
    }
    for more in [
        "protocol = \"plaintext\"\nca = \"c\"",
        "protocol = \"sasl\"\nmechanism = \"GSSAPI\"\nuser = \"u\"\npassword = \"p\"",
    ] {
        assert!(
            toml::from_str::<KafkaConfig>(&format!("{BASE}[security]\n{more}")).is_err(),
            "{more}"
        );
    }
}

#[test]
fn fetch_buffers_stay_within_the_budget() {
    for brokers in [1_usize, 3, 9] {
        for bytes in [4 << 20, 33_000_000, 256 << 20, 4 << 30] {
            for queues in [1, 8, 64] {
                let mut config = config("");
                config.brokers = (0..brokers).map(|i| format!("broker-{i}:9092")).collect();
                let client = config.client_config(FetchBudget { bytes, queues }).unwrap();
                let number = |key| client.get(key).unwrap().parse::<usize>().unwrap();
                let queued = number("queued.max.messages.kbytes") * 1024 * queues;
                // librdkafka raises a fetch to `message.max.bytes`, which is at least 1,000.
                let fetch = number("fetch.max.bytes").max(number("message.max.bytes"));
                let expanded = fetch * brokers * MOST_EXPANSION;
                assert!(
                    queued <= bytes / 2 && (fetch == 1000 || expanded <= bytes),
                    "{bytes} {queues} {brokers}"
                );
                assert_eq!(number("fetch.message.max.bytes"), fetch);
                let mut lifted = self::config("[properties]\n\"fetch.message.max.bytes\" = 1048576");
                lifted.brokers = config.brokers;
                let client = lifted.client_config(FetchBudget { bytes, queues }).unwrap();
                assert_eq!(client.get("fetch.message.max.bytes"), Some("1048576"));
                let fetch: usize = client.get("fetch.max.bytes").unwrap().parse().unwrap();
                assert!(
                    fetch * brokers <= (bytes / 2).max(brokers << 20),
                    "{bytes} {brokers}"
                );
            }
        }
    }
    let least = config("")
        .client_config(FetchBudget {
            bytes: 1 << 20,
            queues: 1,
        })
        .unwrap_err();
    assert!(least.to_string().contains("4194304"), "{least}");
}

fn embedded(bootstrap: &str, topic: &str) -> KafkaConfig {
    toml::from_str(&format!(
        "brokers = [\"{bootstrap}\"]\ntopics = [\"{topic}\"]\ngroup = \"g\""
    ))
    .unwrap()
}

#[test]
fn the_embedded_broker_holds_every_record_that_was_sent() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("notes", 3).unwrap();
    let records = (0..2_000).map(|i| {
        (
            format!("key {}", i % 40),
            (i % 100 != 0).then(|| format!("note {i}")),
        )
    });
    let produced = broker.produce("notes", records).unwrap();
    assert_eq!(produced.records, 2_000);
    let cluster = Cluster::connect(
        &embedded(broker.bootstrap_servers(), "notes"),
        Duration::from_secs(10),
    )
    .unwrap();
    assert!(cluster.id().unwrap().is_some());
    assert_eq!(cluster.topic("notes").unwrap().partitions, [0, 1, 2]);
    let held: i64 = (0..3)
        .map(|p| cluster.watermarks("notes", p).unwrap())
        .map(|(low, high)| high - low)
        .sum();
    assert_eq!(held, 2_000);
    assert_eq!(cluster.committed("notes", 0).unwrap(), None);
}

#[test]
fn the_embedded_broker_says_when_it_has_dropped_records() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("notes", 1).unwrap();
    let note = vec![b'x'; 100_000];
    let error = broker
        .produce("notes", (0..80).map(|_| ("key", Some(&note))))
        .unwrap_err();
    assert!(
        matches!(&error, KafkaClientError::Trimmed { partition: 0, sent: 80, low, .. } if *low > 0),
        "{error}"
    );
}

#[test]
fn lines_are_sent_one_record_each() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("notes", 2).unwrap();
    let producer = Producer::plain(broker.bootstrap_servers(), "notes", 3).unwrap();
    producer
        .send_lines(b"{\"a\":1}\r\n\n{\"b\":2}\n{\"c\":3}".as_slice())
        .unwrap();
    let produced = producer.finish().unwrap();
    assert_eq!((produced.records, produced.bytes), (3, 21));
    assert_eq!(produced.by_partition.values().sum::<i64>(), 3);
}

#[test]
fn a_broker_that_is_down_is_reported_as_unreachable() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let cluster = Cluster::connect(
        &embedded(&format!("127.0.0.1:{port}"), "notes"),
        Duration::from_secs(2),
    )
    .unwrap();
    let error = cluster.id().unwrap_err();
    assert!(
        matches!(&error, KafkaClientError::Unreachable { reason, .. } if reason.contains("refused")),
        "{error}"
    );
}
