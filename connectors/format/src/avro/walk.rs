//! Reads a payload in one pass along its schema and the trie of paths into a note event.
//!
//! The work is bounded for any bytes: a length is compared with the remaining bytes before anything is taken,
//! list elements take a byte each or are not iterated, and nesting is counted. Apache Avro 1.12
//! specification, "Binary encoding".

use std::borrow::Cow;

use lethe_core::{KnownKind, NoteEvent};

use super::shape::{Id, Shape, Type};
use crate::cursor::Cursor;
use crate::fields::{Children, Field, Mapping, Node, a_leaf};
use crate::known::{kind_named, push, set_kind};
use crate::visit::Draft;
use crate::{Diagnosis, PayloadError};

/// Maximum nesting of values, as in the JSON reader.
const MAX_DEPTH: usize = 128;

type Step = Result<(), PayloadError>;

/// Reads an event from the cursor's position to the end of the payload.
pub(super) fn event(shape: &Shape, mapping: &Mapping, cursor: Cursor<'_>) -> Result<NoteEvent, Diagnosis> {
    let mut walk = Walk {
        shape,
        cursor,
        draft: Draft::new(mapping.max_note_bytes),
        placed: 0,
        depth: 0,
    };
    let read = walk.object(shape.root(), &mapping.root, true);
    let read = read.and_then(|()| match walk.cursor.left() {
        0 => Ok(()),
        _ => Err(PayloadError::NotOfSchema),
    });
    let at = walk.cursor.at();
    let fail = |field: Option<Field>, problem| Diagnosis {
        field: field.map(Field::name),
        byte: at,
        problem,
    };
    read.map_err(|problem| fail(walk.draft.reading, problem))?;
    match walk.draft.missing(mapping.required) {
        None => Ok(walk.draft.event),
        Some(field) if walk.placed & field.bit() == 0 => Err(fail(Some(field), PayloadError::NotInSchema)),
        Some(field) => Err(fail(Some(field), PayloadError::Missing)),
    }
}

/// A value that a field may have.
enum Scalar<'a> {
    Null,
    Text(Cow<'a, str>),
    Integer(i64),
    Other,
}

struct Walk<'s, 'p> {
    shape: &'s Shape,
    cursor: Cursor<'p>,
    draft: Draft,
    /// Bits of the fields that the schema contains.
    placed: u16,
    depth: usize,
}

