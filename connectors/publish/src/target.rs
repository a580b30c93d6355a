//! The tables that a dataset can be published to.

use std::fmt;
use std::sync::Arc;

use crate::iceberg::CatalogueSettings;
use crate::place::base;
use crate::{Place, PublishError};

/// A table to publish to, which need not exist.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Target {
    /// A Delta table.
    Delta(Place),
    /// An Iceberg table.
    Iceberg(IcebergTarget),
}

/// An Iceberg table.
#[derive(Clone, Debug)]
pub enum IcebergTarget {
    /// The table in this folder, which numbers the versions of its metadata itself. Engines call it a Hadoop table.
    Folder(Place),
    /// A table of a catalogue.
    Catalogue {
        /// The catalogue.
        catalogue: Arc<CatalogueSettings>,
        /// The table's name.
        name: TableName,
    },
}

/// The name of a table in a catalogue: `NAMESPACE.TABLE`, where a namespace can have several parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    pub(crate) namespace: Vec<String>,
    pub(crate) table: String,
}

impl TableName {
    /// Parses a name.
    ///
    /// # Errors
    /// [`PublishError::Place`] if it has no namespace, or an empty part.
    pub fn parse(text: &str) -> Result<Self, PublishError> {
        let mut parts: Vec<String> = text.split('.').map(str::to_owned).collect();
        match parts.pop() {
            Some(table) if !parts.is_empty() && !table.is_empty() && !parts.iter().any(String::is_empty) => {
                Ok(Self {
                    namespace: parts,
                    table,
                })
            }
            _ => Err(PublishError::Place {
                place: text.to_owned(),
                why: "a table of a catalogue has a name such as NAMESPACE.TABLE".to_owned(),
            }),
        }
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.namespace.join("."), self.table)
    }
}

impl Target {
    /// Checks what is known of the places of table and dataset before one of them is opened.
    ///
    /// # Errors
    /// [`PublishError`] if the dataset cannot lie there.
    pub(crate) fn check(&self, dataset: &Place) -> Result<(), PublishError> {
        match self {
            Self::Delta(place) => base(place, dataset).map(drop),
            Self::Iceberg(IcebergTarget::Folder(place)) => place.check_apart(dataset),
            Self::Iceberg(IcebergTarget::Catalogue { .. }) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_namespace_and_a_table() {
        let name = TableName::parse("lake.clinic.notes").unwrap();
        assert_eq!((name.namespace.len(), name.table.as_str()), (2, "notes"));
        assert_eq!(name.to_string(), "lake.clinic.notes");
        for wrong in ["notes", "", "lake.", ".notes", "lake..notes"] {
            assert!(TableName::parse(wrong).is_err(), "{wrong}");
        }
    }
}
