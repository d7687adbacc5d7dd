//! Lossless serialisation to flat lists of numbers, for messages between workers that solve.

use faer::Mat;

use super::fit::{AffineMap, RetainedSpace};
use super::parts::RemainderScore;
use super::rank::Directions;
use super::score::BlockScore;
use crate::learning::LearningPoint;
use crate::report::BlockReport;
use crate::stats::moments::Moments;

impl Moments {
    /// Serialises the moments.
    pub fn to_wire(&self) -> Vec<f64> {
        let mut wire = Writer::with_capacity(self.xx.len() + self.xy.len());
        wire.count(self.n as usize);
        for list in [&self.shift_x, &self.shift_y, &self.sum_x, &self.sum_y, &self.xx, &self.xy, &self.yy_diagonal] {
            wire.list(list);
        }
        wire.list(&self.max_abs_x);
        wire.list(self.yy.as_deref().unwrap_or_default());
        wire.0
    }

    /// Reads the output of [`Moments::to_wire`]; `None` if malformed.
    pub fn from_wire(wire: &[f64]) -> Option<Self> {
        let mut wire = Reader(wire);
        let n = wire.count()? as u64;
        let mut list = || wire.list();
        let (shift_x, shift_y, sum_x, sum_y) = (list()?, list()?, list()?, list()?);
        let (xx, xy, yy_diagonal, max_abs_x) = (list()?, list()?, list()?, list()?);
        let yy = Some(list()?).filter(|yy| !yy.is_empty());
        let (d_in, d_out) = (shift_x.len(), shift_y.len());
        let fits = [sum_x.len(), max_abs_x.len()] == [d_in; 2]
            && [sum_y.len(), yy_diagonal.len()] == [d_out; 2]
            && [xx.len(), xy.len()] == [d_in * d_in, d_in * d_out]
            && yy.as_ref().is_none_or(|yy| yy.len() == d_out * d_out);
        fits.then_some(Self { n, shift_x, shift_y, sum_x, sum_y, xx, xy, yy_diagonal, yy, max_abs_x })
    }
}

impl RetainedSpace {
    /// Serialises the kept space.
    pub fn to_wire(&self) -> Vec<f64> {
        let mut wire = Writer::with_capacity(self.cut.nrows() * self.cut.ncols() + 3);
        wire.count(self.rank);
        wire.matrix(&self.cut);
        wire.0
    }

    /// Reads the output of [`RetainedSpace::to_wire`]; `None` if malformed.
    pub fn from_wire(wire: &[f64]) -> Option<Self> {
        let mut wire = Reader(wire);
        Some(Self { rank: wire.count()?, cut: wire.matrix()? })
    }
}

impl RemainderScore {
    /// Serialises the score.
    pub fn to_wire(&self) -> Vec<f64> {
        let mut wire = Writer::with_capacity(self.covariance.len() + self.r2_folds.len());
        wire.list(&self.covariance);
        wire.options(&self.input_ranks);
        wire.options(&self.r2_folds);
        if let Some(LearningPoint { rows, r2 }) = &self.quarters {
            wire.0.push(*rows);
            wire.options(r2);
        } else {
            wire.0.push(f64::NAN);
            wire.count(0);
        }
        wire.0
    }

    /// Reads the output of [`RemainderScore::to_wire`]; `None` if malformed.
    pub fn from_wire(wire: &[f64]) -> Option<Self> {
        let mut wire = Reader(wire);
        let covariance = wire.list()?;
        let input_ranks = wire.options()?.try_into().ok()?;
        let r2_folds = wire.options()?;
        let (rows, r2) = (known(wire.number()?), wire.options()?);
        Some(Self { covariance, input_ranks, r2_folds, quarters: rows.map(|rows| LearningPoint { rows, r2 }) })
    }
}

impl BlockScore {
    /// Serialises everything but the report.
    pub fn to_wire(&self) -> Vec<f64> {
        let Self { map, directions, .. } = self;
        let mut wire = Writer::with_capacity(map.weight.len() + directions.0.ncols() * directions.0.nrows());
        wire.0.extend([self.heldout_variation, self.r2_rounding]);
        wire.count(map.rank);
        for list in [&self.heldout_mean, &map.weight, &map.mean_x, &map.deviation_x, &map.mean_y, &self.deviation_y] {
            wire.list(list);
        }
        wire.matrix(&directions.0);
        wire.0
    }

    /// Reads the output of [`BlockScore::to_wire`]; `None` if malformed.
    pub fn from_wire(report: BlockReport, wire: &[f64]) -> Option<Self> {
        let mut wire = Reader(wire);
        let (heldout_variation, r2_rounding, rank) = (wire.number()?, wire.number()?, wire.count()?);
        let (heldout_mean, weight) = (wire.list()?, wire.list()?);
        let (mean_x, deviation_x, mean_y, deviation_y) = (wire.list()?, wire.list()?, wire.list()?, wire.list()?);
        let directions = Directions(wire.matrix()?);
        let map = AffineMap { weight, mean_x, deviation_x, mean_y, rank };
        let d_out = map.mean_y.len();
        let fits = map.weight.len() == map.mean_x.len() * d_out
            && map.deviation_x.len() == map.mean_x.len()
            && [heldout_mean.len(), deviation_y.len(), directions.0.nrows()] == [d_out; 3];
        fits.then_some(Self { report, heldout_variation, heldout_mean, map, deviation_y, directions, r2_rounding })
    }
}

