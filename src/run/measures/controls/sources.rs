//! Synthetic and matched inputs for the controls.

use crate::backend::{Backend, Shape};
use crate::error::Result;
use crate::platform::random::Random;
use crate::run::sweep::{Batch, RowStore, StoredRows};
use crate::solve::{InputColumns, InputDistribution};

/// (x − centre) ⊙ scale, which sets every column's mean and variance.
pub(super) struct MomentMatch<T> {
    centre: T,
    scale: T,
}

impl<T> MomentMatch<T> {
    /// Maps columns distributed as `from` to the means and variances of `to`.
    pub(super) fn upload<B: Backend<Tensor = T>>(backend: &B, from: &InputColumns, to: &InputColumns) -> Result<Self> {
        let (centre, scale): (Vec<f32>, Vec<f32>) = (0..to.mean.len()).map(|j| match_column(from, to, j)).unzip();
        let shape = Shape::new(1, centre.len());
        Ok(Self {
            centre: backend.upload("match centre", shape, &centre)?,
            scale: backend.upload("match scale", shape, &scale)?,
        })
    }

    /// Applies it to the rows of x.
    pub(super) fn apply<B: Backend<Tensor = T>>(&self, backend: &B, x: &T) -> Result<T> {
        backend.standardise(x, &self.centre, &self.scale)
    }
}

/// Centre and scale of column j: (x − μ_from)·s + μ_to = (x − (μ_from − μ_to/s))·s.
///
/// A single step, so that equal distributions change no bit. A column that is constant in `from` is only shifted; one
/// that is constant in `to` becomes constant to f32 precision.
fn match_column(from: &InputColumns, to: &InputColumns, j: usize) -> (f32, f32) {
    let scale = match (from.deviation[j] > 0.0, to.deviation[j] > 0.0) {
        (false, _) => 1.0,
        (true, true) => to.deviation[j] / from.deviation[j],
        (true, false) => to.resolution[j] / from.deviation[j],
    };
    let centre = if scale > 0.0 { from.mean[j] - to.mean[j] / scale } else { from.mean[j] };
    (centre as f32, scale as f32)
}

/// Normal numbers for every row of a text, drawn once: blocks are evaluated separately, so all may share them.
pub(super) struct NormalRows<T>(Vec<StoredRows<T>>);

/// Separates this use of the seed from others.
const PURPOSE: u64 = u64::from_be_bytes(*b"gaussian");

impl<T: Clone + 'static> NormalRows<T> {
    /// `width` numbers for every row, independent of how windows are divided into batches.
    pub(super) async fn draw<B: Backend<Tensor = T>>(
        backend: &B,
        store: &RowStore<'_, B>,
        batches: &[Batch],
        (width, seq_len, seed): (usize, usize, u64),
    ) -> Result<Self> {
        let of_window = |window: usize| {
            let mut random = Random::stream(seed, &[PURPOSE, window as u64]);
            (0..seq_len * width).map(move |_| random.normal() as f32)
        };
        let mut kept = Vec::with_capacity(batches.len());
        for batch in batches {
            let numbers: Vec<f32> = batch.windows.clone().flat_map(of_window).collect();
            let shape = Shape::new(batch.windows.len() * seq_len, width);
            kept.push(store.keep(backend.upload("gaussian numbers", shape, &numbers)?).await?);
        }
        Ok(Self(kept))
    }

    /// The numbers by batch.
    pub(super) fn batches(&self) -> &[StoredRows<T>] {
        &self.0
    }
}

/// N(x̄, Cov(x)) as x = F·z + x̄.
pub(super) struct GaussianInputs<T> {
    /// F, `(width, width)`.
    factor: T,
    /// `(1, width)`.
    mean: T,
}

impl<T> GaussianInputs<T> {
    /// Copies a distribution to the device.
    pub(super) fn upload<B: Backend<Tensor = T>>(backend: &B, law: &InputDistribution) -> Result<Self> {
        let d = law.columns.mean.len();
        let factor: Vec<f32> = law.factor.iter().map(|&value| value as f32).collect();
        let mean: Vec<f32> = law.columns.mean.iter().map(|&mean| mean as f32).collect();
        Ok(Self {
            factor: backend.upload("gaussian factor", Shape::new(d, d), &factor)?,
            mean: backend.upload("gaussian mean", Shape::new(1, d), &mean)?,
        })
    }

