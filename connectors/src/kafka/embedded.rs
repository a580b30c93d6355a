//! Runs the demo's broker: librdkafka's mock cluster, in this process, on a port of 127.0.0.1.
//!
//! It speaks the protocol to any Kafka client, and forgets everything when dropped. It keeps at most 5 MiB or
//! 100,000 batches per partition and silently drops the oldest. So records are counted when sent and verified
//! afterwards: a demo that lost notes before it began would prove nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::error::RDKafkaErrorCode as Code;
use rdkafka::producer::{BaseProducer, DefaultProducerContext, Producer as _};

use super::client_error::KafkaClientError;
use super::produce::{Produced, Producer};

const TIMEOUT: Duration = Duration::from_secs(10);
/// Few enough for the mock's response rate.
const IN_FLIGHT: u16 = 500;

/// A broker that lives as long as this value.
pub struct EmbeddedBroker {
    /// The client that owns the mock cluster.
    owner: BaseProducer<DefaultProducerContext>,
    bootstrap: String,
}

impl EmbeddedBroker {
    /// Starts the broker.
    ///
    /// # Errors
    /// [`KafkaClientError::Client`] or [`KafkaClientError::Broker`].
    pub fn start() -> Result<Self, KafkaClientError> {
        let owner: BaseProducer<DefaultProducerContext> = ClientConfig::new()
            .set("client.id", "lethe-embedded-broker")
            .set("test.mock.num.brokers", "1")
            .create()
            .map_err(|error| KafkaClientError::Client(error.to_string()))?;
        let bootstrap = owner
            .client()
            .mock_cluster()
            .map(|cluster| cluster.bootstrap_servers())
            .ok_or(KafkaClientError::Broker {
                what: "starting the embedded broker",
                code: Code::Fail,
            })?;
        Ok(Self { owner, bootstrap })
    }

    /// Returns its address, `host:port`.
    pub fn bootstrap_servers(&self) -> &str {
        &self.bootstrap
    }

    /// Creates a topic.
    ///
    /// # Errors
    /// [`KafkaClientError::Broker`].
    pub fn create_topic(&self, name: &str, partitions: i32) -> Result<(), KafkaClientError> {
        let failed = |code| KafkaClientError::Broker {
            what: "creating a topic of the embedded broker",
            code,
        };
        self.owner
            .client()
            .mock_cluster()
            .ok_or_else(|| failed(Code::Fail))?
            .create_topic(name, partitions, 1)
            .map_err(|error| failed(error.rdkafka_error_code().unwrap_or(Code::Fail)))
    }

    /// Sends records of (key, payload) to an empty topic, and verifies that the broker holds all of them. A
    /// record without payload is a tombstone.
    ///
    /// # Errors
    /// [`KafkaClientError::Undelivered`], or [`KafkaClientError::Trimmed`] if the broker has dropped any.
    pub fn produce<K: AsRef<[u8]>, P: AsRef<[u8]>>(
        &self,
        topic: &str,
        records: impl IntoIterator<Item = (K, Option<P>)>,
    ) -> Result<Produced, KafkaClientError> {
        let producer = Producer::plain(&self.bootstrap, topic, IN_FLIGHT)?;
        for (key, payload) in records {
            producer.send(None, Some(key.as_ref()), payload.as_ref().map(P::as_ref))?;
        }
        let produced = producer.finish()?;
        self.holds(topic, &produced.by_partition)?;
        Ok(produced)
    }

    /// Checks that each partition holds as many records as were sent to it.
    fn holds(&self, topic: &str, sent: &BTreeMap<i32, i64>) -> Result<(), KafkaClientError> {
        for (&partition, &sent) in sent {
            let (low, high) = self
                .owner
                .client()
                .fetch_watermarks(topic, partition, TIMEOUT)
                .map_err(|error| KafkaClientError::Broker {
                    what: "reading back watermarks of the embedded broker",
                    code: error.rdkafka_error_code().unwrap_or(Code::Fail),
                })?;
            if low != 0 || high != sent {
                return Err(KafkaClientError::Trimmed {
                    topic: topic.to_owned(),
                    partition,
                    low,
                    high,
                    sent,
                });
            }
        }
        Ok(())
    }
}
