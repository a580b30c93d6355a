//! A packed matrix for products from the left.

use super::isa::dispatch;
use super::tile::{Task, best, product};
use super::{Buffer, Isa};

/// Returns the number of columns of a packed matrix with `n` columns: a whole number of panels of four
/// vectors.
pub const fn columns(n: usize, isa: Isa) -> usize {
    n.next_multiple_of(4 * isa.lanes())
}

/// A matrix of `k` rows, in panels of four vectors of columns, each panel in row-major order.
///
/// Columns beyond the last are padding.
#[derive(Clone)]
pub struct Matrix {
    isa: Isa,
    k: usize,
    panels: usize,
    data: Buffer,
}

impl Matrix {
    /// Packs `k` rows of `n` columns, rounded up to whole panels; `fill(row, out)` writes a row, whose
    /// padding is zero.
    pub fn pack(isa: Isa, k: usize, n: usize, mut fill: impl FnMut(usize, &mut [f32])) -> Self {
        let width = 4 * isa.lanes();
        let panels = n.div_ceil(width);
        let mut data = Buffer::zeros(panels * k * width);
        let mut line = vec![0.0; panels * width];
        for row in 0..k {
            fill(row, &mut line);
            for (panel, part) in line.chunks_exact(width).enumerate() {
                data[(panel * k + row) * width..][..width].copy_from_slice(part);
            }
        }
        Self { isa, k, panels, data }
    }

    /// Packs a row-major matrix with `n` columns; the padding is `pad`.
    pub fn of_rows(isa: Isa, rows: &[f32], n: usize, pad: f32) -> Self {
        Self::pack(isa, rows.len() / n.max(1), n, |row, line| {
            line[..n].copy_from_slice(&rows[row * n..(row + 1) * n]);
            line[n..].fill(pad);
        })
    }

    /// Returns the number of columns, padding included.
    pub const fn width(&self) -> usize {
        self.panels * 4 * self.isa.lanes()
    }

    /// Returns the number of rows.
    pub const fn k(&self) -> usize {
        self.k
    }

    /// Returns the instruction set it is packed for.
    pub const fn isa(&self) -> Isa {
        self.isa
    }

    /// Computes `c += a M` for `rows` rows; `a`'s rows begin `a_stride` apart, `c`'s are [`Matrix::width`]
    /// long.
    ///
    /// # Panics
    /// If `a` or `c` is too short.
    pub fn product(&self, rows: usize, a: &[f32], a_stride: usize, c: &mut [f32]) {
        self.product_into(rows, a, a_stride, c, self.width());
    }

    /// Computes the same where the rows of `c` begin `c_stride` apart.
    ///
    /// # Panics
    /// As [`Matrix::product`], or if `c_stride` is less than [`Matrix::width`].
    pub fn product_into(&self, rows: usize, a: &[f32], a_stride: usize, c: &mut [f32], c_stride: usize) {
        if let Some(task) = self.task(rows, a, a_stride, c, c_stride) {
            // SAFETY: `task` checked the sizes; an `Isa` exists only where the processor has it.
            unsafe { dispatch!(self.isa, product(task: Task)) }
        }
    }

    /// Computes `c = bias + a M` for `rows` rows, each [`Matrix::width`] long, like `bias`.
    ///
    /// # Panics
    /// As [`Matrix::product`], or if `bias` is too short.
    fn product_from(&self, bias: &[f32], rows: usize, a: &[f32], a_stride: usize, c: &mut [f32]) {
        assert!(bias.len() >= self.width(), "the bias has one number per column");
        if let Some(mut task) = self.task(rows, a, a_stride, c, self.width()) {
            (task.first, task.first_stride) = (bias.as_ptr(), 0);
            // SAFETY: as in `product`; every row's sums begin with the one row of `bias`, which is long
            // enough.
            unsafe { dispatch!(self.isa, product(task: Task)) }
        }
    }

    /// Computes `c_j += max_k (a_k + M_kj)` for `rows` rows: a step of Viterbi.
    ///
    /// # Panics
    /// As [`Matrix::product`].
    pub fn best(&self, rows: usize, a: &[f32], a_stride: usize, c: &mut [f32]) {
        self.best_into(rows, a, a_stride, c, self.width());
    }

    /// Computes the same where the rows of `c` begin `c_stride` apart.
    ///
    /// # Panics
    /// As [`Matrix::product_into`].
    pub fn best_into(&self, rows: usize, a: &[f32], a_stride: usize, c: &mut [f32], c_stride: usize) {
        if let Some(task) = self.task(rows, a, a_stride, c, c_stride) {
            // SAFETY: as in `product_into`.
            unsafe { dispatch!(self.isa, best(task: Task)) }
        }
    }

