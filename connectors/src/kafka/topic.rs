//! Queries a cluster's metadata.

mod reread;
mod scan;

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdkafka::client::{ClientContext, OAuthToken};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::metadata::Metadata;
use rdkafka::{Offset, TopicPartitionList};

use super::client_error::KafkaClientError;
use super::config::{FetchBudget, KafkaConfig};
use super::ids::topic_ids;
use super::login_report::code_of_report;
use super::token::Login;
use crate::Stop;
use crate::source::TopicIds;

/// Maximum duration of one request before librdkafka's reports are processed.
const STEP: Duration = Duration::from_millis(500);
/// How long to process reports between two requests. With a timeout of zero, a poll ends at the first line
/// that librdkafka logs, and a broker that fails forty times a second logs faster than it is polled.
const SERVED: Duration = Duration::from_millis(20);

/// A topic's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicInfo {
    /// Its name.
    pub name: String,
    /// Sorted numbers of its partitions.
    pub partitions: Vec<i32>,
}

/// A connection for requests. It joins no group and reads no record.
pub struct Cluster {
    client: BaseConsumer<Listener>,
    brokers: String,
    group: String,
    /// What to check after a refused login.
    login_check: &'static str,
    timeout: Duration,
    stop: Option<Stop>,
}

/// Keeps the most informative error that librdkafka reported.
struct Listener {
    last: Mutex<Option<(Code, String)>>,
    /// Whether the brokers refuse the group. librdkafka looks for the coordinator from the start and reports
    /// a refusal once, so it may arrive during a request that needs no group.
    group_refused: AtomicBool,
    /// Whether the last report was of a connection that was lost during the login.
    login_interrupted: AtomicBool,
    login: Login,
}

impl Listener {
    fn forget(&self) {
        if let Ok(mut last) = self.last.lock() {
            *last = None;
        }
    }

    fn login_was_interrupted(&self) -> bool {
        self.login_interrupted.load(Ordering::Relaxed)
    }

    fn last(&self) -> Option<(Code, String)> {
        self.last.lock().map_or(None, |last| last.clone())
    }
}

impl ClientContext for Listener {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.login.token()
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "librdkafka reported");
        let (Some(reported), Ok(mut last)) = (error.rdkafka_error_code(), self.last.lock()) else {
            return;
        };
        let code = code_of_report(reported, reason);
        self.login_interrupted.store(code != reported, Ordering::Relaxed);
        if code == Code::GroupAuthorizationFailed {
            self.group_refused.store(true, Ordering::Relaxed);
            return;
        }
        // A closed connection after a refused login or handshake is less informative than the refusal, and
        // "all brokers down" less than the error before it.
        let keep = match &*last {
            Some((told, _)) => told_why(*told) || code == Code::AllBrokersDown,
            None => false,
        };
        if !keep {
            *last = Some((code, reason.to_owned()));
        }
    }
}

/// What a request needs in addition to a broker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// The right to use the group.
    Group,
}

/// Returns whether the code names the cause.
const fn told_why(code: Code) -> bool {
    matches!(code, Code::Authentication | Code::SSL)
}

impl ConsumerContext for Listener {}

impl Cluster {
    /// Creates a client of the configured brokers. Each request may take `timeout`; none is sent yet.
    ///
    /// # Errors
    /// [`KafkaClientError::Config`] or [`KafkaClientError::Client`].
    pub fn connect(config: &KafkaConfig, timeout: Duration) -> Result<Self, KafkaClientError> {
        let budget = FetchBudget {
            bytes: 8 << 20,
            queues: 1,
        };
        let mut client = config.client_config(budget)?;
        // Requests need no group membership.
        client.remove("group.instance.id");
        let listener = Listener {
            last: Mutex::default(),
            group_refused: AtomicBool::new(false),
            login_interrupted: AtomicBool::new(false),
            login: config.login(),
        };
        let client = client
            .create_with_context::<_, BaseConsumer<Listener>>(listener)
            .map_err(|error| match error {
                KafkaError::ClientCreation(reason) => KafkaClientError::Client(reason),
                other => KafkaClientError::Client(code(&other).to_string()),
            })?;
        Ok(Self {
            client,
            brokers: config.brokers.join(","),
            group: config.group.clone(),
            login_check: config.security.login_check(),
            timeout,
            stop: None,
        })
    }

