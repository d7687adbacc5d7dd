//! Matrix products: which kernel, in which pieces.
//!
//! The kernels race on a small product (`race`). The winner's rate also tells how much work fits into one dispatch.

use web_time::Instant;

use super::adapter::Device;
use super::engine::Engine;
use super::kernels::{Kernel, MATMUL_ANY, MATMUL_REGISTER, MATMUL_SHARED, MatmulParams, TILE};
use super::products::{Exact, Fast};
use super::rows::Reduction;
use super::tensor::{Buffer, Part, Tensor};
use crate::error::Result;

/// Aimed-at time of one dispatch: well under the time after which an operating system resets a GPU.
pub(super) const DISPATCH_MS: f64 = 50.0;
/// A race round this long tells the kernels apart in spite of the timer's grain.
pub(super) const RACE_MS: f64 = 4.0;
/// Rounds of a race that count.
const RACE_ROUNDS: usize = 4;
/// Widths of the race's square products, until a round takes long enough.
const RACE_WIDTHS: [usize; 5] = [64, 128, 256, 512, 1024];
/// A kernel this much slower than the best is out,
const RACE_MARGIN: f64 = 2.0;
/// where the best took at least so many milliseconds; of less, the browser's own share is too large to tell.
const RACE_LEAST_MS: f64 = 0.5;

/// A way to compute x·weightᵀ.
#[derive(Debug)]
pub struct Variant {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Outputs of one workgroup: rows, columns.
    pub tile: [usize; 2],
    /// The inner width must be a multiple of this.
    pub inner: usize,
}

/// Every way: the one for any inner width first, then those that compete.
pub static VARIANTS: &[Variant] = &[
    Variant { kernel: &MATMUL_ANY, tile: [4, 128], inner: 1 },
    Variant { kernel: &MATMUL_SHARED, tile: [TILE, TILE], inner: 4 },
    Variant { kernel: &MATMUL_REGISTER, tile: [64, 32], inner: 4 },
];

/// What the races found.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The fastest variant for inner widths that it can take.
    pub variant: &'static Variant,
    /// Floating-point operations per millisecond, two per product.
    pub flops_per_ms: f64,
    /// The fastest norms, softmax and log-likelihoods.
    pub reduction: Reduction,
    /// The faster exact second moments.
    pub exact: Exact,
    /// The fastest fast ones.
    pub fast: Fast,
}

impl Pace {
    /// A product with its rate, and the kernels that run everywhere.
    pub(super) const fn new(variant: &'static Variant, flops_per_ms: f64) -> Self {
        Self { variant, flops_per_ms, reduction: Reduction::Workgroup, exact: Exact::Planes, fast: Fast::Beside }
    }

    /// Whether a device has what all of it takes.
    pub(super) fn runs(&self, device: &Device) -> bool {
        device.runs(self.variant.kernel) && self.reduction.runs(device) && self.fast.runs(device)
    }

    /// The variant for an inner width.
    fn variant(&self, inner: usize) -> &'static Variant {
        if inner.is_multiple_of(self.variant.inner) { self.variant } else { &VARIANTS[0] }
    }

    /// Milliseconds that so many operations take.
    pub(super) fn ms(&self, flops: f64) -> f64 {
        flops / self.flops_per_ms
    }
}

/// One product: rows of x against the rows of a weight part.
pub(super) struct Product<'a> {
    pub(super) x: &'a Buffer,
    pub(super) rows: usize,
    pub(super) inner: usize,
    pub(super) weight: &'a Part,
    pub(super) bias: Option<&'a Buffer>,
    pub(super) out: &'a Buffer,
    pub(super) out_cols: usize,
}

