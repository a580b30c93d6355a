//! Kafka: settings, what a cluster says of itself, the demo's broker, and a producer for tests and benches.

mod config;
mod embedded;
mod produce;
mod properties;
mod security;
pub mod source;
mod topic;

pub use config::{Assignment, FetchBudget, KafkaConfig, KafkaConfigError, Start};
pub use embedded::EmbeddedBroker;
pub use produce::{LinesError, Produced, Producer};
pub use properties::{Property, REFUSED, Refused};
pub use security::{Mechanism, Security, Tls};
pub use topic::{Cluster, KafkaProblem, TopicInfo};
