//! The entity names of Presidio for Lethe's labels.

use lethe_core::{Decision, Label, LabelId, LabelSet, presidio_entity};

use crate::config::EngineConfig;

/// The entity and the policy's action of each label.
pub(crate) struct Entities {
    labels: Vec<Named>,
    /// The policy's action for what none of its labels names.
    default: &'static str,
}

struct Named {
    label: String,
    entity: &'static str,
    action: &'static str,
}

/// A label, and the policy's action for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Acted<'a> {
    pub(super) label: &'a str,
    pub(super) action: &'static str,
}

impl Acted<'_> {
    /// Returns whether the policy leaves the value as it is.
    pub(super) fn is_kept(&self) -> bool {
        self.action == "keep"
    }
}

impl Entities {
    /// Creates the table of a label set, with the actions of a configuration.
    pub(crate) fn new(labels: &LabelSet, config: &EngineConfig) -> Self {
        let plain = config.redaction.action.unwrap_or_default();
        let action = |label: &Label| match &config.policy {
            Some(policy) => policy.file.operation_for(label).name(),
            None => config.redaction.labels.get(&label.name).unwrap_or(&plain).name(),
        };
        Self {
            labels: (labels.labels().iter())
                .map(|label| Named {
                    label: label.name.clone(),
                    entity: presidio_entity(label),
                    action: action(label),
                })
                .collect(),
            default: match &config.policy {
                Some(policy) => policy.file.default.name(),
                None => plain.name(),
            },
        }
    }

    /// Returns the names of all entities, sorted.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.labels.iter().map(|label| label.entity).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the entity of a label.
    pub(super) fn of(&self, label: LabelId) -> &'static str {
        self.labels
            .get(usize::from(label.0))
            .map_or("ID", |named| named.entity)
    }

    /// Returns the policy's action for a decision.
    pub(super) fn acted(&self, decision: &Decision) -> Acted<'_> {
        let named = self.labels.get(usize::from(decision.label.0));
        named.map_or_else(|| self.unknown(), Named::acted)
    }

    /// Returns the label of an entity whose value the policy does not keep, if there is one. An entity without
    /// labels is treated by the policy's default.
    pub(super) fn not_kept(&self, entity: &str) -> Option<Acted<'_>> {
        let mut of = self
            .labels
            .iter()
            .filter(|named| named.entity == entity)
            .peekable();
        if of.peek().is_none() {
            return Some(self.unknown()).filter(|acted| !acted.is_kept());
        }
        of.map(Named::acted).find(|acted| !acted.is_kept())
    }

    const fn unknown(&self) -> Acted<'_> {
        Acted {
            label: "other labels",
            action: self.default,
        }
    }
}

impl Named {
    fn acted(&self) -> Acted<'_> {
        Acted {
            label: &self.label,
            action: self.action,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lethe_core::PRESIDIO_ENTITIES;

    use super::*;

    #[test]
    fn every_label_of_i2b2_is_in_the_table_and_the_table_in_the_documentation() {
        let labels = LabelSet::i2b2_2014();
        let named: Vec<&str> = PRESIDIO_ENTITIES.iter().map(|(label, _)| *label).collect();
        for label in labels.labels() {
            assert!(named.contains(&&*label.name), "{}", label.name);
        }
        assert_eq!(named.len(), labels.labels().len());
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/serve.md");
        let page = std::fs::read_to_string(page).unwrap();
        for (label, entity) in PRESIDIO_ENTITIES {
            let row = page
                .lines()
                .find(|line| line.starts_with(&format!("| `{entity}` |")));
            let row = row.unwrap_or_else(|| panic!("docs/serve.md has no row of {entity}"));
            assert!(row.contains(&format!("`{label}`")), "{entity}: {label}");
        }
    }

    #[test]
    fn labels_of_another_set_have_the_entity_of_what_they_stand_for() {
        let labels = LabelSet::meddocan();
        let entities = Entities::new(&labels, &EngineConfig::default());
        let of = |name: &str| entities.of(labels.by_name(name).unwrap());
        assert_eq!(of("NOMBRE_SUJETO_ASISTENCIA"), "PERSON");
        assert_eq!(of("FECHAS"), "DATE_TIME");
        assert_eq!(of("CORREO_ELECTRONICO"), "EMAIL_ADDRESS");
    }
}
