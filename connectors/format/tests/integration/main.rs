//! Tests of the formats over whole payloads, in one binary to link only once.

mod cda;
mod documents;
mod events;
mod fhir;
mod hl7v2;
mod registry;
