//! Emits messages to a topic exactly once: each stretch of a chain is one transaction, which also commits the
//! position.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use rdkafka::client::{ClientContext, OAuthToken};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};
use rdkafka::{Offset, TopicPartitionList};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{EmitError, Emitter, Stretch};
use crate::kafka::token::Quiet;
use crate::kafka::{
    Assignment, FetchBudget, KafkaClientError, KafkaConfig, KafkaConfigError, Login, Property, Security,
};
use crate::sink::ChainId;
use crate::source::Start;

/// Limit of a request within a transaction.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client is polled for events before a call that does not poll.
const SERVED: Duration = Duration::from_millis(20);

/// Settings of a topic that messages are emitted to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KafkaEmitConfig {
    /// Bootstrap brokers, each `host:port`.
    #[schemars(extend("examples" = [["broker-1:9092"]]))]
    pub brokers: Vec<String>,
    /// The topic. It must exist.
    #[schemars(extend("examples" = ["notes-redacted"]))]
    pub topic: String,
    /// The consumer group that stores each chain's position. Its newest emitter fences the others off.
    #[serde(default = "group")]
    pub group: String,
    /// TLS and login. By default connections are neither encrypted nor authenticated.
    #[serde(default)]
    pub security: Security,
    /// Further librdkafka settings by their own keys. Lethe refuses those that would break a guarantee, and
    /// names the reason.
    #[serde(default)]
    #[schemars(extend("examples" = [{ "linger.ms": 50 }]))]
    pub properties: BTreeMap<String, Property>,
}

fn group() -> String {
    "lethe-emit".to_owned()
}

impl KafkaEmitConfig {
    fn as_client(&self) -> KafkaConfig {
        KafkaConfig {
            brokers: self.brokers.clone(),
            topics: vec![self.topic.clone()],
            group: self.group.clone(),
            start: Start::default(),
            assignment: Assignment::default(),
            group_instance_id: None,
            security: self.security.clone(),
            properties: self.properties.clone(),
        }
    }

    /// Connects to the brokers and looks up the topic.
    ///
    /// # Errors
    /// [`KafkaConfigError`] for the settings, [`KafkaClientError`] for the cluster.
    pub fn build(&self) -> Result<KafkaEmitter, EmitBuildError> {
        let client = self.as_client();
        let budget = FetchBudget {
            bytes: 8 << 20,
            queues: 1,
        };
        let login = client.login();
        let consumer = client
            .client_config(budget)?
            .create_with_context(Quiet(login.clone()))
            .map_err(client_error)?;
        let cluster = crate::kafka::Cluster::connect(&client, TIMEOUT)?;
        let partitions = cluster.topic(&self.topic)?.partitions.len();
        Ok(KafkaEmitter {
            topic: self.topic.clone(),
            partitions: i32::try_from(partitions).unwrap_or(i32::MAX).max(1),
            config: self.clone(),
            consumer,
            login,
            producers: HashMap::new(),
        })
    }
}

/// Why a topic cannot be emitted to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmitBuildError {
    /// The settings are wrong.
    #[error("key {0}")]
    Settings(#[from] KafkaConfigError),
    /// The cluster refused or does not respond.
    #[error(transparent)]
    Cluster(#[from] KafkaClientError),
}

fn client_error(error: KafkaError) -> KafkaClientError {
    KafkaClientError::Client(error.rdkafka_error_code().unwrap_or(Code::Fail).to_string())
}

/// Records the code of the first failed delivery of the open transaction.
struct Deliveries(Mutex<Option<Code>>, Login);

impl ClientContext for Deliveries {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.1.token()
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "librdkafka reported");
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if let (Err((error, _)), Ok(mut failed)) = (result, self.0.lock()) {
            failed.get_or_insert(error.rdkafka_error_code().unwrap_or(Code::Fail));
        }
    }
}

/// Emits to a topic. The partition is the source's, modulo the topic's number of partitions. The headers
/// `lethe-topic`, `lethe-partition` and `lethe-offset` name the source record.
pub struct KafkaEmitter {
    topic: String,
    partitions: i32,
    config: KafkaEmitConfig,
    /// Represents the group; it is never subscribed.
    consumer: BaseConsumer<Quiet>,
    /// The login of every client of this emitter.
    login: Login,
    /// One per chain, so that a second emitter of a chain fences off only that chain's first one.
    producers: HashMap<ChainId, BaseProducer<Deliveries>>,
}

impl std::fmt::Debug for KafkaEmitter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.describe())
    }
}

impl KafkaEmitter {
    fn producer(&mut self, chain: &ChainId) -> Result<&BaseProducer<Deliveries>, EmitBuildError> {
        if !self.producers.contains_key(chain) {
            let mut config = self.config.as_client().connection()?;
            config
                .set("enable.idempotence", "true")
                .set("transactional.id", format!("{}-{chain}", self.config.group));
            for (key, value) in [("message.max.bytes", "134217728"), ("linger.ms", "5")] {
                if config.get(key).is_none() {
                    config.set(key, value);
                }
            }
            let producer: BaseProducer<Deliveries> = config
                .create_with_context(Deliveries(Mutex::default(), self.login.clone()))
                .map_err(client_error)?;
            // Fetches a token if one is needed: the calls below wait for it but serve no events.
            producer.poll(SERVED);
            producer.init_transactions(TIMEOUT).map_err(client_error)?;
            self.producers.insert(chain.clone(), producer);
        }
        Ok(&self.producers[chain])
    }

