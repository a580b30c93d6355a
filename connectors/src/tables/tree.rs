//! A column as a tree: the parts of the output, and the positions of values that are not kept unchanged.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef, GenericListArray, OffsetSizeTrait, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use lethe_core::QuarantineCode;

use super::path_error::PathError;
use super::strings::{has_text, text};
use crate::format::PayloadError;

/// The treatment of a column or a part of one.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Keep,
    /// Values to replace, with the leaf's index.
    Leaf(usize),
    /// A struct with these fields, by their index.
    Struct(Vec<(usize, Self)>),
    List(Box<Self>),
}

/// The values of one leaf in a slab.
#[derive(Clone, Debug)]
pub struct Values {
    column: ArrayRef,
    /// The row of the slab of each value; `None` if no row holds it.
    rows: Vec<Option<u32>>,
}

impl Values {
    /// Returns the number of values, including nulls.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the row of a value.
    pub fn row(&self, at: usize) -> Option<usize> {
        self.rows.get(at).copied().flatten().map(|row| row as usize)
    }

    /// Returns a value as text; `None` if it is null or no row holds it.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn text(&self, at: usize) -> Result<Option<String>, QuarantineCode> {
        if self.row(at).is_none() {
            return Ok(None);
        }
        text(&self.column, at).map_err(PayloadError::code)
    }
}

/// Returns the node of one path.
pub(super) fn grow(kind: &DataType, path: &[&str], leaf: Option<usize>) -> Result<Node, PathError> {
    match (kind, path.split_first()) {
        // Lists do not appear in a path; a list at its end is kept whole, or has a value in each place.
        (DataType::List(item) | DataType::LargeList(item), rest) if leaf.is_some() || rest.is_some() => {
            Ok(Node::List(Box::new(grow(item.data_type(), path, leaf)?)))
        }
        (DataType::Struct(fields), Some((name, rest))) => {
            let (at, field) = fields
                .find(name)
                .ok_or_else(|| PathError::missing(name, fields))?;
            Ok(Node::Struct(vec![(at, grow(field.data_type(), rest, leaf)?)]))
        }
        (kind, Some((name, _))) => Err(PathError::no_struct(name, kind)),
        (_, None) => match leaf {
            None => Ok(Node::Keep),
            Some(leaf) if has_text(kind) => Ok(Node::Leaf(leaf)),
            Some(_) => Err(PathError::NoText { kind: kind.clone() }),
        },
    }
}

pub(super) fn merge(into: &mut Node, other: Node) {
    match (into, other) {
        (Node::Struct(fields), Node::Struct(more)) => {
            for (at, node) in more {
                match fields.iter_mut().find(|(have, _)| *have == at) {
                    Some((_, have)) => merge(have, node),
                    None => fields.push((at, node)),
                }
            }
            fields.sort_by_key(|(at, _)| *at);
        }
        (Node::List(item), Node::List(other)) => merge(item, *other),
        // Nested paths were refused before.
        _ => {}
    }
}

/// Collects the values of every leaf below a node, whose elements belong to these rows.
pub(super) fn gather(array: &ArrayRef, node: &Node, rows: Vec<Option<u32>>, found: &mut Vec<Option<Values>>) {
    match node {
        Node::Keep => {}
        Node::Leaf(leaf) => {
            found[*leaf] = Some(Values {
                column: Arc::clone(array),
                rows,
            });
        }
        Node::Struct(fields) => {
            let parent = array.as_struct();
            // The children of a null struct are not values.
            let rows: Vec<_> = rows
                .into_iter()
                .enumerate()
                .map(|(at, row)| row.filter(|_| parent.is_valid(at)))
                .collect();
            for (at, node) in fields {
                gather(parent.column(*at), node, rows.clone(), found);
            }
        }
        Node::List(item) => match array.data_type() {
            DataType::LargeList(_) => gather_list(array.as_list::<i64>(), item, &rows, found),
            _ => gather_list(array.as_list::<i32>(), item, &rows, found),
        },
    }
}

fn gather_list<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    item: &Node,
    rows: &[Option<u32>],
    found: &mut Vec<Option<Values>>,
) {
    let mut inner = vec![None; list.values().len()];
    for (at, row) in rows.iter().enumerate() {
        let range = list.value_offsets()[at].as_usize()..list.value_offsets()[at + 1].as_usize();
        if list.is_valid(at) {
            inner[range].fill(*row);
        }
    }
    gather(list.values(), item, inner, found);
}

/// Returns the output of a column with these values at the leaves, and its type.
pub(super) fn rebuild(
    array: &ArrayRef,
    node: &Node,
    leaves: &[ArrayRef],
) -> Result<(DataType, ArrayRef), ArrowError> {
    let short = || ArrowError::InvalidArgumentError("a leaf lacks its values".to_owned());
    match node {
        Node::Keep => Ok((array.data_type().clone(), Arc::clone(array))),
        Node::Leaf(leaf) => {
            let new = leaves.get(*leaf).filter(|new| new.len() == array.len());
            let new = Arc::clone(new.ok_or_else(short)?);
            Ok((new.data_type().clone(), new))
        }
        Node::Struct(nodes) => {
            let parent = array.as_struct();
            let (mut fields, mut columns) = (Vec::new(), Vec::new());
            for (at, node) in nodes {
                let (kind, column) = rebuild(parent.column(*at), node, leaves)?;
                let name = parent.fields()[*at].name();
                fields.push(Field::new(name, kind, true));
                columns.push(column);
            }
            let new = StructArray::try_new(Fields::from(fields), columns, parent.nulls().cloned())?;
            Ok((new.data_type().clone(), Arc::new(new)))
        }
        Node::List(item) => match array.data_type() {
            DataType::LargeList(_) => rebuild_list(array.as_list::<i64>(), item, leaves),
            _ => rebuild_list(array.as_list::<i32>(), item, leaves),
        },
    }
}

fn rebuild_list<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    item: &Node,
    leaves: &[ArrayRef],
) -> Result<(DataType, ArrayRef), ArrowError> {
    let (kind, values) = rebuild(list.values(), item, leaves)?;
    let field = Arc::new(Field::new_list_field(kind, true));
    let new = GenericListArray::try_new(field, list.offsets().clone(), values, list.nulls().cloned())?;
    Ok((new.data_type().clone(), Arc::new(new)))
}
