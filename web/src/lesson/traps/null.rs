//! Inputs behind a LayerNorm: their sum is fixed, so one direction holds only rounding errors, and a fit that keeps it
//! divides by them.

use straightedge_random::Random;

use super::super::dense::{CUT, Map, Rows};

/// Width of the normalised rows.
const WIDTH: usize = 4;
const ROWS: usize = 800;
const HELD_OUT: usize = 160;
const SEED: u64 = 7;
/// The norm's scale per feature.
const GAMMA: [f32; WIDTH] = [0.7, 1.3, 0.9, 1.6];

/// The current setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Null {
    /// Whether the fit keeps every direction, however small.
    pub keeps_all: bool,
}

impl Null {
    /// The least-squares map, and its held-out R².
    pub fn fit(self) -> (Map, f64) {
        self.fit_to(&synthetic(SEED))
    }

    fn fit_to(self, rows: &Rows) -> (Map, f64) {
        let map = rows.only(|at| at < ROWS - HELD_OUT).fit(if self.keeps_all { 0.0 } else { CUT });
        let r2 = rows.only(|at| at >= ROWS - HELD_OUT).r2(&map);
        (map, r2)
    }

    /// The change of held-out R² when every direction is kept.
    pub fn change() -> f64 {
        Self::change_for(SEED)
    }

    fn change_for(seed: u64) -> f64 {
        let rows = synthetic(seed);
        let [cut, kept] = [false, true].map(|keeps_all| Self { keeps_all }.fit_to(&rows).1);
        kept - cut
    }

    pub(super) fn shows(self) -> bool {
        self.keeps_all
    }
}

/// Synthetic rows, normalised in f32 as in a network.
fn synthetic(seed: u64) -> Rows {
    let mut random = Random::new(seed);
    let mut rows = Rows::default();
    for _ in 0..ROWS {
        let stream: Vec<f32> = (0..WIDTH).map(|_| random.nearly_normal() as f32 * 3.0 + 1.0).collect();
        let x: Vec<f64> = normalised(&stream).into_iter().map(f64::from).collect();
        rows.y.push(0.8 * x[0] - 0.5 * x[2] + 0.4 * random.nearly_normal());
        rows.x.push(x);
    }
    rows
}

/// LayerNorm in f32, as in the networks.
fn normalised(stream: &[f32]) -> Vec<f32> {
    let count = stream.len() as f32;
    let mean = stream.iter().sum::<f32>() / count;
    let variance = stream.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count;
    let scale = 1.0 / (variance + 1e-5).sqrt();
    stream.iter().zip(GAMMA).map(|(value, gamma)| (value - mean) * scale * gamma).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_direction_is_empty_and_keeping_it_blows_the_weights_up() {
        let (cut, r2) = Null::default().fit();
        assert_eq!(cut.rank, WIDTH - 1);
        assert!(cut.eigenvalues[WIDTH - 1].abs() < 1e-12 && cut.condition() < 100.0, "{cut:?}");
        let (kept, kept_r2) = Null { keeps_all: true }.fit();
        assert_eq!(kept.rank, WIDTH);
        assert!(kept.condition() > 1e12, "{kept:?}");
        assert!(kept.largest_weight() > 1000.0 * cut.largest_weight(), "{kept:?}");
        assert!(r2 > 0.6 && (r2 - kept_r2).abs() < 0.02, "{r2} {kept_r2}");
    }

    #[test]
    fn the_change_of_r2_is_as_small_as_the_lesson_says_and_goes_either_way() {
        assert_eq!(format!("{:.4}", Null::change()), "0.0005");
        let changes: Vec<f64> = (1..30).map(Null::change_for).collect();
        assert!(changes.iter().all(|change| change.abs() < 0.005), "{changes:?}");
        let up = changes.iter().filter(|change| **change > 0.0).count();
        assert!(up > 5 && changes.len() - up > 5, "{changes:?}");
    }
}
