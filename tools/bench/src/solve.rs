//! Times one block's complete solve against one eigen-decomposition by the engine itself.

use std::hint::black_box;

use straightedge::backend::cpu::CpuBackend;
use straightedge::backend::{Backend, GramRows, GramShape, Shape as Sizes};
use straightedge::error::Result;
use straightedge::job::GramMode;
use straightedge::platform::random::Random;
use straightedge::solve::decompose;
use straightedge::stats::moments::{Moments, Scale};
use straightedge::workers::Workers;
use web_time::Instant;

use crate::clock::shortest_here;
use crate::results::SolveLine;

const FOLDS: usize = 5;

/// Times both at `width`.
pub(crate) async fn time(width: usize, workers: &Workers) -> Result<SolveLine> {
    let folds = moments(width).await?;
    let correlation = correlation(&folds[0]);
    // Interleaved, so that other load slows both.
    let (mut eigen_ms, mut block_ms) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..3 {
        eigen_ms = eigen_ms.min(shortest_here(|| {
            black_box(decompose(&correlation).is_ok());
        }));
        block_ms = block_ms.min(block(&folds, workers).await?);
    }
    decompose(&correlation)?;
    let ratio = block_ms / eigen_ms;
    Ok(SolveLine { width, folds: FOLDS, eigen_ms, block_ms, ratio })
}

/// Milliseconds of a block, solved as in a measurement.
async fn block(folds: &[Moments], workers: &Workers) -> Result<f64> {
    let started = Instant::now();
    black_box(workers.score(0, folds.to_vec(), 1).await?);
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// Moments of five folds with correlated columns and y partly linear in x.
async fn moments(width: usize) -> Result<Vec<Moments>> {
    let backend = CpuBackend::new();
    let rows = width + 64;
    let sizes = Sizes::new(rows, width);
    let mut random = Random::new(2);
    let mut values =
        |scale: f64| -> Vec<f32> { (0..rows * width).map(|_| (scale * random.symmetric()) as f32).collect() };
    let mut gram = None;
    for fold in 0..FOLDS {
        let mut x = values(1.0);
        for row in x.chunks_exact_mut(width) {
            for j in 1..width {
                row[j] += 0.9 * row[j - 1];
            }
        }
        let y: Vec<f32> = x.iter().zip(values(0.5)).map(|(x, noise)| x * x * 0.3 + x + noise).collect();
        if gram.is_none() {
            let shape = GramShape { d_in: width, d_out: width, folds: FOLDS, mode: GramMode::Exact };
            let (x, y) = (Scale::from_rows(&x, width), Scale::from_rows(&y, width));
            gram = Some(backend.gram(shape, &x, &y).await?);
        }
        let (x, y) = (backend.upload("x", sizes, &x)?, backend.upload("y", sizes, &y)?);
        if let Some(gram) = &mut gram {
            let first_row = fold * rows;
            let batch = GramRows { block: 0, fold, part: 0, first_row, x: &x, y: &y, seq_len: rows, skip_positions: 0 };
            backend.accumulate(gram, batch)?;
        }
    }
    match gram {
        Some(gram) => backend.moments(gram).await,
        None => Ok(Vec::new()),
    }
}

/// The correlation matrix the solver decomposes, row-major.
fn correlation(moments: &Moments) -> Vec<f64> {
    let (d, n) = (moments.sum_x.len(), moments.n as f64);
    let covariance = |i: usize, j: usize| moments.xx[i * d + j] / n - moments.sum_x[i] / n * moments.sum_x[j] / n;
    let deviations: Vec<f64> = (0..d).map(|j| covariance(j, j).sqrt()).collect();
    let entry = |at: usize| covariance(at / d, at % d) / (deviations[at / d] * deviations[at % d]);
    (0..d * d).map(entry).collect()
}
