//! Tests of the formats over whole payloads. One binary, so that it is linked once.

mod cda;
mod documents;
mod events;
mod fhir;
mod hl7v2;
mod registry;
