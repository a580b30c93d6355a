//! Records of Avro, which manifests and their lists are files of.

use apache_avro::schema::{ArraySchema, UnionSchema};
use apache_avro::types::Value;
use apache_avro::{Codec, DeflateSettings, Reader, Schema, Writer};

/// A record: its fields in the order of the schema.
pub(crate) type Record = Vec<(String, Value)>;

/// A file: the schema it was written with, what its header says, and its records.
pub(crate) struct AvroFile {
    pub(crate) schema: Schema,
    pub(crate) header: Vec<(String, Vec<u8>)>,
    pub(crate) records: Vec<Record>,
}

/// Parses a schema.
///
/// # Errors
/// The problem, in words.
pub(crate) fn parse(schema: &str) -> Result<Schema, String> {
    mark_maps(Schema::parse_str(schema).map_err(|error| error.to_string())?)
}

/// Marks arrays of keys and values as the maps that they are (the specification, Appendix A, "Avro"). The parser drops
/// the mark, and readers refuse a schema without it.
fn mark_maps(schema: Schema) -> Result<Schema, String> {
    Ok(match schema {
        Schema::Record(mut record) => {
            for field in &mut record.fields {
                field.schema = mark_maps(std::mem::replace(&mut field.schema, Schema::Null))?;
            }
            Schema::Record(record)
        }
        Schema::Union(union) => {
            let variants = union.variants().iter().cloned().map(mark_maps);
            let union = UnionSchema::new(variants.collect::<Result<_, _>>()?);
            Schema::Union(union.map_err(|error| error.to_string())?)
        }
        Schema::Array(ArraySchema {
            items,
            mut attributes,
        }) => {
            let items = mark_maps(*items)?;
            if let Schema::Record(pair) = &items
                && pair.fields.iter().map(|field| &field.name).eq(["key", "value"])
            {
                attributes.insert("logicalType".to_owned(), "map".into());
            }
            Schema::Array(ArraySchema {
                items: Box::new(items),
                attributes,
            })
        }
        other => other,
    })
}

/// Reads a file.
///
/// # Errors
/// The problem, in words.
pub(crate) fn read(bytes: &[u8]) -> Result<AvroFile, String> {
    let reader = Reader::new(bytes).map_err(|error| error.to_string())?;
    let schema = mark_maps(reader.writer_schema().clone())?;
    let mut header: Vec<(String, Vec<u8>)> = reader
        .user_metadata()
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    header.sort();
    let mut records = Vec::new();
    for value in reader {
        match value.map_err(|error| error.to_string())? {
            Value::Record(fields) => records.push(fields),
            _ => return Err("it has other values than records".to_owned()),
        }
    }
    Ok(AvroFile {
        schema,
        header,
        records,
    })
}

/// Writes a file, compressed.
///
/// # Errors
/// The problem, in words: a record does not fit the schema.
pub(crate) fn write(
    schema: &Schema,
    header: impl IntoIterator<Item = (String, Vec<u8>)>,
    records: impl IntoIterator<Item = Record>,
) -> Result<Vec<u8>, String> {
    let done = (|| {
        let codec = Codec::Deflate(DeflateSettings::default());
        let mut writer = Writer::with_codec(schema, Vec::new(), codec)?;
        for (key, value) in header {
            writer.add_user_metadata(key, value)?;
        }
        for record in records {
            writer.append_value(Value::Record(record).resolve(schema)?)?;
        }
        writer.into_inner()
    })();
    done.map_err(|error| error.to_string())
}

/// Returns a field, without the union of optional ones. `None` if the record lacks it or it is null.
pub(crate) fn get<'a>(record: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
    let (_, value) = record.iter().find(|(field, _)| field == name)?;
    match value {
        Value::Union(_, value) => Some(value.as_ref()),
        value => Some(value),
    }
    .filter(|value| **value != Value::Null)
}

/// Returns a number.
pub(crate) fn number(record: &[(String, Value)], name: &str) -> Option<i64> {
    match get(record, name)? {
        Value::Int(number) => Some(i64::from(*number)),
        Value::Long(number) => Some(*number),
        _ => None,
    }
}

/// Returns a text.
pub(crate) fn text<'a>(record: &'a [(String, Value)], name: &str) -> Option<&'a str> {
    match get(record, name)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Returns a record within one.
pub(crate) fn record<'a>(record: &'a [(String, Value)], name: &str) -> Option<&'a [(String, Value)]> {
    match get(record, name)? {
        Value::Record(fields) => Some(fields),
        _ => None,
    }
}

/// Sets a field that the record has.
pub(crate) fn set(record: &mut Record, name: &str, new: Value) {
    if let Some((_, value)) = record.iter_mut().find(|(field, _)| field == name) {
        *value = new;
    }
}

/// Makes a record.
pub(crate) fn fields<const N: usize>(fields: [(&str, Value); N]) -> Record {
    fields.map(|(name, value)| (name.to_owned(), value)).into()
}