/// NaN encodes `None`: reports contain no other NaN.
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

    fn list(&mut self, list: &[f64]) {
        self.count(list.len());
        self.0.extend_from_slice(list);
    }

    fn matrix(&mut self, matrix: &Mat<f64>) {
        [matrix.nrows(), matrix.ncols()].into_iter().for_each(|count| self.count(count));
        matrix.col_iter().for_each(|column| self.0.extend(column.iter()));
    }

    fn options(&mut self, list: &[Option<f64>]) {
        self.count(list.len());
        self.0.extend(list.iter().map(|number| number.unwrap_or(f64::NAN)));
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

    /// Saturating conversion: a wrong count fails later for lack of numbers.
    fn count(&mut self) -> Option<usize> {
        self.number().map(|number| number as usize)
    }

    fn list(&mut self) -> Option<Vec<f64>> {
        let numbers = self.count()?;
        self.take(numbers).map(<[f64]>::to_vec)
    }

    fn matrix(&mut self) -> Option<Mat<f64>> {
        let (rows, cols) = (self.count()?, self.count()?);
        let numbers = self.take(rows.checked_mul(cols)?)?;
        Some(Mat::from_fn(rows, cols, |i, k| numbers[k * rows + i]))
    }

    fn options(&mut self) -> Option<Vec<Option<f64>>> {
        Some(self.list()?.into_iter().map(known).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Random;
    use crate::stats::moments::Scale;

    fn moments(d: usize) -> Moments {
        let mut random = Random::new(3);
        let mut values = || (0..60 * d).map(|_| random.normal() as f32).collect::<Vec<_>>();
        let scale = Scale { shift: vec![0.5; d], exponent: vec![3; d] };
        let mut moments = Moments::training(&scale, &scale);
        moments.add_rows(&values(), &values());
        moments
    }

    /// `value` survives the round trip, and truncated lists are refused.
    fn crosses<T: std::fmt::Debug + PartialEq>(value: T, wire: &[f64], from: impl Fn(&[f64]) -> Option<T>) {
        assert_eq!(from(wire), Some(value));
        (0..wire.len()).for_each(|len| assert_eq!(from(&wire[..len]), None, "{len} numbers"));
    }

    #[test]
    fn all_that_is_told_crosses_bit_by_bit() {
        let moments = moments(5);
        crosses(moments.clone(), &moments.to_wire(), Moments::from_wire);
        for cut in [0, 2] {
            let kept =
                RetainedSpace { rank: 5 - cut, cut: Mat::from_fn(5, cut, |i, k| (i as f64 - 0.1).powi(k as i32)) };
            crosses(kept.clone(), &kept.to_wire(), RetainedSpace::from_wire);
        }
        for quarters in [None, Some(LearningPoint { rows: 80.5, r2: vec![Some(0.1), None] })] {
            let r2_folds = vec![Some(-0.3), None, Some(0.7)];
            let rest =
                RemainderScore { covariance: vec![0.1, -0.0], input_ranks: [Some(3.5), None], r2_folds, quarters };
            crosses(rest.clone(), &rest.to_wire(), RemainderScore::from_wire);
        }
    }

    #[test]
    fn a_score_crosses_with_its_map_and_directions() {
        let map = AffineMap {
            weight: vec![0.5, -1.0, 2.0, 0.25, 1e-300, 3.0],
            mean_x: vec![1.0, 2.0, 3.0],
            deviation_x: vec![4.0, 5.0, 6.0],
            mean_y: vec![7.0, 8.0],
            rank: 3,
        };
        let score = BlockScore {
            report: BlockReport { block: 4, r2_lin: Some(0.1 + 0.2), ..BlockReport::default() },
            heldout_variation: 9.5,
            heldout_mean: vec![1.5, 2.5],
            map,
            deviation_y: vec![0.1, 0.2],
            directions: Directions(Mat::from_fn(2, 2, |i, k| i as f64 - 0.3 * k as f64)),
            r2_rounding: 1e-9,
        };
        let report = score.report.clone();
        crosses(score.clone(), &score.to_wire(), |wire| BlockScore::from_wire(report.clone(), wire));
    }

    #[test]
    fn the_full_square_of_y_crosses_too() {
        let scale = Scale { shift: vec![0.0; 2], exponent: vec![3; 2] };
        let mut moments = Moments::heldout(&scale, &scale);
        moments.add_rows(&[1.0, 2.0], &[3.0, 4.0]);
        crosses(moments.clone(), &moments.to_wire(), Moments::from_wire);
    }
}
