//! The operations of [`crate::backend::Backend`] as WGSL kernels on WebGPU, natively and in a browser.
//!
//! In reading order: [`kernels`] lists the shaders, which `lean` strips of comments; `adapter` finds and opens a device;
//! `tensor` owns its buffers; `engine` records and submits, as much at a time as `pacer` plans; `wait` waits and reads back; `ops` are the operations, of which [`matmul`] and `attention`
//! cut large work into pieces and [`rows`] take a row as a whole; [`autotune`] finds the fastest kernels; `training` adds
//! what gradients need; `packed` keeps weights in 16 bits; `gram` accumulates second moments in 64-bit `sums` of what
//! [`quantise`] describes, by [`products`] with the kernels in [`gram_kernels`]. Nothing here knows what a transformer is.

mod adapter;
mod attention;
pub mod autotune;
mod engine;
mod gram;
pub mod gram_kernels;
pub mod kernels;
mod lean;
pub mod matmul;
mod ops;
mod pacer;
mod packed;
pub mod products;
pub mod quantise;
pub mod rows;
mod sums;
mod tensor;
mod training;
mod wait;

use std::cell::OnceCell;

use crate::backend::{
    Activation, Adam, AdamStep, AttentionShape, BATCH_ROWS, Backend, GramRows, GramShape, Rotary, Shape, Storage,
};
use crate::error::{Error, Result};
use crate::job::{BackendChoice, GramMode};
use crate::moments::{Moments, Scale};
use crate::report::DeviceInfo;

pub use adapter::{Probe, probe};
use engine::Engine;
pub use gram::Gram;
use kernels::Kernel;
use matmul::{Pace, Variant};
use products::Exact;
use rows::Reduction;
pub use tensor::{Memory, Tensor};
pub use wait::Counts;

/// Floating-point operations per millisecond of a device that a batch of the usual size keeps busy: twice as fast, and it
/// gets twice the rows.
const FLOPS_PER_MS_OF_BATCH: f64 = 2e9;
/// Rows of a batch at most.
const MOST_BATCH_ROWS: usize = 8192;
/// Bytes of the widest tensor of a batch.
const BATCH_BYTES: usize = 64 << 20;

/// The operations on one GPU.
pub struct GpuBackend {
    engine: Engine,
    pace: Pace,
    /// The kernel of exact second moments and its cost, once they have been asked for.
    exact: OnceCell<(Exact, Option<f64>)>,
    /// Most bytes in one buffer of a tensor.
    part_bytes: u64,
    /// Rows between spills of 64-bit sums, where not the most possible.
    spill_rows: Option<u64>,
}

/// How a [`GpuBackend`] departs from what is best on its adapter; for tests and benchmarks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Fill every output with NaN before the kernel that writes it.
    pub poison: bool,
    /// Split tensors into parts of at most so many bytes instead of the adapter's limit.
    pub part_bytes: Option<u64>,
    /// With `flops_per_ms`: use this matrix product, without timing any.
    pub matmul: Option<&'static Variant>,
    /// With `matmul`: plan as if the device did so many floating-point operations per millisecond.
    pub flops_per_ms: Option<f64>,
    /// Reduce rows so, whatever is faster.
    pub reduction: Option<Reduction>,
    /// Make exact products so, whatever is faster.
    pub exact: Option<Exact>,
    /// Spill 64-bit sums after so many rows instead of when they could overflow.
    pub spill_rows: Option<u64>,
    /// Let answers of the device come at multiples of so many milliseconds, as Firefox does; natively.
    pub answer_grid_ms: Option<f64>,
    /// Compile this in place of a kernel's text: WGSL with the overrides' values in it.
    pub rewrite: Option<Rewrite>,
}

