//! Restores the types that a file's columns had before they were read as text with 64-bit offsets.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array as _, ArrayRef, BinaryArray, LargeStringArray, PrimitiveArray, StringArray, StringViewArray,
    new_null_array,
};
use arrow_schema::{DataType, TimeUnit};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// Returns whether a column that is read as one type can be written as the other.
pub(super) fn is_possible(read: &DataType, original: &DataType) -> bool {
    match (read, original) {
        (read, original) if read == original => true,
        (DataType::LargeUtf8, DataType::Dictionary(key, value)) => {
            key.as_ref() == &DataType::Int32 && value.as_ref() == &DataType::Utf8
        }
        (DataType::LargeUtf8, DataType::Utf8 | DataType::Utf8View) => true,
        (DataType::LargeBinary, DataType::Binary) => true,
        _ => false,
    }
}

/// Returns the values of a column in another type. A text that does not fit it becomes null.
pub(super) fn restore(column: &ArrayRef, kind: &DataType) -> ArrayRef {
    if column.data_type() == kind {
        return Arc::clone(column);
    }
    if let Some(column) = column.as_binary_opt::<i64>() {
        return match kind {
            DataType::Binary => Arc::new(BinaryArray::from_iter(column.iter())),
            _ => new_null_array(kind, column.len()),
        };
    }
    if let Some(column) = column.as_string_opt::<i64>() {
        return of_texts(column.iter(), column.len(), kind);
    }
    match column.as_string_opt::<i32>() {
        Some(column) => of_texts(column.iter(), column.len(), kind),
        None => new_null_array(kind, column.len()),
    }
}

fn of_texts<'a>(texts: impl Iterator<Item = Option<&'a str>>, rows: usize, kind: &DataType) -> ArrayRef {
    match kind {
        DataType::Utf8 => Arc::new(StringArray::from_iter(texts)),
        DataType::LargeUtf8 => Arc::new(LargeStringArray::from_iter(texts)),
        DataType::Utf8View => Arc::new(StringViewArray::from_iter(texts)),
        DataType::Dictionary(..) => {
            let mut builder = StringDictionaryBuilder::<Int32Type>::new();
            texts.for_each(|text| builder.append_option(text));
            Arc::new(builder.finish())
        }
        DataType::Int8 => numbers::<Int8Type>(texts),
        DataType::Int16 => numbers::<Int16Type>(texts),
        DataType::Int32 => numbers::<Int32Type>(texts),
        DataType::Int64 => numbers::<Int64Type>(texts),
        DataType::UInt8 => numbers::<UInt8Type>(texts),
        DataType::UInt16 => numbers::<UInt16Type>(texts),
        DataType::UInt32 => numbers::<UInt32Type>(texts),
        DataType::UInt64 => numbers::<UInt64Type>(texts),
        DataType::Date32 => {
            let days = |text: &str| i32::try_from(milliseconds(text)?.div_euclid(86_400_000)).ok();
            primitive::<Date32Type>(texts, days, kind)
        }
        DataType::Date64 => primitive::<Date64Type>(texts, milliseconds, kind),
        DataType::Timestamp(TimeUnit::Second, _) => {
            primitive::<TimestampSecondType>(texts, |text| Some(milliseconds(text)?.div_euclid(1000)), kind)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            primitive::<TimestampMillisecondType>(texts, milliseconds, kind)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            primitive::<TimestampMicrosecondType>(texts, |text| milliseconds(text)?.checked_mul(1000), kind)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => primitive::<TimestampNanosecondType>(
            texts,
            |text| milliseconds(text)?.checked_mul(1_000_000),
            kind,
        ),
        _ => new_null_array(kind, rows),
    }
}

fn numbers<'a, T: ArrowPrimitiveType>(texts: impl Iterator<Item = Option<&'a str>>) -> ArrayRef
where
    T::Native: FromStr,
{
    let values = texts.map(|text| text.and_then(|text| text.trim().parse().ok()));
    Arc::new(PrimitiveArray::<T>::from_iter(values))
}

fn primitive<'a, T: ArrowPrimitiveType>(
    texts: impl Iterator<Item = Option<&'a str>>,
    value: impl Fn(&str) -> Option<T::Native>,
    kind: &DataType,
) -> ArrayRef {
    let values = texts.map(|text| text.and_then(|text| value(text.trim())));
    Arc::new(PrimitiveArray::<T>::from_iter(values).with_data_type(kind.clone()))
}

/// Returns the time of an ISO 8601 date or time without a zone, as UTC, in ms since 1970.
fn milliseconds(text: &str) -> Option<i64> {
    let at = match text.parse::<DateTime>() {
        Ok(at) => at,
        Err(_) => text.parse::<Date>().ok()?.at(0, 0, 0, 0),
    };
    Some(at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Date32Array, Int64Array};

    fn of(texts: [&str; 2], kind: &DataType) -> ArrayRef {
        let column: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        restore(&column, kind)
    }

    #[test]
    fn texts_come_back_in_the_type_of_the_file() {
        for kind in [
            DataType::Utf8,
            DataType::LargeUtf8,
            DataType::Utf8View,
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        ] {
            let column = of(["Ada", "Ada"], &kind);
            assert_eq!((column.data_type(), column.null_count()), (&kind, 0));
        }
    }

    #[test]
    fn a_replacement_that_does_not_fit_its_column_becomes_null() {
        let dates = of(["2019-03-05", "[DATE]"], &DataType::Date32);
        assert_eq!(dates.as_ref(), &Date32Array::from(vec![Some(17_960), None]));
        let numbers = of(["42", "[MEDICALRECORD]"], &DataType::Int64);
        assert_eq!(numbers.as_ref(), &Int64Array::from(vec![Some(42), None]));
    }
}
