//! Looking into a resource, whatever it holds.

use serde_json::{Map, Value};

pub(super) type Object = Map<String, Value>;

/// The string of that name, unless it is blank.
pub(super) fn str_of<'v>(object: &'v Object, name: &str) -> Option<&'v str> {
    object.get(name)?.as_str().filter(|text| !text.trim().is_empty())
}

/// The strings of that name, blank ones and what is no string left out.
pub(super) fn strings<'v>(object: &'v Object, name: &str) -> Vec<&'v str> {
    let all = items(object, name).filter_map(Value::as_str);
    all.filter(|text| !text.trim().is_empty()).collect()
}

/// The element's values: those of an array, or the one.
pub(super) fn items<'v>(object: &'v Object, name: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    match object.get(name) {
        Some(Value::Array(values)) => values.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[],
    }
    .iter()
}

/// The element's objects.
pub(super) fn objects<'v>(object: &'v Object, name: &str) -> impl Iterator<Item = &'v Object> + use<'v> {
    items(object, name).filter_map(Value::as_object)
}

/// The object of that name, or the first of several.
pub(super) fn object<'v>(within: &'v Object, name: &str) -> Option<&'v Object> {
    objects(within, name).next()
}
