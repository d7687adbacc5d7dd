//! R² of the other folds, without an eigen-decomposition wherever the same kept directions can be proved.
//!
//! A fold's training rows share the null directions of the headline fit, such as those of a LayerNorm or of duplicated
//! columns. With V an orthonormal basis of them in the fold's own correlation matrix C, A = C + s·V·Vᵀ gives the
//! solution in the kept directions (`deflated`). Two conditions prove that the cut of docs/measures.md, section 2,
//! keeps exactly these, for any λ_max between its bounds s = ‖C‖²/tr C ≤ λ_max ≤ ‖C‖ (Frobenius): every Ritz value of C
//! on V is at most τ·s, so that at least as many eigenvalues are cut as V has columns (Courant and Fischer); and A −
//! τ·‖C‖ is positive definite, so that no more are cut (Weyl). If either fails, the fold is decomposed.
//!
//! Only a fold's error is kept, so every matrix is computed from the folds' sums when needed, symmetric ones as one
//! triangle, and W is stored transposed, in the memory order of the sums over x and y.

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, Mat};

use super::deflated::{Factor, add_diagonal, deflate, is_cut, leave_out, norm};
use super::fit::{LinearFit, TAU, VaryingColumns, few};
use super::matrices::PAR;
use super::project::HeldOutMoments;
use super::training::TrainingMoments;
use crate::error::Result;
use crate::stats::moments::Moments;

/// Σ‖y − ŷ‖² over `heldout` of the fit on `train`. `cut` are the directions of x, in raw units, that are expected to be
/// cut, d_in × any; `block` is named in errors.
pub(super) fn heldout_error(
    block: usize,
    train: &TrainingMoments<'_>,
    heldout: &Moments,
    cut: &Mat<f64>,
) -> Result<f64> {
    match proved_error(train, heldout, cut) {
        Some(error) => Ok(error),
        None => {
            let fit = LinearFit::new(block, train)?;
            Ok(HeldOutMoments::of(&fit, heldout).predict(&fit.weight).errors.iter().sum())
        }
    }
}

/// The same, where the cut can be proved.
pub(super) fn proved_error(train: &TrainingMoments<'_>, heldout: &Moments, cut: &Mat<f64>) -> Option<f64> {
    solve(train, cut).map(|(columns, weight)| error(&columns, &weight, train, heldout))
}

/// Wᵀ over the active columns in units of σ, d_out × active; `None` if the cut cannot be proved.
fn solve(train: &TrainingMoments<'_>, cut: &Mat<f64>) -> Option<(VaryingColumns, Mat<f64>)> {
    let columns = VaryingColumns::new(train);
    let d = columns.active.len();
    if d == 0 || !few(cut.ncols(), d) {
        return None;
    }
    let mut matrix = columns.correlation(train);
    let trace: f64 = (0..d).map(|j| matrix[(j, j)]).sum();
    let most = norm(&matrix);
    let least = most * most / trace;
    let null = null_directions(&columns, cut);
    if !is_cut(&matrix, &null, TAU * least) {
        return None;
    }
    deflate(&mut matrix, &null, least);
    let mut lowered = matrix.clone();
    add_diagonal(&mut lowered, -TAU * most);
    Factor::new(lowered)?;
    let factor = Factor::new(matrix)?;
    let mut weight = train.cross(&columns.active, &columns.inverse);
    leave_out(&null, weight.as_mut().transpose_mut());
    factor.whiten(weight.as_mut().transpose_mut());
    factor.weigh(weight.as_mut().transpose_mut());
    Some((columns, weight))
}

/// An orthonormal basis of the expected null directions, in units of the fold's σ.
fn null_directions(columns: &VaryingColumns, cut: &Mat<f64>) -> Mat<f64> {
    // A relation Σ n_j·x_j = 0 between raw columns is Σ (n_j·σ_j)·(x_j/σ_j) = 0 between scaled ones.
    let scaled =
        Mat::from_fn(columns.active.len(), cut.ncols(), |i, k| cut[(columns.active[i], k)] / columns.inverse[i]);
    if cut.ncols() == 0 { scaled } else { scaled.qr().compute_thin_Q() }
}

