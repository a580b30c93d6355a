//! Progress of long work: a bar on a terminal, else a log line now and then.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often a line is logged without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Whether a terminal shows bars.
static BARS: AtomicBool = AtomicBool::new(true);

/// Makes every later task show no bar.
pub(crate) fn turn_off() {
    BARS.store(false, Ordering::Relaxed);
}

/// The progress of one task, counted in `unit`s.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    what: &'static str,
    unit: &'static str,
    total: Option<u64>,
    done: u64,
    /// Additional information.
    message: String,
    started: Instant,
    last_line: Instant,
}

impl Progress {
    /// Starts; `total` is unknown for a stream.
    pub(crate) fn start(what: &'static str, unit: &'static str, total: Option<u64>) -> Self {
        let shown = BARS.load(Ordering::Relaxed) && std::io::stderr().is_terminal();
        let bar = shown.then(|| {
            let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
            bar.with_style(style(what, unit, total.is_some()))
        });
        let now = Instant::now();
        Self {
            bar,
            what,
            unit,
            total,
            done: 0,
            message: String::new(),
            started: now,
            last_line: now,
        }
    }

    /// Adds `n`.
    pub(crate) fn add(&mut self, n: u64) {
        self.show(self.done + n);
    }

    /// Sets the count to `done`.
    pub(crate) fn at(&mut self, done: u64) {
        self.show(done);
    }

    /// Sets the additional information.
    pub(crate) fn say(&mut self, message: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(message.clone());
        }
        self.message = message;
    }

    /// Sets the count to `done` of `total`, which was unknown at the start.
    pub(crate) fn reach(&mut self, done: u64, total: u64) {
        let is_first = self.total.replace(total).is_none();
        if let Some(bar) = &self.bar {
            if is_first {
                bar.set_style(style(self.what, self.unit, true));
            }
            bar.set_length(total);
        }
        self.show(done);
    }

    fn show(&mut self, done: u64) {
        self.done = done;
        match &self.bar {
            Some(bar) => bar.set_position(self.done),
            None if self.last_line.elapsed() >= LINE_EVERY => {
                self.last_line = Instant::now();
                let of = self.total.map(|total| format!(" of {total}")).unwrap_or_default();
                let more = if self.message.is_empty() { "" } else { "; " };
                tracing::info!(
                    "{}: {}{of} {} in {:.0} s{more}{}",
                    self.what,
                    self.done,
                    self.unit,
                    self.started.elapsed().as_secs_f64(),
                    self.message
                );
            }
            None => {}
        }
    }

    /// Ends, clears the terminal line, and returns the count.
    pub(crate) fn finish(self) -> u64 {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        self.done
    }
}

/// Returns the style of a bar, or of a count without a total.
fn style(what: &str, unit: &str, has_total: bool) -> ProgressStyle {
    let template = if has_total {
        format!("{what} [{{wide_bar}}] {{human_pos}}/{{human_len}} {unit} {{per_sec}} {{eta}} {{msg}}")
    } else {
        format!("{{spinner}} {what} {{human_pos}} {unit} {{per_sec}} {{msg}}")
    };
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
