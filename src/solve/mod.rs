//! Least squares in double precision: fit, scores and rank curve from second moments alone.
//!
//! The cut of docs/measures.md, section 2, comes from the eigenvalues of the training correlation matrix, and the
//! solution from a Cholesky factor in the kept directions. The other folds need no eigenvalues where the cut can be
//! proved (`folds`). Only this folder uses faer, and it does not depend on a GPU.

mod block;
mod canonical;
mod deflated;
mod eigen;
mod eigenvalues;
mod fit;
mod folds;
mod inputs;
mod layer;
mod learning;
mod matrices;
mod neighbours;
mod parts;
mod precision;
mod project;
mod rank;
mod readout;
mod ridge;
mod score;
mod support;
mod training;
mod wire;

pub use block::score_block;
pub use canonical::{CanonicalScore, canonical_score};
pub use eigen::{Eigen, decompose};
pub use fit::{AffineMap, LinearFit, RetainedSpace, TAU};
pub use inputs::{InputColumns, InputDistribution};
pub use layer::{LayerScore, fit_map, score_layer};
pub use learning::FoldRuns;
pub use neighbours::intrinsic_dimension;
pub use parts::{HeadlineFit, HeadlineScore, Remainder, RemainderScore};
pub use rank::{Directions, LowRankMap};
pub use readout::{Readout, raw_curvature, solve_readout, squared_error};
pub use ridge::ridge_error;
pub use score::{BlockScore, EFFECTIVE_SHARE, score_control};
