//! `lethe annotate`: adds `spans` to documents.

use std::sync::Arc;

use lethe_connectors::files::{Documents, DocumentsConfig};
use lethe_core::{Action, Carried, Decision, Engine, LabelSet, Merging, Redactor, Span, Voting};
use lethe_dictionaries::Dictionary;
use lethe_members::registry::MemberConfig;
use serde_json::{Value, json};

use super::documents::{built, cores, create, process};
use crate::bundle_argument::member_argument;
use crate::cli::{AnnotateArgs, DictionaryArgs, EngineArgs, OffsetUnit};
use crate::config::label_set;
use crate::exit::usage;
use crate::interrupt;
use crate::progress::Progress;

/// Annotates documents.
pub(crate) fn run(args: &AnnotateArgs) -> anyhow::Result<()> {
    let engine = match &args.member {
        Some(named) => {
            let dictionary = DictionaryArgs {
                dictionary: args.dictionary.clone(),
            };
            alone(
                &member_argument(named)?,
                args.labels.as_deref(),
                &dictionary.load()?,
            )?
        }
        None => {
            built(&EngineArgs {
                config: args.config.clone(),
                bundles: args.bundles.clone(),
                policy: None,
            })?
            .engine
        }
    };
    interrupt::end_in_order(&args.input);
    let mut progress = Progress::start("documents", "documents", None);
    process(
        &engine,
        Documents::open(&args.input, DocumentsConfig::default())?,
        &mut create(&args.output)?,
        cores(),
        &mut |count| progress.add(count),
        &|decided, document| {
            let decisions = decided.outcome.as_deref().unwrap_or_default();
            let text = decided.batch.note(decided.row).text;
            let spans = spans(decided.engine, text, decisions, args.offsets, args.explain);
            document.insert("spans".to_owned(), spans);
            Ok(())
        },
    )?;
    tracing::info!("{} documents annotated", progress.finish());
    Ok(())
}

/// Returns an engine that runs only one member and leaves its predictions unchanged. A model has labels of its own.
fn alone(
    config: &MemberConfig,
    labels: Option<&str>,
    dictionary: &Arc<Dictionary>,
) -> anyhow::Result<Arc<Engine>> {
    let (labels, member) = match (config, labels) {
        (MemberConfig::Model(model), None) => {
            let model = lethe_members::open(&model.path, None, &dictionary.into()).map_err(usage)?;
            (model.labels, model.member)
        }
        (config, named) => {
            let labels =
                named.map_or_else(|| Ok(LabelSet::i2b2_2014()), |named| label_set(named, "--labels"))?;
            let member = config.build(&labels, dictionary).map_err(usage)?;
            (Arc::new(labels), member)
        }
    };
    let redactor = Redactor::new(&labels, Action::default(), Carried::default());
    let merging = Merging::none(&labels);
    Ok(Arc::new(Engine::new(
        labels,
        vec![member],
        Arc::new(Voting::default()),
        merging,
        redactor,
    )))
}

/// Returns the spans of a document as `lethe annotate` writes them.
pub(crate) fn spans(
    engine: &Engine,
    text: &str,
    decisions: &[Decision],
    unit: OffsetUnit,
    explain: bool,
) -> Value {
    let mut ruler = Ruler {
        text,
        unit,
        byte: 0,
        units: 0,
    };
    let labels = engine.labels();
    let each = |decision: &Decision| {
        let (start, end) = (ruler.at(decision.span.start()), ruler.at(decision.span.end()));
        let mut span = json!({ "start": start, "end": end, "label": labels.label(decision.label).name });
        if explain && let Some(span) = span.as_object_mut() {
            let members: Vec<_> = decision
                .members
                .iter()
                .filter_map(|member| engine.members().get(member))
                .collect();
            span.insert("members".to_owned(), json!(members));
            span.insert("rule".to_owned(), json!(decision.rule));
            let deciding = decision.deciding_rule;
            span.insert("deciding_rule".to_owned(), json!(deciding.name()));
            if let Some(min) = deciding.solo_min_score() {
                span.insert("solo_min_score".to_owned(), rounded(min));
            }
            span.insert("score".to_owned(), rounded(decision.score));
        }
        span
    };
    decisions.iter().map(each).collect()
}

/// Returns a score with four decimal places.
fn rounded(score: f32) -> Value {
    json!((f64::from(score) * 1e4).round() / 1e4)
}

/// Converts ascending byte offsets to another unit in one pass over the text.
struct Ruler<'a> {
    text: &'a str,
    unit: OffsetUnit,
    byte: usize,
    units: usize,
}

impl Ruler<'_> {
    fn at(&mut self, byte: usize) -> usize {
        let passed = Span::between(self.byte as u32, byte as u32).of(self.text);
        self.units += match self.unit {
            OffsetUnit::CodePoint => passed.chars().count(),
            OffsetUnit::Byte => passed.len(),
            OffsetUnit::Utf16 => passed.chars().map(char::len_utf16).sum(),
        };
        self.byte = byte;
        self.units
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_count_what_was_asked_for() {
        let text = "é👩 Ana";
        let place = |unit| {
            Ruler {
                text,
                unit,
                byte: 0,
                units: 0,
            }
            .at(7)
        };
        assert_eq!(place(OffsetUnit::Byte), 7);
        assert_eq!(place(OffsetUnit::CodePoint), 3);
        assert_eq!(place(OffsetUnit::Utf16), 4);
    }
}
