//! Reads a payload in one pass by its message's plan into a note event.
//!
//! The work is bounded for any bytes: a length is compared with the remaining bytes before anything is taken,
//! messages are entered only as deep as paths lead, and groups, which are skipped, as deep as common readers
//! allow. Protocol Buffers documentation, "Encoding".

use lethe_core::{KnownKind, NoteEvent};

use super::plan::{Message, Slot, Value};
use crate::cursor::{Cursor, unzigzag};
use crate::fields::{Field, Mapping};
use crate::known::{kind_named, push, set_kind};
use crate::visit::Draft;
use crate::{Diagnosis, PayloadError};

/// Maximum nesting of groups.
const MAX_GROUPS: usize = 100;

type Step = Result<(), PayloadError>;

/// Reads an event from the cursor's position to the end of the payload.
pub(super) fn event<'a>(
    plan: &'a Message,
    mapping: &Mapping,
    mut cursor: Cursor<'a>,
) -> Result<NoteEvent, Diagnosis> {
    let mut draft = Draft::new(mapping.max_note_bytes);
    let read = message(plan, &mut cursor, &mut draft);
    let fail = |field: Option<Field>, problem| Diagnosis {
        field: field.map(Field::name),
        byte: cursor.at(),
        problem,
    };
    read.map_err(|problem| fail(draft.reading, problem))?;
    match draft.missing(mapping.required) {
        None => Ok(draft.event),
        Some(field) if plan.placed & field.bit() == 0 => Err(fail(Some(field), PayloadError::NotInSchema)),
        Some(field) => Err(fail(Some(field), PayloadError::Missing)),
    }
}

/// The wire type of a field: the low three bits of its key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wire {
    Varint,
    Fixed64,
    Delimited,
    StartGroup,
    EndGroup,
    Fixed32,
}

/// A value that a field may have.
enum Scalar<'a> {
    Nothing,
    Text(&'a str),
    Integer(i64),
    Unsigned(u64),
}

fn message<'a>(plan: &'a Message, cursor: &mut Cursor<'a>, draft: &mut Draft) -> Step {
    while cursor.left() > 0 {
        let (number, wire) = key(cursor)?;
        let Some((_, slot)) = plan.slots.iter().find(|(mapped, _)| *mapped == number) else {
            skip(cursor, number, wire, 0)?;
            continue;
        };
        match slot {
            Slot::Inner(inner) => {
                // The depth is that of a path in the configuration, not of the payload.
                message(inner, &mut nested(cursor, wire)?, draft)?;
            }
            Slot::Field(field, value) => {
                draft.reading = Some(*field);
                match scalar(value, cursor, wire)? {
                    Scalar::Nothing => {}
                    Scalar::Text(text) => draft.string(*field, text)?,
                    Scalar::Integer(number) => draft.integer(*field, number)?,
                    Scalar::Unsigned(number) => draft.unsigned(*field, number)?,
                }
            }
            Slot::Wrong(field) => {
                draft.reading = Some(*field);
                return Err(PayloadError::WrongType);
            }
            Slot::Entries { .. } | Slot::Map(_) | Slot::Kinds(_) => {
                draft.reading = Some(Field::Known);
                known(slot, &mut nested(cursor, wire)?, draft)?;
                draft.seen |= Field::Known.bit();
            }
        }
        draft.reading = None;
    }
    for (field, value) in &plan.implied {
        if draft.seen & field.bit() == 0 {
            draft.reading = Some(*field);
            draft.string(*field, value)?;
            draft.reading = None;
        }
    }
    Ok(())
}