/// Σ‖y − ŷ‖² = Σyy − 2⟨W, Σxy⟩ + ⟨Σxx, W·Wᵀ⟩ about the training means; the last term uses symmetry.
fn error(columns: &VaryingColumns, weight: &Mat<f64>, train: &TrainingMoments<'_>, rows: &Moments) -> f64 {
    let (n, d_in, d_out) = (rows.n as f64, rows.d_in(), rows.d_out());
    let (own_x, own_y) = (rows.mean_x(), rows.mean_y());
    let (off_x, off_y) = (offset(&own_x, &train.mean_x), offset(&own_y, &train.mean_y));
    let mut square = Mat::<f64>::zeros(weight.ncols(), weight.ncols());
    let (half, whole) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    matmul(&mut square, half, Accum::Replace, weight.transpose(), whole, weight, whole, 1.0, PAR);
    let (mut explained, mut predicted) = (0.0, 0.0);
    for (q, (&j, scale)) in columns.active.iter().zip(&columns.inverse).enumerate() {
        // Σ(a − ā)(b − b̄)ᵀ = Σabᵀ + n·(offset·offsetᵀ − own·ownᵀ).
        let xy = rows.xy[j * d_out..][..d_out].iter().zip(own_y.iter().zip(&off_y));
        let xy = xy.map(|(sum, (own, off))| sum + n * (off_x[j] * off - own_x[j] * own));
        explained += scale * weight.col(q).iter().zip(xy).map(|(weight, xy)| weight * xy).sum::<f64>();
        let xx = |i: usize| rows.xx[j * d_in + i] + n * (off_x[i] * off_x[j] - own_x[i] * own_x[j]);
        let below = columns.active.iter().zip(&columns.inverse).zip(square.col(q).iter()).skip(q + 1);
        let below: f64 = below.map(|((&i, scale), square)| scale * square * xx(i)).sum();
        predicted += scale * (2.0 * below + scale * square[(q, q)] * xx(j));
    }
    let yy = rows.yy_diagonal.iter().zip(own_y.iter().zip(&off_y));
    let total: f64 = yy.map(|(sum, (own, off))| sum - n * own * own + n * off * off).sum();
    (total - 2.0 * explained + predicted).max(0.0)
}

