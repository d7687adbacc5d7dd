//! The least-squares line of a curve over an interval with uniform inputs: integrals replace sums.

/// Nodes and weights of five-point Gauss–Legendre quadrature on −1 … 1.
const NODES: [(f64, f64); 5] = [
    (-0.906_179_845_938_664, 0.236_926_885_056_189_08),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.0, 0.568_888_888_888_888_9),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.906_179_845_938_664, 0.236_926_885_056_189_08),
];
/// Widest piece for this rule: far finer than any curve here bends.
const PIECE: f64 = 0.125;

/// A straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Change of the value per unit of x.
    pub slope: f64,
    /// Value at x = 0.
    pub intercept: f64,
}

impl Line {
    /// Its value at `x`.
    pub fn at(self, x: f64) -> f64 {
        self.slope * x + self.intercept
    }

    /// The line through two points (x, y); `None` if both have the same x.
    pub fn through([x0, y0]: [f64; 2], [x1, y1]: [f64; 2]) -> Option<Self> {
        let slope = (y1 - y0) / (x1 - x0);
        slope.is_finite().then_some(Self { slope, intercept: y0 - slope * x0 })
    }
}

/// Means, variances and covariance of a curve and its uniform inputs on an interval.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    mean: [f64; 2],
    variance: [f64; 2],
    covariance: f64,
}

impl Curve {
    /// The moments of `f` on `low … high`; `f` may have a kink at zero.
    pub fn over(f: impl Fn(f64) -> f64, low: f64, high: f64) -> Self {
        let mean = |g: &dyn Fn(f64) -> f64| mean(g, low, high);
        let (x, y) = (f64::midpoint(low, high), mean(&f));
        Self {
            mean: [x, y],
            variance: [mean(&|at| (at - x).powi(2)), mean(&|at| (f(at) - y).powi(2))],
            covariance: mean(&|at| (at - x) * (f(at) - y)),
        }
    }

    /// The line of least squares.
    pub fn line(&self) -> Line {
        let [x, y] = self.mean;
        let slope = if self.variance[0] > 0.0 { self.covariance / self.variance[0] } else { 0.0 };
        Line { slope, intercept: y - slope * x }
    }

    /// R² of a line; `None` where the curve is flat.
    pub fn r2(&self, line: Line) -> Option<f64> {
        let ([x, y], [across, up]) = (self.mean, self.variance);
        let aside = y - line.at(x);
        let error = up - 2.0 * line.slope * self.covariance + line.slope.powi(2) * across + aside * aside;
        (up > 0.0).then_some(1.0 - error / up)
    }
}

/// The mean of a function over an interval.
fn mean(f: &dyn Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    let parts = if low < 0.0 && high > 0.0 { vec![(low, 0.0), (0.0, high)] } else { vec![(low, high)] };
    parts.into_iter().map(|(low, high)| integral(f, low, high)).sum::<f64>() / (high - low)
}

fn integral(f: &dyn Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    let pieces = ((high - low) / PIECE).ceil().max(1.0);
    let half = (high - low) / pieces / 2.0;
    let piece = |at: usize| {
        let middle = low + half * (2 * at + 1) as f64;
        NODES.iter().map(|(node, weight)| weight * f(middle + node * half)).sum::<f64>() * half
    };
    (0..pieces as usize).map(piece).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::activation::Activation;

    fn fit(activation: Activation, low: f64, high: f64) -> (Line, f64) {
        let curve = Curve::over(|x| activation.at(x), low, high);
        (curve.line(), curve.r2(curve.line()).unwrap())
    }

    #[test]
    fn the_line_and_its_r2_are_those_of_thirty_digit_integrals() {
        // mpmath, quad with 30 digits: slope, intercept, R².
        let known = [
            (Activation::Gelu, -3.0, 3.0, 0.5, 0.667_082_726_830_462_2, 0.766_865_597_259_878_2),
            (Activation::Gelu, -1.0, 1.0, 0.5, 0.120_985_362_259_571_7, 0.885_198_453_685_108_7),
            (
                Activation::Gelu,
                -2.0,
                0.0,
                -0.017_231_438_459_035_79,
                -0.132_298_554_163_576_2,
                0.050_605_355_838_805_07,
            ),
            (Activation::Gelu, 1.0, 3.0, 1.081_734_628_330_221, -0.223_337_847_544_535_3, 0.999_653_787_886_312_3),
            (
                Activation::GeluTanh,
                -3.0,
                0.6,
                0.039_235_977_387_030_35,
                0.010_738_261_718_832_74,
                0.101_683_768_995_682_9,
            ),
            (Activation::Silu, -2.0, 1.0, 0.300_851_285_506_710_7, 0.114_373_684_044_627_8, 0.793_850_755_661_316_4),
        ];
        for (activation, low, high, slope, intercept, r2) in known {
            let (line, found) = fit(activation, low, high);
            for (found, expected) in [(line.slope, slope), (line.intercept, intercept), (found, r2)] {
                let is_near = (found - expected).abs() <= 1e-12;
                assert!(is_near, "{activation:?} on {low} … {high}: {found} where {expected} is right");
            }
        }
    }

    #[test]
    fn relu_across_its_kink_is_exactly_as_by_hand() {
        // On −1 … 1: cov(x, y) = 1/6, var(x) = 1/3, var(y) = 5/48.
        let (line, r2) = fit(Activation::Relu, -1.0, 1.0);
        assert!((line.slope - 0.5).abs() <= 1e-14 && (line.intercept - 0.25).abs() <= 1e-14, "{line:?}");
        assert!((r2 - 0.8).abs() <= 1e-14, "{r2}");
        // On −1 … 0.7, where no piece of equal parts ends at the kink: the mean of xy and of y² is 0.7³/5.1.
        let (x, y, both) = (-0.15, 0.49 / 3.4, 0.343 / 5.1);
        let slope = (both - x * y) / (1.7 * 1.7 / 12.0);
        let (line, r2) = fit(Activation::Relu, -1.0, 0.7);
        assert!((line.slope - slope).abs() <= 1e-14, "{line:?} where {slope} is right");
        assert!((r2 - slope * (both - x * y) / (both - y * y)).abs() <= 1e-14, "{r2}");
    }

    #[test]
    fn no_line_is_better_than_the_best() {
        let curve = Curve::over(|x| Activation::Gelu.at(x), -2.5, 1.5);
        let best = curve.r2(curve.line()).unwrap();
        for (turn, lift) in [(0.01, 0.0), (-0.01, 0.0), (0.0, 0.01), (0.2, -0.3)] {
            let Line { slope, intercept } = curve.line();
            let other = curve.r2(Line { slope: slope + turn, intercept: intercept + lift }).unwrap();
            assert!(other < best, "{other} over {best}");
        }
        let flat = Line { slope: 0.0, intercept: curve.mean[1] };
        assert!(curve.r2(flat).unwrap().abs() <= 1e-12, "the mean explains nothing");
    }

    #[test]
    fn where_the_curve_is_flat_there_is_no_r2() {
        let curve = Curve::over(|x| Activation::Relu.at(x), -3.0, -1.0);
        assert_eq!(curve.r2(curve.line()), None);
        assert_eq!(Line::through([1.0, 0.0], [1.0, 2.0]), None);
        assert_eq!(Line::through([0.0, 1.0], [2.0, 0.0]), Some(Line { slope: -0.5, intercept: 1.0 }));
    }
}