impl<'s, 'p> Walk<'s, 'p> {
    /// Runs a step one level deeper.
    fn within(&mut self, step: impl FnOnce(&mut Self) -> Step) -> Step {
        if self.depth == MAX_DEPTH {
            return Err(PayloadError::TooDeep);
        }
        self.depth += 1;
        step(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// Reads a record or a map and looks up its fields in the trie.
    fn object(&mut self, id: Id, children: &Children, top: bool) -> Step {
        let shape = self.shape;
        let mut seen = 0_u32;
        match shape.get(id) {
            Type::Union(types) => {
                let chosen = self.choice(types)?;
                self.within(|walk| walk.object(chosen, children, top))
            }
            // A missing inner record.
            Type::Null if !top => Ok(()),
            Type::Record(fields) => self.within(|walk| {
                fields
                    .iter()
                    .try_for_each(|(name, field)| walk.member(name, *field, children, &mut seen))
            }),
            Type::Map(values) => {
                self.within(|walk| walk.pairs(|walk, key| walk.member(key, *values, children, &mut seen)))
            }
            _ => Err(PayloadError::NotAnObject),
        }
    }

    /// Reads a record's field or a map's value.
    fn member(&mut self, name: &str, id: Id, children: &Children, seen: &mut u32) -> Step {
        let Some(child) = children.iter().position(|(child, _)| child == name) else {
            return self.skip(id);
        };
        let node = &children[child].1;
        // At most ten children, since there are ten fields.
        if *seen & (1 << child) != 0 {
            self.draft.reading = Some(a_leaf(node));
            return Err(PayloadError::Duplicate);
        }
        *seen |= 1 << child;
        let field = match node {
            Node::Object(inner) => return self.object(id, inner, false),
            Node::Leaf(field) => *field,
        };
        self.placed |= field.bit();
        self.draft.reading = Some(field);
        if field == Field::Known {
            self.known(id)?;
            self.draft.seen |= field.bit();
        } else {
            match self.scalar(id, field == Field::Event)? {
                Scalar::Null => {}
                Scalar::Text(text) => self.draft.string(field, &text)?,
                Scalar::Integer(number) => self.draft.integer(field, number)?,
                Scalar::Other => return Err(PayloadError::WrongType),
            }
        }
        self.draft.reading = None;
        Ok(())
    }

    /// Reads a value that is neither a list nor a record. Lower-cases symbols of an enum if `lower` is set.
    fn scalar(&mut self, id: Id, lower: bool) -> Result<Scalar<'p>, PayloadError> {
        let shape = self.shape;
        Ok(match shape.get(id) {
            Type::Null => Scalar::Null,
            // A union contains no union, so this recurses once.
            Type::Union(types) => {
                let chosen = self.choice(types)?;
                return match shape.get(chosen) {
                    Type::Union(_) => Err(PayloadError::NotOfSchema),
                    _ => self.scalar(chosen, lower),
                };
            }
            Type::String => Scalar::Text(self.text()?.into()),
            Type::Integer => Scalar::Integer(self.cursor.zigzag()?),
            Type::Enum(symbols) => {
                let symbol = &symbols[self.index(symbols.len())?];
                Scalar::Text(Cow::Owned(if lower {
                    symbol.to_ascii_lowercase()
                } else {
                    symbol.clone()
                }))
            }
            // Rounded down, as milliseconds before 1970 are too.
            Type::Moment(units) => Scalar::Integer(self.cursor.zigzag()?.div_euclid(*units)),
            Type::Date => Scalar::Text(local(self.cursor.zigzag()?.checked_mul(86_400), 0, true)?.into()),
            Type::Local(units) => {
                let since = self.cursor.zigzag()?;
                let nanos = since.rem_euclid(*units) * (1_000_000_000 / units);
                Scalar::Text(local(Some(since.div_euclid(*units)), nanos, false)?.into())
            }
            Type::Uuid => {
                let bytes: [u8; 16] = self.cursor.array()?;
                Scalar::Text(hyphenated(bytes).into())
            }
            _ => Scalar::Other,
        })
    }

    /// Reads the patient's identifiers: a list of `{kind, value}`, or kinds and their values.
    fn known(&mut self, id: Id) -> Step {
        let shape = self.shape;
        match shape.get(id) {
            Type::Null => Ok(()),
            Type::Union(types) => {
                let chosen = self.choice(types)?;
                self.within(|walk| walk.known(chosen))
            }
            Type::Array(items) => self.within(|walk| walk.items(*items, |walk| walk.entry(*items))),
            Type::Map(values) => self.within(|walk| walk.pairs(|walk, key| walk.named(key, *values))),
            Type::Record(fields) => self.within(|walk| {
                fields
                    .iter()
                    .try_for_each(|(name, field)| walk.named(name, *field))
            }),
            _ => Err(PayloadError::WrongType),
        }
    }

    /// Reads one `{kind, value}`; other fields are ignored.
    fn entry(&mut self, id: Id) -> Step {
        let shape = self.shape;
        match shape.get(id) {
            Type::Union(types) => {
                let chosen = self.choice(types)?;
                self.within(|walk| walk.entry(chosen))
            }
            Type::Record(fields) => {
                let first = self.draft.event.known.len();
                let (mut named, mut valued) = (None, false);
                for (name, field) in fields {
                    match name.as_str() {
                        "kind" => match self.scalar(*field, true)? {
                            Scalar::Text(name) => named = Some(kind_named(&name)),
                            _ => return Err(PayloadError::WrongType),
                        },
                        "value" => {
                            valued = true;
                            self.values(KnownKind::Other, *field)?;
                        }
                        _ => self.skip(*field)?,
                    }
                }
                // The value may precede its kind.
                let kind = named.filter(|_| valued).ok_or(PayloadError::WrongType)?;
                self.kind(first, kind)
            }
            _ => Err(PayloadError::WrongType),
        }
    }

    /// Reads the identifiers of the kind with that name.
    fn named(&mut self, name: &str, id: Id) -> Step {
        let first = self.draft.event.known.len();
        self.values(KnownKind::Other, id)?;
        self.kind(first, kind_named(name))
    }

    /// Sets the kind of the identifiers from `first` on.
    fn kind(&mut self, first: usize, kind: Option<KnownKind>) -> Step {
        set_kind(self.draft.event.known.get_mut(first..).unwrap_or_default(), kind)
    }

    /// Reads a string, an integer, or a list of these.
    fn values(&mut self, kind: KnownKind, id: Id) -> Step {
        let shape = self.shape;
        match shape.get(id) {
            Type::Union(types) => {
                let chosen = self.choice(types)?;
                self.within(|walk| walk.values(kind, chosen))
            }
            Type::Array(items) => self.within(|walk| walk.items(*items, |walk| walk.values(kind, *items))),
            _ => {
                let known = |walk: &mut Self, value: &str| push(&mut walk.draft.event.known, kind, value);
                match self.scalar(id, false)? {
                    Scalar::Null => {}
                    Scalar::Text(text) => known(self, &text),
                    Scalar::Integer(number) => known(self, &number.to_string()),
                    Scalar::Other => return Err(PayloadError::WrongType),
                }
                Ok(())
            }
        }
    }

    /// Skips a value.
    fn skip(&mut self, id: Id) -> Step {
        let shape = self.shape;
        if shape.is_empty(id) {
            return Ok(());
        }
        match shape.get(id) {
            Type::Null => Ok(()),
            Type::Boolean => match self.cursor.array()? {
                [0 | 1] => Ok(()),
                _ => Err(PayloadError::NotOfSchema),
            },
            Type::Integer | Type::Time | Type::Moment(_) | Type::Local(_) | Type::Date => {
                self.cursor.varint().map(drop)
            }
            Type::Skipped(size) => self.cursor.take(*size).map(drop),
            Type::Uuid => self.cursor.take(16).map(drop),
            Type::Bytes | Type::String => self.bytes().map(drop),
            Type::Enum(symbols) => self.index(symbols.len()).map(drop),
            Type::Union(types) => {
                let chosen = self.choice(types)?;
                self.within(|walk| walk.skip(chosen))
            }
            Type::Array(items) => self.within(|walk| walk.items(*items, |walk| walk.skip(*items))),
            Type::Map(values) => self.within(|walk| walk.pairs(|walk, _| walk.skip(*values))),
            Type::Record(fields) => {
                self.within(|walk| fields.iter().try_for_each(|&(_, field)| walk.skip(field)))
            }
        }
    }

    /// Reads the items of an array. Zero-byte items count once, since they cannot be distinguished.
    fn items(&mut self, item: Id, mut each: impl FnMut(&mut Self) -> Step) -> Step {
        let empty = self.shape.is_empty(item);
        self.blocks(|walk, count| {
            let count = if empty { 1 } else { count };
            (0..count).try_for_each(|_| each(walk))
        })
    }

    /// Reads the keys of a map; `each` reads the value.
    fn pairs(&mut self, mut each: impl FnMut(&mut Self, &str) -> Step) -> Step {
        self.blocks(|walk, count| {
            (0..count).try_for_each(|_| {
                let key = walk.text()?;
                each(walk, key)
            })
        })
    }

    /// Reads the blocks of an array or a map up to the empty block that ends it; `each` reads the block's
    /// items.
    ///
    /// A block may contain its length, so that readers can skip it. It is read all the same: with a wrong
    /// length, two readers could find two texts in one payload.
    fn blocks(&mut self, mut each: impl FnMut(&mut Self, u64) -> Step) -> Step {
        loop {
            let count = self.cursor.zigzag()?;
            let bytes = match count {
                0 => return Ok(()),
                1.. => None,
                // The block's length follows a negative count.
                _ => Some(self.length()?),
            };
            let begin = self.cursor.at();
            each(self, count.unsigned_abs())?;
            let read = (self.cursor.at() - begin) as u64;
            if bytes.is_some_and(|bytes| bytes != read) {
                return Err(PayloadError::NotOfSchema);
            }
        }
    }

    /// Reads the chosen type of a union.
    fn choice(&mut self, types: &[Id]) -> Result<Id, PayloadError> {
        Ok(types[self.index(types.len())?])
    }

    /// Reads an index into a list of `len`.
    fn index(&mut self, len: usize) -> Result<usize, PayloadError> {
        usize::try_from(self.cursor.zigzag()?)
            .ok()
            .filter(|&index| index < len)
            .ok_or(PayloadError::NotOfSchema)
    }

    fn length(&mut self) -> Result<u64, PayloadError> {
        u64::try_from(self.cursor.zigzag()?).map_err(|_| PayloadError::NotOfSchema)
    }

    fn bytes(&mut self) -> Result<&'p [u8], PayloadError> {
        let length = self.length()?;
        self.cursor.take_long(length)
    }

    fn text(&mut self) -> Result<&'p str, PayloadError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| PayloadError::NotUtf8)
    }
}

/// Formats a local date, or date and time, as ISO 8601 without an offset.
fn local(seconds: Option<i64>, nanos: i64, date_only: bool) -> Result<String, PayloadError> {
    let nanos = i32::try_from(nanos).map_err(|_| PayloadError::NotADate)?;
    let at = seconds
        .and_then(|seconds| jiff::Timestamp::new(seconds, nanos).ok())
        .ok_or(PayloadError::NotADate)?;
    let at = jiff::tz::Offset::UTC.to_datetime(at);
    Ok(if date_only {
        at.date().to_string()
    } else {
        at.to_string()
    })
}

/// Formats sixteen bytes in the customary five groups (RFC 9562 section 4).
fn hyphenated(bytes: [u8; 16]) -> String {
    let group = |from: usize, to: usize| -> String {
        let bytes = bytes.get(from..to).unwrap_or_default();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    [(0, 4), (4, 6), (6, 8), (8, 10), (10, 16)]
        .map(|(from, to)| group(from, to))
        .join("-")
}
