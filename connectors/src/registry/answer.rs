//! The responses of a registry in Confluent's protocol.

use serde::Deserialize;

/// "Schema not found": the only error code that is about a schema. Others concern the URL, the login or the
/// server.
pub(super) const NO_SCHEMA: u32 = 40403;
/// "Subject not found" and "version not found".
pub(super) const NO_SUBJECT: [u32; 2] = [40401, 40402];

/// A schema in a response.
#[derive(Deserialize)]
pub(super) struct Found {
    pub(super) schema: String,
    /// Absent for Avro.
    #[serde(rename = "schemaType", default = "avro")]
    pub(super) language: String,
    #[serde(default)]
    pub(super) references: Vec<Named>,
}

/// A reference to another schema: its name, and where the registry has it.
#[derive(Clone, Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) subject: String,
    pub(super) version: u32,
}

/// An error response.
#[derive(Deserialize)]
pub(super) struct Refused {
    pub(super) error_code: u32,
}

fn avro() -> String {
    "AVRO".to_owned()
}
