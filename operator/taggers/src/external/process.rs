//! A tool as a process that answers over pipes, one line for each line.
//!
//! The process leads a group of its own, which is killed with it. Its standard error goes nowhere, since it may
//! hold text of notes. Both pipes are non-blocking, so that one thread writes a long note and reads an answer
//! without either side waiting for the other, up to a deadline.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, Signal, kill_process_group};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::live::{Connect, Connection, Fault, MAX_ANSWER, failed, timed_out};
use super::protocol::out_of_step;
use super::{restarts, timeout_seconds};

/// How long a process may take to end by itself once its input has ended.
const LEAVE: Duration = Duration::from_secs(1);
/// How long a killed process may take to be gone. Only one that waits for a broken device takes longer.
const GONE: Duration = Duration::from_secs(5);
/// The variables of Lethe's environment that a process gets. Others may hold secrets of Lethe.
const INHERITED: [&str; 7] = ["PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"];

/// A process that answers note by note over pipes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessConfig {
    /// The program and its arguments; no shell reads them. The program is a name on the `PATH` or an absolute
    /// path.
    #[schemars(extend("examples" = [["python3", "/opt/mist/lines.py"]]))]
    pub command: Vec<String>,
    /// The working folder of the process. Default: that of Lethe.
    #[serde(default, skip_serializing)]
    #[schemars(extend("examples" = ["/opt/mist"]))]
    pub folder: Option<PathBuf>,
    /// Environment variables of the process, in addition to `PATH`, `HOME`, `LANG`, `LC_ALL`, `LC_CTYPE`,
    /// `TMPDIR` and `TZ`, which it inherits. They are not a part of the fingerprint; `version` is.
    #[serde(default, skip_serializing)]
    #[schemars(extend("examples" = [{ "MIST_MODEL": "/opt/mist/model" }]))]
    pub environment: BTreeMap<String, String>,
    /// How many processes may run at the same time. Lethe starts one when all others are busy. Default: one
    /// for each CPU core, so that no lane waits for another. With 1 all lanes share it.
    #[serde(default, skip_serializing)]
    #[schemars(extend("examples" = [1]))]
    pub processes: Option<usize>,
    /// The time limit for the first answer of a new process, to an invented sentence.
    #[serde(default = "start_seconds", skip_serializing)]
    #[schemars(extend("default" = start_seconds()))]
    pub start_seconds: u64,
    /// The time limit for the answer to one note.
    #[serde(default = "timeout_seconds", skip_serializing)]
    #[schemars(extend("default" = timeout_seconds()))]
    pub timeout_seconds: u64,
    /// How often Lethe tries to start the process again, with growing pauses, before it quarantines a note.
    #[serde(default = "restarts", skip_serializing)]
    #[schemars(extend("default" = restarts()))]
    pub restarts: u32,
}

fn start_seconds() -> u64 {
    60
}

impl ProcessConfig {
    /// Returns what is wrong with the command, and what to do.
    pub(super) fn problem(&self) -> Option<&'static str> {
        match self.command.first() {
            None => Some("names no program"),
            Some(program) if program.contains('/') && !program.starts_with('/') => {
                Some("names its program by a relative path; write an absolute path, or a name on the `PATH`")
            }
            Some(_) if self.command.iter().any(|argument| argument.contains('\0')) => {
                Some("has an argument with a null byte")
            }
            Some(_) => None,
        }
    }
}

impl Connect for ProcessConfig {
    fn connect(&self) -> Result<Box<dyn Connection>, Fault> {
        Ok(Box::new(Process::start(self)?))
    }
}

/// The groups of all processes that run, so that the program can end them when it ends.
static RUNNING: Mutex<Running> = Mutex::new(Running {
    groups: BTreeSet::new(),
    stopped: false,
});

struct Running {
    groups: BTreeSet<i32>,
    stopped: bool,
}

/// Kills every process that an external member started, with its group, and lets none start again. For the end
/// of the program.
pub fn stop_all() {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.stopped = true;
    std::mem::take(&mut running.groups).into_iter().for_each(kill);
}

fn kill(group: i32) {
    if let Some(pid) = Pid::from_raw(group) {
        // A group whose processes have all ended is gone.
        kill_process_group(pid, Signal::KILL).unwrap_or_default();
    }
}

/// A running process. Dropping it ends it.
struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    group: i32,
    /// Whether it may get time to end by itself.
    healthy: bool,
}

