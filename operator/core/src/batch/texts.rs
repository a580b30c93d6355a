//! The columns of texts, tokens and sentences under construction.

use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, StringBuilder, UInt32Builder};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StructArray, UInt8Array, UInt32Array};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field};

use super::{BatchError, NoteBatch, Tokens, column, token_fields};
use crate::{count_tokens, sentence_ends, tokenize};

/// Texts of at least this many bytes have their tokens counted before they are stored.
const LONG: usize = 1 << 20;

/// Texts, their tokens, and the ends of their sentences.
#[derive(Default)]
pub(super) struct Texts {
    text: StringBuilder,
    bytes: usize,
    starts: Vec<u32>,
    ends: Vec<u32>,
    kinds: Vec<u8>,
    token_offsets: Vec<i32>,
    sentences: UInt32Builder,
    sentence_offsets: Vec<i32>,
}

impl Texts {
    /// Checks that a text of this length fits.
    ///
    /// # Errors
    /// If the texts together would pass 2 GiB.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<(), ArrowError> {
        self.bytes += bytes;
        if self.bytes > i32::MAX as usize {
            return Err(ArrowError::InvalidArgumentError(
                "the texts of a batch pass 2 GiB".into(),
            ));
        }
        Ok(())
    }

    /// Adds the text of one row, which has been reserved, or a row without text.
    pub(super) fn push(&mut self, text: Option<&str>) {
        self.text.append_option(text);
        let first = self.starts.len();
        self.token_offsets.push(first as i32);
        let text = text.unwrap_or_default();
        self.push_tokens(text);
        self.sentence_offsets.push(self.sentences.len() as i32);
        let tokens = Tokens {
            starts: &self.starts[first..],
            ends: &self.ends[first..],
            kinds: &self.kinds[first..],
        };
        let sentences = &mut self.sentences;
        sentence_ends(text, tokens, |end| sentences.append_value(end));
    }

    /// Adds the tokens of a text.
    fn push_tokens(&mut self, text: &str) {
        if text.len() > LONG {
            // Tables that double as they grow would take three times the memory of their contents.
            let tokens = count_tokens(text, usize::MAX);
            self.starts.reserve(tokens);
            self.ends.reserve(tokens);
            self.kinds.reserve(tokens);
        }
        tokenize(text, |token| {
            self.starts.push(token.span.start() as u32);
            self.ends.push(token.span.end() as u32);
            self.kinds.push(token.kind as u8);
        });
    }

    /// Returns the columns `text`, `tokens` and `sentence_ends`.
    pub(super) fn finish(mut self) -> Result<[ArrayRef; 3], ArrowError> {
        let tokens = StructArray::try_new(
            token_fields(),
            vec![
                Arc::new(UInt32Array::from(self.starts)) as ArrayRef,
                Arc::new(UInt32Array::from(self.ends)),
                Arc::new(UInt8Array::from(self.kinds)),
            ],
            None,
        )?;
        Ok([
            Arc::new(self.text.finish()),
            list(self.token_offsets, Arc::new(tokens))?,
            list(self.sentence_offsets, Arc::new(self.sentences.finish()))?,
        ])
    }
}

impl NoteBatch {
    /// Returns the batch with these texts, one for each row, for a second reading of them. Of their messages only
    /// the columns are kept.
    ///
    /// # Errors
    /// As [`NoteBatch::from_records`].
    pub(crate) fn with_texts<'a>(
        &self,
        texts: impl IntoIterator<Item = Option<&'a str>>,
    ) -> Result<Self, BatchError> {
        let mut columns = Texts::default();
        for text in texts {
            columns.reserve(text.map_or(0, str::len))?;
            columns.push(text);
        }
        let mut all = self.record.columns().to_vec();
        for (place, column) in [column::TEXT, column::TOKENS, column::SENTENCE_ENDS]
            .into_iter()
            .zip(columns.finish()?)
        {
            all[place] = column;
        }
        Ok(Self {
            column: self.column.clone(),
            pace: self.pace.clone(),
            ..Self::of(RecordBatch::try_new(self.record.schema(), all)?)
        })
    }
}

/// Returns a column of lists, from where each begins.
pub(super) fn list(mut offsets: Vec<i32>, values: ArrayRef) -> Result<ArrayRef, ArrowError> {
    offsets.push(values.len() as i32);
    let field = Arc::new(Field::new("item", values.data_type().clone(), false));
    Ok(Arc::new(ListArray::try_new(
        field,
        OffsetBuffer::new(ScalarBuffer::from(offsets)),
        values,
        None,
    )?))
}
