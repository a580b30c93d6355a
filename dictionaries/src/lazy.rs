//! A dictionary that is loaded on another thread while its users prepare what does not need it.

use std::sync::Arc;
use std::thread;

use crate::Dictionary;

/// A dictionary that may still have to be loaded.
#[derive(Clone, Debug)]
pub enum LazyDictionary {
    /// The bundled lists: the first to ask loads them.
    Builtin,
    /// A loaded dictionary.
    Loaded(Arc<Dictionary>),
}

impl LazyDictionary {
    /// Starts to load the dictionary on another thread. Does nothing if it is loaded.
    pub fn prepare(&self) {
        if matches!(self, Self::Builtin) {
            // Without the thread, the first caller of `get` loads it.
            drop(thread::Builder::new().spawn(Dictionary::builtin));
        }
    }

    /// Returns the dictionary once it is loaded.
    pub fn get(&self) -> Arc<Dictionary> {
        match self {
            Self::Builtin => Dictionary::builtin(),
            Self::Loaded(dictionary) => Arc::clone(dictionary),
        }
    }
}

impl From<&Arc<Dictionary>> for LazyDictionary {
    fn from(dictionary: &Arc<Dictionary>) -> Self {
        Self::Loaded(Arc::clone(dictionary))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_lists_are_loaded_once_whether_prepared_or_not() {
        let lazy = LazyDictionary::Builtin;
        lazy.prepare();
        assert!(Arc::ptr_eq(&lazy.get(), &Dictionary::builtin()));
        let loaded = LazyDictionary::from(&Dictionary::builtin());
        loaded.prepare();
        assert!(Arc::ptr_eq(&loaded.get(), &lazy.get()));
    }
}
