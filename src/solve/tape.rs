//! Moments and scores as plain lists of numbers, bit by bit: how they cross to another worker and back.

use faer::Mat;

use super::fit::AffineMap;
use super::rank::Directions;
use super::score::BlockScore;
use crate::moments::Moments;
use crate::report::{BlockReport, Spectrum};

impl Moments {
    /// All of it as one list of numbers.
    pub fn to_tape(&self) -> Vec<f64> {
        let mut tape = Writer::with_capacity(self.xx.len() + self.xy.len() + self.yy.as_ref().map_or(0, Vec::len));
        tape.count(self.n as usize);
        for list in [&self.shift_x, &self.shift_y, &self.sum_x, &self.sum_y, &self.xx, &self.xy, &self.yy_diagonal] {
            tape.list(list);
        }
        tape.list(&self.max_abs_x);
        tape.list(self.yy.as_deref().unwrap_or_default());
        tape.0
    }

    /// What [`Moments::to_tape`] has written; `None` of anything else.
    pub fn from_tape(tape: &[f64]) -> Option<Self> {
        let mut tape = Reader(tape);
        let n = tape.count()? as u64;
        let mut list = || tape.list();
        let (shift_x, shift_y, sum_x, sum_y) = (list()?, list()?, list()?, list()?);
        let (xx, xy, yy_diagonal, max_abs_x, yy) = (list()?, list()?, list()?, list()?, list()?);
        let (d_in, d_out) = (shift_x.len(), shift_y.len());
        let fits = [sum_x.len(), max_abs_x.len()] == [d_in; 2]
            && [sum_y.len(), yy_diagonal.len()] == [d_out; 2]
            && [xx.len(), xy.len()] == [d_in * d_in, d_in * d_out]
            && (yy.is_empty() || yy.len() == d_out * d_out);
        let yy = (!yy.is_empty()).then_some(yy);
        fits.then_some(Self { n, shift_x, shift_y, sum_x, sum_y, xx, xy, yy_diagonal, yy, max_abs_x })
    }
}

impl BlockScore {
    /// All of it as one list of numbers.
    pub fn to_tape(&self) -> Vec<f64> {
        let Self { report, heldout_variation, map, deviation_y, directions } = self;
        let mut tape = Writer::with_capacity(2 * map.weight.len());
        tape.count(report.block);
        tape.count(report.rank);
        tape.option(report.effective_rank.map(|rank| rank as f64));
        let mut report = report.clone();
        numbers(&mut report).into_iter().for_each(|number| tape.option(*number));
        lists(&mut report).into_iter().for_each(|list| tape.options(list));
        let spectrum = report.spectrum.unwrap_or_default();
        tape.list(&spectrum.k.iter().map(|k| *k as f64).collect::<Vec<_>>());
        [&spectrum.covariance, &spectrum.correlation].into_iter().for_each(|list| tape.options(list));
        tape.0.push(*heldout_variation);
        tape.count(map.rank);
        for list in [&map.weight, &map.mean_x, &map.deviation_x, &map.mean_y, deviation_y] {
            tape.list(list);
        }
        (0..directions.0.ncols()).for_each(|k| tape.0.extend(directions.0.col(k).iter()));
        tape.0
    }

    /// What [`BlockScore::to_tape`] has written; `None` of anything else.
    pub fn from_tape(tape: &[f64]) -> Option<Self> {
        let mut tape = Reader(tape);
        let (block, rank) = (tape.count()?, tape.count()?);
        let effective_rank = tape.option()?.map(|rank| rank as usize);
        let mut report = BlockReport { block, rank, effective_rank, ..BlockReport::default() };
        for number in numbers(&mut report) {
            *number = tape.option()?;
        }
        for list in lists(&mut report) {
            *list = tape.list()?.into_iter().map(known).collect();
        }
        let k = tape.list()?.into_iter().map(|k| k as usize).collect();
        let mut options = || Some(tape.list()?.into_iter().map(known).collect());
        report.spectrum = Some(Spectrum { k, covariance: options()?, correlation: options()? });
        let heldout_variation = tape.number()?;
        let rank = tape.count()?;
        let mut list = || tape.list();
        let (weight, mean_x, deviation_x, mean_y, deviation_y) = (list()?, list()?, list()?, list()?, list()?);
        let (d, map) = (mean_y.len(), AffineMap { weight, mean_x, deviation_x, mean_y, rank });
        let directions = tape.take(d * d)?;
        let directions = Directions(Mat::from_fn(d, d, |i, k| directions[k * d + i]));
        Some(Self { report, heldout_variation, map, deviation_y, directions })
    }
}

