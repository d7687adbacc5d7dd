//! Second moments of a block's rows: all that the fit needs, in memory that does not grow with the rows.
//!
//! Sums are of **shifted** values x − shift, y − shift: centring first matters more for the sixth digit than any
//! other choice. The shift and the power-of-two scale of a column come from the first batch ([`Scale`]).

/// Shift and scale of the columns of x or of y, fixed before the first row is accumulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Per column: subtracted from every value.
    pub shift: Vec<f32>,
    /// Per column e: shifted values below 2^e in magnitude are within the scale; −100 ≤ e ≤ 120.
    pub exponent: Vec<i32>,
}

/// Sums over the rows of one fold, of values shifted per column.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// Rows.
    pub n: u64,
    /// Per column of x (d_in).
    pub shift_x: Vec<f64>,
    /// Per column of y (d_out).
    pub shift_y: Vec<f64>,
    /// Σ(x − shift), d_in.
    pub sum_x: Vec<f64>,
    /// Σ(y − shift), d_out.
    pub sum_y: Vec<f64>,
    /// Σ(x − shift)(x − shift)ᵀ, row-major d_in × d_in, both triangles.
    pub xx: Vec<f64>,
    /// Σ(x − shift)(y − shift)ᵀ, row-major d_in × d_out.
    pub xy: Vec<f64>,
    /// Diagonal of Σ(y − shift)(y − shift)ᵀ, d_out.
    pub yy_diagonal: Vec<f64>,
    /// All of Σ(y − shift)(y − shift)ᵀ, row-major d_out × d_out; only for the held-out fold.
    pub yy: Option<Vec<f64>>,
    /// Largest |x| per column, unshifted, d_in.
    pub max_abs_x: Vec<f64>,
}
