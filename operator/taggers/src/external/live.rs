//! A tool that is asked while notes stream: connections, restarts, and what becomes of a failure.
//!
//! A new connection is first asked about an invented sentence. So a tool that does not work at all is
//! distinguished from one that fails on a note: the first is started again with growing pauses, the second gets the
//! note once more if it ended or lost step, and then the note is quarantined.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use lethe_core::{
    Annotations, Backoff, LabelId, LabelSet, NoteBatch, RowKind, TagError, Tagger, ToolFailure,
};

use super::labels::LabelTable;
use super::protocol::{Reader, request};
use super::{ExternalConfig, ExternalError};

/// The most bytes of one answer. An answer of spans is far smaller than its note, or the tool is broken.
pub(super) const MAX_ANSWER: usize = 16 << 20;
/// How often a note is given to a tool that ends on it or loses step.
const ATTEMPTS: u32 = 2;
/// The first and the longest pause between two starts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// The sentence that a new connection is asked about. Its people do not exist.
const SENTENCE: &str = "Ada Okafor was seen by Dr. Henry Quill on 3 March 2031.";

/// Why a tool gave no answer that can be used.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) failure: ToolFailure,
    /// The reason, with positions and never with text of a note or an answer.
    pub(super) reason: String,
    /// Whether the next answer of this connection will belong to the next request.
    pub(super) in_step: bool,
}

impl Fault {
    /// Returns whether an earlier note may have caused it, for instance by a surplus line of output.
    fn may_be_of_another_note(&self) -> bool {
        !self.in_step && self.failure != ToolFailure::Timeout
    }
}

/// Creates a fault of a tool that cannot be started or reached, or that ended.
pub(super) fn failed(reason: impl Into<String>) -> Fault {
    Fault {
        failure: ToolFailure::Failed,
        reason: reason.into(),
        in_step: false,
    }
}

/// Creates a fault of a tool that is too slow.
pub(super) fn timed_out(reason: &'static str) -> Fault {
    Fault {
        failure: ToolFailure::Timeout,
        reason: reason.into(),
        in_step: false,
    }
}

/// A tool that can be connected to.
pub(super) trait Connect: Send + Sync {
    /// Starts a process, or prepares requests to a service.
    fn connect(&self) -> Result<Box<dyn Connection>, Fault>;
}

/// A connection to a tool, which answers one request at a time.
pub(super) trait Connection: Send {
    /// Sends a request and returns the answer. Takes at most `limit`, and returns at most [`MAX_ANSWER`] bytes.
    fn ask(&mut self, request: Vec<u8>, limit: Duration) -> Result<Vec<u8>, Fault>;

    /// Tells the tool that nothing follows. Dropping the connection then waits until the tool has ended.
    fn leave(&mut self) {}
}

/// Idle connections, and how many more may be opened.
struct Pool {
    idle: Vec<Box<dyn Connection>>,
    free: usize,
}

/// An `external` member that asks a tool about each note.
pub struct Live {
    config: ExternalConfig,
    labels: LabelSet,
    /// The labels that the configuration names.
    named: Vec<LabelId>,
    tool: Box<dyn Connect>,
    reader: Reader,
    start: Duration,
    limit: Duration,
    restarts: u32,
    pool: Mutex<Pool>,
    returned: Condvar,
    asked: AtomicU64,
    faults: AtomicU64,
}

impl Live {
    /// Creates the member. Nothing is started or asked yet.
    pub(super) fn new(config: &ExternalConfig, labels: &LabelSet) -> Result<Self, ExternalError> {
        let named = LabelTable::new(config, labels, None)?.ids().into_iter().collect();
        let (tool, start, limit, restarts, most): (Box<dyn Connect>, _, _, _, _) =
            match (&config.process, &config.service) {
                (Some(process), _) => {
                    if let Some(problem) = process.problem() {
                        return Err(config.setting("process.command", problem));
                    }
                    let tool = Box::new(process.clone());
                    let (start, limit) = (process.start_seconds, process.timeout_seconds);
                    (tool, start, limit, process.restarts, process.processes)
                }
                #[cfg(feature = "http")]
                (None, Some(service)) => {
                    let tool = super::http::Service::new(service)
                        .map_err(|(key, problem)| config.setting(key, problem))?;
                    let limit = service.timeout_seconds;
                    (Box::new(tool), limit, limit, service.retries, service.requests)
                }
                _ => {
                    return Err(config.setting(
                        "service",
                        "this program was built without HTTP; use one with the feature `http`",
                    ));
                }
            };
        if start == 0 || limit == 0 || most == Some(0) {
            let problem = "a time limit or a number of connections is 0; leave it out, or raise it";
            return Err(config.setting(
                if config.process.is_some() {
                    "process"
                } else {
                    "service"
                },
                problem,
            ));
        }
        let cores = || available_parallelism().map_or(1, usize::from);
        Ok(Self {
            named,
            tool,
            reader: Reader {
                offsets: config.offsets.unwrap_or_default(),
                version: config.version.clone().unwrap_or_default(),
            },
            start: Duration::from_secs(start),
            limit: Duration::from_secs(limit),
            restarts,
            pool: Mutex::new(Pool {
                idle: Vec::new(),
                free: most.unwrap_or_else(cores),
            }),
            returned: Condvar::new(),
            asked: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            config: config.clone(),
            labels: labels.clone(),
        })
    }

