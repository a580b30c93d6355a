//! Why a path of the configuration does not lead to values of a table.

use arrow_schema::{DataType, Fields};

use super::examine::did_you_mean;

/// Why a path does not lead to values. The text continues a sentence about the column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PathError {
    #[error("does not exist{}; there are {}", did_you_mean(wanted, names.iter().map(String::as_str)), names.join(", "))]
    Missing {
        /// The column or field.
        wanted: String,
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
    pub(super) fn missing(wanted: &str, fields: &Fields) -> Self {
        let names = fields.iter().map(|field| field.name().clone()).collect();
        Self::Missing {
            wanted: wanted.to_owned(),
            names,
        }
    }

    pub(super) fn no_struct(name: &str, kind: &DataType) -> Self {
        Self::NoStruct {
            name: name.to_owned(),
            kind: kind.clone(),
        }
    }
}
