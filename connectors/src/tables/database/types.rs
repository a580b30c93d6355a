//! Types of columns: how the server sends them, and what they become in Arrow.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BooleanBuilder, Date32Builder, Float32Builder, Float64Builder, Int16Builder, Int32Builder, Int64Builder,
    LargeBinaryBuilder, LargeStringBuilder, TimestampMicrosecondBuilder,
};
use arrow_schema::{DataType, TimeUnit};
use lethe_core::QuarantineCode;
use lethe_postgres::tokio_postgres::types::{FromSql, Type};

/// Days, and microseconds, from 1970 to PostgreSQL's epoch, 2000.
const EPOCH_DAYS: i32 = 10_957;
const EPOCH_MICROSECONDS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// The treatment of a column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text as it is.
    Text,
    /// Text that the server writes, for instance of a number of any precision.
    Cast,
    Bool,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    Date,
    Timestamp,
    TimestampTz,
    Bytes,
}

impl Kind {
    /// Returns the treatment of a type; `None` if it is not supported.
    pub(super) fn of(column: &Type) -> Option<Self> {
        Some(match *column {
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME => Self::Text,
            Type::NUMERIC | Type::UUID | Type::JSON | Type::JSONB => Self::Cast,
            Type::BOOL => Self::Bool,
            Type::INT2 => Self::Int16,
            Type::INT4 => Self::Int32,
            Type::INT8 => Self::Int64,
            Type::FLOAT4 => Self::Float32,
            Type::FLOAT8 => Self::Float64,
            Type::DATE => Self::Date,
            Type::TIMESTAMP => Self::Timestamp,
            Type::TIMESTAMPTZ => Self::TimestampTz,
            Type::BYTEA => Self::Bytes,
            _ => return None,
        })
    }

    /// Returns the type of a key, as the server writes it; `None` if keys cannot have it.
    pub(super) fn of_key(column: &Type) -> Option<&str> {
        let fits = [
            Type::TEXT,
            Type::VARCHAR,
            Type::NUMERIC,
            Type::UUID,
            Type::INT2,
            Type::INT4,
            Type::INT8,
            Type::DATE,
            Type::TIMESTAMP,
            Type::TIMESTAMPTZ,
        ];
        fits.contains(column).then(|| column.name())
    }

    /// Returns the SQL that reads a column.
    pub(super) fn sql(self, column: &str) -> String {
        match self {
            Self::Cast => format!("{column}::text"),
            _ => column.to_owned(),
        }
    }

    pub(super) fn arrow(self) -> DataType {
        match self {
            Self::Text | Self::Cast => DataType::LargeUtf8,
            Self::Bool => DataType::Boolean,
            Self::Int16 => DataType::Int16,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::Float32 => DataType::Float32,
            Self::Float64 => DataType::Float64,
            Self::Date => DataType::Date32,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Bytes => DataType::LargeBinary,
        }
    }
}

/// The bytes of a value as the server sends them.
#[derive(Clone, Copy)]
pub(super) struct Raw<'a>(pub(super) &'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Collects the values of a column.
pub(super) enum Builder {
    Text(LargeStringBuilder),
    Bool(BooleanBuilder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float32(Float32Builder),
    Float64(Float64Builder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
    Bytes(LargeBinaryBuilder),
}

impl Builder {
    pub(super) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text | Kind::Cast => Self::Text(LargeStringBuilder::new()),
            Kind::Bool => Self::Bool(BooleanBuilder::new()),
            Kind::Int16 => Self::Int16(Int16Builder::new()),
            Kind::Int32 => Self::Int32(Int32Builder::new()),
            Kind::Int64 => Self::Int64(Int64Builder::new()),
            Kind::Float32 => Self::Float32(Float32Builder::new()),
            Kind::Float64 => Self::Float64(Float64Builder::new()),
            Kind::Date => Self::Date(Date32Builder::new()),
            Kind::Timestamp | Kind::TimestampTz => {
                Self::Timestamp(TimestampMicrosecondBuilder::new().with_data_type(kind.arrow()))
            }
            Kind::Bytes => Self::Bytes(LargeBinaryBuilder::new()),
        }
    }

    /// Adds a value, or null with the reason why Arrow cannot hold it.
    pub(super) fn push(&mut self, value: Option<Raw<'_>>) -> Result<(), QuarantineCode> {
        match value {
            None => self.push_null(),
            Some(Raw(raw)) => {
                if let Err(code) = self.push_raw(raw) {
                    self.push_null();
                    return Err(code);
                }
            }
        }
        Ok(())
    }

