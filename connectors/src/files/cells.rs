//! Reads single cells of Arrow columns, of the types that a note event's fields may have in Parquet.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

use crate::format::PayloadError;

const DAY: i64 = 86_400_000;

/// One cell.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'a> {
    pub(crate) column: &'a ArrayRef,
    pub(crate) row: usize,
}

impl<'a> Cells<'a> {
    /// Returns the text of a `LargeUtf8` or `LargeBinary` column; `None` if it is null or has another type.
    pub(crate) fn large_text(self) -> Result<Option<&'a str>, PayloadError> {
        if self.column.is_null(self.row) {
            return Ok(None);
        }
        if let Some(column) = self.column.as_binary_opt::<i64>() {
            let text = std::str::from_utf8(column.value(self.row)).map_err(|_| PayloadError::NotUtf8)?;
            return Ok(Some(text));
        }
        let column = self.column.as_string_opt::<i64>();
        Ok(column.map(|column| column.value(self.row)))
    }

    fn primitive<T: ArrowPrimitiveType>(self) -> Option<T::Native> {
        let column = self.column.as_primitive_opt::<T>()?;
        column.is_valid(self.row).then(|| column.value(self.row))
    }
}

/// Returns a text, or an integer's digits.
pub(crate) fn string(cells: Cells<'_>) -> Result<Option<String>, PayloadError> {
    Ok(match cells.column.data_type() {
        DataType::LargeUtf8 | DataType::LargeBinary => cells.large_text()?.map(str::to_owned),
        DataType::UInt64 => cells.primitive::<UInt64Type>().map(|n| n.to_string()),
        _ => integer(cells).map(|n| n.to_string()),
    })
}

/// Returns an integer; `None` if it does not fit into a signed 64-bit integer.
pub(crate) fn integer(cells: Cells<'_>) -> Option<i64> {
    match cells.column.data_type() {
        DataType::Int8 => cells.primitive::<Int8Type>().map(i64::from),
        DataType::Int16 => cells.primitive::<Int16Type>().map(i64::from),
        DataType::Int32 => cells.primitive::<Int32Type>().map(i64::from),
        DataType::Int64 => cells.primitive::<Int64Type>(),
        DataType::UInt8 => cells.primitive::<UInt8Type>().map(i64::from),
        DataType::UInt16 => cells.primitive::<UInt16Type>().map(i64::from),
        DataType::UInt32 => cells.primitive::<UInt32Type>().map(i64::from),
        DataType::UInt64 => cells
            .primitive::<UInt64Type>()
            .and_then(|n| i64::try_from(n).ok()),
        _ => None,
    }
}

/// Returns a timestamp in milliseconds since 1970-01-01T00:00:00Z, rounded down; a time without a zone counts
/// as UTC.
pub(crate) fn milliseconds(cells: Cells<'_>) -> Result<Option<i64>, PayloadError> {
    Ok(match cells.column.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => cells
            .primitive::<TimestampSecondType>()
            .map(|s| s.saturating_mul(1000)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => cells.primitive::<TimestampMillisecondType>(),
        DataType::Timestamp(TimeUnit::Microsecond, _) => cells
            .primitive::<TimestampMicrosecondType>()
            .map(|us| us.div_euclid(1_000)),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => cells
            .primitive::<TimestampNanosecondType>()
            .map(|ns| ns.div_euclid(1_000_000)),
        DataType::Date32 => cells.primitive::<Date32Type>().map(|days| i64::from(days) * DAY),
        DataType::LargeUtf8 => match cells.large_text()? {
            Some(text) => Some(
                text.parse::<jiff::Timestamp>()
                    .map_err(|_| PayloadError::NotADate)?
                    .as_millisecond(),
            ),
            None => None,
        },
        _ => integer(cells),
    })
}