/// Records a product in pieces of bounded time.
pub(super) fn record(engine: &Engine, pace: &Pace, product: &Product<'_>) {
    let variant = pace.variant(product.inner);
    let cols = product.weight.rows;
    let [tile_rows, tile_cols] = variant.tile;
    let tile_ms = pace.ms(2.0 * (tile_rows * tile_cols * product.inner) as f64);
    let [step_rows, step_cols] = piece(
        [product.rows.div_ceil(tile_rows), cols.div_ceil(tile_cols)],
        DISPATCH_MS / tile_ms,
        engine.device.max_workgroups(),
    );
    for tile_row in (0..product.rows.div_ceil(tile_rows)).step_by(step_rows) {
        for tile_col in (0..cols.div_ceil(tile_cols)).step_by(step_cols) {
            let groups_y = step_rows.min(product.rows.div_ceil(tile_rows) - tile_row);
            let groups_x = step_cols.min(cols.div_ceil(tile_cols) - tile_col);
            let params = MatmulParams {
                rows: product.rows as u32,
                cols: cols as u32,
                inner: product.inner as u32,
                first_row: (tile_row * tile_rows) as u32,
                first_col: (tile_col * tile_cols) as u32,
                out_stride: product.out_cols as u32,
                out_offset: product.weight.first_row as u32,
                has_bias: product.bias.is_some().into(),
            };
            let weight = &product.weight.buffer;
            let buffers = [product.x, weight, product.bias.unwrap_or(weight), product.out];
            let ms = (groups_x * groups_y) as f64 * tile_ms;
            engine.dispatch(variant.kernel, &params, &buffers, [groups_x as u32, groups_y as u32, 1], ms);
        }
    }
}

/// Cuts a grid of `tiles` into pieces of at most `most` tiles and `limit` tiles along a side, columns last.
pub(super) fn piece(tiles: [usize; 2], most: f64, limit: usize) -> [usize; 2] {
    let most = most.clamp(1.0, 1e9) as usize;
    let [rows, cols] = tiles.map(|side| side.clamp(1, limit));
    let cols = cols.min(most);
    [rows.min(most / cols).max(1), cols]
}

/// The variant whose kernel has this name.
pub(super) fn variant_named(name: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|variant| variant.kernel.name == name)
}

/// Lets the variants of a field, at least one, compete on square products and returns the fastest with its rate.
pub(super) async fn race(engine: &Engine, mut field: Vec<&'static Variant>) -> Result<Pace> {
    let mut best = Pace::new(field[0], 0.0);
    for width in RACE_WIDTHS {
        let times = square_ms(engine, &field, width).await?;
        let fastest = times.iter().copied().fold(f64::INFINITY, f64::min);
        let winner = times.iter().position(|ms| *ms <= fastest).unwrap_or(0);
        best = Pace::new(field[winner], 2.0 * (width as f64).powi(3) / fastest.max(1e-3));
        if fastest >= RACE_MS {
            break;
        }
        let mut kept = times.iter().map(|ms| *ms <= RACE_MARGIN * fastest.max(RACE_LEAST_MS));
        field.retain(|_| kept.next().unwrap_or(false));
    }
    Ok(best)
}

/// Milliseconds that every variant takes for a product of `width` × `width` matrices.
async fn square_ms(engine: &Engine, field: &[&'static Variant], width: usize) -> Result<Vec<f64>> {
    let zeros = Part { first_row: 0, rows: width, buffer: engine.zeros((4 * width * width) as u64) };
    let out = engine.output((4 * width * width) as u64);
    let product =
        Product { x: &zeros.buffer, rows: width, inner: width, weight: &zeros, bias: None, out: &out, out_cols: width };
    shortest_ms(engine, field.len(), |index| {
        // One piece whatever it takes.
        record(engine, &Pace::new(field[index], f64::INFINITY), &product);
        Ok(())
    })
    .await
}

/// Milliseconds of each of `count` ways to `record` the same work, submission and waiting included: the shortest of
/// several rounds in which they take turns, so that what else runs on the machine slows one as much as the other. A round
/// before these only builds their pipelines.
pub(super) async fn shortest_ms(
    engine: &Engine,
    count: usize,
    record: impl Fn(usize) -> Result<()>,
) -> Result<Vec<f64>> {
    let mut shortest = vec![f64::INFINITY; count];
    for round in 0..=RACE_ROUNDS {
        for (index, shortest) in shortest.iter_mut().enumerate() {
            record(index)?;
            let start = Instant::now();
            engine.wait().await?;
            if round > 0 {
                *shortest = shortest.min(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    Ok(shortest)
}

/// Records x·weightᵀ + bias for a weight in any number of parts.
pub(super) fn linear(
    engine: &Engine,
    pace: &Pace,
    x: (&Buffer, usize),
    weight: &Tensor,
    bias: Option<&Buffer>,
    out: &Buffer,
) {
    let (x, rows) = x;
    for part in weight.parts.iter() {
        let product =
            Product { x, rows, inner: weight.shape.cols, weight: part, bias, out, out_cols: weight.shape.rows };
        record(engine, pace, &product);
    }
}
