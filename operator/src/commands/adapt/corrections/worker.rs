//! What is done with corrections, wherever they come from, and what is said of it: counts, versions and places, never text.

use std::time::{Duration, Instant};

use lethe_adapt::corrections::{At, CorrectionsError, Outcome, Positions, Site, Verdict};

/// A state folder, and when it is time to learn.
pub(super) struct Worker {
    site: Site,
    batch: usize,
    max_wait: Duration,
    /// Since when a correction waits.
    since: Option<Instant>,
    /// The version from elsewhere that was told of.
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

    /// How far each partition or file was read.
    pub(super) const fn positions(&self) -> &Positions {
        self.site.positions()
    }

    /// Says where it goes on from, and ends what was begun.
    pub(super) fn begin(&mut self) -> anyhow::Result<()> {
        tracing::info!(
            base = self.site.base(),
            taken_before = self.site.corrections(),
            "learning corrections; {}",
            match self.site.first() {
                Some(name) =>
                    format!("`{name}` is mixed with what they teach, and phrases stand beside the vote"),
                None => "no member of the bundle can be mixed: phrases alone are learnt".to_owned(),
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

    /// Takes in what arrived; it is durable then.
    pub(super) fn take(&mut self, arrived: &[(At, Option<Vec<u8>>)]) -> anyhow::Result<()> {
        if arrived.is_empty() {
            return Ok(());
        }
        let payloads = arrived.iter();
        let arrived = self
            .site
            .take(payloads.map(|(at, payload)| (at.clone(), payload.as_deref())))?;
        for (at, fault) in &arrived.rejected {
            tracing::warn!("{at}: not taken: {fault}");
        }
        if arrived.taken > 0 {
            tracing::info!("{} corrections taken", arrived.taken);
            self.since.get_or_insert_with(Instant::now);
        }
        Ok(())
    }

    /// Learns if it is time to, and looks whether somebody went back.
    pub(super) fn tick(&mut self) -> anyhow::Result<()> {
        self.look()?;
        let waited = self.since.is_some_and(|since| since.elapsed() >= self.max_wait);
        if waited || (self.site.waiting() >= self.batch && self.paused.is_none()) {
            self.step()?;
        }
        Ok(())
    }

    /// Learns what is left.
    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        self.look()?;
        self.step()
    }

    fn look(&mut self) -> Result<(), CorrectionsError> {
        if let Some(turn) = self.site.look()? {
            tracing::info!(
                version = turn.version,
                "somebody made another version current: {} batches of corrections are set aside until they are sent again",
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
                tracing::info!(version = verdict.version, "nothing changes: {}", told(&verdict));
            }
            Some(Outcome::Refused(verdict)) => {
                tracing::warn!(
                    version = verdict.version,
                    "worse than the current version, which goes on: {}",
                    told(&verdict)
                );
            }
            Some(Outcome::Paused { current }) => {
                // Asked again after the same time.
                self.since = Some(Instant::now());
                if self.paused.as_ref() != Some(&current) {
                    tracing::warn!(
                        version = current,
                        "the current version is none of these corrections': they wait until one is, or begin another state folder beside it"
                    );
                    self.paused = Some(current);
                }
            }
            Some(other) => tracing::info!("{other:?}"),
        }
        Ok(())
    }
}

/// What a version is made of, and the figures it was judged by.
fn told(verdict: &Verdict) -> String {
    let weight = verdict
        .weight
        .map_or("no".to_owned(), |weight| format!("{:.3}", 1.0 - weight));
    let judged = if verdict.new.notes == 0 {
        "no note is kept back to judge it by".to_owned()
    } else {
        format!(
            "on {} notes kept back {}; before {}",
            verdict.new.notes, verdict.new, verdict.old
        )
    };
    format!(
        "{} corrected notes, {} phrases, {weight} weight for naive Bayes; {judged}",
        verdict.notes, verdict.phrases
    )
}
