//! A producer for tests, benchmarks and the demo: it limits unconfirmed records and confirms each delivery.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Mutex;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};

use super::client_error::KafkaClientError;

/// Timeout of a flush.
const FLUSH: Duration = Duration::from_secs(120);

/// The confirmed deliveries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Produced {
    /// Number of confirmed records.
    pub records: u64,
    /// Size of their payloads in bytes.
    pub bytes: u64,
    /// Number of confirmed records by partition.
    pub by_partition: BTreeMap<i32, i64>,
}

/// Sends records to one topic.
pub struct Producer {
    client: BaseProducer<Deliveries>,
    topic: String,
    in_flight: i32,
}

#[derive(Default)]
struct Deliveries(Mutex<(Produced, Option<Code>)>);

impl ClientContext for Deliveries {
    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "librdkafka reported");
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let Ok(mut state) = self.0.lock() else { return };
        match result {
            Ok(message) => {
                state.0.records += 1;
                state.0.bytes += message.payload_len() as u64;
                *state.0.by_partition.entry(message.partition()).or_default() += 1;
            }
            Err((error, _)) => state.1 = Some(error.rdkafka_error_code().unwrap_or(Code::Fail)),
        }
    }
}

impl Producer {
    /// Creates a producer to `topic` with at most `in_flight` unconfirmed records. `config` has addresses and
    /// login, and may tune; this function ensures order and single delivery (`enable.idempotence`).
    ///
    /// # Errors
    /// [`KafkaClientError::Client`].
    pub fn new(config: &ClientConfig, topic: &str, in_flight: u16) -> Result<Self, KafkaClientError> {
        let mut config = config.clone();
        config
            .set("enable.idempotence", "true")
            .set("partitioner", "murmur2_random");
        for (key, value) in [("message.max.bytes", "33554432"), ("linger.ms", "5")] {
            if config.get(key).is_none() {
                config.set(key, value);
            }
        }
        let client = config
            .create_with_context(Deliveries::default())
            .map_err(|error| match error {
                KafkaError::ClientCreation(reason) => KafkaClientError::Client(reason),
                other => {
                    KafkaClientError::Client(other.rdkafka_error_code().unwrap_or(Code::Fail).to_string())
                }
            })?;
        Ok(Self {
            client,
            topic: topic.to_owned(),
            in_flight: i32::from(in_flight.max(1)),
        })
    }

    /// Creates a producer to brokers without a login.
    ///
    /// # Errors
    /// [`KafkaClientError::Client`].
    pub fn plain(brokers: &str, topic: &str, in_flight: u16) -> Result<Self, KafkaClientError> {
        Self::new(
            ClientConfig::new().set("bootstrap.servers", brokers),
            topic,
            in_flight,
        )
    }

    /// Sends one record after waiting for room. Without a partition, the key's hash selects it as in Kafka's
    /// own clients; without a payload, the record is a tombstone.
    ///
    /// # Errors
    /// [`KafkaClientError::Undelivered`] for this record or an earlier one.
    pub fn send(
        &self,
        partition: Option<i32>,
        key: Option<&[u8]>,
        payload: Option<&[u8]>,
    ) -> Result<(), KafkaClientError> {
        self.client.poll(Duration::ZERO);
        while self.client.in_flight_count() >= self.in_flight {
            self.client.poll(Duration::from_millis(10));
        }
        self.failure()?;
        let mut record = BaseRecord::<[u8], [u8]>::to(&self.topic);
        record.partition = partition;
        record.key = key;
        record.payload = payload;
        loop {
            match self.client.send(record) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(Code::QueueFull), back)) => {
                    record = back;
                    self.client.poll(Duration::from_millis(10));
                }
                Err((error, _)) => {
                    return Err(self.undelivered(error.rdkafka_error_code().unwrap_or(Code::Fail)));
                }
            }
        }
    }

    /// Sends each line as one record without a key, and skips blank lines.
    ///
    /// # Errors
    /// [`LinesError`].
    pub fn send_lines(&self, mut lines: impl BufRead) -> Result<(), LinesError> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if lines.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            let payload = line.trim_ascii_end();
            if !payload.is_empty() {
                self.send(None, None, Some(payload))?;
            }
        }
    }

    /// Waits until every record is confirmed, and returns the deliveries since the producer was created.
    ///
    /// # Errors
    /// [`KafkaClientError::Undelivered`] if a record was not delivered, [`KafkaClientError::Broker`] if the flush
    /// timed out.
    pub fn finish(&self) -> Result<Produced, KafkaClientError> {
        self.client
            .flush(FLUSH)
            .map_err(|error| KafkaClientError::Broker {
                what: "waiting for deliveries",
                code: error.rdkafka_error_code().unwrap_or(Code::Fail),
            })?;
        self.failure()?;
        let state = self.client.context().0.lock();
        Ok(state.map(|state| state.0.clone()).unwrap_or_default())
    }

    fn failure(&self) -> Result<(), KafkaClientError> {
        let failed = self
            .client
            .context()
            .0
            .lock()
            .map_or(Some(Code::Fail), |state| state.1);
        failed.map_or(Ok(()), |code| Err(self.undelivered(code)))
    }

    fn undelivered(&self, code: Code) -> KafkaClientError {
        KafkaClientError::Undelivered {
            topic: self.topic.clone(),
            code,
        }
    }
}

/// Why lines could not be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinesError {
    /// The lines could not be read.
    #[error("reading lines: {0}")]
    Read(#[from] std::io::Error),
    /// The records could not be delivered.
    #[error(transparent)]
    Kafka(#[from] KafkaClientError),
}
