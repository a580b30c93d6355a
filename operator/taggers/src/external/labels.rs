//! The labels of a tool in the label set of the engine.

use std::collections::{BTreeSet, HashMap};

use lethe_core::{LabelError, LabelId, LabelSet};
use lethe_corpus::Format;

use super::{ExternalConfig, ExternalError};

/// The labels of PhysioNet's deid, as [`Format::PhysionetDeid`] names them, with labels of `i2b2-2014`. `PHI` is
/// a span of a `.phi` file, which has no types.
const PHYSIONET: &[(&str, &str)] = &[
    ("Name", "PATIENT"),
    ("Doctor", "DOCTOR"),
    ("Hospital", "HOSPITAL"),
    ("Location", "LOCATION-OTHER"),
    ("Address", "STREET"),
    ("Zip", "ZIP"),
    ("Organization", "ORGANIZATION"),
    ("Date", "DATE"),
    ("Age", "AGE"),
    ("Telephone", "PHONE"),
    ("Email", "EMAIL"),
    ("URL", "URL"),
    ("IP", "IPADDR"),
    ("SSN", "SSN"),
    ("ID", "MEDICALRECORD"),
    ("Other", "IDNUM"),
    ("PHI", "IDNUM"),
];

/// The labels of MIST's tasks with labels of `i2b2-2014`, except those with the same name.
const MIST: &[(&str, &str)] = &[
    ("NAME", "PATIENT"),
    ("INITIALS", "PATIENT"),
    ("PERSON", "PATIENT"),
    ("PHYSICIAN", "DOCTOR"),
    ("LOCATION", "LOCATION-OTHER"),
    ("ADDRESS", "STREET"),
    ("ID", "IDNUM"),
    ("OTHER", "IDNUM"),
    ("IPADDRESS", "IPADDR"),
];

/// Maps a tool's labels, and keeps what it mapped.
pub(super) struct LabelTable<'a> {
    set: &'a LabelSet,
    defaults: &'static [(&'static str, &'static str)],
    ids: HashMap<String, LabelId>,
}

impl<'a> LabelTable<'a> {
    /// Creates the table of the configuration, and of the tool that writes the format.
    ///
    /// # Errors
    /// [`ExternalError::Target`] for a label that the label set does not have.
    pub(super) fn new(
        config: &ExternalConfig,
        set: &'a LabelSet,
        format: Option<Format>,
    ) -> Result<Self, ExternalError> {
        let mut ids = HashMap::new();
        for (label, target) in &config.labels {
            let id = set.by_name(target).ok_or_else(|| ExternalError::Target {
                member: config.name.clone(),
                label: label.clone(),
                target: target.clone(),
                set: set.id().to_owned(),
                near: set.did_you_mean(target),
            })?;
            ids.insert(label.clone(), id);
        }
        let defaults = match format {
            Some(Format::PhysionetDeid) => PHYSIONET,
            Some(Format::MatJson) => MIST,
            _ => &[],
        };
        Ok(Self { set, defaults, ids })
    }

    /// Returns the engine's label: that of the configuration, else the one of the same name, else the one that
    /// stands for it, else the tool's default.
    ///
    /// # Errors
    /// The reason, if there is none.
    pub(super) fn id(&mut self, label: &str) -> Result<LabelId, LabelError> {
        if let Some(&id) = self.ids.get(label) {
            return Ok(id);
        }
        let own = self
            .set
            .by_name(label)
            .map_or_else(|| self.set.resolve(label), Ok);
        let id = own.or_else(|error| {
            let default = self.defaults.iter().find(|(from, _)| *from == label);
            default.map_or(Err(error), |(_, target)| self.set.resolve(target))
        })?;
        self.ids.insert(label.to_owned(), id);
        Ok(id)
    }

    /// Returns the labels that the configuration names or that were mapped.
    pub(super) fn ids(&self) -> BTreeSet<LabelId> {
        self.ids.values().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_label_is_in_the_built_in_label_sets() {
        for set in LabelSet::built_in() {
            for (_, target) in PHYSIONET.iter().chain(MIST) {
                set.resolve(target).unwrap();
            }
        }
    }
}
