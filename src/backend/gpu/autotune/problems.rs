//! The problems on which kernels are timed.

use std::cell::RefCell;
use std::rc::Rc;

use super::contest::Timed;
use crate::backend::gpu::choice::KernelChoice;
use crate::backend::gpu::device::{Buffer, Engine, Part};
use crate::backend::gpu::kernels::exact::Exact;
use crate::backend::gpu::kernels::products::{VARIANTS, Variant};
use crate::backend::gpu::kernels::rows::{LAYER_NORM, NormParams, Reduction};
use crate::backend::gpu::matmul;
use crate::backend::gpu::products::{Digits, GramSums};
use crate::backend::gpu::sums::MAX_ROWS;
use crate::error::Result;
use crate::job::GramMode;

/// Rows of x, and rows and columns of the square weight. The last one is for fast GPUs: it has as many rows as one of
/// their batches, and runs longer on the device than its commands take to record.
const PRODUCTS: [[usize; 2]; 6] = [[64, 64], [128, 128], [256, 256], [512, 512], [1024, 1024], [8192, 1024]];
/// Rows of norms, and their columns.
const NORM_ROWS: [usize; 2] = [1024, 8192];
const NORM_COLS: usize = 768;
/// Rows of second moments: a full batch, because kernels differ in their cost per batch.
const GRAM_ROWS: usize = 1024;
/// Columns of second moments.
const GRAM_COLS: [usize; 4] = [128, 256, 512, 1024];

/// Floating-point operations of the timed products. In a browser they may exceed `usize`.
pub fn product_flops() -> [f64; PRODUCTS.len()] {
    PRODUCTS.map(|[rows, width]| 2.0 * rows as f64 * (width as f64).powi(2))
}

/// Milliseconds until the queue is empty after recording `repetitions` times.
async fn elapsed(engine: &Engine, repetitions: usize, record: impl Fn()) -> Result<f64> {
    let started = engine.waits.now();
    for _ in 0..repetitions {
        record();
    }
    engine.wait().await?;
    Ok(engine.waits.now() - started)
}

/// An input of zeros and an output, as large as the largest problem so far.
struct Buffers<'e> {
    engine: &'e Engine,
    pair: RefCell<Option<[Rc<Buffer>; 2]>>,
}

impl<'e> Buffers<'e> {
    fn new(engine: &'e Engine) -> Self {
        Self { engine, pair: RefCell::default() }
    }

    /// The two, of at least so many values each.
    fn of(&self, values: usize) -> [Rc<Buffer>; 2] {
        let bytes = 4 * values as u64;
        let mut pair = self.pair.borrow_mut();
        pair.take_if(|[zeros, _]| zeros.size < bytes);
        pair.get_or_insert_with(|| [self.engine.zeros(bytes), self.engine.output(bytes)]).clone()
    }
}

/// Matrix products.
pub(super) struct Products<'e> {
    buffers: Buffers<'e>,
    pub(super) variants: Vec<&'static Variant>,
}

impl<'e> Products<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        let runs = |variant: &&Variant| variant.inner > 1 && engine.device.runs(variant.kernel);
        Self { buffers: Buffers::new(engine), variants: VARIANTS.iter().filter(runs).collect() }
    }

    /// Floating-point operations of a product.
    pub(super) fn flops(&self, size: usize) -> f64 {
        product_flops()[size]
    }
}

impl Timed for Products<'_> {
    fn sizes(&self) -> usize {
        PRODUCTS.len()
    }

    async fn compiles(&self, kernel: usize) -> bool {
        self.buffers.engine.compiles(self.variants[kernel].kernel).await
    }

    async fn ms(&self, kernel: usize, size: usize, repetitions: usize) -> Result<f64> {
        let (engine, [rows, width]) = (self.buffers.engine, PRODUCTS[size]);
        let [zeros, out] = self.buffers.of(rows * width);
        let weight = Part { first_row: 0, rows: width, buffer: zeros.clone() };
        let (x, out) = (&*zeros, &*out);
        let product = matmul::Product { x, rows, inner: width, weight: &weight, bias: None, out, out_cols: width };
        // An infinite rate keeps the product in one dispatch.
        let choice = KernelChoice::new(self.variants[kernel], f64::INFINITY);
        elapsed(engine, repetitions, || matmul::record(engine, &choice, &product)).await
    }
}

/// Norms, timed for all kernels that reduce rows.
pub(super) struct Norms<'e> {
    buffers: Buffers<'e>,
    pub(super) reductions: Vec<Reduction>,
}

impl<'e> Norms<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        let reductions = Reduction::ALL.iter().copied().filter(|way| engine.device.runs(way.of(&LAYER_NORM))).collect();
        Self { buffers: Buffers::new(engine), reductions }
    }
}

impl Timed for Norms<'_> {
    fn sizes(&self) -> usize {
        NORM_ROWS.len()
    }

    async fn compiles(&self, kernel: usize) -> bool {
        self.buffers.engine.compiles(self.reductions[kernel].of(&LAYER_NORM)).await
    }

    async fn ms(&self, kernel: usize, size: usize, repetitions: usize) -> Result<f64> {
        let (engine, rows, cols) = (self.buffers.engine, NORM_ROWS[size], NORM_COLS);
        let [zeros, out] = self.buffers.of(rows * cols);
        let params = NormParams { rows: rows as u32, cols: cols as u32, eps: 1.0 };
        let (kernel, workgroups) = (self.reductions[kernel].of(&LAYER_NORM), engine.group_grid(rows));
        let buffers: [&Buffer; 4] = [&zeros, &zeros, &zeros, &out];
        elapsed(engine, repetitions, || engine.dispatch(kernel, &params, &buffers, workgroups, 0.0)).await
    }
}

/// Exact second moments of a batch.
pub(super) struct SecondMoments<'e> {
    engine: &'e Engine,
    choice: KernelChoice,
    pub(super) kernels: Vec<Exact>,
    sums: Vec<GramSums>,
}

impl<'e> SecondMoments<'e> {
    pub(super) fn new(engine: &'e Engine, choice: &KernelChoice) -> Result<Self> {
        let kernels = Exact::ALL.into_iter().filter(|exact| engine.device.runs(exact.kernel())).collect();
        let sums = GRAM_COLS.iter().map(|cols| GramSums::new(engine, "Σxxᵀ", *cols, *cols)).collect::<Result<_>>()?;
        Ok(Self { engine, choice: KernelChoice { flops_per_ms: f64::INFINITY, ..*choice }, kernels, sums })
    }

    /// Number of multiplications of two values.
    pub(super) fn products(&self, size: usize) -> f64 {
        (GRAM_ROWS * GRAM_COLS[size] * GRAM_COLS[size]) as f64
    }
}

impl Timed for SecondMoments<'_> {
    fn sizes(&self) -> usize {
        GRAM_COLS.len()
    }

    async fn compiles(&self, kernel: usize) -> bool {
        self.engine.compiles(self.kernels[kernel].kernel()).await
    }

    async fn ms(&self, kernel: usize, size: usize, repetitions: usize) -> Result<f64> {
        let choice = KernelChoice { exact: self.kernels[kernel], ..self.choice };
        let digits = Digits::new(self.engine, choice.form(GramMode::Exact), GRAM_ROWS, GRAM_COLS[size]);
        elapsed(self.engine, repetitions, || self.sums[size].add(self.engine, &choice, &digits, &digits, MAX_ROWS))
            .await
    }
}
