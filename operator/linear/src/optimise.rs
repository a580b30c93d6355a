//! Minimises a smooth function, with an optional L1 penalty: L-BFGS (Nocedal 1980) and OWL-QN (Andrew and Gao
//! 2007).

use crate::bytes::{Malformed, Reader, Writer};
use crate::kernel::dot;

/// A function to minimise.
pub(crate) trait Objective {
    /// Returns the value at `x` and writes the gradient, both without the L1 penalty.
    fn value(&mut self, x: &[f64], gradient: &mut [f64]) -> f64;
}

/// The stopping rule, and the penalty that the objective does not include.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The factor of the sum of absolute weights.
    pub(crate) l1: f64,
    /// The maximum number of steps.
    pub(crate) iterations: u32,
    /// Stops when the last [`WINDOW`] steps together gained less than this share of the value.
    pub(crate) least_gain: f64,
}

/// The steps over which the gain is measured.
const WINDOW: usize = 5;

/// The pairs of steps and gradients that are kept.
const MEMORY: usize = 6;

/// A minimisation in progress.
pub(crate) struct Minimiser {
    limits: Limits,
    /// The weights.
    pub(crate) x: Vec<f64>,
    gradient: Vec<f64>,
    /// The value with the penalty after each step, beginning with the one before any.
    values: Vec<f64>,
    /// Steps and changes of the gradient, oldest first. Single precision needs half the memory, and the line
    /// search checks the direction anyway.
    history: Vec<(Vec<f32>, Vec<f32>, f64)>,
}

impl Minimiser {
    pub(crate) fn new(limits: Limits, x: Vec<f64>) -> Self {
        Self {
            limits,
            gradient: vec![0.0; x.len()],
            x,
            values: Vec::new(),
            history: Vec::new(),
        }
    }

    /// Returns the steps so far.
    pub(crate) fn done(&self) -> u32 {
        self.values.len().saturating_sub(1) as u32
    }

    /// Returns the value with the penalty.
    pub(crate) fn value(&self) -> f64 {
        self.values.last().copied().unwrap_or(f64::INFINITY)
    }

    /// Takes one step. Returns `false` when none is left: the steps are used up, the gain is too small, or no
    /// direction leads down.
    pub(crate) fn step(&mut self, objective: &mut impl Objective) -> bool {
        if self.values.is_empty() {
            let smooth = objective.value(&self.x, &mut self.gradient);
            self.values.push(smooth + self.penalty(&self.x));
        }
        if self.done() >= self.limits.iterations || self.settled() {
            return false;
        }
        let slope = self.pseudo_gradient();
        let mut direction = self.direction(&slope);
        let mut down = dot(&direction, &slope);
        if down >= 0.0 {
            self.history.clear();
            direction = slope.iter().map(|s| -s).collect();
            down = -dot(&slope, &slope);
        }
        if down > -1e-12 {
            return false;
        }
        let first = self.history.is_empty();
        let mut length = if first {
            1.0 / dot(&direction, &direction).sqrt()
        } else {
            1.0
        };
        let now = self.value();
        let mut x = vec![0.0; self.x.len()];
        let mut gradient = vec![0.0; self.x.len()];
        for _ in 0..30 {
            self.move_along(&direction, &slope, length, &mut x);
            let value = objective.value(&x, &mut gradient) + self.penalty(&x);
            let gained: f64 = if self.limits.l1 > 0.0 {
                let moved: Vec<f64> = x.iter().zip(&self.x).map(|(new, old)| new - old).collect();
                dot(&slope, &moved)
            } else {
                length * down
            };
            if value <= now + 1e-4 * gained {
                self.remember(&x, &gradient);
                self.x = x;
                self.gradient = gradient;
                self.values.push(value);
                return true;
            }
            length *= 0.5;
        }
        false
    }

