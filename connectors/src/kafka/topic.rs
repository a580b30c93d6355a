//! What a cluster says of itself.

mod reread;
mod scan;

use std::error::Error;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rdkafka::client::{ClientContext, OAuthToken};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::metadata::Metadata;
use rdkafka::{Offset, TopicPartitionList};

use super::config::{FetchBudget, KafkaConfig};
use super::ids::{TopicIds, topic_ids};
use super::problem::KafkaProblem;
use super::token::Login;
use crate::Stop;

/// How long one request may hold up the look at what librdkafka has reported meanwhile.
const STEP: Duration = Duration::from_millis(500);
/// How long reports are served between two requests. With no time at all a poll ends at the first line that librdkafka logs,
/// and a broker that fails forty times a second logs faster than it is asked.
const SERVED: Duration = Duration::from_millis(20);

/// A topic as its cluster describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicInfo {
    /// Its name.
    pub name: String,
    /// Its partitions' numbers, sorted.
    pub partitions: Vec<i32>,
}

/// A connection for questions. It joins no group and reads no record.
pub struct Cluster {
    client: BaseConsumer<Listener>,
    brokers: String,
    group: String,
    timeout: Duration,
    stop: Option<Stop>,
}

/// Keeps the most telling thing that librdkafka reported.
struct Listener {
    last: Mutex<Option<(Code, String)>>,
    login: Login,
}

impl Listener {
    fn forget(&self) {
        if let Ok(mut last) = self.last.lock() {
            *last = None;
        }
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
        let (Some(code), Ok(mut last)) = (error.rdkafka_error_code(), self.last.lock()) else {
            return;
        };
        // A connection that ends after its login or handshake was refused says less than the refusal, and "all brokers
        // down" less than what came before it.
        let keep = match &*last {
            Some((told, _)) => told_why(*told) || code == Code::AllBrokersDown,
            None => false,
        };
        if !keep {
            *last = Some((code, reason.to_owned()));
        }
    }
}

/// Whether the code says what to correct.
const fn told_why(code: Code) -> bool {
    matches!(
        code,
        Code::Authentication | Code::SSL | Code::GroupAuthorizationFailed
    )
}

impl ConsumerContext for Listener {}

impl Cluster {
    /// A client of the configured brokers. Each question may take `timeout`; nothing is asked yet.
    ///
    /// # Errors
    /// [`KafkaProblem::Config`] or [`KafkaProblem::Client`].
    pub fn connect(config: &KafkaConfig, timeout: Duration) -> Result<Self, KafkaProblem> {
        let budget = FetchBudget {
            bytes: 8 << 20,
            queues: 1,
        };
        let mut client = config.client_config(budget)?;
        // A question is not a member.
        client.remove("group.instance.id");
        let listener = Listener {
            last: Mutex::default(),
            login: config.login(),
        };
        let client = client
            .create_with_context::<_, BaseConsumer<Listener>>(listener)
            .map_err(|error| match error {
                KafkaError::ClientCreation(reason) => KafkaProblem::Client(reason),
                other => KafkaProblem::Client(code(&other).to_string()),
            })?;
        Ok(Self {
            client,
            brokers: config.brokers.join(","),
            group: config.group.clone(),
            timeout,
            stop: None,
        })
    }

    /// Gives up a question as soon as the stop is requested: its answer is then [`KafkaProblem::Unreachable`].
    #[must_use]
    pub fn hearing(mut self, stop: &Stop) -> Self {
        self.stop = Some(stop.clone());
        self
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(Stop::is_requested)
    }

