//! `lethe emit`: publishes redacted messages from the output's chains to a topic or a folder.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use lethe_connectors::emit::{EmitError, Emitter, FolderEmitter, chains, read_from};
use lethe_connectors::sink::ChainId;
use lethe_connectors::source::Command;
use lethe_connectors::store::Store;
use lethe_connectors::{Backoff, Stop};
use tokio::runtime::Runtime;

use super::run::runtime;
use crate::cli::EmitArgs;
use crate::config::{Config, EmitConfig, load};
use crate::credential_reload::{EVERY, Part, Secrets, reload_store};
use crate::exit::usage;
use crate::progress::Progress;
use crate::signals::{Overrun, stop_on_signal};

/// How long to wait for new files once everything is emitted.
const IDLE: Duration = Duration::from_secs(1);

/// Emits until it is stopped, or until everything is emitted.
pub(crate) fn run(args: &EmitArgs) -> anyhow::Result<()> {
    let config = load(&args.config)?;
    let sink = config.sink.as_ref().ok_or_else(|| {
        usage("the configuration has no `[sink]`; add it with the dataset whose messages to emit")
    })?;
    let store = sink.store.build()?;
    let runtime = runtime()?;
    let emitter = emitter(&config)?;
    let (commands, inbox) = channel();
    let stop = Stop::new(config.resources.drain());
    stop_on_signal(&runtime, commands, &stop, Overrun::Wait)?;
    let mut work = Work {
        runtime,
        store,
        emitter,
        positions: BTreeMap::new(),
        emitted: 0,
        without: 0,
    };
    let secrets = Secrets::of(&config, &[Part::Store, Part::Emit]);
    let ended = work.run(&inbox, secrets, args.until_end);
    tracing::info!(
        "{} messages emitted to {}; {} rows had none",
        work.emitted,
        work.emitter.describe(),
        work.without
    );
    ended
}

/// Creates the emitter.
fn emitter(config: &Config) -> anyhow::Result<Box<dyn Emitter>> {
    match &config.emit {
        #[cfg(not(feature = "kafka"))]
        Some(EmitConfig::Kafka(kafka)) => match *kafka {},
        #[cfg(feature = "kafka")]
        Some(EmitConfig::Kafka(kafka)) => {
            let emitter = kafka.build();
            Ok(Box::new(
                emitter.map_err(|error| anyhow::anyhow!("`[emit]`: {error}"))?,
            ))
        }
        Some(EmitConfig::Files { store, suffix }) => Ok(Box::new(FolderEmitter::new(store.build()?, suffix))),
        None => Err(usage(
            "the configuration has no `[emit]`; add it with the target of messages",
        )),
    }
}

/// The work of emitting.
struct Work {
    runtime: Runtime,
    store: Arc<dyn Store>,
    emitter: Box<dyn Emitter>,
    /// The position up to which each chain is emitted.
    positions: BTreeMap<ChainId, i64>,
    emitted: u64,
    without: u64,
}

impl Work {
    fn run(
        &mut self,
        inbox: &Receiver<Command>,
        mut secrets: Secrets<'_>,
        until_end: bool,
    ) -> anyhow::Result<()> {
        let mut progress = Progress::start("emitting", "messages", None);
        let (mut backoff, mut told) = (Backoff::new("emit"), 0);
        let mut looked = Instant::now();
        loop {
            if looked.elapsed() >= EVERY {
                self.reload(&mut secrets);
                looked = Instant::now();
            }
            let pause = match self.round() {
                Ok(0) if until_end => return Ok(()),
                Ok(0) => IDLE,
                Ok(_) => {
                    backoff.reset();
                    progress.add(self.emitted - told);
                    told = self.emitted;
                    Duration::ZERO
                }
                Err(error) if error.is_temporary() => {
                    let wait = backoff.pause().unwrap_or_default();
                    tracing::warn!("{error}; trying again in {} ms", wait.as_millis());
                    // What was begun may have been emitted or not: the position tells.
                    self.positions.clear();
                    wait
                }
                Err(error) => return Err(error.into()),
            };
            match inbox.recv_timeout(pause) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(_) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Reloads changed credentials. A new emitter asks its target where to continue.
    fn reload(&mut self, secrets: &mut Secrets<'_>) {
        let other = RefCell::new(None);
        secrets.look(|part, config| match (part, &config.sink) {
            (Part::Store, Some(sink)) => {
                // The call has its own time limit.
                reload_store(self.runtime.handle(), &self.store, &sink.store, || false)
            }
            (Part::Emit, _) => {
                other.replace(Some(emitter(config)?));
                Ok(())
            }
            _ => Ok(()),
        });
        if let Some(emitter) = other.take() {
            self.emitter = emitter;
            self.positions.clear();
        }
    }

    /// Emits one stretch of each chain, and returns the number of stretches.
    fn round(&mut self) -> Result<usize, EmitError> {
        let mut stretches = 0;
        for chain in self.runtime.block_on(chains(self.store.as_ref()))? {
            let position = match self.positions.get(&chain) {
                Some(&position) => position,
                None => self.runtime.block_on(self.emitter.position(&chain))?,
            };
            let stretch = self
                .runtime
                .block_on(read_from(self.store.as_ref(), &chain, position))?;
            let Some(stretch) = stretch else {
                self.positions.insert(chain, position);
                continue;
            };
            self.runtime.block_on(self.emitter.emit(&chain, &stretch))?;
            self.emitted += stretch.messages.len() as u64;
            self.without += stretch.without;
            self.positions.insert(chain, stretch.next);
            stretches += 1;
        }
        Ok(stretches)
    }
}