    fn settled(&self) -> bool {
        let n = self.values.len();
        n > WINDOW && {
            let (before, now) = (self.values[n - 1 - WINDOW], self.values[n - 1]);
            before - now < self.limits.least_gain * now.abs()
        }
    }

    fn penalty(&self, x: &[f64]) -> f64 {
        if self.limits.l1 > 0.0 {
            self.limits.l1 * x.iter().map(|w| w.abs()).sum::<f64>()
        } else {
            0.0
        }
    }

    /// Returns the pseudo-gradient (Andrew and Gao 2007, equation 4): the steepest direction that the kink at
    /// 0 allows.
    fn pseudo_gradient(&self) -> Vec<f64> {
        let l1 = self.limits.l1;
        let one = |(&x, &g): (&f64, &f64)| {
            if x > 0.0 {
                g + l1
            } else if x < 0.0 {
                g - l1
            } else if g + l1 < 0.0 {
                g + l1
            } else if g - l1 > 0.0 {
                g - l1
            } else {
                0.0
            }
        };
        self.x.iter().zip(&self.gradient).map(one).collect()
    }

    /// Returns the direction of L-BFGS by its two loops; with a penalty, components that point uphill are
    /// dropped.
    fn direction(&self, slope: &[f64]) -> Vec<f64> {
        let mut d: Vec<f64> = slope.iter().map(|s| -s).collect();
        let mut shares = vec![0.0; self.history.len()];
        for (share, (s, y, rho)) in shares.iter_mut().zip(&self.history).rev() {
            *share = rho * mixed_dot(&d, s);
            add_mixed(&mut d, -*share, y);
        }
        if let Some((_, y, rho)) = self.history.last() {
            let squares: f64 = y.iter().map(|&y| f64::from(y) * f64::from(y)).sum();
            let scale = 1.0 / (rho * squares);
            d.iter_mut().for_each(|d| *d *= scale);
        }
        for (share, (s, y, rho)) in shares.iter().zip(&self.history) {
            let back = rho * mixed_dot(&d, y);
            add_mixed(&mut d, share - back, s);
        }
        if self.limits.l1 > 0.0 {
            for (d, s) in d.iter_mut().zip(slope) {
                if *d * s >= 0.0 {
                    *d = 0.0;
                }
            }
        }
        d
    }

    /// Returns `x + length * direction`; with a penalty, components that cross 0 stop there.
    fn move_along(&self, direction: &[f64], slope: &[f64], length: f64, to: &mut [f64]) {
        for (((to, x), d), s) in to.iter_mut().zip(&self.x).zip(direction).zip(slope) {
            let moved = x + length * d;
            let orthant = if *x == 0.0 { -s } else { *x };
            *to = if self.limits.l1 > 0.0 && moved * orthant <= 0.0 {
                0.0
            } else {
                moved
            };
        }
    }

    fn remember(&mut self, x: &[f64], gradient: &[f64]) {
        let change = |new: &[f64], old: &[f64]| -> Vec<f32> {
            new.iter().zip(old).map(|(new, old)| (new - old) as f32).collect()
        };
        let (s, y) = (change(x, &self.x), change(gradient, &self.gradient));
        let product: f64 = s.iter().zip(&y).map(|(&s, &y)| f64::from(s) * f64::from(y)).sum();
        if product > 1e-10 {
            if self.history.len() == MEMORY {
                self.history.remove(0);
            }
            self.history.push((s, y, 1.0 / product));
        }
    }

    /// Saves everything that the next step depends on.
    pub(crate) fn save(&self, out: &mut Writer) {
        out.f64s(&self.x);
        out.f64s(&self.gradient);
        out.f64s(&self.values);
        out.u32(self.history.len() as u32);
        for (s, y, rho) in &self.history {
            out.sparse(s);
            out.sparse(y);
            out.f64(*rho);
        }
    }

