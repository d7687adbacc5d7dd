//! Sums over the rows of every held-out window: what a prediction leaves of y, and how its directions follow. Intervals
//! and influences are statistics of them.

use super::visit::{SolvedBlock, XyBatch};
use crate::backend::{Backend, Shape};
use crate::error::Result;
use crate::job::Protocol;
use crate::report::{BlockReport, Uncertainty, finite};
use crate::stats::bootstrap::Resamples;

/// Number of values of [`RowScores::of`].
pub(in crate::run) const SCORES: usize = 4;

/// Cosines and squared lengths of rows, computed on the device.
pub(in crate::run) struct RowScores<T> {
    /// Held-out means.
    means: T,
    /// Their mean, for every feature.
    grand: T,
}

impl<T: Clone> RowScores<T> {
    /// Scores of rows with these held-out means.
    pub(in crate::run) fn new<B: Backend<Tensor = T>>(backend: &B, means: &[f64]) -> Result<Self> {
        let grand = means.iter().sum::<f64>() / means.len() as f64;
        let row = |values: Vec<f32>| backend.upload("held-out means", Shape::new(1, means.len()), &values);
        Ok(Self {
            means: row(means.iter().map(|&mean| mean as f32).collect())?,
            grand: row(vec![grand as f32; means.len()])?,
        })
    }

    /// Of every row the cosine of ŷ and y, and the squared length of y − ŷ, of y about the held-out means, and of y
    /// about one mean for all features; `(rows, 1)` each.
    pub(in crate::run) fn of<B: Backend<Tensor = T>>(&self, backend: &B, y: &T, predicted: &T) -> Result<[T; SCORES]> {
        let squares = |from| backend.row_squared_distances(y, from);
        Ok([backend.row_cosines(predicted, y)?, squares(predicted)?, squares(&self.means)?, squares(&self.grand)?])
    }
}

/// Sums of the scores over the counted rows of every held-out window.
#[derive(Default)]
pub(in crate::run) struct WindowSums([Vec<f64>; SCORES]);

impl WindowSums {
    /// The sums of a prediction of y on the held-out rows.
    pub(in crate::run) async fn of<B: Backend>(
        backend: &B,
        heldout: &mut dyn Iterator<Item = Result<XyBatch<'_, B::Tensor>>>,
        protocol: &Protocol,
        heldout_mean: &[f64],
        predict: &dyn Fn(&B::Tensor) -> Result<B::Tensor>,
    ) -> Result<Self> {
        let scores = RowScores::new(backend, heldout_mean)?;
        let mut tensors = Vec::new();
        for pair in heldout {
            let XyBatch { x, y, .. } = pair?;
            tensors.extend(scores.of(backend, &y, &predict(&x)?)?);
        }
        let values = backend.read_all(&tensors.iter().collect::<Vec<_>>()).await?;
        let mut sums = Self::default();
        values.chunks_exact(SCORES).for_each(|of_rows| sums.add(of_rows, None, protocol));
        Ok(sums)
    }

    /// Adds the windows of a batch, given the scores of its rows; `exact` are its cosines in f64, where they are known.
    pub(in crate::run) fn add(&mut self, of_rows: &[Vec<f32>], exact: Option<&[f64]>, protocol: &Protocol) {
        let counted = |rows: &[f64]| rows[protocol.skip_positions..].iter().sum::<f64>();
        for (at, (sums, rows)) in self.0.iter_mut().zip(of_rows).enumerate() {
            let rows: Vec<f64> = match exact {
                Some(exact) if at == 0 => exact.to_vec(),
                _ => rows.iter().copied().map(f64::from).collect(),
            };
            sums.extend(rows.chunks_exact(protocol.seq_len).map(counted));
        }
    }

    /// Number of windows.
    pub(in crate::run) fn windows(&self) -> usize {
        self.errors().len()
    }

    /// Σ‖y − ŷ‖² of every window.
    pub(in crate::run) fn errors(&self) -> &[f64] {
        &self.0[1]
    }

    /// Σ‖y − ȳ_h‖² of every window.
    pub(in crate::run) fn totals(&self) -> &[f64] {
        &self.0[2]
    }

    /// Mean cosine of all rows; rows of zeros, which have no direction, count as 0.
    pub(in crate::run) fn cosine(&self, protocol: &Protocol) -> Option<f64> {
        let counted = (self.windows() * (protocol.seq_len - protocol.skip_positions)) as f64;
        // Each cosine is rounded to f32, so that their mean could be just above 1.
        finite((self.0[0].iter().sum::<f64>() / counted).clamp(-1.0, 1.0))
    }

    /// Interval and influences of R², one mean per feature.
    pub(in crate::run) fn r2(&self, resamples: &Resamples) -> Option<Uncertainty> {
        resamples.uncertainty([self.errors(), self.totals()], r2)
    }

    /// Adds intervals and influences of R² and cosine to a block's report.
    pub(in crate::run) fn add_to(&self, report: &mut BlockReport, resamples: &Resamples, protocol: &Protocol) {
        let [cosines, errors, _, scalar_totals] = &self.0;
        let counts = vec![(protocol.seq_len - protocol.skip_positions) as f64; cosines.len()];
        let cosine = resamples.uncertainty([cosines, &counts], |[cosines, count]| cosines / count);
        report.add_uncertainty("r2_lin".into(), self.r2(resamples));
        report.add_uncertainty("r2_lin_scalar".into(), resamples.uncertainty([errors, scalar_totals], r2));
        report.add_uncertainty("cosine".into(), cosine);
    }
}

/// R² of sums of errors and totals.
fn r2([errors, totals]: [f64; 2]) -> f64 {
    1.0 - errors / totals
}

/// What each direction of the prediction takes away of the squared error, by window (docs/measures.md, section 3).
pub(in crate::run) struct RankGains<'a, T> {
    /// V, `(d_out, d_out)`: one direction per row.
    directions: T,
    mean: T,
    ones: T,
    protocol: &'a Protocol,
}

impl<'a, T: Clone> RankGains<'a, T> {
    /// Gains of the directions of a solved block.
    pub(in crate::run) fn new<B: Backend<Tensor = T>>(
        backend: &B,
        solved: &SolvedBlock<T>,
        protocol: &'a Protocol,
    ) -> Result<Self> {
        let d = solved.map.mean_y.len();
        let mean: Vec<f32> = solved.map.mean_y.iter().map(|&mean| mean as f32).collect();
        Ok(Self {
            directions: backend.upload("directions", Shape::new(d, d), &solved.directions.rows())?,
            mean: backend.upload("training means", Shape::new(1, d), &mean)?,
            ones: backend.upload("ones", Shape::new(1, d), &vec![1.0; d])?,
            protocol,
        })
    }

    /// Σ over the counted rows of each window of p·(2y′ − p), with p and y′ the coordinates of ŷ − ȳ and y − ȳ:
    /// `(windows, d_out)`.
    pub(in crate::run) fn of<B: Backend<Tensor = T>>(&self, backend: &B, y: &T, predicted: &T) -> Result<T> {
        let coordinates = |rows: &T| {
            let centred = backend.standardise(rows, &self.mean, &self.ones)?;
            backend.linear(&centred, &self.directions, None)
        };
        let (own, actual) = (coordinates(predicted)?, coordinates(y)?);
        let Protocol { seq_len, skip_positions, .. } = *self.protocol;
        let sums = |of: &T| backend.window_products(&own, of, seq_len, skip_positions);
        backend.combine(&sums(&actual)?, 2.0, &sums(&own)?, -1.0)
    }
}
