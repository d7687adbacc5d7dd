//! The GPU backend, and its options for tests.

use std::cell::OnceCell;

use super::autotune;
use super::choice::KernelChoice;
use super::device::{Engine, Rewrite, adapter};
use super::kernels::exact::Exact;
use super::kernels::products::Variant;
use super::kernels::rows::Reduction;
use crate::error::{Error, Result};
use crate::job::BackendChoice;

/// Why a device is not opened with kernels that it cannot run.
pub const LACKS_FEATURE: &str = "this adapter lacks a feature that the requested kernels need";

/// The operations on one GPU.
pub struct GpuBackend {
    pub(super) engine: Engine,
    pub(super) choice: KernelChoice,
    /// The kernel for exact second moments and its cost, tuned on first use.
    pub(super) exact: OnceCell<(Exact, Option<f64>)>,
    /// Maximum bytes of a tensor in one buffer.
    pub(super) part_bytes: u64,
    /// Rows after which 64-bit sums are carried; the maximum if `None`.
    pub(super) carry_rows: Option<u64>,
    /// Rows per batch, if overridden.
    pub(super) batch_rows: Option<usize>,
}

/// Overrides of a [`GpuBackend`]'s defaults, for tests and benchmarks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Fill every output with NaN before the kernel that writes it.
    pub poison: bool,
    /// Split tensors into parts of at most this many bytes instead of the adapter's limit.
    pub part_bytes: Option<u64>,
    /// With `flops_per_ms`: use this matrix product and skip autotuning.
    pub matmul: Option<&'static Variant>,
    /// With `matmul`: assume this many floating-point operations per millisecond.
    pub flops_per_ms: Option<f64>,
    /// Use this kernel for row reductions.
    pub reduction: Option<Reduction>,
    /// Use this kernel for exact second moments.
    pub exact: Option<Exact>,
    /// Do without subgroups and packed dot products.
    pub without_optional_features: bool,
    /// Carry 64-bit sums after this many rows instead of when they could overflow.
    pub carry_rows: Option<u64>,
    /// Use this many rows per batch.
    pub batch_rows: Option<usize>,
    /// Delay device callbacks to multiples of this many milliseconds, as Firefox does; native only.
    pub answer_grid_ms: Option<f64>,
    /// Round the clock down to multiples of this many milliseconds, as browsers do that hide precise times.
    pub clock_grain_ms: Option<f64>,
    /// Compile this in place of a kernel's source: WGSL with the overrides' values filled in.
    pub rewrite: Option<Rewrite>,
}

impl GpuBackend {
    /// Opens the best adapter. [`BackendChoice::Auto`] refuses a software adapter, because the CPU backend is faster.
    pub async fn new(choice: BackendChoice) -> Result<Self> {
        Self::open(choice, Options::default()).await
    }

    /// Opens the best adapter, software or hardware, with options.
    pub async fn with(options: Options) -> Result<Self> {
        Self::open(BackendChoice::Gpu, options).await
    }

    /// Opens the best adapter that `choice` allows, with options.
    pub async fn open(choice: BackendChoice, options: Options) -> Result<Self> {
        Self::open_with_progress(choice, options, &|_, _| ()).await
    }

    /// [`GpuBackend::open`]; `on_progress` receives how many kernels of how many are prepared.
    pub async fn open_with_progress(
        choice: BackendChoice,
        options: Options,
        on_progress: &dyn Fn(usize, usize),
    ) -> Result<Self> {
        let mut device = adapter::open(choice).await?;
        if options.without_optional_features {
            device.drop_optional_features();
        }
        let mut engine = Engine::new(device, options.poison);
        engine.rewrite = options.rewrite;
        engine.waits.set_grid(options.answer_grid_ms);
        engine.waits.set_grain(options.clock_grain_ms);
        let mut choice = match (options.matmul, options.flops_per_ms) {
            (Some(variant), Some(flops_per_ms)) => KernelChoice::new(variant, flops_per_ms),
            _ => autotune::tune(&engine, on_progress).await?,
        };
        choice.reduction = options.reduction.unwrap_or(choice.reduction);
        let exact = options.exact.or(options.matmul.map(|_| choice.exact));
        if !(KernelChoice { exact: exact.unwrap_or(choice.exact), ..choice }).runs(&engine.device) {
            return Err(Error::NoAdapter { why: LACKS_FEATURE.into() });
        }
        let limit = engine.device.max_bytes();
        Ok(Self {
            part_bytes: options.part_bytes.unwrap_or(limit).min(limit),
            carry_rows: options.carry_rows,
            batch_rows: options.batch_rows,
            exact: exact.map(|exact| OnceCell::from((exact, None))).unwrap_or_default(),
            engine,
            choice,
        })
    }

    /// Whether the adapter computes on the CPU.
    pub fn is_software(&self) -> bool {
        self.engine.device.probe.is_software
    }

    /// The kernels in use, and the rate of the matrix product.
    pub fn kernel_choice(&self) -> KernelChoice {
        let (exact, exact_flops) = self.exact.get().copied().unwrap_or((self.choice.exact, self.choice.exact_flops));
        KernelChoice { exact, exact_flops, ..self.choice }
    }
}
