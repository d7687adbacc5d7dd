//! Measures the time second moments add to the forward pass.

use std::rc::Rc;

use straightedge::agreement::median;
use straightedge::backend::{Backend, GramRows, GramShape};
use straightedge::error::{Error, Result};
use straightedge::forward::Forward;
use straightedge::job::GramMode;
use straightedge::model::{self, ModelConfig};
use straightedge::platform::yielding::yield_now;
use straightedge::stats::moments::Scale;
use straightedge::weights::{Files, Weights};
use web_time::Instant;

use crate::model::SyntheticModel;
use crate::results::GramLine;
use crate::settings::{Settings, Shape};

/// Blocks of the model. The result is a ratio and all blocks are alike, so one is enough, and leaves time for the
/// engine's batch size on slow devices.
const LAYERS: usize = 1;
/// Milliseconds of a forward pass above which batches shrink to allow many rounds. Small batches pay relatively more
/// for the cost per batch, fetching the sums.
const SLOW_MS: f64 = 3000.0;
/// Most rounds: the result is the quotient of two long, nearly equal times.
const MOST_ROUNDS: usize = 100;
/// Fewest rounds: of three, one slow pass gave a quotient of 0.24 where twelve give 0.20.
const LEAST_ROUNDS: usize = 9;
/// Time budget in milliseconds for all passes of one kind.
const ROUNDS_MS: f64 = 7000.0;
/// Folds; only the last one gets Σyyᵀ.
const FOLDS: usize = 5;

/// Times forward passes without, with exact and with fast second moments, interleaved.
pub(crate) async fn time<B: Backend>(backend: &B, shape: Shape, settings: &Settings) -> Result<GramLine> {
    let small = Shape { layers: shape.layers.min(LAYERS), ..shape };
    let files = Rc::new(SyntheticModel::new(small, settings.seed));
    let config = files.read("config.json", 0..files.size("config.json").await?.unwrap_or(0)).await?;
    let config = ModelConfig::from_json(&String::from_utf8_lossy(&config))?;
    let weights = Weights::open(files).await?;
    let model = model::load(backend, &config, &weights, model::ModelParts::Body, &|_, _| {}).await?;
    let forward = Forward::new(backend, &model, settings.seq_len)?;
    let (seq_len, widest) = (settings.seq_len, config.widest());
    let mut bench = GramBench { backend, forward, seq_len, widest, ids: Vec::new() };
    bench.choose_rows(settings.seed).await?;

    let mut exact = bench.grams(GramMode::Exact).await?;
    let mut fast = bench.grams(GramMode::Fast).await?;
    // The first round prepares kernels and memory.
    let slowest = bench.round(&mut exact, &mut fast).await?.into_iter().fold(0.0, f64::max);
    let mut found = Vec::new();
    for _ in 0..rounds(slowest) {
        found.push(bench.round(&mut exact, &mut fast).await?);
    }
    let forward_ms = found.iter().map(|round| round[0]).fold(f64::INFINITY, f64::min);
    let added = |usual: usize| {
        let mean = |round: &[f64; 5]| {
            let most = (FOLDS - 1) as f64;
            (most * round[usual] + round[usual + 1]) / (FOLDS as f64 * round[0]) - 1.0
        };
        // The median, because other load lengthens passes of either kind.
        median(found.iter().map(mean).collect()).unwrap_or(f64::NAN)
    };
    let (rows, exact, fast) = (bench.ids.len(), added(1), added(3));
    Ok(GramLine { shape: small, rows, forward_ms, exact, fast })
}

struct GramBench<'a, B: Backend> {
    backend: &'a B,
    forward: Forward<'a, B>,
    seq_len: usize,
    /// Widest tensor of a batch, which limits the batch's rows.
    widest: usize,
    ids: Vec<u32>,
}

impl<B: Backend> GramBench<'_, B> {
    /// Chooses the number of windows: the engine's batch, unless a pass then exceeds its time.
    async fn choose_rows(&mut self, seed: u64) -> Result<()> {
        self.ids = SyntheticModel::tokens(self.seq_len, seed);
        self.forward_ms().await?;
        let ms = self.forward_ms().await?;
        let windows = ((SLOW_MS / ms) as usize).clamp(1, (self.backend.batch_rows(self.widest) / self.seq_len).max(1));
        self.ids = SyntheticModel::tokens(windows * self.seq_len, seed);
        Ok(())
    }

    /// Milliseconds of every kind of pass, interleaved so that other load slows down all of them: without second
    /// moments; with exact ones, for a usual fold and for the last one; with fast ones, for both.
    async fn round(&self, exact: &mut [B::Gram], fast: &mut [B::Gram]) -> Result<[f64; 5]> {
        Ok([
            self.forward_ms().await?,
            self.with_grams_ms(exact, 0).await?,
            self.with_grams_ms(exact, FOLDS - 1).await?,
            self.with_grams_ms(fast, 0).await?,
            self.with_grams_ms(fast, FOLDS - 1).await?,
        ])
    }

    async fn forward_ms(&self) -> Result<f64> {
        yield_now().await;
        let started = Instant::now();
        self.forward.run(&self.ids, &mut |_| Ok(()))?;
        self.backend.wait().await?;
        Ok(started.elapsed().as_secs_f64() * 1e3)
    }

    /// Accumulators of every block, calibrated on the batch like the engine's.
    async fn grams(&self, mode: GramMode) -> Result<Vec<B::Gram>> {
        let mut rows = Vec::new();
        self.forward.run(&self.ids, &mut |capture| {
            rows.push((capture.ffn_in, capture.ffn_out));
            Ok(())
        })?;
        let mut grams = Vec::new();
        for (x, y) in &rows {
            let (d_in, d_out) = (self.backend.shape(x).cols, self.backend.shape(y).cols);
            let scale_x = Scale::from_rows(&self.backend.read(x).await?, d_in);
            let scale_y = Scale::from_rows(&self.backend.read(y).await?, d_out);
            let shape = GramShape { d_in, d_out, folds: FOLDS, mode };
            grams.push(self.backend.gram(shape, &scale_x, &scale_y).await?);
        }
        Ok(grams)
    }

    async fn with_grams_ms(&self, grams: &mut [B::Gram], fold: usize) -> Result<f64> {
        yield_now().await;
        let started = Instant::now();
        self.forward.run(&self.ids, &mut |capture| {
            let gram = grams.get_mut(capture.block).ok_or(Error::Cancelled)?;
            let (x, y) = (&capture.ffn_in, &capture.ffn_out);
            let (block, seq_len) = (capture.block, self.seq_len);
            let rows = GramRows { block, fold, part: 0, first_row: 0, x, y, seq_len, skip_positions: 0 };
            self.backend.accumulate(gram, rows)
        })?;
        for gram in grams {
            self.backend.batch_end(Some(gram)).await?;
        }
        self.backend.wait().await?;
        Ok(started.elapsed().as_secs_f64() * 1e3)
    }
}

/// Number of rounds if the slowest pass takes `ms`.
fn rounds(ms: f64) -> usize {
    ((ROUNDS_MS / ms) as usize).clamp(LEAST_ROUNDS, MOST_ROUNDS)
}