    /// The cluster's id, if its brokers have one. Also the way to ask whether they can be reached.
    ///
    /// # Errors
    /// [`KafkaProblem::Unreachable`], [`KafkaProblem::Login`], [`KafkaProblem::Tls`].
    pub fn id(&self) -> Result<Option<String>, KafkaProblem> {
        // Metadata first: asking for the id alone does not say why there is no answer.
        self.ask("asking for the brokers", |step| {
            self.client.fetch_metadata(Some(""), step).or_else(|error| {
                // The brokers answered that there is no topic without a name: they answered.
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

    /// The topic's partitions.
    ///
    /// # Errors
    /// [`KafkaProblem::TopicMissing`], [`KafkaProblem::TopicDenied`], or why no broker answered.
    pub fn topic(&self, name: &str) -> Result<TopicInfo, KafkaProblem> {
        let metadata: Metadata = self.ask("asking for the topic", |step| {
            self.client.fetch_metadata(Some(name), step)
        })?;
        let missing = || KafkaProblem::TopicMissing {
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
                Code::TopicAuthorizationFailed => KafkaProblem::TopicDenied {
                    topic: name.to_owned(),
                },
                code => KafkaProblem::Broker {
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

    /// The id of each of these topics, as Kafka's own tools print it; those that have none are left out.
    ///
    /// # Errors
    /// Why no broker answered.
    pub fn topic_ids(&self, names: &[&str]) -> Result<TopicIds, KafkaProblem> {
        self.ask("asking for topic ids", |step| {
            topic_ids(self.client.client(), names, step)
        })
    }

    /// The first offset that the partition still holds, and the one after its last.
    ///
    /// # Errors
    /// [`KafkaProblem::TopicDenied`], or why no broker answered.
    pub fn watermarks(&self, topic: &str, partition: i32) -> Result<(i64, i64), KafkaProblem> {
        self.ask("asking for watermarks", |step| {
            self.client.fetch_watermarks(topic, partition, step)
        })
        .map_err(|problem| denied(problem, topic, &self.group))
    }

    /// The offset that the group has committed for the partition, if any. Also the way to ask whether the group may be
    /// used.
    ///
    /// # Errors
    /// [`KafkaProblem::GroupDenied`], [`KafkaProblem::TopicDenied`], or why no broker answered.
    pub fn committed(&self, topic: &str, partition: i32) -> Result<Option<i64>, KafkaProblem> {
        let offsets = self
            .ask("asking for committed offsets", |step| {
                let mut list = TopicPartitionList::new();
                list.add_partition(topic, partition);
                self.client.committed_offsets(list, step)
            })
            .map_err(|problem| denied(problem, topic, &self.group))?;
        let elements = offsets.elements();
        if let Some(Err(error)) = elements.first().map(|element| element.error()) {
            let problem = KafkaProblem::Broker {
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

    fn refused(&self, reason: String) -> KafkaProblem {
        let check = if self.client.context().login.has_tokens() {
            "what the brokers want of a token: issuer, audience, scope, key, and the time"
        } else {
            "`user`, `password` and `mechanism` in the `security` table"
        };
        KafkaProblem::Login { reason, check }
    }

    /// Serves the reports that have come in. Nothing is subscribed to, so no record can be among them.
    fn serve(&self) {
        let until = Instant::now() + SERVED;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            // What is polled has been heard by the listener; the error itself says less.
            drop(self.client.poll(left));
        }
    }

    /// Asks in short steps, so that a login refused is told at once and a broker that starts late is still found.
    fn ask<T>(
        &self,
        what: &'static str,
        mut question: impl FnMut(Duration) -> Result<T, KafkaError>,
    ) -> Result<T, KafkaProblem> {
        let started = Instant::now();
        self.client.context().forget();
        loop {
            let left = self.timeout.saturating_sub(started.elapsed());
            let error = match question(left.min(STEP).max(Duration::from_millis(1))) {
                Ok(answer) => return Ok(answer),
                Err(error) => code(&error),
            };
            self.serve();
            let heard = self.client.context().last();
            let no_token = self.client.context().login.trouble().map(|(_, error)| error);
            if let Some(error) = no_token.as_ref().filter(|error| !error.is_temporary()) {
                return Err(KafkaProblem::NoToken(error.clone()));
            }
            if let Some((code, reason)) = heard.clone() {
                match code {
                    // That a token is missing comes under this code too, and may pass.
                    Code::Authentication if no_token.is_some() => {}
                    Code::Authentication => return Err(self.refused(reason)),
                    Code::SSL => return Err(KafkaProblem::Tls { reason }),
                    // Told only by the coordinator's absence otherwise.
                    Code::GroupAuthorizationFailed => return Err(KafkaProblem::Broker { what, code }),
                    _ => {}
                }
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
                return Err(KafkaProblem::Broker { what, code: error });
            }
            if started.elapsed() >= self.timeout || self.is_stopped() {
                if let Some(error) = no_token {
                    return Err(KafkaProblem::NoToken(error));
                }
                return Err(KafkaProblem::Unreachable {
                    brokers: self.brokers.clone(),
                    seconds: self.timeout.as_secs(),
                    reason: heard.map_or_else(|| error.to_string(), |(_, reason)| reason),
                });
            }
            // A refused connection answers at once: leave librdkafka time to try again.
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn code(error: &KafkaError) -> Code {
    error.rdkafka_error_code().unwrap_or(Code::Fail)
}

/// Gives a refusal its own error.
fn denied(problem: KafkaProblem, topic: &str, group: &str) -> KafkaProblem {
    match problem {
        KafkaProblem::Broker {
            code: Code::TopicAuthorizationFailed,
            ..
        } => KafkaProblem::TopicDenied {
            topic: topic.to_owned(),
        },
        KafkaProblem::Broker {
            code: Code::GroupAuthorizationFailed,
            ..
        } => KafkaProblem::GroupDenied {
            group: group.to_owned(),
        },
        KafkaProblem::Broker {
            code: Code::UnknownTopicOrPartition | Code::UnknownPartition,
            ..
        } => KafkaProblem::TopicMissing {
            topic: topic.to_owned(),
        },
        other => other,
    }
}
