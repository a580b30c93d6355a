//! One time step of an LSTM over a bucket of sequences, forward and backward (Hochreiter and Schmidhuber
//! 1997, with the forget gate of Gers 2000): product, gates and cells in one pass over registers.

use super::isa::dispatch;
use super::tile::{BackTask, StepTask, back, step as step_tile};
use super::{Isa, Matrix};

/// The layout of an LSTM's gates: a panel holds the input, forget, update and output gate of one vector of
/// units.
#[derive(Clone, Copy, Debug)]
pub struct Gates {
    /// Units.
    pub hidden: usize,
    /// The instruction set.
    pub isa: Isa,
}

impl Gates {
    /// Returns the number of units, padded to whole vectors; padded ones are always 0.
    pub const fn padded(self) -> usize {
        self.hidden.next_multiple_of(self.isa.lanes())
    }

    /// Returns the columns of the gates of one row.
    pub const fn width(self) -> usize {
        4 * self.padded()
    }

    /// Returns the runs of columns that are contiguous in a plain row of four times `hidden` numbers, grouped
    /// by gate: the start of each there, its start in the gates, and its length. Other columns are padding.
    pub fn runs(self) -> impl Iterator<Item = (usize, usize, usize)> {
        let (lanes, hidden) = (self.isa.lanes(), self.hidden);
        (0..self.padded() / lanes).flat_map(move |panel| {
            let unit = panel * lanes;
            let len = lanes.min(hidden - unit);
            (0..4).map(move |gate| (gate * hidden + unit, (4 * panel + gate) * lanes, len))
        })
    }

    /// Copies a plain row into the gates' order.
    pub fn gather(self, plain: &[f32], out: &mut [f32]) {
        for (from, to, len) in self.runs() {
            out[to..to + len].copy_from_slice(&plain[from..from + len]);
        }
    }

    /// Adds a row in the gates' order to a plain one.
    pub fn add_to_plain(self, gates: &[f32], plain: &mut [f32]) {
        for (to, from, len) in self.runs() {
            let both = plain[to..to + len].iter_mut().zip(&gates[from..from + len]);
            both.for_each(|(to, from)| *to += from);
        }
    }
}

/// The inputs and outputs of a step. Rows of `hidden` and `cells` are tokens in time-major order.
pub struct Step<'a> {
    /// Sequences that have this step.
    pub rows: usize,
    /// The first row of the previous step; `None` at the sequences' beginning.
    pub from: Option<usize>,
    /// The first row of this step.
    pub to: usize,
    /// Hidden states; a row has `stride` numbers, this direction's begin at `column`.
    pub hidden: &'a mut [f32],
    /// The length of a row of `hidden`.
    pub stride: usize,
    /// The first column of this direction in a row of `hidden`.
    pub column: usize,
    /// The cells, [`Gates::padded`] per row.
    pub cells: &'a mut [f32],
    /// The gates' input, [`Gates::width`] per row.
    pub gates: &'a mut [f32],
    /// The first row of this step in `gates`.
    pub gates_at: usize,
    /// Whether to leave the gates in `gates`, for [`back_step`].
    pub keep: bool,
}

/// Returns whether rows `from..from + rows` and `to..to + rows` do not overlap.
const fn apart(from: usize, to: usize, rows: usize) -> bool {
    from + rows <= to || to + rows <= from
}

