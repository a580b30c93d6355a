//! The columns of a table, and whether a file fits them.
//!
//! A table's columns are those of its files. A column that files have and the table lacks is added to the table;
//! every other difference is refused.

use arrow_schema::{DataType as Arrow, Fields, Schema, TimeUnit};
use delta_kernel::schema::{ArrayType, DataType, PrimitiveType, StructField, StructType};

use crate::PublishError;

/// Returns the columns of a file as Delta has them. All are nullable, so that files without a later column fit.
///
/// # Errors
/// [`PublishError::Column`] if Delta has no type for a column.
pub(crate) fn columns(file: &str, schema: &Schema) -> Result<Vec<StructField>, PublishError> {
    fields(schema.fields()).map_err(|(column, why)| PublishError::Column {
        file: file.to_owned(),
        column,
        why,
    })
}

fn fields(fields: &Fields) -> Result<Vec<StructField>, (String, String)> {
    let convert = |field: &arrow_schema::FieldRef| {
        let name = field.name();
        let found = delta_type(field.data_type());
        let data_type = found.map_err(|(below, why)| (join(name, &below), why))?;
        Ok(StructField::nullable(name, data_type))
    };
    fields.iter().map(convert).collect()
}

fn join(outer: &str, inner: &str) -> String {
    match inner {
        "" => outer.to_owned(),
        _ => format!("{outer}.{inner}"),
    }
}

/// Returns the type in Delta; in errors, the path below this column and the reason.
fn delta_type(arrow: &Arrow) -> Result<DataType, (String, String)> {
    let primitive = match arrow {
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View => PrimitiveType::String,
        Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView => PrimitiveType::Binary,
        Arrow::Boolean => PrimitiveType::Boolean,
        Arrow::Int32 => PrimitiveType::Integer,
        // Readers of Delta read unsigned numbers of 32 bits as numbers of 64.
        Arrow::Int64 | Arrow::UInt32 => PrimitiveType::Long,
        Arrow::Float32 => PrimitiveType::Float,
        Arrow::Float64 => PrimitiveType::Double,
        Arrow::Date32 => PrimitiveType::Date,
        Arrow::Timestamp(TimeUnit::Millisecond | TimeUnit::Microsecond, Some(_)) => PrimitiveType::Timestamp,
        Arrow::List(element) => {
            let below =
                delta_type(element.data_type()).map_err(|(below, why)| (join("element", &below), why))?;
            return Ok(ArrayType::new(below, true).into());
        }
        Arrow::Struct(below) => {
            let below =
                StructType::try_new(fields(below)?).map_err(|error| (String::new(), error.to_string()))?;
            return Ok(below.into());
        }
        other => return Err((String::new(), format!("Delta has no type for {other}"))),
    };
    Ok(primitive.into())
}

/// Compares a file's columns with those of the table and with the ones to add, and adds the new ones to `new`.
///
/// # Errors
/// [`PublishError::Column`] if a column has another type than in the table, or if the table requires a column that
/// the file lacks.
pub(crate) fn fit(
    table: &StructType,
    new: &mut Vec<StructField>,
    file: &str,
    columns: &[StructField],
) -> Result<(), PublishError> {
    let refuse = |column: &str, why: String| {
        Err(PublishError::Column {
            file: file.to_owned(),
            column: column.to_owned(),
            why,
        })
    };
    // Delta compares names of columns without regard to case.
    let is = |field: &StructField, name: &str| field.name().eq_ignore_ascii_case(name);
    for column in columns {
        let name = column.name();
        let known = table.fields().find(|field| is(field, name));
        let Some(known) = known.or_else(|| new.iter().find(|field| is(field, name))) else {
            new.push(column.clone());
            continue;
        };
        if known.name() != name {
            return refuse(name, format!("the table has it as `{}`", known.name()));
        }
        if !same(known.data_type(), column.data_type()) {
            return refuse(
                name,
                format!(
                    "it has type {} in the file and {} in the table; Lethe adds columns to a table, and changes none",
                    column.data_type(),
                    known.data_type()
                ),
            );
        }
    }
    let lacks =
        |field: &&StructField| !field.is_nullable() && !columns.iter().any(|column| is(column, field.name()));
    match table.fields().find(lacks) {
        Some(field) => refuse(
            field.name(),
            "the table requires it, and the file does not have it".to_owned(),
        ),
        None => Ok(()),
    }
}

/// Returns whether two types are the same, apart from nullability.
fn same(a: &DataType, b: &DataType) -> bool {
    match (a, b) {
        (DataType::Array(a), DataType::Array(b)) => same(&a.element_type, &b.element_type),
        (DataType::Struct(a), DataType::Struct(b)) => {
            a.fields().len() == b.fields().len()
                && a.fields()
                    .zip(b.fields())
                    .all(|(a, b)| a.name() == b.name() && same(a.data_type(), b.data_type()))
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(name: &str) -> StructField {
        StructField::nullable(name, DataType::LONG)
    }

    fn check(table: &[StructField], file: &[StructField]) -> Result<Vec<String>, String> {
        let table = StructType::try_new(table.iter().cloned()).unwrap();
        let mut new = Vec::new();
        fit(&table, &mut new, "notes/f.parquet", file)
            .map(|()| new.into_iter().map(|field| field.name).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_new_column_is_added_and_a_missing_one_is_null() {
        assert_eq!(
            check(&[long("a")], &[long("a"), long("b")]),
            Ok(vec!["b".to_owned()])
        );
        assert_eq!(check(&[long("a"), long("b")], &[long("a")]), Ok(vec![]));
    }

    #[test]
    fn another_type_or_spelling_is_refused_and_the_column_named() {
        let text = StructField::nullable("a", DataType::STRING);
        for (table, file) in [(long("a"), text), (long("A"), long("a"))] {
            let error = check(&[table], &[file]).unwrap_err();
            assert!(
                error.contains("`a`") && error.contains("notes/f.parquet"),
                "{error}"
            );
        }
        let required = StructField::not_null("b", DataType::LONG);
        let error = check(&[long("a"), required], &[long("a")]).unwrap_err();
        assert!(error.contains("`b`"), "{error}");
    }

    #[test]
    fn a_column_without_a_type_in_delta_is_refused_by_its_path() {
        let list = |element: Arrow| {
            let element = arrow_schema::Field::new("start", element, false);
            let element = arrow_schema::Field::new("element", Arrow::Struct(vec![element].into()), false);
            let list = arrow_schema::Field::new("beat", Arrow::List(element.into()), false);
            fields(&vec![list].into())
        };
        let found = list(Arrow::UInt32).unwrap();
        let element = StructType::try_new([long("start")]).unwrap();
        assert!(same(
            found[0].data_type(),
            &ArrayType::new(DataType::from(element), true).into()
        ));
        let (column, why) = list(Arrow::UInt64).unwrap_err();
        assert_eq!(column, "beat.element.start");
        assert!(why.contains("UInt64"), "{why}");
    }
}
