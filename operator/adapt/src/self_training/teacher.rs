//! A whole ensemble as the teacher that provides pseudo-labels.
//!
//! Members return spans, and their probabilities are not comparable: a tag's share at a token is the share of
//! members that predict it. So rules and members of any kind can teach. A member that fails on a note is
//! ignored there.
//! share of the members that say it. Rules and members of any kind can so teach; a member that fails on a note has no say there.

use std::sync::Arc;

use lethe_core::{LabelSet, NoteBatch, Tagger};
use lethe_corpus::{Document, Mark, Rename};
use lethe_learn::{Marginals, TagSet};

/// Why an ensemble cannot teach.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeacherError {
    /// The ensemble has no label that the pupil could learn.
    #[error("the teacher has none of the model's labels ({labels}); map its labels with --rename")]
    Labels {
        /// The pupil's labels.
        labels: String,
    },
}

/// An ensemble's members as one teacher, with its pupil's tags.
pub struct EnsembleTeacher {
    members: Vec<Arc<dyn Tagger>>,
    labels: Arc<LabelSet>,
    rename: Rename,
    tags: TagSet,
}

impl EnsembleTeacher {
    /// Creates a teacher from members with the labels of `labels`, which `rename` maps to the pupil's, and
    /// the pupil's tags.
    ///
    /// # Errors
    /// [`TeacherError`].
    pub fn new(
        members: Vec<Arc<dyn Tagger>>,
        labels: Arc<LabelSet>,
        rename: Rename,
        tags: TagSet,
    ) -> Result<Self, TeacherError> {
        let known = |name: &str| tags.labels().iter().any(|label| label == name);
        let one = |name: &str| known(name) && !rename.knows(name);
        if !labels.labels().iter().any(|label| one(&label.name)) && !rename.new_names().any(known) {
            return Err(TeacherError::Labels {
                labels: tags.labels().join(", "),
            });
        }
        Ok(Self {
            members,
            labels,
            rename,
            tags,
        })
    }
}

impl Marginals for EnsembleTeacher {
    fn tags(&self) -> &TagSet {
        &self.tags
    }

    fn marginals(&self, batch: &NoteBatch) -> Vec<Vec<f32>> {
        let tags = self.tags.len();
        let rows = || (0..batch.len()).map(|row| batch.note(row));
        let mut shares: Vec<Vec<f32>> = rows().map(|note| vec![0.0; note.tokens.len() * tags]).collect();
        let mut answered = vec![0u32; batch.len()];
        for member in &self.members {
            for ((note, answer), row) in rows().zip(member.tag(batch)).zip(&mut shares) {
                let Ok(annotations) = answer else { continue };
                answered[note.row] += 1;
                let marks = annotations
                    .iter()
                    .map(|one| Mark::gold(one.span, self.labels.label(one.label).name.clone()));
                let mut predictions = [Document {
                    id: String::new(),
                    patient: None,
                    text: String::new(),
                    marks: marks.collect(),
                }];
                self.rename.apply(&mut predictions);
                let own = self.tags.encode(note.tokens, &predictions[0].marks);
                for (token, tag) in row.chunks_exact_mut(tags).zip(own) {
                    token[usize::from(tag)] += 1.0;
                }
            }
        }
        for (row, answered) in shares.iter_mut().zip(answered) {
            if answered == 0 {
                row.chunks_exact_mut(tags)
                    .for_each(|token| token[usize::from(TagSet::OUTSIDE)] = 1.0);
            }
            let share = 1.0 / answered.max(1) as f32;
            row.iter_mut().for_each(|p| *p *= share);
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::{Annotations, Collector, TagError};
    use lethe_learn::Scheme;

    use super::*;

    /// Marks the given number of first words as a name; fails if it is 0.
    struct First(usize, Arc<LabelSet>);

    impl Tagger for First {
        fn name(&self) -> &str {
            "first"
        }

        fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
            let one = |note: lethe_core::NoteView<'_>| {
                let enough = note.tokens.len() >= self.0;
                let mut collector = Collector::new(note);
                if self.0 == 0 {
                    return Err(TagError::Failed("it always does"));
                }
                if let Some(label) = self.1.by_name("PERSON").filter(|_| enough) {
                    collector.tokens(0, self.0 - 1, label, 1.0, "");
                }
                Ok(collector.finish()?)
            };
            batch.notes().map(one).collect()
        }
    }

    fn teacher(rename: &str, counts: &[usize]) -> Result<EnsembleTeacher, TeacherError> {
        let labels = Arc::new(LabelSet::of_names("t", &["PERSON".to_owned()]).unwrap());
        let member = |&n: &usize| -> Arc<dyn Tagger> { Arc::new(First(n, Arc::clone(&labels))) };
        let tags = TagSet::new(Scheme::Bio, vec!["NAME".to_owned()]);
        EnsembleTeacher::new(
            counts.iter().map(member).collect(),
            Arc::clone(&labels),
            toml::from_str(rename).unwrap(),
            tags,
        )
    }

    #[test]
    fn a_tokens_share_of_a_tag_is_that_of_the_members_that_say_it() {
        let teacher = teacher("labels = { PERSON = \"NAME\" }", &[1, 2, 2, 2, 0]).unwrap();
        let batch = NoteBatch::from_texts(["Ana Ruiz vino", ""]).unwrap();
        let shares = teacher.marginals(&batch);
        assert_eq!(shares[0], [0.0, 1.0, 0.0, 0.25, 0.0, 0.75, 1.0, 0.0, 0.0]);
        assert!(shares[1].is_empty());
    }

    #[test]
    fn without_predictions_the_teacher_is_silent_and_labels_that_the_pupil_lacks_are_refused() {
        let silent = teacher("labels = { PERSON = \"NAME\" }", &[0]).unwrap();
        let batch = NoteBatch::from_texts(["Ana"]).unwrap();
        assert_eq!(silent.marginals(&batch)[0], [1.0, 0.0, 0.0]);
        let refused = teacher("labels = {}", &[1]).err().unwrap();
        assert!(refused.to_string().contains("NAME"), "{refused}");
    }
}
