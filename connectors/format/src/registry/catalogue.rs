//! Schemas by their ids, each asked for once and made ready for reading.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::{Schema, SchemaError, Schemas, Unavailable};
use crate::PayloadError;

/// How long an answer of "no" holds. A registry may learn of a schema a moment after the records that use it.
const NO_HOLDS: Duration = Duration::from_secs(60);

/// How many answers of "no" are kept: a sender may make ids up.
const NOES: usize = 16_384;

/// What a schema was made into, or why no record can be read by it.
pub(crate) type Entry<C> = Result<Arc<C>, PayloadError>;

type Compile<C> = Box<dyn Fn(&Schema) -> Result<C, String> + Send + Sync>;

/// The schemas of a registry that were asked for so far.
pub(crate) struct Catalogue<C> {
    schemas: Arc<dyn Schemas>,
    /// What readers need of a schema; its error tells whoever runs the program what is wrong with it.
    compile: Compile<C>,
    entries: RwLock<HashMap<u32, Known<C>>>,
    /// Held while asking, so that lanes that meet a new schema at once ask once.
    asking: Mutex<Asked>,
}

/// An answer, and when it came.
struct Known<C> {
    entry: Entry<C>,
    since: Instant,
}

/// What became of the last questions.
#[derive(Default)]
struct Asked {
    failed: Option<(Instant, Unavailable)>,
    warned: Option<Instant>,
}

impl<C> Catalogue<C> {
    pub(crate) fn new(
        schemas: Arc<dyn Schemas>,
        compile: impl Fn(&Schema) -> Result<C, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            schemas,
            compile: Box::new(compile),
            entries: RwLock::default(),
            asking: Mutex::default(),
        }
    }

    /// Sees to it that the registry has answered for this id, and lately if it answered "no".
    ///
    /// # Errors
    /// [`Unavailable`].
    pub(crate) fn prepare(&self, id: u32) -> Result<(), Unavailable> {
        match self.lookup(id, true) {
            Some(_) => Ok(()),
            None => self.ask(id).map(drop),
        }
    }

    /// The schema of that id; the registry is asked only if it never was.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub(crate) fn get(&self, id: u32) -> Result<Entry<C>, Unavailable> {
        self.lookup(id, false).map_or_else(|| self.ask(id), Ok)
    }

    fn lookup(&self, id: u32, fresh: bool) -> Option<Entry<C>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let known = entries.get(&id)?;
        let holds = known.entry.is_ok() || !fresh || known.since.elapsed() < NO_HOLDS;
        holds.then(|| known.entry.clone())
    }

    /// What readers need of the schema. Compilers of schemas are large programs of others: if one panics, that costs the
    /// schema's records, not the stream.
    fn ready(&self, schema: &Schema) -> Result<Arc<C>, String> {
        catch_unwind(AssertUnwindSafe(|| (self.compile)(schema)))
            .unwrap_or_else(|_| Err("its compiler panicked".to_owned()))
            .map(Arc::new)
    }

    fn ask(&self, id: u32) -> Result<Entry<C>, Unavailable> {
        let began = Instant::now();
        let mut asked = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever held the lock may have asked for the same, or found that nobody answers: each waiting lane need not
        // find that out for itself, one time limit after the other.
        if let Some(entry) = self.lookup(id, true) {
            return Ok(entry);
        }
        if let Some((when, why)) = &asked.failed
            && *when >= began
        {
            return Err(why.clone());
        }
        let entry = match self.schemas.schema(id) {
            Ok(schema) => self.ready(&schema).map_err(|why| {
                asked.warn(id, &why);
                PayloadError::UnusableSchema
            }),
            Err(SchemaError::NotFound) => {
                asked.warn(id, "the registry does not have it");
                Err(PayloadError::UnknownSchema)
            }
            Err(SchemaError::Unusable(why)) => {
                asked.warn(id, &why);
                Err(PayloadError::UnusableSchema)
            }
            Err(SchemaError::Unavailable(why)) => {
                asked.failed = Some((Instant::now(), why.clone()));
                return Err(why);
            }
        };
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if entry.is_err() && entries.len() >= NOES {
            entries.retain(|_, known| known.entry.is_ok());
        }
        let known = Known {
            entry: entry.clone(),
            since: Instant::now(),
        };
        entries.insert(id, known);
        Ok(entry)
    }
}

impl Asked {
    /// Tells of a schema that nothing can be read by; at most once a second, since a sender may make ids up.
    fn warn(&mut self, id: u32, why: &str) {
        if self
            .warned
            .is_none_or(|warned| warned.elapsed() >= Duration::from_secs(1))
        {
            self.warned = Some(Instant::now());
            tracing::warn!(schema = id, why, "records of this schema are quarantined");
        }
    }
}

impl<C> std::fmt::Debug for Catalogue<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Catalogue")
    }
}
