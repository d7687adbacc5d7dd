//! A block's solve in two parts that can run on different workers: the headline fit, and the remainder.
//!
//! The remainder needs only the directions that the headline fit keeps. In a browser another worker computes it and
//! starts before the fit is finished. Each is about half of the arithmetic, so a block takes little more than half the
//! time.

use super::eigenvalues::Eigenvalues;
use super::fit::{LinearFit, RetainedSpace, VaryingColumns};
use super::folds;
use super::learning::FoldRuns;
use super::matrices::{entropy_rank, one_thread_per_matrix, participation, stable_rank};
use super::precision::{R2Rounding, roundings};
use super::project::Predicted;
use super::score::{
    BlockScore, EFFECTIVE_SHARE, Headline, SHARE_95, Totals, output_participation, split, variance_ratio,
};
use super::support::HeldOutSupport;
use super::training::TrainingMoments;
use crate::error::Result;
use crate::learning::LearningPoint;
use crate::platform::parallel;
use crate::report::{BlockReport, Spectrum, finite};
use crate::stats::moments::Moments;

/// The fit behind a block's headline numbers.
#[derive(Clone, Debug)]
pub struct HeadlineFit {
    block: usize,
    fit: LinearFit,
}

impl HeadlineFit {
    /// Fits on all folds of `block` but the last.
    ///
    /// # Errors
    /// If a moment is not finite.
    pub fn new(block: usize, folds: &[Moments]) -> Result<Self> {
        Ok(Self { block, fit: LinearFit::new(block, &split(folds).0)? })
    }

    /// The kept directions, for [`Remainder::finish`].
    pub fn kept(&self) -> &RetainedSpace {
        &self.fit.kept
    }

    /// Scores the fit on the last fold and describes inputs and outputs; `folds` must be those of the fit.
    ///
    /// # Errors
    /// If a moment is not finite.
    pub fn score(&self, folds: &[Moments]) -> Result<HeadlineScore> {
        let (fit, (train, heldout)) = (&self.fit, split(folds));
        let support = HeldOutSupport::new(self.block, fit, &train, heldout)?;
        let headline = Headline::new(self.block, fit, heldout)?;
        let Headline { rows, predicted: Predicted { errors, .. }, totals, .. } = &headline;
        let d = train.d_in();
        let covariance = train.covariance(&(0..d).collect::<Vec<_>>(), &vec![1.0; d]);
        let report = BlockReport {
            block: self.block,
            r2_lin: headline.r2_lin,
            r2_lin_scalar: headline.r2_lin_scalar(),
            r2_features: totals.r2_features(errors),
            r2_feature_median: headline.r2_feature_median(),
            rmse: finite((errors.iter().sum::<f64>() / (rows.n * errors.len() as f64)).sqrt()),
            rows_per_input: finite(train.n / d as f64),
            rank: fit.rank(),
            input_participation: participation(d, |i, j| covariance[(i, j)]),
            input_variance_ratio: variance_ratio(train.variance_x.clone()),
            output_variance_ratio: variance_ratio(train.variance_y.clone()),
            output_participation: output_participation(heldout),
            prediction_participation: headline.prediction_participation(),
            prediction_entropy_rank: entropy_rank(&headline.prediction_eigenvalues),
            prediction_stable_rank: stable_rank(&headline.prediction_eigenvalues),
            heldout_distance: support.distance,
            heldout_outside: support.outside,
            effective_rank: headline.effective_rank(EFFECTIVE_SHARE),
            effective_rank_95: headline.effective_rank(SHARE_95),
            r2_rank: headline.r2_rank.clone(),
            ..BlockReport::default()
        };
        let (heldout_variation, heldout_mean) = (totals.vector, totals.means.clone());
        let (map, deviation_y) = (fit.map(&train), deviations(&train));
        let roundings = roundings(fit, &train, folds);
        let directions = headline.directions;
        let score =
            BlockScore { report, heldout_variation, heldout_mean, map, deviation_y, directions, r2_rounding: 0.0 };
        let places = Spectrum::places(fit.eigenvalues.count(), fit.rank());
        let halves = FoldRuns::halves(folds.len()).score(folds, &fit.kept.cut);
        let correlation = fit.eigenvalues.largest(&places);
        Ok(HeadlineScore { score, correlation, places, halves, rows: train.n, roundings })
    }
}

fn deviations(train: &TrainingMoments<'_>) -> Vec<f64> {
    train.variance_y.iter().map(|variance| variance.sqrt()).collect()
}

/// A score without the fields that come from [`RemainderScore`].
#[derive(Clone, Debug)]
pub struct HeadlineScore {
    score: BlockScore,
    /// As in [`Spectrum::k`].
    places: Vec<usize>,
    /// Eigenvalues of the correlations at these places.
    correlation: Vec<f64>,
    /// R² of the fit on half of the training folds.
    halves: Option<LearningPoint>,
    /// Training rows.
    rows: f64,
    /// Of R² over every fold.
    roundings: Vec<R2Rounding>,
}

