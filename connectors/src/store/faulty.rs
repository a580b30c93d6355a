//! A store that fails on purpose, by a script or at random from a seed, for tests of recovery.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::{At, End, Object, Op, Store, StoreConfig, StoreError, is_probe};

/// A fault of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InjectedFault {
    /// Refused temporarily, without effect.
    FailBefore,
    /// Carried out, but the response is lost.
    FailAfter,
    /// Carried out late.
    Slow,
    /// Refused for lack of space.
    Full,
    /// Refused permanently.
    Denied,
    /// Reported as existing although there is no object, as S3 does (409) while another writer's PUT is in
    /// progress, which may still fail.
    Conflict,
}

impl InjectedFault {
    /// All faults.
    pub const ALL: [Self; 6] = [
        Self::FailBefore,
        Self::FailAfter,
        Self::Slow,
        Self::Full,
        Self::Denied,
        Self::Conflict,
    ];

    /// Returns its name in scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FailBefore => "fail-before",
            Self::FailAfter => "fail-after",
            Self::Slow => "slow",
            Self::Full => "full",
            Self::Denied => "denied",
            Self::Conflict => "conflict",
        }
    }
}

/// A plan of faults.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Faults of given requests, counted from 1 for each operation separately.
    Script(Vec<(Op, u64, InjectedFault)>),
    /// Each request fails with probability `rate`, with one of `faults`, as determined by the seed.
    Dice {
        /// The seed.
        seed: u64,
        /// Probability of a fault, 0 to 1.
        rate: f64,
        /// The faults to choose from.
        faults: Vec<InjectedFault>,
    },
}

impl Plan {
    /// Parses `create:2=fail-after,list:1=slow`, or `seed=7,rate=0.1` (all faults except those that a retry
    /// cannot fix).
    ///
    /// # Errors
    /// The invalid part.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let pairs: Vec<(&str, &str)> = parts
            .map(|part| part.split_once('=').ok_or_else(|| part.to_owned()))
            .collect::<Result<_, _>>()?;
        if pairs.iter().any(|(key, _)| *key == "seed") {
            let (mut seed, mut rate) = (0, 0.1);
            for (key, value) in pairs {
                match key {
                    "seed" => seed = value.parse().map_err(|_| value.to_owned())?,
                    "rate" => rate = value.parse().map_err(|_| value.to_owned())?,
                    _ => return Err(key.to_owned()),
                }
            }
            let faults = vec![
                InjectedFault::FailBefore,
                InjectedFault::FailAfter,
                InjectedFault::Slow,
                InjectedFault::Conflict,
            ];
            return Ok(Self::Dice { seed, rate, faults });
        }
        let entry = |(key, value): (&str, &str)| {
            let (op, nth) = key.split_once(':').unwrap_or((key, "1"));
            let fault = InjectedFault::ALL.into_iter().find(|fault| fault.name() == value);
            match (Op::from_name(op), nth.parse(), fault) {
                (Some(op), Ok(nth), Some(fault)) => Ok((op, nth, fault)),
                _ => Err(format!("{key}={value}")),
            }
        };
        pairs
            .into_iter()
            .map(entry)
            .collect::<Result<_, _>>()
            .map(Self::Script)
    }
}

/// The folder in which lanes mark their records in progress.
const HINTS: &str = ".lethe/in-hand/";

/// A store with injected faults.
pub struct Faulty {
    inner: Arc<dyn Store>,
    plan: Plan,
    delay: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    requests: HashMap<Op, u64>,
    throws: u64,
    given: u64,
}

impl Faulty {
    /// Adds the plan's faults to `inner`.
    pub fn new(inner: Arc<dyn Store>, plan: Plan) -> Self {
        Self {
            inner,
            plan,
            delay: Duration::from_millis(200),
            state: Mutex::default(),
        }
    }

    /// Sets the delay of [`InjectedFault::Slow`].
    #[must_use]
    pub const fn with_delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Returns the number of faults so far.
    pub fn given(&self) -> u64 {
        self.state().given
    }

    /// Returns the number of requests of this kind so far.
    pub fn requests(&self, op: Op) -> u64 {
        self.state().requests.get(&op).copied().unwrap_or_default()
    }