    /// Abandons a request as soon as a stop is requested; it then fails with [`KafkaClientError::Unreachable`].
    #[must_use]
    pub fn hearing(mut self, stop: &Stop) -> Self {
        self.stop = Some(stop.clone());
        self
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(Stop::is_requested)
    }

    /// Returns the cluster's id, if its brokers have one. Also checks whether they can be reached.
    ///
    /// # Errors
    /// [`KafkaClientError::Unreachable`], [`KafkaClientError::Login`], [`KafkaClientError::Tls`].
    pub fn id(&self) -> Result<Option<String>, KafkaClientError> {
        // Metadata first, since a request for the id alone does not tell why it fails.
        self.ask("asking for the brokers", Needs::Nothing, |step| {
            self.client.fetch_metadata(Some(""), step).or_else(|error| {
                // The brokers reported that a topic with an empty name does not exist, so they responded.
                match code(&error) {
                    Code::InvalidTopic | Code::UnknownTopicOrPartition => {
                        self.client.fetch_metadata(None, step)
                    }
                    _ => Err(error),
                }
            })
        })?;
        let asked = Instant::now();
        loop {
            let id = self.client.client().fetch_cluster_id(STEP.min(self.timeout));
            if id.is_some() || asked.elapsed() >= self.timeout || self.is_stopped() {
                return Ok(id);
            }
        }
    }

    /// Returns the topic's partitions.
    ///
    /// # Errors
    /// [`KafkaClientError::TopicMissing`], [`KafkaClientError::TopicDenied`], or why no broker responded.
    pub fn topic(&self, name: &str) -> Result<TopicInfo, KafkaClientError> {
        let metadata: Metadata = self.ask("asking for the topic", Needs::Nothing, |step| {
            self.client.fetch_metadata(Some(name), step)
        })?;
        let missing = || KafkaClientError::TopicMissing {
            topic: name.to_owned(),
        };
        let topic = metadata
            .topics()
            .iter()
            .find(|topic| topic.name() == name)
            .ok_or_else(missing)?;
        if let Some(error) = topic.error() {
            return Err(match Code::from(error) {
                Code::UnknownTopicOrPartition | Code::UnknownTopic => missing(),
                Code::TopicAuthorizationFailed => KafkaClientError::TopicDenied {
                    topic: name.to_owned(),
                },
                code => KafkaClientError::Broker {
                    what: "asking for the topic",
                    code,
                },
            });
        }
        let mut partitions: Vec<i32> = topic.partitions().iter().map(|p| p.id()).collect();
        partitions.sort_unstable();
        if partitions.is_empty() {
            return Err(missing());
        }
        Ok(TopicInfo {
            name: name.to_owned(),
            partitions,
        })
    }

    /// Returns the ids of these topics as Kafka's own tools print them; topics without an id are left out.
    ///
    /// # Errors
    /// Why no broker responded.
    pub fn topic_ids(&self, names: &[&str]) -> Result<TopicIds, KafkaClientError> {
        self.ask("asking for topic ids", Needs::Nothing, |step| {
            topic_ids(self.client.client(), names, step)
        })
    }

    /// Returns the first offset in the partition's log, and the offset after the last.
    ///
    /// # Errors
    /// [`KafkaClientError::TopicDenied`], or why no broker responded.
    pub fn watermarks(&self, topic: &str, partition: i32) -> Result<(i64, i64), KafkaClientError> {
        self.ask("asking for watermarks", Needs::Nothing, |step| {
            self.client.fetch_watermarks(topic, partition, step)
        })
        .map_err(|problem| denied(problem, topic, &self.group))
    }

    /// Returns the group's committed offset of the partition, if any. Also checks whether the group may be
    /// used.
    ///
    /// # Errors
    /// [`KafkaClientError::GroupDenied`], [`KafkaClientError::TopicDenied`], or why no broker responded.
    pub fn committed(&self, topic: &str, partition: i32) -> Result<Option<i64>, KafkaClientError> {
        let offsets = self
            .ask("asking for committed offsets", Needs::Group, |step| {
                let mut list = TopicPartitionList::new();
                list.add_partition(topic, partition);
                self.client.committed_offsets(list, step)
            })
            .map_err(|problem| denied(problem, topic, &self.group))?;
        let elements = offsets.elements();
        if let Some(Err(error)) = elements.first().map(|element| element.error()) {
            let problem = KafkaClientError::Broker {
                what: "asking for committed offsets",
                code: code(&error),
            };
            return Err(denied(problem, topic, &self.group));
        }
        Ok(elements.first().and_then(|element| match element.offset() {
            Offset::Offset(offset) => Some(offset),
            _ => None,
        }))
    }