fn offset(own: &[f64], train: &[f64]) -> Vec<f64> {
    own.iter().zip(train).map(|(own, mean)| own - mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Random;
    use crate::stats::moments::Scale;

    const FOLDS: usize = 5;
    const ROWS: usize = 400;
    const D_OUT: usize = 3;

    /// Folds of rows whose x comes from `row(fold, random)` and whose y is a noisy map of it.
    fn folds(d: usize, row: impl Fn(usize, &mut Random) -> Vec<f64>) -> Vec<Moments> {
        let mut random = Random::new(11);
        let weight: Vec<f64> = (0..d * D_OUT).map(|_| random.normal()).collect();
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for fold in 0..FOLDS {
            for _ in 0..ROWS {
                let values: Vec<f32> = row(fold, &mut random).into_iter().map(|x| x as f32).collect();
                for j in 0..D_OUT {
                    let dot: f64 = values.iter().zip(&weight[j * d..]).map(|(x, w)| f64::from(*x) * w).sum();
                    y.push((dot + 0.3 * random.normal()) as f32);
                }
                x.extend(values);
            }
        }
        let (scale_x, scale_y) = (Scale::from_rows(&x, d), Scale::from_rows(&y, D_OUT));
        let of_fold = |fold: usize| {
            let mut moments = Moments::of_fold(&scale_x, &scale_y, fold, FOLDS);
            moments.add_rows(&x[fold * ROWS * d..][..ROWS * d], &y[fold * ROWS * D_OUT..][..ROWS * D_OUT]);
            moments
        };
        (0..FOLDS).map(of_fold).collect()
    }

    /// Whether the cut is proved with `fold` held out; checks that the error is that of a decomposition in either case.
    fn is_certified(folds: &[Moments], fold: usize, tolerance: f64) -> bool {
        let headline = LinearFit::new(0, &TrainingMoments::all_but(folds, FOLDS - 1)).expect("a solution");
        let train = TrainingMoments::all_but(folds, fold);
        let found = heldout_error(0, &train, &folds[fold], &headline.kept.cut).expect("a solution");
        let fit = LinearFit::new(0, &train).expect("a solution");
        let unseen = HeldOutMoments::of(&fit, &folds[fold]);
        let expected: f64 = unseen.predict(&fit.weight).errors.iter().sum();
        let variation: f64 = unseen.yy.iter().sum();
        let off = (found - expected).abs() / variation;
        assert!(off <= tolerance, "fold {fold}: {found} where a decomposition gives {expected}, R² off by {off:e}");
        solve(&train, &headline.kept.cut).is_some()
    }

    /// Like a LayerNorm with weights over several decades: Σ x_j/γ_j = 0 up to rounding.
    fn layer_norm(x: &mut [f64]) {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        x.iter_mut().enumerate().for_each(|(j, x)| *x = (*x - mean) * 10f64.powi(j as i32 % 4 - 2) + j as f64);
    }

    #[test]
    fn every_condition_is_certified_with_a_null_direction_and_without() {
        for exponent in 0..=8 {
            let smallest = 10f64.powi(-exponent).sqrt();
            for null in [false, true] {
                let folds = folds(16, |_, random| {
                    let mut x: Vec<f64> = (0..16).map(|_| random.normal()).collect();
                    x[5] = x[1] + smallest * x[5];
                    if null {
                        layer_norm(&mut x);
                    }
                    x
                });
                for fold in 0..FOLDS - 1 {
                    assert!(is_certified(&folds, fold, 1e-9), "condition 1e{exponent}, null {null}, fold {fold}");
                }
            }
        }
    }

    #[test]
    fn a_massive_row_and_a_column_that_varies_in_one_fold_alone_are_certified() {
        let folds = folds(8, |fold, random| {
            let mut x: Vec<f64> = (0..8).map(|_| random.normal()).collect();
            layer_norm(&mut x);
            x[3] = if fold == 1 { x[3] } else { 2.0 };
            x[6] *= if random.uniform() < 0.003 { 1e4 } else { 1.0 };
            x
        });
        // Column 3 is constant without fold 1; in the other folds the null direction of the norm depends on it.
        (0..FOLDS - 1).for_each(|fold| {
            is_certified(&folds, fold, 1e-9);
        });
        assert!(is_certified(&folds, 1, 1e-9));
    }

    #[test]
    fn a_direction_that_a_fold_alone_has_or_lacks_is_left_to_a_decomposition() {
        // Columns 0 and 1 are equal except in one fold. If that is the headline's held-out fold, the headline cuts a
        // direction that every other fit keeps; if it is fold 2, holding that out cuts one that the headline keeps.
        for (apart, refused) in [(FOLDS - 1, [true, true, true, true]), (2, [false, false, true, false])] {
            let folds = folds(8, |fold, random| {
                let mut x: Vec<f64> = (0..8).map(|_| random.normal()).collect();
                x[1] = if fold == apart { x[1] } else { x[0] };
                x
            });
            for (fold, refused) in refused.into_iter().enumerate() {
                assert_eq!(is_certified(&folds, fold, 1e-12), !refused, "apart in {apart}, fold {fold}");
            }
        }
    }

    #[test]
    fn an_eigenvalue_at_the_cut_is_left_to_a_decomposition() {
        // About 2.2e-10, between τ times the lower and the upper bound of λ_max: nothing can be proved.
        let folds = folds(8, |_, random| {
            let mut x: Vec<f64> = (0..8).map(|_| random.normal()).collect();
            x[1] = x[0] + 2.1e-5 * x[1];
            x
        });
        assert!((0..FOLDS - 1).all(|fold| !is_certified(&folds, fold, 1e-9)));
    }
}
