//! Indexes the resources of a message and resolves references to them.

use std::collections::HashMap;

use super::ids::{self, Target};
use super::table::RESOURCES;
use super::value::{Object, Value, objects, str_of};

/// Number of the table's first resources that can be a note.
const NOTES: usize = 4;

/// The resources of a message.
pub(super) struct Index<'v> {
    /// Resources that can be a note: compositions first, then documents, reports, observations, each in
    /// message order. Without any of these, all resources: the message is structured.
    pub(super) notes: Vec<&'v Object<'v>>,
    /// Resources that cannot be a note.
    others: Vec<&'v Object<'v>>,
    pub(super) patients: Vec<&'v Object<'v>>,
    by_reference: HashMap<Key<'v>, &'v Object<'v>>,
}

impl<'v> Index<'v> {
    pub(super) fn new(root: &'v Object<'v>) -> Self {
        let mut index = Self {
            notes: Vec::new(),
            others: Vec::new(),
            patients: Vec::new(),
            by_reference: HashMap::new(),
        };
        if str_of(root, "resourceType") == Some("Bundle") {
            for entry in objects(root, "entry") {
                if let Some(resource) = entry.get("resource").and_then(Value::as_object) {
                    index.add(resource, str_of(entry, "fullUrl"));
                }
            }
        } else if str_of(root, "resourceType") == Some("Binary") {
            index.notes.push(root);
        } else {
            index.add(root, None);
        }
        if index.notes.is_empty() {
            index.notes.append(&mut index.others);
        }
        index.notes.sort_by_key(|note| rank(note));
        index
    }

    fn add(&mut self, resource: &'v Object<'v>, full_url: Option<&'v str>) {
        let Some(kind) = str_of(resource, "resourceType").and_then(ids::kind) else {
            return;
        };
        if rank(resource) < NOTES {
            self.notes.push(resource);
        } else if kind_of(resource).is_some_and(|kind| kind != "Bundle") {
            self.others.push(resource);
        }
        if kind == "Patient" {
            self.patients.push(resource);
        }
        let id = str_of(resource, "id").and_then(|id| Some(Key::of(ids::within(kind, id)?)));
        for key in [id.flatten(), full_url.and_then(key)].into_iter().flatten() {
            self.by_reference.entry(key).or_insert(resource);
        }
    }

    /// Returns the target of a reference in the resource `from`.
    pub(super) fn resolve(&self, from: &'v Object<'v>, reference: &str) -> Option<&'v Object<'v>> {
        match ids::target(reference)? {
            Target::Contained(id) => {
                objects(from, "contained").find(|within| str_of(within, "id") == Some(id))
            }
            target => self.by_reference.get(&Key::of(target)?).copied(),
        }
    }

    /// Returns the type of a URN's resource.
    pub(super) fn kind_of_urn(&self, urn: &str) -> Option<&'static str> {
        let resource = self.by_reference.get(&Key::Urn(urn))?;
        str_of(resource, "resourceType").and_then(ids::kind)
    }

    /// Returns the document at a URL, if the message includes it.
    pub(super) fn binary(&self, url: &str) -> Option<&'v Object<'v>> {
        let resource = self.by_reference.get(&key(url)?).copied()?;
        (str_of(resource, "resourceType") == Some("Binary")).then_some(resource)
    }
}

/// Returns the resource's type, if it is known.
pub(super) fn kind_of(resource: &Object<'_>) -> Option<&'static str> {
    super::table::resource(str_of(resource, "resourceType")?)
}

fn rank(resource: &Object<'_>) -> usize {
    let kind = kind_of(resource);
    let place = RESOURCES.iter().position(|(name, _)| Some(*name) == kind);
    place.unwrap_or(RESOURCES.len())
}

/// The key of a resource.
#[derive(PartialEq, Eq, Hash)]
enum Key<'v> {
    /// Its type and id.
    Typed(&'static str, &'v str),
    Urn(&'v str),
}

impl<'v> Key<'v> {
    /// `None` for a contained resource.
    const fn of(target: Target<'v>) -> Option<Self> {
        match target {
            Target::Typed(kind, id) => Some(Self::Typed(kind, id)),
            Target::Urn(id) => Some(Self::Urn(id)),
            Target::Contained(_) => None,
        }
    }
}

fn key(reference: &str) -> Option<Key<'_>> {
    Key::of(ids::target(reference)?)
}
