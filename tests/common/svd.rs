//! Least squares by a singular value decomposition of the centred and scaled rows in double precision, as an
//! independent check of the engine, which uses second moments.

use faer::Mat;
use straightedge::solve::TAU;

/// An affine map from the columns of x to those of y.
pub(crate) struct Fit {
    mean_x: Vec<f64>,
    pub(crate) deviation_x: Vec<f64>,
    mean_y: Vec<f64>,
    /// For inputs with mean 0 and deviation 1, d_in × d_out.
    pub(crate) weight: Mat<f64>,
    pub(crate) rank: usize,
    /// Condition of the inputs' correlations: largest eigenvalue over the smallest kept.
    pub(crate) condition: f64,
}

/// Consecutive rows as a matrix.
pub(crate) fn matrix(rows: &[f32], cols: usize) -> Mat<f64> {
    Mat::from_fn(rows.len() / cols, cols, |i, j| f64::from(rows[i * cols + j]))
}

impl Fit {
    /// The least-squares fit of these rows.
    pub(crate) fn new(x: Mat<f64>, mut y: Mat<f64>) -> Self {
        let (mean_x, mean_y) = (means(&x), means(&y));
        let deviation = |j: usize| {
            let squares: f64 = x.col(j).iter().map(|x| (x - mean_x[j]).powi(2)).sum();
            (squares / x.nrows() as f64).sqrt()
        };
        let deviation_x: Vec<f64> = (0..x.ncols()).map(deviation).collect();
        add_to_rows(&mut y, &mean_y, -1.0);
        let svd = standardised(x, &mean_x, &deviation_x).thin_svd().expect("a decomposition");
        let singular: Vec<f64> = svd.S().column_vector().iter().copied().collect();
        // Eigenvalues of the correlations are the squares of these, and the cut is squared too.
        let rank = singular.iter().filter(|value| **value > TAU.sqrt() * singular[0]).count();
        let mut coefficients = svd.U().subcols(0, rank).transpose() * &y;
        for j in 0..y.ncols() {
            (0..rank).for_each(|k| coefficients[(k, j)] /= singular[k]);
        }
        let weight = svd.V().subcols(0, rank) * coefficients;
        let condition = (singular[0] / singular[rank - 1]).powi(2);
        Self { mean_x, deviation_x, mean_y, weight, rank, condition }
    }

    /// R² on other rows, against their own means.
    pub(crate) fn r2(&self, x: Mat<f64>, mut y: Mat<f64>) -> f64 {
        let own = means(&y);
        add_to_rows(&mut y, &own, -1.0);
        let total = y.squared_norm_l2();
        add_to_rows(&mut y, &own, 1.0);
        add_to_rows(&mut y, &self.mean_y, -1.0);
        1.0 - (y - standardised(x, &self.mean_x, &self.deviation_x) * &self.weight).squared_norm_l2() / total
    }
}

fn means(matrix: &Mat<f64>) -> Vec<f64> {
    (0..matrix.ncols()).map(|j| matrix.col(j).iter().sum::<f64>() / matrix.nrows() as f64).collect()
}

fn add_to_rows(matrix: &mut Mat<f64>, row: &[f64], factor: f64) {
    for (j, value) in row.iter().enumerate() {
        matrix.col_mut(j).iter_mut().for_each(|entry| *entry += factor * value);
    }
}

fn standardised(mut x: Mat<f64>, mean: &[f64], deviation: &[f64]) -> Mat<f64> {
    add_to_rows(&mut x, mean, -1.0);
    for (j, deviation) in deviation.iter().enumerate() {
        x.col_mut(j).iter_mut().for_each(|x| *x /= deviation);
    }
    x
}