/// Takes a step forward. `recurrent` is `hidden` rows by [`Gates::width`] columns.
///
/// # Panics
/// If a slice is too short for its rows or the two steps' rows overlap.
pub fn step(gates: Gates, recurrent: &Matrix, s: Step<'_>) {
    if s.rows == 0 {
        return;
    }
    let (padded, width) = (gates.padded(), gates.width());
    let last = s.to.max(s.from.unwrap_or(0)) + s.rows;
    assert!(
        s.column + padded <= s.stride
            && s.hidden.len() >= last * s.stride
            && s.cells.len() >= last * padded
            && s.gates.len() >= (s.gates_at + s.rows) * width
            && recurrent.width() == width
            && recurrent.k() == gates.hidden
            && recurrent.isa() == gates.isa
            && s.from.is_none_or(|from| apart(from, s.to, s.rows)),
        "a step's rows lie in its slices"
    );
    let (hidden, cells) = (s.hidden.as_mut_ptr(), s.cells.as_mut_ptr());
    // SAFETY: every offset lies in its slice by the assertion above.
    let task = unsafe {
        let before = s.from.unwrap_or(s.to);
        let mut task = recurrent.task_unchecked(
            s.rows,
            hidden.add(before * s.stride + s.column),
            s.stride,
            s.gates.as_mut_ptr().add(s.gates_at * width),
            width,
        );
        if s.from.is_none() {
            // There is no previous step: a product over no terms.
            task.k = 0;
        }
        StepTask {
            task,
            keep: s.keep,
            cells_before: s
                .from
                .map_or(std::ptr::null(), |from| cells.add(from * padded).cast_const()),
            cells: cells.add(s.to * padded),
            cells_stride: padded,
            hidden: hidden.add(s.to * s.stride + s.column),
            hidden_stride: s.stride,
        }
    };
    // SAFETY: the rows read (`from`) and written (`to`) are apart and in bounds; an `Isa` exists only where
    // the processor has it. With `k` = 0 no weight is read.
    unsafe { dispatch!(gates.isa, step_tile(task: StepTask)) }
}

/// The inputs and outputs of a backward step.
pub struct Back<'a> {
    /// Sequences that have this step.
    pub rows: usize,
    /// The first row of the previous step in the direction of reading; `None` at the beginning.
    pub from: Option<usize>,
    /// The first row of this step.
    pub to: usize,
    /// The gradient of the hidden states; a row has `stride` numbers, this direction's begin at `column`.
    pub above: &'a [f32],
    /// The length of a row of `above`.
    pub stride: usize,
    /// The first column of this direction in a row of `above`.
    pub column: usize,
    /// The gradient of the hidden states from the next step; a row has `after_stride` numbers.
    pub after: &'a [f32],
    /// The length of a row of `after`.
    pub after_stride: usize,
    /// The cells, [`Gates::padded`] per row.
    pub cells: &'a [f32],
    /// The gradient of the cells from the next step, [`Gates::padded`] per row; becomes that for the previous
    /// step.
    pub d_cells: &'a mut [f32],
    /// The gates; they become the gradient of their input.
    pub gates: &'a mut [f32],
}

/// Takes a step backward through gates and cells.
///
/// # Panics
/// If a slice is too short for its rows.
pub fn back_step(gates: Gates, b: Back<'_>) {
    if b.rows == 0 {
        return;
    }
    let (padded, width) = (gates.padded(), gates.width());
    let last = b.to.max(b.from.unwrap_or(0)) + b.rows;
    assert!(
        b.column + padded <= b.stride
            && padded <= b.after_stride
            && b.above.len() >= (b.to + b.rows) * b.stride
            && b.after.len() >= b.rows * b.after_stride
            && b.cells.len() >= last * padded
            && b.d_cells.len() >= b.rows * padded
            && b.gates.len() >= (b.to + b.rows) * width,
        "a backward step's rows lie in its slices"
    );
    // SAFETY: every offset lies in its slice by the assertion above.
    let task = unsafe {
        BackTask {
            rows: b.rows,
            panels: padded / gates.isa.lanes(),
            gates: b.gates.as_mut_ptr().add(b.to * width),
            gates_stride: width,
            cells_before: b
                .from
                .map_or(std::ptr::null(), |from| b.cells.as_ptr().add(from * padded)),
            cells: b.cells.as_ptr().add(b.to * padded),
            cells_stride: padded,
            above: b.above.as_ptr().add(b.to * b.stride + b.column),
            above_stride: b.stride,
            after: b.after.as_ptr(),
            after_stride: b.after_stride,
            d_cells: b.d_cells.as_mut_ptr(),
        }
    };
    // SAFETY: what is written (`gates`, `d_cells`) is borrowed mutably and so apart from all that is read;
    // bounds are checked above; an `Isa` exists only where the processor has it.
    unsafe { dispatch!(gates.isa, back(task: BackTask)) }
}
