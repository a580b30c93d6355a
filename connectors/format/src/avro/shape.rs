//! A compiled schema: its types, each once, identified by their indices in a list. A recursive type is an
//! index that points back, so only a payload can recurse without end, and its depth is limited.

use std::collections::HashMap;

use apache_avro::Schema as Avro;
use apache_avro::schema::{InnerDecimalSchema, Name, UuidSchema};

use crate::registry::{CompileError, Schema};

/// Maximum nesting of types. A JSON parser allows half as many.
const MAX_DEPTH: usize = 256;

/// A type's index in [`Shape::types`].
pub(super) type Id = usize;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Shape {
    types: Vec<Type>,
    /// Which types always take zero bytes: a list may have any number of these.
    empty: Vec<bool>,
    root: Id,
}

/// The encoding of a type.
#[derive(Debug)]
pub(super) enum Type {
    Null,
    Boolean,
    /// `int` and `long`.
    Integer,
    /// A time of day, which no field uses.
    Time,
    /// A fixed number of bytes that no field uses: `float`, `double`, `fixed`.
    Skipped(usize),
    Bytes,
    String,
    /// A `uuid` of sixteen bytes.
    Uuid,
    Enum(Vec<String>),
    /// A point in time, with its number of units per millisecond.
    Moment(i64),
    /// A local date and time, with its number of units per second.
    Local(i64),
    /// Days since 1970-01-01.
    Date,
    Array(Id),
    Map(Id),
    Union(Vec<Id>),
    Record(Vec<(String, Id)>),
}

impl Shape {
    /// Compiles a schema and the schemas that it refers to.
    ///
    /// # Errors
    /// The problem in the schema.
    pub(crate) fn compile(schema: &Schema) -> Result<Self, CompileError> {
        let references = schema.references.iter().map(|reference| &reference.text);
        let (main, others) = Avro::parse_str_with_list(&schema.text, references)
            .map_err(|error| CompileError::Syntax(error.to_string()))?;
        let mut compiler = Compiler::default();
        for schema in others.iter().chain([&main]) {
            compiler.define(schema, None, 0)?;
        }
        // Referenced schemas come first, so that a chain of references is not followed from its far end.
        for schema in &others {
            compiler.compile(schema, None, 0)?;
        }
        let root = compiler.compile(&main, None, 0)?;
        let types = compiler.types;
        let mut empty: Vec<bool> = types
            .iter()
            .map(|kind| matches!(kind, Type::Null | Type::Skipped(0)))
            .collect();
        // A record is empty if all its fields are, which may be known only after theirs; a recursive one is
        // never empty.
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
    /// The definition of each named type, and its namespace.
    defined: HashMap<Name, (&'a Avro, Option<&'a str>)>,
    done: HashMap<Name, Id>,
}

/// Returns the name of a named type; logical types keep that of the underlying type.
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
    /// Records where named types are defined.
    fn define(
        &mut self,
        schema: &'a Avro,
        within: Option<&'a str>,
        depth: usize,
    ) -> Result<(), CompileError> {
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

    fn compile(
        &mut self,
        schema: &'a Avro,
        within: Option<&'a str>,
        depth: usize,
    ) -> Result<Id, CompileError> {
        deep(depth)?;
        if let Avro::Ref { name } = schema {
            let full = name.fully_qualified_name(within).into_owned();
            if let Some(&id) = self.done.get(&full) {
                return Ok(id);
            }
            let (schema, within) = *self
                .defined
                .get(&full)
                .ok_or_else(|| CompileError::Undefined(full.to_string()))?;
            return self.compile(schema, within, depth + 1);
        }
        let name = name_of(schema).map(|name| name.fully_qualified_name(within).into_owned());
        if let Some(&id) = name.as_ref().and_then(|name| self.done.get(name)) {
            return Ok(id);
        }
        let id = self.types.len();
        // A placeholder while the type's own fields are compiled, which may refer to it.
        self.types.push(Type::Null);
        if let Some(name) = name {
            self.done.insert(name, id);
        }
        self.types[id] = self.kind(schema, within, depth)?;
        Ok(id)
    }

    fn kind(
        &mut self,
        schema: &'a Avro,
        within: Option<&'a str>,
        depth: usize,
    ) -> Result<Type, CompileError> {
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
                        .collect::<Result<_, CompileError>>()?,
                )
            }
            // `compile` resolves these.
            Avro::Ref { name } => return Err(CompileError::Undefined(name.to_string())),
        })
    }
}

fn deep(depth: usize) -> Result<(), CompileError> {
    if depth > MAX_DEPTH {
        return Err(CompileError::Depth);
    }
    Ok(())
}