impl HeadlineScore {
    /// Adds the remainder of the same block to the score.
    pub fn complete(self, rest: RemainderScore) -> BlockScore {
        let Self { mut score, places, correlation, halves, rows, roundings } = self;
        let report = &mut score.report;
        let last = places.iter().position(|k| *k == report.rank);
        let condition = |values: &[f64]| finite(values.first()? / values.get(last?)?).filter(|value| *value > 0.0);
        report.condition = condition(&rest.covariance);
        report.scaled_condition = condition(&correlation);
        [report.input_entropy_rank, report.input_stable_rank] = rest.input_ranks;
        report.spectrum = Some(Spectrum::new(places, &rest.covariance, &correlation));
        cross_validate(rest.r2_folds, report);
        let whole = LearningPoint { rows, r2: vec![report.r2_lin] };
        report.learn([rest.quarters, halves, Some(whole)].into_iter().flatten().collect());
        let known = report.r2_folds.iter().zip(&roundings).filter_map(|(r2, rounding)| Some(rounding.of((*r2)?)));
        score.r2_rounding = known.fold(0.0, f64::max);
        score
    }
}

/// The remainder of a block's solve: the eigenvalues of Cov(x), and the other folds.
#[derive(Clone, Debug)]
pub struct Remainder {
    block: usize,
    covariance: Eigenvalues,
}

/// The results of the remainder.
#[derive(Clone, Debug, PartialEq)]
pub struct RemainderScore {
    /// Eigenvalues of the training Cov(x) at the places of the report's spectrum.
    pub(super) covariance: Vec<f64>,
    /// Entropy rank and stable rank of the training Cov(x).
    pub(super) input_ranks: [Option<f64>; 2],
    /// R² of every fold but the last, each held out in turn.
    pub(super) r2_folds: Vec<Option<f64>>,
    /// R² of the fits on two quarters of the training folds.
    pub(super) quarters: Option<LearningPoint>,
}

impl Remainder {
    /// Computes everything that does not depend on the headline fit.
    ///
    /// # Errors
    /// If a moment is not finite.
    pub fn new(block: usize, folds: &[Moments]) -> Result<Self> {
        one_thread_per_matrix();
        let train = split(folds).0;
        let covariance = Eigenvalues::new(block, VaryingColumns::new(&train).covariance(&train))?;
        Ok(Self { block, covariance })
    }

    /// Cross-validates the other folds in the directions that the headline fit keeps; `folds` must be the same.
    ///
    /// # Errors
    /// If a moment is not finite.
    pub fn finish(&self, folds: &[Moments], kept: &RetainedSpace) -> Result<RemainderScore> {
        let covariance = self.covariance.largest(&Spectrum::places(self.covariance.count(), kept.rank));
        let others: Vec<usize> = (0..folds.len() - 1).collect();
        let r2 = |&fold: &usize| {
            let train = TrainingMoments::all_but(folds, fold);
            let error = folds::heldout_error(self.block, &train, &folds[fold], &kept.cut)?;
            Ok(Totals::new(&folds[fold]).r2(error))
        };
        let r2_folds = parallel::map(&others, r2).into_iter().collect::<Result<_>>()?;
        let quarters = FoldRuns::quarters(folds.len()).score(folds, &kept.cut);
        let all = self.covariance.largest(&(1..=self.covariance.count()).collect::<Vec<_>>());
        let input_ranks = [entropy_rank(&all), stable_rank(&all)];
        Ok(RemainderScore { covariance, input_ranks, r2_folds, quarters })
    }
}

/// Sets R² of every fold, the headline's last, their mean and sample standard deviation.
fn cross_validate(others: Vec<Option<f64>>, report: &mut BlockReport) {
    report.r2_folds = others;
    report.r2_folds.push(report.r2_lin);
    report.summarise_folds();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Random;
    use crate::solve::score_block;
    use crate::stats::moments::Scale;

    #[test]
    fn parts_that_only_hear_of_each_other_make_up_the_score() {
        let mut random = Random::new(4);
        let d = 6;
        let fold = |index| {
            let x: Vec<f32> = (0..80 * d).map(|_| random.normal() as f32).collect();
            // The last input depends on the first, so a direction is cut; one output is constant, so its R² is unknown.
            let x: Vec<f32> =
                (0..x.len()).map(|at| if at % d == d - 1 { 2.0 * x[at + 1 - d] } else { x[at] }).collect();
            let y: Vec<f32> = x.iter().enumerate().map(|(at, x)| if at % d == 2 { 1.0 } else { x * x + x }).collect();
            let scale = Scale { shift: vec![0.0; d], exponent: vec![3; d] };
            let mut moments = Moments::of_fold(&scale, &scale, index, 4);
            moments.add_rows(&x, &y);
            moments
        };
        let folds: Vec<Moments> = (0..4).map(fold).collect();
        let received: Option<Vec<Moments>> = folds.iter().map(|fold| Moments::from_wire(&fold.to_wire())).collect();
        let received = received.expect("moments");
        let fit = HeadlineFit::new(2, &folds).expect("a fit");
        assert_eq!((fit.kept().rank, fit.kept().cut.ncols()), (d - 1, 1));
        let kept = RetainedSpace::from_wire(&fit.kept().to_wire()).expect("what is kept");
        let rest = Remainder::new(2, &received).and_then(|part| part.finish(&received, &kept)).expect("the rest");
        let rest = RemainderScore::from_wire(&rest.to_wire()).expect("the rest");
        let found = fit.score(&folds).expect("a score").complete(rest);
        let expected = score_block(2, &folds).expect("a score");
        assert_eq!((&found.report, found.heldout_variation), (&expected.report, expected.heldout_variation));
        assert_eq!((found.map, found.deviation_y), (expected.map, expected.deviation_y));
        assert!(found.report.r2_cv_std.is_some() && found.report.r2_features.contains(&None));
    }
}
