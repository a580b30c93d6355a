//! What of a schema the reader needs: its types, each once, named by their places in a list. A type that contains itself
//! is a number that points back, so nothing here recurses without end but a payload, and that is counted.

use std::collections::HashMap;

use apache_avro::Schema as Avro;
use apache_avro::schema::{InnerDecimalSchema, Name, UuidSchema};

use crate::registry::Schema;

/// Types inside types, at most. A parser of JSON allows half as many.
const MAX_DEPTH: usize = 256;

/// A type's place in [`Shape::types`].
pub(super) type Id = usize;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Shape {
    types: Vec<Type>,
    /// Which types take no byte, whatever their value: a list may have any number of these.
    empty: Vec<bool>,
    root: Id,
}

/// How a type is written.
#[derive(Debug)]
pub(super) enum Type {
    Null,
    Boolean,
    /// `int` and `long`.
    Integer,
    /// A time of day, which no field is made of.
    Time,
    /// So many bytes that no field is made of: `float`, `double`, `fixed`.
    Skipped(usize),
    Bytes,
    String,
    /// A `uuid` of sixteen bytes.
    Uuid,
    Enum(Vec<String>),
    /// A moment, in so many units a millisecond.
    Moment(i64),
    /// A date and time of day, in so many units a second, that does not say where.
    Local(i64),
    /// Days since 1970-01-01.
    Date,
    Array(Id),
    Map(Id),
    Union(Vec<Id>),
    Record(Vec<(String, Id)>),
}

impl Shape {
    /// Compiles a schema and what it refers to.
    ///
    /// # Errors
    /// What is wrong with the schema.
    pub(crate) fn compile(schema: &Schema) -> Result<Self, String> {
        let references = schema.references.iter().map(|reference| &reference.text);
        let (main, others) =
            Avro::parse_str_with_list(&schema.text, references).map_err(|error| error.to_string())?;
        let mut compiler = Compiler::default();
        for schema in others.iter().chain([&main]) {
            compiler.define(schema, None, 0)?;
        }
        // What is referred to comes first, so that a chain of references is not gone down from its far end.
        for schema in &others {
            compiler.compile(schema, None, 0)?;
        }
        let root = compiler.compile(&main, None, 0)?;
        let types = compiler.types;
        let mut empty: Vec<bool> = types
            .iter()
            .map(|kind| matches!(kind, Type::Null | Type::Skipped(0)))
            .collect();
        // A record is empty if all its fields are, which may be known only after theirs; one that contains itself is
        // never found to be.
        loop {
            let found: Vec<Id> = (0..types.len())
                .filter(|&id| {
                    let Type::Record(fields) = &types[id] else {
                        return false;
                    };
                    !empty[id] && fields.iter().all(|&(_, field)| empty[field])
                })
                .collect();
            if found.is_empty() {
                return Ok(Self { types, empty, root });
            }
            found.into_iter().for_each(|id| empty[id] = true);
        }
    }

    pub(super) const fn root(&self) -> Id {
        self.root
    }

    pub(super) fn get(&self, id: Id) -> &Type {
        &self.types[id]
    }

    pub(super) fn is_empty(&self, id: Id) -> bool {
        self.empty[id]
    }
}

#[derive(Default)]
struct Compiler<'a> {
    types: Vec<Type>,
    /// Where each named type is defined, and the namespace that it is in.
    defined: HashMap<Name, (&'a Avro, Option<&'a str>)>,
    done: HashMap<Name, Id>,
}

/// The name of a type that has one; logical types keep that of the type below.
const fn name_of(schema: &Avro) -> Option<&Name> {
    use apache_avro::schema::DecimalSchema;
    match schema {
        Avro::Record(record) => Some(&record.name),
        Avro::Enum(symbols) => Some(&symbols.name),
        Avro::Fixed(fixed)
        | Avro::Duration(fixed)
        | Avro::Uuid(UuidSchema::Fixed(fixed))
        | Avro::Decimal(DecimalSchema {
            inner: InnerDecimalSchema::Fixed(fixed),
            ..
        }) => Some(&fixed.name),
        _ => None,
    }
}

