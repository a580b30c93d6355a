//! One process: where it may crash or freeze, and its parts.

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
    frozen: Option<Frozen>,
    /// The number of effects until it is killed.
    kill_after: Option<u64>,
    /// The number of effects until it is frozen, and for how long.
    freeze_after: Option<(u64, Duration)>,
}

/// A frozen process.
#[derive(Clone, Copy)]
struct Frozen {
    since: Instant,
    until: Instant,
}

/// How often a frozen process checks whether it is woken up early, if that may happen.
const LOOK: Duration = Duration::from_millis(10);

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

    /// Freezes the process before its `after`-th effect from now: it does nothing, and wakes up later as a
    /// zombie.
    pub(super) fn freeze(&self, after: u64, time: Duration) {
        lock(&self.state).freeze_after = Some((after, time));
    }

    /// Cancels pending events and wakes the process.
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

    /// Passes a point between two effects, where the process may die or freeze. A dead process never returns
    /// from it.
    pub(super) async fn step(&self) {
        if self.counts_down() {
            self.die();
        }
        self.thaw().await;
    }

    /// Returns whether the process is to be killed here.
    fn counts_down(&self) -> bool {
        let mut state = lock(&self.state);
        if state.dead {
            return false;
        }
        if let Some((after, time)) = &mut state.freeze_after {
            if *after == 0 {
                let since = Instant::now();
                let until = since + *time;
                self.world.meet("process frozen");
                self.world
                    .note(&self.name, "frozen", format_args!("for {time:?}"));
                state.frozen = Some(Frozen { since, until });
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

    /// Waits while the process is frozen; forever if it is dead.
    pub(super) async fn thaw(&self) {
        loop {
            let (dead, frozen) = {
                let state = lock(&self.state);
                (state.dead, state.frozen)
            };
            if dead {
                std::future::pending::<()>().await;
            }
            let Some(Frozen { since, until }) = frozen else {
                return;
            };
            let weather = self.world.weather();
            let alarm = weather.alarm.filter(|&alarm| alarm > since);
            let until = alarm.map_or(until, |alarm| alarm.min(until));
            let now = Instant::now();
            if until <= now {
                return;
            }
            let look = if weather.ambush { LOOK } else { until - now };
            tokio::time::sleep_until(until.min(now + look)).await;
        }
    }
}