    fn task(&self, rows: usize, a: &[f32], a_stride: usize, c: &mut [f32], c_stride: usize) -> Option<Task> {
        let last = rows.checked_sub(1)?;
        assert!(
            a.len() >= last * a_stride + self.k,
            "the left side has all its rows"
        );
        assert!(
            c_stride >= self.width() && c.len() >= last * c_stride + self.width(),
            "the product has room for all its rows"
        );
        Some(self.task_unchecked(rows, a.as_ptr(), a_stride, c.as_mut_ptr(), c_stride))
    }

    /// Returns the task without its checks, for [`super::lstm`], which makes its own.
    pub(super) fn task_unchecked(
        &self,
        rows: usize,
        a: *const f32,
        a_stride: usize,
        c: *mut f32,
        c_stride: usize,
    ) -> Task {
        Task {
            rows,
            k: self.k,
            a,
            a_stride,
            a_step: 1,
            b: self.data.as_ptr(),
            b_step: 4 * self.isa.lanes(),
            b_panel: 4 * self.isa.lanes() * self.k,
            panels: self.panels,
            first: c,
            first_stride: c_stride,
            c,
            c_stride,
        }
    }
}

/// A matrix with a bias: `a M + b`.
#[derive(Clone)]
pub struct Affine {
    matrix: Matrix,
    bias: Buffer,
}

impl Affine {
    /// Creates an affine map; columns without a number in `bias` have none.
    ///
    /// # Panics
    /// If `bias` has more numbers than the matrix has columns.
    pub fn new(matrix: Matrix, bias: &[f32]) -> Self {
        let mut padded = Buffer::zeros(matrix.width());
        padded[..bias.len()].copy_from_slice(bias);
        Self { matrix, bias: padded }
    }

    /// Returns the matrix.
    pub const fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// Overwrites `out` with `a M + b` for `rows` rows of `a`, `a_stride` apart: rows of [`Matrix::width`].
    ///
    /// # Panics
    /// If `a` is too short.
    pub fn apply(&self, rows: usize, a: &[f32], a_stride: usize, out: &mut Buffer) {
        out.reuse(rows * self.matrix.width());
        self.matrix.product_from(&self.bias, rows, a, a_stride, out);
    }

    /// Appends the result of [`Affine::apply`] to `out`.
    ///
    /// # Panics
    /// If `a` is too short.
    pub fn append(&self, rows: usize, a: &[f32], a_stride: usize, out: &mut Buffer) {
        let old = out.len();
        out.reuse(old + rows * self.matrix.width());
        self.matrix
            .product_from(&self.bias, rows, a, a_stride, &mut out[old..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;

    #[test]
    fn products_equal_plain_loops_on_every_instruction_set() {
        for isa in Isa::all() {
            for (rows, k, n) in [(1, 1, 1), (7, 13, 70), (6, 32, 64), (20, 5, 130)] {
                let (a, b) = (numbers(rows * k, 1), numbers(k * n, 2));
                let matrix = Matrix::of_rows(isa, &b, n, 0.0);
                let width = matrix.width();
                let mut sum = vec![0.5; rows * width];
                let mut max = vec![0.5; rows * width];
                matrix.product(rows, &a, k, &mut sum);
                matrix.best(rows, &a, k, &mut max);
                for i in 0..rows {
                    for j in 0..n {
                        let terms = (0..k).map(|p| (a[i * k + p], b[p * n + j]));
                        let plain: f32 = terms.clone().map(|(x, y)| x * y).sum();
                        let most = terms.map(|(x, y)| x + y).fold(f32::MIN, f32::max);
                        assert!((sum[i * width + j] - 0.5 - plain).abs() < 1e-5);
                        assert!((max[i * width + j] - 0.5 - most).abs() < 1e-6);
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_has_the_same_product_to_the_last_bit_whatever_other_rows_there_are() {
        for isa in Isa::all() {
            let (rows, k, n) = (17, 31, 40);
            let (a, b) = (numbers(rows * k, 3), numbers(k * n, 4));
            let matrix = Matrix::of_rows(isa, &b, n, 0.0);
            let width = matrix.width();
            let mut all = vec![0.0; rows * width];
            matrix.product(rows, &a, k, &mut all);
            for first in 0..rows {
                let mut one = vec![0.0; width];
                matrix.product(1, &a[first * k..], k, &mut one);
                assert_eq!(one, &all[first * width..][..width]);
            }
        }
    }

    #[test]
    #[should_panic(expected = "has all its rows")]
    fn too_short_a_left_side_is_refused() {
        let matrix = Matrix::of_rows(Isa::best(), &[1.0; 6], 2, 0.0);
        matrix.product(2, &[0.0; 5], 3, &mut vec![0.0; 2 * matrix.width()]);
    }
}
