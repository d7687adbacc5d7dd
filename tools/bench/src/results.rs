//! The results as plain data: the JSON of `cargo xtask bench --out`.

use serde::{Deserialize, Serialize};

use crate::settings::{Settings, Shape};

/// All figures of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Version of this format.
    pub schema: u32,
    /// The machine.
    pub host: Host,
    /// The settings.
    pub settings: Settings,
    /// One entry per backend.
    pub devices: Vec<DeviceResults>,
    /// Other programs, measured on the same machine in the same run.
    #[serde(default)]
    pub peers: Vec<Peer>,
}

/// The machine and the build.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Operating system and instruction set, or the browser.
    pub system: String,
    /// Name of the processor, if known.
    pub processor: Option<String>,
    /// Number of hardware threads.
    pub threads: usize,
    /// Load average over the last minute before the benchmarks.
    pub load: Option<f64>,
    /// Version of the engine.
    pub version: String,
    /// Commit it was built from.
    pub commit: Option<String>,
}

/// One backend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceResults {
    /// `gpu` or `cpu`.
    pub backend: String,
    /// Name of the GPU adapter.
    pub adapter: Option<String>,
    /// Whether it is a software adapter.
    pub software: bool,
    /// Chosen kernels.
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
    /// GFLOP/s by the minimum number of operations, a multiply-add counting two.
    pub gflops: f64,
    /// GB/s by the minimum number of bytes read and written.
    pub gbytes: f64,
    /// Share of the peak of multiply-adds.
    pub share: Option<f64>,
}

/// Cost of second moments relative to the forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GramLine {
    /// The model.
    pub shape: Shape,
    /// Rows of one run.
    pub rows: usize,
    /// Milliseconds of the forward pass alone.
    pub forward_ms: f64,
    /// Time added by exact second moments of every block, relative to one forward pass.
    pub exact: f64,
    /// Time added by fast ones.
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
    /// Its name, such as `rows ×2`.
    pub name: String,
    /// The model.
    pub shape: Option<Shape>,
    /// Rows measured.
    pub rows: usize,
    /// Generating the weights, in place of reading them from a disk.
    pub made: f64,
    /// Decoding and uploading weights.
    pub load: f64,
    /// Hashing weights.
    pub hash: f64,
    /// Forward passes with second moments.
    pub measure: f64,
    /// Least squares and scores, concurrent with the forward passes.
    pub solve: f64,
    /// Start to report, without generating the weights.
    pub total: f64,
    /// Peak bytes of the process; in a browser its wasm memory.
    pub process_bytes: Option<u64>,
    /// Peak bytes in GPU buffers; with a software adapter they are part of the process.
    pub device_bytes: Option<u64>,
    /// Mean R² over the blocks, as a sanity check.
    pub r2: Option<f64>,
}

/// Another program's time for the same work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Program and version.
    pub name: String,
    /// The work done.
    pub what: String,
    /// The device.
    pub device: String,
    /// Figures by name: seconds, or GFLOP/s if the name says so.
    pub figures: Vec<(String, f64)>,
    /// Why there are no figures.
    #[serde(default)]
    pub failure: Option<String>,
}
