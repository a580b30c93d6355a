//! The learning of corrections from any source, and its log: counts, versions and positions, never text.

use std::time::{Duration, Instant};

use lethe_adapt::corrections::{At, CorrectionsError, Outcome, Positions, Site, Verdict};

/// A state folder and the schedule of learning.
pub(super) struct Worker {
    site: Site,
    batch: usize,
    max_wait: Duration,
    /// When the oldest waiting correction arrived.
    since: Option<Instant>,
    /// The foreign current version that was already reported.
    paused: Option<String>,
}

impl Worker {
    pub(super) fn new(site: Site, batch: usize, max_wait: Duration) -> Self {
        Self {
            site,
            batch,
            max_wait,
            since: None,
            paused: None,
        }
    }

    /// Returns the position up to which each partition or file was read.
    pub(super) const fn positions(&self) -> &Positions {
        self.site.positions()
    }

    /// Reports the state, and finishes a batch that has no outcome.
    pub(super) fn begin(&mut self) -> anyhow::Result<()> {
        tracing::info!(
            base = self.site.base(),
            taken_before = self.site.corrections(),
            "learning corrections; {}",
            match self.site.first() {
                Some(name) => format!("`{name}` is mixed with naive Bayes, and phrases are always redacted"),
                None => "no member of the bundle can be mixed, so only phrases are learnt".to_owned(),
            }
        );
        self.look()?;
        if self.site.is_open() {
            self.step()?;
        }
        if self.site.waiting() > 0 {
            self.since = Some(Instant::now());
        }
        Ok(())
    }

    /// Adds corrections, which are durable when this returns.
    pub(super) fn take(&mut self, arrived: &[(At, Option<Vec<u8>>)]) -> anyhow::Result<()> {
        if arrived.is_empty() {
            return Ok(());
        }
        let payloads = arrived.iter();
        let arrived = self
            .site
            .take(payloads.map(|(at, payload)| (at.clone(), payload.as_deref())))?;
        for (at, fault) in &arrived.rejected {
            tracing::warn!("{at}: invalid correction: {fault}");
        }
        if arrived.taken > 0 {
            tracing::info!("{} corrections received", arrived.taken);
            self.since.get_or_insert_with(Instant::now);
        }
        Ok(())
    }

    /// Learns if a batch is due, and checks for a roll-back.
    pub(super) fn tick(&mut self) -> anyhow::Result<()> {
        self.look()?;
        let waited = self.since.is_some_and(|since| since.elapsed() >= self.max_wait);
        if waited || (self.site.waiting() >= self.batch && self.paused.is_none()) {
            self.step()?;
        }
        Ok(())
    }

    /// Learns the remaining corrections.
    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        self.look()?;
        self.step()
    }

    fn look(&mut self) -> Result<(), CorrectionsError> {
        if let Some(turn) = self.site.look()? {
            tracing::info!(
                version = turn.version,
                "the current version was changed: {} batches of corrections are set aside until they are sent again",
                turn.aside
            );
        }
        Ok(())
    }

    fn step(&mut self) -> anyhow::Result<()> {
        let outcome = self.site.step()?;
        self.since = None;
        if !matches!(outcome, Some(Outcome::Paused { .. })) {
            self.paused = None;
        }
        match outcome {
            None => {}
            Some(Outcome::Published(verdict)) => {
                tracing::info!(version = verdict.version, "published: {}", told(&verdict));
            }
            Some(Outcome::Same(verdict)) => {
                tracing::info!(version = verdict.version, "no change: {}", told(&verdict));
            }
            Some(Outcome::Refused(verdict)) => {
                tracing::warn!(
                    version = verdict.version,
                    "not published, since it is worse than the current version: {}",
                    told(&verdict)
                );
            }
            Some(Outcome::Paused { current }) => {
                // Try again after the same time.
                self.since = Some(Instant::now());
                if self.paused.as_ref() != Some(&current) {
                    tracing::warn!(
                        version = current,
                        "the current version did not result from these corrections; make one that did current, or use a new state folder"
                    );
                    self.paused = Some(current);
                }
            }
            Some(other) => tracing::info!("{other:?}"),
        }
        Ok(())
    }
}

/// Summarises a version and its scores.
fn told(verdict: &Verdict) -> String {
    let weight = verdict
        .weight
        .map_or("no".to_owned(), |weight| format!("{:.3}", 1.0 - weight));
    let comparison = if verdict.new.notes == 0 {
        "the held-out set is empty".to_owned()
    } else {
        format!(
            "on {} held-out notes {}; before {}",
            verdict.new.notes, verdict.new, verdict.old
        )
    };
    format!(
        "{} corrected notes, {} phrases, {weight} weight for naive Bayes; {comparison}",
        verdict.notes, verdict.phrases
    )
}
