//! `degrees`: how much of y polynomials of x explain, by degree and number of features, in closed form.

use futures::FutureExt;

use crate::backend::{Activation, Backend, Shape};
use crate::degrees::{HIGHEST, ROWS_PER_FEATURE, WIDEST, landmark_counts};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::learning::LearningPoint;
use crate::platform::parallel;
use crate::platform::yielding::yield_now;
use crate::replacement::probe::readout;
use crate::replacement::probe::train::TrainingRows;
use crate::report::{DegreePoint, Warning, WarningKind, finite};
use crate::run::events::StageMeter;
use crate::run::pass::Pass;
use crate::run::sweep::{BlockMeasure, MeasureFuture, SolvedBlock, Visit};
use crate::solve::{CanonicalScore, FoldRuns, canonical_score, ridge_error};

use super::captured::Captured;
use super::probes::standardised;

/// Landmarks are spread evenly for any number of them by multiples of the golden ratio.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// Fits polynomials to every block.
pub(super) struct Degrees<'a, B: Backend> {
    pub(super) pass: &'a Pass<'a, B>,
    pub(super) meter: StageMeter,
    /// Degrees fitted so far.
    pub(super) done: u64,
}

impl<B: Backend> BlockMeasure<B> for Degrees<'_, B> {
    fn needs_all_rows(&self) -> bool {
        true
    }

    fn measure<'a>(&'a mut self, visit: &'a Visit<'_, B>, solved: &'a mut SolvedBlock<B::Tensor>) -> MeasureFuture<'a> {
        self.fit(visit, solved).boxed_local()
    }
}

impl<B: Backend> Degrees<'_, B> {
    async fn fit(&mut self, visit: &Visit<'_, B>, solved: &mut SolvedBlock<B::Tensor>) -> Result<()> {
        self.meter.resume();
        let Pass { backend, job, folds, out, .. } = *self.pass;
        let rows = Captured::of(visit, folds, &job.protocol).await?;
        let (train, heldout) = (rows.train(), rows.heldout());
        let x = standardised(&rows, &solved.map);
        let counts = landmark_counts(rows.d_in, train.len());
        if counts.is_empty() {
            let needed = ROWS_PER_FEATURE * (rows.d_in + rows.d_in.div_ceil(2));
            let kind = WarningKind::NoDegrees { needed, widest: WIDEST, train_rows: train.len() };
            out.warn(Warning::of_block(solved.report.block, &kind));
        }
        let landmarks = Landmarks::of(&x, rows.d_in, train.len(), counts.last().copied().unwrap_or(0));
        let table = TrainingRows {
            x: backend.upload("x", Shape::new(rows.len(), rows.d_in), &x)?,
            target: backend.upload("y", Shape::new(rows.len(), rows.d_out), &rows.y)?,
        };
        let canonical = self.canonical(&table, [&heldout, &train], solved.report.block).await?;
        solved.report.effective_rank_whitened = canonical.effective_rank;
        solved.report.canonical_r2_mean = canonical.r2_mean;
        let features = landmarks.upload(backend)?;
        let polynomials = Polynomials { features: &features, table: &table, sets: [&train, &heldout] };
        solved.report.ridge_curve = self.ridge_curve(polynomials, &rows, solved).await?;
        for degree in 1..=HIGHEST {
            let counts = if degree == 1 { &[0][..] } else { &counts };
            if !counts.is_empty() {
                let points = self.points(polynomials, degree, counts, solved).await?;
                if degree == 1 {
                    let all = LearningPoint { rows: train.len() as f64, r2: points.iter().map(|fit| fit.r2).collect() };
                    solved.report.ridge_curve.push(all);
                }
                solved.report.degrees.insert(degree.to_string(), points);
                out.emit(Event::Block(Box::new(solved.report.clone()))).await;
            }
            self.done += 1;
            self.meter.reach(self.done).await;
        }
        self.meter.pause();
        self.pass.set_seconds(|seconds| &mut seconds.degrees, &self.meter);
        Ok(())
    }

    /// Canonical correlations on the second set of rows, whose moments hold the full yyᵀ.
    async fn canonical(
        &self,
        table: &TrainingRows<B::Tensor>,
        sets: [&[u32]; 2],
        block: usize,
    ) -> Result<CanonicalScore> {
        let of = |x: &B::Tensor| Ok(x.clone());
        let [_, rows] = readout::moments(self.pass.backend, block, &of, table, sets).await?;
        canonical_score(block, &rows)
    }

    /// R² of degree 1 by the number of training rows: fits on the parts of the training folds of the learning curve.
    async fn ridge_curve(
        &self,
        all: Polynomials<'_, B::Tensor>,
        rows: &Captured,
        solved: &SolvedBlock<B::Tensor>,
    ) -> Result<Vec<LearningPoint>> {
        let folds = self.pass.folds.len();
        let [quarters, halves] = [FoldRuns::quarters(folds), FoldRuns::halves(folds)];
        let mut curve = Vec::new();
        for runs in [quarters.runs(), halves.runs()] {
            let mut point = LearningPoint::default();
            for run in runs {
                let train = rows.folds(run.clone());
                let part = Polynomials { sets: [&train, all.sets[1]], ..all };
                point.rows += train.len() as f64 / runs.len() as f64;
                point.r2.extend(self.points(part, 1, &[0], solved).await?.iter().map(|fit| fit.r2));
            }
            curve.extend((!runs.is_empty()).then_some(point));
        }
        Ok(curve)
    }

    /// R² of one degree for several numbers of landmarks, ascending, from the moments of the last one.
    async fn points(
        &self,
        polynomials: Polynomials<'_, B::Tensor>,
        degree: usize,
        counts: &[usize],
        solved: &SolvedBlock<B::Tensor>,
    ) -> Result<Vec<DegreePoint>> {
        let (backend, block) = (self.pass.backend, solved.report.block);
        let Polynomials { features, table, sets } = polynomials;
        let of = |x: &B::Tensor| features.of(backend, x, degree);
        let moments = match readout::moments(backend, block, &of, table, sets).await {
            Err(Error::NonFiniteActivation { .. }) => {
                self.pass.out.warn(Warning::of_block(block, &WarningKind::DegreeOverflow { degree }));
                let undefined = |count: &usize| DegreePoint { features: features.inputs + count, r2: None };
                return Ok(counts.iter().map(undefined).collect());
            }
            moments => moments?,
        };
        let mut points = Vec::with_capacity(counts.len());
        for count in counts {
            let features = features.inputs + count;
            let [train, heldout] = moments.each_ref().map(|rows| rows.first_columns(features));
            let error = ridge_error(block, &train, &heldout)?;
            let r2 = finite(1.0 - error / solved.heldout_variation).filter(|_| solved.report.r2_lin.is_some());
            points.push(DegreePoint { features, r2 });
            yield_now().await;
        }
        Ok(points)
    }
}

