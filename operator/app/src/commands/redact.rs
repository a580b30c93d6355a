//! `lethe redact`: redacts a text, documents or messages.

mod messages;

use std::io::Write as _;
use std::path::Path;

use lethe_core::{Engine, NoteBatch};

use super::documents::{built, create, explain, process, read_text};
use crate::cli::{InputFormat, RedactArgs};
use crate::exit::usage;
use crate::gate::Gate;
use crate::interrupt;

/// Redacts a text, the text of each document, or each message.
pub(crate) fn run(args: &RedactArgs) -> anyhow::Result<()> {
    let built = built(
        args.config.as_deref(),
        args.bundle.as_deref(),
        args.policy.as_ref(),
    )?;
    if args.skip_refused && !args.format.is_messages() {
        return Err(usage(
            "--skip-refused: only for messages; use --format hl7v2, fhir or ccda, or leave it out",
        ));
    }
    if args.format == InputFormat::Text {
        interrupt::end_at_once("nothing was written");
        return text(&built.engine, args.source(), &args.output);
    }
    interrupt::end_in_order(args.source());
    if args.format.is_messages() {
        return messages::run(args, &built.engine);
    }
    let gate = Gate::new(built.engine.carried().clone(), built.mode, &args.keep)?;
    let documents = process(
        &built.engine,
        args.source(),
        &args.output,
        &|engine, batch, row, outcome, document| {
            let redacted = engine
                .redact(batch, row, outcome)
                .map_err(|code| anyhow::anyhow!(explain(code)))?;
            *document = gate.pass(document, redacted.text);
            Ok(())
        },
    );
    // Documents before an error are already written.
    gate.report();
    // Outside the macro, which evaluates its arguments only if the level is on.
    let count = documents?;
    tracing::info!("{count} documents redacted");
    Ok(())
}

fn text(engine: &Engine, input: &Path, output: &Path) -> anyhow::Result<()> {
    let name = input.display();
    let text = read_text(input)?;
    let batch = NoteBatch::from_texts([text.as_str()])?;
    let redacted = engine
        .redact(&batch, 0, &engine.decide(&batch)[0])
        .map_err(|code| anyhow::anyhow!("{name}: {}", explain(code)))?;
    let mut output = create(output)?;
    output.write_all(redacted.text.as_bytes())?;
    Ok(output.flush()?)
}
