//! The problems on which kernels are timed.

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

/// Widths of square matrix products.
const WIDTHS: [usize; 5] = [64, 128, 256, 512, 1024];
/// Rows and columns of a norm.
const NORM: [usize; 2] = [1024, 768];
/// Rows of second moments: a full batch, because kernels differ in their cost per batch.
const GRAM_ROWS: usize = 1024;
/// Columns of second moments.
const GRAM_COLS: [usize; 4] = [128, 256, 512, 1024];
/// Milliseconds until the queue is empty after recording `repetitions` times.
async fn elapsed(engine: &Engine, repetitions: usize, record: impl Fn()) -> Result<f64> {
    let started = engine.waits.now();
    for _ in 0..repetitions {
        record();
    }
    engine.wait().await?;
    Ok(engine.waits.now() - started)
}

/// Products of square matrices.
pub(super) struct Products<'e> {
    engine: &'e Engine,
    pub(super) variants: Vec<&'static Variant>,
    zeros: Rc<Buffer>,
    out: Rc<Buffer>,
}

impl<'e> Products<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        let [.., widest] = WIDTHS;
        let bytes = 4 * (widest * widest) as u64;
        let runs = |variant: &&Variant| variant.inner > 1 && engine.device.runs(variant.kernel);
        Self {
            engine,
            variants: VARIANTS.iter().filter(runs).collect(),
            zeros: engine.zeros(bytes),
            out: engine.output(bytes),
        }
    }

    /// Floating-point operations of a product.
    pub(super) fn flops(&self, size: usize) -> f64 {
        2.0 * (WIDTHS[size] as f64).powi(3)
    }
}

impl Timed for Products<'_> {
    fn sizes(&self) -> usize {
        WIDTHS.len()
    }

    async fn ms(&self, kernel: usize, size: usize, repetitions: usize) -> Result<f64> {
        let width = WIDTHS[size];
        let weight = Part { first_row: 0, rows: width, buffer: self.zeros.clone() };
        let (x, out) = (&*self.zeros, &*self.out);
        let product =
            matmul::Product { x, rows: width, inner: width, weight: &weight, bias: None, out, out_cols: width };
        // An infinite rate keeps the product in one dispatch.
        let choice = KernelChoice::new(self.variants[kernel], f64::INFINITY);
        elapsed(self.engine, repetitions, || matmul::record(self.engine, &choice, &product)).await
    }
}

/// Norms, timed for all kernels that reduce rows.
pub(super) struct Norms<'e> {
    engine: &'e Engine,
    pub(super) reductions: Vec<Reduction>,
    zeros: Rc<Buffer>,
    out: Rc<Buffer>,
}

impl<'e> Norms<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        let bytes = 4 * NORM.iter().product::<usize>() as u64;
        let reductions = Reduction::ALL.iter().copied().filter(|way| engine.device.runs(way.of(&LAYER_NORM))).collect();
        Self { engine, reductions, zeros: engine.zeros(bytes), out: engine.output(bytes) }
    }
}

impl Timed for Norms<'_> {
    fn sizes(&self) -> usize {
        1
    }

    async fn ms(&self, kernel: usize, _size: usize, repetitions: usize) -> Result<f64> {
        let [rows, cols] = NORM;
        let params = NormParams { rows: rows as u32, cols: cols as u32, eps: 1.0 };
        let (kernel, workgroups) = (self.reductions[kernel].of(&LAYER_NORM), self.engine.group_grid(rows));
        let buffers: [&Buffer; 4] = [&self.zeros, &self.zeros, &self.zeros, &self.out];
        elapsed(self.engine, repetitions, || self.engine.dispatch(kernel, &params, &buffers, workgroups, 0.0)).await
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

    async fn ms(&self, kernel: usize, size: usize, repetitions: usize) -> Result<f64> {
        let choice = KernelChoice { exact: self.kernels[kernel], ..self.choice };
        let digits = Digits::new(self.engine, choice.form(GramMode::Exact), GRAM_ROWS, GRAM_COLS[size]);
        elapsed(self.engine, repetitions, || self.sums[size].add(self.engine, &choice, &digits, &digits, MAX_ROWS))
            .await
    }
}
