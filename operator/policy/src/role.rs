//! Maps a label of any set to the terms that rules and operators use: those of i2b2-2014.

use lethe_core::{Hipaa, Label, LabelId, LabelSet};

/// A label's meaning: the i2b2-2014 labels that it stands for, and its HIPAA identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    /// Their i2b2-2014 names; empty if it stands for none.
    pub(crate) names: Vec<String>,
    /// Its identifier in 45 CFR 164.514(b)(2)(i).
    pub(crate) hipaa: Hipaa,
}

impl Role {
    pub(crate) fn of(label: &Label) -> Self {
        let own = [label.name.clone()];
        let names = if label.equivalent.is_empty() {
            own.as_slice()
        } else {
            &label.equivalent
        };
        Self {
            names: names.to_vec(),
            hipaa: label.hipaa,
        }
    }

    /// Returns whether all labels that it stands for are among these.
    pub(crate) fn only(&self, among: &[&str]) -> bool {
        self.names.iter().all(|name| among.contains(&name.as_str()))
    }

    /// Returns whether any label that it stands for is among these.
    pub(crate) fn some(&self, among: &[&str]) -> bool {
        self.names.iter().any(|name| among.contains(&name.as_str()))
    }
}

/// Returns the roles of a set's labels, by their index.
pub(crate) fn roles(labels: &LabelSet) -> Vec<Role> {
    (0..labels.labels().len())
        .map(|i| Role::of(labels.label(LabelId(i as u16))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_of_another_tradition_means_what_its_set_says() {
        let set = LabelSet::meddocan();
        let role = |name: &str| Role::of(set.label(set.by_name(name).unwrap()));
        assert!(role("FECHAS").only(&["DATE"]));
        assert!(role("TERRITORIO").some(&["ZIP"]) && !role("TERRITORIO").only(&["CITY", "STATE", "ZIP"]));
        assert_eq!(role("CALLE").hipaa, Hipaa::Geographic);
    }
}
