//! `config.json`: its keys, and errors that name them.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::checkpoint::TransformerError;

/// More than any checkpoint has, and few enough that a mistyped number causes no large allocation.
const MOST: usize = 1 << 24;
const MOST_LAYERS: usize = 1 << 10;

/// `config.json`.
pub(super) struct ConfigJson {
    /// The file.
    pub(super) path: PathBuf,
    pub(super) keys: Map<String, Value>,
}

impl ConfigJson {
    /// Returns an error about a key.
    pub(super) fn fault(&self, key: &str, problem: impl Into<String>) -> TransformerError {
        TransformerError::Config {
            path: self.path.clone(),
            key: key.to_owned(),
            problem: problem.into(),
        }
    }

    /// Returns the value of a key; `null` counts as missing.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.keys.get(key).filter(|value| !value.is_null())
    }

    /// Returns an integer, or `otherwise` if it is missing.
    pub(super) fn number(&self, key: &str, otherwise: Option<usize>) -> Result<usize, TransformerError> {
        let Some(value) = self.get(key) else {
            return otherwise.ok_or_else(|| self.fault(key, "is missing"));
        };
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        match number {
            None => Err(self.fault(key, "is not an integer")),
            Some(number) if number > MOST => Err(self.fault(key, format!("is more than {MOST}"))),
            Some(number) => Ok(number),
        }
    }

    /// Returns a size, which must be given and not be 0.
    pub(super) fn size(&self, key: &str) -> Result<usize, TransformerError> {
        self.size_or(key, None)
    }

    /// Returns a size, which must not be 0.
    pub(super) fn size_or(&self, key: &str, otherwise: Option<usize>) -> Result<usize, TransformerError> {
        match self.number(key, otherwise)? {
            0 => Err(self.fault(key, "is 0")),
            size => Ok(size),
        }
    }

    /// Returns a number of layers.
    pub(super) fn layers(&self, key: &str) -> Result<usize, TransformerError> {
        match self.size(key)? {
            layers if layers > MOST_LAYERS => Err(self.fault(key, format!("is more than {MOST_LAYERS}"))),
            layers => Ok(layers),
        }
    }

    /// Returns a number of heads, which must divide the size under `of`.
    pub(super) fn heads(&self, key: &str, of: &str) -> Result<usize, TransformerError> {
        let (hidden, heads) = (self.size(of)?, self.size(key)?);
        if hidden % heads == 0 {
            Ok(heads)
        } else {
            Err(self.fault(key, format!("does not divide `{of}`, {hidden}")))
        }
    }

    /// Returns the number that a normalisation adds to a variance.
    pub(super) fn epsilon(&self, key: &str, otherwise: f64) -> Result<f64, TransformerError> {
        match self.get(key) {
            None => Ok(otherwise),
            Some(value) => (value.as_f64().filter(|&number| number > 0.0 && number < 1.0))
                .ok_or_else(|| self.fault(key, "is not a number between 0 and 1")),
        }
    }

    /// Returns a text, or `otherwise` if it is missing.
    pub(super) fn text(&self, key: &str, otherwise: &'static str) -> Result<&str, TransformerError> {
        match self.get(key) {
            None => Ok(otherwise),
            Some(value) => value.as_str().ok_or_else(|| self.fault(key, "is not a string")),
        }
    }

    /// Returns a switch, or `otherwise` if it is missing.
    pub(super) fn switch(&self, key: &str, otherwise: bool) -> Result<bool, TransformerError> {
        match self.get(key) {
            None => Ok(otherwise),
            Some(value) => value
                .as_bool()
                .ok_or_else(|| self.fault(key, "is not true or false")),
        }
    }

    /// Refuses a key with any other value.
    pub(super) fn only(&self, key: &str, text: &'static str) -> Result<(), TransformerError> {
        if self.text(key, text)? == text {
            Ok(())
        } else {
            Err(self.fault(key, format!("is not `{text}`")))
        }
    }

    /// Returns names from a list, or from a string with `|` between.
    pub(super) fn names(&self, key: &str) -> Result<Vec<String>, TransformerError> {
        let fault = || self.fault(key, "is not a list of names");
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::String(names)) => {
                Ok(names.split('|').map(|name| name.trim().to_lowercase()).collect())
            }
            Some(value) => (value.as_array().ok_or_else(fault)?.iter())
                .map(|name| name.as_str().map(str::to_owned).ok_or_else(fault))
                .collect(),
        }
    }

    /// Returns `id2label`, whose keys are the numbers from 0.
    pub(super) fn labels(&self) -> Result<Vec<String>, TransformerError> {
        let key = "id2label";
        let map = self.keys.get(key).ok_or_else(|| self.fault(key, "is missing"))?;
        let map = map
            .as_object()
            .ok_or_else(|| self.fault(key, "is not an object"))?;
        let label = |i: usize| {
            let label = map.get(&i.to_string()).and_then(Value::as_str);
            label
                .map(str::to_owned)
                .ok_or_else(|| self.fault(key, format!("has {} labels, but none with number {i}", map.len())))
        };
        (0..map.len()).map(label).collect()
    }
}
