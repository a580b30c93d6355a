//! Iterates over the rows of a chain in the order of their offsets, each with its audited spans.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type};
use arrow_array::{Array as _, RecordBatch, UInt32Array};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use lethe_core::{AuditBatch, RedactedBatch};

use super::text::Audited;
use crate::inspect::columns::{Batches, Wanted};
use crate::sink::{ChainError, ChainId, Footer, read_footer};
use crate::store::{Object, Store, StoreError};

const ROWS: [&str; 6] = ["topic", "partition", "offset", "row_kind", "text", "redactions"];
const SPANS: [&str; 6] = ["offset", "start", "end", "out_start", "out_end", "action"];

/// One row.
pub(super) struct Row {
    pub(super) offset: i64,
    pub(super) kind: String,
    pub(super) note_id: Option<String>,
    pub(super) text: Option<String>,
    pub(super) redactions: u32,
    /// Whether it names another topic or partition than its chain.
    pub(super) is_foreign: bool,
    /// Its replaced spans; `None` if its audit file cannot be read.
    pub(super) spans: Option<Vec<Audited>>,
}

/// A row in a wrong place.
pub(super) enum Disorder {
    /// A row with the offset of an earlier row. It is skipped.
    Twice(i64),
    /// A row with an offset that an earlier file has passed. It is skipped.
    Late(i64),
    /// A row after a later offset in its file. It is returned in order.
    Moved(i64),
}

/// The rows of a chain.
pub(super) struct ChainRows<'a> {
    store: &'a dyn Store,
    chain: ChainId,
    files: std::slice::Iter<'a, Object>,
    open: Option<Open<'a>>,
    /// Earlier files: name, first and last offset of their rows.
    passed: Vec<(&'a str, i64, i64)>,
    gaps: Vec<(i64, i64)>,
    end: i64,
    /// Disorders since the last call that took them.
    pub(super) disorders: Vec<Disorder>,
    /// Files that cannot be read.
    pub(super) unreadable: Vec<String>,
}

/// A notes file.
struct Open<'a> {
    source: Source<'a>,
    batch: Option<RecordBatch>,
    row: usize,
    /// Offsets up to here are skipped, since an earlier file covers them.
    above: i64,
    last: Option<i64>,
    spans: Option<BTreeMap<i64, Vec<Audited>>>,
}

enum Source<'a> {
    Stream(Batches<'a>),
    /// A file with unordered rows, sorted.
    Sorted(Option<RecordBatch>),
}

impl<'a> ChainRows<'a> {
    pub(super) fn new(store: &'a dyn Store, chain: ChainId, files: &'a [Object]) -> Self {
        Self {
            store,
            chain,
            files: files.iter(),
            open: None,
            passed: Vec::new(),
            gaps: Vec::new(),
            end: 0,
            disorders: Vec::new(),
            unreadable: Vec::new(),
        }
    }

    /// Returns the offset after the last one that the opened files cover.
    pub(super) const fn end(&self) -> i64 {
        self.end
    }

    /// Returns whether the chain declares this offset as never read.
    pub(super) fn is_in_gap(&self, offset: i64) -> bool {
        self.gaps.iter().any(|&(from, to)| (from..to).contains(&offset))
    }

    /// Returns the next row; `None` after the last.
    ///
    /// # Errors
    /// The store's error.
    pub(super) async fn next(&mut self) -> Result<Option<Row>, ChainError> {
        loop {
            if self.open.is_none() {
                let Some(file) = self.files.next() else {
                    return Ok(None);
                };
                match self.open_file(file).await {
                    Ok(open) => self.open = Some(open),
                    Err(ChainError::Store(error)) => return Err(error.into()),
                    Err(_) => self.unreadable.push(file.name.clone()),
                }
                continue;
            }
            let Some(open) = &mut self.open else { continue };
            match open.next(&self.chain).await {
                Ok(Some(row)) => return Ok(Some(row)),
                Ok(None) => self.open = None,
                Err(ChainError::Store(error)) => return Err(error.into()),
                Err(error) => {
                    self.unreadable.push(error.to_string());
                    self.open = None;
                }
            }
        }
    }

