//! Responses of real brokers: reached, refused, missing. `scripts/test` starts the brokers.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::time::Duration;

use lethe_connectors::kafka::{Cluster, KafkaClientError, KafkaConfig, Producer};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;

const TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run scripts/test, or scripts/with-servers cargo test -p lethe-connectors-tests")
    })
}

fn config(brokers: &str, topic: &str, more: &str) -> KafkaConfig {
    toml::from_str(&format!(
        "brokers = [\"{brokers}\"]\ntopics = [\"{topic}\"]\ngroup = \"settings\"\n{more}"
    ))
    .unwrap()
}

pub(crate) fn secure(topic: &str, user: &str, password: &str, ca: &str) -> KafkaConfig {
    let security = format!(
        "[security]\nprotocol = \"sasl\"\nmechanism = \"SCRAM-SHA-512\"\nuser = \"{user}\"\npassword = \"{password}\"\nca = \"{ca}\""
    );
    config(&env("LETHE_TEST_KAFKA_SECURE"), topic, &security)
}

pub(crate) fn connect(config: &KafkaConfig) -> Cluster {
    Cluster::connect(config, TIMEOUT).unwrap()
}

/// Creates a topic for this run.
fn topic(brokers: &str, stem: &str, partitions: i32) -> String {
    let name = format!("settings-{stem}-{}", std::process::id());
    let admin: AdminClient<DefaultClientContext> = rdkafka::ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .create()
        .unwrap();
    let new = NewTopic::new(&name, partitions, TopicReplication::Fixed(1));
    let made = futures::executor::block_on(admin.create_topics([&new], &AdminOptions::new())).unwrap();
    assert_eq!(made, [Ok(name.clone())]);
    name
}

#[test]
fn a_cluster_tells_its_id_and_a_topic_its_partitions() {
    let brokers = env("LETHE_TEST_KAFKA");
    let topic = topic(&brokers, "partitions", 5);
    let cluster = connect(&config(&brokers, &topic, ""));
    assert!(
        cluster.id().unwrap().is_some_and(|id| id.len() == 22),
        "a Kafka cluster id has 22 characters"
    );
    assert_eq!(cluster.topic(&topic).unwrap().partitions, [0, 1, 2, 3, 4]);
    assert_eq!(cluster.committed(&topic, 4).unwrap(), None);
}

#[test]
fn lines_are_delivered_and_counted() {
    let brokers = env("LETHE_TEST_KAFKA");
    let topic = topic(&brokers, "lines", 3);
    let producer = Producer::plain(&brokers, &topic, 100).unwrap();
    let lines: String = (0..5_000)
        .map(|i| format!("{{\"note_id\":\"n{i}\",\"text\":\"Seen.\"}}\n"))
        .collect();
    producer.send_lines(lines.as_bytes()).unwrap();
    producer.send(Some(1), Some(b"gone"), None).unwrap();
    let produced = producer.finish().unwrap();
    assert_eq!(produced.records, 5_001);
    let cluster = connect(&config(&brokers, &topic, ""));
    for (&partition, &sent) in &produced.by_partition {
        assert_eq!(cluster.watermarks(&topic, partition).unwrap(), (0, sent));
    }
}

#[test]
fn a_record_of_20_megabytes_is_delivered() {
    let brokers = env("LETHE_TEST_KAFKA");
    let topic = topic(&brokers, "large", 1);
    let producer = Producer::plain(&brokers, &topic, 2).unwrap();
    producer.send(None, None, Some(&vec![b'x'; 20_000_000])).unwrap();
    assert_eq!(producer.finish().unwrap().bytes, 20_000_000);
}

#[test]
fn a_topic_that_is_missing_is_told_and_not_created() {
    let cluster = connect(&config(&env("LETHE_TEST_KAFKA"), "no-such-topic", ""));
    for _ in 0..2 {
        let error = cluster.topic("no-such-topic").unwrap_err();
        assert!(
            matches!(&error, KafkaClientError::TopicMissing { topic } if topic == "no-such-topic"),
            "{error}"
        );
    }
}

#[test]
fn a_login_over_tls_reaches_the_secure_broker() {
    let topic = topic(&env("LETHE_TEST_KAFKA_SECURE_PLAIN"), "secure", 2);
    let config = secure(
        &topic,
        &env("LETHE_TEST_KAFKA_SECURE_USER"),
        &env("LETHE_TEST_KAFKA_SECURE_PASSWORD"),
        &env("LETHE_TEST_KAFKA_SECURE_CA"),
    );
    let cluster = connect(&config);
    assert!(cluster.id().unwrap().is_some());
    assert_eq!(cluster.topic(&topic).unwrap().partitions, [0, 1]);
    let producer = Producer::new(&config.connection().unwrap(), &topic, 10).unwrap();
    producer.send(Some(1), None, Some(b"{}")).unwrap();
    producer.finish().unwrap();
    assert_eq!(cluster.watermarks(&topic, 1).unwrap(), (0, 1));
}

#[test]
fn a_refused_login_is_reported_as_such_without_the_password() {
    let config = secure(
        "any",
        &env("LETHE_TEST_KAFKA_SECURE_USER"),
        "not-the-password",
        &env("LETHE_TEST_KAFKA_SECURE_CA"),
    );
    let error = connect(&config).id().unwrap_err();
    assert!(matches!(error, KafkaClientError::Login { .. }), "{error}");
    assert!(!error.to_string().contains("not-the-password"), "{error}");
}

#[test]
fn a_broker_whose_authority_is_not_trusted_is_told_as_tls() {
    let security =
        "[security]\nprotocol = \"sasl\"\nmechanism = \"SCRAM-SHA-512\"\nuser = \"u\"\npassword = \"p\"";
    let error = connect(&config(&env("LETHE_TEST_KAFKA_SECURE"), "any", security))
        .id()
        .unwrap_err();
    assert!(matches!(error, KafkaClientError::Tls { .. }), "{error}");
}

#[test]
fn an_authority_that_is_no_file_is_told_before_anything_is_reached() {
    let error = Cluster::connect(&secure("any", "u", "p", "/no/such/ca.pem"), TIMEOUT)
        .err()
        .unwrap();
    assert!(matches!(error, KafkaClientError::Client(_)), "{error}");
}

#[test]
fn rights_that_are_not_there_are_told_apart_from_topics_that_are_not() {
    let topic = topic(&env("LETHE_TEST_KAFKA_SECURE_PLAIN"), "denied", 1);
    let cluster = connect(&secure(
        &topic,
        &env("LETHE_TEST_KAFKA_SECURE_DENIED_USER"),
        &env("LETHE_TEST_KAFKA_SECURE_DENIED_PASSWORD"),
        &env("LETHE_TEST_KAFKA_SECURE_CA"),
    ));
    cluster.id().unwrap();
    let error = cluster.topic(&topic).unwrap_err();
    assert!(matches!(error, KafkaClientError::TopicDenied { .. }), "{error}");
    let error = cluster.committed(&topic, 0).unwrap_err();
    assert!(matches!(error, KafkaClientError::GroupDenied { .. }), "{error}");
}