    /// Tags a text. A failure is logged, without text.
    fn annotate(&self, text: &str) -> Result<Annotations, ToolFailure> {
        let mut seat = self.take();
        let mut attempt = 1;
        loop {
            let fault = match self.once(&mut seat, text) {
                Ok(found) => return Ok(found),
                Err(Ended::Note(fault)) if fault.may_be_of_another_note() && attempt < ATTEMPTS => {
                    attempt += 1;
                    continue;
                }
                Err(Ended::Note(fault) | Ended::Start(fault)) => fault,
            };
            self.log(&fault);
            return Err(fault.failure);
        }
    }

    /// Asks about a text once, on a connection that works.
    fn once(&self, seat: &mut Seat<'_>, text: &str) -> Result<Annotations, Ended> {
        let mut connection = match seat.connection.take() {
            Some(connection) => connection,
            None => self.open().map_err(Ended::Start)?,
        };
        let answer = self.ask(connection.as_mut(), text, self.limit);
        if answer.as_ref().map_or_else(|fault| fault.in_step, |_| true) {
            seat.connection = Some(connection);
        }
        answer.map_err(Ended::Note)
    }

    /// Opens a connection that answers the invented sentence, trying as often as configured.
    fn open(&self) -> Result<Box<dyn Connection>, Fault> {
        let mut backoff = Backoff::new(&self.config.name)
            .between(PAUSES.0, PAUSES.1)
            .attempts(self.restarts.saturating_add(1));
        loop {
            let fault = match self.try_out() {
                Ok((connection, _)) => return Ok(connection),
                Err(fault) => fault,
            };
            match backoff.pause() {
                Some(pause) => std::thread::sleep(pause),
                // Whatever the tool did, it does not work at all.
                None => return Err(failed(fault.reason)),
            }
        }
    }

    /// Opens a connection and asks about the invented sentence.
    fn try_out(&self) -> Result<(Box<dyn Connection>, usize), Fault> {
        let mut connection = self.tool.connect()?;
        let found = self.ask(connection.as_mut(), SENTENCE, self.start)?;
        Ok((connection, found.len()))
    }

    fn ask(
        &self,
        connection: &mut dyn Connection,
        text: &str,
        limit: Duration,
    ) -> Result<Annotations, Fault> {
        // The note's own id could identify a person, and the tool needs none.
        let id = self.asked.fetch_add(1, Ordering::Relaxed);
        let answer = connection.ask(request(id, text), limit)?;
        let mut labels = LabelTable::new(&self.config, &self.labels, None)
            .map_err(|_| failed("the labels of the configuration are gone"))?;
        self.reader.read(&answer, id, text, &mut labels)
    }

    /// Takes an idle connection, or the right to open one. Waits while all are busy: each returns after one
    /// note, whose time is limited.
    fn take(&self) -> Seat<'_> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let connection = pool.idle.pop();
            if connection.is_none() && pool.free == 0 {
                pool = self.returned.wait(pool).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if connection.is_none() {
                pool.free -= 1;
            }
            return Seat {
                member: self,
                connection,
            };
        }
    }

    /// Logs the first fault, and then ever fewer of them.
    fn log(&self, fault: &Fault) {
        let faults = self.faults.fetch_add(1, Ordering::Relaxed) + 1;
        if faults.is_power_of_two() {
            let (member, failure) = (&self.config.name, fault.failure);
            tracing::warn!(
                "member `{member}`: {failure}: {}; the note is quarantined ({faults} so far)",
                fault.reason
            );
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let pool = self.pool.get_mut().unwrap_or_else(PoisonError::into_inner);
        // All processes end at the same time, and not one after another.
        pool.idle.iter_mut().for_each(|connection| connection.leave());
    }
}

/// Where asking ended: before the note was sent, or with it.
enum Ended {
    Start(Fault),
    Note(Fault),
}

/// The right to use one connection.
struct Seat<'a> {
    member: &'a Live,
    connection: Option<Box<dyn Connection>>,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut pool = self.member.pool.lock().unwrap_or_else(PoisonError::into_inner);
        match self.connection.take() {
            Some(connection) => pool.idle.push(connection),
            None => pool.free += 1,
        }
        self.member.returned.notify_one();
    }
}

impl Tagger for Live {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        let note = |row: usize| {
            if batch.row_kind(row) != RowKind::Note {
                return Ok(Annotations::default());
            }
            batch.advance()?;
            match batch.note(row).text {
                "" => Ok(Annotations::default()),
                text => Ok(self.annotate(text)?),
            }
        };
        (0..batch.len()).map(note).collect()
    }

    fn is_trained_on(&self, label: LabelId) -> bool {
        self.named.contains(&label)
    }

    fn reads_plain_forms(&self) -> bool {
        false
    }

    fn prepare(&self) -> Result<Option<String>, String> {
        let mut seat = self.take();
        // A connection that works is kept for the first note.
        let (connection, spans) = self.try_out().map_err(|fault| fault.reason)?;
        seat.connection = Some(connection);
        Ok(Some(format!("answered an invented sentence with {spans} spans")))
    }
}

#[cfg(test)]
#[path = "live/tests.rs"]
mod tests;