impl<'a> Compiler<'a> {
    /// Notes where named types are defined.
    fn define(&mut self, schema: &'a Avro, within: Option<&'a str>, depth: usize) -> Result<(), String> {
        deep(depth)?;
        if let Some(name) = name_of(schema) {
            let full = name.fully_qualified_name(within).into_owned();
            self.defined.insert(full, (schema, within));
        }
        match schema {
            Avro::Array(array) => self.define(&array.items, within, depth + 1),
            Avro::Map(map) => self.define(&map.types, within, depth + 1),
            Avro::Union(union) => union
                .variants()
                .iter()
                .try_for_each(|schema| self.define(schema, within, depth + 1)),
            Avro::Record(record) => {
                let within = record.name.namespace().or(within);
                record
                    .fields
                    .iter()
                    .try_for_each(|field| self.define(&field.schema, within, depth + 1))
            }
            _ => Ok(()),
        }
    }

    fn compile(&mut self, schema: &'a Avro, within: Option<&'a str>, depth: usize) -> Result<Id, String> {
        deep(depth)?;
        if let Avro::Ref { name } = schema {
            let full = name.fully_qualified_name(within).into_owned();
            if let Some(&id) = self.done.get(&full) {
                return Ok(id);
            }
            let (schema, within) = *self
                .defined
                .get(&full)
                .ok_or_else(|| format!("it refers to {full}, which is nowhere defined"))?;
            return self.compile(schema, within, depth + 1);
        }
        let name = name_of(schema).map(|name| name.fully_qualified_name(within).into_owned());
        if let Some(&id) = name.as_ref().and_then(|name| self.done.get(name)) {
            return Ok(id);
        }
        let id = self.types.len();
        // Stands for the type while its own fields, which may be of it, are compiled.
        self.types.push(Type::Null);
        if let Some(name) = name {
            self.done.insert(name, id);
        }
        self.types[id] = self.kind(schema, within, depth)?;
        Ok(id)
    }

    fn kind(&mut self, schema: &'a Avro, within: Option<&'a str>, depth: usize) -> Result<Type, String> {
        let fixed = |size: usize| Type::Skipped(size);
        Ok(match schema {
            Avro::Null => Type::Null,
            Avro::Boolean => Type::Boolean,
            Avro::Int | Avro::Long => Type::Integer,
            Avro::TimeMillis | Avro::TimeMicros => Type::Time,
            Avro::Float => Type::Skipped(4),
            Avro::Double => Type::Skipped(8),
            Avro::Bytes | Avro::BigDecimal | Avro::Uuid(UuidSchema::Bytes) => Type::Bytes,
            Avro::String | Avro::Uuid(UuidSchema::String) => Type::String,
            Avro::Uuid(UuidSchema::Fixed(_)) => Type::Uuid,
            Avro::Fixed(inner) | Avro::Duration(inner) => fixed(inner.size),
            Avro::Decimal(decimal) => match &decimal.inner {
                InnerDecimalSchema::Fixed(inner) => fixed(inner.size),
                InnerDecimalSchema::Bytes => Type::Bytes,
            },
            Avro::Date => Type::Date,
            Avro::TimestampMillis => Type::Moment(1),
            Avro::TimestampMicros => Type::Moment(1_000),
            Avro::TimestampNanos => Type::Moment(1_000_000),
            Avro::LocalTimestampMillis => Type::Local(1_000),
            Avro::LocalTimestampMicros => Type::Local(1_000_000),
            Avro::LocalTimestampNanos => Type::Local(1_000_000_000),
            Avro::Enum(symbols) => Type::Enum(symbols.symbols.clone()),
            Avro::Array(array) => Type::Array(self.compile(&array.items, within, depth + 1)?),
            Avro::Map(map) => Type::Map(self.compile(&map.types, within, depth + 1)?),
            Avro::Union(union) => Type::Union(
                union
                    .variants()
                    .iter()
                    .map(|schema| self.compile(schema, within, depth + 1))
                    .collect::<Result<_, _>>()?,
            ),
            Avro::Record(record) => {
                let within = record.name.namespace().or(within);
                Type::Record(
                    record
                        .fields
                        .iter()
                        .map(|field| {
                            let id = self.compile(&field.schema, within, depth + 1)?;
                            Ok((field.name.clone(), id))
                        })
                        .collect::<Result<_, String>>()?,
                )
            }
            // `compile` follows these.
            Avro::Ref { name } => return Err(format!("it refers to {name}, which is nowhere defined")),
        })
    }
}

fn deep(depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("its types are nested too deep".to_owned());
    }
    Ok(())
}