    /// Restores a saved minimisation with as many weights as `self`.
    pub(crate) fn restore(&mut self, bytes: &mut Reader<'_>) -> Result<(), Malformed> {
        let n = self.x.len();
        let (x, gradient, values) = (bytes.f64s()?, bytes.f64s()?, bytes.f64s()?);
        let mut history = Vec::new();
        for _ in 0..bytes.u32()? {
            history.push((bytes.sparse()?, bytes.sparse()?, bytes.f64()?));
        }
        let fits = x.len() == n
            && gradient.len() == n
            && history.iter().all(|(s, y, _)| s.len() == n && y.len() == n);
        if !fits {
            return Err(Malformed);
        }
        (self.x, self.gradient, self.values, self.history) = (x, gradient, values, history);
        Ok(())
    }
}

fn mixed_dot(a: &[f64], b: &[f32]) -> f64 {
    let mut lanes = [0.0f64; 8];
    let (a_chunks, a_rest) = a.as_chunks::<8>();
    let (b_chunks, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for i in 0..8 {
            lanes[i] += a[i] * f64::from(b[i]);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, &b)| a * f64::from(b)).sum();
    lanes.iter().sum::<f64>() + rest
}

fn add_mixed(to: &mut [f64], by: f64, from: &[f32]) {
    for (t, &f) in to.iter_mut().zip(from) {
        *t += by * f64::from(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half the squared distance from a point, with each coordinate scaled separately.
    struct Bowl {
        at: Vec<f64>,
        stiff: Vec<f64>,
    }

    impl Objective for Bowl {
        fn value(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
            let mut value = 0.0;
            for (i, g) in gradient.iter_mut().enumerate() {
                let off = x[i] - self.at[i];
                *g = self.stiff[i] * off;
                value += 0.5 * self.stiff[i] * off * off;
            }
            value
        }
    }

    fn bowl() -> Bowl {
        let at: Vec<f64> = (0..40).map(|i| f64::from(i % 9) / 2.0 - 2.0).collect();
        let stiff = (0..40).map(|i| 1.0 + f64::from(i % 7)).collect();
        Bowl { at, stiff }
    }

    fn limits(l1: f64) -> Limits {
        Limits {
            l1,
            iterations: 200,
            least_gain: 1e-12,
        }
    }

    #[test]
    fn a_bowls_lowest_point_is_found_with_and_without_a_penalty() {
        for l1 in [0.0, 1.5] {
            let mut bowl = bowl();
            let mut search = Minimiser::new(limits(l1), vec![0.0; 40]);
            while search.step(&mut bowl) {}
            for i in 0..40 {
                // Soft thresholding: each coordinate falls short of the minimum by l1 divided by its
                // stiffness.
                let short = l1 / bowl.stiff[i];
                let exact = (bowl.at[i].abs() - short).max(0.0) * bowl.at[i].signum();
                assert!((search.x[i] - exact).abs() < 1e-4, "{i}: {} {exact}", search.x[i]);
                assert!(
                    exact != 0.0 || search.x[i] == 0.0,
                    "a penalised weight is exactly 0"
                );
            }
        }
    }

    #[test]
    fn a_search_that_was_saved_goes_on_to_the_same_bits() {
        let mut whole = Minimiser::new(limits(0.7), vec![0.0; 40]);
        let mut saved = Writer::default();
        for step in 0..12 {
            if step == 5 {
                whole.save(&mut saved);
            }
            whole.step(&mut bowl());
        }
        let mut resumed = Minimiser::new(limits(0.7), vec![0.0; 40]);
        resumed.restore(&mut Reader(&saved.0)).unwrap();
        for _ in 5..12 {
            resumed.step(&mut bowl());
        }
        assert!(
            whole
                .x
                .iter()
                .zip(&resumed.x)
                .all(|(a, b)| a.to_bits() == b.to_bits())
        );
        let mut other = Minimiser::new(limits(0.7), vec![0.0; 41]);
        assert!(other.restore(&mut Reader(&saved.0)).is_err());
    }
}
