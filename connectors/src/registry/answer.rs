//! What a registry answers, as Confluent's protocol has it.

use serde::Deserialize;

/// "There is no such schema": the only refusal that is an answer about a schema. Others speak of the address, the login
/// or the server.
pub(super) const NO_SCHEMA: u32 = 40403;
/// "There is no such subject", "no such version of it".
pub(super) const NO_SUBJECT: [u32; 2] = [40401, 40402];

/// A schema.
#[derive(Deserialize)]
pub(super) struct Found {
    pub(super) schema: String,
    /// Left out for Avro.
    #[serde(rename = "schemaType", default = "avro")]
    pub(super) language: String,
    #[serde(default)]
    pub(super) references: Vec<Named>,
}

/// A schema that another refers to: under which name, and where the registry has it.
#[derive(Clone, Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) subject: String,
    pub(super) version: u32,
}

/// A refusal.
#[derive(Deserialize)]
pub(super) struct Refused {
    pub(super) error_code: u32,
}

fn avro() -> String {
    "AVRO".to_owned()
}
