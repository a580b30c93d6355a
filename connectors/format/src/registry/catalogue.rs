//! Caches schemas by their ids; each is fetched and compiled once.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::{CompileError, Schema, SchemaError, Schemas, Unavailable};
use crate::PayloadError;

/// How long a negative response is cached. A registry may learn of a schema a moment after the records that
/// use it.
const NO_HOLDS: Duration = Duration::from_secs(60);

/// Maximum number of cached negative responses, since a sender may invent ids.
const NOES: usize = 16_384;

/// What a schema was made into, or why no record can be read by it.
pub(crate) type Entry<C> = Result<Arc<C>, PayloadError>;

type Compile<C> = Box<dyn Fn(&Schema) -> Result<C, CompileError> + Send + Sync>;

/// The schemas of a registry that were fetched so far.
pub(crate) struct Catalogue<C> {
    schemas: Arc<dyn Schemas>,
    /// Compiles a schema; its error tells an operator what is wrong with it.
    compile: Compile<C>,
    entries: RwLock<HashMap<u32, Known<C>>>,
    /// Locked during a request, so that lanes that meet a new schema at the same time make one request.
    asking: Mutex<Asked>,
}

/// A response and its time.
struct Known<C> {
    entry: Entry<C>,
    since: Instant,
}

/// The results of the last requests.
#[derive(Default)]
struct Asked {
    failed: Option<(Instant, Unavailable)>,
    warned: Option<Instant>,
}

impl<C> Catalogue<C> {
    pub(crate) fn new(
        schemas: Arc<dyn Schemas>,
        compile: impl Fn(&Schema) -> Result<C, CompileError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            schemas,
            compile: Box::new(compile),
            entries: RwLock::default(),
            asking: Mutex::default(),
        }
    }

    /// Ensures that the registry has responded for this id, and recently if the response was negative.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub(crate) fn prepare(&self, id: u32) -> Result<(), Unavailable> {
        match self.lookup(id, true) {
            Some(_) => Ok(()),
            None => self.ask(id).map(drop),
        }
    }

    /// Returns the schema with that id; the registry is contacted only if it never was for this id.
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

    /// Compiles the schema. Schema compilers are large third-party programs: if one panics, only the schema's
    /// records fail, not the stream.
    fn ready(&self, schema: &Schema) -> Result<Arc<C>, CompileError> {
        catch_unwind(AssertUnwindSafe(|| (self.compile)(schema)))
            .unwrap_or_else(|_| Err(CompileError::Panicked))
            .map(Arc::new)
    }

    fn ask(&self, id: u32) -> Result<Entry<C>, Unavailable> {
        let began = Instant::now();
        let mut asked = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        // The previous holder of the lock may have fetched the same schema, or found the registry
        // unavailable: waiting lanes need not each run into the time limit one after another.
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
                asked.warn(id, &why.to_string());
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
    /// Logs an unusable schema, at most once a second, since a sender may invent ids.
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