    fn push_raw(&mut self, raw: &[u8]) -> Result<(), QuarantineCode> {
        match self {
            Self::Text(values) => {
                values.append_value(std::str::from_utf8(raw).map_err(|_| QuarantineCode::InvalidUtf8)?);
            }
            Self::Bool(values) => values.append_value(fixed::<1>(raw)? != [0]),
            Self::Int16(values) => values.append_value(i16::from_be_bytes(fixed(raw)?)),
            Self::Int32(values) => values.append_value(i32::from_be_bytes(fixed(raw)?)),
            Self::Int64(values) => values.append_value(i64::from_be_bytes(fixed(raw)?)),
            Self::Float32(values) => values.append_value(f32::from_be_bytes(fixed(raw)?)),
            Self::Float64(values) => values.append_value(f64::from_be_bytes(fixed(raw)?)),
            // The greatest and the least number mean infinity, which Arrow does not have.
            Self::Date(values) => {
                let days = Some(i32::from_be_bytes(fixed(raw)?)).filter(|days| *days != i32::MIN);
                let days = days.and_then(|days| days.checked_add(EPOCH_DAYS));
                values.append_value(days.ok_or(QuarantineCode::InvalidPayload)?);
            }
            Self::Timestamp(values) => {
                let at = Some(i64::from_be_bytes(fixed(raw)?)).filter(|at| *at != i64::MIN);
                let at = at.and_then(|at| at.checked_add(EPOCH_MICROSECONDS));
                values.append_value(at.ok_or(QuarantineCode::InvalidPayload)?);
            }
            Self::Bytes(values) => values.append_value(raw),
        }
        Ok(())
    }

    fn push_null(&mut self) {
        match self {
            Self::Text(values) => values.append_null(),
            Self::Bool(values) => values.append_null(),
            Self::Int16(values) => values.append_null(),
            Self::Int32(values) => values.append_null(),
            Self::Int64(values) => values.append_null(),
            Self::Float32(values) => values.append_null(),
            Self::Float64(values) => values.append_null(),
            Self::Date(values) => values.append_null(),
            Self::Timestamp(values) => values.append_null(),
            Self::Bytes(values) => values.append_null(),
        }
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(values) => Arc::new(values.finish()),
            Self::Bool(values) => Arc::new(values.finish()),
            Self::Int16(values) => Arc::new(values.finish()),
            Self::Int32(values) => Arc::new(values.finish()),
            Self::Int64(values) => Arc::new(values.finish()),
            Self::Float32(values) => Arc::new(values.finish()),
            Self::Float64(values) => Arc::new(values.finish()),
            Self::Date(values) => Arc::new(values.finish()),
            Self::Timestamp(values) => Arc::new(values.finish()),
            Self::Bytes(values) => Arc::new(values.finish()),
        }
    }
}

fn fixed<const N: usize>(raw: &[u8]) -> Result<[u8; N], QuarantineCode> {
    raw.try_into().map_err(|_| QuarantineCode::InvalidPayload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array as _;
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::{Date32Type, TimestampMicrosecondType};

    #[test]
    fn dates_count_from_1970_and_infinity_is_no_date() {
        let mut dates = Builder::new(Kind::Date);
        assert_eq!(dates.push(Some(Raw(&0_i32.to_be_bytes()))), Ok(()));
        for infinite in [i32::MAX, i32::MIN] {
            let refused = dates.push(Some(Raw(&infinite.to_be_bytes())));
            assert_eq!(refused, Err(QuarantineCode::InvalidPayload));
        }
        let dates = dates.finish();
        assert_eq!(dates.as_primitive::<Date32Type>().value(0), 10_957);
        assert!(dates.is_null(1) && dates.is_null(2));
        let mut times = Builder::new(Kind::TimestampTz);
        assert_eq!(times.push(Some(Raw(&0_i64.to_be_bytes()))), Ok(()));
        assert!(times.push(Some(Raw(&i64::MAX.to_be_bytes()))).is_err());
        let times = times.finish();
        let first = times.as_primitive::<TimestampMicrosecondType>().value(0);
        assert_eq!(first, 946_684_800_000_000);
    }

    #[test]
    fn text_that_is_not_utf_8_marks_its_row() {
        let mut texts = Builder::new(Kind::Text);
        assert_eq!(texts.push(Some(Raw(b"Seen."))), Ok(()));
        assert_eq!(texts.push(Some(Raw(b"\xff"))), Err(QuarantineCode::InvalidUtf8));
        assert_eq!(texts.push(None), Ok(()));
        assert_eq!(texts.finish().null_count(), 2);
    }
}
