//! Handles rebalances and back-pressure: opens, closes, pauses and resumes partitions.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rdkafka::client::{ClientContext, OAuthToken};
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{Statistics, TopicPartitionList};

use super::SourceSettings;
use crate::Stop;
use crate::kafka::login_report::code_of_report;
use crate::kafka::token::Login;
use crate::source::flow::Flows;
use crate::source::{LaneError, Lanes, Partition, RawRecord};

/// The consumer's callbacks, and what they share with the poll loop.
pub(super) struct Context {
    lanes: Arc<dyn Lanes>,
    flow: Mutex<Flows>,
    drain: Duration,
    stop: Stop,
    login: Login,
    login_interrupted: AtomicBool,
    connected: AtomicBool,
}

impl Context {
    /// Returns the lanes.
    pub(super) fn lanes(&self) -> &dyn Lanes {
        self.lanes.as_ref()
    }

    /// Returns the stop that interrupts every wait.
    pub(super) const fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns the limit for draining lanes.
    pub(super) const fn drain(&self) -> Duration {
        self.drain
    }

    /// Returns the consumer's login in addition to its settings.
    pub(super) const fn login(&self) -> &Login {
        &self.login
    }

    /// Returns a context without lanes.
    pub(super) fn new(lanes: Arc<dyn Lanes>, settings: &SourceSettings, login: Login) -> Self {
        Self {
            lanes,
            flow: Mutex::default(),
            drain: settings.drain,
            stop: settings.stop.clone(),
            login,
            login_interrupted: AtomicBool::new(false),
            connected: AtomicBool::new(true),
        }
    }

    /// Returns whether the last error of the consumer was a connection that was lost during the login.
    /// librdkafka reports an error here before a poll returns it.
    pub(super) fn login_was_interrupted(&self) -> bool {
        self.login_interrupted.load(Ordering::Relaxed)
    }

    /// Returns whether a broker is connected, as far as librdkafka has told. True at first.
    pub(super) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }

    /// Notes that a record arrived. It may have been fetched before the connection was lost; the next statistics
    /// tell.
    pub(super) fn hear(&self) {
        self.connected.store(true, Ordering::Relaxed);
    }

    /// Locks the lanes' state. The caller must not hold it while a callback may run.
    pub(super) fn flow(&self) -> MutexGuard<'_, Flows> {
        // A panic cannot leave it inconsistent: each change is one insertion or removal.
        self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a record to its lane, or keeps it and pauses its partition.
    pub(super) fn deliver(&self, consumer: &BaseConsumer<Self>, record: RawRecord) {
        let full = self.flow().deliver(self.lanes.as_ref(), record);
        if let Some(partition) = full {
            pause(consumer, &partition, true);
        }
    }

    /// Passes waiting records to lanes that have room, and resumes those without waiting records.
    ///
    /// A pause discards librdkafka's prefetched records, so a lane is resumed only once it has substantially
    /// more room.
    pub(super) fn refill(&self, consumer: &BaseConsumer<Self>) {
        let resumed = self.flow().refill(self.lanes.as_ref());
        for partition in &resumed {
            pause(consumer, partition, false);
        }
    }
}

/// Pauses or resumes an assigned partition.
pub(super) fn pause(consumer: &BaseConsumer<Context>, (topic, partition): &Partition, on: bool) {
    let mut list = TopicPartitionList::new();
    list.add_partition(topic, *partition);
    let result = if on {
        consumer.pause(&list)
    } else {
        consumer.resume(&list)
    };
    if let Err(error) = result {
        // It was revoked in the meantime; the rebalance that follows closes its lane.
        tracing::debug!(%topic, partition, %error, on, "pause or resume");
    }
}

impl ClientContext for Context {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.login.token()
    }

    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        use RDKafkaLogLevel as Level;
        match level {
            Level::Emerg | Level::Alert | Level::Critical | Level::Error => {
                tracing::error!(facility, "{message}")
            }
            Level::Warning => tracing::warn!(facility, "{message}"),
            Level::Notice | Level::Info => tracing::info!(facility, "{message}"),
            Level::Debug => tracing::debug!(facility, "{message}"),
        }
    }

    fn stats(&self, statistics: Statistics) {
        // A logical broker, such as the group's coordinator, has no connection of its own.
        let mut brokers = statistics.brokers.values();
        let connected = brokers.any(|broker| broker.source != "logical" && broker.state == "UP");
        self.connected.store(connected, Ordering::Relaxed);
        let mut ends = Vec::new();
        {
            let flow = self.flow();
            for (topic, of_topic) in &statistics.topics {
                for (&partition, of_partition) in &of_topic.partitions {
                    // Consumers of committed records see the log up to the first open transaction.
                    let high = match of_partition.ls_offset {
                        stable if stable >= 0 => stable,
                        _ => of_partition.hi_offset,
                    };
                    let partition: Partition = (topic.as_str().into(), partition);
                    if high >= 0 && flow.lanes.contains_key(&partition) {
                        ends.push((partition, high));
                    }
                }
            }
        }
        for (partition, high) in &ends {
            self.lanes.log_end(partition, *high);
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        let interrupted = error
            .rdkafka_error_code()
            .is_some_and(|code| code_of_report(code, reason) != code);
        self.login_interrupted.store(interrupted, Ordering::Relaxed);
        if error.rdkafka_error_code() == Some(RDKafkaErrorCode::AllBrokersDown) {
            self.connected.store(false, Ordering::Relaxed);
        }
        if !matches!(error, KafkaError::Global(RDKafkaErrorCode::PartitionEOF)) {
            tracing::warn!(%error, reason, "kafka; trying again");
        }
    }
}

impl ConsumerContext for Context {
    fn rebalance(&self, consumer: &BaseConsumer<Self>, err: RDKafkaRespErr, list: &mut TopicPartitionList) {
        let cooperative = matches!(consumer.rebalance_protocol(), RebalanceProtocol::Cooperative);
        let done = match err {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS => {
                let placed = match self.assign(consumer, list) {
                    Ok(placed) => placed,
                    Err(error) => {
                        self.flow().failed = Some(error);
                        // Assign nothing: the run ends in the next iteration of the loop.
                        TopicPartitionList::new()
                    }
                };
                let done = if cooperative {
                    consumer.incremental_assign(&placed)
                } else {
                    consumer.assign(&placed)
                };
                for (partition, _) in self.flow().lanes.iter().filter(|(_, lane)| lane.halted) {
                    pause(consumer, partition, true);
                }
                done
            }
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS => {
                self.release(consumer, list);
                if cooperative {
                    consumer.incremental_unassign(list)
                } else {
                    consumer.unassign()
                }
            }
            other => {
                tracing::warn!(code = ?other, "kafka; rebalance failed, trying again");
                let held: Vec<Partition> = std::mem::take(&mut self.flow().lanes).into_keys().collect();
                self.lanes.abandon(&held);
                consumer.unassign()
            }
        };
        if let Err(error) = done {
            self.flow().failed = Some(LaneError::Failed(format!("kafka: rebalance: {error}")));
        }
    }
}
