//! From one input to many: the best map on its training rows and on held-out rows.

use straightedge_random::Random;

use super::dense::{CUT, Rows};

/// Number of inputs of the synthetic rows.
pub const INPUTS: usize = 24;
/// Numbers of training rows to choose from.
pub const ROWS: [usize; 3] = [30, 60, 480];
/// Number of held-out rows.
const HELD_OUT: usize = 600;
/// True weights of the output; all other inputs are irrelevant.
const TRUE_WEIGHTS: [f64; 4] = [1.0, 0.7, 0.5, 0.3];
/// Share common to all inputs, so that they correlate like a network's.
const COMMON: f64 = 0.5;
/// Scale of the noise in the output.
const NOISE: f64 = 1.6;

/// The current setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Many {
    /// Number of inputs the map may use.
    pub inputs: usize,
    /// Number of training rows, one of [`ROWS`].
    pub rows: usize,
}

impl Default for Many {
    fn default() -> Self {
        Self { inputs: 2, rows: ROWS[1] }
    }
}

/// R² of one map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// On the training rows.
    pub training: f64,
    /// On the held-out rows.
    pub held_out: f64,
}

impl Many {
    /// The scores of the best map for this setting.
    pub fn scores(self) -> Scores {
        fit(&synthetic(5, self.rows), &synthetic(2, HELD_OUT), self.inputs.clamp(1, INPUTS))
    }
}

/// The scores of the best maps with the first 1, 2 … inputs.
pub fn scores(rows: usize) -> Vec<Scores> {
    let (training, held_out) = (synthetic(5, rows), synthetic(2, HELD_OUT));
    (1..=INPUTS).map(|inputs| fit(&training, &held_out, inputs)).collect()
}

fn fit(training: &Rows, held_out: &Rows, inputs: usize) -> Scores {
    let (training, held_out) = (training.first_inputs(inputs), held_out.first_inputs(inputs));
    let map = training.fit(CUT);
    Scores { training: training.r2(&map), held_out: held_out.r2(&map) }
}

fn synthetic(seed: u64, rows: usize) -> Rows {
    let mut random = Random::new(seed);
    let mut all = Rows::default();
    for _ in 0..rows {
        let common = random.nearly_normal() * COMMON.sqrt();
        let own = (1.0 - COMMON).sqrt();
        let x: Vec<_> = (0..INPUTS).map(|_| common + own * random.nearly_normal()).collect();
        let explained: f64 = TRUE_WEIGHTS.iter().zip(&x).map(|(weight, x)| weight * x).sum();
        all.y.push(explained + NOISE * random.nearly_normal());
        all.x.push(x);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_inputs_never_do_worse_where_they_were_fitted_and_fail_elsewhere_with_few_rows() {
        let few = scores(ROWS[0]);
        assert!(few.windows(2).all(|pair| pair[1].training >= pair[0].training - 1e-12), "{few:?}");
        let last = few[INPUTS - 1];
        assert!(last.training > 0.9 && last.held_out < 0.0, "{last:?}");
    }

    #[test]
    fn with_many_rows_both_come_to_what_the_output_is_made_of() {
        // Var of the explained part: own Σw² + common (Σw)² with halves of each, over itself and the noise.
        let (squares, sum) = (1.83, 2.5_f64.powi(2));
        let explained = 0.5 * squares + 0.5 * sum;
        let limit = explained / (explained + NOISE * NOISE);
        let found = scores(ROWS[2])[3];
        assert_eq!(Many { inputs: 4, rows: ROWS[2] }.scores(), found);
        assert!((found.held_out - limit).abs() < 0.05, "{found:?} where {limit} is to be expected");
        assert!((found.training - limit).abs() < 0.05, "{found:?}");
    }
}
