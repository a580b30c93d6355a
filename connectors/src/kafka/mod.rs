//! Kafka: settings, what a cluster says of itself, the demo's broker, and a producer for tests and benches.

mod config;
mod embedded;
mod produce;
mod properties;
mod topic;

pub use config::{Assignment, FetchBudget, KafkaConfig, KafkaConfigError, Mechanism, Security, Start, Tls};
pub use embedded::EmbeddedBroker;
pub use produce::{LinesError, Produced, Producer};
pub use properties::{Property, REFUSED, Refused};
pub use topic::{Cluster, KafkaProblem, TopicInfo};
