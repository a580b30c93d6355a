//! A checkpoint's labels: read from `id2label`, mapped to the engine's, and joined to spans.

use lethe_core::{LabelId, LabelSet};
use lethe_learn::LabelMap;

use super::TransformerConfig;
use super::checkpoint::{Checkpoint, TransformerError};

/// The encoder's answer for a sub-word: its most likely label, and the probability.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// The index in `id2label`.
    pub(super) label: usize,
    /// The probability, 0 to 1.
    pub(super) score: f32,
}

impl Answer {
    /// Computes the answer from scores before softmax; of equal scores the first wins.
    pub(super) fn of(scores: &[f32]) -> Self {
        let (mut label, mut best) = (0, f32::NEG_INFINITY);
        for (i, &score) in scores.iter().enumerate() {
            if score > best {
                (label, best) = (i, score);
            }
        }
        let total: f32 = scores.iter().map(|&score| (score - best).exp()).sum();
        Self {
            label,
            score: 1.0 / total,
        }
    }
}

/// The answer for a token, and whether the same sub-word answered for the previous token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TokenAnswer {
    /// The answer.
    pub(super) answer: Answer,
    /// Whether it comes from the sub-word that also answered for the previous token: such a token begins no
    /// span.
    pub(super) shared: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Begin,
    Inside,
    Last,
    Only,
}

/// The checkpoint's labels by index: outside (`None`), or a part of a span of an engine's label.
pub(super) struct Tags(Vec<Option<(LabelId, Part)>>);

impl Tags {
    /// Returns whether a tag stands for this label.
    pub(super) fn has(&self, label: LabelId) -> bool {
        let mut labels = self.0.iter().flatten();
        labels.any(|&(known, _)| known == label)
    }

    /// Maps labels, which are `O` and, in IO, BIO or BILOU (BIOES), a prefix and a name; a name without a
    /// prefix is IO.
    pub(super) fn new(
        checkpoint: &Checkpoint,
        config: &TransformerConfig,
        labels: &LabelSet,
    ) -> Result<Self, TransformerError> {
        let named = &checkpoint.shape.labels;
        if !named.iter().any(|name| name == "O") {
            return Err(checkpoint.fault(
                "id2label",
                "has no label `O`, so every word would be an identifier",
            ));
        }
        let known = |name: &String| named.iter().any(|label| part(label).1 == name);
        if let Some(name) = config
            .labels
            .keys()
            .chain(&config.ignore)
            .find(|name| !known(name))
        {
            let problem = format!("the checkpoint has no label `{name}`");
            let key = if config.ignore.contains(name) {
                "ignore"
            } else {
                "labels"
            };
            return Err(config.fault(key, problem));
        }
        let tag = |label: &String| {
            let (part, name) = part(label);
            if label == "O" || config.ignore.contains(name) {
                return Ok(None);
            }
            let id = match config.labels.get(name) {
                Some(target) => labels.by_name(target).ok_or_else(|| {
                    let problem = format!("`{name}`: label set `{}` has no label `{target}`", labels.id());
                    config.fault("labels", problem)
                })?,
                None => LabelMap::new(&[name.to_owned()], labels)
                    .map_err(|source| config.fault("labels", source.to_string()))?
                    .get(0),
            };
            Ok(Some((id, part)))
        };
        named.iter().map(tag).collect::<Result<_, _>>().map(Self)
    }

    /// Calls `found` with first and last token, label and score of each span. Invalid sequences are read
    /// leniently, so that no tagged token is lost. A span's score is the mean of its tokens'.
    pub(super) fn spans(
        &self,
        tokens: &[Option<TokenAnswer>],
        mut found: impl FnMut(usize, usize, LabelId, f32),
    ) {
        let mut open: Option<(usize, LabelId, f32)> = None;
        let mut closed = false;
        for (i, token) in tokens.iter().enumerate() {
            let here = token.and_then(|token| Some((token, self.0.get(token.answer.label).copied()??)));
            let goes_on = match (open, here) {
                (Some((_, label, _)), Some((token, (next, part)))) => {
                    let within = matches!(part, Part::Inside | Part::Last) && !closed;
                    next == label && (token.shared || within)
                }
                _ => false,
            };
            if !goes_on && let Some((first, label, sum)) = open.take() {
                found(first, i - 1, label, mean(sum, i - first));
            }
            if let Some((token, (label, part))) = here {
                let sum = token.answer.score;
                open = Some(open.map_or((i, label, sum), |(first, label, before)| {
                    (first, label, before + sum)
                }));
                closed = matches!(part, Part::Last | Part::Only);
            }
        }
        if let Some((first, label, sum)) = open {
            found(first, tokens.len() - 1, label, mean(sum, tokens.len() - first));
        }
    }
}

