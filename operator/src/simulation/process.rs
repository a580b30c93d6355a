//! One process: where it may crash or stand still, and what it is made of.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lethe_connectors::Stop;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::world::{World, lock};

/// One life of a process, from its start to its end. Every effect passes [`Life::step`].
pub(super) struct Life {
    /// `p2.3` is the third life of the second process.
    pub(super) name: String,
    pub(super) world: Arc<World>,
    pub(super) stop: Stop,
    state: Mutex<State>,
    died: Notify,
}

#[derive(Default)]
struct State {
    dead: bool,
    frozen_until: Option<Instant>,
    /// Effects until it is killed.
    kill_after: Option<u64>,
    /// Effects until it is frozen, and for how long.
    freeze_after: Option<(u64, Duration)>,
}

impl Life {
    pub(super) fn new(name: String, world: &Arc<World>, drain: Duration) -> Arc<Self> {
        Arc::new(Self {
            name,
            world: Arc::clone(world),
            stop: Stop::new(drain),
            state: Mutex::default(),
            died: Notify::new(),
        })
    }

    /// Kills the process before its `after`-th effect from now.
    pub(super) fn kill(&self, after: u64) {
        lock(&self.state).kill_after = Some(after);
        if after == 0 {
            self.die();
        }
    }

    /// Freezes the process before its `after`-th effect from now: it does nothing more, and wakes up later as a zombie.
    pub(super) fn freeze(&self, after: u64, time: Duration) {
        lock(&self.state).freeze_after = Some((after, time));
    }

    /// Ends what is to come and wakes the process.
    pub(super) fn calm(&self) {
        let mut state = lock(&self.state);
        (state.kill_after, state.freeze_after) = (None, None);
    }

    pub(super) fn is_dead(&self) -> bool {
        lock(&self.state).dead
    }

    /// Waits until the process is killed.
    pub(super) async fn died(&self) {
        while !self.is_dead() {
            self.died.notified().await;
        }
    }

    fn die(&self) {
        lock(&self.state).dead = true;
        self.world.meet("process killed");
        self.world.note(&self.name, "killed", "dead");
        self.died.notify_one();
    }

    /// Passes between two effects: the process may die here, or stand still. A dead process never comes back from it.
    pub(super) async fn step(&self) {
        if self.counts_down() {
            self.die();
        }
        self.thaw().await;
    }

    /// True if the process is to be killed here.
    fn counts_down(&self) -> bool {
        let mut state = lock(&self.state);
        if state.dead {
            return false;
        }
        if let Some((after, time)) = &mut state.freeze_after {
            if *after == 0 {
                let until = Instant::now() + *time;
                self.world.meet("process frozen");
                self.world
                    .note(&self.name, "frozen", format_args!("for {time:?}"));
                state.frozen_until = Some(until);
                state.freeze_after = None;
            } else {
                *after -= 1;
            }
        }
        match &mut state.kill_after {
            Some(0) => return true,
            Some(after) => *after -= 1,
            None => {}
        }
        false
    }

    /// Waits while the process is frozen; for ever if it is dead.
    pub(super) async fn thaw(&self) {
        loop {
            let until = {
                let state = lock(&self.state);
                if state.dead {
                    None
                } else {
                    match state.frozen_until {
                        Some(until) if until > Instant::now() => Some(until),
                        _ => return,
                    }
                }
            };
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending::<()>().await,
            }
        }
    }
}
