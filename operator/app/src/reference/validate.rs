//! As much of a JSON Schema validator as the schemas here use, so that tests can check them.

use serde_json::Value;

/// Validates `value` against `schema`, whose references are into `root`.
///
/// # Errors
/// The first mismatch.
pub(super) fn validate(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let Some(rules) = schema.as_object() else {
        return match schema {
            Value::Bool(false) => Err(format!("{value} is not allowed")),
            _ => Ok(()),
        };
    };
    for (rule, expected) in rules {
        let of = |schema: &Value| validate(root, schema, value);
        let matching = || {
            expected
                .as_array()
                .map_or(0, |all| all.iter().filter(|one| of(one).is_ok()).count())
        };
        let holds = match rule.as_str() {
            "$ref" => {
                let pointer = expected.as_str().and_then(|path| path.strip_prefix('#'));
                let target = pointer
                    .and_then(|path| root.pointer(path))
                    .ok_or("a reference leads nowhere")?;
                of(target)?;
                true
            }
            "type" => match expected {
                Value::Array(names) => names.iter().any(|name| is_of(value, name)),
                name => is_of(value, name),
            },
            "const" => value == expected,
            "enum" => expected.as_array().is_some_and(|values| values.contains(value)),
            "anyOf" => matching() > 0,
            "oneOf" => matching() == 1,
            "minimum" => value.as_f64() >= expected.as_f64(),
            "maximum" => value.as_f64().is_none() || value.as_f64() <= expected.as_f64(),
            "minLength" | "maxLength" => value
                .as_str()
                .is_none_or(|text| Some(text.chars().count() as u64) == expected.as_u64()),
            "required" => value.as_object().is_none_or(|object| {
                let names = expected
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str);
                names.into_iter().all(|name| object.contains_key(name))
            }),
            "properties" | "additionalProperties" | "propertyNames" | "items" | "uniqueItems" => true,
            "$defs" | "$schema" | "title" | "description" | "default" | "examples" | "writeOnly" => true,
            other if other.starts_with("x-") => true,
            other => return Err(format!("the validator of tests does not know `{other}`")),
        };
        if !holds {
            return Err(format!("{value} does not match `{rule}`: {expected}"));
        }
    }
    if let (Some(items), Some(values)) = (rules.get("items"), value.as_array()) {
        values.iter().try_for_each(|value| validate(root, items, value))?;
    }
    let own = rules.get("properties");
    for (name, inner) in value.as_object().into_iter().flatten() {
        if let Some(names) = rules.get("propertyNames") {
            validate(root, names, &Value::from(name.as_str()))?;
        }
        let rule = own
            .and_then(|own| own.get(name))
            .or(rules.get("additionalProperties"));
        if let Some(rule) = rule {
            validate(root, rule, inner).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    Ok(())
}

fn is_of(value: &Value, name: &Value) -> bool {
    match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        _ => false,
    }
}