/// Reads one message of the patient's identifiers.
fn known<'a>(slot: &'a Slot, cursor: &mut Cursor<'a>, draft: &mut Draft) -> Step {
    let first = draft.event.known.len();
    let (mut named, mut key_of_map) = (None, None);
    while cursor.left() > 0 {
        let (number, wire) = key(cursor)?;
        let mut values = |how: &'a Value, of: KnownKind, cursor: &mut Cursor<'a>| {
            each(how, cursor, wire, |text| push(&mut draft.event.known, of, text))
        };
        match slot {
            Slot::Entries {
                kind: (mapped, how), ..
            } if *mapped == number => {
                if let Scalar::Text(name) = scalar(how, cursor, wire)? {
                    named = Some(kind_named(name));
                }
            }
            Slot::Entries {
                value: (mapped, how), ..
            } if *mapped == number => values(how, KnownKind::Other, cursor)?,
            // In a map's entry, field 1 is the key and field 2 the value.
            Slot::Map(_) if number == 1 => {
                if let Scalar::Text(name) = scalar(&Value::Text, cursor, wire)? {
                    key_of_map = Some(kind_named(name));
                }
            }
            Slot::Map(how) if number == 2 => values(how, KnownKind::Other, cursor)?,
            Slot::Kinds(kinds) => match kinds.iter().find(|(mapped, ..)| *mapped == number) {
                Some((_, Some(of), Some(how))) => values(how, *of, cursor)?,
                Some((_, None, _)) => return Err(PayloadError::UnknownKind),
                Some((_, _, None)) => return Err(PayloadError::WrongType),
                None => skip(cursor, number, wire, 0)?,
            },
            _ => skip(cursor, number, wire, 0)?,
        }
    }
    // The value may precede its kind.
    match named.or(key_of_map) {
        Some(kind) => set_kind(draft.event.known.get_mut(first..).unwrap_or_default(), kind),
        None => Ok(()),
    }
}

/// Reads every value of a field that may be a list: numbers may be packed.
fn each<'a>(value: &'a Value, cursor: &mut Cursor<'a>, wire: Wire, mut take: impl FnMut(&str)) -> Step {
    let mut give = |scalar| match scalar {
        Scalar::Nothing => {}
        Scalar::Text(text) => take(text),
        Scalar::Integer(number) => take(&number.to_string()),
        Scalar::Unsigned(number) => take(&number.to_string()),
    };
    let own = value.wire();
    if wire == Wire::Delimited && own != Wire::Delimited {
        let mut packed = nested(cursor, wire)?;
        while packed.left() > 0 {
            give(scalar(value, &mut packed, own)?);
        }
    } else {
        give(scalar(value, cursor, wire)?);
    }
    Ok(())
}

impl Value {
    /// Returns the wire type of a single value.
    const fn wire(&self) -> Wire {
        match self {
            Self::Text | Self::Moment | Self::Wrapped(_) => Wire::Delimited,
            Self::Fixed32 | Self::SignedFixed32 => Wire::Fixed32,
            Self::Fixed64 | Self::SignedFixed64 => Wire::Fixed64,
            Self::Enum(_)
            | Self::Int32
            | Self::Int64
            | Self::Unsigned32
            | Self::Unsigned64
            | Self::Zigzag32
            | Self::Zigzag64 => Wire::Varint,
        }
    }
}

fn scalar<'a>(value: &'a Value, cursor: &mut Cursor<'a>, wire: Wire) -> Result<Scalar<'a>, PayloadError> {
    if wire != value.wire() {
        return Err(PayloadError::NotOfSchema);
    }
    Ok(match value {
        Value::Text => {
            let length = cursor.varint()?;
            Scalar::Text(std::str::from_utf8(cursor.take_long(length)?).map_err(|_| PayloadError::NotUtf8)?)
        }
        Value::Enum(names) => {
            let number = low(cursor.varint()?);
            match names.iter().find(|(named, _)| *named == number) {
                Some((_, name)) if name.is_empty() => Scalar::Nothing,
                Some((_, name)) => Scalar::Text(name),
                // A value that was added to the enum after this schema.
                None => Scalar::Integer(number.into()),
            }
        }
        Value::Int32 => Scalar::Integer(low(cursor.varint()?).into()),
        Value::Int64 => Scalar::Integer(cursor.varint()?.cast_signed()),
        Value::Unsigned32 => Scalar::Integer(low(cursor.varint()?).cast_unsigned().into()),
        Value::Unsigned64 => Scalar::Unsigned(cursor.varint()?),
        Value::Zigzag32 => Scalar::Integer(unzigzag(low(cursor.varint()?).cast_unsigned().into())),
        Value::Zigzag64 => Scalar::Integer(cursor.zigzag()?),
        Value::Fixed32 => Scalar::Integer(u32::from_le_bytes(cursor.array()?).into()),
        Value::Fixed64 => Scalar::Unsigned(u64::from_le_bytes(cursor.array()?)),
        Value::SignedFixed32 => Scalar::Integer(i32::from_le_bytes(cursor.array()?).into()),
        Value::SignedFixed64 => Scalar::Integer(i64::from_le_bytes(cursor.array()?)),
        Value::Moment => Scalar::Integer(moment(&mut nested(cursor, wire)?)?),
        Value::Wrapped(inner) => wrapped(inner, &mut nested(cursor, wire)?)?,
    })
}

