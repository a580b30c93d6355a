//! The list of all commands, with one file per command.

mod adapt;
#[cfg(feature = "kafka")]
mod against;
pub(crate) mod annotate;
mod backfill;
mod bundle;
mod check;
mod compare;
mod completions;
mod corpus;
mod crossval;
#[cfg(feature = "kafka")]
mod demo;
mod dictionary;
pub(crate) mod documents;
mod emit;
mod ensemble;
mod erase;
mod evaluate;
mod init;
mod inspect;
mod learning;
mod measured;
mod metrics;
mod new_key;
mod probe;
mod profile;
mod publish;
mod redact;
mod replay;
mod report;
mod reveal;
mod run;
mod schema;
mod serve;
mod show;
mod skip;
mod synthesise;
mod train;
mod tune;

use crate::cli::{Command, DictionaryCommand, SchemaCommand};

/// Runs the command.
pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {
        #[cfg(feature = "kafka")]
        Command::Demo(args) => demo::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Backfill(args) => backfill::run(&args),
        Command::Emit(args) => emit::run(&args),
        Command::Publish(args) => publish::run(&args),
        Command::Redact(args) => redact::run(&args),
        Command::Show(args) => show::show(&args),
        Command::Explain(args) => show::explain(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Erase(args) => erase::run(&args),
        Command::NewKey(args) => new_key::run(&args),
        Command::Reveal(args) => reveal::run(&args),
        Command::Annotate(args) => annotate::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Completions(args) => completions::run(args.shell),
        Command::Check(args) => check::run(&args),
        Command::Metrics(args) => metrics::run(&args),
        Command::Probe(args) => probe::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Schema(SchemaCommand::Event) => schema::event(),
        Command::Schema(SchemaCommand::Config) => schema::configuration(),
        Command::Schema(SchemaCommand::Policy) => schema::policy(),
        Command::Skip(args) => skip::run(&args),
        Command::Synthesise(args) => synthesise::run(&args),
        Command::Train(args) => train::run(&args),
        Command::Crossval(args) => crossval::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Corpus(command) => corpus::run(&command),
        Command::Bundle(command) => bundle::run(&command),
        Command::Ensemble(command) => ensemble::run(&command),
        Command::Adapt(command) => adapt::run(&command),
        Command::Dictionary(DictionaryCommand::Build(args)) => dictionary::build(&args),
    }
}
