//! `lethe schema`: prints JSON Schemas of the program's input.

use lethe_connectors::format::event_schema;

use super::documents::print;
use crate::reference::schema;

/// Prints the JSON Schema of a note event.
pub(crate) fn event() -> anyhow::Result<()> {
    print(true, &event_schema(), String::new)
}

/// Prints the JSON Schema of a configuration file.
pub(crate) fn configuration() -> anyhow::Result<()> {
    print(true, &schema::configuration(), String::new)
}

/// Prints the JSON Schema of a policy file.
pub(crate) fn policy() -> anyhow::Result<()> {
    print(true, &schema::policy(), String::new)
}
