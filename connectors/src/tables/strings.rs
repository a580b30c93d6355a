//! Formats cells as text, for identifiers and ids in any column type.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Date32Type, Date64Type};
use arrow_array::{Array as _, ArrayRef};
use arrow_schema::DataType;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::files::cells::{Cells, milliseconds, string};
use crate::format::PayloadError;

/// Returns whether cells of this type can be read as text.
pub(super) fn has_text(kind: &DataType) -> bool {
    kind.is_integer()
        || matches!(
            kind,
            DataType::LargeUtf8
                | DataType::LargeBinary
                | DataType::Date32
                | DataType::Date64
                | DataType::Timestamp(..)
        )
}

/// Returns a cell as text; `None` if it is null, or if cells of its type are not text, numbers or times.
pub fn cell_text(column: &ArrayRef, row: usize) -> Option<String> {
    has_text(column.data_type())
        .then(|| text(column, row).ok().flatten())
        .flatten()
}

/// Returns a cell as text; `None` if it is null. Dates and times use ISO 8601, and a midnight only its date.
pub(super) fn text(column: &ArrayRef, row: usize) -> Result<Option<String>, PayloadError> {
    let cells = Cells { column, row };
    if column.is_null(row) {
        return Ok(None);
    }
    match column.data_type() {
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => {
            let Some(at) = instant(column, row)? else {
                return Ok(None);
            };
            let at = Timestamp::from_millisecond(at).map_err(|_| PayloadError::NotADate)?;
            let at = at.to_zoned(TimeZone::UTC).datetime();
            Ok(Some(
                if at == at.date().to_datetime(jiff::civil::Time::midnight()) {
                    at.date().to_string()
                } else {
                    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
                },
            ))
        }
        _ => string(cells),
    }
}

/// Returns a cell as a time in ms since 1970; a time without a zone counts as UTC.
pub(super) fn instant(column: &ArrayRef, row: usize) -> Result<Option<i64>, PayloadError> {
    let cells = Cells { column, row };
    if column.is_null(row) {
        return Ok(None);
    }
    match column.data_type() {
        DataType::Date32 => {
            let days = i64::from(column.as_primitive::<Date32Type>().value(row));
            Ok(Some(days * 86_400_000))
        }
        DataType::Date64 => Ok(Some(column.as_primitive::<Date64Type>().value(row))),
        DataType::LargeUtf8 | DataType::LargeBinary => {
            let Some(text) = cells.large_text()? else {
                return Ok(None);
            };
            parsed(text.trim()).map(Some).ok_or(PayloadError::NotADate)
        }
        _ => milliseconds(cells),
    }
}

fn parsed(text: &str) -> Option<i64> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at.as_millisecond());
    }
    if let Ok(ms) = text
        .parse::<i64>()
        .map_err(drop)
        .and_then(|ms| if text.len() > 8 { Ok(ms) } else { Err(()) })
    {
        return Some(ms);
    }
    let civil = text.parse::<DateTime>().ok();
    let civil = civil.or_else(|| {
        Some(
            text.parse::<Date>()
                .ok()?
                .to_datetime(jiff::civil::Time::midnight()),
        )
    })?;
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Date32Array, Int64Array, LargeStringArray, TimestampMicrosecondArray};
    use std::sync::Arc;

    #[test]
    fn cells_of_every_sort_are_written_as_people_write_them() {
        let cases: [(ArrayRef, &str); 4] = [
            (Arc::new(Date32Array::from(vec![17_960])), "2019-03-05"),
            (
                Arc::new(TimestampMicrosecondArray::from(vec![1_551_796_200_000_000])),
                "2019-03-05 14:30:00",
            ),
            (
                Arc::new(TimestampMicrosecondArray::from(vec![1_551_744_000_000_000])),
                "2019-03-05",
            ),
            (Arc::new(Int64Array::from(vec![10_023])), "10023"),
        ];
        for (column, told) in cases {
            assert_eq!(text(&column, 0).unwrap().as_deref(), Some(told));
        }
    }

    #[test]
    fn moments_are_read_from_what_warehouses_write() {
        for (written, at) in [
            ("2019-03-05T14:30:00Z", 1_551_796_200_000),
            ("2019-03-05 14:30:00", 1_551_796_200_000),
            ("2019-03-05", 1_551_744_000_000),
            ("1551796200000", 1_551_796_200_000),
        ] {
            let column: ArrayRef = Arc::new(LargeStringArray::from(vec![written]));
            assert_eq!(instant(&column, 0).unwrap(), Some(at), "{written}");
        }
        let column: ArrayRef = Arc::new(LargeStringArray::from(vec!["last Tuesday"]));
        assert!(instant(&column, 0).is_err());
    }
}
