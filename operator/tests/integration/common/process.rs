//! The program as a process that cannot outlive its test.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

/// The time limit of every wait: many times what any takes on a machine that is busy with other work, so that
/// a test which reaches it waits for something that will never come.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(1200);

/// The result of a process.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// Its exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
    /// Its run time.
    pub(crate) took: Duration,
}

impl Ended {
    /// Asserts the exit code; a failure shows the process's output.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n{}\n{}", self.out, self.err);
        self
    }

    /// Asserts that standard error contains a text.
    #[track_caller]
    pub(crate) fn says(self, what: &str) -> Self {
        assert!(self.err.contains(what), "{what:?} is not in:\n{}", self.err);
        self
    }
}

/// The program before it is started.
pub(crate) struct Lethe(Command);

impl Lethe {
    /// Creates the program with these arguments, its log at `info`, and no injected faults.
    pub(crate) fn new<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lethe"));
        command.args(arguments);
        for name in [
            "LETHE_LOG",
            "LETHE_CRASH_AT",
            "LETHE_STORE_FAULTS",
            "LETHE_ABORT_ON",
        ] {
            command.env_remove(name);
        }
        Self(command)
    }

    /// Creates `lethe run -c CONFIG --until-end`.
    pub(crate) fn through(config: &Path) -> Self {
        Self::new([
            OsStr::new("run"),
            OsStr::new("-c"),
            config.as_os_str(),
            OsStr::new("--until-end"),
        ])
    }

    /// Creates `lethe run -c CONFIG`.
    pub(crate) fn run(config: &Path) -> Self {
        Self::new([OsStr::new("run"), OsStr::new("-c"), config.as_os_str()])
    }

    /// Makes it take interrupts even if the tests were started with interrupts ignored, as `nohup` and a shell's
    /// `&` do: it is started through `env`, which replaces itself by it.
    pub(crate) fn interruptible(self) -> Self {
        let mut command = Command::new("env");
        command
            .arg("--default-signal=INT")
            .arg(self.0.get_program())
            .args(self.0.get_args());
        for (name, value) in self.0.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Self(command)
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    /// Sets the working directory.
    pub(crate) fn inside(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    /// Starts it.
    pub(crate) fn start(self) -> Running {
        self.start_with(None)
    }

    /// Starts it with this standard input.
    pub(crate) fn start_with(mut self, input: Option<Vec<u8>>) -> Running {
        let stdin = if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        let mut running = self.start_piped(stdin);
        if let (Some(input), Some(mut pipe)) = (input, running.child.stdin.take()) {
            std::thread::spawn(move || {
                // A process that ends early does not read to the end; the test checks how it ended.
                drop(std::io::Write::write_all(&mut pipe, &input));
            });
        }
        running
    }

    fn start_piped(&mut self, stdin: Stdio) -> Running {
        let mut child = self
            .0
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (out, reads_out) = collect(child.stdout.take().unwrap());
        let (err, reads_err) = collect(child.stderr.take().unwrap());
        Running {
            child,
            out,
            err,
            readers: vec![reads_out, reads_err],
            started: Instant::now(),
        }
    }

    /// Starts it with an open standard input.
    pub(crate) fn start_open(mut self) -> (Running, ChildStdin) {
        let mut running = self.start_piped(Stdio::piped());
        let input = running.child.stdin.take();
        (running, input.expect("its input is a pipe"))
    }

    /// Starts it and waits for its end.
    #[track_caller]
    pub(crate) fn end(self) -> Ended {
        self.start().wait(TIMEOUT)
    }

    /// Starts it with this standard input, and waits for its end.
    #[track_caller]
    pub(crate) fn end_with(self, input: impl Into<Vec<u8>>) -> Ended {
        self.start_with(Some(input.into())).wait(TIMEOUT)
    }
}

/// The running program. It is killed when it is dropped.
pub(crate) struct Running {
    child: Child,
    out: Arc<Mutex<Vec<u8>>>,
    err: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
    started: Instant,
}

impl Running {
    /// Returns its standard error so far.
    pub(crate) fn err(&self) -> String {
        text(&self.err)
    }

    /// Sends a signal by name: `TERM`, `INT`, `KILL`, `STOP`, `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let signal = match name {
            "TERM" => Signal::TERM,
            "INT" => Signal::INT,
            "KILL" => Signal::KILL,
            "STOP" => Signal::STOP,
            "CONT" => Signal::CONT,
            _ => panic!("no test sends {name}"),
        };
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // A process that has already ended receives no signal.
        let sent = kill_process(pid.expect("a child has an id"), signal);
        assert!(matches!(sent, Ok(()) | Err(Errno::SRCH)), "{sent:?}");
    }

    /// Returns whether it is still running.
    pub(crate) fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it has not ended in time; it is then killed, and its output is shown.
    #[track_caller]
    pub(crate) fn wait(mut self, timeout: Duration) -> Ended {
        let deadline = Instant::now() + timeout;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                let output = self.err();
                panic!("it has not ended within {timeout:?}; it said:\n{output}");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let took = self.started.elapsed();
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        Ended {
            code: status.code(),
            out: text(&self.out),
            err: text(&self.err),
            took,
        }
    }

    /// Waits until standard error contains a text.
    #[track_caller]
    pub(crate) fn until_it_says(&mut self, what: &str, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        loop {
            // Asked before the text is read: what a process says last may be read only after its end.
            let ended = !self.lives() && self.readers.iter().all(JoinHandle::is_finished);
            if self.err().contains(what) {
                return;
            }
            let over = ended || Instant::now() > deadline;
            assert!(!over, "it never said {what:?}, but:\n{}", self.err());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn text(bytes: &Mutex<Vec<u8>>) -> String {
    String::from_utf8_lossy(&bytes.lock().unwrap()).into_owned()
}

fn collect(mut from: impl Read + Send + 'static) -> (Arc<Mutex<Vec<u8>>>, JoinHandle<()>) {
    let collected = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&collected);
    let reader = std::thread::spawn(move || {
        let mut buffer = [0; 1 << 14];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            sink.lock().unwrap().extend_from_slice(&buffer[..read]);
        }
    });
    (collected, reader)
}

/// Runs a system command to its end, and returns its standard output.
#[track_caller]
pub(crate) fn system<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
) -> String {
    let done = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    assert!(done.status.success(), "{:?}\n{out}\n{err}", done.status);
    out.into_owned()
}

/// Runs a Python script with `pyarrow` and `duckdb`, and returns its standard output.
#[track_caller]
pub(crate) fn python(script: &str, arguments: &[&str]) -> String {
    let mut all = vec!["-c", script];
    all.extend(arguments);
    system(super::env("LETHE_TEST_PYTHON"), all)
}