impl Process {
    fn start(config: &ProcessConfig) -> Result<Self, Fault> {
        let (program, arguments) = config
            .command
            .split_first()
            .ok_or_else(|| failed("the command names no program"))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(
                INHERITED
                    .iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .envs(&config.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        if let Some(folder) = &config.folder {
            command.current_dir(folder);
        }
        let mut child = {
            let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            if running.stopped {
                return Err(failed("the program is ending"));
            }
            let child = command.spawn().map_err(|error| {
                let folder = config.folder.as_ref().filter(|folder| !folder.is_dir());
                failed(match folder {
                    Some(folder) => format!("cannot start the process: no folder {}", folder.display()),
                    None => format!("cannot start `{program}`: {error}"),
                })
            })?;
            running.groups.insert(child.id() as i32);
            child
        };
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.expect("the process has a pipe for its output");
        let process = Self {
            group: child.id() as i32,
            child,
            input,
            output,
            healthy: true,
        };
        let pipes = [
            process.input.as_ref().map(ioctl_nonblocking),
            Some(ioctl_nonblocking(&process.output)),
        ];
        for set in pipes.into_iter().flatten() {
            set.map_err(|error| failed(format!("cannot prepare the pipes of the process: {error}")))?;
        }
        Ok(process)
    }

    /// Writes a line and reads a line.
    fn exchange(&mut self, line: &[u8], until: Instant) -> Result<Vec<u8>, Fault> {
        let (mut sent, mut answer) = (0, Vec::new());
        if self.wait(false, Duration::ZERO)?.1 {
            return Err(failed("the process wrote a line without a request, or ended"));
        }
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(timed_out("the process did not answer in time"));
            }
            let (writable, readable) = self.wait(sent < line.len(), left)?;
            if writable && let Some(input) = &mut self.input {
                match input.write(line.get(sent..).unwrap_or_default()) {
                    Ok(written) => sent += written,
                    Err(error) if is_early(&error) => {}
                    Err(_) => return Err(failed("the process closed its input or ended")),
                }
            }
            if readable && self.read(&mut answer)? {
                if sent < line.len() {
                    return Err(out_of_step(
                        "the process answered before it read the note".to_owned(),
                    ));
                }
                return Ok(answer);
            }
        }
    }

    /// Waits until a pipe is ready, at most `left`.
    fn wait(&self, write: bool, left: Duration) -> Result<(bool, bool), Fault> {
        let mut pipes = vec![PollFd::new(&self.output, PollFlags::IN)];
        if let Some(input) = self.input.as_ref().filter(|_| write) {
            pipes.push(PollFd::new(input, PollFlags::OUT));
        }
        let left = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut pipes, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed(format!("cannot wait for the process: {error}"))),
        }
        let ready = |pipe: Option<&PollFd<'_>>| pipe.is_some_and(|pipe| !pipe.revents().is_empty());
        Ok((ready(pipes.get(1)), ready(pipes.first())))
    }

    /// Reads what is there, and returns whether the line is complete, without its end.
    fn read(&mut self, answer: &mut Vec<u8>) -> Result<bool, Fault> {
        let mut piece = [0; 1 << 14];
        let count = match self.output.read(&mut piece) {
            Ok(0) => return Err(failed("the process ended or closed its output")),
            Ok(count) => count,
            Err(error) if is_early(&error) => return Ok(false),
            Err(error) => return Err(failed(format!("cannot read from the process: {}", error.kind()))),
        };
        let from = answer.len();
        answer.extend_from_slice(piece.get(..count).unwrap_or_default());
        let end = answer.iter().skip(from).position(|&byte| byte == b'\n');
        let Some(end) = end.map(|end| from + end) else {
            return match answer.len() > MAX_ANSWER {
                true => Err(out_of_step(format!("an answer of more than {MAX_ANSWER} bytes"))),
                false => Ok(false),
            };
        };
        if end + 1 < answer.len() {
            return Err(out_of_step(
                "the process wrote more than one line for a note".to_owned(),
            ));
        }
        answer.truncate(end);
        Ok(true)
    }

    /// Reads until the process ends, at most `limit`.
    fn drain(&mut self, limit: Duration) {
        let until = Instant::now() + limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !matches!(self.wait(false, left), Ok((_, true))) {
                return;
            }
            let mut piece = [0; 1 << 14];
            match self.output.read(&mut piece) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if is_early(&error) => {}
                Err(_) => return,
            }
        }
    }
}

impl Connection for Process {
    fn ask(&mut self, mut request: Vec<u8>, limit: Duration) -> Result<Vec<u8>, Fault> {
        request.push(b'\n');
        let answer = self.exchange(&request, Instant::now() + limit);
        self.healthy = answer.is_ok();
        answer
    }

    fn leave(&mut self) {
        drop(self.input.take());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.input.take());
        if self.healthy {
            self.drain(LEAVE);
        }
        {
            // The leader is reaped after its group was killed, so that the group's number cannot be another's.
            let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            if running.groups.remove(&self.group) {
                kill(self.group);
            }
        }
        let until = Instant::now() + GONE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn ioctl_nonblocking(pipe: impl std::os::fd::AsFd) -> Result<(), Errno> {
    ioctl_fionbio(pipe, true)
}

fn is_early(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