/// What the polynomials of a block are fitted to.
struct Polynomials<'a, T> {
    features: &'a PolynomialFeatures<T>,
    table: &'a TrainingRows<T>,
    /// Ids of training and held-out rows.
    sets: [&'a [u32]; 2],
}

impl<T> Clone for Polynomials<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Polynomials<'_, T> {}

/// z_j/s: rows of x̃ from the training rows, spread over them, divided by the root mean square of z_i·z_j of different
/// ones.
struct Landmarks {
    /// Row-major, `count · d`.
    values: Vec<f32>,
    count: usize,
    d: usize,
}

impl Landmarks {
    /// `count` of the first `train_rows` rows of x̃, which are `d` wide.
    fn of(x: &[f32], d: usize, train_rows: usize, count: usize) -> Self {
        let place = |j: usize| (((j + 1) as f64 * GOLDEN).fract() * train_rows as f64) as usize;
        let chosen: Vec<&[f32]> = (0..count).map(|j| &x[place(j) * d..][..d]).collect();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        let above = |i: &usize| chosen[i + 1..].iter().map(|other| dot(chosen[*i], other).powi(2)).sum::<f64>();
        let squares: f64 = parallel::map(&(0..count).collect::<Vec<_>>(), above).iter().sum();
        let pairs = (count * count.saturating_sub(1) / 2) as f64;
        let scale = (squares / pairs).sqrt().recip();
        // If all rows are orthogonal, the scale is infinite: use 0.
        let scale = if scale.is_finite() { scale } else { 0.0 };
        let values = chosen.iter().flat_map(|row| row.iter().map(|value| (f64::from(*value) * scale) as f32)).collect();
        Self { values, count, d }
    }

    fn upload<B: Backend>(&self, backend: &B) -> Result<PolynomialFeatures<B::Tensor>> {
        let Self { values, count, d } = self;
        let all = Shape::new(d + count, *d);
        let mut weight = vec![0.0; d * d];
        (0..*d).for_each(|j| weight[j * d + j] = 1.0);
        weight.extend(values);
        let mut power = vec![0.0; d * d];
        power.extend(values);
        let ones = |columns: std::ops::Range<usize>| (0..d + count).map(|j| f32::from(columns.contains(&j))).collect();
        let bias = |values: Vec<f32>| backend.upload("bias", Shape::new(1, d + count), &values);
        Ok(PolynomialFeatures {
            inputs: *d,
            first: [backend.upload("landmarks", all, &weight)?, bias(ones(*d..d + count))?],
            factor: [backend.upload("landmarks", all, &power)?, bias(ones(0..d + count))?],
        })
    }
}

/// Weights and biases of (x̃, 1 + x̃·z_j/s), and of the factors (1, 1 + x̃·z_j/s) that raise the degree.
struct PolynomialFeatures<T> {
    /// Width of x̃.
    inputs: usize,
    first: [T; 2],
    factor: [T; 2],
}

impl<T: Clone> PolynomialFeatures<T> {
    /// (x̃, (1 + x̃·z_j/s)^degree) of some rows of x̃; x̃ alone for degree 1.
    fn of<B: Backend<Tensor = T>>(&self, backend: &B, x: &T, degree: usize) -> Result<T> {
        if degree == 1 {
            return Ok(x.clone());
        }
        let linear = |[weight, bias]: &[T; 2]| backend.linear(x, weight, Some(bias));
        let (first, factor) = (linear(&self.first)?, linear(&self.factor)?);
        (1..degree).try_fold(first, |product, _| backend.gated(&product, &factor, Activation::Identity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landmarks_are_scaled_by_their_products() {
        let rows = [3.0, 0.0, 0.0, 4.0, 3.0, 4.0];
        let found = Landmarks::of(&rows, 2, 3, 2);
        // Places 1 and 0 of three rows: (0, 4) and (3, 0), which are orthogonal.
        assert_eq!(found.values, [0.0; 4]);
        let found = Landmarks::of(&rows, 2, 3, 3);
        // All three; their products are 0, 16 and 9.
        let scale = (f64::from(16 * 16 + 9 * 9) / 3.0).sqrt();
        let expected = [0.0, 4.0, 3.0, 0.0, 3.0, 4.0].map(|value: f64| (value / scale) as f32);
        assert_eq!(found.values, expected);
    }
}