    fn offsets(chain: &ChainId, next: i64) -> Result<TopicPartitionList, KafkaError> {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&chain.topic, chain.partition, Offset::Offset(next))?;
        Ok(list)
    }

    /// Runs one transaction. After an error, consumers of committed records see nothing of it.
    fn transact(&self, chain: &ChainId, stretch: &Stretch) -> Result<(), KafkaError> {
        let missing = |what: &str| KafkaError::ClientCreation(what.to_owned());
        let producer = self.producers.get(chain).ok_or_else(|| missing("no producer"))?;
        let group = self
            .consumer
            .group_metadata()
            .ok_or_else(|| missing("no group"))?;
        // Replaces a token that expired while nothing was emitted.
        producer.poll(SERVED);
        producer.begin_transaction()?;
        for message in &stretch.messages {
            self.send(producer, chain, message)?;
        }
        producer.flush(TIMEOUT)?;
        if let Ok(mut failed) = producer.context().0.lock()
            && let Some(code) = failed.take()
        {
            return Err(KafkaError::MessageProduction(code));
        }
        producer.send_offsets_to_transaction(&Self::offsets(chain, stretch.next)?, &group, TIMEOUT)?;
        producer.commit_transaction(TIMEOUT)
    }

    fn send(
        &self,
        producer: &BaseProducer<Deliveries>,
        chain: &ChainId,
        message: &super::Message,
    ) -> Result<(), KafkaError> {
        let (partition, offset) = (chain.partition.to_string(), message.offset.to_string());
        let header = |key, value| Header {
            key,
            value: Some(value),
        };
        let headers = OwnedHeaders::new()
            .insert(header("lethe-topic", &*chain.topic))
            .insert(header("lethe-partition", &partition))
            .insert(header("lethe-offset", &offset));
        let mut record = BaseRecord::<(), [u8]>::to(&self.topic)
            .partition(chain.partition % self.partitions)
            .payload(&message.bytes)
            .headers(headers);
        loop {
            match producer.send(record) {
                Ok(()) => return Ok(()),
                // The producer's queue is full: its messages must be sent first.
                Err((KafkaError::MessageProduction(Code::QueueFull), back)) => {
                    producer.poll(Duration::from_millis(20));
                    record = back;
                }
                Err((error, _)) => return Err(error),
            }
        }
    }
}

#[async_trait]
impl Emitter for KafkaEmitter {
    async fn position(&mut self, chain: &ChainId) -> Result<i64, EmitError> {
        // Runs before the position is read: it aborts an open transaction of an earlier emitter.
        tokio::task::block_in_place(|| self.producer(chain).map(drop)).map_err(|error| match error {
            EmitBuildError::Cluster(client_error) => EmitError::Kafka(client_error),
            EmitBuildError::Settings(error) => EmitError::Kafka(KafkaClientError::Client(error.to_string())),
        })?;
        let committed = tokio::task::block_in_place(|| {
            let mut list = TopicPartitionList::new();
            list.add_partition(&chain.topic, chain.partition);
            // Nothing is subscribed, so polling returns no record; it only serves token requests.
            drop(self.consumer.poll(SERVED));
            self.consumer.committed_offsets(list, TIMEOUT)
        });
        let committed = committed.map_err(client_error)?;
        let found = committed.find_partition(&chain.topic, chain.partition);
        Ok(match found.map(|one| one.offset()) {
            Some(Offset::Offset(offset)) => offset,
            _ => 0,
        })
    }

    async fn emit(&mut self, chain: &ChainId, stretch: &Stretch) -> Result<(), EmitError> {
        tokio::task::block_in_place(|| {
            let Err(error) = self.transact(chain, stretch) else {
                return Ok(());
            };
            let code = error.rdkafka_error_code().unwrap_or(Code::Fail);
            let fenced = matches!(&error, KafkaError::Transaction(of) if of.is_fatal())
                || matches!(
                    code,
                    Code::ProducerFenced | Code::InvalidProducerEpoch | Code::Fenced
                );
            if fenced {
                self.producers.remove(chain);
                return Err(EmitError::Fenced { chain: chain.clone() });
            }
            let aborted = self
                .producers
                .get(chain)
                .map(|producer| producer.abort_transaction(TIMEOUT));
            if let Some(Err(error)) = aborted {
                tracing::debug!(%error, "could not abort the transaction; a new producer will abort it");
                self.producers.remove(chain);
            }
            Err(EmitError::Aborted {
                chain: chain.clone(),
                topic: self.topic.clone(),
                code: code.to_string(),
            })
        })
    }

    fn describe(&self) -> String {
        format!("topic {} as group {}", self.topic, self.config.group)
    }
}
