//! Maps a model's own labels to those of the engine that runs it.

use lethe_core::{LabelError, LabelId, LabelSet};

/// The engine's label for each of a model's labels.
#[derive(Clone, Debug)]
pub struct LabelMap(Vec<LabelId>);

/// Why a model cannot run under a label set.
#[derive(Debug, thiserror::Error)]
#[error(
    "the model's label `{label}` has no equivalent in the label set: {source}; use the label set that it was trained on"
)]
pub struct LabelMapError {
    label: String,
    source: LabelError,
}

impl LabelMap {
    /// Maps each label to the one of the same name, else to the one that stands for it
    /// ([`LabelSet::resolve`]).
    ///
    /// # Errors
    /// [`LabelMapError`], naming the label without an equivalent.
    pub fn new(model: &[String], labels: &LabelSet) -> Result<Self, LabelMapError> {
        let place = |label: &String| match labels.by_name(label) {
            Some(id) => Ok(id),
            None => labels.resolve(label).map_err(|source| LabelMapError {
                label: label.clone(),
                source,
            }),
        };
        model.iter().map(place).collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether a label of the model maps to this one of the engine.
    pub fn contains(&self, label: LabelId) -> bool {
        self.0.contains(&label)
    }

    /// Returns the engine's label for the model's label of this index.
    ///
    /// # Panics
    /// If the model does not have this label.
    pub fn get(&self, label: usize) -> LabelId {
        self.0[label]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_maps_by_name_then_by_what_stands_for_it_and_else_is_refused() {
        let meddocan = LabelSet::meddocan();
        let names = ["FECHAS", "PATIENT"].map(str::to_owned);
        let map = LabelMap::new(&names, &meddocan).unwrap();
        assert_eq!(meddocan.label(map.get(0)).name, "FECHAS");
        assert_eq!(meddocan.label(map.get(1)).name, "NOMBRE_SUJETO_ASISTENCIA");
        let strict = LabelSet::parse(
            "id = \"x\"\nversion = 1\n[[label]]\nname = \"A\"\ncategory = \"NAME\"\nhipaa = \"A\"\n",
            "x.toml",
        )
        .unwrap();
        let refused = LabelMap::new(&["B".to_owned()], &strict).unwrap_err();
        assert!(refused.to_string().contains("`B`"));
    }
}