    /// Adds the faults of the environment variable `LETHE_STORE_FAULTS` to `inner`, in the syntax of
    /// [`Plan::parse`]; without the variable, returns `inner`.
    ///
    /// # Errors
    /// [`StoreError::Other`] with the invalid part of the variable.
    pub fn from_environment(inner: Arc<dyn Store>) -> Result<Arc<dyn Store>, StoreError> {
        let Ok(text) = std::env::var("LETHE_STORE_FAULTS") else {
            return Ok(inner);
        };
        match Plan::parse(&text) {
            Ok(plan) => Ok(Arc::new(Self::new(inner, plan))),
            Err(part) => Err(StoreError::Other {
                at: At::new(Op::Open, inner.describe(), ""),
                detail: format!("LETHE_STORE_FAULTS: cannot read {part:?}"),
                hint: "write OPERATION:NUMBER=FAULT or seed=N,rate=P".into(),
            }),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn throw(&self, op: Op) -> Option<InjectedFault> {
        let mut state = self.state();
        let request = state.requests.entry(op).or_default();
        *request += 1;
        let request = *request;
        let fault = match &self.plan {
            Plan::Script(script) => script
                .iter()
                .find(|(of, nth, _)| (*of, *nth) == (op, request))
                .map(|(_, _, fault)| *fault),
            Plan::Dice { seed, rate, faults } => {
                state.throws += 1;
                let throw = mix(seed.wrapping_add(state.throws.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
                let hit = ((throw >> 11) as f64 / (1u64 << 53) as f64) < *rate;
                let index = (mix(throw) % faults.len().max(1) as u64) as usize;
                faults.get(index).copied().filter(|_| hit)
            }
        };
        let fault = fault.filter(|fault| op == Op::Create || *fault != InjectedFault::Conflict);
        state.given += u64::from(fault.is_some());
        fault
    }

    /// Carries out the request according to the plan.
    async fn try_with<T: Send>(
        &self,
        op: Op,
        name: &str,
        request: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        // A script counts requests for the dataset's objects. Marks are hints, and only random faults affect
        // them.
        if matches!(self.plan, Plan::Script(_)) && name.starts_with(HINTS) {
            return request.await;
        }
        let at = || At::new(op, self.describe(), name);
        let detail = || "as the test asked".to_owned();
        let fault = if is_probe(name) { None } else { self.throw(op) };
        match fault {
            None => request.await,
            Some(InjectedFault::FailBefore) => Err(StoreError::Transient {
                at: at(),
                detail: detail(),
            }),
            Some(InjectedFault::FailAfter) => {
                request.await?;
                Err(StoreError::Transient {
                    at: at(),
                    detail: detail(),
                })
            }
            Some(InjectedFault::Slow) => {
                tokio::time::sleep(self.delay).await;
                request.await
            }
            Some(InjectedFault::Full) => Err(StoreError::Full {
                at: at(),
                detail: detail(),
            }),
            Some(InjectedFault::Denied) => Err(StoreError::Denied {
                at: at(),
                detail: detail(),
                hint: String::new(),
            }),
            Some(InjectedFault::Conflict) => Err(StoreError::Exists(at())),
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): spreads a counter over 64 bits.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[async_trait]
impl Store for Faulty {
    async fn create(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.try_with(Op::Create, name, self.inner.create(name, bytes))
            .await
    }

    async fn list_after(&self, folder: &str, after: Option<&str>) -> Result<Vec<Object>, StoreError> {
        self.try_with(Op::List, folder, self.inner.list_after(folder, after))
            .await
    }

    async fn read_range(&self, name: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.try_with(Op::Read, name, self.inner.read_range(name, range))
            .await
    }

    async fn read_tail(&self, name: &str, len: u64) -> Result<End, StoreError> {
        self.try_with(Op::Read, name, self.inner.read_tail(name, len))
            .await
    }

    async fn look(&self, name: &str) -> Result<Object, StoreError> {
        self.try_with(Op::Read, name, self.inner.look(name)).await
    }

    async fn replace(&self, name: &str, bytes: Bytes, version: &str) -> Result<(), StoreError> {
        self.try_with(Op::Replace, name, self.inner.replace(name, bytes, version))
            .await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.try_with(Op::Delete, name, self.inner.delete(name)).await
    }

    async fn reload_credentials(&self, config: &StoreConfig) -> Result<(), StoreError> {
        self.inner.reload_credentials(config).await
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Faulty({:?}, {:?})", self.inner, self.plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;

    #[tokio::test]
    async fn a_script_gives_each_fault_once_and_in_its_place() {
        let plan = Plan::parse("create:1=fail-before, create:2=fail-after,create:3=conflict").unwrap();
        let store = Faulty::new(Arc::new(Memory::default()), plan);
        let create = |name: &'static str| store.create(name, Bytes::from_static(b"x"));
        assert!(create("a").await.unwrap_err().is_transient());
        assert!(store.list("").await.unwrap().is_empty());
        assert!(create("a").await.unwrap_err().is_transient());
        assert_eq!(store.list("").await.unwrap().len(), 1);
        assert!(matches!(create("b").await, Err(StoreError::Exists(_))));
        create("b").await.unwrap();
        assert_eq!(store.given(), 3);
    }

    #[tokio::test]
    async fn the_same_seed_gives_the_same_faults() {
        let mut runs = Vec::new();
        for _ in 0..2 {
            let store = Faulty::new(
                Arc::new(Memory::default()),
                Plan::parse("seed=9,rate=0.5").unwrap(),
            )
            .with_delay(Duration::ZERO);
            let mut failed = Vec::new();
            for i in 0..100 {
                failed.push(store.create(&i.to_string(), Bytes::new()).await.is_err());
            }
            assert!((20..80).contains(&store.given()));
            runs.push(failed);
        }
        assert_eq!(runs[0], runs[1]);
    }

    #[test]
    fn a_plan_that_cannot_be_read_is_refused_with_the_part_that_is_wrong() {
        for wrong in [
            "create:x=full",
            "create:1=burn",
            "jump:1=full",
            "seed=x",
            "create",
        ] {
            assert!(Plan::parse(wrong).is_err(), "{wrong}");
        }
    }
}
