//! Least squares with a few inputs, by the formula used for blocks (docs/measures.md, section 2): standardised inputs,
//! the eigenvectors of their correlations, and a cut below which directions are dropped.

/// Eigenvalues below this share of the largest are dropped, as in the engine.
pub const CUT: f64 = 1e-10;
/// Jacobi's method converges quadratically; a handful of sweeps is enough for these sizes.
const SWEEPS: usize = 30;

/// Rows of inputs, with one output each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// One list of inputs per row.
    pub x: Vec<Vec<f64>>,
    /// One output per row.
    pub y: Vec<f64>,
}

/// The best affine map of some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// One weight per input.
    pub weights: Vec<f64>,
    /// Bias.
    pub bias: f64,
    /// Number of input directions used.
    pub rank: usize,
    /// Eigenvalues of the input correlations, the largest first.
    pub eigenvalues: Vec<f64>,
}

impl Rows {
    /// A copy with only the first `count` inputs of each row.
    pub fn first_inputs(&self, count: usize) -> Self {
        Self { x: self.x.iter().map(|row| row[..count].to_vec()).collect(), y: self.y.clone() }
    }

    /// A copy with only the rows at some positions.
    pub fn only(&self, is_in: impl Fn(usize) -> bool) -> Self {
        let kept = || (0..self.y.len()).filter(|at| is_in(*at));
        Self { x: kept().map(|at| self.x[at].clone()).collect(), y: kept().map(|at| self.y[at]).collect() }
    }

    /// The least-squares map over the directions above `cut`.
    pub fn fit(&self, cut: f64) -> Map {
        let inputs = self.x.first().map_or(0, Vec::len);
        let column = |at: usize| self.x.iter().map(|row| row[at]).collect::<Vec<_>>();
        let columns: Vec<_> = (0..inputs).map(column).collect();
        let means: Vec<_> = columns.iter().map(|column| mean(column)).collect();
        let deviations: Vec<_> = columns.iter().map(|column| covariance(column, column).sqrt()).collect();
        let correlation = |i: usize, j: usize| covariance(&columns[i], &columns[j]) / deviations[i] / deviations[j];
        let matrix = (0..inputs).map(|i| (0..inputs).map(|j| correlation(i, j)).collect()).collect();
        let to_output: Vec<_> = (0..inputs).map(|j| covariance(&columns[j], &self.y) / deviations[j]).collect();

        let (values, vectors) = eigen(matrix);
        let least = cut * values.first().copied().unwrap_or(0.0);
        let used: Vec<_> = (0..inputs).filter(|at| values[*at] > least).collect();
        let mut weights = vec![0.0; inputs];
        for at in &used {
            let along = dot(&vectors[*at], &to_output) / values[*at];
            weights.iter_mut().zip(&vectors[*at]).for_each(|(weight, q)| *weight += along * q);
        }
        weights.iter_mut().zip(&deviations).for_each(|(weight, deviation)| *weight /= deviation);
        let bias = mean(&self.y) - dot(&weights, &means);
        Map { weights, bias, rank: used.len(), eigenvalues: values }
    }

    /// R² of a map on these rows, against their mean output.
    pub fn r2(&self, map: &Map) -> f64 {
        self.r2_against(map, mean(&self.y))
    }

    /// R² of a map against a constant guess.
    pub fn r2_against(&self, map: &Map, guess: f64) -> f64 {
        let total: f64 = self.y.iter().map(|y| (y - guess).powi(2)).sum();
        1.0 - self.squared_error(map) / total
    }

    /// Sum of squared errors of a map.
    pub fn squared_error(&self, map: &Map) -> f64 {
        self.x.iter().zip(&self.y).map(|(x, y)| (y - map.at(x)).powi(2)).sum()
    }
}

impl Map {
    /// Its value at `x`.
    pub fn at(&self, x: &[f64]) -> f64 {
        dot(&self.weights, x) + self.bias
    }

    /// The largest absolute weight.
    pub fn largest_weight(&self) -> f64 {
        self.weights.iter().fold(0.0, |most, weight| weight.abs().max(most))
    }

    /// Condition number: largest over smallest eigenvalue used.
    pub fn condition(&self) -> f64 {
        self.eigenvalues.first().zip(self.eigenvalues.get(self.rank.wrapping_sub(1))).map_or(1.0, |(a, b)| a / b)
    }
}

