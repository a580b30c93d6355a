//! `lethe schema`: prints schemas of the program's input.

use lethe_connectors::format::event_schema;

use super::documents::print;

/// Prints the JSON Schema of a note event.
pub(crate) fn event() -> anyhow::Result<()> {
    print(true, &event_schema(), String::new)
}