    /// Processes pending reports. Nothing is subscribed, so there are no records.
    fn serve(&self) {
        let until = Instant::now() + SERVED;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            // The listener has seen the report; the error itself is less informative.
            drop(self.client.poll(left));
        }
    }

    /// Sends a request in short steps, so that a refused login is reported at once and a broker that starts
    /// late is still found.
    fn ask<T>(
        &self,
        what: &'static str,
        needs: Needs,
        mut question: impl FnMut(Duration) -> Result<T, KafkaError>,
    ) -> Result<T, KafkaClientError> {
        let started = Instant::now();
        self.client.context().forget();
        loop {
            let left = self.timeout.saturating_sub(started.elapsed());
            let error = match question(left.min(STEP).max(Duration::from_millis(1))) {
                Ok(answer) => return Ok(answer),
                Err(error) => code(&error),
            };
            self.serve();
            let last_event = self.client.context().last();
            let no_token = self.client.context().login.trouble().map(|(_, error)| error);
            if let Some(error) = no_token.as_ref().filter(|error| !error.is_temporary()) {
                return Err(KafkaClientError::NoToken(error.clone()));
            }
            if let Some((code, reason)) = last_event.clone() {
                match code {
                    // A missing token has the same code, and may resolve.
                    Code::Authentication if no_token.is_some() => {}
                    Code::Authentication => {
                        return Err(KafkaClientError::Login {
                            reason,
                            check: self.login_check,
                        });
                    }
                    Code::SSL => return Err(KafkaClientError::Tls { reason }),
                    _ => {}
                }
            }
            // Otherwise only the missing coordinator would show it.
            if needs == Needs::Group && self.client.context().group_refused.load(Ordering::Relaxed) {
                return Err(KafkaClientError::GroupDenied {
                    group: self.group.clone(),
                });
            }
            let waiting = matches!(
                error,
                Code::OperationTimedOut
                    | Code::BrokerTransportFailure
                    | Code::AllBrokersDown
                    | Code::RequestTimedOut
                    | Code::TimedOutQueue
                    | Code::CoordinatorNotAvailable
                    | Code::CoordinatorLoadInProgress
                    | Code::WaitingForCoordinator
                    | Code::NotCoordinator
                    | Code::LeaderNotAvailable
                    | Code::NotLeaderForPartition
            );
            if !waiting {
                return Err(KafkaClientError::Broker { what, code: error });
            }
            if started.elapsed() >= self.timeout || self.is_stopped() {
                if let Some(error) = no_token {
                    return Err(KafkaClientError::NoToken(error));
                }
                return Err(KafkaClientError::Unreachable {
                    brokers: self.brokers.clone(),
                    seconds: self.timeout.as_secs(),
                    reason: last_event.map_or_else(|| error.to_string(), |(_, reason)| reason),
                });
            }
            // A refused connection fails at once: leave librdkafka time to retry.
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn code(error: &KafkaError) -> Code {
    error.rdkafka_error_code().unwrap_or(Code::Fail)
}

/// Converts a refusal into its specific error.
fn denied(problem: KafkaClientError, topic: &str, group: &str) -> KafkaClientError {
    match problem {
        KafkaClientError::Broker {
            code: Code::TopicAuthorizationFailed,
            ..
        } => KafkaClientError::TopicDenied {
            topic: topic.to_owned(),
        },
        KafkaClientError::Broker {
            code: Code::GroupAuthorizationFailed,
            ..
        } => KafkaClientError::GroupDenied {
            group: group.to_owned(),
        },
        KafkaClientError::Broker {
            code: Code::UnknownTopicOrPartition | Code::UnknownPartition,
            ..
        } => KafkaClientError::TopicMissing {
            topic: topic.to_owned(),
        },
        other => other,
    }
}
