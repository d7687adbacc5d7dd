//! What was measured, as plain data: the JSON of `cargo xtask bench --out`.

use serde::{Deserialize, Serialize};

use crate::settings::{Settings, Shape};

/// All figures of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Version of this format.
    pub schema: u32,
    /// Where it ran.
    pub host: Host,
    /// What was asked for.
    pub settings: Settings,
    /// One entry per backend.
    pub devices: Vec<DeviceResults>,
    /// Other programs on the same machine in the same run.
    #[serde(default)]
    pub peers: Vec<Peer>,
}

/// The machine and the build.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Operating system and instruction set, or the browser.
    pub system: String,
    /// Name of the processor, where it is told.
    pub processor: Option<String>,
    /// Threads that can run at once.
    pub threads: usize,
    /// Processes that wanted to run on average over the last minute, before the benchmarks began.
    pub load: Option<f64>,
    /// Version of the engine.
    pub version: String,
    /// Commit that it was built from.
    pub commit: Option<String>,
}

/// One backend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceResults {
    /// `gpu` or `cpu`.
    pub backend: String,
    /// Name of the adapter; of a GPU.
    pub adapter: Option<String>,
    /// Whether the processor emulates it.
    pub software: bool,
    /// Kernels that were chosen.
    #[serde(default)]
    pub variants: Vec<String>,
    /// GFLOP/s of multiply-adds in registers alone.
    pub peak_gflops: Option<f64>,
    /// Every operation alone.
    #[serde(default)]
    pub kernels: Vec<KernelLine>,
    /// Second moments against the forward pass.
    #[serde(default)]
    pub gram: Option<GramLine>,
    /// One block's solve.
    #[serde(default)]
    pub solve: Option<SolveLine>,
    /// The complete measurement.
    #[serde(default)]
    pub whole: Option<WholeLine>,
    /// Small complete measurements, the base first.
    #[serde(default)]
    pub growth: Vec<WholeLine>,
    /// Why this backend has no figures.
    #[serde(default)]
    pub failure: Option<String>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelLine {
    /// The operation with its sizes.
    pub name: String,
    /// Rows (tokens) of one run.
    pub rows: usize,
    /// Milliseconds of one run.
    pub ms: f64,
    /// Operations that the result takes at least, a multiply-add counting two.
    pub gflops: f64,
    /// Gigabytes per second that must be read and written at least.
    pub gbytes: f64,
    /// Share of the peak of multiply-adds.
    pub share: Option<f64>,
}

/// Second moments against the forward pass that they accompany.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GramLine {
    /// The model.
    pub shape: Shape,
    /// Rows of one run.
    pub rows: usize,
    /// Milliseconds of the forward pass alone.
    pub forward_ms: f64,
    /// What exact second moments of every block add, of one forward pass.
    pub exact: f64,
    /// What fast ones add.
    pub fast: f64,
}

/// One block's complete solve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SolveLine {
    /// Inputs and outputs.
    pub width: usize,
    /// Folds.
    pub folds: usize,
    /// Milliseconds of one symmetric eigen-decomposition of this width by the same library.
    pub eigen_ms: f64,
    /// Milliseconds of the complete solve: R², rank, curve of ranks, participations, folds.
    pub block_ms: f64,
    /// Their ratio.
    pub ratio: f64,
}

/// A complete measurement, seconds by stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WholeLine {
    /// What it shows, such as `rows ×2`.
    pub name: String,
    /// The model.
    pub shape: Option<Shape>,
    /// Rows measured.
    pub rows: usize,
    /// Making the weights, which stands for reading them from a disk.
    pub made: f64,
    /// Decoding and uploading weights.
    pub load: f64,
    /// Hashing weights.
    pub hash: f64,
    /// Forward passes with second moments.
    pub measure: f64,
    /// Least squares and scores, beside the forward passes.
    pub solve: f64,
    /// Start to report, the making of weights left out.
    pub total: f64,
    /// Most bytes that the process held; in a browser its wasm memory.
    pub process_bytes: Option<u64>,
    /// Most bytes in buffers of the GPU; with a software adapter the process holds them.
    pub device_bytes: Option<u64>,
    /// Mean R² over the blocks: that something was measured.
    pub r2: Option<f64>,
}

/// Another program's time for the same work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Program and version.
    pub name: String,
    /// What it did.
    pub what: String,
    /// Where it computed.
    pub device: String,
    /// Figures by name: seconds, or GFLOP/s where the name says so.
    pub figures: Vec<(String, f64)>,
    /// Why there are none.
    #[serde(default)]
    pub failure: Option<String>,
}
