//! The same line trained step by step: what training has not reached is no lack of linearity.

use straightedge_random::Random;

/// Longest training, in tenths of a power of ten.
pub(super) const LAST: u32 = 40;
const START: u32 = 10;
/// Standard deviation of each input: the second is small, and the output depends equally on both.
const DEVIATIONS: [f64; 2] = [1.0, 0.05];
const ROWS: usize = 500;
/// Distance to the solution's R² that counts as converged.
const NEAR: f64 = 0.01;

/// The current setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// Steps of training: ten to the power of these tenths.
    pub tenths: u32,
}

impl Default for Baseline {
    fn default() -> Self {
        Self { tenths: START }
    }
}

/// R² of the line after every number of steps, and in closed form.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// Steps, and R² after them.
    pub curve: Vec<(u32, f64)>,
    /// R² of the closed form.
    pub solved: f64,
}

impl Baseline {
    /// Steps of training.
    pub fn steps(self) -> u32 {
        10_f64.powf(f64::from(self.tenths) / 10.0).round() as u32
    }

    /// Full-batch gradient descent at the fastest stable rate.
    pub fn train() -> Training {
        let Moments { inputs: [a, b, c], outputs: [p, q], variance } = moments();
        let r2 = |[u, v]: [f64; 2]| {
            1.0 - (variance - 2.0 * (u * p + v * q) + u * u * a + 2.0 * u * v * b + v * v * c) / variance
        };
        let largest = (a + c) / 2.0 + ((a - c) / 2.0).hypot(b);
        let stops: Vec<_> = (0..=LAST).map(|tenths| Self { tenths }.steps()).collect();
        let mut curve = Vec::new();
        let mut weights = [0.0, 0.0];
        for step in 1..=stops[LAST as usize] {
            let [u, v] = weights;
            weights = [u + (p - a * u - b * v) / largest, v + (q - b * u - c * v) / largest];
            if stops.contains(&step) {
                curve.push((step, r2(weights)));
            }
        }
        let determinant = a * c - b * b;
        Training { curve, solved: r2([(p * c - q * b) / determinant, (q * a - p * b) / determinant]) }
    }

    /// R² as trained so far, and in closed form.
    pub fn scores(self, training: &Training) -> [f64; 2] {
        let steps = self.steps();
        let reached = training.curve.iter().rev().find(|(step, _)| *step <= steps);
        [reached.map_or(0.0, |(_, r2)| *r2), training.solved]
    }

    pub(super) fn shows(self) -> bool {
        let [trained, solved] = self.scores(&Self::train());
        solved - trained <= NEAR
    }
}

/// Second moments of centred synthetic rows: of the inputs xx, xz, zz, with the output, and of the output.
struct Moments {
    inputs: [f64; 3],
    outputs: [f64; 2],
    variance: f64,
}

fn moments() -> Moments {
    let mut random = Random::new(23);
    let rows: Vec<[f64; 3]> = (0..ROWS)
        .map(|_| {
            let [x, z] = DEVIATIONS.map(|deviation| deviation * random.nearly_normal());
            [x, z, x / DEVIATIONS[0] + z / DEVIATIONS[1] + 0.3 * random.nearly_normal()]
        })
        .collect();
    let mean = |at: usize| rows.iter().map(|row| row[at]).sum::<f64>() / ROWS as f64;
    let means = [mean(0), mean(1), mean(2)];
    let of = |i: usize, j: usize| {
        rows.iter().map(|row| (row[i] - means[i]) * (row[j] - means[j])).sum::<f64>() / ROWS as f64
    };
    Moments { inputs: [of(0, 0), of(0, 1), of(1, 1)], outputs: [of(0, 2), of(1, 2)], variance: of(2, 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_climbs_to_the_solution_and_is_far_below_it_for_long() {
        let training = Baseline::train();
        assert!(training.curve.windows(2).all(|pair| pair[1].1 >= pair[0].1 - 1e-12), "{training:?}");
        let [early, solved] = Baseline::default().scores(&training);
        // Two equal parts of variance 1 and noise of 0.09: 2/2.09 is explained, half of it by the large input.
        assert!((solved - 2.0 / 2.09).abs() < 0.02 && early < 0.6, "{early} {solved}");
        let [late, _] = Baseline { tenths: LAST }.scores(&training);
        assert!((solved - late).abs() < 1e-6, "{late}");
        assert_eq!(Baseline { tenths: 30 }.steps(), 1000);
    }
}
