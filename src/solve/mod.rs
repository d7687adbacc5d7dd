//! The least squares in double precision: fit, scores and rank curve from second moments alone.
//!
//! The cut of docs/measures.md, section 2, comes from the eigenvalues of the training correlation matrix, the solution
//! from a Cholesky factor in what they keep; the folds take no eigenvalues at all, certified fold by fold (`folds`). This
//! folder is the only place that names faer, and it has never heard of a GPU.

mod block;
mod deflated;
mod eigen;
mod eigenvalues;
mod fit;
mod folds;
mod inputs;
mod layer;
mod matrices;
mod parts;
mod project;
mod rank;
mod readout;
mod score;
mod training;
mod wire;

pub use block::score_block;
pub use eigen::{Eigen, decompose};
pub use fit::{AffineMap, LinearFit, RetainedSpace, TAU};
pub use inputs::{InputColumns, InputDistribution};
pub use layer::{LayerScore, score_layer};
pub use parts::{HeadlineFit, HeadlineScore, Remainder, RemainderScore};
pub use rank::{Directions, LowRankMap};
pub use readout::{Readout, raw_curvature, solve_readout, squared_error};
pub use score::{BlockScore, score_control};
