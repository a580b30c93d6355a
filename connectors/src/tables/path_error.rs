//! Why a path of the configuration does not lead to values of a table.

use arrow_schema::{DataType, Fields};

/// Why a path does not lead to values. The text continues a sentence about the column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PathError {
    #[error("does not exist; there are {}", names.join(", "))]
    Missing {
        /// The columns or fields that exist.
        names: Vec<String>,
    },
    #[error("has no field `{name}`: {kind} is not a struct")]
    NoStruct { name: String, kind: DataType },
    #[error("lies in a list, but one value per row is required")]
    InList,
    #[error(
        "is of type {kind}, which cannot be converted to text; use text, bytes, integers, dates or timestamps"
    )]
    NoText { kind: DataType },
}

impl PathError {
    pub(super) fn missing(fields: &Fields) -> Self {
        let names = fields.iter().map(|field| field.name().clone()).collect();
        Self::Missing { names }
    }

    pub(super) fn no_struct(name: &str, kind: &DataType) -> Self {
        Self::NoStruct {
            name: name.to_owned(),
            kind: kind.clone(),
        }
    }
}