/// Another text of a kernel.
pub type Rewrite = fn(&'static Kernel) -> String;

impl GpuBackend {
    /// Opens the best adapter. [`BackendChoice::Auto`] refuses one that computes on the CPU, where the CPU backend is
    /// faster.
    pub async fn new(choice: BackendChoice) -> Result<Self> {
        Self::open(choice, Options::default()).await
    }

    /// Opens the best adapter, whatever it is, with options.
    pub async fn with(options: Options) -> Result<Self> {
        Self::open(BackendChoice::Gpu, options).await
    }

    /// Opens the adapter that a choice allows, with options.
    pub async fn open(choice: BackendChoice, options: Options) -> Result<Self> {
        let mut engine = Engine::new(adapter::open(choice).await?, options.poison);
        engine.rewrite = options.rewrite;
        engine.waits.set_grid(options.answer_grid_ms);
        let mut pace = match (options.matmul, options.flops_per_ms) {
            (Some(variant), Some(flops_per_ms)) => Pace::new(variant, flops_per_ms),
            _ => autotune::tune(&engine).await?,
        };
        pace.reduction = options.reduction.unwrap_or(pace.reduction);
        let exact = options.exact.or(options.matmul.map(|_| pace.exact));
        if !pace.runs(&engine.device) {
            return Err(Error::NoAdapter { why: "this one lacks what the kernels that were asked for need".into() });
        }
        let limit = engine.device.max_bytes();
        Ok(Self {
            part_bytes: options.part_bytes.unwrap_or(limit).min(limit),
            spill_rows: options.spill_rows,
            exact: exact.map(|exact| OnceCell::from((exact, None))).unwrap_or_default(),
            engine,
            pace,
        })
    }

    /// Whether the adapter computes on the CPU.
    pub fn is_software(&self) -> bool {
        self.engine.device.probe.is_software
    }

    /// The kernels in use, and the rate of the matrix product.
    pub fn pace(&self) -> Pace {
        let (exact, exact_flops) = self.exact.get().copied().unwrap_or((self.pace.exact, self.pace.exact_flops));
        Pace { exact, exact_flops, ..self.pace }
    }

    /// What the device was asked for since it was opened.
    pub fn counts(&self) -> Counts {
        self.engine.waits.counts()
    }

    fn device_info(&self) -> DeviceInfo {
        self.engine.device.probe.info.clone()
    }
}

impl Backend for GpuBackend {
    type Tensor = Tensor;
    type Gram = Gram;

    const IN_MEMORY: bool = false;

    fn info(&self) -> DeviceInfo {
        self.device_info()
    }

    fn batch_rows(&self, widest: usize) -> usize {
        let by_memory = BATCH_BYTES / (4 * widest.max(1));
        let by_rate = BATCH_ROWS as f64 * self.pace.flops_per_ms / FLOPS_PER_MS_OF_BATCH;
        // The largest power of two, so that rates that differ little make no difference.
        let rows = by_memory.min(by_rate as usize).clamp(BATCH_ROWS, MOST_BATCH_ROWS);
        1 << rows.ilog2()
    }

    fn has_coarse_times(&self) -> bool {
        self.engine.waits.idle().is_coarse()
    }

    fn upload(&self, name: &str, shape: Shape, data: &[f32]) -> Result<Tensor> {
        self.upload_rows(name, shape, data)
    }

    fn upload_stored(&self, name: &str, shape: Shape, data: &[f32], storage: Storage) -> Result<Tensor> {
        match packed::pack(data, shape.cols, storage) {
            Some(words) => self.upload_words(name, shape, &words, storage),
            None => self.upload_rows(name, shape, data),
        }
    }

    fn shape(&self, tensor: &Tensor) -> Shape {
        tensor.shape
    }

    async fn read_all(&self, tensors: &[&Tensor]) -> Result<Vec<Vec<f32>>> {
        self.read_rows(tensors).await
    }

    fn gather(&self, table: &Tensor, ids: &[u32]) -> Result<Tensor> {
        self.gather_rows(table, ids)
    }

    fn layer_norm(&self, x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
        self.layer_norm_rows(x, weight, bias, eps)
    }

    fn rms_norm(&self, x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
        self.rms_norm_rows(x, weight, eps)
    }

    fn linear(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        self.linear_map(x, weight, bias)
    }

    fn rotate(&self, x: &Tensor, rotary: &Rotary<Tensor>) -> Result<Tensor> {
        self.rotate_heads(x, rotary)
    }

    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor, shape: AttentionShape) -> Result<Tensor> {
        self.attend(q, k, v, shape)
    }

    fn activation(&self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        self.activate(x, None, activation)
    }

    fn gated(&self, gate: &Tensor, up: &Tensor, activation: Activation) -> Result<Tensor> {
        self.activate(gate, Some(up), activation)
    }

    fn standardise(&self, x: &Tensor, mean: &Tensor, scale: &Tensor) -> Result<Tensor> {
        self.standardise_columns(x, mean, scale)
    }

    fn row_cosines(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        self.cosines(a, b)
    }

    fn row_distance_ratios(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        self.distance_ratios(a, b)
    }

    fn next_token_nll(&self, logits: &Tensor, targets: &[u32]) -> Result<Tensor> {
        self.nll(logits, targets)
    }

    fn transpose(&self, x: &Tensor) -> Result<Tensor> {
        self.transposed(x)
    }

    fn combine(&self, a: &Tensor, alpha: f64, b: &Tensor, beta: f64) -> Result<Tensor> {
        self.combination(a, alpha as f32, b, beta as f32)
    }

    fn gelu_gradient(&self, x: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        self.through_gelu(x, gradient)
    }

    fn adam(&self, state: &Adam<Tensor>, gradient: &Tensor, step: &AdamStep) -> Result<Adam<Tensor>> {
        self.adam_step(state, gradient, step)
    }

    async fn gram(&self, shape: GramShape, x: &Scale, y: &Scale) -> Result<Gram> {
        if shape.mode == GramMode::Exact && self.exact.get().is_none() {
            let tuned = autotune::tune_exact(&self.engine, &self.pace).await?;
            self.exact.get_or_init(|| tuned);
        }
        Gram::new(&self.engine, shape, x, y, self.spill_rows)
    }

    fn accumulate(&self, gram: &mut Gram, rows: GramRows<'_, Tensor>) -> Result<()> {
        gram.accumulate(&self.engine, &self.pace(), rows)
    }

    async fn batch_end(&self, gram: Option<&mut Gram>) -> Result<()> {
        match gram {
            Some(gram) => gram::settle(&self.engine, gram, 1).await,
            None => self.engine.wait_for_batch_before().await,
        }
    }

    async fn wait(&self) -> Result<()> {
        self.engine.wait().await
    }

    async fn moments(&self, mut gram: Gram) -> Result<Vec<Moments>> {
        gram::settle(&self.engine, &mut gram, 0).await?;
        gram.moments(&self.engine).await
    }
}
