//! The input of the words' LSTM: a row for each word type and for each context, computed when it first occurs.

use std::ops::Range;

use lethe_kernel::Buffer;

use super::{Above, Kept, Runner};
use crate::bilstm::Trace;
use crate::model::slot;
use crate::reader::Memory;
use crate::tape::Spelling;

impl Runner {
    /// Writes to `inputs` the input of the words' LSTM for some word types. Overwrites `trace`.
    fn read_types(&self, new: Range<usize>, memory: &Memory, trace: &mut Trace, inputs: &mut Buffer) {
        let (a, parts) = (&self.architecture, self.architecture.parts());
        let spelling = Spelling::new((new.start as u32..new.end as u32).collect(), memory);
        let width = self.char_lstm.gates_width();
        let gates = self.char_lstm.gates_of(spelling.bucket.rows(), trace);
        for (gates, chars) in gates.into_iter().zip(&self.chars) {
            for (gates, &c) in gates.chunks_exact_mut(width).zip(&spelling.chars) {
                gates.copy_from_slice(&chars[c as usize * width..][..width]);
            }
        }
        self.char_lstm.recur(&spelling.bucket, false, trace);
        inputs.reset(new.len() * a.inputs());
        for (i, &at) in spelling.types.iter().enumerate() {
            let kind = memory.types.get(at);
            let x = &mut inputs[(at as usize - new.start) * a.inputs()..][..a.inputs()];
            match &self.words {
                Some(words) => words.row(kind.word as usize, &mut x[..a.word]),
                None => x[..a.word].copy_from_slice(self.params.row(slot::WORD, kind.word as usize)),
            }
            for (direction, last) in spelling.last(i).into_iter().enumerate() {
                let from = last * self.char_lstm.width() + self.char_lstm.column(direction * a.char_hidden);
                x[parts[1] + direction * a.char_hidden..][..a.char_hidden]
                    .copy_from_slice(&trace.hidden[from..from + a.char_hidden]);
            }
            if a.cap > 0 {
                x[parts[2]..parts[3]].copy_from_slice(self.params.row(slot::CAP, usize::from(kind.cap)));
            }
            if a.lexical > 0 {
                x[parts[3]..parts[4]].copy_from_slice(self.params.row(slot::SHAPE, usize::from(kind.shape)));
            }
        }
    }

    /// Writes to `inputs` the input of the words' LSTM for some contexts.
    fn read_contexts(&self, new: Range<usize>, memory: &Memory, inputs: &mut Buffer) {
        let (a, parts) = (&self.architecture, self.architecture.parts());
        inputs.reset(new.len() * a.inputs());
        for (at, x) in new.zip(inputs.chunks_exact_mut(a.inputs())) {
            for &row in memory.contexts.rows(at as u32) {
                let (table, row, part) = self.tables.of(row);
                let to = x[parts[part]..parts[part + 1]].iter_mut();
                to.zip(self.params.row(table, row)).for_each(|(x, v)| *x += v);
            }
        }
    }

    /// Computes the rows of new word types and contexts, and returns their number.
    pub(super) fn new_rows(&self, kept: &mut Kept) -> usize {
        let Kept {
            memory,
            types,
            contexts,
            short_types,
            short_contexts,
            inputs,
            trace,
            ..
        } = kept;
        let stride = self.architecture.inputs();
        let mut computed = 0;
        let (all_types, all_contexts) = (memory.types.len(), memory.contexts.len());
        let mut of_types = |new: Range<usize>, out: [&mut Buffer; 2]| {
            computed += new.len();
            self.read_types(new.clone(), memory, trace, inputs);
            self.word_lstm.project(new.len(), inputs, stride, true, out);
        };
        match self.above {
            Above::Rounded(_) => short_types.grow(self.isa, all_types, &mut of_types),
            Above::Single { .. } => types.grow(all_types, &mut of_types),
        }
        let mut of_contexts = |new: Range<usize>, out: [&mut Buffer; 2]| {
            computed += new.len();
            self.read_contexts(new.clone(), memory, inputs);
            self.word_lstm.project(new.len(), inputs, stride, false, out);
        };
        match self.above {
            Above::Rounded(_) => short_contexts.grow(self.isa, all_contexts, &mut of_contexts),
            Above::Single { .. } => contexts.grow(all_contexts, &mut of_contexts),
        }
        computed
    }
}
