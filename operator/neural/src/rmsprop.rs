//! The optimiser of the stacked network: RMSProp (Tieleman and Hinton 2012, lecture 6.5).

use crate::model::Params;

/// The share of the old mean that is kept at each step.
const KEPT: f32 = 0.9;
const EPSILON: f32 = 1e-7;

/// Running means of gradients' squares.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RmsProp {
    square: Params,
}

impl RmsProp {
    /// Creates an optimiser without history.
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            square: params.zeros_like(),
        }
    }

    /// Takes a step of `rate`: gradients are scaled by `scale`, then so that their norm is at most `clip`,
    /// and each is divided by the root of its running mean square; they are zeroed for the next step.
    pub(crate) fn step(&mut self, params: &mut Params, grads: &mut Params, rate: f32, scale: f32, clip: f32) {
        let sum: f64 = grads
            .0
            .iter()
            .flat_map(|tensor| tensor.data.chunks(1024))
            .map(|part| f64::from(part.iter().map(|g| g * g).sum::<f32>()))
            .sum();
        let norm = sum.sqrt() as f32 * scale;
        let scale = if norm > clip { scale * clip / norm } else { scale };
        let tensors = params.0.iter_mut().zip(&mut grads.0).zip(&mut self.square.0);
        for ((params, grads), squares) in tensors {
            let numbers = params.data.iter_mut().zip(&mut grads.data).zip(&mut squares.data);
            for ((p, g), v) in numbers {
                let d = *g * scale;
                *g = 0.0;
                *v = KEPT * *v + (1.0 - KEPT) * d * d;
                *p -= rate * d / (v.sqrt() + EPSILON);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Tensor;

    fn params(data: &[f32]) -> Params {
        Params(vec![Tensor {
            name: "x",
            rows: 1,
            columns: data.len(),
            data: data.to_vec(),
        }])
    }

    #[test]
    fn a_step_divides_each_gradient_by_the_root_of_its_mean_square() {
        let (mut x, mut g) = (params(&[1.0, 1.0, 1.0]), params(&[4.0, -0.5, 0.0]));
        let mut rms = RmsProp::new(&x);
        rms.step(&mut x, &mut g, 0.01, 1.0, f32::MAX);
        // The first mean is a tenth of the square: every step is rate / sqrt(0.1), whatever the size of the
        // gradient.
        let first = 0.01 / 0.1_f32.sqrt();
        let expected = [1.0 - first, 1.0 + first, 1.0];
        for (found, expected) in x.get(0).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        assert_eq!(g, params(&[0.0; 3]));
        // Then the means move: 0.9 of the old, 0.1 of the new square.
        let mut g = params(&[2.0, 0.0, 1.0]);
        let before = x.get(0)[0];
        rms.step(&mut x, &mut g, 0.01, 1.0, f32::MAX);
        let expected = before - 0.01 * 2.0 / (0.9 * 1.6 + 0.1 * 4.0_f32).sqrt();
        assert!((x.get(0)[0] - expected).abs() < 1e-6);
    }

    #[test]
    fn gradients_are_scaled_and_held_to_a_norm() {
        // Norm 5, scaled to 10, clipped to 1: the means of squares show the result.
        let (mut x, mut g) = (params(&[0.0, 0.0]), params(&[3.0, 4.0]));
        let mut rms = RmsProp::new(&x);
        rms.step(&mut x, &mut g, 0.1, 2.0, 1.0);
        let seen: Vec<f32> = rms
            .square
            .get(0)
            .iter()
            .map(|v| (v / (1.0 - KEPT)).sqrt())
            .collect();
        assert!((seen[0] - 0.6).abs() < 1e-6 && (seen[1] - 0.8).abs() < 1e-6);
    }

    #[test]
    fn a_bowl_is_walked_to_its_bottom() {
        let mut x = params(&[3.0, -2.0]);
        let mut rms = RmsProp::new(&x);
        for _ in 0..2000 {
            let slopes: Vec<f32> = x.get(0).iter().zip([1.0, 50.0]).map(|(x, k)| k * x).collect();
            rms.step(&mut x, &mut params(&slopes), 0.005, 1.0, f32::MAX);
        }
        assert!(x.get(0).iter().all(|x| x.abs() < 0.02), "{:?}", x.get(0));
    }
}