/// The mean of some values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn covariance(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum::<f64>() / a.len() as f64
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Eigenvalues of a symmetric matrix, the largest first, each with its vector: Jacobi's rotations.
fn eigen(mut matrix: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = matrix.len();
    let mut vectors: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..SWEEPS {
        let mut largest = 0.0_f64;
        for (p, q) in (0..n).flat_map(|p| (p + 1..n).map(move |q| (p, q))) {
            largest = largest.max(matrix[p][q].abs());
            rotate(&mut matrix, &mut vectors, p, q);
        }
        if largest < 1e-20 {
            break;
        }
    }
    let mut order: Vec<_> = (0..n).collect();
    order.sort_by(|a, b| matrix[*b][*b].total_cmp(&matrix[*a][*a]));
    (order.iter().map(|at| matrix[*at][*at]).collect(), order.iter().map(|at| vectors[*at].clone()).collect())
}

/// Rotates the plane of p and q so that their element becomes zero, and the rows of `vectors` with it.
fn rotate(matrix: &mut [Vec<f64>], vectors: &mut [Vec<f64>], p: usize, q: usize) {
    if matrix[p][q] == 0.0 {
        return;
    }
    let theta = (matrix[q][q] - matrix[p][p]) / (2.0 * matrix[p][q]);
    let tangent = if theta >= 0.0 { 1.0 } else { -1.0 } / (theta.abs() + theta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    let turn = |a: f64, b: f64| (cosine * a - sine * b, sine * a + cosine * b);
    for row in matrix.iter_mut() {
        (row[p], row[q]) = turn(row[p], row[q]);
    }
    for k in 0..matrix.len() {
        (matrix[p][k], matrix[q][k]) = turn(matrix[p][k], matrix[q][k]);
        (vectors[p][k], vectors[q][k]) = turn(vectors[p][k], vectors[q][k]);
    }
    (matrix[p][q], matrix[q][p]) = (0.0, 0.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_of_a_matrix_known_by_hand() {
        // The second difference of three points: 2 and 2 ± √2.
        let matrix = vec![vec![2.0, -1.0, 0.0], vec![-1.0, 2.0, -1.0], vec![0.0, -1.0, 2.0]];
        let (values, vectors) = eigen(matrix.clone());
        for (found, expected) in values.iter().zip([2.0 + 2_f64.sqrt(), 2.0, 2.0 - 2_f64.sqrt()]) {
            assert!((found - expected).abs() <= 1e-14, "{values:?}");
        }
        for (value, vector) in values.iter().zip(&vectors) {
            for (row, own) in matrix.iter().zip(vector) {
                assert!((dot(row, vector) - value * own).abs() <= 1e-14, "{vector:?} for {value}");
            }
            assert!((dot(vector, vector) - 1.0).abs() <= 1e-14);
        }
    }

    #[test]
    fn a_planted_map_is_found() {
        let x: Vec<_> = (0..9).map(|n| vec![f64::from(n), f64::from(n * n % 7), f64::from(n % 3) * 1000.0]).collect();
        let y: Vec<_> = x.iter().map(|row| 2.0 * row[0] - 0.5 * row[1] + 0.001 * row[2] + 7.0).collect();
        let rows = Rows { x, y };
        let map = rows.fit(CUT);
        for (found, expected) in map.weights.iter().chain([&map.bias]).zip([2.0, -0.5, 0.001, 7.0]) {
            assert!((found - expected).abs() <= 1e-11, "{map:?}");
        }
        assert_eq!(map.rank, 3);
        assert!((rows.r2(&map) - 1.0).abs() <= 1e-12);
    }

    #[test]
    fn r2_of_five_points_is_as_by_hand() {
        // x = 0 … 4 and y = 1, 3, 2, 5, 4: slope 4/5, R² = 0.64; against the guess 0 it is 1 − 3.6/55.
        let rows = Rows { x: (0..5).map(|x| vec![f64::from(x)]).collect(), y: vec![1.0, 3.0, 2.0, 5.0, 4.0] };
        let map = rows.fit(CUT);
        assert!((map.weights[0] - 0.8).abs() <= 1e-14 && (rows.r2(&map) - 0.64).abs() <= 1e-14);
        assert!((rows.r2_against(&map, 0.0) - (1.0 - 3.6 / 55.0)).abs() <= 1e-14);
    }

    #[test]
    fn an_input_that_others_determine_is_cut_and_changes_nothing() {
        let plain: Vec<_> = (0..8).map(|n| vec![f64::from(n), f64::from(n * n % 5)]).collect();
        let doubled = plain.iter().map(|row| vec![row[0], row[1], row[0] - row[1]]).collect();
        let y: Vec<_> = (0..8).map(|n| f64::from(n * 3 % 8)).collect();
        let (plain, doubled) = (Rows { x: plain, y: y.clone() }, Rows { x: doubled, y });
        let (one, other) = (plain.fit(CUT), doubled.fit(CUT));
        assert_eq!((one.rank, other.rank), (2, 2));
        assert!((plain.r2(&one) - doubled.r2(&other)).abs() <= 1e-12);
        assert!(other.condition() < 100.0, "{other:?}");
    }
}
