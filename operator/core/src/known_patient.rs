//! Names that the feed knows as the patient's, and that members take for somebody else's.
//!
//! A member that reads only the text cannot always tell a patient from a clinician. A policy may keep the names of
//! clinicians: a name that the feed knows as the patient's must not pass for one.

use crate::{Annotations, Decision, LabelId, LabelSet};

/// Gives decisions about the patient's known names the label of the patient.
pub(crate) struct KnownPatient {
    /// The place of the member that finds known identifiers.
    member: usize,
    patient: LabelId,
    /// The other labels of names.
    others: Vec<LabelId>,
}

impl KnownPatient {
    /// Returns it for an engine with these members; `None` if none of them finds known identifiers, or the label set has
    /// no patients.
    pub(crate) fn new(labels: &LabelSet, members: &[String]) -> Option<Self> {
        let member = members.iter().position(|name| name == "known")?;
        let patient = labels.resolve("PATIENT").ok()?;
        let category = &labels.label(patient).category;
        let others = (0..).map(LabelId).zip(labels.labels());
        let others = others.filter(|(id, label)| *id != patient && label.category == *category);
        Some(Self {
            member,
            patient,
            others: others.map(|(id, _)| id).collect(),
        })
    }

    /// Changes the label of every decision for another person's name that overlaps a known name of the patient.
    /// `decisions` are sorted and free of overlaps.
    pub(crate) fn apply(&self, predictions: &[&Annotations], decisions: &mut [Decision]) {
        let Some(known) = predictions.get(self.member) else {
            return;
        };
        for name in known.iter().filter(|one| one.label == self.patient) {
            let first = decisions.partition_point(|one| one.span.end() <= name.span.start());
            for decision in &mut decisions[first..] {
                if decision.span.start() >= name.span.end() {
                    break;
                }
                if self.others.contains(&decision.label) {
                    decision.label = self.patient;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Annotation, MemberSet, Span};

    const TEXT: &str = "Seen: Marlo Quayle MD at Quayle Hospital by Orla Penhallow.";

    fn labelled(known: &[(u32, u32, &str)], decisions: &[(u32, u32, &str)]) -> Vec<String> {
        let labels = LabelSet::i2b2_2014();
        let id = |name: &str| labels.by_name(name).unwrap();
        let known = known.iter().map(|&(start, end, label)| Annotation {
            span: Span::between(start, end),
            label: id(label),
            score: 1.0,
            rule: "known.name",
        });
        let known = Annotations::new(TEXT, known.collect()).unwrap();
        let mut decisions: Vec<Decision> = decisions
            .iter()
            .map(|&(start, end, label)| {
                Decision::new(Span::between(start, end), id(label), MemberSet::default(), 1.0)
            })
            .collect();
        let members = ["model".to_owned(), "known".to_owned()];
        let patients = KnownPatient::new(&labels, &members).unwrap();
        patients.apply(&[&Annotations::default(), &known], &mut decisions);
        let name = |decision: &Decision| labels.label(decision.label).name.clone();
        decisions.iter().map(name).collect()
    }

    #[test]
    fn a_name_that_the_feed_knows_as_the_patients_is_no_clinicians() {
        let known = [(6, 18, "PATIENT"), (25, 31, "PATIENT")];
        let decisions = [(6, 21, "DOCTOR"), (25, 40, "HOSPITAL"), (44, 58, "DOCTOR")];
        assert_eq!(labelled(&known, &decisions), ["PATIENT", "HOSPITAL", "DOCTOR"]);
    }

    #[test]
    fn a_known_clinician_does_not_make_a_patient_one() {
        let decisions = [(6, 18, "PATIENT"), (44, 58, "PATIENT")];
        assert_eq!(labelled(&[(6, 18, "DOCTOR")], &decisions), ["PATIENT", "PATIENT"]);
    }

    #[test]
    fn an_engine_without_known_identifiers_changes_nothing() {
        assert!(KnownPatient::new(&LabelSet::i2b2_2014(), &["model".to_owned()]).is_none());
    }
}