/// Every single number that a score sets.
fn numbers(report: &mut BlockReport) -> [&mut Option<f64>; 13] {
    [
        &mut report.r2_lin,
        &mut report.r2_lin_scalar,
        &mut report.r2_feature_median,
        &mut report.r2_cv_mean,
        &mut report.r2_cv_std,
        &mut report.condition,
        &mut report.scaled_condition,
        &mut report.output_participation,
        &mut report.prediction_participation,
        &mut report.input_participation,
        &mut report.output_variance_ratio,
        &mut report.input_variance_ratio,
        &mut report.rmse,
    ]
}

/// Every list that a score sets.
fn lists(report: &mut BlockReport) -> [&mut Vec<Option<f64>>; 3] {
    [&mut report.r2_features, &mut report.r2_folds, &mut report.r2_rank]
}

/// NaN stands for what is not known: reports hold no other.
fn known(number: f64) -> Option<f64> {
    (!number.is_nan()).then_some(number)
}

struct Writer(Vec<f64>);

impl Writer {
    fn with_capacity(numbers: usize) -> Self {
        Self(Vec::with_capacity(numbers + numbers / 64))
    }

    fn count(&mut self, count: usize) {
        self.0.push(count as f64);
    }

    fn option(&mut self, number: Option<f64>) {
        self.0.push(number.unwrap_or(f64::NAN));
    }

    fn list(&mut self, list: &[f64]) {
        self.count(list.len());
        self.0.extend_from_slice(list);
    }

    fn options(&mut self, list: &[Option<f64>]) {
        self.count(list.len());
        list.iter().for_each(|number| self.option(*number));
    }
}

struct Reader<'a>(&'a [f64]);

impl<'a> Reader<'a> {
    fn take(&mut self, numbers: usize) -> Option<&'a [f64]> {
        let (taken, rest) = self.0.split_at_checked(numbers)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<f64> {
        self.take(1).map(|taken| taken[0])
    }

    fn option(&mut self) -> Option<Option<f64>> {
        self.number().map(known)
    }

    /// A conversion that saturates: a wrong count finds too few numbers behind it.
    fn count(&mut self) -> Option<usize> {
        self.number().map(|number| number as usize)
    }

    fn list(&mut self) -> Option<Vec<f64>> {
        let numbers = self.count()?;
        self.take(numbers).map(<[f64]>::to_vec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moments::Scale;
    use crate::random::Random;
    use crate::solve::score_block;

    fn folds(d: usize) -> Vec<Moments> {
        let mut random = Random::new(3);
        let mut fold = |last: bool| {
            let x: Vec<f32> = (0..60 * d).map(|_| random.normal() as f32).collect();
            // The last output is constant, so that some values are not known.
            let noise = |random: &mut Random| 0.3 * random.normal() as f32;
            let y: Vec<f32> = x
                .iter()
                .enumerate()
                .map(|(at, x)| if at % d == d - 1 { 2.0 } else { x * x + noise(&mut random) })
                .collect();
            let scale = Scale { shift: vec![0.0; d], exponent: vec![3; d] };
            let mut moments = Moments::empty(&scale, &scale, last);
            moments.add_rows(&x, &y);
            moments
        };
        (0..4).map(|index| fold(index == 3)).collect()
    }

    #[test]
    fn moments_cross_bit_by_bit() {
        for fold in folds(5) {
            let tape = fold.to_tape();
            assert_eq!(Moments::from_tape(&tape), Some(fold));
            (0..tape.len()).for_each(|len| assert_eq!(Moments::from_tape(&tape[..len]), None, "{len} numbers"));
        }
    }

    #[test]
    fn a_score_crosses_bit_by_bit() {
        let score = score_block(2, &folds(5)).expect("a score");
        assert!(score.report.r2_features.contains(&None) && score.report.r2_lin.is_some());
        let tape = score.to_tape();
        let found = BlockScore::from_tape(&tape).expect("the same");
        assert_eq!(found.report, score.report);
        assert_eq!((found.heldout_variation, found.map), (score.heldout_variation, score.map));
        assert_eq!(found.deviation_y, score.deviation_y);
        assert_eq!(found.directions.0, score.directions.0);
        (0..tape.len()).for_each(|len| assert!(BlockScore::from_tape(&tape[..len]).is_none(), "{len} numbers"));
    }
}