    async fn open_file(&mut self, file: &'a Object) -> Result<Open<'a>, ChainError> {
        let footer = read_footer(self.store, &file.name).await?;
        self.end = self.end.max(footer.next);
        if footer.gap.is_some() {
            self.gaps.push((footer.first, footer.next));
        }
        let offsets = self.offsets(&file.name).await?;
        let above = self.passed.iter().map(|&(_, _, last)| last).max();
        let is_sorted = self.look_at_order(&offsets, above).await?;
        if let (Some(&first), Some(&last)) = (offsets.iter().min(), offsets.iter().max()) {
            self.passed.push((&file.name, first, last));
        }
        let schema = RedactedBatch::schema();
        let wanted = Wanted {
            schema: &schema,
            must: &ROWS,
            may: &["note_id"],
        };
        let mut batches = Batches::open(self.store, &file.name, &wanted).await?;
        let source = match is_sorted {
            true => Source::Stream(batches),
            false => Source::Sorted(sorted(&mut batches, &offsets).await?),
        };
        Ok(Open {
            source,
            batch: None,
            row: 0,
            above: above.unwrap_or(-1),
            last: None,
            spans: self.spans(&footer).await?,
        })
    }

    async fn offsets(&self, file: &str) -> Result<Vec<i64>, ChainError> {
        let schema = RedactedBatch::schema();
        let wanted = Wanted {
            schema: &schema,
            must: &["offset"],
            may: &[],
        };
        let mut batches = Batches::open(self.store, file, &wanted).await?;
        let mut offsets = Vec::new();
        while let Some(batch) = batches.next().await? {
            offsets.extend_from_slice(batch["offset"].as_primitive::<Int64Type>().values());
        }
        Ok(offsets)
    }

    /// Records rows that are out of order, in the file or after earlier files. Returns whether the file's
    /// rows are in order.
    async fn look_at_order(&mut self, offsets: &[i64], above: Option<i64>) -> Result<bool, ChainError> {
        let mut order: Vec<i64> = offsets.to_vec();
        order.sort_unstable();
        let twice: Vec<i64> = order
            .windows(2)
            .filter(|two| two[0] == two[1])
            .map(|two| two[1])
            .collect();
        order.dedup();
        for &offset in order
            .iter()
            .filter(|&&offset| above.is_some_and(|above| offset <= above))
        {
            let is_there = self.is_in_a_file_before(offset).await?;
            self.disorders.push(match is_there {
                true => Disorder::Twice(offset),
                false => Disorder::Late(offset),
            });
        }
        let mut most = i64::MIN;
        for &offset in offsets {
            let is_new = above.is_none_or(|above| offset > above);
            if offset < most && is_new && twice.binary_search(&offset).is_err() {
                self.disorders.push(Disorder::Moved(offset));
            }
            most = most.max(offset);
        }
        let is_sorted = offsets.is_sorted();
        self.disorders.extend(twice.into_iter().map(Disorder::Twice));
        Ok(is_sorted)
    }

    async fn is_in_a_file_before(&self, offset: i64) -> Result<bool, ChainError> {
        for &(file, first, last) in &self.passed {
            if (first..=last).contains(&offset) && self.offsets(file).await?.contains(&offset) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the spans of a notes file's audit by offset; `None` if its audit file cannot be read.
    async fn spans(&mut self, footer: &Footer) -> Result<Option<BTreeMap<i64, Vec<Audited>>>, ChainError> {
        let Some(audit) = &footer.audit else {
            return Ok(Some(BTreeMap::new()));
        };
        match read_spans(self.store, audit).await {
            Ok(spans) => Ok(Some(spans)),
            Err(ChainError::Store(StoreError::NotFound(_)) | ChainError::Footer { .. }) => {
                self.unreadable.push(audit.clone());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

async fn read_spans(store: &dyn Store, audit: &str) -> Result<BTreeMap<i64, Vec<Audited>>, ChainError> {
    let schema = AuditBatch::schema();
    let wanted = Wanted {
        schema: &schema,
        must: &SPANS,
        may: &["path"],
    };
    let mut batches = Batches::open(store, audit, &wanted).await?;
    let mut spans: BTreeMap<i64, Vec<Audited>> = BTreeMap::new();
    while let Some(batch) = batches.next().await? {
        let numbers = |name: &str| batch[name].as_primitive::<UInt32Type>();
        let (start, end) = (numbers("start"), numbers("end"));
        let (out_start, out_end) = (numbers("out_start"), numbers("out_end"));
        let offsets = batch["offset"].as_primitive::<Int64Type>();
        let actions = batch["action"].as_string::<i32>();
        let paths = batch
            .column_by_name("path")
            .map(|column| column.as_string::<i32>());
        for row in 0..batch.num_rows() {
            // A field of a message has no position in the text.
            if paths.is_some_and(|paths| paths.is_valid(row)) {
                continue;
            }
            spans.entry(offsets.value(row)).or_default().push(Audited {
                span: (start.value(row), end.value(row)),
                out: (out_start.value(row), out_end.value(row)),
                may_stand: Audited::may_stand(actions.value(row)),
            });
        }
    }
    Ok(spans)
}

/// Returns the rows of a file sorted by these offsets, which belong to them.
async fn sorted(batches: &mut Batches<'_>, offsets: &[i64]) -> Result<Option<RecordBatch>, ChainError> {
    let mut all = Vec::new();
    while let Some(batch) = batches.next().await? {
        all.push(batch);
    }
    let Some(first) = all.first() else {
        return Ok(None);
    };
    let mut order: Vec<u32> = (0..offsets.len() as u32).collect();
    order.sort_by_key(|&row| offsets[row as usize]);
    let whole = concat_batches(&first.schema(), &all);
    let taken = whole.and_then(|whole| take_record_batch(&whole, &UInt32Array::from(order)));
    taken.map(Some).map_err(|_| ChainError::Footer {
        name: String::new(),
        why: "its rows cannot be sorted".into(),
    })
}

impl Open<'_> {
    /// Returns the next row whose offset was not returned before.
    async fn next(&mut self, chain: &ChainId) -> Result<Option<Row>, ChainError> {
        loop {
            let Some(batch) = self.batch.as_ref().filter(|batch| self.row < batch.num_rows()) else {
                self.row = 0;
                self.batch = match &mut self.source {
                    Source::Stream(batches) => batches.next().await?,
                    Source::Sorted(batch) => batch.take(),
                };
                if self.batch.is_none() {
                    return Ok(None);
                }
                continue;
            };
            let at = self.row;
            let offset = batch["offset"].as_primitive::<Int64Type>().value(at);
            if offset <= self.above || self.last == Some(offset) {
                self.row += 1;
                continue;
            }
            let text = |name: &str| {
                let column = batch.column_by_name(name)?.as_string::<i32>();
                column.is_valid(at).then(|| column.value(at).to_owned())
            };
            let partition = batch["partition"].as_primitive::<Int32Type>().value(at);
            let row = Row {
                offset,
                kind: text("row_kind").unwrap_or_default(),
                note_id: text("note_id"),
                text: text("text"),
                redactions: batch["redactions"].as_primitive::<UInt32Type>().value(at),
                is_foreign: text("topic").as_deref() != Some(&*chain.topic) || partition != chain.partition,
                spans: self
                    .spans
                    .as_mut()
                    .map(|spans| spans.remove(&offset).unwrap_or_default()),
            };
            self.row += 1;
            self.last = Some(offset);
            return Ok(Some(row));
        }
    }
}
