//! Kafka: settings, cluster metadata, the demo's broker, and a producer for tests and benchmarks.

mod client_error;
mod config;
mod config_error;
mod embedded;
mod ids;
mod kerberos;
mod login_report;
mod produce;
mod properties;
mod security;
pub mod source;
pub(crate) mod token;
mod topic;

pub use client_error::KafkaClientError;
pub use config::{Assignment, FetchBudget, KafkaConfig, MOST_EXPANSION};
pub use config_error::KafkaConfigError;
pub use embedded::EmbeddedBroker;
pub use kerberos::Kerberos;
pub use produce::{LinesError, Produced, Producer};
pub use properties::{Property, REFUSED, Refused};
pub use security::{Mechanism, Security, Tls};
pub use source::{Credentials, CurrentCredentials};
pub use token::{EndpointConfig, Login, TokenConfig, TokenError};
pub use topic::{Cluster, TopicInfo};