fn mean(sum: f32, count: usize) -> f32 {
    (sum / count as f32).clamp(0.0, 1.0)
}

/// Returns a label's part and its name without the prefix.
fn part(label: &str) -> (Part, &str) {
    let known = [
        ("B", Part::Begin),
        ("I", Part::Inside),
        ("L", Part::Last),
        ("E", Part::Last),
        ("U", Part::Only),
        ("S", Part::Only),
    ];
    label
        .split_once(['-', '_'])
        .and_then(|(prefix, name)| {
            let (_, part) = known.iter().find(|(known, _)| *known == prefix)?;
            Some((*part, name))
        })
        .unwrap_or((Part::Inside, label))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(names: &[&str], tokens: &[(usize, bool)]) -> Vec<(usize, usize, u16)> {
        let labels: Vec<&str> = vec!["CITY", "DATE"];
        let tag = |name: &&str| {
            let (part, name) = part(name);
            let id = labels.iter().position(|label| *label == name)?;
            Some((LabelId(id as u16), part))
        };
        let tags = Tags(names.iter().map(tag).collect());
        let answer = |&(label, shared): &(usize, bool)| {
            Some(TokenAnswer {
                answer: Answer { label, score: 0.5 },
                shared,
            })
        };
        let tokens: Vec<_> = tokens.iter().map(answer).collect();
        let mut out = Vec::new();
        tags.spans(&tokens, |first, last, label, score| {
            assert_eq!(score, 0.5);
            out.push((first, last, label.0));
        });
        out
    }

    fn apart(labels: &[usize]) -> Vec<(usize, bool)> {
        labels.iter().map(|&label| (label, false)).collect()
    }

    #[test]
    fn io_bio_and_bilou_labels_make_spans() {
        assert_eq!(
            spans(&["O", "CITY", "DATE"], &apart(&[1, 1, 0, 1, 2])),
            [(0, 1, 0), (3, 3, 0), (4, 4, 1)]
        );
        let bio = ["O", "B-CITY", "I-CITY", "B-DATE", "I-DATE"];
        assert_eq!(
            spans(&bio, &apart(&[1, 2, 1, 3, 4, 0])),
            [(0, 1, 0), (2, 2, 0), (3, 4, 1)]
        );
        let bilou = ["O", "B-CITY", "I-CITY", "L-CITY", "U-CITY"];
        assert_eq!(
            spans(&bilou, &apart(&[4, 4, 1, 2, 3, 1, 3])),
            [(0, 0, 0), (1, 1, 0), (2, 4, 0), (5, 6, 0)]
        );
        assert_eq!(
            spans(&["O", "B_CITY", "E_CITY", "S_CITY"], &apart(&[1, 2, 3])),
            [(0, 1, 0), (2, 2, 0)]
        );
    }

    #[test]
    fn what_does_not_follow_the_scheme_loses_nothing() {
        let bilou = ["O", "B-CITY", "I-CITY", "L-CITY", "U-CITY"];
        assert_eq!(
            spans(&bilou, &apart(&[2, 3, 3, 1])),
            [(0, 1, 0), (2, 2, 0), (3, 3, 0)]
        );
    }

    #[test]
    fn tokens_of_one_sub_word_are_one_span() {
        let bio = ["O", "B-CITY", "I-CITY"];
        assert_eq!(
            spans(&bio, &[(1, false), (1, true), (1, true), (1, false)]),
            [(0, 2, 0), (3, 3, 0)]
        );
        let bilou = ["O", "B-CITY", "I-CITY", "L-CITY", "U-CITY"];
        assert_eq!(
            spans(&bilou, &[(4, false), (4, true), (4, false)]),
            [(0, 1, 0), (2, 2, 0)]
        );
    }

    #[test]
    fn an_answer_is_the_likeliest_label_and_its_probability() {
        let answer = Answer::of(&[0.0, 2.0_f32.ln(), 0.0]);
        assert_eq!(answer.label, 1);
        assert!((answer.score - 0.5).abs() < 1e-6);
        assert_eq!(Answer::of(&[1.0, 1.0]).label, 0);
    }
}
