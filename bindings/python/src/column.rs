//! A column of text, whatever Arrow type it has.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeStringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;
use pyo3::prelude::*;

use crate::errors;

/// A cast fails where it cannot convert a value, instead of making it null.
const STRICT: CastOptions<'static> = CastOptions {
    safe: false,
    format_options: arrow_cast::display::FormatOptions::new(),
};

/// Returns whether a column of this type has text: strings of each layout, and dictionaries of them.
pub(crate) fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => true,
        DataType::Dictionary(_, values) => is_text(values) && **values != DataType::Null,
        _ => false,
    }
}

/// Returns whether values of this type can identify something: text, whole numbers and days.
fn is_identifier(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_identifier(values),
        DataType::Date32 | DataType::Date64 => true,
        _ => is_text(data_type) || data_type.is_integer(),
    }
}

/// Reads the text of a column.
///
/// # Errors
/// `TypeError` if it has no text, `ValueError` if its array is damaged.
pub(crate) fn text(array: &ArrayRef, name: &str) -> PyResult<LargeStringArray> {
    let data_type = array.data_type();
    if !is_text(data_type) {
        return Err(errors::type_error(format!(
            "{name} has the type {data_type}: only text is redacted"
        )));
    }
    strings(array, name)
}

/// Reads what identifies a note, a patient, or something that is known of a patient. Days are written `YYYY-MM-DD`.
///
/// # Errors
/// As [`text`], which numbers and days are for this.
pub(crate) fn identifiers(array: &ArrayRef, name: &str) -> PyResult<LargeStringArray> {
    let data_type = array.data_type();
    if !is_identifier(data_type) {
        return Err(errors::type_error(format!(
            "{name} has the type {data_type}; text, whole numbers or days are needed"
        )));
    }
    strings(array, name)
}

fn strings(array: &ArrayRef, name: &str) -> PyResult<LargeStringArray> {
    // Nothing to check: an empty slice can keep the offset of a buffer that was not imported with it.
    if array.is_empty() {
        return Ok(LargeStringArray::from_iter_values(std::iter::empty::<&str>()));
    }
    // Arrays of other libraries: what they claim of lengths, offsets and UTF-8 is checked before anything reads them.
    // Arrow's own messages can quote values.
    let damaged = || {
        errors::value(format!(
            "{name} is not a valid array of the type {}",
            array.data_type()
        ))
    };
    array.to_data().validate_full().map_err(|_| damaged())?;
    let days = match array.data_type() {
        DataType::Date64 => cast_with_options(array, &DataType::Date32, &STRICT).map_err(|_| damaged())?,
        _ => Arc::clone(array),
    };
    let strings = cast_with_options(&days, &DataType::LargeUtf8, &STRICT).map_err(|_| damaged())?;
    Ok(strings.as_string::<i64>().clone())
}

/// Converts redacted text into the type of its column.
///
/// # Errors
/// `ValueError` if the type has no room for it.
pub(crate) fn restored(texts: Vec<Option<String>>, data_type: &DataType, name: &str) -> PyResult<ArrayRef> {
    let texts: ArrayRef = Arc::new(LargeStringArray::from(texts));
    if *data_type == DataType::Null {
        return Ok(arrow_array::new_null_array(data_type, texts.len()));
    }
    cast_with_options(&texts, data_type, &STRICT).map_err(|_| {
        errors::value(format!(
            "the redacted text of {name} does not fit in the type {data_type}: pass fewer rows at a time, or convert \
             the column to large_string"
        ))
    })
}