    /// Maps rows of normal numbers z to rows of x.
    pub(super) fn rows<B: Backend<Tensor = T>>(&self, backend: &B, z: &T) -> Result<T> {
        backend.linear(z, &self.factor, Some(&self.mean))
    }
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;
    use crate::backend::cpu::CpuBackend;
    use crate::workers::sums::HalfFold;

    #[test]
    fn gaussian_rows_have_the_mean_and_covariance_asked_for() {
        // Cov = F·Fᵀ = [[4, 2, 0], [2, 10, 0], [0, 0, 0]].
        let columns = InputColumns {
            mean: vec![5.0, -1.0, 3.0],
            deviation: vec![2.0, 10f64.sqrt(), 0.0],
            resolution: vec![0.0; 3],
        };
        let law = InputDistribution { columns, factor: vec![2.0, 0.0, 0.0, 1.0, 3.0, 0.0, 0.0, 0.0, 0.0] };
        let rows = |seed: u64, windows: std::ops::Range<usize>| {
            let backend = CpuBackend::new();
            let (store, law) =
                (RowStore::new(&backend, None, None), GaussianInputs::upload(&backend, &law).expect("a law"));
            let batches = [Batch { part: Some(HalfFold { fold: 0, half: 0 }), evaluated: false, windows }];
            let normals = block_on(NormalRows::draw(&backend, &store, &batches, (3, 50, seed))).expect("numbers");
            let z = store.tensor(&normals.batches()[0]).expect("numbers");
            block_on(backend.read(&law.rows(&backend, &z).expect("rows"))).expect("values")
        };
        let found = rows(0, 0..400);
        assert_eq!(found.len(), 20_000 * 3);
        let n = 20_000.0;
        let mean = |j: usize| found.chunks_exact(3).map(|row| f64::from(row[j])).sum::<f64>() / n;
        for (i, j, expected) in [(0, 0, 4.0), (0, 1, 2.0), (1, 1, 10.0), (0, 2, 0.0), (2, 2, 0.0)] {
            let means = [mean(i), mean(j)];
            let centred = |row: &[f32]| (f64::from(row[i]) - means[0]) * (f64::from(row[j]) - means[1]);
            let covariance = found.chunks_exact(3).map(centred).sum::<f64>() / n;
            // Five standard errors of a sample covariance at most: √((σᵢ²σⱼ² + σᵢⱼ²)/n).
            assert!((covariance - expected).abs() <= 5.0 * (200.0f64 / n).sqrt(), "({i}, {j}): {covariance}");
        }
        for (j, expected) in [5.0, -1.0, 3.0].into_iter().enumerate() {
            assert!((mean(j) - expected).abs() <= 5.0 * (10.0f64 / n).sqrt(), "{j}: {}", mean(j));
        }
        assert_eq!(found[..50 * 3 * 10], rows(0, 0..10), "windows are drawn one by one");
        assert_eq!(found[50 * 3 * 10..50 * 3 * 12], rows(0, 10..12), "wherever a batch begins");
        assert_ne!(rows(1, 0..10), rows(0, 0..10));
    }

    #[test]
    fn matching_gives_the_other_mean_and_deviation_and_leaves_equals_alone() {
        let columns = |mean: [f64; 4], deviation: [f64; 4], resolution: [f64; 4]| InputColumns {
            mean: mean.into(),
            deviation: deviation.into(),
            resolution: resolution.into(),
        };
        let from = columns([10.0, 0.0, 2.0, 1.0], [2.0, 1.0, 0.0, 1.0], [1e-5; 4]);
        let to = columns([-3.0, 5.0, 7.0, 0.0], [0.5, 0.0, 3.0, 0.0], [1e-6, 1e-6, 1e-6, 0.0]);
        let matched = |x: f64, j: usize| {
            let (centre, scale) = match_column(&from, &to, j);
            (x - f64::from(centre)) * f64::from(scale)
        };
        assert!((matched(10.0, 0) + 3.0).abs() < 1e-5 && (matched(12.0, 0) + 2.5).abs() < 1e-5);
        assert!((matched(3.0, 1) - 5.0).abs() < 1e-5, "constant there");
        assert_eq!(matched(2.0, 2), 7.0, "constant here: it moves");
        assert_eq!(matched(9.0, 3), 0.0, "silent there");
        for j in 0..4 {
            assert_eq!(match_column(&from, &from, j), (0.0, 1.0));
        }
    }
}