/// Seconds and nanoseconds as milliseconds, rounded down.
fn moment(cursor: &mut Cursor<'_>) -> Result<i64, PayloadError> {
    let (mut seconds, mut nanos) = (0_i64, 0_i32);
    while cursor.left() > 0 {
        match key(cursor)? {
            (1, Wire::Varint) => seconds = cursor.varint()?.cast_signed(),
            (2, Wire::Varint) => nanos = low(cursor.varint()?),
            (number, wire) => skip(cursor, number, wire, 0)?,
        }
    }
    seconds
        .checked_mul(1_000)
        .and_then(|millis| millis.checked_add(nanos.div_euclid(1_000_000).into()))
        .ok_or(PayloadError::NotADate)
}

/// The value that a message wraps; nothing written is its default.
fn wrapped<'a>(value: &'a Value, cursor: &mut Cursor<'a>) -> Result<Scalar<'a>, PayloadError> {
    let mut found = match value {
        Value::Text => Scalar::Text(""),
        _ => Scalar::Integer(0),
    };
    while cursor.left() > 0 {
        match key(cursor)? {
            (1, wire) => found = scalar(value, cursor, wire)?,
            (number, wire) => skip(cursor, number, wire, 0)?,
        }
    }
    Ok(found)
}

/// Returns the low 32 bits, as readers of 32-bit numbers do.
const fn low(value: u64) -> i32 {
    value as i32
}

fn key(cursor: &mut Cursor<'_>) -> Result<(u32, Wire), PayloadError> {
    let key = u32::try_from(cursor.varint()?).map_err(|_| PayloadError::NotOfSchema)?;
    let wire = match key & 7 {
        0 => Wire::Varint,
        1 => Wire::Fixed64,
        2 => Wire::Delimited,
        3 => Wire::StartGroup,
        4 => Wire::EndGroup,
        5 => Wire::Fixed32,
        _ => return Err(PayloadError::NotOfSchema),
    };
    match key >> 3 {
        0 => Err(PayloadError::NotOfSchema),
        number => Ok((number, wire)),
    }
}

/// The bytes of a message inside.
fn nested<'a>(cursor: &mut Cursor<'a>, wire: Wire) -> Result<Cursor<'a>, PayloadError> {
    if wire != Wire::Delimited {
        return Err(PayloadError::NotOfSchema);
    }
    let length = cursor.varint()?;
    cursor.inner(length)
}

/// Skips a field.
fn skip(cursor: &mut Cursor<'_>, number: u32, wire: Wire, depth: usize) -> Step {
    match wire {
        Wire::Varint => cursor.varint().map(drop),
        Wire::Fixed64 => cursor.take(8).map(drop),
        Wire::Fixed32 => cursor.take(4).map(drop),
        Wire::Delimited => {
            let length = cursor.varint()?;
            cursor.take_long(length).map(drop)
        }
        Wire::StartGroup if depth == MAX_GROUPS => Err(PayloadError::TooDeep),
        Wire::StartGroup => loop {
            match key(cursor)? {
                (end, Wire::EndGroup) if end == number => return Ok(()),
                (inner, wire) => skip(cursor, inner, wire, depth + 1)?,
            }
        },
        Wire::EndGroup => Err(PayloadError::NotOfSchema),
    }
}
